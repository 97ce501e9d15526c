//! Everything that is wrong with a catalog, bodies included: what the server would refuse.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::model::{Content, Dialect, Library, Prompt};
use crate::problem::{Problem, Severity};
use crate::render::World;
use crate::suggest;
use crate::template::{BundleError, Inspection, inspect};

/// Checks every library of a catalog.
///
/// Templates go through the very functions that rendering uses, so that nothing is reported here
/// and accepted there, or the other way round.
pub fn check(world: World<'_>) -> Vec<Problem> {
    let catalog: &Catalog = world.catalog;
    let mut problems: Vec<Problem> = catalog.problems().cloned().collect();
    for library in catalog.libraries().iter().chain(catalog.shadowed()) {
        for prompt in &library.prompts {
            if prompt.unavailable.is_none() && prompt.dialect == Dialect::Jinja {
                check_prompt(world, library, prompt, &mut problems);
            }
        }
    }
    // A template that several prompts include is reported once.
    let mut seen: Vec<Problem> = Vec::with_capacity(problems.len());
    for problem in problems {
        if !seen.contains(&problem) {
            seen.push(problem);
        }
    }
    seen
}

fn check_prompt(
    world: World<'_>,
    library: &Arc<Library>,
    prompt: &Prompt,
    problems: &mut Vec<Problem>,
) {
    let mut used = Vec::new();
    let mut is_whole = true;
    for message in &prompt.messages {
        match inspect(world, library, &message.content) {
            Ok(inspection) => {
                unknown_variables(prompt, &inspection, problems);
                problems.extend(inspection.remarks);
                used.extend(inspection.used);
            }
            Err(error) => {
                is_whole = false;
                problems.push(BundleError::into_problem(error));
            }
        }
    }
    if is_whole {
        unused_arguments(library, prompt, &used, problems);
    }
}

fn unknown_variables(prompt: &Prompt, inspection: &Inspection, problems: &mut Vec<Problem>) {
    for (source, name, range) in &inspection.free {
        if prompt
            .arguments
            .iter()
            .any(|argument| *argument.name == **name)
        {
            continue;
        }
        let message = format!("`{name}` is used but not declared");
        let place = Some(range.clone());
        let problem = source.problem("unknown-variable", Severity::Error, place, message);
        let names = prompt.arguments.iter().map(|argument| &*argument.name);
        let help = suggest::did_you_mean(name, names)
            .unwrap_or_else(|| format!("declare it in [[prompts.{}.arguments]]", prompt.name));
        problems.push(problem.with_help(help));
    }
}

fn unused_arguments(
    library: &Library,
    prompt: &Prompt,
    used: &[String],
    problems: &mut Vec<Problem>,
) {
    for argument in &prompt.arguments {
        if used.iter().any(|name| **name == *argument.name) {
            continue;
        }
        let file = match prompt.messages.first().map(|message| &message.content) {
            Some(Content::File(path)) => path.as_str(),
            _ => crate::parse::library::MANIFEST,
        };
        let message = format!(
            "argument `{}` of `{}` is never used",
            argument.name, prompt.full_name
        );
        let path = format!("{}/{file}", library.root);
        let problem = Problem::of_file("unused-argument", Severity::Warning, &path, message);
        problems.push(problem.with_help(format!(
            "write {{{{ {} }}}} where it belongs",
            argument.name
        )));
    }
}
