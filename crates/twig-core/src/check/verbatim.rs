//! Checks prompts that are no templates: whether their texts and images can be read.

use std::sync::Arc;

use super::media_problem;
use crate::model::{Content, Library, Prompt};
use crate::name::RelativePath;
use crate::parse::library::MANIFEST;
use crate::problem::{Problem, ProblemCode, Severity};
use crate::render::{RenderError, media, verbatim_text};
use crate::world::World;

/// Checks each message as rendering does.
pub(super) fn prompt(
    world: World<'_>,
    library: &Arc<Library>,
    prompt: &Prompt,
    problems: &mut Vec<Problem>,
) {
    let mut media_room = world.templates.limits().media;
    for message in &prompt.messages {
        // Stored content was checked when it was written.
        if message.content.stored().is_some() {
            continue;
        }
        match media(world, library, message, &mut media_room) {
            Ok(Some(_)) => continue,
            Ok(None) if matches!(message.content, Content::Document { .. }) => continue,
            Ok(None) => {}
            Err(error) => {
                problems.push(media_problem(library, message, &error));
                continue;
            }
        }
        let file = message.content.file();
        let file = file.map_or(MANIFEST, RelativePath::as_str);
        let path = library.path_of(file);
        match verbatim_text(world, library, &message.content) {
            Ok(text) if text.trim().is_empty() => {
                let sentence = "the prompt says nothing";
                let problem =
                    Problem::of_file(ProblemCode::EmptyFile, Severity::Warning, &path, sentence);
                problems.push(problem.with_help("write something"));
            }
            Ok(_) => {}
            Err(error) => {
                let code = match error {
                    RenderError::Limit(_) => ProblemCode::TooLarge,
                    _ => ProblemCode::UnreadableFile,
                };
                let sentence = error.to_string();
                problems.push(Problem::of_file(code, Severity::Error, &path, sentence));
            }
        }
    }
}
