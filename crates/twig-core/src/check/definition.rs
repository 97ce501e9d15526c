//! Checks what prompts embed and use: documents that do not exist, arguments that are never
//! printed.

use std::sync::Arc;

use crate::argument::Argument;
use crate::braces::UriPattern;
use crate::limits::PROBLEMS;
use crate::model::{Content, Library, Prompt};
use crate::name::RelativePath;
use crate::problem::{Problem, ProblemCode, Severity, locate};
use crate::render::{Embedding, NOTHING_GIVEN, RenderError, media};
use crate::suggest;
use crate::world::World;

/// Checks the documents of a prompt, as rendering does. Those whose URI depends on an argument
/// cannot be known beforehand.
pub(super) fn documents(
    world: World<'_>,
    library: &Arc<Library>,
    prompt: &Prompt,
    problems: &mut Vec<Problem>,
) {
    let mut embedding = Embedding::new(world);
    for message in &prompt.messages {
        let Some(file) = message.content.file() else {
            continue;
        };
        let mut look = |pattern: &UriPattern, result: Result<(), RenderError>| {
            let Err(error) = result else { return true };
            let is_limit = matches!(error, RenderError::Limit(_));
            problems.push(problem(world, pattern, &error, &library.path_of(file)));
            place(world, library, file, pattern, problems);
            // Further documents would only repeat the report.
            !is_limit
        };
        let goes_on = match &message.content {
            Content::Braces { text, .. } => text
                .patterns()
                .filter(|uri| uri.is_constant())
                .all(|uri| look(uri, embedding.texts(uri, NOTHING_GIVEN, |_| {}))),
            Content::Document { uri, is_link, .. } if uri.is_constant() => {
                let block = embedding.block(uri, *is_link, NOTHING_GIVEN);
                look(uri, block.map(drop))
            }
            _ => true,
        };
        if !goes_on {
            break;
        }
    }
}

/// Checks the documents that a template embeds.
pub(super) fn embedded<'u>(
    world: World<'_>,
    library: &Library,
    file: &RelativePath,
    uris: impl Iterator<Item = &'u UriPattern>,
    embedding: &mut Embedding<'_>,
    problems: &mut Vec<Problem>,
) {
    for uri in uris {
        if let Err(error) = embedding.texts(uri, NOTHING_GIVEN, |_| {}) {
            problems.push(problem(world, uri, &error, &library.path_of(file)));
            place(world, library, file, uri, problems);
        }
    }
}

/// Checks the rest of a prompt in the `{{name}}` dialect: its images and its arguments. Its texts
/// were parsed when it was loaded.
pub(super) fn prompt(
    world: World<'_>,
    library: &Arc<Library>,
    prompt: &Prompt,
    problems: &mut Vec<Problem>,
) {
    let mut media_room = world.templates.limits().media;
    for message in &prompt.messages {
        if let Err(error) = media(world, library, message, &mut media_room) {
            problems.push(super::media_problem(library, message, &error));
        }
    }
    let used: Vec<String> = prompt
        .arguments
        .iter()
        .enumerate()
        .filter(|(at, _)| prompt.messages.iter().any(|one| uses(&one.content, *at)))
        .map(|(_, argument)| argument.name.to_string())
        .collect();
    super::unused_arguments(library, prompt, &used, problems);
}

/// The arguments in the URI of a message.
pub(super) fn used_in_uri<'a>(
    content: &'a Content,
    arguments: &'a [Argument],
) -> impl Iterator<Item = &'a Argument> {
    let arguments = arguments.iter().enumerate();
    let used = arguments.filter(|(at, _)| uses(content, *at));
    used.map(|(_, argument)| argument)
}

fn uses(content: &Content, argument: usize) -> bool {
    match content {
        Content::Braces { text, .. } => text.uses(argument),
        Content::Document { uri, .. } => uri.uses(argument),
        _ => false,
    }
}

/// Adds the place of a URI to the last problem. For that the file is read again, so it is only done
/// for as many problems as people read.
fn place(
    world: World<'_>,
    library: &Library,
    file: &RelativePath,
    uri: &UriPattern,
    problems: &mut [Problem],
) {
    if problems.len() > PROBLEMS {
        return;
    }
    let body = world.bodies.read(library, file);
    let text = body.map(|body| body.text).unwrap_or_default();
    let uri = uri.as_str();
    let place = whole_uri(&text, uri).map(|at| locate(&text, at..at + uri.len()));
    if let (Some(problem), Some(place)) = (problems.last_mut(), place) {
        problem.place(place);
    }
}

/// Where a URI is in a text, and not only the beginning or the end of another one.
fn whole_uri(text: &str, uri: &str) -> Option<usize> {
    let goes_on = |next: char| next.is_alphanumeric() || "-._~/%:*?#&=+{".contains(next);
    let mut found = text.match_indices(uri).map(|(at, _)| at);
    found.find(|at| {
        let (before, after) = (&text[..*at], &text[at + uri.len()..]);
        !before.ends_with(|last: char| last.is_alphanumeric() || "-.+".contains(last))
            && !after.starts_with(goes_on)
    })
}

fn problem(world: World<'_>, uri: &UriPattern, error: &RenderError, path: &str) -> Problem {
    let (code, help) = match error {
        RenderError::MissingDocument { .. } => {
            let documents = world.catalog.documents(0);
            let near = suggest::did_you_mean(
                uri.as_str().trim_end_matches("/*"),
                documents.map(|found| &*found.document.uri),
            );
            let help = near.unwrap_or_else(|| "add the document, or fix the URI".to_owned());
            (ProblemCode::MissingDocument, help)
        }
        RenderError::Limit(_) => (
            ProblemCode::EmbeddedLimit,
            "name the documents that matter instead of whole folders".to_owned(),
        ),
        RenderError::Template { .. } => (
            ProblemCode::NotText,
            "send it in a message of its own: {\"type\": \"resource\", \"uri\": …}".to_owned(),
        ),
        _ => (
            ProblemCode::UnreadableFile,
            "check the document's file".to_owned(),
        ),
    };
    Problem::of_file(code, Severity::Error, path, error.to_string()).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::whole_uri;

    #[test]
    fn the_uri_itself_is_marked() {
        for (text, at) in [
            (r#""arch://ab", "arch://a""#, Some(14)),
            (r#""march://a", "arch://a""#, Some(14)),
            ("{{arch://a/b}} {{arch://a}}", Some(17)),
            ("arch://a", Some(0)),
            ("arch://ab", None),
        ] {
            assert_eq!(whole_uri(text, "arch://a"), at, "{text}");
        }
    }
}
