//! What a dotprompt file says of its input: Picoschema, or JSON Schema.

use super::node::{Fields, Node};
use crate::model::Argument;

/// How deep objects may nest.
const DEPTH: usize = 8;

/// The inputs, fields of objects as `object.field`.
pub(super) fn inputs(schema: &Node) -> Vec<(String, Argument)> {
    let mut found = Vec::new();
    if let Some(fields) = schema.as_map() {
        let is_json =
            fields.get("properties").is_some() || fields.text("type").as_deref() == Some("object");
        if is_json {
            json_schema("", fields, 0, &mut found);
        } else {
            picoschema("", fields, 0, true, &mut found);
        }
    }
    found
}

fn picoschema(
    prefix: &str,
    fields: &Fields,
    depth: usize,
    is_needed: bool,
    found: &mut Vec<(String, Argument)>,
) {
    if depth > DEPTH {
        return;
    }
    for (key, value) in &fields.0 {
        let (name, in_brackets) = match key.split_once('(') {
            Some((name, rest)) => (name, rest.trim_end_matches(')')),
            None => (key.as_str(), ""),
        };
        let name = name.trim();
        let (name, is_optional) = match name.strip_suffix('?') {
            Some(name) => (name, true),
            None => (name, false),
        };
        if name.is_empty() || name == "*" {
            continue;
        }
        let path = format!("{prefix}{name}");
        let required = is_needed && !is_optional;
        let (kind, about) = match in_brackets.split_once(',') {
            Some((kind, about)) => (kind.trim(), Some(about.trim())),
            None => (in_brackets.trim(), None),
        };
        let mut argument = Argument {
            required,
            description: about.map(Into::into),
            ..Argument::default()
        };
        match value {
            Node::Map(inner) if kind != "array" => {
                picoschema(&format!("{path}."), inner, depth + 1, required, found);
            }
            Node::List(items) if kind == "enum" => {
                let choices = items.iter().filter_map(Node::scalar);
                argument.choices = choices.map(Into::into).collect();
            }
            value => {
                let text = value.scalar().unwrap_or_default();
                let about = text.split_once(',').map(|(_, about)| about.trim().into());
                argument.description = argument.description.or(about);
            }
        }
        found.push((path, argument));
    }
}

fn json_schema(prefix: &str, schema: &Fields, depth: usize, found: &mut Vec<(String, Argument)>) {
    let properties = schema.get("properties").and_then(Node::as_map);
    let Some(properties) = properties.filter(|_| depth <= DEPTH) else {
        return;
    };
    let required = schema.get("required").and_then(Node::as_list);
    let required: Vec<String> = required
        .unwrap_or_default()
        .iter()
        .filter_map(Node::scalar)
        .collect();
    for (name, property) in &properties.0 {
        let path = format!("{prefix}{name}");
        let Some(property) = property.as_map() else {
            found.push((path, Argument::default()));
            continue;
        };
        let choices = property.get("enum").and_then(Node::as_list);
        let choices = choices.unwrap_or_default().iter().filter_map(Node::scalar);
        let argument = Argument {
            required: required.contains(name),
            description: property.text("description").map(Into::into),
            default: property.get("default").map(|node| node.to_text().into()),
            choices: choices.map(Into::into).collect(),
            ..Argument::default()
        };
        if property.get("properties").is_some() {
            json_schema(&format!("{path}."), property, depth + 1, found);
        }
        found.push((path, argument));
    }
}
