//! Python's methods on text, lists and maps that minijinja does not have, or has without a limit.

use minijinja::value::ValueKind;
use minijinja::{Error, State, Value};
use minijinja_contrib::pycompat;

use super::failure::fault;
use super::parameters::Parameters;
use super::text_filters::{WIDTH, bounded_width, centered, limit, padded};

/// Methods that change a list or a map, which templates cannot do.
pub(super) const CHANGES: [&str; 9] = [
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "setdefault",
    "update",
];

/// Calls a method on a value without methods of its own.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    given: &[Value],
) -> Result<Value, Error> {
    let own = match (value.as_str(), value.kind()) {
        (Some(text), _) => of_text(text, method, given),
        (None, ValueKind::Seq | ValueKind::Iterable) => of_list(value, method, given),
        (None, ValueKind::Map) if method == "copy" => {
            Parameters::read(&[], given).map(|_| Some(value.clone()))
        }
        _ => Ok(None),
    };
    match own? {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, method, given),
    }
}

/// Why there is no method that changes a value.
pub(super) fn cannot_change(method: &str) -> String {
    let instead = match method {
        "append" | "extend" | "insert" => "write `{% set items = items + [item] %}`",
        "update" | "setdefault" => "write `dict(old, key=value)`",
        _ => "make a new one with `{% set %}` and filters",
    };
    format!("a template cannot change a value, so there is no `.{method}()`; {instead}")
}

/// `None` if the method is unknown here.
fn of_text(text: &str, method: &str, given: &[Value]) -> Result<Option<Value>, Error> {
    let read = |names| Parameters::read(names, given);
    Ok(Some(match method {
        "split" => split(text, &read(&["sep", "maxsplit"])?)?,
        "rsplit" => split_from_end(text, &read(&["sep", "maxsplit"])?)?,
        "removeprefix" => {
            let prefix = read(&["prefix"])?;
            Value::from(text.strip_prefix(prefix.required_text(0)?).unwrap_or(text))
        }
        "removesuffix" => {
            let suffix = read(&["suffix"])?;
            Value::from(text.strip_suffix(suffix.required_text(0)?).unwrap_or(text))
        }
        "ljust" | "rjust" | "center" => {
            let given = read(&["width", "fillchar"])?;
            given.required(0)?;
            let width = bounded_width(given.length(0)?.unwrap_or_default(), method)?;
            let mut fill = given.text(1)?.unwrap_or(" ").chars();
            let (Some(fill), None) = (fill.next(), fill.next()) else {
                return Err(fault(format!(
                    "`.{method}()` fills with exactly one character"
                )));
            };
            let padding = width.saturating_sub(text.chars().count());
            Value::from(match method {
                "ljust" => padded(text, 0, padding, fill),
                "rjust" => padded(text, padding, 0, fill),
                _ => centered(text, width, fill),
            })
        }
        "zfill" => {
            let given = read(&["width"])?;
            given.required(0)?;
            let width = bounded_width(given.length(0)?.unwrap_or_default(), method)?;
            let padding = width.saturating_sub(text.chars().count());
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
            Value::from(format!("{sign}{}", padded(digits, padding, 0, '0')))
        }
        "partition" | "rpartition" => {
            let given = read(&["sep"])?;
            let separator = given.required_text(0)?;
            let parts = match method {
                "partition" => text.split_once(separator),
                _ => text.rsplit_once(separator),
            };
            let parts = match (parts, method) {
                (Some((before, after)), _) => [before, separator, after],
                (None, "partition") => [text, "", ""],
                (None, _) => ["", "", text],
            };
            Value::from(minijinja::value::Tuple::from(parts.map(Value::from)))
        }
        "casefold" => {
            read(&[])?;
            Value::from(text.to_lowercase().replace('ß', "ss"))
        }
        "swapcase" => {
            read(&[])?;
            let swapped = text.chars().map(|one| {
                if one.is_uppercase() {
                    one.to_lowercase().to_string()
                } else {
                    one.to_uppercase().to_string()
                }
            });
            Value::from(swapped.collect::<String>())
        }
        "index" => {
            let given = read(&["sub"])?;
            let found = text.find(given.required_text(0)?);
            let at = found.ok_or_else(|| not_found("text"))?;
            Value::from(text[..at].chars().count())
        }
        "format" => {
            refuse_wide_fields(text)?;
            return Ok(None);
        }
        _ => return Ok(None),
    }))
}

fn of_list(value: &Value, method: &str, given: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "index" => {
            let given = Parameters::read(&["value"], given)?;
            let wanted = given.required(0)?;
            let at = value.try_iter()?.position(|item| item == *wanted);
            Value::from(at.ok_or_else(|| not_found("list"))?)
        }
        "copy" => {
            Parameters::read(&[], given)?;
            value.clone()
        }
        _ => return Ok(None),
    }))
}

fn not_found(what: &str) -> Error {
    fault(format!(
        "`.index()` does not find its value in the {what}; ask with `in` first"
    ))
}

/// Python's `split`: at most `maxsplit` times, from the start.
fn split(text: &str, given: &Parameters) -> Result<Value, Error> {
    let most = most_splits(given)?;
    let Some(separator) = separator(given)? else {
        let mut parts = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let end = rest
                .find(char::is_whitespace)
                .filter(|_| parts.len() < most);
            let Some(end) = end else {
                parts.push(Value::from(rest));
                break;
            };
            parts.push(Value::from(&rest[..end]));
            rest = rest[end..].trim_start();
        }
        return Ok(Value::from(parts));
    };
    let parts = text.splitn(most.saturating_add(1), separator);
    Ok(parts.map(Value::from).collect())
}

/// Python's `rsplit`: at most `maxsplit` times, from the end.
fn split_from_end(text: &str, given: &Parameters) -> Result<Value, Error> {
    let most = most_splits(given)?;
    let mut parts = Vec::new();
    if let Some(separator) = separator(given)? {
        let found = text.rsplitn(most.saturating_add(1), separator);
        parts.extend(found.map(Value::from));
    } else {
        let mut rest = text.trim_end();
        while !rest.is_empty() {
            let start = rest
                .rfind(char::is_whitespace)
                .filter(|_| parts.len() < most);
            let Some(start) = start else {
                parts.push(Value::from(rest));
                break;
            };
            let after = rest[start..].chars().next().map_or(0, char::len_utf8);
            parts.push(Value::from(&rest[start + after..]));
            rest = rest[..start].trim_end();
        }
    }
    parts.reverse();
    Ok(Value::from(parts))
}

fn most_splits(given: &Parameters) -> Result<usize, Error> {
    let most = given.number(1)?.unwrap_or(-1);
    Ok(usize::try_from(most).unwrap_or(usize::MAX))
}

fn separator(given: &Parameters) -> Result<Option<&str>, Error> {
    match given.text(0)? {
        Some("") => Err(fault("the separator to split at is empty")),
        separator => Ok(separator),
    }
}

/// Refuses a `{:>99999}` before it is written.
fn refuse_wide_fields(format: &str) -> Result<(), Error> {
    let mut depth = 0_usize;
    let mut number = 0_usize;
    for character in format.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        number = match character.to_digit(10).filter(|_| depth > 0) {
            Some(digit) => number.saturating_mul(10).saturating_add(digit as usize),
            None => 0,
        };
        if number > WIDTH {
            return Err(limit(format!(
                "the width of `.format()` exceeds the limit of {WIDTH} characters"
            )));
        }
    }
    Ok(())
}
