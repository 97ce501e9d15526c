//! How deep a text nests, counted in one pass before a parser sees it.
//!
//! Parsers recurse once for each level, and their trees are converted and dropped the same way, so
//! a file of a few kilobytes could overflow the stack of a thread and end the process. Every reader
//! of TOML and JSON calls this module first. The YAML reader counts by itself, with a limit of its
//! own, and `template/scan/measure` counts for templates.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::limits::NESTING;

/// A text that nests too deep, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it nests deeper than {NESTING} levels, which is the limit")]
pub struct TooDeep {
    /// Bytes of the text before the level that is one too many.
    pub at: usize,
}

/// Measures TOML: the parts of headers and keys, and nested brackets.
///
/// The text is split by the lexer that the `toml` and `toml_edit` crates use, so both see the same
/// strings and comments. A header and the keys below it are counted separately.
pub fn toml(text: &str) -> Result<(), TooDeep> {
    toml_within(text, NESTING)
}

fn toml_within(text: &str, limit: usize) -> Result<(), TooDeep> {
    // The closing bracket of each that is open, and the level around it.
    let mut open: Vec<(TokenKind, usize)> = Vec::new();
    let mut level = 0;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => level += 1,
            TokenKind::LeftSquareBracket => {
                open.push((TokenKind::RightSquareBracket, level));
                level += 1;
            }
            TokenKind::LeftCurlyBracket => {
                open.push((TokenKind::RightCurlyBracket, level));
                level += 1;
            }
            kind @ (TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) => {
                // The parser continues after a bracket that closes nothing.
                if let Some((_, around)) = open.pop_if(|(close, _)| *close == kind) {
                    level = around;
                }
            }
            // The next key or value starts here.
            TokenKind::Comma | TokenKind::Newline => {
                level = open.last().map_or(0, |(_, around)| around + 1);
            }
            _ => {}
        }
        if level > limit {
            let at = token.span().start();
            return Err(TooDeep { at });
        }
    }
    Ok(())
}

/// Measures JSON, with or without comments.
pub fn json(text: impl AsRef<[u8]>) -> Result<(), TooDeep> {
    let bytes = text.as_ref();
    let mut level = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'/' => at = comment_end(bytes, at),
            b'[' | b'{' => {
                level += 1;
                if level > NESTING {
                    return Err(TooDeep { at });
                }
            }
            b']' | b'}' => level = level.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The last byte of a string.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => break,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// The last byte of a comment, or the slash itself if no comment begins there.
fn comment_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let length = match rest.get(1) {
        Some(b'/') => rest.iter().position(|byte| *byte == b'\n'),
        Some(b'*') => rest[2..]
            .windows(2)
            .position(|pair| pair == b"*/")
            .map(|at| at + 3),
        _ => Some(0),
    };
    start + length.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toml::de::{DeTable, DeValue};

    use super::*;

    #[test]
    fn the_limit_is_the_last_level_that_is_taken() {
        let header = |parts: usize| format!("[{}a]", "a.".repeat(parts - 1));
        assert_eq!(toml(&header(NESTING)), Ok(()));
        let past = toml(&header(NESTING + 1)).unwrap_err();
        assert_eq!(past.at, NESTING * 2);
        let key = |parts: usize| format!("{}a = 1", "a.".repeat(parts - 1));
        assert_eq!(toml(&key(NESTING + 1)), Ok(()));
        assert!(toml(&key(NESTING + 2)).is_err());
        let lists = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(toml(&format!("a = {}", lists(NESTING))), Ok(()));
        assert!(toml(&format!("a = {}", lists(NESTING + 1))).is_err());
        assert_eq!(json(lists(NESTING)), Ok(()));
        assert_eq!(json(lists(NESTING + 1)), Err(TooDeep { at: NESTING }));
    }

    #[test]
    fn strings_comments_and_lists_of_numbers_are_not_deep() {
        let many = "[{.".repeat(200);
        for text in [
            format!("a = \"{many}\" # {many}\n"),
            format!("a = '''\n{many}\n{many}'''\n"),
            format!("a = \"\"\"\n\\\"{many}\n\"\"\"\n"),
            format!("a = [{}]", "1.5, ".repeat(200)),
            "a.b = 1\n".repeat(200),
            "[a.b]\n[[c.d]]\n".repeat(200),
            "a = [\n{ b.c = 1 },\n]\n".repeat(200),
        ] {
            assert_eq!(toml(&text), Ok(()), "{text}");
        }
        for text in [
            format!("\"{many}\\\"{many}\""),
            format!("// {many}\n/* {many} \"*/ 1"),
            "[1, {}, [],".repeat(NESTING - 1),
            format!("1 / {}", "[]".repeat(200)),
            "\"\\".to_owned(),
            "/*".to_owned(),
        ] {
            assert_eq!(json(&text), Ok(()), "{text}");
        }
        assert!(json(format!("\"\\\\\"{many}")).is_err());
        assert!(json(format!("/* \" */{many}")).is_err());
    }

    fn depth(table: &DeTable<'_>) -> usize {
        let values = table.values().map(|value| value_depth(value.get_ref()));
        values.max().map_or(0, |inner| inner + 1)
    }

    fn value_depth(value: &DeValue<'_>) -> usize {
        match value {
            DeValue::Table(table) => depth(table),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| value_depth(item.get_ref()));
                items.max().unwrap_or_default() + 1
            }
            _ => 0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// The parser continues after mistakes, so what it builds from them is bounded, too: a
        /// table and a list for each part of a header, and the keys below.
        #[test]
        fn what_passes_is_no_deeper_than_was_counted(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "a", "a", "a", ".", ".", ".", "[", "[", "]", "]", "{", "{", "}", "}", ",", " = ",
                    " = ", "\n", "\n", "'", "\"", "#", "[[", "]]", "b.c.d", "a = {", "\r",
                ]),
                0..40,
            ),
        ) {
            let text = parts.concat();
            if toml_within(&text, 3).is_ok() {
                let (table, _) = DeTable::parse_recoverable(&text);
                prop_assert!(depth(table.get_ref()) <= 3 * 2 + 3 + 2, "{text:?}");
            }
        }
    }
}
