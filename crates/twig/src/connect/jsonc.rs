//! JSON with comments and trailing commas, edited in place.
//!
//! The file is parsed to know where everything is, and the change is then cut out of or put into
//! its text: every byte that is not part of our entry, or a comma that it needs, stays.

mod insert;
mod remove;
mod source;
#[cfg(test)]
mod tests;

use jsonc_parser::ast::Value as Parsed;
use jsonc_parser::common::Ranged;
use jsonc_parser::parse_to_serde_value;
use serde_json::{Map, Value};
use twig_core::depth as nesting;

pub(crate) use self::insert::set;
pub(crate) use self::remove::remove;
use self::source::{OPTIONS, Source, property, text_of};
use super::node::quoted;
use crate::edit_error::EditError;

/// A server that a file names: its name, what is said of it, and that as it is written there.
pub(crate) type Listed = (String, Value, String);

/// The servers below the keys, in the file's order.
pub(crate) fn entries(text: &str, keys: &[&str]) -> Result<Vec<Listed>, EditError> {
    let source = Source::parse(text_of(text).1)?;
    let (found, containers) = source.containers(keys)?;
    if found < keys.len() {
        return Ok(Vec::new());
    }
    let all = values(text).unwrap_or_default();
    let servers = keys.iter().fold(&all, |value, key| &value[*key]);
    let properties = containers.last().into_iter().flat_map(|it| &it.properties);
    Ok(properties
        .map(|property| {
            let raw = source.text[property.range.start..property.range.end].to_owned();
            let name = property.name.as_str();
            (name.to_owned(), servers[name].clone(), raw)
        })
        .collect())
}

/// The file with another program in an entry, and nothing else changed.
pub(crate) fn set_program(
    text: &str,
    keys: &[&str],
    name: &str,
    program: &str,
) -> Result<Option<String>, EditError> {
    let (mark, body) = text_of(text);
    let source = Source::parse(body)?;
    let (found, containers) = source.containers(keys)?;
    let container = containers.last().filter(|_| found == keys.len());
    let entry = container.and_then(|container| property(container, name));
    let command = match entry.map(|entry| &entry.value) {
        Some(Parsed::Object(entry)) => property(entry, "command"),
        _ => None,
    };
    let place = match command.map(|command| &command.value) {
        Some(Parsed::StringLit(text)) => Some(text.range),
        Some(Parsed::Array(words)) => words.elements.first().map(Ranged::range),
        _ => None,
    };
    let Some(place) = place else {
        return Ok(None);
    };
    let (before, after) = (&body[..place.start], &body[place.end..]);
    let edited = format!("{mark}{before}{}{after}", quoted(program));
    checked(text, edited, keys, name).map(Some)
}

/// How many of the objects that the keys lead through are there.
pub(crate) fn depth(text: &str, keys: &[&str]) -> usize {
    let source = Source::parse(text_of(text).1);
    let found = source.and_then(|source| source.containers(keys).map(|(found, _)| found));
    found.unwrap_or_default()
}

/// What a file says beside one entry: to see that an edit changed nothing else.
fn others(text: &str, keys: &[&str], name: &str) -> Option<Value> {
    let mut all = values(text)?;
    prune(&mut all, keys, name);
    Some(all)
}

/// Takes an entry out, and objects above it that hold nothing.
fn prune(all: &mut Value, keys: &[&str], name: &str) {
    let Some(map) = all.as_object_mut() else {
        return;
    };
    let Some((first, rest)) = keys.split_first() else {
        map.remove(name);
        return;
    };
    if let Some(inner) = map.get_mut(*first) {
        prune(inner, rest, name);
        if inner.as_object().is_some_and(Map::is_empty) {
            map.remove(*first);
        }
    }
}

/// What a file says; nothing where it cannot be read.
fn values(text: &str) -> Option<Value> {
    let body = text_of(text).1;
    nesting::json(body).ok()?;
    let all: Option<Value> = parse_to_serde_value(body, &OPTIONS).ok()?;
    Some(all.unwrap_or_else(|| Value::Object(Map::new())))
}

/// An edit is only made where everything else reads as before.
fn checked(before: &str, after: String, keys: &[&str], name: &str) -> Result<String, EditError> {
    let was = others(before, keys, name);
    if was.is_some() && was == others(&after, keys, name) {
        return Ok(after);
    }
    let message = "this file is written in a way that cannot be edited safely";
    Err(EditError::at(before, 0, message).advise("edit it by hand"))
}
