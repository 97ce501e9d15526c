//! Commands of opencode: `.opencode/command/NAME.md`, `$1`, `$2` and `$ARGUMENTS`.

use super::arguments::{description, join, lost, write as written};
use super::claude::ALL;
use super::speech::Speech;
use super::{ExportDraft, harmless, yaml};
use crate::clients::ExportFormat;
use twig_core::model::Prompt;

pub(super) fn write(prompt: &Prompt, speech: &Speech) -> ExportDraft {
    let is_single = speech.arguments.len() == 1;
    let mut text = "---\n".to_owned();
    yaml::field(&mut text, "description", &description(prompt, speech));
    text.push_str("---\n");
    let mark = |at: Option<usize>, _: &str| match at {
        Some(at) if !is_single => format!("${}", at + 1),
        _ => ALL.to_owned(),
    };
    let mut parts = written(&speech.parts, str::to_owned, mark);
    let found = harmless::opencode(&mut parts, !is_single);
    text.push_str(&join(&parts));
    let mut notes = found.notes(ExportFormat::Opencode.title());
    notes.extend(lost(speech, &[]));
    ExportDraft { text, notes }
}
