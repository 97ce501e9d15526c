//! `get_prompt` and `history`: what the project keeps of a prompt or resource.

use twig_core::Contents;
use twig_core::store::{
    ItemKind, Operation, StoreName, Version, VersionChoice, VersionQuery, split_label,
};

use super::content_part::ContentPart;
use super::given::ToolArguments;
use super::{ToolAnswer, kind, reply, sentence};
use crate::call::{Call, CallOutcome};
use crate::in_flight::{FoundVersions, PendingJob, VersionsRequest};
use crate::json::{self, Object};

/// Versions on one page.
const PAGE: usize = 50;

/// The text of a prompt of the project as it was written, with its version.
pub(super) fn get_prompt(call: &Call<'_>, given: &ToolArguments<'_>) -> ToolAnswer {
    let mut query = query(call, ItemKind::Prompt, given)?;
    if let Some(number) = given.number("version") {
        query.only = Some(VersionChoice::Number(number));
    }
    let cursor = given.maybe_text("cursor");
    Ok(read_version(
        query,
        cursor,
        |query, found| match query.only {
            Some(_) => first(query, found),
            None => last_version(query, found),
        },
        |query, version, _, content| {
            content.text("project", query.project.as_str());
            content.text("name", query.name.as_str());
            content.maybe("description", version.description.as_deref());
            about(version, content);
        },
    ))
}

/// Asks the store for one version, and answers with what `describe` writes and a part of its
/// content.
pub(super) fn read_version(
    query: VersionQuery,
    cursor: Option<&str>,
    choose: impl FnOnce(&VersionQuery, FoundVersions) -> Result<(Version, Contents), String>
    + Send
    + 'static,
    describe: impl FnOnce(&VersionQuery, &Version, &Contents, &mut Object<'_>) + Send + 'static,
) -> CallOutcome {
    let request = VersionsRequest {
        query: query.clone(),
        wants_content: true,
        wants_labels: false,
    };
    let cursor = cursor.map(str::to_owned);
    let job = PendingJob::versions(request, move |outcome, result| {
        let read = outcome.map_err(|error| sentence(&error));
        let read = read.and_then(|found| choose(&query, found));
        let read = read.and_then(|(version, contents)| {
            let (kind, name) = (query.kind.as_str(), &query.name);
            let key = format!("{kind} {name} {}", version.number);
            let part = ContentPart::at(&key, &contents, cursor.as_deref())?;
            reply::structured(
                |content| {
                    describe(&query, &version, &contents, content);
                    part.write(content);
                },
                result,
            );
            Ok(())
        });
        if let Err(sentence) = read {
            reply::failed(&sentence, result);
        }
    });
    CallOutcome::Job(Box::new(job))
}

/// The versions of a prompt or resource, newest first.
pub(super) fn history(call: &Call<'_>, given: &ToolArguments<'_>) -> ToolAnswer {
    // Versions never change, so the cursor is the number of the last version that was listed.
    let cursor = given.maybe_text("cursor").map(str::parse::<u64>);
    let before = cursor.transpose();
    let before = before.map_err(|_| "The cursor is not valid: list again from the start")?;
    let query = VersionQuery {
        before,
        // One more says whether there is another page.
        most: PAGE + 1,
        ..query(call, kind(given), given)?
    };
    let request = VersionsRequest {
        query: query.clone(),
        wants_content: false,
        wants_labels: true,
    };
    let job = PendingJob::versions(request, move |outcome, result| match outcome {
        Ok(found) => reply::structured(|content| list(&query, &found, content), result),
        Err(error) => reply::failed(&sentence(&error), result),
    });
    Ok(CallOutcome::Job(Box::new(job)))
}

fn query(
    call: &Call<'_>,
    kind: ItemKind,
    given: &ToolArguments<'_>,
) -> Result<VersionQuery, String> {
    let project = call.server.tools.project.clone();
    // No name has an `@`, so what follows it is a label or a number.
    let (name, choice) = match split_label(given.text("name")) {
        Some((name, choice)) => (name, Some(VersionChoice::parse(choice))),
        None => (given.text("name"), None),
    };
    let name = StoreName::parse(kind.noun(), name);
    let only = choice.transpose().map_err(|error| error.to_string())?;
    Ok(VersionQuery {
        project: project.ok_or("No project is selected")?,
        kind,
        name: name.map_err(|error| error.to_string())?,
        before: None,
        most: 1,
        only,
    })
}

fn list(query: &VersionQuery, found: &FoundVersions, content: &mut Object<'_>) {
    let FoundVersions {
        versions, labels, ..
    } = found;
    let (page, more) = versions.split_at(versions.len().min(PAGE));
    content.text("project", query.project.as_str());
    content.text("kind", query.kind.as_str());
    content.text("name", query.name.as_str());
    content.list("versions", page, |buffer, version| {
        json::object(buffer, |item| {
            about(version, item);
            item.maybe("description", version.description.as_deref());
            item.maybe("uri", version.uri.as_deref());
            item.maybe("mimeType", version.mime.as_deref());
            item.number("size", version.content.size);
            let labels = labels
                .iter()
                .filter(|(_, number)| *number == version.number);
            let labels: Vec<&str> = labels.map(|(label, _)| label.as_str()).collect();
            if !labels.is_empty() {
                item.texts("labels", labels);
            }
        });
    });
    if let (Some(last), false) = (page.last(), more.is_empty()) {
        content.text("nextCursor", &last.number.to_string());
    }
}

/// Writes which version it is, who made it, when and how.
fn about(version: &Version, item: &mut Object<'_>) {
    item.number("version", version.number);
    item.text("operation", version.operation.as_str());
    if let Operation::Restore { from } = version.operation {
        item.number("from", from);
    }
    item.text("time", &version.at.to_string());
    item.text("author", &version.author);
}

/// The current version, which has to exist.
fn last_version(query: &VersionQuery, found: FoundVersions) -> Result<(Version, Contents), String> {
    let (version, contents) = first(query, found)?;
    if version.operation == Operation::Delete {
        let (noun, name, project) = (query.kind.noun(), &query.name, &query.project);
        return Err(format!(
            "{noun} '{name}' was deleted from project '{project}': `restore` brings it back"
        ));
    }
    Ok((version, contents))
}

/// The version that was found.
pub(super) fn first(
    query: &VersionQuery,
    found: FoundVersions,
) -> Result<(Version, Contents), String> {
    let FoundVersions {
        versions, content, ..
    } = found;
    let (Some(version), Some(content)) = (versions.into_iter().next(), content) else {
        let (noun, name) = (query.kind.noun(), &query.name);
        return Err(format!(
            "{noun} '{name}' has no such version any more: `history` lists those that are kept"
        ));
    };
    let contents = if version.content.is_text {
        Contents::exactly(content)
    } else {
        Contents::Bytes(content)
    };
    Ok((version, contents))
}
