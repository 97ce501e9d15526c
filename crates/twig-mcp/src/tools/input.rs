//! Reading what a user wrote after a command: `key=value` pairs, and the rest.
//!
//! Nothing gets lost: what is no value of an argument is in the rest, in its order and with its own
//! spacing.

/// What was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Input<'n> {
    /// The name of an argument and its value, each name once.
    pub(super) values: Vec<(&'n str, String)>,
    /// All else, without spaces at its ends.
    pub(super) rest: String,
}

/// Reads pairs whose key is one of these names: `key=value`, `key="several words"` or the same in
/// single quotes. Of two pairs with one key the second stays in the rest.
pub(super) fn read<'n>(text: &str, names: &[&'n str]) -> Input<'n> {
    let mut input = Input::default();
    let mut free = names.to_vec();
    let mut left = text;
    let mut is_word_start = true;
    while let Some(first) = left.chars().next() {
        if is_word_start && let Some((name, value, after)) = pair(left, &free) {
            input.values.push((name, value));
            free.retain(|other| *other != name);
            // The space before the pair stays: the one behind it would be too much.
            left = after.trim_start();
            is_word_start = left.len() < after.len();
            continue;
        }
        is_word_start = is_space(first);
        let (head, tail) = left.split_at(first.len_utf8());
        input.rest.push_str(head);
        left = tail;
    }
    input.rest = input.rest.trim().to_owned();
    input
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// The pair that a text starts with, and what follows it. A name that is found once is not looked for
/// again, so quotes without an end are searched for as often as there are names, not words.
fn pair<'t, 'n>(text: &'t str, names: &[&'n str]) -> Option<(&'n str, String, &'t str)> {
    let value_of = |name: &str| text.strip_prefix(name)?.strip_prefix('=');
    let named = names.iter().copied().filter(|name| !name.is_empty());
    let named = named.filter_map(|name| Some((name, value_of(name)?)));
    let (name, value) = named.max_by_key(|(name, _)| name.len())?;
    if let Some((value, after)) = quoted(value) {
        return Some((name, value, after));
    }
    let end = value.find(is_space).unwrap_or(value.len());
    let (value, after) = value.split_at(end);
    // A name and `=` alone is no value: an empty one is written in quotes.
    (!value.is_empty()).then(|| (name, value.to_owned(), after))
}

/// A value in quotes, and what follows it. A quote ends it where a space, a comma, a semicolon or
/// nothing follows; `\"` is a quote and `\\` a backslash in it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut characters = text.chars();
    let quote = characters.next().filter(|c| matches!(c, '"' | '\''))?;
    let mut value = String::new();
    while let Some(c) = characters.next() {
        let after = characters.as_str();
        let next = after.chars().next();
        if c == quote && next.is_none_or(|next| is_space(next) || matches!(next, ',' | ';')) {
            return Some((value, after));
        }
        match next {
            Some(next) if c == '\\' && (next == quote || next == '\\') => {
                value.push(next);
                characters.next();
            }
            _ => value.push(c),
        }
    }
    None
}
