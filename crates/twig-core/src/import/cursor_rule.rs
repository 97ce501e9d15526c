//! Rules of Cursor. Those that somebody or an agent asks for are prompts; the others are context.

use super::draft::Draft;
use super::front::split_and_read;
use super::words::Words;
use super::{Batch, Item, SourceFile, wished_name};
use crate::front_matter::Value;
use crate::model::Role;

/// Reads one rule.
pub(super) fn read(batch: Batch<'_>, file: &SourceFile, takes_all: bool) -> Vec<Item> {
    let front = split_and_read(&file.text, batch.limits);
    let fields = &front.fields;
    if !takes_all && fields.flag("alwaysApply") == Some(true) {
        let why = "the rule applies always (`alwaysApply: true`): it is context, not a prompt";
        return vec![Item::left(&file.path, why)];
    }
    let globs = fields.get("globs").map(Value::to_text).unwrap_or_default();
    let globs = globs.trim();
    if !takes_all && !globs.is_empty() && !matches!(globs, "[]" | "\"\"" | "''" | "null") {
        let shown = crate::problem::shorten(globs, 40);
        let why =
            format!("the rule goes with files (`globs: {shown}`): it is context, not a prompt");
        return vec![Item::left(&file.path, why)];
    }
    let wished = wished_name(&file.path, ".mdc");
    let mut draft = Draft::new(&file.path, &wished, front.body, batch.limits);
    draft.description = fields.text("description").map(Into::into);
    draft.repairs = front.repairs;
    draft.messages = vec![(Role::User, Words::of(front.body))];
    vec![draft.finish(batch.limits)]
}
