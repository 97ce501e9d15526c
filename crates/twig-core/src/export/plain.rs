//! Cursor and Windsurf: Markdown without marks. Arguments stand in the text by name, and a list at the
//! end says what they are; a model fills them in.

use super::arguments::{Holds, description, join, list, lost, write as written};
use super::speech::Speech;
use super::{Draft, yaml};
use crate::model::Prompt;

/// A command of Cursor: `.cursor/commands/NAME.md`, text and nothing else.
pub(super) fn cursor(prompt: &Prompt, speech: &Speech) -> Draft {
    let mut draft = named(prompt, speech, "Cursor");
    if prompt.description.is_some() {
        draft.notes.push("does not hold the description".to_owned());
    }
    let body = draft.text.trim_start_matches('\u{feff}').to_owned();
    // A blank line before the marker, which is the last one.
    draft.text = format!("{body}\n");
    draft
}

/// A workflow of Windsurf: `.windsurf/workflows/NAME.md`.
pub(super) fn windsurf(prompt: &Prompt, speech: &Speech) -> Draft {
    let mut draft = named(prompt, speech, "Windsurf");
    let mut text = "---\n".to_owned();
    yaml::field(&mut text, "description", &description(prompt, speech));
    text.push_str("---\n");
    draft.text.insert_str(0, &text);
    draft
}

fn named(prompt: &Prompt, speech: &Speech, title: &str) -> Draft {
    let mut text = body(speech, |name| format!("{{{{{name}}}}}"));
    let mut notes = Vec::new();
    if !speech.arguments.is_empty() {
        let heading = "Arguments, given after the command in this order; put them where the text has their names in double braces:";
        text.push('\n');
        text.push_str(&list(heading, &speech.arguments));
        notes.push(format!(
            "{title} has no arguments: a list at the end tells the model what to fill in"
        ));
    }
    let holds = Holds {
        names: true,
        descriptions: true,
        required: true,
        values: true,
        ..Holds::default()
    };
    notes.extend(lost(prompt, speech, holds));
    Draft { text, notes }
}

/// The text with arguments by name.
pub(super) fn body(speech: &Speech, mark: impl Fn(&str) -> String) -> String {
    let names = |at: Option<usize>, _: &str| match at {
        Some(at) => speech
            .arguments
            .get(at)
            .map(|one| mark(&one.name))
            .unwrap_or_default(),
        None => {
            let names = speech.arguments.iter().map(|one| mark(&one.name));
            names.collect::<Vec<_>>().join(" ")
        }
    };
    join(&written(&speech.parts, str::to_owned, names))
}
