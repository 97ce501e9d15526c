//! Prompt files of VS Code: `.github/prompts/NAME.prompt.md`, `${input:name:description}`.

use super::arguments::{Held, description, join, lost, write as written};
use super::speech::{Speech, SpeechPart};
use super::{ExportDraft, harmless, yaml};
use crate::clients::ExportFormat;
use twig_core::argument::Argument;
use twig_core::model::Prompt;
use twig_core::problem::shorten;

pub(super) fn write(prompt: &Prompt, speech: &Speech) -> ExportDraft {
    let mut text = "---\n".to_owned();
    yaml::field(&mut text, "description", &description(prompt, speech));
    text.push_str("---\n");
    let arguments = &speech.arguments;
    let mark = |at: Option<usize>, _: &str| match at {
        Some(at) => arguments.get(at).map(input).unwrap_or_default(),
        None => arguments.iter().map(input).collect::<Vec<_>>().join(" "),
    };
    let mut parts = written(&speech.parts, str::to_owned, mark);
    let found = harmless::copilot(&mut parts);
    text.push_str(&join(&parts));
    let mut notes = found.notes(ExportFormat::Copilot.title());
    if speech.parts.contains(&SpeechPart::All) {
        notes.push("the whole typed text is written as one argument after the other".to_owned());
    }
    let order = order(speech);
    if !order.is_sorted() {
        let names = order.iter().filter_map(|at| arguments.get(*at));
        let names: Vec<String> = names.map(|one| format!("`{}`", one.name)).collect();
        let names = names.join(", ");
        notes.push(format!(
            "loses the order of the arguments: in the text it is {names}"
        ));
    }
    let links = ["](./", "](../", "#file:"];
    let has_links = |part: &SpeechPart| match part {
        SpeechPart::Text(text) => links.iter().any(|link| text.contains(link)),
        _ => false,
    };
    if speech.parts.iter().any(has_links) {
        notes.push("VS Code attaches files that the text links to".to_owned());
    }
    let held = [Held::Names, Held::Descriptions];
    notes.extend(lost(speech, &held));
    ExportDraft { text, notes }
}

/// The arguments in the order of the text, which is the only order in this format.
fn order(speech: &Speech) -> Vec<usize> {
    let mut order = Vec::with_capacity(speech.arguments.len());
    for part in &speech.parts {
        let places = match part {
            SpeechPart::Text(_) | SpeechPart::Live(_) => 0..0,
            SpeechPart::Argument(at) => *at..at + 1,
            SpeechPart::All => 0..speech.arguments.len(),
        };
        for at in places {
            if !order.contains(&at) {
                order.push(at);
            }
        }
    }
    order
}

fn input(argument: &Argument) -> String {
    // A brace would end the mark, and a line's end would break it.
    let clean = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        // Neither Twig nor VS Code accepts longer marks.
        shorten(&words.join(" ").replace(['{', '}'], ""), 100)
    };
    let name = clean(&argument.name).replace(':', "_");
    match argument.description.as_deref().map(clean) {
        Some(description) if !description.is_empty() => format!("${{input:{name}:{description}}}"),
        _ => format!("${{input:{name}}}"),
    }
}
