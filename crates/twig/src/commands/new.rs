//! `twig new`: creates a library or a prompt to start from. It never overwrites an existing file,
//! and writes nothing that would not be served.

mod definition;

use std::fs;
use std::io::{self, ErrorKind as IoErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use twig_core::name::twin_key;
use twig_core::parse::library::MANIFEST;
use twig_core::parse::table::{PromptTable, with_prompts};
use twig_core::parse::{TomlValue, read_toml};
use twig_core::{Catalog, Library, LibraryKind, LibraryName, PromptName};
use twig_sources::{LockError, LockedFile, LockedFolder, NewFile, PROJECT, create_beneath};

use super::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::command_error::{CommandError, ErrorKind, not_locked, reason};
use crate::config;
use crate::places::{Places, on_disk};
use crate::ui::{Ui, quoted};

#[derive(Debug, Subcommand)]
pub(crate) enum NewCommand {
    /// Create a library in the data folder
    Library {
        /// Its folder's name
        name: String,
        /// Create it in this folder instead
        #[arg(long = "in", value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
    /// Create a prompt in a library
    Prompt {
        /// The library and the prompt's name
        #[arg(value_name = "LIBRARY:NAME")]
        name: String,
        /// What the prompt does
        #[arg(long, default_value = "")]
        description: String,
        #[command(flatten)]
        sources: SourceArgs,
    },
}

pub(super) fn run(what: NewCommand, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    match what {
        NewCommand::Library { name, folder } => library(&name, folder, ui)?,
        NewCommand::Prompt {
            name,
            description,
            sources,
        } => prompt(&name, &description, &sources, ui)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn library(name: &str, folder: Option<PathBuf>, ui: &mut Ui) -> Result<(), CommandError> {
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
        (MANIFEST, STARTER_MANIFEST),
    ] {
        write_new(&places, &parent, &Path::new(name).join(file), text)?;
    }
    ui.line(root.display().to_string())?;
    let try_it = format!("twig render {library}{separator}hello name=you");
    ui.say(match elsewhere.filter(|folder| Some(folder) != places.data.as_ref()) {
        Some(_) => format!(
            "created library `{library}` with one prompt; run `twig library add {}` to serve it, then try `{try_it}`",
            quoted(&places.shown(&root))
        ),
        None => format!("created library `{library}` with one prompt; try `{try_it}`"),
    });
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

fn prompt(
    name: &str,
    description: &str,
    sources: &SourceArgs,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let opened = OpenedCatalog::open(sources)?;
    let catalog = opened.live.snapshot();
    let (library, own) = target(&catalog, name, &opened.config.separator)?;
    let flags = sources
        .library
        .iter()
        .map(|path| format!(" --library {}", path.display()));
    let flags = flags.collect::<Vec<_>>().concat();
    if library.kind == LibraryKind::Definitions {
        let (prompt, file) = definition::write(&opened.places, library, own, description)?;
        ui.line(file)?;
        ui.say(format!(
            "created prompt `{prompt}`; edit the file, then try `twig render {prompt} input=…{flags}`"
        ));
        return Ok(());
    }
    let prompt = PromptName::parse(own).map_err(|error| {
        CommandError::new(ErrorKind::Usage, format!("the prompt name `{own}` {error}"))
    })?;
    let root = Path::new(&*library.root);
    let folder = root.join("prompts");
    let file = folder.join(format!("{prompt}.md"));
    let manifest = root.join(MANIFEST);
    let shown = opened.places.shown(&manifest);
    let (base, inner) = base_of(root);
    let locked = LockedFile::open_beneath(base, &inner.join(MANIFEST));
    let locked = locked.map_err(|error| match error {
        LockError::Outside => outside(&shown),
        error => not_locked(&shown, &error),
    })?;
    let text = read(&locked).map_err(|error| {
        CommandError::fixable(format!("{shown} cannot be read: {}", reason(&error)))
    })?;
    if let Some(other) = declared(&text, &prompt) {
        let message = format!("library `{}` has a prompt `{other}` already", library.name);
        return Err(
            CommandError::fixable(message).hint("choose a name that differs in more than case")
        );
    }
    if file.exists() {
        let message = format!("{} is already there", opened.places.shown(&file));
        return Err(CommandError::fixable(message));
    }
    let hint = match read_toml(&text) {
        Ok(_) => "declare the prompt there by hand",
        Err(_) => "run `twig check`, fix the file, and try again",
    };
    let before = text;
    let text = with_table(&before, &prompt, description);
    if let Err(error) = read_toml(&text) {
        let message = format!("a table cannot be added to {shown}: {}", error.message);
        return Err(CommandError::fixable(message).hint(hint));
    }
    if folder.exists() && !is_inside(&folder, root) {
        return Err(outside(&opened.places.shown(&folder)));
    }
    write_new(
        &opened.places,
        base,
        &inner.join(format!("prompts/{prompt}.md")),
        &format!("Write what `{prompt}` should say here.\n"),
    )?;
    if let Err(error) = locked.replace(Some(before.as_bytes()), text.as_bytes(), NewFile::SHARED) {
        // A prompt that is not in the manifest would only get in the way of the next attempt.
        let _ = fs::remove_file(&file);
        return Err(CommandError::fixable(format!(
            "{shown} cannot be changed: {}",
            reason(&error)
        )));
    }
    ui.line(file.display().to_string())?;
    let full_name = format!("{}{}{prompt}", library.name, opened.config.separator);
    ui.say(format!(
        "created prompt `{full_name}`; edit the file, then try `twig render {full_name}{flags}`"
    ));
    Ok(())
}

/// The library and the prompt name in `LIBRARY:NAME`; the configured separator works too.
fn target<'c, 'n>(
    catalog: &'c Catalog,
    name: &'n str,
    separator: &str,
) -> Result<(&'c Library, &'n str), CommandError> {
    let libraries = || {
        catalog
            .libraries()
            .iter()
            .filter(|library| matches!(library.kind, LibraryKind::Twig | LibraryKind::Definitions))
    };
    let own = libraries().find_map(|library| {
        let rest = name.strip_prefix(library.name.as_str())?;
        let own = rest
            .strip_prefix(':')
            .or_else(|| rest.strip_prefix(separator))?;
        Some((&**library, own))
    });
    let Some((library, own)) = own else {
        let Some((wanted, _)) = name
            .split_once(':')
            .filter(|(wanted, _)| !wanted.is_empty())
        else {
            let message = format!("`{name}` does not name a library");
            let error = CommandError::new(ErrorKind::Usage, message);
            return Err(error.hint("write LIBRARY:NAME, such as `my_prompts:review`"));
        };
        let near = twig_core::suggest::did_you_mean(wanted, libraries().map(|l| l.name.as_str()));
        let hint = near.unwrap_or_else(|| format!("create it with `twig new library {wanted}`"));
        return Err(CommandError::fixable(format!("there is no library `{wanted}`")).hint(hint));
    };
    Ok((library, own))
}

/// The prompt in a manifest with this name, or with one that differs only in case.
fn declared(manifest: &str, prompt: &PromptName) -> Option<String> {
    let table = read_toml(manifest).ok()?;
    let TomlValue::Table(prompts) = &table.get("prompts")?.value else {
        return None;
    };
    let mut names = prompts.entries.iter().map(|entry| entry.key.to_string());
    names.find(|name| twin_key(name) == twin_key(prompt.as_str()))
}

/// The manifest with a table added.
fn with_table(manifest: &str, prompt: &PromptName, description: &str) -> String {
    let description = if description.is_empty() {
        "Say what this prompt does"
    } else {
        description
    };
    let table = PromptTable {
        name: prompt,
        title: None,
        description: Some(description),
        is_template: true,
        messages: &[],
        arguments: &[],
    };
    with_prompts(manifest, &[table])
}

fn is_inside(folder: &Path, root: &Path) -> bool {
    match (folder.canonicalize(), root.canonicalize()) {
        (Ok(folder), Ok(root)) => folder.starts_with(root),
        _ => false,
    }
}

fn cannot_make(places: &Places, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::fixable(format!(
        "{} cannot be created: {}",
        places.shown(path),
        reason(error)
    ))
}

/// Creates a new file beneath a folder.
fn write_new(places: &Places, base: &Path, path: &Path, text: &str) -> Result<(), CommandError> {
    let written = create_beneath(base, path, text.as_bytes());
    written.map_err(|error| cannot_make(places, &base.join(path), &error))
}

fn read(manifest: &LockedFile) -> io::Result<String> {
    let bytes = manifest.read()?.ok_or(IoErrorKind::NotFound)?;
    String::from_utf8(bytes).map_err(|_| IoErrorKind::InvalidData.into())
}

/// The folder that writes to a library may not leave, and the library's path beneath it. A `.twig`
/// folder is part of a project, which may belong to another user and replace it by a symlink.
fn base_of(root: &Path) -> (&Path, &Path) {
    match (root.parent(), root.file_name()) {
        (Some(project), Some(name)) if name == PROJECT => (project, Path::new(name)),
        _ => (root, Path::new("")),
    }
}

fn outside(shown: &str) -> CommandError {
    CommandError::fixable(format!("{shown} leads outside the library"))
}

const STARTER_MANIFEST: &str = r#"[library]
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
