//! Cursor and Windsurf: Markdown without marks. The text names its arguments, and a list at the end
//! describes them; a model fills them in.

use super::arguments::{
    Held, NAMED_ARGUMENTS, WrittenPart, description, join, list, lost, write as written,
};
use super::speech::Speech;
use super::{ExportDraft, yaml};
use twig_core::argument::Argument;
use twig_core::model::Prompt;

/// A command of Cursor: `.cursor/commands/NAME.md`, only text.
pub(super) fn cursor(prompt: &Prompt, speech: &Speech) -> ExportDraft {
    let mut draft = named(speech, "Cursor");
    if prompt.description.is_some() {
        draft.notes.push("loses the description".to_owned());
    }
    let body = draft.text.trim_start_matches('\u{feff}').to_owned();
    // An empty line before the marker, which is the last line.
    draft.text = format!("{body}\n");
    draft
}

/// A workflow of Windsurf: `.windsurf/workflows/NAME.md`.
pub(super) fn windsurf(prompt: &Prompt, speech: &Speech) -> ExportDraft {
    let mut draft = named(speech, "Windsurf");
    let mut text = "---\n".to_owned();
    yaml::field(&mut text, "description", &description(prompt, speech));
    text.push_str("---\n");
    draft.text.insert_str(0, &text);
    draft
}

fn named(speech: &Speech, title: &str) -> ExportDraft {
    let mut text = body(speech, |name| format!("{{{{{name}}}}}"));
    let mut notes = Vec::new();
    if !speech.arguments.is_empty() {
        text.push('\n');
        text.push_str(&list(NAMED_ARGUMENTS, &speech.arguments));
        notes.push(format!(
            "{title} has no arguments: a list at the end tells the model what to fill in"
        ));
    }
    let held = [
        Held::Names,
        Held::Descriptions,
        Held::Required,
        Held::Values,
    ];
    notes.extend(lost(speech, &held));
    ExportDraft { text, notes }
}

/// The text with arguments by name.
pub(super) fn body(speech: &Speech, mark: impl Fn(&str) -> String) -> String {
    join(&named_parts(speech, mark))
}

/// The same, as parts.
pub(super) fn named_parts(speech: &Speech, mark: impl Fn(&str) -> String) -> Vec<WrittenPart> {
    let by_name = |argument: &Argument| mark(&argument.name);
    let names = |at: Option<usize>, _: &str| {
        let arguments = speech.arguments.iter().enumerate();
        let meant = arguments.filter(|(own, _)| at.is_none_or(|at| at == *own));
        let marks: Vec<String> = meant.map(|(_, argument)| by_name(argument)).collect();
        marks.join(" ")
    };
    written(&speech.parts, str::to_owned, names)
}
