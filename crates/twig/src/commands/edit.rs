//! `twig edit`: opens the file of a prompt, checks it, and opens it again if there is an error.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::{Latest, Problem, Severity};

use super::check::{ProblemRow, is_problem};
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::{editor, path, question};
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The prompt, a library for its twig.toml, or a document's URI
    name: String,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An edited file, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct EditReport<'r> {
    path: String,
    /// Its errors and warnings, as `twig check` prints them.
    problems: Vec<ProblemRow<'r>>,
}

pub(super) fn run(options: &EditArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let file = {
        let opened = OpenedCatalog::open(&options.sources)?;
        path::file_to_edit(&opened, &options.name)?
    };
    loop {
        editor::edit(&file)?;
        let problems = problems_in(&options.sources, &file)?;
        if options.json {
            let path = file.display().to_string();
            let has_error = problems.iter().any(|it| it.severity == Severity::Error);
            let problems = problems.iter().map(ProblemRow::from).collect();
            ui.json(&EditReport { path, problems })?;
            return Ok(ExitCode::from(u8::from(has_error)));
        }
        for problem in &problems {
            ui.problem(problem)?;
            ui.line("")?;
        }
        if !problems.iter().any(|it| it.severity == Severity::Error) {
            if problems.is_empty() {
                ui.say("checked: no problems");
            }
            return Ok(ExitCode::SUCCESS);
        }
        if !is_edited_again(ui)? {
            return Ok(ExitCode::FAILURE);
        }
    }
}

/// The errors and warnings of one file, as `twig check` finds them now.
fn problems_in(sources: &SourceArgs, file: &Path) -> Result<Vec<Problem>, CommandError> {
    let opened = OpenedCatalog::open(sources)?;
    let catalog = Latest::from(opened.live.snapshot());
    let mut problems = opened.problems(&catalog);
    let is_here = |problem: &Problem| Path::new(&*problem.path) == file;
    problems.retain(|problem| is_here(problem) && is_problem(problem));
    Ok(problems)
}

/// Asks whether to go back to the editor: yes, unless the user says no. Without a terminal, no.
fn is_edited_again(ui: &mut Ui) -> Result<bool, CommandError> {
    let answer = question::read_answer("edit the file again? [Y/n]", ui)?;
    Ok(answer.is_some_and(|answer| matches!(&*answer, "" | "y" | "Y" | "yes")))
}
