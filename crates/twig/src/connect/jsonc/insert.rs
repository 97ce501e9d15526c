//! Puts an entry in, in the file's own indentation and line ends.

use jsonc_parser::ast::Object;
use jsonc_parser::common::Ranged;

use super::source::{Source, is_comment, property, text_of};
use super::{EditError, checked};
use crate::connect::node::{Node, quoted};

/// The file with the entry `name` below the keys; one of that name is replaced.
pub(crate) fn set(
    text: &str,
    keys: &[&str],
    name: &str,
    entry: &Node,
) -> Result<String, EditError> {
    let (mark, body) = text_of(text);
    let source = Source::parse(body)?;
    let (found, containers) = source.containers(keys)?;
    let Some(object) = containers.last() else {
        return Ok(format!("{mark}{}", new_file(&source, keys, name, entry)));
    };
    let edited = match keys.get(found) {
        Some(missing) => {
            let node = nested(&keys[found + 1..], name, entry);
            insert(&source, object, missing, &node)
        }
        None => match property(object, name) {
            Some(there) => {
                let range = there.value.range();
                let is_inline = !body[object.range.start..object.range.end].contains('\n');
                let style = Style::of(&source, is_inline);
                let mut edited = body[..range.start].to_owned();
                style.write(entry, source.line_indent(there.range.start), &mut edited);
                edited + &body[range.end..]
            }
            None => insert(&source, object, name, entry),
        },
    };
    checked(text, format!("{mark}{edited}"), keys, name)
}

/// The entry inside the objects that it needs.
fn nested(keys: &[&str], name: &str, entry: &Node) -> Node {
    let inner = Node::Table(vec![(name.to_owned(), entry.clone())]);
    keys.iter().rev().fold(inner, |inner, key| {
        Node::Table(vec![((*key).to_owned(), inner)])
    })
}

/// A file that said nothing yet; comments stay above.
fn new_file(source: &Source<'_>, keys: &[&str], name: &str, entry: &Node) -> String {
    let style = Style::of(source, false);
    let comments = source.text.trim_end();
    let mut text = comments.to_owned();
    if !comments.is_empty() {
        text += style.newline;
    }
    style.write(&nested(keys, name, entry), "", &mut text);
    text + style.newline
}

/// A property more, after all others.
fn insert(source: &Source<'_>, object: &Object<'_>, key: &str, node: &Node) -> String {
    let text = source.text;
    let inner = &text[object.range.start + 1..object.range.end - 1];
    let Some(last) = object.properties.last() else {
        return fill(source, object, key, node);
    };
    let comma = source.comma_after(last.range.end);
    let anchor = comma.map_or(last.range.end, |comma| comma.range.end);
    let style = Style::of(source, !inner.contains('\n'));
    let mut at = anchor;
    let mut edited = text[..last.range.end].to_owned();
    if comma.is_none() {
        edited.push(',');
    }
    if style.is_inline {
        edited += &text[last.range.end..at];
        edited += style.space;
        style.write_property(key, node, "", &mut edited);
    } else {
        // What is said of the last property in its own line stays with it.
        for comment in source.after(anchor) {
            let gap = &text[at..comment.range.start];
            if !is_comment(&comment.token) || gap.contains('\n') {
                break;
            }
            at = comment.range.end;
        }
        let own = object.properties.iter().rev();
        let aligned = own
            .map(|it| it.range.start)
            .find(|at| source.begins_line(*at));
        let indent = aligned.map_or_else(
            || format!("{}{}", source.line_indent(object.range.start), style.unit),
            |at| source.line_indent(at).to_owned(),
        );
        edited += &text[last.range.end..at];
        edited += style.newline;
        edited += &indent;
        style.write_property(key, node, &indent, &mut edited);
    }
    if comma.is_some() {
        edited.push(',');
    }
    edited + &text[at..]
}

/// The first property of an object.
fn fill(source: &Source<'_>, object: &Object<'_>, key: &str, node: &Node) -> String {
    let text = source.text;
    let has_root = source
        .root
        .as_ref()
        .is_some_and(|root| !root.properties.is_empty());
    let style = Style::of(source, has_root && !text.contains('\n'));
    let outer = source.line_indent(object.range.start);
    let indent = format!("{outer}{}", style.unit);
    if let Some(comment) = source.last_comment(object) {
        let mut edited = text[..comment.range.end].to_owned();
        let indent = if source.begins_line(comment.range.start) {
            source.line_indent(comment.range.start)
        } else {
            &indent
        };
        edited += style.newline;
        edited += indent;
        style.write_property(key, node, indent, &mut edited);
        return edited + &text[comment.range.end..];
    }
    let mut edited = text[..=object.range.start].to_owned();
    if style.is_inline {
        style.write_property(key, node, "", &mut edited);
    } else {
        edited += style.newline;
        edited += &indent;
        style.write_property(key, node, &indent, &mut edited);
        edited += style.newline;
        edited += outer;
    }
    edited + &text[object.range.end - 1..]
}

/// How a file is written.
struct Style<'t> {
    newline: &'static str,
    /// One step of indentation.
    unit: &'t str,
    /// Everything in one line.
    is_inline: bool,
    /// What follows a comma or a colon there.
    space: &'static str,
}

impl<'t> Style<'t> {
    fn of(source: &Source<'t>, is_inline: bool) -> Self {
        let text = source.text;
        let root = source.root.as_ref();
        let outer = root.map_or("", |root| source.line_indent(root.range.start));
        let first = root.and_then(|root| root.properties.first());
        let step = first
            .filter(|first| source.begins_line(first.range.start))
            .and_then(|first| source.line_indent(first.range.start).strip_prefix(outer))
            .filter(|step| !step.is_empty());
        let usual = if text.contains("\n\t") { "\t" } else { "  " };
        let is_dense = is_inline && !text.contains("\": ");
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            unit: step.unwrap_or(usual),
            is_inline,
            space: if is_dense { "" } else { " " },
        }
    }

    fn write_property(&self, key: &str, node: &Node, indent: &str, out: &mut String) {
        *out += &quoted(key);
        out.push(':');
        *out += self.space;
        self.write(node, indent, out);
    }

    fn write(&self, node: &Node, indent: &str, out: &mut String) {
        match node {
            Node::Text(text) => *out += &quoted(text),
            Node::Flag(flag) => *out += if *flag { "true" } else { "false" },
            Node::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                out.push('[');
                *out += &items.join(&format!(",{}", self.space));
                out.push(']');
            }
            Node::Table(properties) => self.write_table(properties, indent, out),
        }
    }

    fn write_table(&self, properties: &[(String, Node)], indent: &str, out: &mut String) {
        let inner = format!("{indent}{}", self.unit);
        out.push('{');
        for (at, (key, node)) in properties.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            if !self.is_inline {
                *out += self.newline;
                *out += &inner;
            } else if at > 0 {
                *out += self.space;
            }
            self.write_property(key, node, &inner, out);
        }
        if !self.is_inline {
            *out += self.newline;
            *out += indent;
        }
        out.push('}');
    }
}
