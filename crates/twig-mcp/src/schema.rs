//! Prompts, their arguments and documents as clients see them: list items, JSON Schemas, forms.

use twig_core::document::rfc3339;
use twig_core::store::version_of;
use twig_core::{Argument, Child, Dialect, DocumentRef, Kind, Prompt, TemplateRef};

use crate::json::{self, Object};

/// Where a listed prompt says that asking for it runs a program, and which file of its library.
pub(crate) const RUNS_KEY: &str = "twig/runs";

/// Where a project's prompt or resource says which version it is.
pub(crate) const STORED_KEY: &str = "twig/version";

/// The version of a project's prompt; `None` for all others.
pub(crate) fn stored_prompt(prompt: &Prompt) -> Option<u64> {
    let is_stored = prompt.dialect == Dialect::Verbatim;
    let message = prompt.messages.first().filter(|_| is_stored)?;
    version_of(message.content.file()?)
}

/// The version of a project's resource; `None` for all others.
pub(crate) fn stored_document(found: DocumentRef<'_>) -> Option<u64> {
    let is_stored = found.library.kind == Kind::Store;
    version_of(&found.document.path).filter(|_| is_stored)
}

/// Writes the members of an item of `resources/list`.
pub(crate) fn document(found: DocumentRef<'_>, item: &mut Object<'_>) {
    let document = found.document;
    item.text("uri", &document.uri);
    item.text("name", &document.name);
    item.maybe("title", document.title.as_deref());
    item.maybe("description", document.description.as_deref());
    item.text("mimeType", &document.mime);
    item.number("size", document.size);
    if let Some(modified) = document.modified.and_then(rfc3339) {
        item.object("annotations", |annotations| {
            annotations.text("lastModified", &modified);
        });
    }
    if let Some(version) = stored_document(found) {
        item.object("_meta", |meta| meta.number(STORED_KEY, version));
    }
}

/// What clients know a folder by.
const FOLDER_MIME: &str = "inode/directory";

/// Writes the members of an item of `resources/directory/read`.
pub(crate) fn child(child: Child<'_>, item: &mut Object<'_>) {
    match child {
        Child::Document(found) => document(found, item),
        Child::Folder(uri) => {
            item.text("uri", uri);
            item.text("name", &child.name());
            item.text("mimeType", FOLDER_MIME);
        }
    }
}

/// Writes the members of an item of `resources/templates/list`.
pub(crate) fn template(found: TemplateRef<'_>, item: &mut Object<'_>) {
    let template = found.template;
    let source = template.as_str();
    item.text("uriTemplate", source);
    let name = source.split_once("://").map_or(source, |(_, name)| name);
    item.text("name", name);
    let title = found.library.about.title.as_deref();
    let title = title.unwrap_or(found.library.name.as_str());
    item.text("title", &format!("Documents of {title}"));
    let variables: Vec<&str> = template.variables().collect();
    let description = format!("A document by its {}", variables.join(" and "));
    item.text("description", &description);
    let documents = found.library.documents.iter();
    let mut fitting = documents.filter(|known| template.values(&known.uri).is_some());
    if let Some(first) = fitting.next()
        && fitting.all(|other| other.mime == first.mime)
    {
        item.text("mimeType", &first.mime);
    }
}

/// Writes the members of an item of `prompts/list`.
pub(crate) fn prompt(prompt: &Prompt, item: &mut Object<'_>) {
    item.text("name", &prompt.full_name);
    item.maybe("title", prompt.title.as_deref());
    item.maybe("description", prompt.description.as_deref());
    arguments(&prompt.arguments, item);
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
    if let Some(version) = stored_prompt(prompt) {
        item.object("_meta", |meta| meta.number(STORED_KEY, version));
    }
}

/// Writes the member that lists a prompt's arguments.
pub(crate) fn arguments(arguments: &[Argument], item: &mut Object<'_>) {
    item.list("arguments", arguments, |buffer, argument| {
        json::object(buffer, |entry| {
            entry.text("name", &argument.name);
            entry.maybe("description", argument.description.as_deref());
            entry.flag("required", is_required(argument));
        });
    });
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
pub(crate) fn is_required(argument: &Argument) -> bool {
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
