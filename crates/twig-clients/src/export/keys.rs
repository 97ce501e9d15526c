//! Front matter keys that only one client reads: kept if the export is for the same client.

use std::fmt::Write;

use super::speech::Speech;
use super::{ExportDraft, marker, yaml};
use crate::clients::ExportFormat;
use twig_core::catalog::PromptRef;
use twig_core::front_matter::FrontMatterValue;

/// Programs that a client runs by itself: an exported text must not bring them.
const RUN: &str = "hooks";
/// What a model may do without asking.
pub(super) const TOOLS: &str = "allowed-tools";

/// Copies the keys of a file to one of the same format, unchanged.
pub(super) fn keep(
    client: ExportFormat,
    found: PromptRef<'_>,
    speech: &mut Speech,
    draft: &mut ExportDraft,
) {
    if !client.rules().keeps_keys || client.kind() != found.library.kind {
        return;
    }
    let Some(end) = marker::front_end(&draft.text) else {
        return;
    };
    let keys = std::mem::take(&mut speech.keys).into_iter();
    let (left, kept): (Vec<_>, Vec<_>) = keys.partition(|(key, _)| *key == RUN);
    speech.keys = left;
    let mut lines = String::new();
    for (key, value) in &kept {
        let value = yaml::value(value);
        if *key == TOOLS {
            draft.notes.push(note(&value));
        }
        let _ = writeln!(lines, "{key}: {value}");
    }
    draft.text.insert_str(end, &lines);
}

/// The tools of a command, as skills have them: with a space between them.
pub(super) fn tools(
    client: ExportFormat,
    found: PromptRef<'_>,
    speech: &mut Speech,
) -> Option<String> {
    if client != ExportFormat::Skills || found.library.kind != ExportFormat::Claude.kind() {
        return None;
    }
    let at = speech.keys.iter().position(|(key, _)| *key == TOOLS)?;
    let tools = match &speech.keys[at].1 {
        FrontMatterValue::Text(text) => parted(text),
        FrontMatterValue::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(FrontMatterValue::word).collect();
            items?.join(" ")
        }
        _ => return None,
    };
    speech.keys.remove(at);
    (!tools.is_empty()).then_some(tools)
}

/// The note on tools that are kept.
pub(super) fn note(tools: &str) -> String {
    format!("keeps `{TOOLS}: {tools}`, and clients may run these without asking")
}

/// Splits tools at commas or spaces, except in parentheses, which belong to a tool.
fn parted(text: &str) -> String {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}
