//! Commands of the Gemini command line: `.gemini/commands/NAME.toml`, `{{args}}`.

use std::fmt::Write;

use super::arguments::{Held, WrittenPart, description, join, list, lost, write as written};
use super::speech::Speech;
use super::{ExportDraft, harmless};
use crate::clients::ExportFormat;
use twig_core::model::Prompt;

const ARGS: &str = "{{args}}";

pub(super) fn write(prompt: &Prompt, speech: &Speech) -> ExportDraft {
    let arguments = &speech.arguments;
    let is_single = arguments.len() == 1;
    // The spaces prevent a name that happens to be `args` from being the mark.
    let by_name = |name: &str| format!("{{{{ {name} }}}}");
    let mark = |at: Option<usize>, _: &str| match at {
        Some(at) if !is_single => arguments
            .get(at)
            .map(|one| by_name(&one.name))
            .unwrap_or_default(),
        _ => ARGS.to_owned(),
    };
    let mut parts = written(&speech.parts, str::to_owned, mark);
    let found = harmless::gemini(&mut parts);
    let mut notes = found.notes(ExportFormat::Gemini.title());
    let has_list = arguments.len() > 1;
    if has_list {
        let heading = "Arguments, given in this order; put them where the text has their names in double braces:";
        let gap = if ends_line(&parts) { "\n" } else { "\n\n" };
        parts.push(WrittenPart::Text(format!(
            "{gap}{}\n",
            list(heading, arguments)
        )));
        parts.push(WrittenPart::Mark(ARGS.to_owned()));
        notes.push(
            "Gemini CLI has one argument: a list at the end tells the model what to fill in"
                .to_owned(),
        );
    }
    let mut text = String::new();
    let _ = writeln!(text, "description = {}", line(&description(prompt, speech)));
    let _ = writeln!(text, "prompt = {}", lines(&join(&parts)));
    let all = [
        Held::Names,
        Held::Descriptions,
        Held::Required,
        Held::Values,
    ];
    let held: &[Held] = if has_list { &all } else { &[] };
    notes.extend(lost(speech, held));
    ExportDraft { text, notes }
}

fn ends_line(parts: &[WrittenPart]) -> bool {
    matches!(parts.last(), Some(WrittenPart::Text(text)) if text.ends_with('\n'))
}

/// A text of several lines: unchanged if TOML allows it.
fn lines(text: &str) -> String {
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains("'''") && !text.contains(is_odd) && !text.ends_with('\'') {
        return format!("'''\n{text}'''");
    }
    let mut escaped = "\"\"\"\n".to_owned();
    for c in text.chars() {
        match c {
            '\n' | '\t' => escaped.push(c),
            c => escape(&mut escaped, c),
        }
    }
    escaped.push_str("\"\"\"");
    escaped
}

/// A text on one line.
fn line(text: &str) -> String {
    let mut escaped = "\"".to_owned();
    text.chars().for_each(|c| escape(&mut escaped, c));
    escaped.push('"');
    escaped
}

fn escape(escaped: &mut String, c: char) {
    match c {
        '"' => escaped.push_str("\\\""),
        '\\' => escaped.push_str("\\\\"),
        '\n' => escaped.push_str("\\n"),
        '\r' => escaped.push_str("\\r"),
        '\t' => escaped.push_str("\\t"),
        c if c.is_control() => {
            let _ = write!(escaped, "\\u{:04X}", u32::from(c));
        }
        c => escaped.push(c),
    }
}
