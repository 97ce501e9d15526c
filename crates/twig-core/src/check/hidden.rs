//! Checks texts for hidden characters. Such texts are served, since the author may have meant them,
//! but a check reports them.

use std::sync::Arc;

use crate::hidden::{HiddenCharacter, TextPlace, find};
use crate::model::{Content, Dialect, Library, Prompt};
use crate::name::RelativePath;
use crate::parse::labels::place;
use crate::problem::{Problem, ProblemCode, Severity};
use crate::world::World;

/// Checks the texts of a prompt; Jinja templates are checked with everything they include.
pub(super) fn prompt(
    world: World<'_>,
    library: &Arc<Library>,
    prompt: &Prompt,
    problems: &mut Vec<Problem>,
) {
    for message in &prompt.messages {
        let problem = match (prompt.dialect, &message.content) {
            (Dialect::Input | Dialect::Marks(_) | Dialect::Verbatim, Content::File(file)) => {
                let body = world.bodies.read(library, file);
                body.ok()
                    .and_then(|body| in_file(library, file, &body.text))
            }
            (_, Content::Braces { text, file }) => {
                let text = text.as_str();
                find(text, TextPlace::Body).map(|found| {
                    let body = world.bodies.read(library, file);
                    let whole = body.map(|body| body.text).unwrap_or_default();
                    problem(library, file, &whole, text, found)
                })
            }
            _ => None,
        };
        problems.extend(problem);
    }
}

/// Checks the documents of a library; stored ones were checked when they were written.
pub(super) fn documents(world: World<'_>, library: &Arc<Library>, problems: &mut Vec<Problem>) {
    let limit = world.templates.limits().document;
    for document in library.documents.iter().filter(|known| known.is_text) {
        let Some(path) = document.file() else {
            continue;
        };
        let read = world.bodies.bytes(library, path, limit);
        let text = read
            .ok()
            .and_then(|read| String::from_utf8(read.bytes).ok());
        problems.extend(text.and_then(|text| in_file(library, path, &text)));
    }
}

fn in_file(library: &Library, file: &RelativePath, text: &str) -> Option<Problem> {
    find(text, TextPlace::Body).map(|found| problem(library, file, text, text, found))
}

/// The problem of a text that was read from a file.
fn problem(
    library: &Library,
    file: &RelativePath,
    whole: &str,
    text: &str,
    found: HiddenCharacter,
) -> Problem {
    let path = library.path_of(file);
    let message = format!("the text {}", found.fault());
    let problem = match place(whole, text, found) {
        Some(range) => Problem::at(
            ProblemCode::HiddenText,
            Severity::Warning,
            &path,
            whole,
            range,
            message,
        ),
        None => Problem::of_file(ProblemCode::HiddenText, Severity::Warning, &path, message),
    };
    problem.with_help(found.advice())
}
