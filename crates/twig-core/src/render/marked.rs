//! Prompts of other clients' formats: marks become values, in one pass.

use super::arguments::value_at;
use super::{Block, GivenArguments, Message, RenderError, read};
use crate::argument::Argument;
use crate::catalog::PromptRef;
use crate::marks::{MarkedPiece, curly, pieces};
use crate::model::{Content, Library, LibraryKind, Marks, Role};
use crate::name::RelativePath;
use crate::spoken;
use crate::world::World;

/// The variable for the folder of a skill's files.
const SKILL_FOLDER: &str = "${CLAUDE_SKILL_DIR}";

/// The hint about a skill's files, for clients that can open them and for those that read
/// resources.
const FILES: &str = "\nRelative paths in this skill are relative to this base directory.\n";
const RESOURCES: &str = "\nRelative paths in this skill are relative to this base directory; read these files as resources.\n";

/// Renders a prompt whose text has marks for its arguments.
///
/// Without a value, `$1` and `${input:x}` stay as they are, as their clients leave them;
/// `$ARGUMENTS` and names become empty. Each argument has one value: a last number that takes all
/// remaining words is handled where a line is split into values.
pub(super) fn render(
    world: World<'_>,
    found: PromptRef<'_>,
    marks: Marks,
    given: &GivenArguments<'_>,
    is_remote: bool,
) -> Result<Vec<Message>, RenderError> {
    let prompt = found.prompt;
    let values: Vec<Option<&str>> = prompt
        .arguments
        .iter()
        .enumerate()
        .map(|(at, argument)| value_at(given, at, &argument.name).or(argument.default.as_deref()))
        .collect();
    let mut room = world.templates.limits().rendered;
    let mut messages = Vec::new();
    for message in &prompt.messages {
        let Content::File(path) = &message.content else {
            continue;
        };
        let text = read(world, found.library, path)?;
        let spoken = spoken::bodies(found.library.kind, &text).map_err(|why| {
            RenderError::Unavailable(format!("{}/{path} {why}", found.library.shown_root).into())
        })?;
        let folder = (found.library.kind == LibraryKind::Skills)
            .then(|| base(found.library, path, is_remote));
        for spoken in spoken {
            let mut output = LimitedText {
                text: String::with_capacity(spoken.text.len().min(room)),
                limit: room,
                whole: world.templates.limits().rendered,
            };
            for piece in pieces(marks, &prompt.arguments, &spoken.text) {
                write(&mut output, piece, marks, &values, folder.as_deref())?;
            }
            if let Some(folder) = &folder {
                output.line_end()?;
                output.push("\nBase directory for this skill: ")?;
                output.push(folder)?;
                output.push(if is_remote { RESOURCES } else { FILES })?;
            }
            // Some clients send every argument, most of them empty.
            if marks == Marks::Appended && values.iter().flatten().any(|it| !it.is_empty()) {
                output.line_end()?;
                output.push("\nARGUMENTS: ")?;
                output.all(&values)?;
            }
            if marks == Marks::Patterns {
                append_input(&mut output, &prompt.arguments, &values, &spoken.text)?;
            }
            room -= output.text.len().min(room);
            messages.push(Message {
                role: spoken.role,
                block: Block::Text(output.text),
            });
        }
        if folder.is_some() {
            let most = world.templates.limits().embedded;
            messages.extend(links(found.library, path).take(most));
        }
    }
    Ok(messages)
}

fn write(
    output: &mut LimitedText,
    piece: MarkedPiece<'_>,
    marks: Marks,
    values: &[Option<&str>],
    folder: Option<&str>,
) -> Result<(), RenderError> {
    match piece {
        MarkedPiece::Text(text) => {
            let mut parts = text.split(SKILL_FOLDER);
            output.push(parts.next().unwrap_or_default())?;
            for part in parts {
                output.push(folder.unwrap_or(SKILL_FOLDER))?;
                output.push(part)?;
            }
            Ok(())
        }
        MarkedPiece::Argument { at, mark } => {
            let absent = match marks {
                Marks::Named | Marks::Args | Marks::Patterns => "",
                _ => mark,
            };
            output.push(values.get(at).copied().flatten().unwrap_or(absent))
        }
        MarkedPiece::All { .. } => output.all(values),
    }
}

/// A pattern that does not say where its input goes has it at the end, after an empty line.
fn append_input(
    output: &mut LimitedText,
    arguments: &[Argument],
    values: &[Option<&str>],
    text: &str,
) -> Result<(), RenderError> {
    let at = arguments.iter().position(|it| *it.name == *curly::INPUT);
    let input = at.and_then(|at| values.get(at).copied().flatten());
    match input {
        Some(input) if !input.is_empty() && !text.contains("{{input}}") => {
            output.line_end()?;
            output.push("\n")?;
            output.push(input)
        }
        _ => Ok(()),
    }
}

/// A text that never grows past its limit.
struct LimitedText {
    text: String,
    limit: usize,
    /// The limit of the whole prompt, for the sentence.
    whole: usize,
}

impl LimitedText {
    fn push(&mut self, part: &str) -> Result<(), RenderError> {
        if part.len() > self.limit - self.text.len() {
            let limit = self.whole;
            return Err(RenderError::Limit(format!(
                "The rendered prompt exceeds the limit of {limit} bytes"
            )));
        }
        self.text.push_str(part);
        Ok(())
    }

    /// Every given value, as it was typed: one space between two.
    fn all(&mut self, values: &[Option<&str>]) -> Result<(), RenderError> {
        let typed = values.iter().flatten().filter(|value| !value.is_empty());
        for (at, value) in typed.enumerate() {
            if at > 0 {
                self.push(" ")?;
            }
            self.push(value)?;
        }
        Ok(())
    }

    /// Starts a new line for what follows.
    fn line_end(&mut self) -> Result<(), RenderError> {
        if self.text.is_empty() || self.text.ends_with('\n') {
            return Ok(());
        }
        self.push("\n")
    }
}

/// The folder of a skill: absolute, or the prefix of its files' URIs.
fn base(library: &Library, path: &RelativePath, is_remote: bool) -> String {
    if is_remote {
        return base_uri(library, path).map_or_else(|| library.name.to_string(), ToOwned::to_owned);
    }
    match path.folder() {
        "" => library.root.to_string(),
        folder => library.path_of(folder),
    }
}

/// The prefix of the URIs of a skill's files, without the final `/`.
fn base_uri<'l>(library: &'l Library, path: &RelativePath) -> Option<&'l str> {
    let own = library
        .documents
        .iter()
        .find(|known| known.file() == Some(path));
    own.and_then(|own| own.uri.rsplit_once('/').map(|(base, _)| base))
}

/// Links to the other files of a skill.
fn links(library: &Library, path: &RelativePath) -> impl Iterator<Item = Message> {
    let base = base_uri(library, path).map_or_else(|| "\0".to_owned(), |base| format!("{base}/"));
    let start = library.documents.partition_point(|it| *it.uri < *base);
    let files = library.documents[start..].iter();
    let files = files.take_while(move |known| known.uri.starts_with(&base));
    files
        .filter(|known| known.file() != Some(path))
        .map(|known| Message {
            role: Role::User,
            block: Block::Link {
                uri: known.uri.clone(),
                name: known.name.clone(),
                title: known.title.clone(),
                description: known.description.clone(),
                mime: Some(known.mime.clone()),
            },
        })
}
