//! The text of a prompt with the places of its arguments, for every dialect.

mod rendered;

use self::rendered::{look_at_patterns, look_at_templates, rendered};
use super::shell::{self, ShellCount};
use super::{Compute, ShellTranslation, marker_of};
use crate::clients::ExportFormat;
use crate::format;
use twig_core::World;
use twig_core::argument::Argument;
use twig_core::catalog::PromptRef;
use twig_core::front_matter::{self, FrontMatterValue};
use twig_core::marks::{curly, pieces};
use twig_core::model::{AppendedForm, Content, Dialect, LibraryKind, Marks, MessageSource, Role};
use twig_core::render;
use twig_core::spoken;

/// A prompt's text with its arguments and notes.
#[derive(Debug, Clone, Default)]
pub(super) struct Speech {
    pub(super) parts: Vec<SpeechPart>,
    /// The arguments that the text uses, in the prompt's order: parts refer to them by index.
    pub(super) arguments: Vec<Argument>,
    /// True if it has a title that is not in its text.
    pub(super) has_title: bool,
    /// Front matter keys that only its own client follows.
    pub(super) keys: Vec<(&'static str, FrontMatterValue)>,
    /// How all values are appended to the text, if they are.
    pub(super) appended: Option<AppendedForm>,
    /// What became of the commands and files that its own client puts in.
    pub(super) shell: ShellCount,
    pub(super) notes: Vec<String>,
}

impl Speech {
    /// Makes an implicitly appended value explicit.
    pub(super) fn append(&mut self) {
        let label = match self.appended {
            None => return,
            Some(AppendedForm::Labelled) => "ARGUMENTS: ",
            Some(AppendedForm::Bare | AppendedForm::CommandLine) => "",
        };
        let gap = blank_line(self.parts.last());
        let kept: Vec<usize> = (0..self.arguments.len()).collect();
        self.parts.push(SpeechPart::Text(format!("{gap}{label}")));
        self.parts.push(SpeechPart::All);
        self.parts = tidy(std::mem::take(&mut self.parts), &kept);
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SpeechPart {
    Text(String),
    /// Text that the client is meant to run or fill in.
    Live(String),
    /// The value of an argument.
    Argument(usize),
    /// All values as they were typed; only if there are several.
    All,
}

/// The text of a prompt, or why it cannot be exported.
pub(super) fn of(
    world: World<'_>,
    found: PromptRef<'_>,
    target: (ExportFormat, ShellTranslation),
    compute: &mut Compute<'_>,
) -> Result<Speech, String> {
    let prompt = found.prompt;
    let mut speech = Speech::default();
    let mut arguments = prompt.arguments.to_vec();
    let parts = match prompt.dialect {
        Dialect::Function => {
            return Err("a program makes it, and a file runs none".to_owned());
        }
        Dialect::Marks(marks) => marked(world, found, marks, target, &mut speech)?,
        Dialect::Jinja => {
            look_at_templates(world, found, &mut arguments, &mut speech.notes)?;
            look_at_patterns(prompt, &mut speech.notes)?;
            rendered(world, found, compute, &mut speech.notes)?
        }
        Dialect::Braces => {
            look_at_patterns(prompt, &mut speech.notes)?;
            rendered(world, found, compute, &mut speech.notes)?
        }
        Dialect::Input | Dialect::Verbatim => rendered(world, found, compute, &mut speech.notes)?,
    };
    let is_other = |title: &str| title != prompt.name.as_str();
    let has_title = prompt.title.as_deref().is_some_and(is_other);
    speech.has_title = has_title && !found.library.kind.is_format();
    if let Dialect::Marks(Marks::Appended { form, is_implied }) = prompt.dialect {
        if is_implied {
            // The file says nothing about arguments, and each client appends words by itself.
            arguments.clear();
        } else {
            speech.appended = Some(form);
        }
    }
    let has_all = speech.appended.is_some() || parts.contains(&SpeechPart::All);
    let is_used = |at: usize| has_all || parts.contains(&SpeechPart::Argument(at));
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

/// Merges adjacent texts, renumbers the arguments that are kept, and replaces "all" by the only
/// one.
fn tidy(parts: Vec<SpeechPart>, kept: &[usize]) -> Vec<SpeechPart> {
    let mut tidied: Vec<SpeechPart> = Vec::with_capacity(parts.len());
    for part in parts {
        let part = match part {
            SpeechPart::All if kept.len() == 1 => SpeechPart::Argument(0),
            SpeechPart::Argument(at) => {
                SpeechPart::Argument(kept.iter().position(|one| *one == at).unwrap_or_default())
            }
            part => part,
        };
        match (tidied.last_mut(), part) {
            (_, SpeechPart::Text(text)) if text.is_empty() => {}
            (Some(SpeechPart::Text(before)), SpeechPart::Text(text)) => before.push_str(&text),
            (_, part) => tidied.push(part),
        }
    }
    tidied
}

/// The text of a file of another client, split at its own marks.
fn marked(
    world: World<'_>,
    found: PromptRef<'_>,
    marks: Marks,
    target: (ExportFormat, ShellTranslation),
    speech: &mut Speech,
) -> Result<Vec<SpeechPart>, String> {
    let mut parts = Vec::new();
    let mut spoken = Vec::new();
    for MessageSource { content, .. } in &found.prompt.messages {
        let Content::File(path) = content else {
            continue;
        };
        let text = render::read(world, found.library, path).map_err(|error| error.to_string())?;
        refuse_exported(found.library.kind, &text)?;
        let limits = world.templates.limits();
        let fields = front_matter::read(&text, limits).fields;
        let keys = format::UNSERVED.into_iter();
        let keys = keys.filter_map(|key| Some((key, fields.value(key)?.clone())));
        speech.keys.extend(keys);
        let bodies = spoken::bodies(found.library.kind, &text);
        let bodies = bodies.map_err(|why| format!("{path} {why}"))?;
        for body in bodies {
            spoken.push((body.role, body.text.into_owned()));
        }
    }
    let roles: Vec<Role> = spoken.iter().map(|(role, _)| *role).collect();
    fold(&roles, &mut speech.notes)?;
    for (at, (_, text)) in spoken.iter().enumerate() {
        if at > 0 {
            parts.push(SpeechPart::Text("\n\n".to_owned()));
        }
        let pieces = pieces(marks, &found.prompt.arguments, text);
        let kind = found.library.kind;
        parts.extend(shell::parts(kind, target, text, &pieces, &mut speech.shell));
    }
    if marks == Marks::Patterns {
        append_input(&found.prompt.arguments, &mut parts);
    }
    Ok(parts)
}

/// A pattern that does not say where its input goes gets it at the end.
fn append_input(arguments: &[Argument], parts: &mut Vec<SpeechPart>) {
    let input = arguments
        .iter()
        .position(|argument| *argument.name == *curly::INPUT);
    let Some(input) = input.filter(|at| !parts.contains(&SpeechPart::Argument(*at))) else {
        return;
    };
    parts.push(SpeechPart::Text(blank_line(parts.last()).to_owned()));
    parts.push(SpeechPart::Argument(input));
}

/// What makes an empty line after a part.
fn blank_line(part: Option<&SpeechPart>) -> &'static str {
    match part {
        Some(SpeechPart::Text(text)) if text.ends_with('\n') => "\n",
        _ => "\n\n",
    }
}

/// True if a prompt was read from an exported file.
pub(super) fn is_export(world: World<'_>, found: PromptRef<'_>) -> bool {
    let kind = found.library.kind;
    let message = found.prompt.messages.first();
    match message.map(|message| &message.content) {
        Some(Content::File(path)) if ExportFormat::of(kind).is_some() => {
            let text = render::read(world, found.library, path);
            text.is_ok_and(|text| refuse_exported(kind, &text).is_err())
        }
        _ => false,
    }
}

/// An exported file is not exported again: the prompt would come back under other names.
fn refuse_exported(kind: LibraryKind, text: &str) -> Result<(), String> {
    let client = ExportFormat::of(kind);
    // It is an export, whatever other files the skill has.
    match client.and_then(|client| marker_of(client, text, [])) {
        Some(marker) => Err(format!("is itself an export of `{}`", marker.prompt)),
        None => Ok(()),
    }
}

/// Several messages become one; messages of a model cannot.
fn fold(roles: &[Role], notes: &mut Vec<String>) -> Result<(), String> {
    if roles.contains(&Role::Assistant) {
        return Err("has messages of the assistant, which a file cannot hold".to_owned());
    }
    if roles.len() > 1 {
        notes.push(format!("its {} messages are one text", roles.len()));
    }
    Ok(())
}
