//! The input schema of a dotprompt file: Picoschema, or JSON Schema.

use twig_core::argument::Argument;
use twig_core::front_matter::FrontMatterValue;

/// How deep objects may nest.
const DEPTH: usize = 8;

/// The inputs, fields of objects as `object.field`.
pub(super) fn inputs(schema: &FrontMatterValue) -> Vec<(String, Argument)> {
    let mut found = Vec::new();
    let is_json =
        schema.get("properties").is_some() || schema.word_at("type").as_deref() == Some("object");
    if is_json {
        json_schema("", schema, 0, &mut found);
    } else {
        picoschema("", schema, 0, true, &mut found);
    }
    found
}

fn picoschema(
    prefix: &str,
    schema: &FrontMatterValue,
    depth: usize,
    is_needed: bool,
    found: &mut Vec<(String, Argument)>,
) {
    let entries = schema.entries().filter(|_| depth <= DEPTH);
    for (key, value) in entries.unwrap_or_default() {
        let (name, in_brackets) = match key.split_once('(') {
            Some((name, rest)) => (name, rest.trim_end_matches(')')),
            None => (&**key, ""),
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
            FrontMatterValue::Map(_) if kind != "array" => {
                picoschema(&format!("{path}."), value, depth + 1, required, found);
            }
            FrontMatterValue::List(items) if kind == "enum" => {
                let choices = items.iter().filter_map(FrontMatterValue::word);
                argument.choices = choices.map(Into::into).collect();
            }
            value => {
                let text = value.word().unwrap_or_default();
                let about = text.split_once(',').map(|(_, about)| about.trim().into());
                argument.description = argument.description.or(about);
            }
        }
        found.push((path, argument));
    }
}

fn json_schema(
    prefix: &str,
    schema: &FrontMatterValue,
    depth: usize,
    found: &mut Vec<(String, Argument)>,
) {
    let properties = schema.get("properties").and_then(FrontMatterValue::entries);
    let Some(properties) = properties.filter(|_| depth <= DEPTH) else {
        return;
    };
    let required = schema
        .get("required")
        .map(FrontMatterValue::items)
        .unwrap_or_default();
    let required: Vec<String> = required.iter().filter_map(FrontMatterValue::word).collect();
    for (name, property) in properties {
        let path = format!("{prefix}{name}");
        let choices = property
            .get("enum")
            .map(FrontMatterValue::items)
            .unwrap_or_default();
        let choices = choices.iter().filter_map(FrontMatterValue::word);
        let argument = Argument {
            required: required.iter().any(|needed| **needed == **name),
            description: property.word_at("description").map(Into::into),
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
