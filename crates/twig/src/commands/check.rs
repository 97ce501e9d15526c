//! `twig check`: reports problems, using the same code path as the server.

mod formats;
mod trial;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{Args, ValueEnum};
use serde::Serialize;
use twig_core::Latest;
use twig_core::{LibraryKind, Problem, Severity};

use super::old_spelling::changed;
use super::opened_catalog::{OpenedCatalog, SourceArgs, parse_kind, parse_only};
use crate::command_error::CommandError;
use crate::places::on_disk;
use crate::ui::Ui;

#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// What to check instead of everything: libraries by path or name, or prompts as LIBRARY:NAME;
    /// `*` stands for any characters
    #[arg(value_name = "PATH|NAME")]
    names: Vec<String>,

    /// Check only these, by name
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = parse_only)]
    only: Vec<String>,

    /// Check this project of the store, too
    #[arg(short, long, value_name = "NAME")]
    project: Option<String>,

    /// The workspace that the project is in
    #[arg(short, long, value_name = "NAME", requires = "project")]
    workspace: Option<String>,

    /// The old spelling of a path.
    #[arg(long, hide = true, value_name = "PATH")]
    library: Vec<PathBuf>,

    /// The kind of the files in PATH, if their layout does not show it
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<LibraryKind>,

    /// Fail on warnings, too
    #[arg(long)]
    strict: bool,

    /// List notes, too
    #[arg(short, long)]
    verbose: bool,

    /// How to print problems
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = CheckFormat::Text)]
    format: CheckFormat,

    /// Print JSON; the same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How problems are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people, with an excerpt
    Text,
    /// A list of problems
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

/// One problem as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct ProblemRow<'p> {
    code: &'static str,
    severity: &'static str,
    path: &'p str,
    line: Option<u32>,
    column: Option<u32>,
    message: &'p str,
    help: Option<&'p str>,
}

impl<'p> From<&'p Problem> for ProblemRow<'p> {
    fn from(problem: &'p Problem) -> Self {
        Self {
            code: problem.code.as_str(),
            severity: problem.severity.as_str(),
            path: &problem.path,
            line: problem.line,
            column: problem.column,
            message: &problem.message,
            help: problem.help.as_deref(),
        }
    }
}

pub(super) fn run(options: &CheckArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    if let Some(path) = options.library.first() {
        let why = "`--library` adds a folder to what is served, and `check` does not serve";
        let path = path.display();
        return Err(changed(why).hint(format!(
            "run `twig check {path}` to check that folder alone"
        )));
    }
    let sources = SourceArgs {
        only: options.only.clone(),
        kind: options.kind,
        project: options.project.clone(),
        workspace: options.workspace.clone(),
        ..SourceArgs::default()
    };
    let opened = OpenedCatalog::open(&sources.restricted_to(&options.names)?)?;
    let catalog = Latest::from(opened.live.snapshot());
    // Each takes about as long as the other.
    let (mut problems, failures) = thread::scope(|scope| {
        let failures = scope.spawn(|| trial::failures(&opened, &catalog));
        (opened.problems(&catalog), failures.join())
    });
    let failures = failures.unwrap_or_else(|panic| resume_unwind(panic));
    trial::add_unknown(&mut problems, failures);
    let base = on_disk(Path::new("."));
    for problem in &mut problems {
        problem.path = beneath(&base, &problem.path);
    }
    let libraries = catalog.libraries();

    let format = if options.json {
        CheckFormat::Json
    } else {
        options.format
    };
    match format {
        CheckFormat::Json => {
            ui.json(&problems.iter().map(ProblemRow::from).collect::<Vec<_>>())?;
        }
        CheckFormat::Sarif => ui.json(&formats::sarif(&problems))?,
        CheckFormat::Github => {
            for problem in &problems {
                ui.line(formats::github(problem))?;
            }
        }
        CheckFormat::Text => {
            let shown = problems
                .iter()
                .filter(|it| options.verbose || is_problem(it));
            for problem in shown {
                ui.problem(problem)?;
                ui.line("")?;
            }
        }
    }
    if matches!(format, CheckFormat::Text | CheckFormat::Github) {
        let prompts = libraries.iter().flat_map(|it| catalog.prompts_of(it));
        let prompts = prompts.count();
        let whole = libraries.iter().filter(|it| catalog.is_whole(it));
        let documents: usize = whole.map(|it| it.documents.len()).sum();
        ui.say(format!(
            "checked {} in {}: {}",
            contents(prompts, documents),
            counted(libraries.len(), "library", "libraries"),
            verdict(&problems, options.verbose || format == CheckFormat::Github)
        ));
    }
    let fails = |problem: &Problem| match problem.severity {
        Severity::Error => true,
        Severity::Warning => options.strict,
        Severity::Note => false,
    };
    Ok(if problems.iter().any(fails) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A path relative to a folder, if it is in there.
fn beneath(folder: &Path, path: &str) -> Box<str> {
    let relative = Path::new(path).strip_prefix(folder).ok();
    let relative = relative.and_then(Path::to_str).filter(|it| !it.is_empty());
    relative.unwrap_or(path).into()
}

/// True for what its author should act on: a note is only worth knowing.
pub(super) fn is_problem(found: &Problem) -> bool {
    found.severity != Severity::Note
}

fn verdict(problems: &[Problem], has_notes: bool) -> String {
    let count = |severity| {
        let found = problems.iter().filter(|it| it.severity == severity);
        found.count()
    };
    let words = [
        (count(Severity::Error), "error", "errors"),
        (count(Severity::Warning), "warning", "warnings"),
    ];
    let found = words.iter().filter(|(count, ..)| *count > 0);
    let found = found.map(|(count, one, many)| counted(*count, one, many));
    let mut parts: Vec<String> = found.collect();
    if parts.is_empty() {
        parts.push("no problems".to_owned());
    }
    let notes = count(Severity::Note);
    if notes > 0 {
        let listed = if has_notes { "" } else { " (-v lists them)" };
        parts.push(format!("{}{listed}", counted(notes, "note", "notes")));
    }
    parts.join(", ")
}

/// What a library holds: `2 prompts`, or `2 prompts and 1 document`.
pub(super) fn contents(prompts: usize, documents: usize) -> String {
    let prompts = counted(prompts, "prompt", "prompts");
    if documents == 0 {
        return prompts;
    }
    let documents = counted(documents, "document", "documents");
    format!("{prompts} and {documents}")
}

/// `1 prompt`, `2 prompts`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
