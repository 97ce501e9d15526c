//! The servers of a client whose file is TOML: each is a table `[key.NAME]`.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use toml_edit::Item;
use twig_core::depth;

use super::jsonc::ListedServer;
use super::node::{ConfigNode, quoted};
use crate::edit_error::EditError;
use crate::toml_file::{TomlFile, TomlPart};

/// The servers below a key, in the file's order.
pub(crate) fn entries(text: &str, key: &str) -> Result<Vec<ListedServer>, EditError> {
    let file = TomlFile::parse(text)?;
    let mut all = values(text).unwrap_or_default();
    let mut listed = |name: &str, raw: String| {
        let value = all.get_mut(key).and_then(|servers| servers.get_mut(name));
        let value = value.map(Value::take).unwrap_or_default();
        (name.to_owned(), value, raw)
    };
    // Servers in an inline table can be read, but not edited.
    if let Some(servers) = file.document.get(key).and_then(Item::as_inline_table) {
        let servers = servers.iter().map(|(name, item)| {
            let raw = &text[item.span().unwrap_or_default()];
            listed(name, format!("{name} = {raw}"))
        });
        return Ok(servers.collect());
    }
    let Some(servers) = container(&file, key)? else {
        return Ok(Vec::new());
    };
    let servers = servers.iter().map(|(name, _)| {
        let parts = file.parts_of_item(servers, name).unwrap_or_default();
        let raw: Vec<&str> = parts.into_iter().map(|part| text[part].trim()).collect();
        listed(name, raw.join("\n"))
    });
    Ok(servers.collect())
}

/// The file with the table `key.name`; replaces an existing one in place.
pub(crate) fn set(
    text: &str,
    key: &str,
    name: &str,
    entry: &ConfigNode,
) -> Result<String, EditError> {
    let file = TomlFile::parse(text)?;
    let lines = table(key, name, entry);
    let there = container(&file, key)?.filter(|servers| servers.contains_key(name));
    let edited = match there {
        Some(servers) => file.replace(&parts(&file, servers, name)?, &lines),
        None => file.append(&lines),
    };
    checked(text, edited, key, name)
}

/// The file with another program in the table `key.name`, and nothing else changed.
pub(crate) fn set_program(
    text: &str,
    key: &str,
    name: &str,
    program: &str,
) -> Result<Option<String>, EditError> {
    let file = TomlFile::parse(text)?;
    let entry = container(&file, key)?.and_then(|servers| servers.get(name)?.as_table_like());
    let command = entry.and_then(|entry| entry.get("command")?.as_value());
    let place = command.and_then(|command| match command {
        toml_edit::Value::Array(words) => words.get(0)?.span(),
        command => command.span(),
    });
    let Some(place) = place else {
        return Ok(None);
    };
    let mut edited = text.to_owned();
    edited.replace_range(place, &quoted(program));
    checked(text, edited, key, name).map(Some)
}

/// The file without the table `key.name` and the tables below it. Unless `kept` is set, an empty
/// `[key]` is removed, too.
pub(crate) fn remove(text: &str, key: &str, name: &str, kept: bool) -> Result<String, EditError> {
    let file = TomlFile::parse(text)?;
    let Some(servers) = container(&file, key)?.filter(|it| it.contains_key(name)) else {
        return Ok(text.to_owned());
    };
    let edited = cut(&file, &parts(&file, servers, name)?);
    let edited = if kept {
        edited
    } else {
        without_empty(&edited, key)?
    };
    checked(text, edited, key, name)
}

/// Whether the table that holds servers exists.
pub(crate) fn has_container(text: &str, key: &str) -> bool {
    TomlFile::parse(text).is_ok_and(|file| file.document.contains_key(key))
}

/// The table below a key, in any form that can be edited.
fn container<'f>(
    file: &'f TomlFile<'_>,
    key: &str,
) -> Result<Option<&'f toml_edit::Table>, EditError> {
    let item = file.document.get(key);
    let table = item.and_then(Item::as_table);
    if item.is_some() && table.is_none() {
        let place = item.and_then(Item::span).map_or(0, |span| span.start);
        let message = format!("`{key}` has to be written as tables, `[{key}.NAME]`");
        let advice = format!("give each server a table `[{key}.NAME]` of its own");
        return Err(EditError::at(file.text, place, message).advise(advice));
    }
    Ok(table)
}

/// Where a server is written; an error if its lines may be anywhere.
fn parts(
    file: &TomlFile<'_>,
    servers: &toml_edit::Table,
    name: &str,
) -> Result<Vec<TomlPart>, EditError> {
    file.parts_of_item(servers, name).ok_or_else(|| {
        let place = servers.key(name).and_then(toml_edit::Key::span);
        let message = format!("`{name}` is written with dotted keys here");
        EditError::at(file.text, place.map_or(0, |span| span.start), message)
            .advise("write it as a table with a header of its own, or edit it by hand")
    })
}

/// The text without these parts. If nothing is above them, the rest moves to the top.
fn cut(file: &TomlFile<'_>, parts: &[TomlPart]) -> String {
    let mut edited = file.cut(parts);
    let mark = file.text.len() - file.text.trim_start_matches('\u{feff}').len();
    if parts.first().is_some_and(|first| first.start == mark) {
        let rest = &edited[mark..];
        let empty = ["\r\n", "\n"].into_iter().find(|it| rest.starts_with(it));
        edited.replace_range(mark..mark + empty.map_or(0, str::len), "");
    }
    edited
}

/// The text without an empty `[key]`.
fn without_empty(text: &str, key: &str) -> Result<String, EditError> {
    let file = TomlFile::parse(text)?;
    let empty = container(&file, key)?.filter(|it| it.is_empty() && !it.is_implicit());
    let Some(header) = empty.and_then(toml_edit::Table::span) else {
        return Ok(text.to_owned());
    };
    // The user may have written a comment on its line.
    let mut rest = text[header.end..].split('\n');
    if !rest.next().unwrap_or_default().trim().is_empty() {
        return Ok(text.to_owned());
    }
    Ok(cut(&file, &[header]))
}

/// The lines of our table.
fn table(key: &str, name: &str, entry: &ConfigNode) -> Vec<String> {
    let header = format!("{}.{}", bare(key), bare(name));
    let mut lines = vec![format!("[{header}]")];
    let mut tables = Vec::new();
    let ConfigNode::Table(properties) = entry else {
        return lines;
    };
    for (key, node) in properties {
        match node {
            ConfigNode::Table(inner) => tables.push((key, inner)),
            plain => lines.push(format!("{} = {}", bare(key), inline(plain))),
        }
    }
    for (key, inner) in tables {
        lines.push(String::new());
        lines.push(format!("[{header}.{}]", bare(key)));
        let inner = inner.iter();
        lines.extend(inner.map(|(key, node)| format!("{} = {}", bare(key), inline(node))));
    }
    lines
}

fn inline(node: &ConfigNode) -> String {
    match node {
        ConfigNode::Text(text) => quoted(text),
        ConfigNode::Flag(flag) => flag.to_string(),
        ConfigNode::List(items) => {
            let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
            format!("[{}]", items.join(", "))
        }
        ConfigNode::Table(properties) => {
            let properties = properties.iter();
            let properties: Vec<String> = properties
                .map(|(key, node)| format!("{} = {}", bare(key), inline(node)))
                .collect();
            format!("{{ {} }}", properties.join(", "))
        }
    }
}

/// A key, quoted if necessary.
fn bare(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_plain) {
        return key.to_owned();
    }
    quoted(key)
}

/// The values of a file.
fn values(text: &str) -> Option<Value> {
    depth::toml(text).ok()?;
    toml_edit::de::from_str(text).ok()
}

/// An edit is only made if everything else reads as before.
fn checked(before: &str, after: String, key: &str, name: &str) -> Result<String, EditError> {
    let others = |text: &str| {
        let mut all = values(text)?;
        let servers = all.get_mut(key).and_then(Value::as_object_mut);
        if let Some(servers) = servers {
            servers.remove(name);
            if servers.is_empty() {
                all.as_object_mut()
                    .map(|all: &mut Map<_, _>| all.remove(key));
            }
        }
        Some(all)
    };
    let was = others(before);
    if was.is_some() && was == others(&after) {
        return Ok(after);
    }
    let message = "this file is written in a way that cannot be edited safely";
    Err(EditError::at(before, 0, message).advise("edit it by hand"))
}
