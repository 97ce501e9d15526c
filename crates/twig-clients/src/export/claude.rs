//! Commands of Claude Code: `.claude/commands/NAME.md`, `$name` and `$ARGUMENTS`.

use std::fmt::Write;

use super::arguments::{Held, WrittenPart, description, hint, join, lost, write as written};
use super::speech::{Speech, SpeechPart};
use super::{ExportDraft, harmless, yaml};
use crate::clients::ExportFormat;
use crate::format::has_number_marks;
use twig_core::argument::Argument;
use twig_core::catalog::PromptRef;
use twig_core::model::LibraryKind;

pub(super) fn write(found: PromptRef<'_>, speech: &Speech) -> Result<ExportDraft, String> {
    let prompt = found.prompt;
    let names = names(&speech.arguments);
    let marks = |at: Option<usize>, after: &str| mark(at, &names, after);
    // Without arguments, the client leaves numbers as they are, unless they start a count.
    let has_numbers = !names.is_empty() || has_number_marks(&text_of(speech));
    let escapes = |text: &str| escape(text, &names, has_numbers);
    let (body, mut notes) = body(found, speech, escapes, marks)?;
    let mut text = "---\n".to_owned();
    yaml::field(&mut text, "description", &description(prompt, speech));
    if !names.is_empty() {
        let hint = yaml::quoted(&hint(&speech.arguments));
        let _ = writeln!(text, "argument-hint: {hint}");
        yaml::field(&mut text, "arguments", &names.join(" "));
    }
    text.push_str("---\n");
    text.push_str(&body);
    for (argument, name) in speech.arguments.iter().zip(&names) {
        if *argument.name != **name {
            notes.push(format!("argument `{}` is called `{name}`", argument.name));
        }
    }
    let held = [Held::Names, Held::Required];
    notes.extend(lost(speech, &held));
    Ok(ExportDraft { text, notes })
}

/// The text with marks, escaped and harmless; skills have the same rules.
pub(super) fn body(
    found: PromptRef<'_>,
    speech: &Speech,
    escape: impl Fn(&str) -> (String, bool),
    mark: impl FnMut(Option<usize>, &str) -> String,
) -> Result<(String, Vec<String>), String> {
    for pair in speech.parts.windows(2) {
        if let [
            SpeechPart::Text(text) | SpeechPart::Live(text),
            SpeechPart::Argument(_) | SpeechPart::All,
        ] = pair
            && text.ends_with('\\')
        {
            let why = "has a backslash right before an argument, which would keep the value out";
            return Err(why.to_owned());
        }
    }
    let mut is_lost = false;
    let mut escaped = |text: &str| {
        let (text, lost) = escape(text);
        is_lost |= lost;
        text
    };
    let mut parts = written(&speech.parts, &mut escaped, mark);
    if is_lost {
        let why = "has a backslash before what looks like an argument, which no file can hold";
        return Err(why.to_owned());
    }
    let mut notes = harmless::claude(&mut parts).notes(ExportFormat::Claude.title());
    notes.extend(own_variables(found, &parts));
    Ok((join(&parts), notes))
}

/// The note on variables of Claude Code in a text that was not written for it.
pub(super) fn own_variables(found: PromptRef<'_>, parts: &[WrittenPart]) -> Option<String> {
    let kind = found.library.kind;
    let is_own = kind == LibraryKind::Skills || kind == ExportFormat::Claude.kind();
    let has_own = !is_own
        && parts.iter().any(|part| match part {
            WrittenPart::Text(text) | WrittenPart::Live(text) => text.contains("${CLAUDE_"),
            WrittenPart::Mark(_) => false,
        });
    has_own.then(|| "Claude Code fills in `${CLAUDE_…}`, which is mere text in Twig".to_owned())
}

/// Unique names for `$name` marks.
fn names(arguments: &[Argument]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut name: String = argument.name.replace(|c| !is_good(c), "_");
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || name == "ARGUMENTS" {
            name.insert(0, '_');
        }
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// The mark of an argument, in a form that ends where the text continues.
///
/// A single argument is everything that was typed: people do not quote it.
fn mark(at: Option<usize>, names: &[String], after: &str) -> String {
    let runs_on = after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    match at {
        None => ALL.to_owned(),
        Some(at) if runs_on => format!("{ALL}[{at}]"),
        Some(_) if names.len() == 1 && !after.starts_with('[') => ALL.to_owned(),
        Some(at) => format!("${}", names.get(at).map_or("", String::as_str)),
    }
}

pub(super) const ALL: &str = "$ARGUMENTS";

/// The texts of a prompt without its arguments.
fn text_of(speech: &Speech) -> String {
    let texts = speech.parts.iter().map(|part| match part {
        SpeechPart::Text(text) | SpeechPart::Live(text) => text.as_str(),
        SpeechPart::Argument(_) | SpeechPart::All => " ",
    });
    texts.collect()
}

/// Escapes text with a backslash so that it is no mark. Returns whether the text already had such a
/// backslash, which the client would interpret. Numbers are escaped if there are any that count.
pub(super) fn escape(text: &str, names: &[String], has_numbers: bool) -> (String, bool) {
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut is_lost = false;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, behind) = (&rest[..at], &rest[at + 1..]);
        escaped.push_str(before);
        let is_number = has_numbers && behind.starts_with(|c: char| c.is_ascii_digit());
        let is_mark = is_number || is_named(behind, names);
        if is_mark {
            is_lost |= escaped.ends_with('\\');
            escaped.push('\\');
        }
        escaped.push('$');
        rest = behind;
    }
    escaped.push_str(rest);
    (escaped, is_lost)
}

fn is_named(text: &str, names: &[String]) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || c == '_';
    let word = text.find(|c| !is_inner(c)).map_or(text, |end| &text[..end]);
    // This mark counts in a longer word, too.
    word.starts_with(&ALL[1..]) || names.iter().any(|name| name == word)
}
