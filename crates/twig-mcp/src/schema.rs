//! Prompts, their arguments and documents as clients see them: list items, JSON Schemas, forms.

use std::fmt::Write as _;
use std::sync::Arc;

use twig_core::document::rfc3339;
use twig_core::{
    Argument, Child, Contents, Document, DocumentRef, LibraryPackage, PromptRef, Skill, SkillFile,
    TemplateRef,
};

use crate::era::{Era, SERVER_INFO_KEY};
use crate::json::{self, Object};

/// The key that marks a prompt that runs a program; its value names the file in its library.
pub(crate) const RUNS_KEY: &str = "twig/runs";

/// The key of the version of a project's prompt or resource.
pub(crate) const STORED_KEY: &str = "twig/version";

/// The key of the package that a prompt comes from.
const PACKAGE_KEY: &str = "twig/package";

/// Where the content of a result comes from, as far as its metadata says so.
#[derive(Debug, Clone, Default)]
pub(crate) enum ResultOrigin {
    /// Nothing to say.
    #[default]
    Plain,
    /// This version of a project's prompt or resource.
    Stored(u64),
    /// A package.
    Packaged(Arc<LibraryPackage>),
}

impl ResultOrigin {
    /// The origin of a prompt.
    pub(crate) fn of_prompt(found: PromptRef<'_>) -> Self {
        match (stored_prompt(found), &found.library.package) {
            (Some(version), _) => Self::Stored(version),
            (None, Some(package)) => Self::Packaged(Arc::clone(package)),
            (None, None) => Self::Plain,
        }
    }
}

impl From<Option<u64>> for ResultOrigin {
    fn from(version: Option<u64>) -> Self {
        version.map_or(Self::Plain, Self::Stored)
    }
}

/// Writes which package something comes from: its name, its source and its version. A source on this
/// machine is a path, which is left out.
pub(crate) fn package(key: &'static str, package: &LibraryPackage, item: &mut Object<'_>) {
    item.object(key, |item| {
        item.text("name", package.name.as_str());
        let is_local = package.source.starts_with("git+file:");
        item.maybe("source", Some(&*package.source).filter(|_| !is_local));
        item.text("version", &package.version());
    });
}

/// The version of a project's prompt; `None` for all others.
pub(crate) fn stored_prompt(found: PromptRef<'_>) -> Option<u64> {
    let message = found.prompt.messages.first()?;
    message.content.stored().map(|version| version.number)
}

/// The version of a project's resource; `None` for all others.
pub(crate) fn stored_document(found: DocumentRef<'_>) -> Option<u64> {
    found.document.stored().map(|version| version.number)
}

/// Writes the members of an item of `resources/list`.
pub(crate) fn document(found: DocumentRef<'_>, item: &mut Object<'_>) {
    let document = found.document;
    about_document(document, item);
    if let Some(modified) = document.modified.and_then(rfc3339) {
        item.object("annotations", |annotations| {
            annotations.text("lastModified", &modified);
        });
    }
    if let Some(version) = stored_document(found) {
        item.object("_meta", |meta| meta.number(STORED_KEY, version));
    }
}

/// Writes what every list says about a document.
pub(crate) fn about_document(document: &Document, item: &mut Object<'_>) {
    item.text("uri", &document.uri);
    item.text("name", &document.name);
    item.maybe("title", document.title.as_deref());
    item.maybe("description", document.description.as_deref());
    item.text("mimeType", &document.mime);
    item.number("size", document.size);
}

/// The MIME type of a folder.
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

/// Writes the members of an item of `prompts/list`; people read the title beside a short name.
/// `required` is listed as a required argument, although it is not.
pub(crate) fn prompt(
    found: PromptRef<'_>,
    short_name: Option<&str>,
    required: Option<&Argument>,
    item: &mut Object<'_>,
) {
    let prompt = found.prompt;
    item.text("name", short_name.unwrap_or(&prompt.full_name));
    let own_name = short_name.map(|_| prompt.name.as_str());
    item.maybe("title", prompt.title.as_deref().or(own_name));
    item.maybe("description", prompt.description.as_deref());
    arguments(&prompt.arguments, required, item);
    item.object("inputSchema", |schema| {
        schema.text("type", "object");
        properties(&prompt.arguments, required, schema, |argument, property| {
            property.maybe("default", argument.default.as_deref());
            if !argument.choices.is_empty() {
                property.texts("enum", &argument.choices);
            }
            if let Some(limit) = argument.max_length {
                property.number("maxLength", limit);
            }
            let pattern = argument.pattern.as_ref();
            property.maybe("pattern", pattern.map(twig_core::argument::Pattern::as_str));
        });
    });
    if let Some(function) = prompt.function() {
        item.object("_meta", |meta| {
            meta.text(RUNS_KEY, function.file().as_str());
        });
    }
    if let Some(version) = stored_prompt(found) {
        item.object("_meta", |meta| meta.number(STORED_KEY, version));
    }
}

/// Writes the member that lists a prompt's arguments.
fn arguments(arguments: &[Argument], required: Option<&Argument>, item: &mut Object<'_>) {
    item.list("arguments", arguments, |buffer, argument| {
        json::object(buffer, |entry| {
            entry.text("name", &argument.name);
            entry.maybe("description", argument.description.as_deref());
            entry.flag("required", is_listed_as_required(argument, required));
        });
    });
}

/// Writes the members of a form that asks for these arguments.
///
/// Forms support less than JSON Schema: no pattern, and no length beside choices.
pub(crate) fn form(arguments: &[Argument], schema: &mut Object<'_>) {
    schema.text("type", "object");
    properties(arguments, None, schema, |argument, property| {
        property.maybe("default", argument.default.as_deref());
        if !argument.choices.is_empty() {
            property.texts("enum", &argument.choices);
        } else if let Some(limit) = argument.max_length {
            property.number("maxLength", limit);
        }
    });
}

/// A default is a value: an argument with a default is not required.
pub(crate) fn is_required(argument: &Argument) -> bool {
    argument.required && argument.default.is_none()
}

/// The first argument, if none is required.
pub(crate) fn first_optional(arguments: &[Argument]) -> Option<&Argument> {
    let first = arguments.first()?;
    (!arguments.iter().any(is_required)).then_some(first)
}

fn is_listed_as_required(argument: &Argument, required: Option<&Argument>) -> bool {
    is_required(argument) || required.is_some_and(|it| it.name == argument.name)
}

fn properties(
    arguments: &[Argument],
    also_required: Option<&Argument>,
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
    let required = arguments.iter();
    let required = required.filter(|it| is_listed_as_required(it, also_required));
    let mut required = required.peekable();
    if required.peek().is_some() {
        schema.texts("required", required.map(|argument| &*argument.name));
    }
}

/// Writes the members of a document's contents.
pub(crate) fn contents(uri: &str, mime: &str, contents: &Contents, item: &mut Object<'_>) {
    about_contents(uri, mime, item);
    match contents {
        Contents::Text(text) => item.text("text", text),
        Contents::Bytes(bytes) => item.base64("blob", bytes),
    }
}

/// The same without the contents.
pub(crate) fn about_contents(uri: &str, mime: &str, item: &mut Object<'_>) {
    item.text("uri", uri);
    item.text("mimeType", mime);
}

/// Writes the members of a skill's entry.
pub(crate) fn skill(skill: &Skill, item: &mut Object<'_>) {
    item.text("uri", &skill.uri);
    item.raw("frontmatter", &skill.front_matter);
    if skill.is_unlisted {
        item.text("resources", "dynamic");
        return;
    }
    item.list("resources", &skill.files, |buffer, file| {
        json::object(buffer, |entry| {
            entry.text("uri", &file.uri);
            entry.text("digest", &digest(file));
            entry.number("size", file.size);
        });
    });
}

/// A file's digest in the form that clients compare.
fn digest(file: &SkillFile) -> String {
    let mut digest = String::with_capacity(7 + 64);
    digest.push_str("sha256:");
    for byte in file.digest {
        // Writing to a `String` cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// Writes what every result of an era ends with.
///
/// Stored content comes with its version, for a client that wants to change exactly that version;
/// a package's with the package.
pub(crate) fn seal(
    era: Era,
    info: &str,
    result_type: &str,
    origin: &ResultOrigin,
    result: &mut Object<'_>,
) {
    if era == Era::Modern {
        result.text("resultType", result_type);
    }
    if era == Era::Modern || !matches!(origin, ResultOrigin::Plain) {
        result.object("_meta", |meta| {
            match origin {
                ResultOrigin::Plain => {}
                ResultOrigin::Stored(version) => meta.number(STORED_KEY, *version),
                ResultOrigin::Packaged(it) => package(PACKAGE_KEY, it, meta),
            }
            if era == Era::Modern {
                meta.raw(SERVER_INFO_KEY, info);
            }
        });
    }
}
