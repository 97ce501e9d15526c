//! TOML, edited in place: one table more at the end of the file, or one less.
//!
//! A file is parsed to know where everything is; printing it again would lose its line ends. What
//! is ours is then put in or cut out, and every other byte stays.

mod cut;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, TableLike};
use twig_core::depth;

use self::cut::{Cut, cuts};
use super::edit_error::EditError;
use super::jsonc::Listed;
use super::node::{Node, quoted};

/// The servers below a key, in the file's order.
pub(crate) fn entries(text: &str, key: &str) -> Result<Vec<Listed>, EditError> {
    let document = parse(text)?;
    // Servers within braces can be read, though not edited.
    if let Some(servers) = document.get(key).and_then(Item::as_inline_table) {
        let listed = servers.iter().map(|(name, item)| {
            let raw = &text[item.span().unwrap_or_default()];
            (
                name.to_owned(),
                plain(text, item),
                format!("{name} = {raw}"),
            )
        });
        return Ok(listed.collect());
    }
    let Some(servers) = container(text, &document, key)? else {
        return Ok(Vec::new());
    };
    Ok(servers
        .iter()
        .map(|(name, item)| {
            let cuts = cuts(text, servers, name).unwrap_or_default();
            let raw: Vec<&str> = cuts.iter().map(|cut| text[cut.range()].trim()).collect();
            (name.to_owned(), value(text, item), raw.join("\n"))
        })
        .collect())
}

/// The file with the table `key.name`; one of that name is replaced where it is.
pub(crate) fn set(text: &str, key: &str, name: &str, entry: &Node) -> Result<String, EditError> {
    let document = parse(text)?;
    let servers = container(text, &document, key)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = table(key, name, entry).join(newline);
    let there = servers.filter(|servers| servers.contains_key(name));
    let edited = if let Some(servers) = there {
        let cuts = cuts(text, servers, name).ok_or_else(|| by_hand(text, servers, name))?;
        replaced(text, &cuts, Some(&lines), newline)
    } else if text.trim_start_matches('\u{feff}').is_empty() {
        format!("{text}{lines}{newline}")
    } else if text.ends_with('\n') {
        format!("{text}{newline}{lines}{newline}")
    } else {
        // A file without a last line end gets none.
        format!("{text}{newline}{newline}{lines}")
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
    let document = parse(text)?;
    let servers = container(text, &document, key)?;
    let entry = servers.and_then(|servers| servers.get(name)?.as_table_like());
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

/// The file without the table `key.name` and those below it. Where `kept` is not set, an empty
/// `[key]` goes too.
pub(crate) fn remove(text: &str, key: &str, name: &str, kept: bool) -> Result<String, EditError> {
    let document = parse(text)?;
    let Some(servers) = container(text, &document, key)?.filter(|it| it.contains_key(name)) else {
        return Ok(text.to_owned());
    };
    let cuts = cuts(text, servers, name).ok_or_else(|| by_hand(text, servers, name))?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let edited = replaced(text, &cuts, None, newline);
    let edited = if kept {
        edited
    } else {
        without_empty(&edited, key, newline)?
    };
    checked(text, edited, key, name)
}

/// Whether the table that holds servers is there.
pub(crate) fn has_container(text: &str, key: &str) -> bool {
    parse(text).is_ok_and(|document| document.contains_key(key))
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    depth::toml(text).map_err(|error| EditError::at(text, error.at, error.to_string()))?;
    Document::parse(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        EditError::at(text, place, error.message())
    })
}

/// The table below a key, in whichever form that can be edited.
fn container<'d>(
    text: &str,
    document: &'d Document<&str>,
    key: &str,
) -> Result<Option<&'d toml_edit::Table>, EditError> {
    let item = document.get(key);
    let table = item.and_then(Item::as_table);
    if item.is_some() && table.is_none() {
        let place = item.and_then(Item::span).map_or(0, |span| span.start);
        let message = format!("`{key}` has to be written as tables, `[{key}.NAME]`");
        let advice = format!("give each server a table `[{key}.NAME]` of its own");
        return Err(EditError::at(text, place, message).advise(advice));
    }
    Ok(table)
}

fn by_hand(text: &str, servers: &toml_edit::Table, name: &str) -> EditError {
    let place = servers.key(name).and_then(toml_edit::Key::span);
    let message = format!("`{name}` is written with dotted keys here");
    EditError::at(text, place.map_or(0, |span| span.start), message)
        .advise("write it as a table with a header of its own, or edit it by hand")
}

/// The text without what is cut, or with other lines in the place of the first of it.
fn replaced(text: &str, cuts: &[Cut], lines: Option<&str>, newline: &str) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut done = 0;
    for (at, cut) in cuts.iter().enumerate() {
        let lines = lines.filter(|_| at == 0);
        let start = if lines.is_some() {
            cut.start
        } else {
            cut.start_with_gap(text, newline)
        };
        edited += &text[done..start.max(done)];
        edited += lines.unwrap_or_default();
        done = if lines.is_some() {
            cut.end
        } else {
            cut.end_with_line(text)
        };
    }
    edited + &text[done..]
}

/// The text without a `[key]` that holds nothing.
fn without_empty(text: &str, key: &str, newline: &str) -> Result<String, EditError> {
    let document = parse(text)?;
    let empty = container(text, &document, key)?.filter(|it| it.is_empty() && !it.is_implicit());
    let Some(span) = empty.and_then(toml_edit::Table::span) else {
        return Ok(text.to_owned());
    };
    let cut = Cut {
        start: span.start,
        end: span.end,
    };
    // A comment in its line was written by somebody.
    if !text[span.end..]
        .split('\n')
        .next()
        .unwrap_or_default()
        .trim()
        .is_empty()
    {
        return Ok(text.to_owned());
    }
    Ok(replaced(text, &[cut], None, newline))
}

/// The lines of our table.
fn table(key: &str, name: &str, entry: &Node) -> Vec<String> {
    let header = format!("{}.{}", bare(key), bare(name));
    let mut lines = vec![format!("[{header}]")];
    let mut tables = Vec::new();
    let Node::Table(properties) = entry else {
        return lines;
    };
    for (key, node) in properties {
        match node {
            Node::Table(inner) => tables.push((key, inner)),
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

fn inline(node: &Node) -> String {
    match node {
        Node::Text(text) => quoted(text),
        Node::Flag(flag) => flag.to_string(),
        Node::List(items) => {
            let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Table(properties) => {
            let properties = properties.iter();
            let properties: Vec<String> = properties
                .map(|(key, node)| format!("{} = {}", bare(key), inline(node)))
                .collect();
            format!("{{ {} }}", properties.join(", "))
        }
    }
}

/// A key, between quotation marks where it needs them.
fn bare(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_plain) {
        return key.to_owned();
    }
    quoted(key)
}

/// Numbers and times stay as they are written: none of them is ours.
fn value(text: &str, item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return object(text, table);
    }
    if let Some(tables) = item.as_array_of_tables() {
        return Value::Array(tables.iter().map(|it| object(text, it)).collect());
    }
    item.as_value().map_or(Value::Null, |it| plain(text, it))
}

fn plain(text: &str, value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Written;
    match value {
        Written::String(text) => Value::from(text.value().as_str()),
        Written::Boolean(flag) => Value::from(*flag.value()),
        Written::Array(items) => Value::Array(items.iter().map(|it| plain(text, it)).collect()),
        Written::InlineTable(table) => object(text, table),
        other => Value::from(format!(
            "written {}",
            &text[other.span().unwrap_or_default()]
        )),
    }
}

fn object(text: &str, table: &dyn TableLike) -> Value {
    let pairs = table.iter();
    Value::Object(
        pairs
            .map(|(key, item)| (key.to_owned(), value(text, item)))
            .collect(),
    )
}

/// An edit is only made where everything else reads as before.
fn checked(before: &str, after: String, key: &str, name: &str) -> Result<String, EditError> {
    let others = |text: &str| {
        let document = parse(text).ok()?;
        let mut all = object(text, document.as_table());
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
