//! Prompts and their arguments as clients see them: list items, JSON Schemas, forms.

use twig_core::{Argument, Prompt};

use crate::json::{self, Object};

/// Where a listed prompt says that asking for it runs a program, and which file of its library.
pub(crate) const RUNS_KEY: &str = "twig/runs";

/// Writes the members of an item of `prompts/list`.
pub(crate) fn prompt(prompt: &Prompt, item: &mut Object<'_>) {
    item.text("name", &prompt.full_name);
    item.maybe("title", prompt.title.as_deref());
    item.maybe("description", prompt.description.as_deref());
    item.list("arguments", &prompt.arguments, |buffer, argument| {
        json::object(buffer, |entry| {
            entry.text("name", &argument.name);
            entry.maybe("description", argument.description.as_deref());
            let required = if is_required(argument) {
                "true"
            } else {
                "false"
            };
            entry.raw("required", required);
        });
    });
    item.object("inputSchema", |schema| {
        schema.text("type", "object");
        properties(&prompt.arguments, schema, |argument, property| {
            property.maybe("default", argument.default.as_deref());
            if !argument.choices.is_empty() {
                property.texts("enum", &argument.choices);
            }
            if let Some(limit) = argument.max_length {
                property.number("maxLength", limit);
            }
            let pattern = argument.pattern.as_ref();
            property.maybe("pattern", pattern.map(twig_core::model::Pattern::as_str));
        });
    });
    if let Some(function) = prompt.function() {
        item.object("_meta", |meta| {
            meta.text(RUNS_KEY, function.file().as_str());
        });
    }
}

/// Writes the members of a form that asks for these arguments.
///
/// Clients know fewer words here than in a JSON Schema: no pattern, and no length beside choices.
pub(crate) fn form(arguments: &[Argument], schema: &mut Object<'_>) {
    schema.text("type", "object");
    properties(arguments, schema, |argument, property| {
        property.maybe("default", argument.default.as_deref());
        if !argument.choices.is_empty() {
            property.texts("enum", &argument.choices);
        } else if let Some(limit) = argument.max_length {
            property.number("maxLength", limit);
        }
    });
}

/// A default is a value: whoever has one need not be given another.
fn is_required(argument: &Argument) -> bool {
    argument.required && argument.default.is_none()
}

fn properties(
    arguments: &[Argument],
    schema: &mut Object<'_>,
    mut rest: impl FnMut(&Argument, &mut Object<'_>),
) {
    schema.object("properties", |properties| {
        for argument in arguments {
            json::object(properties.any_key(&argument.name), |property| {
                property.text("type", "string");
                property.maybe("description", argument.description.as_deref());
                rest(argument, property);
            });
        }
    });
    let mut required = arguments.iter().filter(|a| is_required(a)).peekable();
    if required.peek().is_some() {
        schema.texts("required", required.map(|argument| &*argument.name));
    }
}
