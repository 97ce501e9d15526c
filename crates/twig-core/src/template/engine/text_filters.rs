//! Filters on text as Jinja2 has them, with limits on what they may write.
//!
//! They replace those of minijinja whose parameters or results differ from Jinja2.
#![expect(
    clippy::needless_pass_by_value,
    reason = "minijinja hands arguments over by value"
)]

use std::collections::BTreeMap;

use minijinja::value::{Kwargs, Rest, StringInput, ValueKind, ValueOrKwargs, from_args};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value, filters};

use super::failure::fault;
use super::parameters::Parameters;
use super::{printf, word_wrap};

/// The widest field that text is padded to, in characters.
pub(super) const WIDTH: usize = 10_000;

/// The longest text that one filter writes, in bytes.
pub(super) const TEXT: usize = 4 * 1024 * 1024;

/// How much longer than `length` a text may be before it is truncated.
const LEEWAY: usize = 5;

/// Adds the filters.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("truncate", truncate);
    environment.add_filter("indent", indent);
    environment.add_filter("replace", replace);
    environment.add_filter("center", center);
    environment.add_filter("wordwrap", wordwrap);
    environment.add_filter("format", format);
    environment.add_filter(super::operands::PERCENT, percent);
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("e", escape);
    environment.add_filter("escape", escape);
    environment.add_filter("forceescape", force_escape);
}

/// Has `autoescape` blocks escape like `|e`; costs a little with every print.
pub(super) fn escape_like_jinja(environment: &mut Environment<'static>) {
    environment.set_formatter(print);
}

/// The error of a limit.
pub(super) fn limit(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::OutOfFuel, message.into())
}

/// Refuses a width past the limit.
pub(super) fn bounded_width(width: usize, what: &str) -> Result<usize, Error> {
    if width <= WIDTH {
        return Ok(width);
    }
    Err(limit(format!(
        "the width of `{what}` exceeds the limit of {WIDTH} characters"
    )))
}

/// Refuses a text past the limit.
fn bounded_text(bytes: usize, what: &str) -> Result<(), Error> {
    if bytes <= TEXT {
        return Ok(());
    }
    Err(limit(format!(
        "the text that `{what}` writes exceeds the limit of {TEXT} bytes"
    )))
}

fn truncate(value: StringInput<'_>, given: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let given = given.into_values();
    let given = Parameters::read(&["length", "killwords", "end", "leeway"], &given)?;
    let length = given.length(0)?.unwrap_or(255);
    let end = given.text(2)?.unwrap_or("...");
    let leeway = given.length(3)?.unwrap_or(LEEWAY);
    let end_length = end.chars().count();
    let Some(kept) = length.checked_sub(end_length) else {
        return Err(fault(format!(
            "`truncate` to {length} characters has no room for its end of {end_length}"
        )));
    };
    let text = value.as_str();
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(value.preserve_safety(text.to_owned()));
    }
    let at = text
        .char_indices()
        .nth(kept)
        .map_or(text.len(), |(at, _)| at);
    let kept = &text[..at];
    let kept = match kept.rsplit_once(' ') {
        Some((words, _)) if !given.flag(1).unwrap_or_default() => words,
        _ => kept,
    };
    Ok(value.preserve_safety(format!("{kept}{end}")))
}

fn indent(value: StringInput<'_>, given: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let given = given.into_values();
    let given = Parameters::read(&["width", "first", "blank"], &given)?;
    let spaces;
    let prefix = if let Some(prefix) = given.value(0).and_then(Value::as_str) {
        prefix
    } else {
        let width = given.length(0)?.unwrap_or(4);
        spaces = " ".repeat(bounded_width(width, "indent")?);
        &spaces
    };
    let first = given.flag(1).unwrap_or_default();
    let blank = given.flag(2).unwrap_or_default();
    let text = value.as_str();
    let lines = text.split('\n').count();
    bounded_text(
        text.len()
            .saturating_add(lines.saturating_mul(prefix.len())),
        "indent",
    )?;
    let mut output = String::with_capacity(text.len() + lines * prefix.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            output.push('\n');
        }
        let is_blank = line.is_empty() || line == "\r";
        if if at == 0 { first } else { blank || !is_blank } {
            output.push_str(prefix);
        }
        output.push_str(line);
    }
    Ok(value.preserve_safety(output))
}

fn replace(
    state: &mut State<'_, '_>,
    value: StringInput<'_>,
    from: StringInput<'_>,
    to: StringInput<'_>,
    count: Option<Value>,
) -> Result<Value, Error> {
    let given: Vec<Value> = count.into_iter().collect();
    let given = Parameters::read(&["count"], &given)?;
    let count = given.number(0)?.unwrap_or(-1);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let text = value.as_str();
    let found = text.matches(from.as_str()).take(count).count();
    bounded_text(
        text.len()
            .saturating_add(found.saturating_mul(to.as_str().len())),
        "replace",
    )?;
    if count == usize::MAX {
        return filters::replace(state, value, from, to);
    }
    let output = text.replacen(from.as_str(), to.as_str(), count);
    Ok(value.preserve_safety(output))
}

fn center(value: StringInput<'_>, given: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let given = given.into_values();
    let given = Parameters::read(&["width"], &given)?;
    let width = bounded_width(given.length(0)?.unwrap_or(80), "center")?;
    let output = centered(value.as_str(), width, ' ');
    Ok(value.preserve_safety(output))
}

/// Python's `str.center`: an odd space goes to the left if the width is odd.
pub(super) fn centered(text: &str, width: usize, fill: char) -> String {
    let padding = width.saturating_sub(text.chars().count());
    let left = padding / 2 + (padding & width & 1);
    padded(text, left, padding - left, fill)
}

/// A text with characters on both sides.
pub(super) fn padded(text: &str, left: usize, right: usize, fill: char) -> String {
    let fill = |count: usize| std::iter::repeat_n(fill, count);
    fill(left).chain(text.chars()).chain(fill(right)).collect()
}

fn wordwrap(value: StringInput<'_>, given: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let given = given.into_values();
    let names = &[
        "width",
        "break_long_words",
        "wrapstring",
        "break_on_hyphens",
    ];
    let given = Parameters::read(names, &given)?;
    let width = given.length(0)?.unwrap_or(79);
    if width == 0 {
        return Err(fault("`wordwrap` needs a width of at least 1"));
    }
    let between = given.text(2)?.unwrap_or("\n");
    let breaks = word_wrap::Breaks {
        long_words: given.flag(1).unwrap_or(true),
        hyphens: given.flag(3).unwrap_or(true),
    };
    let mut output = String::with_capacity(value.as_str().len());
    for (at, line) in value.as_str().lines().enumerate() {
        if at > 0 {
            output.push_str(between);
        }
        for (at, part) in word_wrap::wrap(line, width, breaks).iter().enumerate() {
            if at > 0 {
                output.push_str(between);
            }
            output.push_str(part);
            bounded_text(output.len(), "wordwrap")?;
        }
    }
    Ok(value.preserve_safety(output))
}

/// The filter `format`.
fn format(value: StringInput<'_>, given: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let given = given.into_values();
    let (positional, keywords): (&[Value], Kwargs) = from_args(&given)?;
    let names: Vec<&str> = keywords.args().collect();
    let values = match (positional, names.is_empty()) {
        (values, true) => printf::FormatValues::Several(values.to_vec()),
        ([], false) => {
            let pairs = names.into_iter();
            let pairs = pairs.map(|name| Ok((name.to_owned(), keywords.get::<Value>(name)?)));
            let pairs: Result<BTreeMap<String, Value>, Error> = pairs.collect();
            printf::FormatValues::ByName(Value::from(pairs?))
        }
        (_, false) => {
            return Err(fault("`format` takes values in order or by name, not both"));
        }
    };
    let output = printf::format(value.as_str(), &values)?;
    Ok(value.preserve_safety(output))
}

/// The operator `%` on a text; see [`super::operands`].
fn percent(state: &mut State<'_, '_>, format: &Value, value: Value) -> Result<Value, Error> {
    // What is text when the template is compiled may be a number in the end: `(x or 4) % 3`.
    if format.is_number() {
        return remainder(format, &value);
    }
    let format = StringInput::new(state, format)?;
    let values = if value.is_tuple() {
        printf::FormatValues::Several(value.try_iter()?.collect())
    } else if value.kind() == ValueKind::Map {
        printf::FormatValues::ByName(value)
    } else {
        printf::FormatValues::Several(vec![value])
    };
    let output = printf::format(format.as_str(), &values)?;
    Ok(format.preserve_safety(output))
}

/// The remainder of two numbers, as the engine computes it.
fn remainder(number: &Value, by: &Value) -> Result<Value, Error> {
    let wrong = || {
        let message = "the value after `%` has to be a number other than 0";
        Error::new(ErrorKind::InvalidOperation, message)
    };
    if let (Ok(number), Ok(by)) = (i64::try_from(number.clone()), i64::try_from(by.clone())) {
        return number
            .checked_rem_euclid(by)
            .map(Value::from)
            .ok_or_else(wrong);
    }
    let [number, by] = [number, by].map(|it| f64::try_from(it.clone()));
    match (number, by) {
        (Ok(number), Ok(by)) if by != 0.0 => Ok(Value::from(number.rem_euclid(by))),
        _ => Err(wrong()),
    }
}

fn int(
    state: &mut State<'_, '_>,
    value: &Value,
    given: Rest<ValueOrKwargs>,
) -> Result<Value, Error> {
    let given = given.into_values();
    let given = Parameters::read(&["default", "base"], &given)?;
    let base = given.number(1)?.unwrap_or(10);
    let base = u32::try_from(base).unwrap_or_default();
    let otherwise = || given.value(0).cloned().unwrap_or_else(|| Value::from(0));
    let whole = |number: f64| -> Option<Value> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is in the range of the type"
        )]
        (number.abs() < 1e38).then(|| Value::from(number as i128))
    };
    if value.is_undefined() {
        return filters::string(state, value);
    }
    let number = match value.as_str() {
        Some(text) => match whole_number(text, base) {
            Some(number) => Some(Value::from(number)),
            None => real_number(text).and_then(whole),
        },
        None if value.is_integer() => Some(value.clone()),
        None => float_of(value).and_then(whole),
    };
    Ok(number.unwrap_or_else(otherwise))
}

fn float(
    state: &mut State<'_, '_>,
    value: &Value,
    given: Rest<ValueOrKwargs>,
) -> Result<Value, Error> {
    let given = given.into_values();
    let given = Parameters::read(&["default"], &given)?;
    if value.is_undefined() {
        return filters::string(state, value);
    }
    let number = match value.as_str() {
        Some(text) => real_number(text),
        None => float_of(value),
    };
    let number = number.map(Value::from).or_else(|| given.value(0).cloned());
    Ok(number.unwrap_or_else(|| Value::from(0.0)))
}

/// The number that a value is; true counts as one, and text is no number.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    match value.kind() {
        ValueKind::Bool => Some(f64::from(u8::from(value.is_true()))),
        ValueKind::Number => f64::try_from(value.clone()).ok(),
        _ => None,
    }
}

/// Python's `int(text, base)`.
fn whole_number(text: &str, base: u32) -> Option<i128> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let prefix = match base {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        3..=36 => "",
        _ => return None,
    };
    let digits = match digits.get(..prefix.len()) {
        Some(start) if start.eq_ignore_ascii_case(prefix) => &digits[prefix.len()..],
        _ => digits,
    };
    i128::from_str_radix(&format!("{sign}{}", without_underscores(digits)?), base).ok()
}

/// Python's `float(text)`.
fn real_number(text: &str) -> Option<f64> {
    without_underscores(text.trim())?.parse().ok()
}

/// Digits without the underscores between them; elsewhere an underscore is a mistake.
fn without_underscores(digits: &str) -> Option<String> {
    let is_wrong = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    (!is_wrong).then(|| digits.replace('_', ""))
}

fn escape(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.is_safe() {
        return Ok(value.clone());
    }
    force_escape(state, value)
}

fn force_escape(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = StringInput::new(state, value)?;
    let mut output = String::with_capacity(text.as_str().len());
    for character in text.as_str().chars() {
        match entity(character) {
            Some(entity) => output.push_str(entity),
            None => output.push(character),
        }
    }
    Ok(Value::from_safe_string(output))
}

/// What stands for a character in HTML, in the spelling of Jinja2.
fn entity(character: char) -> Option<&'static str> {
    Some(match character {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '\'' => "&#39;",
        '"' => "&#34;",
        _ => return None,
    })
}

/// Prints a value; in an `autoescape` block it is escaped like with `|e`.
fn print(output: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if !matches!(state.auto_escape(), AutoEscape::Html) || value.is_safe() {
        return minijinja::escape_formatter(output, state, value);
    }
    let escaped = escape(state, value)?;
    let text = escaped.as_str().unwrap_or_default();
    output.write_str(text).map_err(Error::from)
}
