//! Notes the commands and files that the client of a file would put in, and Twig does not.

use std::sync::Arc;

use crate::model::{Content, Library, Prompt, ShellLines};
use crate::problem::{Problem, ProblemCode, Severity, shorten};
use crate::shell_lines::{ShellLineKind, shell_lines};
use crate::spoken;
use crate::world::World;

/// Characters of a command or path that are shown.
const SHOWN: usize = 60;

/// One note for each file, at the first of them.
pub(super) fn prompt(
    world: World<'_>,
    library: &Arc<Library>,
    prompt: &Prompt,
    problems: &mut Vec<Problem>,
) {
    if library.shell_lines == ShellLines::Instruct {
        return;
    }
    for message in &prompt.messages {
        let Content::File(file) = &message.content else {
            continue;
        };
        let Ok(body) = world.bodies.read(library, file) else {
            continue;
        };
        let text = &*body.text;
        for spoken in spoken::bodies(library.kind, text).unwrap_or_default() {
            let found = shell_lines(library.kind, &spoken.text);
            let Some(first) = found.first() else { continue };
            let shown = shorten(first.text, SHOWN);
            let what = match first.what {
                ShellLineKind::Command => format!("the output of `{shown}`"),
                ShellLineKind::File => format!("the file `{shown}`"),
                ShellLineKind::EditorValue => format!("`{shown}` of the editor"),
            };
            let more = match found.len() {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let message =
                format!("the client of this file puts in {what}{more}; Twig serves that as text");
            let path = library.path_of(file);
            // The text of a Markdown file is the end of the file.
            let problem = match text.strip_suffix(&*spoken.text) {
                Some(before) => {
                    let range = before.len() + first.range.start..before.len() + first.range.end;
                    let (code, severity) = (ProblemCode::ShellLine, Severity::Note);
                    Problem::at(code, severity, &path, text, range, message)
                }
                None => Problem::of_file(ProblemCode::ShellLine, Severity::Note, &path, message),
            };
            problems.push(problem.with_help(
                "set `shell_lines = \"instruct\"` for the library to have the model do it",
            ));
            break;
        }
    }
}
