//! `{{name}}`, and nothing else: without a value, the original text stays.

use super::arguments::DraftArguments;
use super::words::EscapedWords;

/// The longest variable, including braces.
const LONGEST: usize = 128;

/// Reads a text whose variables are single names.
pub(super) fn simple(text: &str, arguments: &mut DraftArguments) -> EscapedWords {
    let mut words = EscapedWords::default();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let Some((written, name)) = variable(&rest[start..]) else {
            // The next brace may start one: `{{{name}}}`.
            let end = start + 1;
            words.text(&rest[..end]);
            rest = &rest[end..];
            continue;
        };
        words.text(&rest[..start]);
        // `${{ secrets.NAME }}` is an expression of another tool.
        let is_foreign = rest[..start].ends_with('$');
        match (!is_foreign).then(|| arguments.used(name)).flatten() {
            Some(argument) => words.value_or(&argument, written),
            None => words.text(written),
        }
        rest = &rest[start + written.len()..];
    }
    words.text(rest);
    words
}

/// The variable that a text starts with: all of it, and its name.
fn variable(text: &str) -> Option<(&str, &str)> {
    // Names are short, so the search for the end of one is bounded.
    let window = text
        .char_indices()
        .nth(LONGEST)
        .map_or(text, |(end, _)| &text[..end]);
    let end = window.find("}}")? + 2;
    let name = text[2..end - 2].trim();
    let first = name.chars().next()?;
    let is_good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = (first.is_alphabetic() || first == '_') && name.chars().all(is_good);
    is_name.then(|| (&text[..end], name))
}
