//! Parses what a user wrote after a command: `key=value` pairs, and the rest.
//!
//! Nothing gets lost: text that is no value of an argument goes to the rest, in order and with its
//! whitespace.

/// The parsed text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenInput<'n> {
    /// The name of an argument and its value, each name once.
    pub(super) values: Vec<(&'n str, String)>,
    /// Everything else, trimmed.
    pub(super) rest: String,
}

/// Reads pairs whose key is one of these names: `key=value`, `key="several words"` or the same in
/// single quotes. If a key occurs twice, the second pair stays in the rest.
pub(super) fn read<'n>(text: &str, names: &[&'n str]) -> WrittenInput<'n> {
    let mut values = Vec::new();
    let mut rest = String::new();
    let mut free = names.to_vec();
    let mut left = text;
    let mut is_word_start = true;
    while let Some(first) = left.chars().next() {
        if is_word_start && let Some((name, value, after)) = pair(left, &free) {
            values.push((name, value));
            free.retain(|other| *other != name);
            // Keep the whitespace before the pair and drop that after it.
            left = after.trim_start();
            is_word_start = left.len() < after.len();
            continue;
        }
        is_word_start = is_space(first);
        let (head, tail) = left.split_at(first.len_utf8());
        rest.push_str(head);
        left = tail;
    }
    WrittenInput {
        values,
        rest: rest.trim().to_owned(),
    }
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// The pair that a text starts with, and what follows it. A name that was found is not searched for
/// again, so unterminated quotes are searched for once per name, not once per word.
fn pair<'t, 'n>(text: &'t str, names: &[&'n str]) -> Option<(&'n str, String, &'t str)> {
    let (name, value) = names.iter().find_map(|name| {
        let value = text.strip_prefix(name)?.strip_prefix('=')?;
        Some((*name, value))
    })?;
    if let Some((value, after)) = quoted(value) {
        return Some((name, value, after));
    }
    let end = value.find(is_space).unwrap_or(value.len());
    let (value, after) = value.split_at(end);
    // A name and `=` alone is no value: an empty value is written in quotes.
    (!value.is_empty()).then(|| (name, value.to_owned(), after))
}

/// A value in quotes, and what follows it. A quote ends it if whitespace, a comma, a semicolon or
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 3] = ["code", "language", "code-style"];

    fn check(text: &str, values: &[(&str, &str)], rest: &str) {
        let input = read(text, &NAMES);
        let found: Vec<(&str, &str)> = input.values.iter().map(|(n, v)| (*n, &**v)).collect();
        assert_eq!((&*found, &*input.rest), (values, rest), "{text}");
    }

    #[test]
    fn pairs_are_values_and_all_else_is_the_rest() {
        check("", &[], "");
        check("  \n ", &[], "");
        check("fix this", &[], "fix this");
        check("language=go", &[("language", "go")], "");
        check("  language=go fix", &[("language", "go")], "fix");
        check("fix  language=go  this", &[("language", "go")], "fix  this");
        check("a\n\tb language=go\nc", &[("language", "go")], "a\n\tb c");
        check("code-style=k&r", &[("code-style", "k&r")], "");
        check(
            "code=x language=go code-style=z",
            &[("code", "x"), ("language", "go"), ("code-style", "z")],
            "",
        );
        check("code=a=b", &[("code", "a=b")], "");
    }

    #[test]
    fn quotes_hold_several_words_together() {
        check(
            r#"code="several words" x"#,
            &[("code", "several words")],
            "x",
        );
        check("code='several words'", &[("code", "several words")], "");
        check(
            r#"code="say \"hi\" now""#,
            &[("code", r#"say "hi" now"#)],
            "",
        );
        check(r"code='it\'s' x", &[("code", "it's")], "x");
        check(r#"code='say "hi"'"#, &[("code", r#"say "hi""#)], "");
        check(r#"code="C:\dir\new""#, &[("code", r"C:\dir\new")], "");
        check(r#"code="a\\" x"#, &[("code", r"a\")], "x");
        check(r#"code="" x"#, &[("code", "")], "x");
        check("code=\"two\nlines\"", &[("code", "two\nlines")], "");
        check("code='isn't it' x", &[("code", "isn't it")], "x");
        check(
            r#"code="a b", language="go"; x"#,
            &[("code", "a b"), ("language", "go")],
            ", ; x",
        );
    }

    #[test]
    fn what_only_looks_like_a_pair_stays_where_it_is() {
        for text in [
            "code",
            "code=",
            "code= x",
            "=x",
            "x=y",
            "my.code=x",
            "\"code=x\"",
            "Code=x",
            "codes=x",
        ] {
            check(text, &[], text);
        }
        // An unterminated quote is an ordinary character.
        check("code=\"a b", &[("code", "\"a")], "b");
        check("code=a code=b", &[("code", "a")], "code=b");
    }

    #[test]
    fn quotes_without_an_end_cost_no_more_than_their_length() {
        let text = "code=\"b ".repeat(32 * 1024);
        let input = read(&text, &NAMES);
        assert_eq!(input.values, [("code", "\"b".to_owned())]);
    }

    /// How often each character is there, apart from spaces and what quoting adds and takes.
    fn count(texts: &[&str]) -> std::collections::BTreeMap<char, usize> {
        let mut counts = std::collections::BTreeMap::new();
        let is_kept = |c: &char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\');
        for c in texts.iter().flat_map(|text| text.chars()).filter(is_kept) {
            *counts.entry(c).or_default() += 1;
        }
        counts
    }

    fn nothing_is_lost(text: &str) -> Result<(), TestCaseError> {
        let input = read(text, &NAMES);
        let mut parts = vec![&*input.rest];
        for (name, value) in &input.values {
            parts.extend([*name, "=", value]);
        }
        prop_assert_eq!(count(&[text]), count(&parts));
        let mut names: Vec<&str> = input.values.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), input.values.len());
        prop_assert_eq!(input.rest.trim(), &*input.rest);
        Ok(())
    }

    fn quote(value: &str, quote: char) -> String {
        let escaped = value.replace('\\', r"\\");
        let escaped = escaped.replace(quote, &format!("\\{quote}"));
        format!("{quote}{escaped}{quote}")
    }

    proptest! {
        #[test]
        fn anything_ends_up_in_a_value_or_the_rest(text in any::<String>()) {
            nothing_is_lost(&text)?;
        }

        #[test]
        fn so_does_what_nearly_are_pairs(
            text in "((code|language|code-style|x)?=?[\"'\\\\ ,a\n]{0,3}){0,12}"
        ) {
            nothing_is_lost(&text)?;
        }

        #[test]
        fn a_quoted_value_comes_back_whatever_it_is(
            code in any::<String>(), style in "[\"'\\\\ =,;a]{0,9}", rest in "[a-z .]{0,9}"
        ) {
            let (code_quoted, style_quoted) = (quote(&code, '"'), quote(&style, '\''));
            let text = format!("{rest} code={code_quoted} code-style={style_quoted}");
            let input = read(&text, &NAMES);
            prop_assert_eq!(input.values, [("code", code), ("code-style", style)]);
            prop_assert_eq!(input.rest, rest.trim());
        }
    }
}
