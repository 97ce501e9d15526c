//! `twig check`: what is wrong, by the same path that the server takes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use twig_core::check::check;
use twig_core::parse::library::MANIFEST;
use twig_core::render::World;
use twig_core::template::Templates;
use twig_core::{Problem, Severity};
use twig_sources::{LiveCatalog, Settings};

use super::settings;
use crate::cli::{self, Sources};
use crate::command_error::CommandError;
use crate::config;
use crate::places::{Places, on_disk};
use crate::ui::Ui;

/// One problem as scripts see it; this shape is a promise.
#[derive(Debug, Serialize)]
pub(super) struct Row<'p> {
    code: &'static str,
    severity: &'static str,
    path: &'p str,
    line: Option<u32>,
    column: Option<u32>,
    message: &'p str,
    help: Option<&'p str>,
}

impl<'p> From<&'p Problem> for Row<'p> {
    fn from(problem: &'p Problem) -> Self {
        Self {
            code: problem.code,
            severity: problem.severity.as_str(),
            path: &problem.path,
            line: problem.line,
            column: problem.column,
            message: &problem.message,
            help: problem.help.as_deref(),
        }
    }
}

pub(super) fn run(options: &cli::Check, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let config = config::load(&places)?;
    let mut libraries = Vec::new();
    for path in options.paths.iter().chain(&options.library) {
        libraries.push(library_of(path)?);
    }
    let named = !libraries.is_empty();
    let sources = Sources {
        library: libraries,
        kind: options.kind,
    };
    let settings = Settings {
        // What was named is checked alone.
        data: if named { None } else { places.data.clone() },
        ..settings(&places, &config, &sources)
    };
    let live = LiveCatalog::load(settings);
    let templates = Templates::new(config.limits.clone());
    let catalog = live.snapshot();
    let world = World {
        catalog: &catalog,
        bodies: &live,
        templates: &templates,
    };
    let mut problems = live.problems();
    problems.extend(check(world));

    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .count();
    if options.json {
        ui.json(&problems.iter().map(Row::from).collect::<Vec<_>>())?;
    } else {
        for problem in &problems {
            ui.problem(problem)?;
            ui.line("")?;
        }
        let prompts: usize = catalog
            .libraries()
            .iter()
            .map(|library| library.prompts.len())
            .sum();
        ui.say(format!(
            "checked {} in {}: {}",
            counted(prompts, "prompt", "prompts"),
            counted(catalog.libraries().len(), "library", "libraries"),
            verdict(&problems)
        ));
    }
    Ok(if errors > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The library that a path is in: a file inside one means the whole library.
fn library_of(path: &Path) -> Result<PathBuf, CommandError> {
    let path = on_disk(path);
    if !path.exists() {
        return Err(CommandError::fixable(format!(
            "there is nothing at {}",
            path.display()
        )));
    }
    if path.is_dir() {
        return Ok(path);
    }
    let home = path
        .ancestors()
        .skip(1)
        .find(|folder| folder.join(MANIFEST).is_file());
    match home.or(path.parent()) {
        Some(folder) => Ok(folder.to_owned()),
        None => Ok(path),
    }
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

/// `1 prompt`, `2 prompts`.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
