//! The Markdown kind: a file is a prompt, its stem the name, its front matter what is known of it.

use super::front_matter::{self, FrontMatter};
use super::library::Folder;
use crate::body::BodyError;
use crate::limits::Limits;
use crate::model::{Argument, Content, Dialect, MessageSource, Prompt, Role};
use crate::name::{PromptName, RelativePath};
use crate::problem::{Problem, Severity};
use crate::render::body_sentence;
use crate::template::body_problem;

/// Reads one file; problems are added, and a prompt that cannot be served says why.
pub(super) fn read(
    folder: &Folder,
    path: &RelativePath,
    text: &Result<String, BodyError>,
    limits: &Limits,
    problems: &mut Vec<Problem>,
) -> Option<Prompt> {
    let file = format!("{}/{path}", folder.root);
    let stem = path
        .file_name()
        .rsplit_once('.')
        .map_or(path.file_name(), |(stem, _)| stem);
    let name = match PromptName::parse(stem) {
        Ok(name) => name,
        Err(error) => {
            let message = format!("prompt name `{}` {error}", stem.escape_debug());
            let problem = Problem::of_file("bad-name", Severity::Error, &file, message);
            problems.push(problem.with_help("rename the file"));
            return None;
        }
    };
    let (front, unavailable) = match text {
        Ok(text) => match front(&file, text, limits) {
            Ok(front) => (front, None),
            Err(problem) => {
                let sentence = refusal(path, &problem);
                problems.push(*problem);
                (FrontMatter::default(), Some(sentence.into()))
            }
        },
        Err(error) => {
            let shown = format!("{}/{path}", folder.shown_root);
            problems.push(body_problem(&file, &shown, error));
            (
                FrontMatter::default(),
                Some(body_sentence(&shown, error).into()),
            )
        }
    };
    Some(Prompt {
        full_name: name.as_str().into(),
        name,
        title: front.title.map(|scalar| scalar.0.into()),
        description: front.description.map(|scalar| scalar.0.into()),
        arguments: vec![Argument {
            name: "input".into(),
            description: Some("Text to inject into the prompt template".into()),
            ..Argument::default()
        }],
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::File(path.clone()),
        }],
        dialect: Dialect::Input,
        unavailable,
    })
}

/// The sentence for whoever asks for a prompt whose front matter cannot be read.
fn refusal(path: &RelativePath, problem: &Problem) -> String {
    let help = problem.help.as_deref().unwrap_or("mend it");
    let line = problem.line.unwrap_or(1);
    format!(
        "The prompt in {path} is refused: {} (line {line}); {help}",
        problem.message
    )
}

fn front(file: &str, text: &str, limits: &Limits) -> Result<FrontMatter, Box<Problem>> {
    let split = front_matter::split(text);
    let Some(front) = split.front else {
        let message = if split.unterminated {
            "the front matter has no closing `---` line"
        } else {
            "the file has no front matter"
        };
        let problem = Problem::at(
            "no-front-matter",
            Severity::Error,
            file,
            text,
            0..3,
            message,
        );
        let problem = problem.with_help("start it with `---`, `description: …` and `---`");
        return Err(Box::new(problem));
    };
    front_matter::read(front, limits).map_err(|error| {
        let line = error.line.unwrap_or(1);
        let column = error.column.unwrap_or(1);
        let before = front.split_inclusive('\n').take(line.saturating_sub(1));
        let at =
            split.front_span.start + before.map(str::len).sum::<usize>() + column.saturating_sub(1);
        let message = if error.is_limit {
            error.message
        } else {
            format!("the front matter is not valid YAML: {}", error.message)
        };
        Box::new(Problem::at(
            "front-matter-syntax",
            Severity::Error,
            file,
            text,
            at..at + 1,
            message,
        ))
    })
}
