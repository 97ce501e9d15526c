//! `read_resource`: a resource by its URI, for clients that have tools only.

use twig_core::store::{ItemKind, LabelName, StoreName, VersionChoice, VersionQuery};
use twig_core::{BodyError, DocumentRef, suggest};

use super::content_part::ContentPart;
use super::given::ToolArguments;
use super::versions::{first, read_version};
use super::{ToolAnswer, reply};
use crate::call::{Call, CallOutcome};
use crate::error::Refusal;
use crate::json::Object;
use crate::resources;
use crate::schema;

/// Reads the resource, or asks the store for an earlier version of it.
pub(super) fn call(
    call: &Call<'_>,
    given: &ToolArguments<'_>,
    result: &mut Object<'_>,
) -> ToolAnswer {
    let uri = given.text("uri");
    let found = resources::find(call, uri).map_err(|refusal| not_found(uri, &refusal))?;
    let cursor = given.maybe_text("cursor");
    let choice = match (given.number("version"), given.maybe_text("label")) {
        (Some(number), _) => Some(VersionChoice::Number(number)),
        (None, Some(label)) => {
            let label = LabelName::parse(label).map_err(|error| error.to_string())?;
            Some(VersionChoice::Label(label))
        }
        (None, None) => None,
    };
    if let Some(choice) = choice {
        return version(call, found, choice, cursor);
    }
    let world = call.world;
    let cache = world.templates.documents();
    let limit = call.server.limits.document;
    let contents = cache.read(world.bodies, found.library, found.document, limit);
    let contents = contents.map_err(|error| {
        let refusal = match error {
            // It was removed, and the next catalog will not have it.
            BodyError::NotFound => resources::not_found(call, uri),
            error => Refusal::Document {
                uri: uri.to_owned(),
                error,
            },
        };
        not_found(uri, &refusal)
    })?;
    let part = ContentPart::at(uri, &contents, cursor)?;
    let document = found.document;
    let version = schema::stored_document(found);
    reply::structured(
        |content| {
            content.text("uri", &document.uri);
            content.text("name", &document.name);
            content.text("mimeType", &document.mime);
            content.number("size", contents.len() as i128);
            if let Some(version) = version {
                content.number("version", version);
            }
            part.write(content);
        },
        result,
    );
    Ok(CallOutcome::Complete)
}

/// One version of a resource of the project.
fn version(
    call: &Call<'_>,
    found: DocumentRef<'_>,
    choice: VersionChoice,
    cursor: Option<&str>,
) -> ToolAnswer {
    let project = call.server.tools.project.clone();
    let project = project.filter(|_| found.document.stored().is_some());
    let name = StoreName::parse(ItemKind::Resource.noun(), &found.document.name);
    let (Some(project), Ok(name)) = (project, name) else {
        return Err(format!(
            "Resource '{}' is of a library, which keeps no versions: leave out `version` and `label`",
            found.document.uri
        ));
    };
    let query = VersionQuery {
        project,
        kind: ItemKind::Resource,
        name,
        before: None,
        most: 1,
        only: Some(choice),
    };
    Ok(read_version(
        query,
        cursor,
        first,
        |query, version, contents, content| {
            content.text("uri", version.uri.as_deref().unwrap_or_default());
            content.text("name", query.name.as_str());
            content.text("mimeType", version.mime.as_deref().unwrap_or_default());
            content.number("size", contents.len() as i128);
            content.number("version", version.number);
        },
    ))
}

/// The sentence for a resource that was not found, with similar URIs.
fn not_found(uri: &str, refusal: &Refusal) -> String {
    let near = match refusal {
        Refusal::Resource { suggestions, .. } => suggestions.as_slice(),
        _ => &[],
    };
    match suggest::did_you_mean(uri, near.iter().map(String::as_str)) {
        Some(hint) => format!("{refusal}; {hint}"),
        None => refusal.to_string(),
    }
}
