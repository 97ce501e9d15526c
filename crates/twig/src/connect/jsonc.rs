//! JSON with comments and trailing commas, edited in place.
//!
//! The parser reports where everything is, and the change is inserted into the text or cut out of
//! it. Every byte stays that is not part of our entry, or a comma that it needs. The parser's own
//! editable tree does not do that: it breaks up objects on one line, and drops blank lines and
//! comments.

#[cfg(test)]
mod tests;

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value as Parsed};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast, parse_to_serde_value,
};
use serde_json::{Map, Value};
use twig_core::depth as nesting;

use super::node::{ConfigNode, quoted};
use crate::edit_error::EditError;

/// Comments and trailing commas, and no other extension of JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A server in a file: its name, its value, and its source text.
pub(crate) type ListedServer = (String, Value, String);

/// The servers below the keys, in the file's order.
pub(crate) fn entries(text: &str, keys: &[&str]) -> Result<Vec<ListedServer>, EditError> {
    let file = JsoncFile::parse(text)?;
    let objects = file.objects(keys)?;
    let all = values(text).unwrap_or_default();
    let servers = keys.iter().fold(&all, |value, key| &value[*key]);
    let properties = objects.get(keys.len()).map(|object| &object.properties);
    let listed = properties.into_iter().flatten().map(|property| {
        let raw = file.text[property.range.start..property.range.end].to_owned();
        let name = property.name.as_str();
        (name.to_owned(), servers[name].clone(), raw)
    });
    Ok(listed.collect())
}

/// How many of the objects on the path of the keys exist.
pub(crate) fn depth(text: &str, keys: &[&str]) -> usize {
    let file = JsoncFile::parse(text);
    let found = file.and_then(|file| file.objects(keys).map(|objects| objects.len()));
    found.unwrap_or_default().saturating_sub(1)
}

/// The file with the entry `name` below the keys; replaces an existing one.
pub(crate) fn set(
    text: &str,
    keys: &[&str],
    name: &str,
    entry: &ConfigNode,
) -> Result<String, EditError> {
    let file = JsoncFile::parse(text)?;
    let objects = file.objects(keys)?;
    let edited = match objects.last() {
        None => file.with_root(&nested(keys, name, entry)),
        Some(object) => match keys.get(objects.len() - 1..) {
            Some([missing, below @ ..]) => {
                file.insert(object, missing, &nested(below, name, entry))
            }
            _ => match property(object, name) {
                Some(there) => file.replace(object, there, entry),
                None => file.insert(object, name, entry),
            },
        },
    };
    checked(text, edited, keys, name)
}

/// The file with another program in an entry, and nothing else changed.
pub(crate) fn set_program(
    text: &str,
    keys: &[&str],
    name: &str,
    program: &str,
) -> Result<Option<String>, EditError> {
    let file = JsoncFile::parse(text)?;
    let objects = file.objects(keys)?;
    let entry = objects.get(keys.len()).and_then(|it| property(it, name));
    let command = match entry.map(|entry| &entry.value) {
        Some(Parsed::Object(entry)) => property(entry, "command"),
        _ => None,
    };
    let place = match command.map(|command| &command.value) {
        Some(Parsed::StringLit(text)) => Some(text.range),
        Some(Parsed::Array(words)) => words.elements.first().map(Ranged::range),
        _ => None,
    };
    let edited = place.map(|place| file.spliced([(place.start..place.end, quoted(program))]));
    edited
        .map(|edited| checked(text, edited, keys, name))
        .transpose()
}

/// The file without the entry `name` below the keys. Of the objects on the path of the keys, those
/// after the first `kept` are also removed once they are empty.
pub(crate) fn remove(
    text: &str,
    keys: &[&str],
    name: &str,
    kept: usize,
) -> Result<String, EditError> {
    let mut edited = text.to_owned();
    while let Some(next) = without(&edited, keys, name, |_, _| true)? {
        edited = next;
    }
    if edited == text {
        return Ok(edited);
    }
    let is_empty = |file: &JsoncFile<'_>, value: &Parsed<'_>| match value {
        Parsed::Object(it) => it.properties.is_empty() && file.last_comment(it).is_none(),
        _ => false,
    };
    for depth in (kept..keys.len()).rev() {
        match without(&edited, &keys[..depth], keys[depth], is_empty)? {
            Some(next) => edited = next,
            None => break,
        }
    }
    checked(text, edited, keys, name)
}

/// The text without one property of the object at the end of the keys; `None` if it is missing or
/// stays.
fn without(
    text: &str,
    keys: &[&str],
    name: &str,
    goes: impl Fn(&JsoncFile<'_>, &Parsed<'_>) -> bool,
) -> Result<Option<String>, EditError> {
    let file = JsoncFile::parse(text)?;
    let objects = file.objects(keys)?;
    let object = objects.get(keys.len());
    let found = object.and_then(|object| Some((object, property(object, name)?)));
    let found = found.filter(|(_, property)| goes(&file, &property.value));
    Ok(found.map(|(object, property)| file.cut(object, property)))
}

/// The entry inside the objects that it needs.
fn nested(keys: &[&str], name: &str, entry: &ConfigNode) -> ConfigNode {
    let inner = ConfigNode::Table(vec![(name.to_owned(), entry.clone())]);
    keys.iter().rev().fold(inner, |inner, key| {
        ConfigNode::Table(vec![((*key).to_owned(), inner)])
    })
}

/// The values of a file; `None` if it cannot be parsed.
fn values(text: &str) -> Option<Value> {
    let body = text.trim_start_matches('\u{feff}');
    nesting::json(body).ok()?;
    let all: Option<Value> = parse_to_serde_value(body, &OPTIONS).ok()?;
    Some(all.unwrap_or_else(|| Value::Object(Map::new())))
}

/// The values of a file except for one entry, to check that an edit changed nothing else.
fn others(text: &str, keys: &[&str], name: &str) -> Option<Value> {
    let mut all = values(text)?;
    prune(&mut all, keys, name);
    Some(all)
}

/// Removes an entry, and the objects above it that become empty.
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

/// An edit is only made if everything else reads as before.
fn checked(before: &str, after: String, keys: &[&str], name: &str) -> Result<String, EditError> {
    let was = others(before, keys, name);
    if was.is_some() && was == others(&after, keys, name) {
        return Ok(after);
    }
    let message = "this file is written in a way that cannot be edited safely";
    Err(EditError::at(before, 0, message).advise("edit it by hand"))
}

/// A parsed file.
struct JsoncFile<'t> {
    /// A byte order mark, or empty.
    mark: &'t str,
    /// The text after it.
    text: &'t str,
    /// `None` if the file has no value.
    root: Option<Object<'t>>,
    /// Everything that is not whitespace, including comments.
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> JsoncFile<'t> {
    fn parse(text: &'t str) -> Result<Self, EditError> {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mark, text) = text.split_at(text.len() - body.len());
        nesting::json(text).map_err(|error| EditError::at(text, error.at, error.to_string()))?;
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| EditError {
            message: lower_first(&error.kind().to_string()),
            line: error.line_display(),
            column: error.column_display(),
            advice: None,
        })?;
        let root = match parsed.value {
            None => None,
            Some(Parsed::Object(root)) => Some(root),
            Some(other) => {
                let message = "the file has to hold an object, `{ … }`";
                let error = EditError::at(text, other.start(), message);
                return Err(error.advise("make it an object"));
            }
        };
        Ok(Self {
            mark,
            text,
            root,
            tokens: parsed.tokens.unwrap_or_default(),
        })
    }

    /// The objects on the path of the keys, as far as they exist, beginning with the root.
    fn objects(&self, keys: &[&str]) -> Result<Vec<&Object<'t>>, EditError> {
        let mut objects: Vec<&Object<'t>> = self.root.iter().collect();
        for key in keys {
            let inner = objects.last().and_then(|object| property(object, key));
            match inner.map(|property| &property.value) {
                Some(Parsed::Object(inner)) => objects.push(inner),
                Some(other) => {
                    let message = format!("`{key}` has to be an object, `{{ … }}`");
                    let error = EditError::at(self.text, other.start(), message);
                    return Err(error.advise(format!("make `{key}` an object")));
                }
                None => break,
            }
        }
        Ok(objects)
    }

    /// The file with these ranges replaced; they are in order.
    fn spliced(&self, splices: impl IntoIterator<Item = (Range<usize>, String)>) -> String {
        let mut edited = self.mark.to_owned();
        let mut done = 0;
        for (range, text) in splices {
            edited += &self.text[done..range.start.max(done)];
            edited += &text;
            done = range.end.max(done);
        }
        edited + &self.text[done..]
    }

    /// A file that had no value yet; comments stay above.
    fn with_root(&self, root: &ConfigNode) -> String {
        let style = self.style(false);
        let comments = self.text.trim_end().len();
        let mut text = String::new();
        if comments > 0 {
            text += style.newline;
        }
        style.write(root, "", &mut text);
        text += style.newline;
        self.spliced([(comments..self.text.len(), text)])
    }

    fn replace(&self, object: &Object<'t>, property: &ObjectProp<'t>, node: &ConfigNode) -> String {
        let is_inline = !self.text[object.range.start..object.range.end].contains('\n');
        let mut text = String::new();
        let indent = self.line_indent(property.range.start);
        self.style(is_inline).write(node, indent, &mut text);
        let place = property.value.range();
        self.spliced([(place.start..place.end, text)])
    }

    /// Adds a property after all others.
    fn insert(&self, object: &Object<'t>, key: &str, node: &ConfigNode) -> String {
        let Some(last) = object.properties.last() else {
            return self.fill(object, key, node);
        };
        let inner = &self.text[object.range.start + 1..object.range.end - 1];
        let style = self.style(!inner.contains('\n'));
        let comma = self.comma_after(last.range.end);
        let mut at = comma.map_or(last.range.end, |comma| comma.range.end);
        let mut new = String::new();
        if style.is_inline {
            new += style.space;
            style.write_property(key, node, "", &mut new);
        } else {
            // A comment on the line of the last property stays with it.
            for comment in self.after(at) {
                let gap = &self.text[at..comment.range.start];
                if !is_comment(&comment.token) || gap.contains('\n') {
                    break;
                }
                at = comment.range.end;
            }
            let starts = object.properties.iter().rev().map(|it| it.range.start);
            let indent = starts.clone().find(|at| self.begins_line(*at));
            let indent = indent.map_or_else(
                || format!("{}{}", self.line_indent(object.range.start), style.unit),
                |at| self.line_indent(at).to_owned(),
            );
            new += style.newline;
            new += &indent;
            style.write_property(key, node, &indent, &mut new);
        }
        let end = last.range.end;
        let missing = match comma {
            Some(_) => {
                new.push(',');
                String::new()
            }
            None => ",".to_owned(),
        };
        self.spliced([(end..end, missing), (at..at, new)])
    }

    /// Adds the first property of an object.
    fn fill(&self, object: &Object<'t>, key: &str, node: &ConfigNode) -> String {
        let has_any = self
            .root
            .as_ref()
            .is_some_and(|it| !it.properties.is_empty());
        let style = self.style(has_any && !self.text.contains('\n'));
        let outer = self.line_indent(object.range.start);
        let mut indent = format!("{outer}{}", style.unit);
        let mut place = object.range.start + 1..object.range.end - 1;
        let mut end = format!("{}{outer}", style.newline);
        let comment = self.last_comment(object).map(|comment| comment.range);
        if let Some(comment) = comment {
            if self.begins_line(comment.start) {
                self.line_indent(comment.start).clone_into(&mut indent);
            }
            place = comment.end..comment.end;
            end.clear();
        }
        let mut new = String::new();
        if style.is_inline && comment.is_none() {
            style.write_property(key, node, &indent, &mut new);
        } else {
            new += style.newline;
            new += &indent;
            style.write_property(key, node, &indent, &mut new);
            new += &end;
        }
        self.spliced([(place, new)])
    }

    /// The text without a property, and without its comma.
    fn cut(&self, object: &Object<'t>, property: &ObjectProp<'t>) -> String {
        let own = property.range;
        let comma = self.comma_after(own.end);
        let end = comma.map_or(own.end, |comma| comma.range.end);
        let before = self.before(own.start);
        let next = self.after(end).first();
        let shares_line = comma.is_some()
            && !self.ends_line(end)
            && next.is_some_and(|next| next.token != Token::CloseBrace);
        let in_comment = before.is_some_and(|it| matches!(it.token, Token::CommentLine(_)));
        let range = if shares_line {
            // The next property takes its place.
            own.start..next.map_or(end, |next| next.range.start)
        } else if in_comment && !self.ends_line(end) {
            // The comment above must not swallow the next token.
            own.start..end
        } else {
            // The line that it began is removed with it.
            before.map_or(0, |it| it.range.end)..end
        };
        let close = object.range.end - 1;
        let has_comment = before.is_some_and(|it| it.range.start > object.range.start)
            || self
                .before(close)
                .is_some_and(|it| it.range.start >= range.end);
        let range = if object.properties.len() == 1 && !has_comment {
            // `{` and `}` close up again.
            range.start..close
        } else {
            range
        };
        let earlier = self.comma_before(own.start).filter(|_| comma.is_none());
        let earlier = earlier.map(|comma| (comma.range.start..comma.range.end, String::new()));
        self.spliced(earlier.into_iter().chain([(range, String::new())]))
    }

    /// The token that ends at or before a position.
    fn before(&self, place: usize) -> Option<&TokenAndRange<'t>> {
        let after = self.tokens.partition_point(|it| it.range.end <= place);
        self.tokens.get(after.checked_sub(1)?)
    }

    /// The tokens that begin at or after a position.
    fn after(&self, place: usize) -> &[TokenAndRange<'t>] {
        let first = self.tokens.partition_point(|it| it.range.start < place);
        self.tokens.get(first..).unwrap_or_default()
    }

    /// The comma that follows a position, if there is one.
    fn comma_after(&self, place: usize) -> Option<&TokenAndRange<'t>> {
        let mut meaningful = self.after(place).iter().filter(|it| !is_comment(&it.token));
        meaningful.next().filter(|it| it.token == Token::Comma)
    }

    /// The comma before a position, if there is one.
    fn comma_before(&self, place: usize) -> Option<&TokenAndRange<'t>> {
        let after = self.tokens.partition_point(|it| it.range.end <= place);
        let earlier = self.tokens.get(..after).unwrap_or_default().iter().rev();
        let mut meaningful = earlier.filter(|it| !is_comment(&it.token));
        meaningful.next().filter(|it| it.token == Token::Comma)
    }

    /// The last comment directly inside an object that has no properties.
    fn last_comment(&self, object: &Object<'t>) -> Option<&TokenAndRange<'t>> {
        let inside = self.before(object.range.end - 1)?;
        is_comment(&inside.token).then_some(inside)
    }

    /// The indentation of a position's line.
    fn line_indent(&self, place: usize) -> &'t str {
        let start = self.text[..place].rfind('\n').map_or(0, |at| at + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Whether only whitespace precedes a position in its line, and the line is not the first.
    fn begins_line(&self, place: usize) -> bool {
        let before = self.text[..place].trim_end_matches([' ', '\t']);
        before.ends_with('\n')
    }

    /// Whether the rest of a position's line is whitespace.
    fn ends_line(&self, place: usize) -> bool {
        let rest = self.text[place..].split('\n').next();
        rest.unwrap_or_default().trim().is_empty()
    }

    /// The file's formatting.
    fn style(&self, is_inline: bool) -> JsoncStyle<'t> {
        let root = self.root.as_ref();
        let outer = root.map_or("", |root| self.line_indent(root.range.start));
        let first = root.and_then(|root| root.properties.first());
        let step = first
            .filter(|first| self.begins_line(first.range.start))
            .and_then(|first| self.line_indent(first.range.start).strip_prefix(outer))
            .filter(|step| !step.is_empty());
        let has = |text: &str| self.text.contains(text);
        JsoncStyle {
            newline: if has("\r\n") { "\r\n" } else { "\n" },
            unit: step.unwrap_or(if has("\n\t") { "\t" } else { "  " }),
            is_inline,
            space: if is_inline && !has("\": ") { "" } else { " " },
        }
    }
}

/// The formatting of a file.
struct JsoncStyle<'t> {
    newline: &'static str,
    /// One step of indentation.
    unit: &'t str,
    /// Everything on one line.
    is_inline: bool,
    /// The separator after a comma or a colon there.
    space: &'static str,
}

impl JsoncStyle<'_> {
    fn write_property(&self, key: &str, node: &ConfigNode, indent: &str, out: &mut String) {
        *out += &quoted(key);
        out.push(':');
        *out += self.space;
        self.write(node, indent, out);
    }

    fn write(&self, node: &ConfigNode, indent: &str, out: &mut String) {
        match node {
            ConfigNode::Text(text) => *out += &quoted(text),
            ConfigNode::Flag(flag) => *out += if *flag { "true" } else { "false" },
            ConfigNode::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                out.push('[');
                *out += &items.join(&format!(",{}", self.space));
                out.push(']');
            }
            ConfigNode::Table(properties) => self.write_table(properties, indent, out),
        }
    }

    fn write_table(&self, properties: &[(String, ConfigNode)], indent: &str, out: &mut String) {
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

/// Clients that read a key twice use the last one.
fn property<'o, 't>(object: &'o Object<'t>, key: &str) -> Option<&'o ObjectProp<'t>> {
    let mut named = object.properties.iter().rev();
    named.find(|property| property.name.as_str() == key)
}

fn is_comment(token: &Token<'_>) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}
