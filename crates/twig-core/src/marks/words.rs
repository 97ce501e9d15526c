//! What is typed after a command, split into the values of its arguments.

use std::borrow::Cow;

/// Splits a line into at most `count` values; the last one is the rest of the line.
///
/// Whitespace separates words. Quotes around a word, or after a `=` in it, hold several words
/// together and are removed. A quote that none closes before whitespace or at the end is an ordinary
/// character, as is one within a word, and so is every backslash.
pub fn split(line: &str, count: usize) -> Vec<Cow<'_, str>> {
    let mut values = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() && values.len() < count {
        let (word, after) = next(rest);
        let after = after.trim_start();
        if values.len() + 1 == count && !after.is_empty() {
            values.push(Cow::Borrowed(rest));
            break;
        }
        values.push(word);
        rest = after;
    }
    values
}

/// The first word of a text that starts with one, and what follows it.
fn next(text: &str) -> (Cow<'_, str>, &str) {
    if let Some((inside, after)) = quoted(text) {
        return (Cow::Borrowed(inside), after);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    if let Some(equals) = word.find('=')
        && let Some((inside, after)) = quoted(&text[equals + 1..])
    {
        return (format!("{}{inside}", &text[..=equals]).into(), after);
    }
    (Cow::Borrowed(word), after)
}

/// The text in the quotes that a text starts with, and what follows them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inside = &text[1..];
    let mut closing = inside.match_indices(quote).map(|(at, _)| at);
    let end = closing.find(|at| {
        let after = inside[at + 1..].chars().next();
        after.is_none_or(char::is_whitespace)
    })?;
    Some((&inside[..end], &inside[end + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(line: &str, count: usize, values: &[&str]) {
        assert_eq!(split(line, count), values, "{line}");
    }

    #[test]
    fn words_are_values_and_the_rest_is_the_last() {
        check("12 high", 2, &["12", "high"]);
        check("  12\t high ", 2, &["12", "high"]);
        check("12", 2, &["12"]);
        check(" ", 2, &[]);
        check("12 high", 0, &[]);
        check(
            "12 as soon  as\npossible ",
            2,
            &["12", "as soon  as\npossible"],
        );
        check("all of  it", 1, &["all of  it"]);
    }

    #[test]
    fn quotes_group_and_backslashes_are_literal() {
        check(r#""a b" 'c d'"#, 2, &["a b", "c d"]);
        check(r#""a b" c"#, 3, &["a b", "c"]);
        check(r#""" x"#, 2, &["", "x"]);
        check(r#""one value""#, 1, &["one value"]);
        check(r#""say 'hi'" x"#, 2, &["say 'hi'", "x"]);
        check(r"C:\dir\new \$1", 2, &[r"C:\dir\new", r"\$1"]);
        check(r#""a\" b" c"#, 2, &[r"a\", r#"b" c"#]);
        check(r#"--title="a b" 12"#, 2, &["--title=a b", "12"]);
        // The rest is as it was typed.
        check(r#"12 "very high" now"#, 2, &["12", r#""very high" now"#]);
    }

    #[test]
    fn an_unmatched_quote_is_an_ordinary_character() {
        check("it's broken", 2, &["it's", "broken"]);
        check("don't won't", 2, &["don't", "won't"]);
        check(r#"5" pipe"#, 2, &[r#"5""#, "pipe"]);
        check(r#""a b"#, 2, &[r#""a"#, "b"]);
        check("'isn't it' x", 2, &["isn't it", "x"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_but_quotes_and_whitespace(
            line in "([\"'\\\\=a ü\n]|ab){0,24}", count in 1..5_usize,
        ) {
            let values = split(&line, count);
            prop_assert!(values.len() <= count);
            let bare = |text: &str| text.replace(['"', '\'', ' ', '\n'], "");
            prop_assert_eq!(bare(&values.concat()), bare(&line));
            // One value that is not in quotes is the line.
            let whole = line.trim();
            if !whole.contains(['"', '\'']) {
                let words: Vec<&str> = whole.split_whitespace().collect();
                if words.len() <= count {
                    prop_assert_eq!(values, words);
                } else {
                    prop_assert_eq!(&values[..count - 1], &words[..count - 1]);
                    prop_assert!(whole.ends_with(&*values[count - 1]));
                }
            }
        }

        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("[a-z\\\\ ']{0,6}", 1..5)) {
            let line: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let line = line.join(" ");
            prop_assert_eq!(split(&line, words.len()), words);
        }
    }
}
