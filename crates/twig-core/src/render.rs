//! Rendering: a prompt and its arguments become messages.
//!
//! Values are checked here, substituted once by the template engine, and never scanned again.

mod arguments;
mod definition;
mod embed;
mod marked;
pub mod stand_in;

use std::borrow::Cow;
use std::sync::Arc;

use self::arguments::{check_values, pattern_bytes, value_at, value_of};
pub use self::arguments::{missing, refuse_unknown, unknown};
pub(crate) use self::embed::{Embedding, NOTHING_GIVEN};
use crate::argument::PATTERN_AT_ONCE;
pub use crate::argument_rules::check_value;
use crate::body::{Blob, BodyError};
use crate::catalog::PromptRef;
use crate::document::sniff;
use crate::front_matter;
use crate::function::FunctionCall;
use crate::limits::TOO_MANY_WAIT;
use crate::media::Media;
pub use crate::message::{Block, Message};
use crate::model::{Content, Dialect, Library, LibraryKind, MessageSource, Role};
use crate::name::RelativePath;
use crate::render_error::body_error;
pub use crate::render_error::{RenderError, TemplatePlace};
use crate::stored_version::StoredVersion;
use crate::template::{ComputedJob, GatheredTemplates, JobOutcome, TemplateValues, TextRoom};
use crate::world::World;

/// Arguments as a client gave them.
pub type GivenArguments<'a> = [(Cow<'a, str>, Cow<'a, str>)];

/// A finished prompt, or work that has to run elsewhere.
#[derive(Debug)]
pub enum Rendering {
    /// Rendered on the calling thread.
    Done(Vec<Message>),
    /// A render worker has to run it; [`Unfinished::finish`] takes its result.
    Computed(ComputedRender),
    /// A program makes it; [`crate::function::finish`] takes its result.
    Function(Box<FunctionCall>),
}

/// A render that runs elsewhere.
#[derive(Debug)]
pub struct ComputedRender {
    /// What to send to the worker.
    pub job: ComputedJob,
    /// What stays here until the worker is done.
    pub rest: Unfinished,
}

/// The messages of a running render: some are complete, the others wait for their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished(Vec<(Role, Option<Block>)>);

impl Unfinished {
    /// Turns the worker's answer into messages.
    pub fn finish(self, outcome: JobOutcome) -> Result<Vec<Message>, RenderError> {
        let mut texts = outcome.into_result()?.into_iter();
        let mut next = || Block::Text(texts.next().unwrap_or_default());
        let messages = self.0.into_iter().map(|(role, block)| {
            let block = block.unwrap_or_else(&mut next);
            Message { role, block }
        });
        Ok(messages.collect())
    }

    /// Bytes of text, media and documents in it.
    pub fn held(&self) -> usize {
        let blocks = self.0.iter().filter_map(|(_, block)| block.as_ref());
        let held = blocks.map(|block| match block {
            Block::Text(text) => text.len(),
            Block::Escaped(text) => text.len(),
            Block::Media(media) => media.bytes.len(),
            Block::Resource { contents, .. } => contents.len(),
            Block::Link { .. } => 0,
        });
        held.sum()
    }
}

/// True if a prompt refuses unknown arguments; others ignore them.
fn refuses_unknown(found: PromptRef<'_>) -> bool {
    found.library.kind == LibraryKind::Definitions || found.prompt.dialect == Dialect::Function
}

/// The client that a prompt is rendered for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audience<'a> {
    /// Which of its values are checked.
    pub checked: Checked,
    /// True if it may be on another machine, where paths of this one are of no use.
    pub is_remote: bool,
    /// What a person typed after the name, if the values were split from it: the place of all
    /// arguments in a text gets exactly that.
    pub line: Option<&'a str>,
    /// True if it may get texts as [`Block::Escaped`].
    pub escapes: bool,
}

/// Which values have to meet the rules of their argument, such as its choices and maximum length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Checked {
    /// All of them.
    #[default]
    All,
    /// All but each [`stand_in`], whose value a client fills in later.
    AllButStandIns,
    /// None: they are marks of the caller.
    None,
}

/// Renders a prompt.
pub fn render(
    world: World<'_>,
    found: PromptRef<'_>,
    given: &GivenArguments<'_>,
) -> Result<Rendering, RenderError> {
    render_for(Audience::default(), world, found, given)
}

/// Renders a prompt for a given client.
pub fn render_for(
    audience: Audience<'_>,
    world: World<'_>,
    found: PromptRef<'_>,
    given: &GivenArguments<'_>,
) -> Result<Rendering, RenderError> {
    let prompt = found.prompt;
    if let Some(sentence) = &prompt.unavailable {
        return Err(RenderError::Unavailable(sentence.clone()));
    }
    let kind = found.library.kind;
    if refuses_unknown(found) {
        refuse_unknown(&prompt.arguments, given)?;
    }
    let limits = world.templates.limits();
    // A program gets the values as they were given, so they have to be valid.
    let checked = match (prompt.dialect, audience.checked) {
        (Dialect::Function, Checked::AllButStandIns) => Checked::All,
        (_, checked) => checked,
    };
    let mut verdict = Ok(());
    let matched = pattern_bytes(&prompt.arguments, given);
    let mut check = || verdict = check_values(&prompt.arguments, given, matched, limits, checked);
    if matched <= PATTERN_AT_ONCE {
        check();
    } else if !world.bodies.aside(prompt.name.as_str(), &mut check) {
        return Err(RenderError::Limit(TOO_MANY_WAIT.to_owned()));
    }
    verdict.map_err(|error| error.worded_for(kind))?;
    let missing = missing(&prompt.arguments, given);
    if !missing.is_empty() {
        return Err(RenderError::MissingArguments(missing).worded_for(kind));
    }
    match prompt.dialect {
        Dialect::Braces => definition::render(world, found, given).map(Rendering::Done),
        Dialect::Jinja => jinja(world, found, given, audience),
        Dialect::Input => input(world, found, given).map(Rendering::Done),
        Dialect::Marks(marks) => {
            marked::render(world, found, marks, given, audience).map(Rendering::Done)
        }
        Dialect::Function => function(world, found, given),
        Dialect::Verbatim => verbatim(world, found).map(Rendering::Done),
    }
}

fn jinja(
    world: World<'_>,
    found: PromptRef<'_>,
    given: &GivenArguments<'_>,
    audience: Audience<'_>,
) -> Result<Rendering, RenderError> {
    let contents = found.prompt.messages.iter().map(|message| &message.content);
    let contents = contents
        .filter(|content| !matches!(content, Content::Media { .. } | Content::Document { .. }));
    let gathered = world
        .templates
        .gather(world.template_files(), found.library, contents)?;
    if !gathered.is_heavy() {
        return expand(world, found, given, gathered, audience);
    }
    let mut gathered = Some(gathered);
    let mut rendering = None;
    world.bodies.aside(found.prompt.name.as_str(), &mut || {
        let gathered = gathered.take();
        rendering = gathered.map(|gathered| expand(world, found, given, gathered, audience));
    });
    rendering.unwrap_or_else(|| Err(RenderError::Limit(TOO_MANY_WAIT.to_owned())))
}

/// Compiles the templates of a prompt if necessary, and renders them.
fn expand(
    world: World<'_>,
    found: PromptRef<'_>,
    given: &GivenArguments<'_>,
    gathered: GatheredTemplates,
    audience: Audience<'_>,
) -> Result<Rendering, RenderError> {
    let prompt = found.prompt;
    let bundles = world
        .templates
        .compile(world.template_files(), found.library, gathered)?;
    let mut next = bundles.iter();
    let arguments = prompt.arguments.iter().enumerate().map(|(at, argument)| {
        let value = value_at(given, at, argument).or(argument.default.as_deref());
        (&*argument.name, value)
    });
    let arguments: Vec<(&str, Option<&str>)> = arguments.collect();
    let limits = world.templates.limits();
    let mut media_room = limits.media;
    let mut embedding = Embedding::new(world);
    let mut computed = Vec::new();
    let mut documents: Vec<(String, String)> = Vec::new();
    let mut messages = Vec::with_capacity(prompt.messages.len());
    for message in &prompt.messages {
        if let Some(media) = media(world, found.library, message, &mut media_room)? {
            messages.push((message.role, Some(Block::Media(media))));
            continue;
        }
        if let Content::Document { uri, is_link, .. } = &message.content {
            let given: Vec<Option<&str>> = arguments.iter().map(|(_, value)| *value).collect();
            let block = embedding.block(uri, *is_link, &given)?;
            messages.push((message.role, Some(block)));
            continue;
        }
        let Some(bundle) = next.next() else { break };
        for embed in &bundle.documents {
            if documents.iter().all(|(name, _)| *name != embed.variable) {
                let text = definition::documents(&mut embedding, &embed.uri)?;
                documents.push((embed.variable.clone(), text));
            }
        }
        messages.push((message.role, None));
    }
    let embedded = documents
        .iter()
        .map(|(name, text)| (&**name, Some(&**text)));
    let values = TemplateValues::new(arguments.into_iter().chain(embedded));
    // The content of documents has a limit of its own.
    let embedded: usize = documents.iter().map(|(_, text)| text.len()).sum();
    let mut room = TextRoom::new(limits.rendered + embedded);
    let mut bundles = bundles.into_iter();
    for (_, block) in messages.iter_mut().filter(|(_, block)| block.is_none()) {
        let Some(bundle) = bundles.next() else { break };
        if bundle.is_plain() {
            *block = Some(if audience.escapes {
                let (text, length) = bundle.render_escaped(&values, room)?;
                room.take(length);
                Block::Escaped(text)
            } else {
                let text = bundle.render(&values, room)?;
                room.take(text.len());
                Block::Text(text)
            });
        } else {
            computed.push(bundle);
        }
    }
    let rest = Unfinished(messages);
    if computed.is_empty() {
        return rest
            .finish(JobOutcome::Texts(Vec::new()))
            .map(Rendering::Done);
    }
    let job = ComputedJob::new(&computed, &values, room, limits.render_millis);
    Ok(Rendering::Computed(ComputedRender { job, rest }))
}

/// The image or audio of a message, if it has one, within the remaining limit.
pub(crate) fn media(
    world: World<'_>,
    library: &Arc<Library>,
    message: &MessageSource,
    room: &mut usize,
) -> Result<Option<Media>, RenderError> {
    let Content::Media { kind, mime, path } = &message.content else {
        return Ok(None);
    };
    let bytes = world.bodies.bytes(library, path, *room);
    let Blob { bytes, .. } = bytes.map_err(|error| match error {
        BodyError::TooLarge { .. } => {
            let limit = world.templates.limits().media;
            RenderError::Limit(format!(
                "The images and audio of a prompt may hold {limit} bytes in total; with {}/{path} they hold more",
                library.shown_root
            ))
        }
        error => body_error(library, path, error),
    })?;
    *room -= bytes.len().min(*room);
    // The content decides, not the file's name.
    let family = |mime: &&str| mime.starts_with(kind.as_str());
    let mime = sniff(&bytes).filter(family).unwrap_or(mime);
    Ok(Some(Media {
        kind: *kind,
        mime: Cow::Borrowed(mime),
        bytes,
    }))
}

/// The input for a program; another crate runs it.
fn function(
    world: World<'_>,
    found: PromptRef<'_>,
    given: &GivenArguments<'_>,
) -> Result<Rendering, RenderError> {
    let prompt = found.prompt;
    let Some(function) = prompt.function() else {
        return Err(RenderError::Function(format!(
            "Prompt `{}` has no program to run",
            prompt.full_name
        )));
    };
    let arguments = prompt.arguments.iter().enumerate();
    let arguments = arguments.filter_map(|(at, argument)| {
        let value = value_at(given, at, argument).or(argument.default.as_deref())?;
        Some((&*argument.name, value))
    });
    let limits = world.templates.limits();
    Ok(Rendering::Function(Box::new(FunctionCall::new(
        found, function, arguments, limits,
    ))))
}

/// The Markdown kind: every `{{input}}` is replaced, or the input is appended after an empty line.
/// If no input is given, the text is exactly that of the file.
fn input(
    world: World<'_>,
    found: PromptRef<'_>,
    given: &GivenArguments<'_>,
) -> Result<Vec<Message>, RenderError> {
    const SLOT: &str = "{{input}}";
    let limit = world.templates.limits().rendered;
    let input = value_of(given, "input");
    let mut messages = Vec::new();
    for message in &found.prompt.messages {
        let Content::File(path) = &message.content else {
            continue;
        };
        let text = read(world, found.library, path)?;
        let body = front_matter::split(&text).body;
        // Without an input, the text stays as the file has it, including whitespace at its ends.
        let body = if input.is_some() { body.trim() } else { body };
        let slots = body.matches(SLOT).count();
        let input = input.unwrap_or_default();
        let between = if slots == 0 && !input.is_empty() {
            2
        } else {
            0
        };
        let values = input.len().saturating_mul(slots.max(1));
        let length = (body.len() + between).saturating_add(values);
        if length > limit {
            return Err(RenderError::Limit(format!(
                "The rendered prompt exceeds the limit of {limit} bytes"
            )));
        }
        let text = match (slots, input) {
            (0, "") => body.to_owned(),
            (0, input) => format!("{body}\n\n{input}"),
            (_, input) => body.replace(SLOT, input),
        };
        messages.push(Message {
            role: message.role,
            block: Block::Text(text),
        });
    }
    Ok(messages)
}

/// A prompt that is no template: its text is served as its author wrote it, including braces.
fn verbatim(world: World<'_>, found: PromptRef<'_>) -> Result<Vec<Message>, RenderError> {
    let mut media_room = world.templates.limits().media;
    let mut embedding = Embedding::new(world);
    let mut messages = Vec::with_capacity(found.prompt.messages.len());
    for message in &found.prompt.messages {
        let media = media(world, found.library, message, &mut media_room)?;
        let block = match (media, &message.content) {
            (Some(media), _) => Block::Media(media),
            (None, Content::Document { uri, is_link, .. }) => {
                embedding.block(uri, *is_link, &[])?
            }
            (None, content) => Block::Text(verbatim_text(world, found.library, content)?),
        };
        let role = message.role;
        messages.push(Message { role, block });
    }
    Ok(messages)
}

/// The text of a message that is no template, within its limit.
pub(crate) fn verbatim_text(
    world: World<'_>,
    library: &Arc<Library>,
    content: &Content,
) -> Result<String, RenderError> {
    let limit = world.templates.limits().verbatim;
    let text = match content {
        // Its size was checked when it was written.
        Content::Stored(version) => return stored(world, library, version),
        Content::Text { text, .. } => text.to_string(),
        content => match content.file() {
            Some(path) => read(world, library, path)?,
            None => String::new(),
        },
    };
    if text.len() > limit {
        let file = content.file();
        let file = file.map_or(crate::parse::library::MANIFEST, RelativePath::as_str);
        return Err(RenderError::Limit(format!(
            "{}/{file} exceeds the limit of {limit} bytes for text that is served as it is",
            library.shown_root
        )));
    }
    Ok(text)
}

fn stored(
    world: World<'_>,
    library: &Library,
    version: &StoredVersion,
) -> Result<String, RenderError> {
    let bytes = world.bodies.stored(version);
    let text = bytes.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| BodyError::NotUtf8 {
            offset: error.utf8_error().valid_up_to(),
        })
    });
    text.map_err(|error| RenderError::Body {
        path: library.shown_root.to_string(),
        error,
    })
}

/// The text of a file of a library.
pub fn read(
    world: World<'_>,
    library: &Arc<Library>,
    path: &RelativePath,
) -> Result<String, RenderError> {
    match world.bodies.read(library, path) {
        Ok(body) => Ok(body.text),
        Err(error) => Err(body_error(library, path, error)),
    }
}
