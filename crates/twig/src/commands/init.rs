//! `twig init`: starter prompts and documents for a project. It never overwrites an existing file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::Serialize;
use twig_core::parse::library::MANIFEST;
use twig_core::parse::project::CONFIG;
use twig_core::parse::{MANIFEST_SCHEMA, TomlItem, TomlValue, read_toml};
use twig_core::problem::shell_word;
use twig_core::{LibraryKind, Limits};
use twig_sources::{PROJECT, create_beneath, project_kind, read_file};

use super::question::ask;
use super::schema::SCHEMA_FILE;
use crate::command_error::{CommandError, reason};
use crate::places::{Places, on_disk};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The project's folder
    #[arg(default_value = ".", hide_default_value = true, value_name = "PATH")]
    path: PathBuf,

    /// How the prompts are written; by default as those that are there, else `twig`
    #[arg(long, value_enum)]
    format: Option<StarterFormat>,

    /// Do not ask whether a home folder or the root of the disk is meant
    #[arg(short, long)]
    yes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was created, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct InitReport {
    /// The project's `.twig` folder.
    folder: String,
    /// The files that were written.
    written: Vec<String>,
    /// How many files existed already.
    kept: usize,
}

/// How starter prompts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StarterFormat {
    /// A `twig.toml`, and Markdown with Jinja
    Twig,
    /// One JSON file for each prompt
    Definitions,
}

/// Each file of a format and its initial text.
macro_rules! starter {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../starter/", $folder, $path)))),*]
    };
}

/// A file's path in the project's folder, and its initial text.
type StarterFile = (&'static str, &'static str);

const TWIG: &[StarterFile] = starter!("twig/":
    "twig.toml",
    "prompts/review-code-against-patterns.md",
    "prompts/suggest-patterns.md",
    "prompts/create-adr.md",
);

/// What editors know about the manifest.
const SCHEMA: &[StarterFile] = &[(SCHEMA_FILE, MANIFEST_SCHEMA)];

const DEFINITIONS: &[StarterFile] = starter!("definitions/":
    "config.toml",
    "prompts/review-code-against-patterns.json",
    "prompts/suggest-patterns.json",
    "prompts/create-adr.json",
);

/// The prompt that is recommended.
const TRIED: &str = "suggest-patterns";

/// The documents are the same in every format.
const DOCUMENTS: &[StarterFile] = starter!("":
    "docs/patterns/repository-pattern.md",
    "docs/guidelines/api-design.md",
    "docs/adr/001-record-decisions.md",
);

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
    check_folders(&places, &root)?;
    let (prompts, schema) = match format(&places, &root, options.format)? {
        StarterFormat::Twig => (TWIG, SCHEMA),
        StarterFormat::Definitions => (DEFINITIONS, &[][..]),
    };
    let (mut made, mut kept) = (Vec::new(), 0);
    let is_served = |(path, _): &&StarterFile| is_served(&root, path);
    let prompts: Vec<&StarterFile> = prompts.iter().filter(is_served).collect();
    for (path, text) in prompts.iter().copied().chain(schema).chain(DOCUMENTS) {
        let inner = Path::new(PROJECT).join(path);
        let path = root.join(path);
        let written = write(&project, &inner, text);
        match written.map_err(|error| cannot_write(&places, &path, &error))? {
            Made::Written => made.push(path.display().to_string()),
            Made::Kept => kept += 1,
        }
    }
    let made = InitReport {
        folder: root.display().to_string(),
        written: made,
        kept,
    };
    if options.json {
        ui.json(&made)?;
    } else {
        made.written.iter().try_for_each(|path| ui.line(path))?;
    }
    let shown = places.shown(&root);
    ui.say(match (made.written.len(), kept) {
        (0, _) => format!("every file exists already: {shown} was not changed"),
        (_, 0) => format!("created {shown} with three prompts and three documents"),
        (_, kept) => format!("added the missing files to {shown}; existing files kept: {kept}"),
    });
    let at = match &*options.path.to_string_lossy() {
        "." => String::new(),
        path => format!(" -C {}", shell_word(path)),
    };
    ui.say(if prompts.iter().any(|(path, _)| path.contains(TRIED)) {
        format!("describe your team's conventions in docs, and try a prompt: twig{at} render {TRIED} problem=\"slow tests\"")
    } else {
        format!("describe your team's conventions in docs; {MANIFEST} is yours and declares no starter prompt, so none was written")
    });
    ui.say(format!(
        "next, offer the prompts in your AI client: twig{at} connect"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Refuses folders that are something else. A symlink could point anywhere, and files behind it
/// would not be served.
fn check_folders(places: &Places, root: &Path) -> Result<(), CommandError> {
    let folders = [
        "",
        "prompts",
        "docs",
        "docs/patterns",
        "docs/guidelines",
        "docs/adr",
    ];
    for folder in folders {
        let folder: PathBuf = root.join(folder).components().collect();
        let is_folder = folder.symlink_metadata().map(|found| found.is_dir());
        if is_folder.is_ok_and(|is_folder| !is_folder) {
            let message = format!("{} is there and is not a folder", places.shown(&folder));
            return Err(CommandError::fixable(message).hint("move it away, then try again"));
        }
    }
    Ok(())
}

/// The format of the prompts that are there, or else the wanted one: Twig reads one of the two.
fn format(
    places: &Places,
    root: &Path,
    wanted: Option<StarterFormat>,
) -> Result<StarterFormat, CommandError> {
    let (found, what) = match project_kind(root) {
        None if is_configured(root) => (Some(StarterFormat::Definitions), "a config.toml"),
        None => return Ok(wanted.unwrap_or(StarterFormat::Twig)),
        Some(LibraryKind::Definitions) => (Some(StarterFormat::Definitions), "JSON definitions"),
        Some(LibraryKind::Functions) => (None, "functions"),
        Some(_) => (Some(StarterFormat::Twig), "a twig.toml"),
    };
    match found {
        Some(found) if wanted.is_none_or(|wanted| wanted == found) => Ok(found),
        _ => {
            let message = format!(
                "nothing was created: {} has {what}, and Twig reads one format of prompts there",
                places.shown(root)
            );
            let error = CommandError::fixable(message);
            Err(match found {
                Some(_) => error.hint("leave out --format to add the missing files"),
                None => error.hint("keep the functions in a library of their own"),
            })
        }
    }
}

/// Whether a `config.toml` says something that a `twig.toml` beside it would say instead.
fn is_configured(root: &Path) -> bool {
    let text = toml_text(&root.join(CONFIG)).unwrap_or_default();
    let said = ["library", "documents"];
    read_toml(&text).is_ok_and(|table| said.iter().any(|key| table.get(key).is_some()))
}

/// Whether a file of the starter would be served: a manifest that is there already has to declare
/// the prompt.
fn is_served(root: &Path, path: &str) -> bool {
    let name = path
        .strip_prefix("prompts/")
        .and_then(|it| it.strip_suffix(".md"));
    let (Some(name), true) = (name, root.join(MANIFEST).symlink_metadata().is_ok()) else {
        return true;
    };
    let text = toml_text(&root.join(MANIFEST)).unwrap_or_default();
    let Ok(table) = read_toml(&text) else {
        return false;
    };
    let prompts = table.get("prompts").map(|item: &TomlItem<'_>| &item.value);
    matches!(prompts, Some(TomlValue::Table(prompts)) if prompts.get(name).is_some())
}

/// The text of a file of the project, if it is a file and not too long to be read as TOML.
fn toml_text(path: &Path) -> Option<String> {
    let bytes = read_file(path).ok()??;
    let is_short = bytes.len() <= Limits::default().manifest;
    String::from_utf8(bytes).ok().filter(|_| is_short)
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
