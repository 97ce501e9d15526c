//! `twig check`: reports problems, using the same code path as the server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::Latest;
use twig_core::check::check;
use twig_core::{LibraryKind, Problem, Severity};

use super::opened_catalog::{OpenedCatalog, SourceArgs, parse_kind};
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Libraries, or folders of libraries, to check instead of everything that is served
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Check this library (the same as PATH)
    #[arg(long, value_name = "PATH")]
    library: Vec<PathBuf>,

    /// The kind of their files, if their layout does not show it
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    kind: Option<LibraryKind>,

    /// Print JSON
    #[arg(long)]
    json: bool,
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
    let named = options.paths.iter().chain(&options.library);
    let opened = OpenedCatalog::open(&SourceArgs {
        library: named.cloned().collect(),
        kind: options.kind,
        ..SourceArgs::default()
    })?;
    let named = &opened.sources.library;
    let catalog = Latest::from(opened.live.snapshot());
    let mut problems = opened.live.problems();
    problems.extend(check(opened.world(&catalog)));
    // The other libraries are only loaded for includes; do not report their problems.
    let is_meant =
        |path: &str| named.is_empty() || named.iter().any(|root| Path::new(path).starts_with(root));
    // A library that one of these shadows is reported, wherever it is.
    let concerns = |problem: &Problem| problem.other_library.as_deref().is_some_and(is_meant);
    problems.retain(|problem| is_meant(&problem.path) || concerns(problem));
    let libraries: Vec<_> = catalog
        .libraries()
        .iter()
        .filter(|library| is_meant(&library.root))
        .collect();

    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count();
    if options.json {
        ui.json(&problems.iter().map(ProblemRow::from).collect::<Vec<_>>())?;
    } else {
        for problem in &problems {
            ui.problem(problem)?;
            ui.line("")?;
        }
        let prompts: usize = libraries.iter().map(|library| library.prompts.len()).sum();
        let documents: usize = libraries.iter().map(|it| it.documents.len()).sum();
        ui.say(format!(
            "checked {} in {}: {}",
            contents(prompts, documents),
            counted(libraries.len(), "library", "libraries"),
            verdict(&problems)
        ));
    }
    Ok(if errors > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn verdict(problems: &[Problem]) -> String {
    if problems.is_empty() {
        return "no problems".to_owned();
    }
    let words = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Note, "note", "notes"),
    ];
    let parts = words.iter().filter_map(|(severity, one, many)| {
        let count = problems
            .iter()
            .filter(|problem| problem.severity == *severity)
            .count();
        (count > 0).then(|| counted(count, one, many))
    });
    parts.collect::<Vec<_>>().join(", ")
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
