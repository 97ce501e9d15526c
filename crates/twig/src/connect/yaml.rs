//! The servers of a client whose file is YAML, edited line by line.
//!
//! The parser reports where everything is, and whole lines are inserted or cut: below a key, each
//! server begins a line of its own. Every other byte stays, comments included. A file that writes
//! its servers in another way is refused, and so is an edit after which anything else would read
//! differently.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};
use serde_json::Value;

use super::jsonc::ListedServer;
use super::node::{ConfigNode, quoted};
use crate::edit_error::EditError;

/// One step of indentation.
const UNIT: &str = "  ";

/// The key that holds the servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct YamlPlace {
    pub(crate) key: &'static str,
    /// True if the servers are a list of mappings with a `name`, and not a mapping by name.
    pub(crate) is_list: bool,
}

/// The servers below the key, in the file's order.
pub(crate) fn entries(text: &str, place: YamlPlace) -> Result<Vec<ListedServer>, EditError> {
    let file = YamlFile::parse(text)?;
    let Some(container) = file.container(place)? else {
        return Ok(Vec::new());
    };
    let listed = container.servers.iter().map(|server| {
        let raw = file.text[file.bytes(&server.lines)].trim_end().to_owned();
        (server.name.clone(), server.node.value(), unindented(&raw))
    });
    Ok(listed.collect())
}

/// The file with a server; replaces an existing one in place.
pub(crate) fn set(
    text: &str,
    place: YamlPlace,
    name: &str,
    entry: &ConfigNode,
) -> Result<String, EditError> {
    let file = YamlFile::parse(text)?;
    let edited = match file.container(place)? {
        None => {
            let mut lines = vec![format!("{}:", place.key)];
            lines.extend(written(place, name, entry, UNIT));
            let end = file.last_line();
            file.with_lines(end..end, &lines)
        }
        Some(container) => {
            let lines = written(place, name, entry, &container.indent);
            match container.servers.iter().rev().find(|it| it.name == name) {
                Some(there) => file.with_lines(there.lines.clone(), &lines),
                None if container.servers.is_empty() => {
                    let edited = file.with_lines(container.end..container.end, &lines);
                    // The insertion is further down, so these bytes are where they were.
                    spliced(&edited, file.mark.len(), container.value, "")
                }
                None => file.with_lines(container.end..container.end, &lines),
            }
        }
    };
    checked(text, edited, place, name)
}

/// The file with another program in a server's entry, and nothing else changed.
pub(crate) fn set_program(
    text: &str,
    place: YamlPlace,
    name: &str,
    program: &str,
) -> Result<Option<String>, EditError> {
    let file = YamlFile::parse(text)?;
    let container = file.container(place)?;
    let servers = container.into_iter().flat_map(|it| it.servers);
    let server = servers.rev().find(|it| it.name == name);
    let command = server.as_ref().and_then(|server| {
        let found = server.node.get("cmd");
        found.or_else(|| server.node.get("command"))
    });
    let Some(YamlContent::Scalar(_, _)) = command.map(|command| &command.content) else {
        return Ok(None);
    };
    let range = command.map(|command| command.range.clone());
    let edited = spliced(
        text,
        file.mark.len(),
        range.unwrap_or_default(),
        &quoted(program),
    );
    checked(text, edited, place, name).map(Some)
}

/// The file without a server. Unless `kept` is set, a key without servers is removed, too.
pub(crate) fn remove(
    text: &str,
    place: YamlPlace,
    name: &str,
    kept: bool,
) -> Result<String, EditError> {
    let mut edited = text.to_owned();
    loop {
        let file = YamlFile::parse(&edited)?;
        let Some(container) = file.container(place)? else {
            break;
        };
        let mut servers = container.servers.iter();
        let Some(there) = servers.rfind(|it| it.name == name) else {
            break;
        };
        let is_last = container.servers.len() == 1;
        let only_ours = there.lines.start == container.line + 1 && container.end <= there.lines.end;
        edited = if is_last && !kept && only_ours {
            file.with_lines(container.line..there.lines.end, &[])
        } else {
            let edited = file.with_lines(there.lines.clone(), &[]);
            let empty = if place.is_list { " []" } else { " {}" };
            let at = container.value.start..container.value.start;
            if is_last {
                spliced(&edited, file.mark.len(), at, empty)
            } else {
                edited
            }
        };
        // Others of the same name in a list are not the one that was looked at.
        if place.is_list {
            break;
        }
    }
    checked(text, edited, place, name)
}

/// Whether the key that holds servers exists.
pub(crate) fn has_container(text: &str, place: YamlPlace) -> bool {
    YamlFile::parse(text).is_ok_and(|file| file.pair(place.key).is_some())
}

/// A value of the file.
#[derive(Debug)]
struct YamlTree {
    content: YamlContent,
    /// Where it is; a collection in block style ends where the next value begins.
    range: Range<usize>,
    /// True if it has an anchor or a tag.
    is_marked: bool,
}

#[derive(Debug)]
enum YamlContent {
    /// True if it is plain, without quotes.
    Scalar(String, bool),
    /// `*name`.
    Alias,
    /// True if it is in flow style, `{ … }`.
    Mapping(Vec<(YamlTree, YamlTree)>, bool),
    /// True if it is in flow style, `[ … ]`.
    Sequence(Vec<YamlTree>, bool),
}

impl YamlTree {
    fn get(&self, key: &str) -> Option<&YamlTree> {
        let YamlContent::Mapping(pairs, _) = &self.content else {
            return None;
        };
        let mut pairs = pairs.iter().rev();
        pairs.find(|(name, _)| name.is_text(key)).map(|it| &it.1)
    }

    fn text(&self) -> Option<&str> {
        match &self.content {
            YamlContent::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    fn is_text(&self, wanted: &str) -> bool {
        self.text() == Some(wanted)
    }

    /// True for nothing at all, `null`, `~`, `{}` and `[]`.
    fn is_empty(&self) -> bool {
        match &self.content {
            YamlContent::Scalar(text, is_plain) => {
                *is_plain && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            YamlContent::Alias => false,
            YamlContent::Mapping(pairs, _) => pairs.is_empty(),
            YamlContent::Sequence(items, _) => items.is_empty(),
        }
    }

    /// What an entry says, as JSON.
    fn value(&self) -> Value {
        match &self.content {
            YamlContent::Scalar(text, true) => match text.as_str() {
                "" | "~" | "null" => Value::Null,
                "true" | "True" | "TRUE" => Value::Bool(true),
                "false" | "False" | "FALSE" => Value::Bool(false),
                text => Value::from(text),
            },
            YamlContent::Scalar(text, false) => Value::from(text.as_str()),
            YamlContent::Alias => Value::Null,
            YamlContent::Mapping(pairs, _) => {
                let pairs = pairs.iter();
                let pairs = pairs.filter_map(|(key, value)| Some((key.text()?, value.value())));
                Value::Object(pairs.map(|(key, value)| (key.to_owned(), value)).collect())
            }
            YamlContent::Sequence(items, _) => items.iter().map(YamlTree::value).collect(),
        }
    }

    /// Everything that a reader of YAML sees, without one server.
    fn outline(&self, text: &str, place: Option<(YamlPlace, &str)>, out: &mut String) {
        if self.is_marked {
            *out += "&";
        }
        match &self.content {
            YamlContent::Scalar(text, is_plain) => {
                let _ = write!(out, "{is_plain}{text:?}");
            }
            YamlContent::Alias => *out += &text[self.range.clone()],
            YamlContent::Mapping(pairs, _) => {
                *out += "{";
                for (key, value) in pairs {
                    let is_place = place.is_some_and(|(place, _)| key.is_text(place.key));
                    if is_place && value.is_without(place) {
                        continue;
                    }
                    key.outline(text, None, out);
                    *out += ":";
                    match (&value.content, place.filter(|_| is_place)) {
                        (YamlContent::Mapping(pairs, _), Some((_, name))) => {
                            let others = pairs.iter().filter(|(key, _)| !key.is_text(name));
                            for (key, value) in others {
                                key.outline(text, None, out);
                                value.outline(text, None, out);
                            }
                        }
                        (YamlContent::Sequence(items, _), Some((_, name))) => {
                            let others = items.iter().filter(|item| !item.is_named(name));
                            others.for_each(|item| item.outline(text, None, out));
                        }
                        _ => value.outline(text, None, out),
                    }
                    *out += ",";
                }
                *out += "}";
            }
            YamlContent::Sequence(items, _) => {
                *out += "[";
                for item in items {
                    item.outline(text, None, out);
                    *out += ",";
                }
                *out += "]";
            }
        }
    }

    fn is_named(&self, name: &str) -> bool {
        self.get("name").is_some_and(|it| it.is_text(name))
    }

    /// True if nothing is left of a container without one server.
    fn is_without(&self, place: Option<(YamlPlace, &str)>) -> bool {
        let Some((_, name)) = place else {
            return false;
        };
        match &self.content {
            YamlContent::Mapping(pairs, _) => pairs.iter().all(|(key, _)| key.is_text(name)),
            YamlContent::Sequence(items, _) => items.iter().all(|item| item.is_named(name)),
            _ => self.is_empty(),
        }
    }
}

/// The servers of a file.
struct YamlServers<'f> {
    /// The line of the key.
    line: usize,
    /// Its value if that is empty, such as ` {}`; else the place after the colon.
    value: Range<usize>,
    /// The indentation of a server.
    indent: String,
    /// The line after the last one that belongs to the servers.
    end: usize,
    servers: Vec<YamlServer<'f>>,
}

struct YamlServer<'f> {
    name: String,
    node: &'f YamlTree,
    lines: Range<usize>,
}

/// A parsed file.
struct YamlFile<'t> {
    /// A byte order mark, or empty.
    mark: &'t str,
    /// The text after it.
    text: &'t str,
    /// `None` if the file has no value.
    root: Option<YamlTree>,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl<'t> YamlFile<'t> {
    fn parse(text: &'t str) -> Result<Self, EditError> {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mark, text) = text.split_at(text.len() - body.len());
        let root = parse(text)?;
        let root = root.filter(|root| !(root.is_empty() && root.text().is_some()));
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let file = Self {
            mark,
            text,
            root,
            starts: [0].into_iter().chain(ends).collect(),
        };
        if let Some(root) = &file.root {
            let is_block = matches!(&root.content, YamlContent::Mapping(_, false));
            if !is_block {
                let message = "the file has to hold lines of `key: value`";
                let error = EditError::at(text, root.range.start, message);
                return Err(error.advise("write each key on a line of its own"));
            }
        }
        Ok(file)
    }

    fn pairs(&self) -> &[(YamlTree, YamlTree)] {
        match self.root.as_ref().map(|root| &root.content) {
            Some(YamlContent::Mapping(pairs, _)) => pairs,
            _ => &[],
        }
    }

    fn pair(&self, key: &str) -> Option<usize> {
        self.pairs().iter().rposition(|(it, _)| it.is_text(key))
    }

    /// The servers, in a form that can be edited.
    fn container(&self, place: YamlPlace) -> Result<Option<YamlServers<'_>>, EditError> {
        let Some(at) = self.pair(place.key) else {
            return Ok(None);
        };
        let (key, value) = &self.pairs()[at];
        let line = self.line_of(key.range.start);
        let next = self.pairs().get(at + 1);
        let limit = next.map_or_else(
            || self.document_end(line),
            |(key, _)| self.line_of(key.range.start),
        );
        let colon = self.text[key.range.end..].find(':');
        let colon = key.range.end + colon.unwrap_or_default();
        let refuse = |place: usize, message: &str, advice: &str| {
            Err(EditError::at(self.text, place, message).advise(advice))
        };
        let form = if place.is_list {
            "- name: NAME"
        } else {
            "NAME:"
        };
        let advice = format!("write each server below `{}:`, as `{form}`", place.key);
        if self.column(key.range.start) != 0 || key.is_marked || value.is_marked {
            let message = format!(
                "`{}` is written in a form that Twig does not edit",
                place.key
            );
            return refuse(key.range.start, &message, &advice);
        }
        if value.is_empty() {
            let end = value.range.end.max(colon + 1);
            let is_here = self.line_of(end) == line;
            return Ok(Some(YamlServers {
                line,
                value: colon + 1..if is_here { end } else { colon + 1 },
                indent: UNIT.to_owned(),
                // Comments that are indented are about servers.
                end: self.content_end(line + 1..limit, 1),
                servers: Vec::new(),
            }));
        }
        let nodes: Vec<(Option<&str>, usize, &YamlTree)> = match &value.content {
            YamlContent::Mapping(pairs, false) if !place.is_list => {
                let pairs = pairs.iter();
                let named = pairs.map(|(key, value)| (key.text(), key.range.start, value));
                named.collect()
            }
            YamlContent::Sequence(items, false) if place.is_list => {
                let named = items.iter().map(|item| {
                    let name = item.get("name").and_then(YamlTree::text);
                    (name, item.range.start, item)
                });
                named.collect()
            }
            _ => {
                let message = format!("the servers of `{}` have to be lines below it", place.key);
                return refuse(value.range.start, &message, &advice);
            }
        };
        let lines: Vec<usize> = nodes.iter().map(|(_, at, _)| self.line_of(*at)).collect();
        let indent = lines.first().map_or("", |line| self.indent(*line));
        let mut servers = Vec::new();
        for (index, (name, at, node)) in nodes.into_iter().enumerate() {
            let first = lines[index];
            let next = lines.get(index + 1).copied().unwrap_or(limit);
            let begin = &self.text[self.starts[first]..at];
            let mark = if place.is_list { "-" } else { "" };
            let inner = begin.strip_prefix(indent);
            let begins_line = inner.is_some_and(|it| it.trim_end_matches(' ') == mark);
            if !begins_line || first <= line || next <= first {
                let message = "a server has to begin a line of its own";
                return refuse(at, message, &advice);
            }
            let end = self.content_end(first + 1..next, indent.len() + 1);
            servers.push(YamlServer {
                name: name.unwrap_or_default().to_owned(),
                node,
                lines: first..end,
            });
        }
        Ok(Some(YamlServers {
            line,
            value: colon + 1..colon + 1,
            indent: indent.to_owned(),
            end: self.content_end(line + 1..limit, indent.len()),
            servers,
        }))
    }

    /// The line after the last one with content. Comments that are indented less belong to what
    /// follows.
    fn content_end(&self, lines: Range<usize>, indent: usize) -> usize {
        let first = lines.start;
        let mut lines = lines.rev();
        let last = lines.find(|line| {
            let line = self.line(*line);
            let text = line.trim_start();
            let is_comment = text.starts_with('#') && line.len() - text.len() < indent;
            !text.trim_end().is_empty() && !is_comment
        });
        last.map_or(first, |last| last + 1)
    }

    fn line(&self, line: usize) -> &'t str {
        &self.text[self.bytes(&(line..line + 1))]
    }

    fn indent(&self, line: usize) -> &'t str {
        let line = self.line(line);
        &line[..line.len() - line.trim_start_matches(' ').len()]
    }

    fn line_of(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start <= place) - 1
    }

    fn column(&self, place: usize) -> usize {
        place - self.starts[self.line_of(place)]
    }

    /// The line after the last one of the document that this line is in.
    fn document_end(&self, line: usize) -> usize {
        let is_mark = |line: &usize| self.line(*line).starts_with("...");
        let mut lines = line..self.last_line();
        lines.find(is_mark).unwrap_or(self.last_line())
    }

    /// The number of lines.
    fn last_line(&self) -> usize {
        let lines = self.starts.len();
        if self.text.len() == self.starts[lines - 1] {
            lines - 1
        } else {
            lines
        }
    }

    fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        let at = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        at(lines.start)..at(lines.end)
    }

    /// The file with other lines in the place of these.
    fn with_lines(&self, place: Range<usize>, lines: &[String]) -> String {
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let place = self.bytes(&place);
        let mut new = String::new();
        let before = &self.text[..place.start];
        if !lines.is_empty() && !before.is_empty() && !before.ends_with('\n') {
            new += newline;
        }
        for line in lines {
            new += line;
            new += newline;
        }
        spliced(
            &format!("{}{}", self.mark, self.text),
            self.mark.len(),
            place,
            &new,
        )
    }
}

/// The text with a range after the mark replaced.
fn spliced(text: &str, mark: usize, range: Range<usize>, new: &str) -> String {
    let mut edited = text.to_owned();
    edited.replace_range(range.start + mark..range.end + mark, new);
    edited
}

/// The lines of a server.
fn written(place: YamlPlace, name: &str, entry: &ConfigNode, indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let ConfigNode::Table(properties) = entry else {
        return lines;
    };
    let inner = format!("{indent}{UNIT}");
    if !place.is_list {
        lines.push(format!("{indent}{}:", scalar(name)));
    }
    write_properties(properties, &inner, &mut lines);
    if let (true, Some(first)) = (place.is_list, lines.first_mut()) {
        first.replace_range(indent.len()..=indent.len(), "-");
    }
    lines
}

fn write_properties(properties: &[(String, ConfigNode)], indent: &str, lines: &mut Vec<String>) {
    for (key, node) in properties {
        let key = scalar(key);
        match node {
            ConfigNode::Text(text) => lines.push(format!("{indent}{key}: {}", scalar(text))),
            ConfigNode::Flag(flag) => lines.push(format!("{indent}{key}: {flag}")),
            ConfigNode::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                lines.push(format!("{indent}{key}: [{}]", items.join(", ")));
            }
            ConfigNode::Table(inner) => {
                lines.push(format!("{indent}{key}:"));
                write_properties(inner, &format!("{indent}{UNIT}"), lines);
            }
        }
    }
}

/// A text, quoted unless every reader of YAML takes it as it is.
fn scalar(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_/.-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let is_special = matches!(
        text.to_ascii_lowercase().as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    if begins && !is_special && text.chars().all(is_word) {
        return text.to_owned();
    }
    quoted(text)
}

/// An entry as shown: without the indentation that all its lines have.
fn unindented(raw: &str) -> String {
    let indent = raw.len() - raw.trim_start_matches(' ').len();
    let lines = raw.lines().map(|line| line.get(indent..).unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// An edit is only made if everything else reads as before.
fn checked(before: &str, after: String, place: YamlPlace, name: &str) -> Result<String, EditError> {
    let others = |text: &str| {
        let file = YamlFile::parse(text).ok()?;
        let mut out = String::new();
        if let Some(root) = &file.root {
            root.outline(file.text, Some((place, name)), &mut out);
        }
        Some(if out == "{}" { String::new() } else { out })
    };
    let was = others(before);
    if was.is_some() && was == others(&after) {
        return Ok(after);
    }
    let message = "this file is written in a way that cannot be edited safely";
    Err(EditError::at(before, 0, message).advise("edit it by hand"))
}

/// The value of the only document; `None` if there is none.
fn parse(text: &str) -> Result<Option<YamlTree>, EditError> {
    /// A collection that is not complete yet.
    struct Open {
        tree: YamlTree,
        key: Option<YamlTree>,
    }
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let place = error.marker().byte_offset().unwrap_or_default();
            EditError::at(text, place, error.info().clone())
        })?;
        let range = span.byte_range().unwrap_or_default();
        let (content, is_marked) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                let content = YamlContent::Scalar(text.into_owned(), is_plain);
                (content, anchor != 0 || tag.is_some())
            }
            Event::Alias(_) => (YamlContent::Alias, false),
            Event::MappingStart(style, anchor, tag) => {
                let content = YamlContent::Mapping(Vec::new(), style == StructureStyle::Flow);
                (content, anchor != 0 || tag.is_some())
            }
            Event::SequenceStart(style, anchor, tag) => {
                let content = YamlContent::Sequence(Vec::new(), style == StructureStyle::Flow);
                (content, anchor != 0 || tag.is_some())
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let Some(mut done) = open.pop() else {
                    continue;
                };
                done.tree.range.end = range.end.max(done.tree.range.start);
                match open.last_mut() {
                    None => root = Some(done.tree),
                    Some(outer) => add(&mut outer.tree, &mut outer.key, done.tree),
                }
                continue;
            }
            Event::DocumentStart(..) if root.is_some() => {
                let message = "the file has several documents";
                let error = EditError::at(text, range.start, message);
                return Err(error.advise("leave one document in it"));
            }
            _ => continue,
        };
        let is_collection = matches!(
            &content,
            YamlContent::Mapping(..) | YamlContent::Sequence(..)
        );
        let tree = YamlTree {
            content,
            range,
            is_marked,
        };
        match open.last_mut() {
            _ if is_collection => open.push(Open { tree, key: None }),
            Some(outer) => add(&mut outer.tree, &mut outer.key, tree),
            None => root = Some(tree),
        }
    }
    Ok(root)
}

/// Adds a value to a collection; a mapping takes a key and then its value.
fn add(outer: &mut YamlTree, key: &mut Option<YamlTree>, tree: YamlTree) {
    match &mut outer.content {
        YamlContent::Mapping(pairs, _) => match key.take() {
            Some(key) => pairs.push((key, tree)),
            None => *key = Some(tree),
        },
        YamlContent::Sequence(items, _) => items.push(tree),
        YamlContent::Scalar(..) | YamlContent::Alias => {}
    }
}
