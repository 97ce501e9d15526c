//! Rules of Cursor. Rules that a person or an agent asks for become prompts; the others are
//! context.

use super::draft::ImportDraft;
use super::front::split_and_read;
use super::words::EscapedWords;
use super::{ImportBatch, ImportItem, SourceFile, wished_name};
use twig_core::front_matter::FrontMatterValue;
use twig_core::model::Role;
use twig_core::problem::shorten;

/// Reads one rule.
pub(super) fn read(batch: ImportBatch<'_>, file: &SourceFile, takes_all: bool) -> Vec<ImportItem> {
    let front = split_and_read(&file.text, batch.limits);
    let fields = &front.fields;
    if !takes_all && fields.flag("alwaysApply") == Some(true) {
        let why = "the rule applies always (`alwaysApply: true`): it is context, not a prompt";
        return vec![ImportItem::left(&file.path, why)];
    }
    let globs = fields.get("globs").map(globs).unwrap_or_default();
    if !takes_all && is_narrow(&globs) {
        let shown = shorten(&globs.join(", "), 40);
        let why =
            format!("the rule goes with files (`globs: {shown}`): it is context, not a prompt");
        return vec![ImportItem::left(&file.path, why)];
    }
    let wished = wished_name(&file.path, ".mdc");
    let mut draft = ImportDraft::new(&file.path, &wished, front.body, batch.limits);
    draft.description = fields.text("description").map(Into::into);
    // Cursor itself writes `globs: **/*`, which is not YAML: that does not affect the prompt.
    draft.notes = front.repairs;
    draft.messages = vec![(Role::User, EscapedWords::of(front.body))];
    vec![draft.finish(batch.limits)]
}

/// The file patterns of a rule: a list, or one text with commas.
fn globs(value: &FrontMatterValue) -> Vec<String> {
    match value {
        FrontMatterValue::List(items) => items.iter().filter_map(FrontMatterValue::word).collect(),
        other => vec![other.to_text()],
    }
}

/// True if patterns limit a rule to some files: there are any, and none of them matches every file.
fn is_narrow(globs: &[String]) -> bool {
    let around = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '[' | ']');
    let patterns = globs.iter().flat_map(|text| text.split(','));
    let mut patterns = patterns
        .map(|pattern| pattern.trim_matches(around))
        .filter(|pattern| !pattern.is_empty())
        .peekable();
    let is_all = |pattern: &str| matches!(pattern, "*" | "**" | "**/*");
    patterns.peek().is_some() && !patterns.any(is_all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use twig_core::front_matter;
    use twig_core::limits::Limits;

    #[test]
    fn patterns_that_match_every_file_narrow_nothing() {
        for (written, expected) in [
            ("", false),
            ("''", false),
            ("[]", false),
            ("null", false),
            ("*", false),
            ("**", false),
            ("**/*", false),
            ("'**/*'", false),
            ("[\"**/*\"]", false),
            ("\n  - '**/*'\n  - '*.rs'", false),
            ("**/*, *.rs", false),
            ("*.rs", true),
            ("src/**/*", true),
            ("**/*.{ts,tsx}", true),
            ("[\"*.rs\", \"src/**\"]", true),
        ] {
            let text = format!("---\nglobs: {written}\n---\n");
            let fields = front_matter::read(&text, &Limits::default()).fields;
            let globs = fields.get("globs").map(globs).unwrap_or_default();
            assert_eq!(is_narrow(&globs), expected, "{written}: {globs:?}");
        }
    }
}
