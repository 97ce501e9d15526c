//! The regular part of front matter, read in one pass: `key: value` lines with plain or quoted text
//! and short lists. The YAML reader handles everything else; a property test checks that both give
//! the same result.

use super::fields::FrontMatterValue;
use super::yaml::core;

/// Reads a block of regular lines; `None` if one of them is irregular.
pub(super) fn read(front: &str) -> Option<Vec<(Box<str>, FrontMatterValue)>> {
    let mut entries: Vec<(Box<str>, FrontMatterValue)> = Vec::new();
    for line in front.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = line.bytes().position(|byte| !is_key(byte))?;
        let (key, after) = line.split_at(end);
        let value = after.strip_prefix(": ")?.trim_matches(' ');
        let is_known = key.starts_with(|c: char| c.is_ascii_alphabetic()) && core(key).is_none();
        if !is_known || !value.chars().all(is_usual) {
            return None;
        }
        if entries.len() >= MOST || entries.iter().any(|(known, _)| **known == *key) {
            return None;
        }
        entries.push((key.into(), scalar(value).or_else(|| list(value))?));
    }
    Some(entries)
}

/// How many entries are searched for a duplicate.
const MOST: usize = 32;

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Characters without a special meaning anywhere in YAML.
fn is_usual(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{10000}'..)
}

fn scalar(value: &str) -> Option<FrontMatterValue> {
    let quoted = |quote: char| {
        let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
        let is_plain = !inner.contains([quote, '\\']);
        is_plain.then(|| FrontMatterValue::Text(inner.into()))
    };
    match value.chars().next()? {
        quote @ ('\'' | '"') => quoted(quote),
        first if first.is_alphanumeric() => {
            let ends_plain = !value.ends_with(|c: char| c == ':' || c.is_whitespace());
            let is_plain = ends_plain && !value.contains(": ") && !value.contains(" #");
            is_plain.then(|| core(value).unwrap_or_else(|| FrontMatterValue::Text(value.into())))
        }
        _ => None,
    }
}

fn list(value: &str) -> Option<FrontMatterValue> {
    let inner = value.strip_prefix('[')?.strip_suffix(']')?;
    let items = inner.split(',').map(|item| {
        let item = item.trim_matches(' ');
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_./*- ".contains(&byte);
        let is_quoted = item.starts_with(['\'', '"']);
        let is_item = is_quoted || item.bytes().all(is_word);
        scalar(item).filter(|_| is_item)
    });
    items.collect::<Option<_>>().map(FrontMatterValue::List)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::yaml::strict;
    use super::*;

    #[test]
    fn usual_front_matter_is_regular() {
        let text = "name: pdf\r\ndescription: 'Reads PDFs, forms & more'\nmodel: \"x\"\n# note\n\ntools: ['a/b', c, \"d e\"]\nversion: 1.10\nis-on: true\n";
        let entries = read(text).expect("regular");
        assert_eq!(entries.len(), 6);
        assert_eq!(entries, strict(text).expect("YAML"));
        for odd in [
            "a:",
            "a:\n  - b",
            "a: b: c",
            "a: b #c",
            "a: b\n c",
            "a: 'it''s'",
            "a: \"\\t\"",
            "a: [b, ]",
            "a: {b: c}",
            "a: |\n",
            "a: b\na: c",
            "null: x",
            "- a",
            " a: b",
            "a: [b: c]",
            "a: *b",
            "a: \u{2028}x",
            "a: x\u{2000}",
        ] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_regular_is_yaml(
            lines in proptest::collection::vec(
                "([a-c][a-c_-]{0,2}: ?(['\"]?[a-z0-9 .:,#\\[\\]{}'\"&*!|>%@`ü-]{0,12}['\"]?|\\[(['\"a-c, ]|'[a-c, ]{0,3}'){0,6}\\])|# [a-z]{0,3}|) ?",
                0..5,
            ),
            end in "(\r\n|\n)",
        ) {
            let text = lines.join(&end);
            if let Some(entries) = read(&text) {
                prop_assert_eq!(strict(&text), Ok(entries), "{}", text);
            }
        }

        #[test]
        fn any_value_is_read_the_same(value in any::<String>()) {
            let text = format!("a: {value}");
            if let Some(entries) = read(&text) {
                prop_assert_eq!(strict(&text), Ok(entries), "{}", text);
            }
        }
    }
}
