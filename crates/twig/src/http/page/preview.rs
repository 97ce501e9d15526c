//! What a prompt renders to with the values of the form, and how it is used elsewhere.
//!
//! A prompt is rendered once as it is for every client, and a second time with marks around each
//! value. If the second text without its marks is the first one, the marks show where each value
//! went; otherwise, such as for a value that decides which words are written, nothing is marked.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tokio::task::block_in_place;
use twig_clients::clients::percent_encoded;
use twig_core::problem::shell_word;
use twig_core::remote;
use twig_core::render::{Audience, Checked, ComputedRender, Unfinished, missing, render_for};
use twig_core::{
    Block, Catalog, Content, FunctionCall, Latest, Lookup, Message, Prompt, PromptRef, RenderError,
    Rendering, World, function,
};
use twig_mcp::{Work, WorkOutcome};
use twig_page::{IMAGES, PreviewBlock, PreviewMessage, TextSpan};
use twig_sources::{UnsavedBodies, UnsavedTexts};

use super::answers::PageVisit;
use super::client_lines::{ClientLine, client_lines};
use super::edit::DraftText;
use super::{json, said, secured};
use crate::message_text::printed;

/// What to render.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewRequest {
    name: String,
    #[serde(default)]
    arguments: BTreeMap<String, String>,
    /// True if a program may run: the visitor asked for it.
    #[serde(default)]
    run: bool,
    /// A text that is not saved, in place of the one that is. Nothing runs with it.
    draft: Option<DraftText>,
}

/// What became of it.
#[derive(Serialize)]
struct PreviewAnswer {
    html: String,
    /// Arguments that need a value.
    missing: Vec<String>,
    /// The argument whose value is refused.
    wrong: Option<String>,
    /// The text as `twig render` prints it.
    text: Option<String>,
    /// Roughly how many tokens a model makes of it.
    tokens: usize,
    command: String,
    json: String,
    clients: Vec<ClientLine>,
}

/// What a mark begins and ends with: characters that no text has, and that no template changes.
const OPEN: char = '\u{f0000}';
const CLOSE: char = '\u{f0001}';
/// The character for the first argument, after [`OPEN`].
const FIRST: u32 = 0xf_0010;
/// The most arguments that are marked.
const MARKED: usize = 64;
/// Values of more bytes are not marked: the second rendering would cost too much.
const MARKED_BYTES: usize = 64 * 1024;

pub(super) type Given = Vec<(Cow<'static, str>, Cow<'static, str>)>;

/// A rendering as far as it can be done here.
enum FirstRendering {
    Done(Result<Vec<Message>, RenderError>),
    Computed(Box<ComputedRender>),
    Function(Box<FunctionCall>),
}

/// Renders a prompt for the page.
pub(super) async fn answer(visit: &PageVisit, asked: PreviewRequest) -> Response {
    let draft = match &asked.draft {
        Some(draft) if draft.item.prompt.is_none() => return visit.shown_draft(draft),
        Some(draft) => {
            match block_in_place(|| visit.draft(&visit.find_item(&draft.item)?, &draft.text)) {
                Ok(draft) => Some(draft),
                Err(refusal) => return refusal.answer(),
            }
        }
        None => None,
    };
    let catalog = match &draft {
        Some(draft) => Arc::clone(&draft.catalog),
        None => block_in_place(|| visit.catalog()),
    };
    let texts = draft.map(|draft| draft.texts);
    let texts = texts.as_ref();
    let Lookup::Found(found) = catalog.find(&asked.name) else {
        if texts.is_some() {
            let why = "With these changes there is no prompt of this name.";
            return said(StatusCode::CONFLICT, why);
        }
        return secured(StatusCode::NOT_FOUND.into_response());
    };
    // An empty field is no value.
    let given = asked
        .arguments
        .iter()
        .filter(|(_, value)| !value.is_empty());
    let given = given.map(|(name, value)| (Cow::Owned(name.clone()), Cow::Owned(value.clone())));
    let given: Given = given.collect();
    let lacking = missing(&found.prompt.arguments, &given);
    let lacking: Vec<String> = lacking.iter().map(|it| it.name.to_string()).collect();
    let first = block_in_place(|| visit.first(&catalog, texts, found, &given));
    let rendered = match first {
        FirstRendering::Done(rendered) => rendered,
        FirstRendering::Computed(render) => {
            let ComputedRender { job, rest } = *render;
            visit.computed(Work::Render(job), rest, found.prompt).await
        }
        FirstRendering::Function(_) if !asked.run || texts.is_some() => Ok(Vec::new()),
        FirstRendering::Function(call) => visit.called(call, found.prompt).await,
    };
    let answer =
        block_in_place(|| visit.preview(&catalog, texts, found, &given, lacking, rendered));
    json(&answer)
}

impl PageVisit {
    /// The HTML of a document that is not saved.
    fn shown_draft(&self, draft: &DraftText) -> Response {
        let found = block_in_place(|| self.find_item(&draft.item));
        match found.and_then(|found| self.editable(&found)) {
            Ok(_) => block_in_place(|| {
                let html = twig_page::draft(&draft.text).into_string();
                json(&serde_json::json!({ "html": html }))
            }),
            Err(refusal) => refusal.answer(),
        }
    }

    fn first(
        &self,
        catalog: &Arc<Catalog>,
        texts: Option<&UnsavedTexts>,
        found: PromptRef<'_>,
        given: &Given,
    ) -> FirstRendering {
        let is_program = found.prompt.function().is_some();
        match self.rendering(catalog, texts, found, given, Checked::All) {
            Ok(Rendering::Done(messages)) => FirstRendering::Done(Ok(messages)),
            Ok(Rendering::Computed(render)) => FirstRendering::Computed(Box::new(render)),
            Ok(Rendering::Function(call)) => FirstRendering::Function(call),
            // The form says what is missing.
            Err(RenderError::MissingArguments(_) | RenderError::MissingRequired(_))
                if is_program =>
            {
                FirstRendering::Done(Ok(Vec::new()))
            }
            Err(error) => FirstRendering::Done(Err(error)),
        }
    }

    fn rendering(
        &self,
        catalog: &Arc<Catalog>,
        texts: Option<&UnsavedTexts>,
        found: PromptRef<'_>,
        given: &Given,
        checked: Checked,
    ) -> Result<Rendering, RenderError> {
        let latest = Latest::from(Arc::clone(catalog));
        let bodies = self
            .shared
            .disk
            .for_request(self.files(), self.peer.as_ref());
        let none = UnsavedTexts::default();
        let with_draft = UnsavedBodies {
            files: &bodies,
            texts: texts.unwrap_or(&none),
        };
        let drafts = self.shared.page.as_ref().map(|state| &state.drafts);
        let world = match (texts, drafts) {
            (Some(_), Some(drafts)) => World {
                catalog: &latest,
                bodies: &with_draft,
                templates: drafts,
            },
            _ => World {
                catalog: &latest,
                bodies: &bodies,
                templates: self.caller.view.templates(&self.shared.service),
            },
        };
        let audience = Audience {
            checked,
            // A folder of this machine is of no use to others.
            is_remote: !self.is_owner,
            ..Audience::default()
        };
        render_for(audience, world, found, given)
    }

    async fn computed(
        &self,
        work: Work,
        rest: Unfinished,
        prompt: &Prompt,
    ) -> Result<Vec<Message>, RenderError> {
        match self.run(work, Some(&prompt.full_name)).await {
            WorkOutcome::Render(outcome) => rest.finish(outcome),
            _ => Err(RenderError::Limit(
                "The template was not rendered".to_owned(),
            )),
        }
    }

    async fn called(
        &self,
        call: Box<FunctionCall>,
        prompt: &Prompt,
    ) -> Result<Vec<Message>, RenderError> {
        match self
            .run(Work::Function(call), Some(&prompt.full_name))
            .await
        {
            WorkOutcome::Function(outcome) => {
                let finished = function::finish(&prompt.full_name, outcome)?;
                Ok(finished.messages)
            }
            _ => Err(RenderError::Limit("The program was not run".to_owned())),
        }
    }

    fn preview(
        &self,
        catalog: &Arc<Catalog>,
        texts: Option<&UnsavedTexts>,
        found: PromptRef<'_>,
        given: &Given,
        lacking: Vec<String>,
        rendered: Result<Vec<Message>, RenderError>,
    ) -> PreviewAnswer {
        let prompt = found.prompt;
        let marked = |with_missing: bool| {
            let marks = ValueMarks::new(prompt, given, with_missing)?;
            let rendering = self.rendering(catalog, texts, found, &marks.given, Checked::None);
            match rendering {
                Ok(Rendering::Done(messages)) => Some(marks.spans(messages)),
                _ => None,
            }
        };
        let (messages, text, error) = match rendered {
            Ok(messages) => {
                let shown = plain(&messages);
                let spans = marked(false).filter(|marked| without_marks(marked) == shown);
                let (text, _) = printed(&messages);
                let text = (!messages.is_empty()).then_some(text);
                (with_media(prompt, spans.unwrap_or(shown)), text, None)
            }
            Err(RenderError::MissingArguments(_) | RenderError::MissingRequired(_)) => {
                (marked(true).unwrap_or_default(), None, None)
            }
            Err(error) => (Vec::new(), None, Some(error)),
        };
        let wrong = error.as_ref().and_then(wrong_argument);
        let sentence = error.map(|error| {
            let sentence = error.to_string();
            if self.is_owner {
                return sentence;
            }
            remote::without_folders(catalog.sources().map(|it| &**it), &sentence)
        });
        PreviewAnswer {
            html: twig_page::preview(&messages, sentence.as_deref()).into_string(),
            missing: lacking,
            wrong,
            tokens: text
                .as_ref()
                .map_or(0, |text| text.chars().count().div_ceil(4)),
            text,
            command: command(prompt, given),
            json: request(prompt, given),
            clients: client_lines(catalog, found, given, self.is_owner),
        }
    }
}

/// Values with a mark around each.
struct ValueMarks {
    given: Given,
    names: Vec<(String, bool)>,
}

impl ValueMarks {
    /// `None` if marks would be taken for something else, or there is nothing to mark.
    fn new(prompt: &Prompt, given: &Given, with_missing: bool) -> Option<Self> {
        let bytes: usize = given.iter().map(|(_, value)| value.len()).sum();
        let is_mark = |c: char| ('\u{f0000}'..='\u{f00ff}').contains(&c);
        let is_odd = given.iter().any(|(_, value)| value.contains(is_mark));
        if is_odd || bytes > MARKED_BYTES || prompt.arguments.len() > MARKED {
            return None;
        }
        let mut marks = Self {
            given: Vec::new(),
            names: Vec::new(),
        };
        for argument in &*prompt.arguments {
            let value = given.iter().find(|(name, _)| **name == *argument.name);
            let is_missing = value.is_none();
            if is_missing && !(with_missing && argument.required && argument.default.is_none()) {
                continue;
            }
            let value = value.map_or("", |(_, value)| &**value);
            let at = u32::try_from(marks.names.len()).ok()?;
            let which = char::from_u32(FIRST + at)?;
            let marked = format!("{OPEN}{which}{value}{CLOSE}");
            let name = argument.name.to_string();
            marks
                .given
                .push((Cow::Owned(name.clone()), Cow::Owned(marked)));
            marks.names.push((name, is_missing));
        }
        (!marks.names.is_empty()).then_some(marks)
    }

    fn spans(&self, messages: Vec<Message>) -> Vec<PreviewMessage> {
        let messages = messages.into_iter();
        messages
            .map(|message| PreviewMessage {
                role: message.role.as_str(),
                block: match message.block {
                    Block::Text(text) => PreviewBlock::Text(self.split(&text)),
                    other => block(&other),
                },
            })
            .collect()
    }

    fn split(&self, text: &str) -> Vec<TextSpan> {
        let mut spans = Vec::new();
        let plain = |spans: &mut Vec<TextSpan>, part: &str| {
            let part = part.replace([OPEN, CLOSE], "");
            if !part.is_empty() {
                spans.push(TextSpan::Plain(part));
            }
        };
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            let inside = &rest[at + OPEN.len_utf8()..];
            let which = inside.chars().next();
            let name =
                which.and_then(|c| self.names.get(u32::from(c).checked_sub(FIRST)? as usize));
            let end = inside.find(CLOSE);
            let (Some(which), Some((argument, is_missing)), Some(end)) = (which, name, end) else {
                break;
            };
            plain(&mut spans, &rest[..at]);
            let value = inside.get(which.len_utf8()..end).unwrap_or_default();
            spans.push(if *is_missing {
                TextSpan::Missing(argument.clone())
            } else {
                TextSpan::Value {
                    argument: argument.clone(),
                    text: value.to_owned(),
                }
            });
            rest = &inside[end + CLOSE.len_utf8()..];
        }
        plain(&mut spans, rest);
        spans
    }
}

fn plain(messages: &[Message]) -> Vec<PreviewMessage> {
    let messages = messages.iter();
    messages
        .map(|message| PreviewMessage {
            role: message.role.as_str(),
            block: block(&message.block),
        })
        .collect()
}

fn block(block: &Block) -> PreviewBlock {
    match block {
        Block::Text(text) if text.is_empty() => PreviewBlock::Text(Vec::new()),
        Block::Text(text) => PreviewBlock::Text(vec![TextSpan::Plain(text.clone())]),
        // Not asked for.
        Block::Escaped(text) => {
            let text = String::from_utf8_lossy(text).into_owned();
            PreviewBlock::Text(vec![TextSpan::Plain(text)])
        }
        Block::Resource {
            uri,
            mime,
            contents,
        } => PreviewBlock::Document {
            uri: uri.to_string(),
            mime: mime.to_string(),
            size: contents.len(),
            text: contents.text().map(str::to_owned),
        },
        Block::Link {
            uri, name, title, ..
        } => PreviewBlock::Link {
            uri: uri.to_string(),
            title: title.as_deref().unwrap_or(name).to_owned(),
        },
        Block::Media(media) => PreviewBlock::Media {
            mime: media.mime.to_string(),
            size: media.bytes.len(),
            query: None,
        },
    }
}

/// The same messages with what asks for each image: files of the prompt, in their order.
fn with_media(prompt: &Prompt, mut messages: Vec<PreviewMessage>) -> Vec<PreviewMessage> {
    let files = prompt.messages.iter().enumerate();
    let mut files = files.filter(|(_, it)| matches!(it.content, Content::Media { .. }));
    for message in &mut messages {
        if let PreviewBlock::Media { mime, query, .. } = &mut message.block {
            let file = files.next().filter(|_| IMAGES.contains(&&**mime));
            let name = percent_encoded(&prompt.full_name);
            *query = file.map(|(at, _)| format!("prompt={name}&message={at}"));
        }
    }
    messages
}

/// The same messages with the values as plain text.
fn without_marks(messages: &[PreviewMessage]) -> Vec<PreviewMessage> {
    let unmarked = |spans: &[TextSpan]| {
        let texts = spans.iter().map(|span| match span {
            TextSpan::Plain(text) | TextSpan::Value { text, .. } => &**text,
            TextSpan::Missing(_) => "",
        });
        let text: String = texts.collect();
        if text.is_empty() {
            Vec::new()
        } else {
            vec![TextSpan::Plain(text)]
        }
    };
    let messages = messages.iter();
    messages
        .map(|message| PreviewMessage {
            role: message.role,
            block: match &message.block {
                PreviewBlock::Text(spans) => PreviewBlock::Text(unmarked(spans)),
                other => other.clone(),
            },
        })
        .collect()
}

fn wrong_argument(error: &RenderError) -> Option<String> {
    match error {
        RenderError::NotAChoice { argument, .. }
        | RenderError::TooLong { argument, .. }
        | RenderError::ExceedsLength { argument, .. }
        | RenderError::NoMatch { argument, .. } => Some(argument.to_string()),
        _ => None,
    }
}

/// The command that prints the same text.
fn command(prompt: &Prompt, given: &Given) -> String {
    // On the command line, an `@` at the start of a value reads a file.
    let values = given.iter().map(|(name, value)| {
        let at = if value.starts_with('@') { "@" } else { "" };
        format!("{name}={at}{value}")
    });
    let words = [prompt.full_name.to_string()].into_iter().chain(values);
    let words: Vec<String> = words.map(|word| shell_word(&word)).collect();
    format!("twig render {}", words.join(" "))
}

/// The request that a client sends for it.
fn request(prompt: &Prompt, given: &Given) -> String {
    let arguments = given.iter().map(|(name, value)| (&**name, &**value));
    let arguments: BTreeMap<&str, &str> = arguments.collect();
    let request = serde_json::json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "prompts/get",
        "params": { "name": prompt.full_name, "arguments": arguments },
    });
    serde_json::to_string_pretty(&request).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_split_and_taken_out_again() {
        let marks = ValueMarks {
            given: Vec::new(),
            names: vec![("code".to_owned(), false), ("tone".to_owned(), true)],
        };
        let (one, two) = (
            char::from_u32(FIRST).unwrap(),
            char::from_u32(FIRST + 1).unwrap(),
        );
        let text = format!("a {OPEN}{one}x{CLOSE} b {OPEN}{two}{CLOSE}.");
        let spans = marks.split(&text);
        let value = |argument: &str, text: &str| TextSpan::Value {
            argument: argument.to_owned(),
            text: text.to_owned(),
        };
        let plain = |text: &str| TextSpan::Plain(text.to_owned());
        let missing = TextSpan::Missing("tone".to_owned());
        assert_eq!(
            spans,
            [
                plain("a "),
                value("code", "x"),
                plain(" b "),
                missing,
                plain(".")
            ]
        );
        // A mark that a template cut in two is no mark.
        assert_eq!(
            marks.split(&format!("{OPEN}{one}x")),
            [plain(&format!("{one}x"))]
        );
    }
}
