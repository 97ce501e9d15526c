//! `twig init`: starter prompts and documents for a project. It never overwrites an existing file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use twig_sources::{PROJECT, create_beneath};

use super::question::ask;
use crate::command_error::{CommandError, reason};
use crate::places::{Places, on_disk};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The project's folder
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    path: PathBuf,

    /// Do not ask whether a home folder or the root of the disk is meant
    #[arg(short, long)]
    yes: bool,
}

/// Each file and its initial text.
const STARTER: [(&str, &str); 7] = [
    ("config.toml", include_str!("../../starter/config.toml")),
    (
        "prompts/review-code-against-patterns.json",
        include_str!("../../starter/prompts/review-code-against-patterns.json"),
    ),
    (
        "prompts/suggest-patterns.json",
        include_str!("../../starter/prompts/suggest-patterns.json"),
    ),
    (
        "prompts/create-adr.json",
        include_str!("../../starter/prompts/create-adr.json"),
    ),
    (
        "docs/patterns/repository-pattern.md",
        include_str!("../../starter/docs/patterns/repository-pattern.md"),
    ),
    (
        "docs/guidelines/api-design.md",
        include_str!("../../starter/docs/guidelines/api-design.md"),
    ),
    (
        "docs/adr/001-record-decisions.md",
        include_str!("../../starter/docs/adr/001-record-decisions.md"),
    ),
];

/// The result for one file.
enum Made {
    Written,
    Kept,
}

pub(super) fn run(options: &InitArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let project = on_disk(&options.path);
    if !project.is_dir() {
        let message = format!("{} is not a folder", places.shown(&project));
        return Err(CommandError::fixable(message).hint("name the folder of a project"));
    }
    if !options.yes && !is_meant(&places, &project, ui)? {
        ui.say("nothing was created");
        return Ok(ExitCode::FAILURE);
    }
    let root = project.join(PROJECT);
    // A symlink could point anywhere, and files behind it would not be served.
    let folders = [
        "prompts",
        "docs",
        "docs/patterns",
        "docs/guidelines",
        "docs/adr",
    ];
    let folders = folders.map(|folder| root.join(folder));
    for folder in [&root].into_iter().chain(&folders) {
        let is_folder = folder.symlink_metadata().map(|found| found.is_dir());
        if is_folder.is_ok_and(|is_folder| !is_folder) {
            let message = format!("{} is there and is not a folder", places.shown(folder));
            return Err(CommandError::fixable(message).hint("move it away, then try again"));
        }
    }
    let mut kept = 0;
    for (path, text) in STARTER {
        let inner = Path::new(PROJECT).join(path);
        let path = root.join(path);
        let made = write(&project, &inner, text);
        match made.map_err(|error| cannot_write(&places, &path, &error))? {
            Made::Written => ui.line(path.display().to_string())?,
            Made::Kept => kept += 1,
        }
    }
    let made = STARTER.len() - kept;
    let shown = places.shown(&root);
    ui.say(match (made, kept) {
        (0, _) => format!("every file exists already: {shown} was not changed"),
        (_, 0) => format!("made {shown}"),
        (_, kept) => format!("added the missing files to {shown}; existing files kept: {kept}"),
    });
    ui.say("try `twig list`, or `twig render suggest-patterns problem=\"…\"`; edit docs/ to describe your team's conventions");
    Ok(ExitCode::SUCCESS)
}

/// Asks before it puts prompts into a folder that holds many projects: all of them would get these.
fn is_meant(places: &Places, project: &Path, ui: &mut Ui) -> Result<bool, CommandError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let project = real(project);
    let what = if project.parent().is_none() {
        "the root of the disk"
    } else if places.home.as_deref().map(real) == Some(project) {
        "your home folder"
    } else {
        return Ok(true);
    };
    let unanswered = || {
        let message = format!("nothing was created: this is {what}, not a project");
        CommandError::fixable(message)
            .hint("go to a project's folder or name it, or use --yes if you mean it")
    };
    let question = format!("this is {what}; create prompts here for everything below it?");
    ask(&question, unanswered, ui)
}

/// Creates a file and its parent folders inside the project, unless it exists.
fn write(project: &Path, path: &Path, text: &str) -> std::io::Result<Made> {
    match create_beneath(project, path, text.as_bytes()) {
        Ok(()) => Ok(Made::Written),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Made::Kept),
        Err(error) => Err(error),
    }
}

fn cannot_write(places: &Places, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::fixable(format!(
        "{} cannot be written: {}",
        places.shown(path),
        reason(error)
    ))
}
