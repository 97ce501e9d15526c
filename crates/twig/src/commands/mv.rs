//! `twig mv`: gives a prompt of a library another name, and the file of its text with it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::name::twin_key;
use twig_core::parse::{TomlValue, read_toml};
use twig_core::{Latest, Library, LibraryKind, Prompt, PromptName};

use super::manifest_file::{ManifestFile, create, lock};
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::origin::OriginRow;
use super::path;
use super::rm::{edited, included_in, own_file, prompt_named};
use crate::command_error::{CommandError, ErrorKind, reason};
use crate::places::Places;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct MvArgs {
    /// The prompt
    name: String,

    /// Its new name, with or without the library's
    #[arg(value_name = "NEW")]
    new: String,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A prompt that has another name now, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct RenamedPrompt<'r> {
    old_name: &'r str,
    name: &'r str,
}

pub(super) fn run(options: &MvArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open(&options.sources)?;
    let catalog = Latest::from(opened.live.snapshot());
    let found = prompt_named(&opened, &catalog, &options.name)?;
    let (library, prompt) = (found.library, found.prompt);
    let new = new_name(library, &options.new, &opened.config.separator)?;
    if library.kind != LibraryKind::Twig {
        return Err(named_elsewhere(library, prompt, &opened.places));
    }
    let prefix = prompt.full_name.strip_suffix(prompt.name.as_str());
    let full_name = format!("{}{new}", prefix.unwrap_or_default());
    let twin = |other: &&std::sync::Arc<Prompt>| {
        other.name != prompt.name && twin_key(other.name.as_str()) == twin_key(new.as_str())
    };
    if new == prompt.name {
        let message = format!("prompt `{full_name}` has that name already");
        return Err(CommandError::fixable(message));
    }
    if let Some(other) = library.prompts.iter().find(twin) {
        let message = format!(
            "library `{}` has a prompt `{}` already",
            library.name, other.name
        );
        return Err(CommandError::fixable(message).hint("choose another name"));
    }
    let includers = included_in(&opened, &catalog, found);
    rename(&opened.places, library, prompt, &new)?;
    ui.say(format!("renamed `{}` to `{full_name}`", prompt.full_name));
    if let Some(includers) = includers {
        ui.say(format!(
            "warning: {includers} by its old name: write the new one there"
        ));
    }
    if options.json {
        ui.json(&RenamedPrompt {
            old_name: &prompt.full_name,
            name: &full_name,
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The error for a prompt whose name is not in a manifest: it says where the name is.
fn named_elsewhere(library: &Library, prompt: &Prompt, places: &Places) -> CommandError {
    let name = &prompt.full_name;
    let OriginRow::File { path, .. } = OriginRow::of_prompt(library, prompt) else {
        return path::in_store(name);
    };
    let file = places.shown(Path::new(&path));
    let edit = format!("`twig edit {name}`");
    let (where_it_is, hint) = match library.kind {
        LibraryKind::Definitions => ("the `name` in", format!("change it there: {edit}")),
        LibraryKind::Functions => ("the function's name in", format!("change it there: {edit}")),
        LibraryKind::Skills => (
            "the skill in",
            "rename its folder, and `name` in it".to_owned(),
        ),
        _ => (
            "",
            "rename the file, or change the `name` at its top if it has one".to_owned(),
        ),
    };
    let place = format!("{where_it_is} {file}");
    let message = format!(
        "prompt `{name}` was not renamed: its name comes from {}",
        place.trim()
    );
    CommandError::fixable(message).hint(hint)
}

/// The new name, which has to stay in the library.
fn new_name(library: &Library, new: &str, separator: &str) -> Result<PromptName, CommandError> {
    let own = [":", separator].into_iter().find_map(|separator| {
        let rest = new.strip_prefix(library.name.as_str())?;
        rest.strip_prefix(separator)
    });
    let own = own.unwrap_or(new);
    if own.contains(':') {
        let message = format!("`{new}` is not in library `{}`", library.name);
        let error = CommandError::fixable(message);
        return Err(
            error.hint("a prompt keeps its library: make a new one there, then `twig rm` this")
        );
    }
    PromptName::parse(own).map_err(|error| {
        CommandError::new(ErrorKind::Usage, format!("the prompt name `{own}` {error}"))
    })
}

fn rename(
    places: &Places,
    library: &Library,
    prompt: &Prompt,
    new: &PromptName,
) -> Result<(), CommandError> {
    let manifest = ManifestFile::open(places, library)?;
    let text = edited(&manifest, |file, prompts| {
        file.rename_item(prompts, prompt.name.as_str(), &new.as_toml_key())
    })?;
    let root = Path::new(&*library.root);
    let names_its_file = is_named(&manifest.text, prompt);
    let Some(old_file) = own_file(library, prompt).filter(|_| !names_its_file) else {
        return manifest.replace(&text);
    };
    // The new file comes first: a server that looks in between serves the old name still.
    let new_file = PathBuf::from(format!("prompts/{new}.md"));
    let locked = lock(places, root, &old_file)?;
    let shown = places.shown(&root.join(&old_file));
    let cannot = |error: &std::io::Error| {
        CommandError::fixable(format!("{shown} cannot be moved: {}", reason(error)))
    };
    let bytes = locked.read().map_err(|error| cannot(&error))?;
    let bytes = bytes.unwrap_or_default();
    create(places, root, &new_file, &bytes)?;
    if let Err(error) = manifest.replace(&text) {
        let _ = std::fs::remove_file(root.join(&new_file));
        return Err(error);
    }
    locked.remove(&bytes).map_err(|error| cannot(&error))
}

/// Whether the manifest names the files of a prompt, instead of leaving that to its name.
fn is_named(manifest: &str, prompt: &Prompt) -> bool {
    let root = read_toml(manifest).unwrap_or_default();
    let prompts = root.get("prompts").map(|item| &item.value);
    let Some(TomlValue::Table(prompts)) = prompts else {
        return true;
    };
    match prompts.get(prompt.name.as_str()).map(|item| &item.value) {
        Some(TomlValue::Table(table)) => ["file", "messages"]
            .iter()
            .any(|key| table.get(key).is_some()),
        _ => true,
    }
}
