//! Describes arguments in words if a format cannot declare them, and reports what is lost.

use std::fmt::Write;

use super::speech::{Speech, SpeechPart};
use twig_core::argument::Argument;
use twig_core::model::Prompt;
use twig_core::problem::shorten;

/// Parts of a prompt and its arguments that a format may be able to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Title,
    Names,
    Descriptions,
    Required,
    /// Defaults and choices.
    Values,
}

/// One sentence about what is lost; `None` if nothing is.
pub(super) fn lost(speech: &Speech, held: &[Held]) -> Option<String> {
    let holds = |what: Held| held.contains(&what);
    let mut lost: Vec<String> = Vec::new();
    if !holds(Held::Title) && speech.has_title {
        lost.push("the title".to_owned());
    }
    let mut each = |what: &str, has: fn(&Argument) -> bool, is_held: bool| {
        if is_held {
            return;
        }
        let names = speech.arguments.iter().filter(|argument| has(argument));
        let names: Vec<String> = names
            .map(|argument| format!("`{}`", argument.name))
            .collect();
        if !names.is_empty() {
            lost.push(format!("the {what} of {}", names.join(", ")));
        }
    };
    each("name", |_| true, holds(Held::Names));
    each(
        "description",
        |one| one.description.is_some(),
        holds(Held::Descriptions),
    );
    each("default", |one| one.default.is_some(), holds(Held::Values));
    each(
        "choices",
        |one| !one.choices.is_empty(),
        holds(Held::Values),
    );
    let is_needed = |one: &&Argument| one.required && one.default.is_none();
    each(
        "rules",
        |one| one.max_length.is_some() || one.pattern.is_some(),
        false,
    );
    if !holds(Held::Required) {
        let needed = speech.arguments.iter().filter(is_needed);
        lost.extend(needed.map(|argument| format!("that `{}` is required", argument.name)));
    }
    (!lost.is_empty()).then(|| format!("loses {}", lost.join(", ")))
}

/// What a prompt is for: its description, else the start of its text.
pub(super) fn description(prompt: &Prompt, speech: &Speech) -> String {
    let own = prompt.description.as_deref().or(prompt.title.as_deref());
    if let Some(own) = own.filter(|own| !own.trim().is_empty()) {
        return own.to_owned();
    }
    let mut text = String::new();
    for part in &speech.parts {
        let at = match part {
            SpeechPart::Text(part) | SpeechPart::Live(part) => {
                text.push_str(part);
                continue;
            }
            SpeechPart::Argument(at) => Some(*at),
            SpeechPart::All => None,
        };
        let name = at.and_then(|at| speech.arguments.get(at));
        text.push_str(name.map_or("…", |argument| &argument.name));
    }
    let mut lines = text
        .lines()
        .map(|line| line.trim_start_matches(['#', '-', ' ']).trim());
    let first = lines.find(|line| !line.is_empty());
    first.map_or_else(|| prompt.name.to_string(), |line| shorten(line, 200))
}

/// A hint for a person who gives values: `<code> [language]`.
pub(super) fn hint(arguments: &[Argument]) -> String {
    let hints = arguments.iter().map(|argument| {
        let name = &argument.name;
        if argument.required && argument.default.is_none() {
            format!("<{name}>")
        } else {
            format!("[{name}]")
        }
    });
    hints.collect::<Vec<_>>().join(" ")
}

/// The heading of a list of arguments whose names are in the text.
pub(super) const NAMED_ARGUMENTS: &str = "Arguments, given after the command in this order; put them where the text has their names in double braces:";

/// A list of arguments for a model to read.
pub(super) fn list(heading: &str, arguments: &[Argument]) -> String {
    let mut text = format!("{heading}\n");
    for argument in arguments {
        let _ = write!(text, "\n- {}", argument.name);
        if let Some(description) = &argument.description {
            let words: Vec<&str> = description.split_whitespace().collect();
            let _ = write!(text, ": {}", words.join(" "));
        }
        let mut more = Vec::new();
        if !argument.choices.is_empty() {
            more.push(format!("one of {}", argument.choices.join(", ")));
        }
        if let Some(default) = &argument.default {
            let words: Vec<&str> = default.split_whitespace().collect();
            more.push(format!("default: {}", words.join(" ")));
        } else if argument.required {
            more.push("required".to_owned());
        }
        if !more.is_empty() {
            let _ = write!(text, " ({})", more.join("; "));
        }
    }
    text.push('\n');
    text
}

/// A text with the marks of a client; `mark` gets the text after its place.
pub(super) fn write(
    parts: &[SpeechPart],
    mut text: impl FnMut(&str) -> String,
    mut mark: impl FnMut(Option<usize>, &str) -> String,
) -> Vec<WrittenPart> {
    let mut written = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        let after = match parts.get(at + 1) {
            Some(SpeechPart::Text(text) | SpeechPart::Live(text)) => text.as_str(),
            _ => "",
        };
        written.push(match part {
            SpeechPart::Text(part) => WrittenPart::Text(text(part)),
            SpeechPart::Live(part) => WrittenPart::Live(text(part)),
            SpeechPart::Argument(at) => WrittenPart::Mark(mark(Some(*at), after)),
            SpeechPart::All => WrittenPart::Mark(mark(None, after)),
        });
    }
    written
}

/// A part as the client's file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrittenPart {
    Text(String),
    /// Text that the client is meant to run or fill in.
    Live(String),
    Mark(String),
}

/// The parts as one text that ends its last line.
pub(super) fn join(parts: &[WrittenPart]) -> String {
    let mut text = String::new();
    for part in parts {
        let (WrittenPart::Text(part) | WrittenPart::Live(part) | WrittenPart::Mark(part)) = part;
        text.push_str(part);
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
