//! Renders each template with stand-in values, to find what fails only when it is used.
//!
//! Functions do not run for it. A failure that depends on the value is no problem: a template is
//! reported only if it fails with a word, a number and a list alike.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use twig_core::model::Dialect;
use twig_core::problem::shell_word;
use twig_core::render::{
    Audience, Checked, ComputedRender, TemplatePlace, check_value, render_for,
};
use twig_core::{
    Argument, Latest, Library, Problem, ProblemCode, Prompt, PromptRef, RenderError, Rendering,
    Severity,
};

use crate::commands::opened_catalog::OpenedCatalog;
use crate::jobs::{JobSettings, Jobs};

/// What stands for the value of an argument without choices and default, one after the other.
const STAND_INS: [&str; 3] = ["tide", "12", "one, two, three, four\nfive: six\nseven"];

/// How long all renders may take together; templates that reach a limit take a second each.
const TIME: Duration = Duration::from_secs(10);

/// How many arguments the hint repeats.
const SHOWN_ARGUMENTS: usize = 4;

/// The templates that fail.
pub(super) fn failures(opened: &OpenedCatalog, catalog: &Latest<'_>) -> Vec<Problem> {
    let end = Instant::now() + TIME;
    let jobs = Jobs::new(JobSettings::default());
    let mut problems = Vec::new();
    let mut untried = 0_usize;
    for library in catalog.libraries() {
        for prompt in catalog.prompts_of(library) {
            if prompt.dialect != Dialect::Jinja || prompt.unavailable.is_some() {
                continue;
            }
            if Instant::now() > end {
                untried += 1;
                continue;
            }
            let found = PromptRef { library, prompt };
            let failure = failure(opened, catalog, &jobs, found);
            problems.extend(failure.map(|failure| problem(catalog, found, failure)));
        }
    }
    if untried > 0 {
        let seconds = TIME.as_secs();
        let message = format!(
            "{untried} prompts were not rendered for the check, since others took {seconds} seconds"
        );
        let path = catalog.libraries().first().map(|library| &*library.root);
        let path = path.unwrap_or_default();
        problems.push(Problem::of_file(
            ProblemCode::FailsToRender,
            Severity::Note,
            path,
            message,
        ));
    }
    problems
}

/// Adds the failures whose reason is not among the problems already.
pub(super) fn add_unknown(problems: &mut Vec<Problem>, mut failures: Vec<Problem>) {
    failures.retain(|failure| !is_known(failure, problems));
    problems.append(&mut failures);
}

/// Why a prompt fails with every stand-in that its arguments take: the first reason, and its value.
fn failure(
    opened: &OpenedCatalog,
    catalog: &Latest<'_>,
    jobs: &Jobs,
    found: PromptRef<'_>,
) -> Option<(RenderError, &'static str)> {
    let mut first = None;
    let takes = |stand_in: &str| {
        let mut open = found.prompt.arguments.iter().filter(|it| is_open(it));
        open.all(|argument| check_value(argument, stand_in).is_ok())
    };
    for stand_in in STAND_INS.into_iter().filter(|it| takes(it)) {
        let error = attempt(opened, catalog, jobs, found, stand_in).err()?;
        let is_template = matches!(error, RenderError::Template { .. });
        let is_limit = matches!(error, RenderError::Limit(_));
        if !is_template && !is_limit {
            return None;
        }
        first.get_or_insert((error, stand_in));
        // A template that reaches a limit takes its time, and rarely because of a value.
        if is_limit || !found.prompt.arguments.iter().any(is_open) {
            break;
        }
    }
    first
}

fn attempt(
    opened: &OpenedCatalog,
    catalog: &Latest<'_>,
    jobs: &Jobs,
    found: PromptRef<'_>,
    stand_in: &str,
) -> Result<(), RenderError> {
    let audience = Audience {
        checked: Checked::None,
        ..Audience::default()
    };
    let given = values(found.prompt, stand_in);
    let given = given.map(|(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value)));
    let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = given.collect();
    match render_for(audience, opened.world(catalog), found, &given) {
        Ok(Rendering::Computed(ComputedRender { job, rest })) => {
            rest.finish(jobs.render(job)).map(drop)
        }
        // Images and documents past their limits are found without a render.
        Ok(Rendering::Done(_) | Rendering::Function(_)) | Err(RenderError::Limit(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A value for each argument: its first choice, its default, or else the stand-in.
fn values<'v>(prompt: &'v Prompt, stand_in: &'v str) -> impl Iterator<Item = (&'v str, &'v str)> {
    prompt.arguments.iter().map(move |argument| {
        let own = argument.choices.first().or(argument.default.as_ref());
        (&*argument.name, own.map_or(stand_in, |own| &**own))
    })
}

/// True for an argument that takes the stand-in.
fn is_open(argument: &Argument) -> bool {
    argument.choices.is_empty() && argument.default.is_none()
}

fn problem(
    catalog: &Latest<'_>,
    found: PromptRef<'_>,
    (failure, stand_in): (RenderError, &str),
) -> Problem {
    let (sentence, place) = match failure {
        RenderError::Template { sentence, place } => (sentence, place),
        failure => (failure.to_string(), None),
    };
    // The place is shown beside the message.
    let why = sentence.strip_prefix("Error rendering prompt template");
    let why = why.and_then(|why| why.split_once(": "));
    let why = why.map_or(&*sentence, |(_, why)| why);
    let prompt = found.prompt;
    let message = format!(
        "`{}` fails to render with plausible values: {why}",
        prompt.full_name
    );
    let (path, line) = if let Some(place) = place {
        (path_of(catalog, found.library, &place), place.line)
    } else {
        let file = prompt.messages.iter().find_map(|it| it.content.file());
        let file = file.map_or("twig.toml", |file| file.as_str());
        (found.library.path_of(file), None)
    };
    let code = ProblemCode::FailsToRender;
    let mut problem = Problem::of_file(code, Severity::Warning, &path, message);
    problem.line = line;
    let mut command = format!("twig render {}", shell_word(&prompt.full_name));
    for (name, value) in values(prompt, stand_in).take(SHOWN_ARGUMENTS) {
        command.push(' ');
        command.push_str(&shell_word(&format!("{name}={value}")));
    }
    problem.with_help(format!("run `{command}` to see it fail"))
}

fn path_of(catalog: &Latest<'_>, library: &Library, place: &TemplatePlace) -> String {
    let mut libraries = catalog.libraries().iter();
    let owner = libraries.find(|it| it.name.as_str() == place.library);
    owner.map_or_else(
        || library.path_of(&place.file),
        |owner| owner.path_of(&place.file),
    )
}

/// Whether the same place has an error already, which is why it fails.
fn is_known(problem: &Problem, known: &[Problem]) -> bool {
    known.iter().any(|other| {
        other.severity == Severity::Error
            && other.path == problem.path
            && (other.line == problem.line || other.line.is_none() || problem.line.is_none())
    })
}
