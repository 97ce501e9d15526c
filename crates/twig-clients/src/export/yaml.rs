//! Writes front matter: plain if no reader could take it for something else, quoted otherwise.

use std::fmt::Write;

use twig_core::front_matter::FrontMatterValue;

/// Adds a line `key: value` to front matter.
pub(super) fn field(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key}: {}", scalar(value));
}

/// A text as a YAML scalar on one line.
pub(super) fn scalar(value: &str) -> String {
    if is_plain(value) {
        return value.to_owned();
    }
    quoted(value)
}

/// Any value on one line.
pub(super) fn value(value: &FrontMatterValue) -> String {
    match value {
        FrontMatterValue::Text(text) => scalar(text),
        other => inner(other),
    }
}

/// A value inside another, where more characters have a meaning.
fn inner(value: &FrontMatterValue) -> String {
    match value {
        FrontMatterValue::Null | FrontMatterValue::Flag(_) | FrontMatterValue::Number(_) => {
            value.to_json()
        }
        FrontMatterValue::Text(text) => quoted(text),
        FrontMatterValue::List(items) => {
            let items: Vec<String> = items.iter().map(inner).collect();
            format!("[{}]", items.join(", "))
        }
        FrontMatterValue::Map(entries) => {
            let entries = entries.iter();
            let entries: Vec<String> = entries
                .map(|(key, value)| format!("{}: {}", quoted(key), inner(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A text in quotes.
pub(super) fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 8);
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if is_odd(c) => {
                let _ = match u32::from(c) {
                    code @ 0..=0xff => write!(text, "\\x{code:02X}"),
                    code @ 0x100..=0xffff => write!(text, "\\u{code:04X}"),
                    code => write!(text, "\\U{code:08X}"),
                };
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Characters that a YAML file must not have, and those that end lines in some readers.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// True if strict readers and line-by-line readers both read a text as itself.
fn is_plain(value: &str) -> bool {
    let starts_well = value.starts_with(char::is_alphabetic);
    let is_risky = |c: char| is_odd(c) || matches!(c, '#' | '"' | '\'' | '\\');
    starts_well
        && value.trim() == value
        && !value.contains(is_risky)
        && !value.contains(": ")
        && !value.ends_with(':')
        && !is_word(value)
}

/// Words that YAML does not read as text.
fn is_word(value: &str) -> bool {
    let words = [
        "true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf",
    ];
    words.iter().any(|word| value.eq_ignore_ascii_case(word))
}
