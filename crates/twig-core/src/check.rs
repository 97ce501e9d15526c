//! Checks a whole catalog, bodies included: finds everything that the server would refuse.

mod definition;
mod hidden;
mod probe;
mod shell_line;
mod verbatim;

use std::collections::HashSet;
use std::sync::Arc;

pub use self::probe::probe;
use crate::catalog::Catalog;
use crate::limits::PROBLEMS;
use crate::model::{Content, Dialect, Library, LibraryKind, MessageSource, Prompt};
use crate::name::RelativePath;
use crate::problem::{Problem, ProblemCode, Severity, more_problems};
use crate::render::{Embedding, RenderError, media};
use crate::suggest;
use crate::template::{BundleError, Inspection, PromptSources, inspect};
use crate::world::World;

/// Checks every library of a catalog.
///
/// Templates go through the same functions that rendering uses, so that a check and a render always
/// agree.
pub fn check(world: World<'_>) -> Vec<Problem> {
    let catalog: &Catalog = world.catalog;
    let mut problems: Vec<Problem> = catalog.problems().cloned().collect();
    for library in catalog.libraries().iter().chain(catalog.shadowed()) {
        for prompt in catalog.prompts_of(library) {
            if prompt.unavailable.is_some() {
                continue;
            }
            definition::documents(world, library, prompt, &mut problems);
            hidden::prompt(world, library, prompt, &mut problems);
            match prompt.dialect {
                Dialect::Jinja => check_prompt(world, library, prompt, &mut problems),
                Dialect::Braces => definition::prompt(world, library, prompt, &mut problems),
                Dialect::Verbatim => verbatim::prompt(world, library, prompt, &mut problems),
                Dialect::Marks(_) => shell_line::prompt(world, library, prompt, &mut problems),
                Dialect::Input | Dialect::Function => {}
            }
        }
        if catalog.is_whole(library) {
            hidden::documents(world, library, &mut problems);
        }
    }
    once(problems)
}

/// Removes duplicates: a template that several prompts include is reported once.
fn once(problems: Vec<Problem>) -> Vec<Problem> {
    let mut seen = HashSet::with_capacity(problems.len());
    let is_new: Vec<bool> = problems.iter().map(|it| seen.insert(it)).collect();
    let told = problems.into_iter().zip(is_new);
    told.filter_map(|(problem, is_new)| is_new.then_some(problem))
        .collect()
}

fn check_prompt(
    world: World<'_>,
    library: &Arc<Library>,
    prompt: &Prompt,
    problems: &mut Vec<Problem>,
) {
    let mut used = Vec::new();
    let mut is_whole = true;
    let mut media_room = world.templates.limits().media;
    let mut embedding = Embedding::new(world);
    let mut sources = PromptSources::default();
    for message in &prompt.messages {
        match media(world, library, message, &mut media_room) {
            Ok(None) => {}
            Ok(Some(_)) => continue,
            Err(error) => {
                problems.push(media_problem(library, message, &error));
                continue;
            }
        }
        if matches!(message.content, Content::Document { .. }) {
            let in_uri = definition::used_in_uri(&message.content, &prompt.arguments);
            used.extend(in_uri.map(|argument| argument.name.to_string()));
            continue;
        }
        match inspect(
            world.template_files(),
            library,
            &message.content,
            &mut sources,
        ) {
            Ok(inspection) => {
                let (mut unknown, more) = unknown_variables(library.kind, prompt, &inspection);
                unknown.extend(inspection.unknown);
                unknown.sort_by(|one, two| place(one).cmp(&place(two)));
                problems.extend(unknown);
                problems.extend(inspection.remarks);
                let file = message.content.file();
                let file = file.map_or(crate::parse::library::MANIFEST, RelativePath::as_str);
                let path = library.path_of(file);
                let more = more + inspection.more;
                problems.extend(more_problems(&path, Severity::Error, more));
                let uris = inspection.documents.iter().map(|embed| &embed.uri);
                if let Ok(file) = RelativePath::parse(file) {
                    definition::embedded(world, library, &file, uris, &mut embedding, problems);
                }
                used.extend(inspection.used);
            }
            Err(error) => {
                is_whole = false;
                problems.push(BundleError::into_problem(error));
                // Every further message would give the same report.
                if sources.is_full(world.templates.limits()) {
                    break;
                }
            }
        }
    }
    if is_whole {
        unused_arguments(library, prompt, &used, problems);
    }
}

/// The problem with the image or audio of a message.
fn media_problem(library: &Library, message: &MessageSource, error: &RenderError) -> Problem {
    let file = match &message.content {
        Content::Media { path, .. } => path.as_str(),
        _ => crate::parse::library::MANIFEST,
    };
    let code = match error {
        RenderError::Limit(_) => ProblemCode::MediaTooLarge,
        _ => ProblemCode::UnreadableFile,
    };
    let path = library.path_of(file);
    Problem::of_file(code, Severity::Error, &path, error.to_string())
}

fn place(problem: &Problem) -> (&str, Option<u32>, Option<u32>) {
    (&problem.path, problem.line, problem.column)
}

/// The undeclared variables that are reported, and how many more there are.
fn unknown_variables(
    kind: LibraryKind,
    prompt: &Prompt,
    inspection: &Inspection,
) -> (Vec<Problem>, usize) {
    let mut problems = Vec::new();
    let mut more = 0;
    let names = || prompt.arguments.iter().map(|argument| &*argument.name);
    for free in &inspection.free {
        let name = free.name();
        if names().any(|argument| argument == name) {
            continue;
        }
        if problems.len() == PROBLEMS {
            more += 1;
            continue;
        }
        if let Some(problem) = free.unknown_function() {
            problems.push(problem);
            continue;
        }
        let table = match kind {
            LibraryKind::Definitions => "`arguments`".to_owned(),
            kind if kind.is_format() => "`arguments:` of the front matter".to_owned(),
            _ => format!("[[prompts.{}.arguments]]", prompt.name.as_toml_key()),
        };
        let (message, help) = if free.in_main {
            (
                format!("`{name}` is used but not declared"),
                format!("declare it in {table}"),
            )
        } else {
            let includer = &prompt.full_name;
            (
                format!(
                    "`{name}` is used but not declared by `{includer}`, which includes this file"
                ),
                format!("declare it in {table} of that library's twig.toml"),
            )
        };
        let help = suggest::did_you_mean(name, names()).unwrap_or(help);
        problems.push(free.unknown_variable(message).with_help(help));
    }
    (problems, more)
}

fn unused_arguments(
    library: &Library,
    prompt: &Prompt,
    used: &[String],
    problems: &mut Vec<Problem>,
) {
    for argument in prompt.arguments.iter() {
        if used.iter().any(|name| **name == *argument.name) {
            continue;
        }
        let contents = prompt.messages.iter().map(|message| &message.content);
        let mut texts = contents.filter(|content| !matches!(content, Content::Media { .. }));
        let content = texts.next();
        let line = content.and_then(Content::line);
        let file = content.and_then(Content::file);
        let file = file.map_or(crate::parse::library::MANIFEST, RelativePath::as_str);
        let message = format!(
            "argument `{}` of `{}` is never used",
            argument.name, prompt.full_name
        );
        let path = library.path_of(file);
        let (code, severity) = (ProblemCode::UnusedArgument, Severity::Warning);
        let problem = Problem {
            line,
            ..Problem::of_file(code, severity, &path, message)
        };
        problems.push(problem.with_help(format!(
            "write {{{{ {} }}}} where it belongs",
            argument.name
        )));
    }
}

#[cfg(test)]
mod tests {
    use twig_testkit::assert_linear;

    use super::*;

    #[test]
    fn repeated_problems_are_left_off_in_linear_time() {
        let problem = |at: usize| {
            let path = format!("/lib/{at}");
            Problem::of_file(ProblemCode::Store, Severity::Error, &path, "wrong")
        };
        let distinct = |count| (0..count).map(problem).collect::<Vec<Problem>>();
        assert_linear("problems", 5_000, distinct, |distinct| {
            let twice = distinct.iter().chain(distinct).cloned().collect();
            assert!(
                once(twice) == *distinct,
                "the first of each is kept, in order"
            );
        });
    }
}
