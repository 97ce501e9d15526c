//! What a prompt says, with the places of its arguments: whatever its dialect.
//!
//! Where a dialect has rules of its own, the prompt is rendered with values that stand nowhere in it,
//! and cut where they came out: what Twig would say is what is written, to the byte.

use std::borrow::Cow;

use super::{Client, Compute, marker_of};
use crate::catalog::PromptRef;
use crate::format::{self, Piece};
use crate::model::{Argument, Content, Dialect, Kind, Marks, MessageSource, Prompt, Role};
use crate::render::{self, Block, Message, RenderError, Rendering, World};
use crate::template::{Printing, printing};

/// A prompt's text and what was said about it.
#[derive(Debug, Clone, Default)]
pub(super) struct Speech {
    pub(super) parts: Vec<Part>,
    /// Those that stand in the text, in the prompt's order: parts count these.
    pub(super) arguments: Vec<Argument>,
    /// Whether all values come behind the text, as Claude Code puts them.
    pub(super) is_appended: bool,
    pub(super) notes: Vec<String>,
}

impl Speech {
    /// Writes down what would come behind the text by itself.
    pub(super) fn append(&mut self) {
        if !self.is_appended {
            return;
        }
        let is_line = matches!(self.parts.last(), Some(Part::Text(text)) if text.ends_with('\n'));
        let gap = if is_line { "\n" } else { "\n\n" };
        let kept: Vec<usize> = (0..self.arguments.len()).collect();
        self.parts.push(Part::Text(format!("{gap}ARGUMENTS: ")));
        self.parts.push(Part::All);
        self.parts = tidy(std::mem::take(&mut self.parts), &kept);
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    /// The value of an argument.
    Argument(usize),
    /// All values as they were typed; only where there are several.
    All,
}

/// What a prompt says, or why it cannot be written down.
pub(super) fn of(
    world: World<'_>,
    found: PromptRef<'_>,
    compute: &mut Compute<'_>,
) -> Result<Speech, String> {
    let prompt = found.prompt;
    let mut speech = Speech::default();
    let mut arguments = prompt.arguments.clone();
    let parts = match prompt.dialect {
        Dialect::Function => {
            return Err("a program makes it, and a file runs none".to_owned());
        }
        Dialect::Marks(marks) => marked(world, found, marks, &mut speech.notes)?,
        Dialect::Jinja => {
            look_at_templates(world, found, &mut arguments, &mut speech.notes)?;
            rendered(world, found, compute, &mut speech.notes)?
        }
        Dialect::Braces => {
            look_at_patterns(prompt, &mut speech.notes)?;
            rendered(world, found, compute, &mut speech.notes)?
        }
        Dialect::Input | Dialect::Verbatim => rendered(world, found, compute, &mut speech.notes)?,
    };
    speech.is_appended = prompt.dialect == Dialect::Marks(Marks::Appended);
    let has_all = speech.is_appended || parts.contains(&Part::All);
    let is_used = |at: usize| has_all || parts.contains(&Part::Argument(at));
    let kept: Vec<usize> = (0..arguments.len()).filter(|at| is_used(*at)).collect();
    for (at, argument) in arguments.iter().enumerate() {
        if !kept.contains(&at) {
            let name = &argument.name;
            let note = format!("argument `{name}` is left out: the text does not use it");
            speech.notes.push(note);
        }
    }
    speech.parts = tidy(parts, &kept);
    speech.arguments = kept.into_iter().map(|at| arguments[at].clone()).collect();
    if speech.parts.is_empty() {
        return Err("says nothing".to_owned());
    }
    Ok(speech)
}

/// Joins texts, counts only the arguments that are kept, and calls all of one by its name.
fn tidy(parts: Vec<Part>, kept: &[usize]) -> Vec<Part> {
    let mut tidied: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        let part = match part {
            Part::All if kept.len() == 1 => Part::Argument(0),
            Part::Argument(at) => {
                Part::Argument(kept.iter().position(|one| *one == at).unwrap_or_default())
            }
            part => part,
        };
        match (tidied.last_mut(), part) {
            (_, Part::Text(text)) if text.is_empty() => {}
            (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
            (_, part) => tidied.push(part),
        }
    }
    tidied
}

/// The text of a file of another client, cut at its own marks.
fn marked(
    world: World<'_>,
    found: PromptRef<'_>,
    marks: Marks,
    notes: &mut Vec<String>,
) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut spoken = Vec::new();
    for MessageSource { content, .. } in &found.prompt.messages {
        let Content::File(path) = content else {
            continue;
        };
        let text = render::read(world, found.library, path).map_err(|error| error.to_string())?;
        refuse_exported(found.library.kind, &text)?;
        let bodies = format::bodies(found.library.kind, &text);
        let bodies = bodies.map_err(|why| format!("{path} {why}"))?;
        for body in bodies {
            spoken.push((body.role, body.text.into_owned()));
        }
    }
    let roles: Vec<Role> = spoken.iter().map(|(role, _)| *role).collect();
    fold(&roles, notes)?;
    for (at, (_, text)) in spoken.iter().enumerate() {
        if at > 0 {
            parts.push(Part::Text("\n\n".to_owned()));
        }
        for piece in format::pieces(marks, &found.prompt.arguments, text) {
            parts.push(match piece {
                Piece::Text(text) => Part::Text(text.to_owned()),
                Piece::Argument { at, .. } => Part::Argument(at),
                Piece::All { .. } => Part::All,
            });
        }
    }
    Ok(parts)
}

/// What was exported once is not exported from there: it would come back under other names.
fn refuse_exported(kind: Kind, text: &str) -> Result<(), String> {
    let client = Client::of(kind);
    // Whatever else a skill brings, it is an export.
    match client.and_then(|client| marker_of(client, text, [])) {
        Some(marker) => Err(format!("is itself an export of `{}`", marker.prompt)),
        None => Ok(()),
    }
}

/// Several messages become one; what a model is said to have said cannot.
fn fold(roles: &[Role], notes: &mut Vec<String>) -> Result<(), String> {
    if roles.contains(&Role::Assistant) {
        return Err("has messages of the assistant, which a file cannot hold".to_owned());
    }
    if roles.len() > 1 {
        notes.push(format!("its {} messages are one text", roles.len()));
    }
    Ok(())
}

/// Templates that only print can be written with other marks; others would have to be run.
fn look_at_templates(
    world: World<'_>,
    found: PromptRef<'_>,
    arguments: &mut [Argument],
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let has_arguments = !arguments.is_empty();
    let mut is_computed = false;
    let mut has_documents = false;
    for message in &found.prompt.messages {
        if !matches!(message.content, Content::File(_) | Content::Text { .. }) {
            continue;
        }
        let found = printing(world, found.library, &message.content);
        let Printing {
            defaults,
            does_more,
            documents,
        } = found.map_err(|error| error.to_string())?;
        if let Some(what) = does_more {
            if has_arguments {
                return Err(format!("its template has {what}, which a file cannot hold"));
            }
            is_computed = true;
        }
        has_documents |= documents;
        for (name, default) in defaults {
            let argument = arguments.iter_mut().find(|one| *one.name == *name);
            if let Some(argument) = argument.filter(|one| one.default.is_none()) {
                argument.default = Some(default.into());
            }
        }
    }
    if is_computed {
        notes.push("is written as its template renders now".to_owned());
    }
    if has_documents {
        notes.push(DOCUMENTS.to_owned());
    }
    Ok(())
}

const DOCUMENTS: &str = "the documents in it are written out as they are now";

/// A value that chooses a document cannot be put into a file.
fn look_at_patterns(prompt: &Prompt, notes: &mut Vec<String>) -> Result<(), String> {
    let mut has_documents = false;
    for message in &prompt.messages {
        let patterns = match &message.content {
            Content::Braces { text, .. } => text.patterns().collect(),
            Content::Document { uri, .. } => vec![uri],
            _ => Vec::new(),
        };
        for pattern in patterns {
            has_documents = true;
            if !pattern.is_constant() {
                let uri = pattern.as_str();
                return Err(format!(
                    "a value chooses the document `{uri}`, and a file reads none"
                ));
            }
        }
    }
    if has_documents {
        notes.push(DOCUMENTS.to_owned());
    }
    Ok(())
}

/// The messages of a prompt whose values are marks, cut at those.
fn rendered(
    world: World<'_>,
    found: PromptRef<'_>,
    compute: &mut Compute<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Part>, String> {
    if let [message] = &*found.prompt.messages
        && let Content::File(path) = &message.content
        && found.library.kind.is_format()
    {
        let text = render::read(world, found.library, path).map_err(|error| error.to_string())?;
        refuse_exported(found.library.kind, &text)?;
    }
    // Clients ask for prompts with `$1` as a value, so such values pass every rule of an argument.
    // A text that has the very number of ours is told apart by a second look with another one.
    for turn in 0..4_u64 {
        let salts = [7_340_912_586 + 2 * turn, 7_340_912_587 + 2 * turn];
        let one = said(world, found, salts[0], compute)?;
        let two = said(world, found, salts[1], compute)?;
        let text = text_of(&one, notes, turn == 0)?;
        let other = text_of(&two, &mut Vec::new(), false)?;
        if !other.contains(&mark(salts[0])) && !text.contains(&mark(salts[1])) {
            return Ok(cut(&text, salts[0], found.prompt.arguments.len()));
        }
    }
    Err("its text cannot be told from the places of its arguments".to_owned())
}

fn mark(salt: u64) -> String {
    format!("${salt}")
}

fn said(
    world: World<'_>,
    found: PromptRef<'_>,
    salt: u64,
    compute: &mut Compute<'_>,
) -> Result<Vec<Message>, String> {
    let arguments = found.prompt.arguments.iter().enumerate();
    let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = arguments
        .map(|(at, argument)| {
            let value = format!("{}{at:05}", mark(salt));
            (Cow::Borrowed(&*argument.name), Cow::Owned(value))
        })
        .collect();
    let sentence = |error: RenderError| error.to_string();
    match render::render(world, found, &given).map_err(sentence)? {
        Rendering::Done(messages) => Ok(messages),
        Rendering::Computed(computed) => {
            let outcome = compute(&computed.job);
            computed.finish(outcome).map_err(sentence)
        }
        Rendering::Function(_) => Err("a program makes it, and a file runs none".to_owned()),
    }
}

/// All messages as one text.
fn text_of(
    messages: &[Message],
    notes: &mut Vec<String>,
    is_first: bool,
) -> Result<String, String> {
    let roles: Vec<Role> = messages
        .iter()
        .filter(|message| !matches!(message.block, Block::Link { .. }))
        .map(|message| message.role)
        .collect();
    let mut said = Vec::new();
    fold(&roles, &mut said)?;
    let mut texts: Vec<&str> = Vec::new();
    for message in messages {
        match &message.block {
            Block::Text(text) => texts.push(text),
            Block::Resource { uri, contents, .. } => match contents.text() {
                Some(text) => texts.push(text),
                None => return Err(format!("has `{uri}`, which is not text")),
            },
            Block::Media(media) => {
                return Err(format!("has {}, which a file cannot hold", media.mime));
            }
            Block::Link { uri, .. } => said.push(format!("the link to `{uri}` is left out")),
        }
    }
    if is_first {
        notes.append(&mut said);
    }
    Ok(texts.join("\n\n"))
}

/// Cuts a text where the values came out.
fn cut(text: &str, salt: u64, arguments: usize) -> Vec<Part> {
    let mark = mark(salt);
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(&mark) {
        let behind = &rest[at + mark.len()..];
        let number = behind.get(..5).and_then(|digits| digits.parse().ok());
        let Some(number) = number.filter(|number| *number < arguments) else {
            break;
        };
        parts.push(Part::Text(rest[..at].to_owned()));
        parts.push(Part::Argument(number));
        rest = &behind[5..];
    }
    parts.push(Part::Text(rest.to_owned()));
    parts
}
