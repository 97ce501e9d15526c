//! `twig new`: creates a library or a prompt to start from. It never overwrites an existing file,
//! and writes nothing that would not be served.

mod definition;
mod prompt;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde::Serialize;
use twig_core::LibraryName;
use twig_core::parse::MANIFEST_SCHEMA;
use twig_core::parse::library::MANIFEST;
use twig_sources::LockedFolder;

use self::prompt::NewPromptArgs;
use super::manifest_file::{cannot_make, write_new};
use super::schema::SCHEMA_FILE;
use crate::command_error::{CommandError, ErrorKind, not_locked};
use crate::config;
use crate::places::{Places, on_disk};
use crate::ui::Ui;
use twig_core::problem::shell_word;

#[derive(Debug, Subcommand)]
pub(crate) enum NewCommand {
    /// Create a library in the data folder
    Library {
        /// Its folder's name
        name: String,
        /// Create it in this folder instead
        #[arg(long = "in", value_name = "FOLDER")]
        folder: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a prompt in a library, or in the project's own
    Prompt(Box<NewPromptArgs>),
}

pub(super) fn run(what: NewCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    match what {
        NewCommand::Library { name, folder, json } => library(&name, folder, json, ui)?,
        NewCommand::Prompt(options) => return prompt::run(&options, ui),
    }
    Ok(ExitCode::SUCCESS)
}

/// A library or prompt that was created, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct CreatedRow<'c> {
    name: &'c str,
    /// The folder of a library, or the file of a prompt.
    path: &'c str,
}

fn library(
    name: &str,
    folder: Option<PathBuf>,
    json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let places = Places::from_environment();
    let separator = config::load(&places)?.separator;
    let is_plain = !name.starts_with('.')
        && name.trim() == name
        && !name.contains(|c: char| c.is_control() || matches!(c, '/' | '\\'));
    let Some(library) = LibraryName::from_folder(name).filter(|_| is_plain) else {
        let message = format!("`{}` cannot be a library's name", name.escape_debug());
        let error = CommandError::new(ErrorKind::Usage, message);
        return Err(error.hint("use letters, digits and `_`, such as `my_prompts`"));
    };
    let elsewhere = folder.map(|folder| on_disk(&folder));
    let Some(parent) = elsewhere.clone().or_else(|| places.data.clone()) else {
        return Err(
            CommandError::fixable("there is no home folder to put a library in")
                .hint("name a folder with `--in FOLDER`, or set TWIG_DATA_DIR"),
        );
    };
    let root = parent.join(name);
    fs::create_dir_all(&parent).map_err(|error| cannot_make(&places, &root, &error))?;
    let _lock =
        LockedFolder::open(&parent).map_err(|error| not_locked(&places.shown(&parent), &error))?;
    if root.exists() && !root.join(MANIFEST).exists() {
        let message = format!("{} exists and is not a library", places.shown(&root));
        return Err(
            CommandError::fixable(message).hint("choose another name, or put a twig.toml there")
        );
    }
    if let Some(taken) = taken(&parent, &root, &library) {
        let message = format!(
            "library `{library}` is already there: {}",
            places.shown(&taken)
        );
        let hint = format!("add to it with `twig new prompt {library}{separator}NAME`");
        return Err(CommandError::fixable(message).hint(hint));
    }
    for (file, text) in [
        ("prompts/hello.md", STARTER_PROMPT),
        (SCHEMA_FILE, MANIFEST_SCHEMA),
        (MANIFEST, STARTER_MANIFEST),
    ] {
        write_new(&places, &parent, &Path::new(name).join(file), text)?;
    }
    print(library.as_str(), &root.display().to_string(), json, ui)?;
    let try_it = format!("twig render {library}{separator}hello name=you");
    ui.say(match elsewhere.filter(|folder| Some(folder) != places.data.as_ref()) {
        Some(_) => format!(
            "created library `{library}` with one prompt; run `twig library add {}` to serve it, then try `{try_it}`",
            shell_word(&places.shown(&root))
        ),
        None => format!("created library `{library}` with one prompt; try `{try_it}`"),
    });
    Ok(())
}

/// Prints the path of what was created.
fn print(name: &str, path: &str, json: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if json {
        return ui.json(&CreatedRow { name, path });
    }
    ui.line(path)?;
    Ok(())
}

/// A folder next to the new one that already has its name, to clients if not on disk.
pub(super) fn taken(parent: &Path, root: &Path, library: &LibraryName) -> Option<PathBuf> {
    if root.exists() {
        return Some(root.to_owned());
    }
    let beside = fs::read_dir(parent).ok()?.flatten();
    beside.map(|entry| entry.path()).find(|path| {
        let folder = path.file_name().and_then(|name| name.to_str());
        let name = folder.and_then(LibraryName::from_folder);
        name.as_ref() == Some(library) && path.join(MANIFEST).exists()
    })
}

const STARTER_MANIFEST: &str = r#"#:schema ./twig.schema.json

[library]
description = "Prompts of my own"

[prompts.hello]
title = "Hello"
description = "Greet a person and offer help"

[[prompts.hello.arguments]]
name = "name"
description = "Who to greet"
required = true

[[prompts.hello.arguments]]
name = "tone"
description = "How to say it"
default = "friendly"
choices = ["friendly", "formal"]
"#;

const STARTER_PROMPT: &str =
    "Greet {{ name }} in a {{ tone }} tone and ask what to work on today.\n";
