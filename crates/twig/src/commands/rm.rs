//! `twig rm`: deletes a prompt of a library: its table in `twig.toml` and its text, or its file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use toml_edit::Item;
use twig_core::template::includers;
use twig_core::{Catalog, Content, Latest, Library, LibraryKind, Lookup, Prompt, PromptRef};

use super::manifest_file::{ManifestFile, lock};
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::{path, question};
use crate::command_error::{CommandError, reason};
use crate::places::Places;
use crate::toml_file::TomlFile;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The prompt
    name: String,

    /// Delete without asking
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A prompt that was deleted, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct DeletedPrompt<'r> {
    name: &'r str,
    /// False if the user did not confirm it.
    changed: bool,
    /// The file that was removed, if it had one of its own.
    path: Option<String>,
}

pub(super) fn run(options: &RmArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = OpenedCatalog::open(&options.sources)?;
    let catalog = Latest::from(opened.live.snapshot());
    let found = prompt_named(&opened, &catalog, &options.name)?;
    let name = &*found.prompt.full_name;
    let places = &opened.places;
    let removal = Removal::of(places, found)?;
    let files: Vec<String> = removal.shown(places);
    let includers = included_in(&opened, &catalog, found);
    if !options.yes {
        let broken = includers.as_ref().map(|names| format!("; {names}"));
        let broken = broken.unwrap_or_default();
        let losing = format!("this removes {}{broken}", files.join(" and "));
        let unanswered = || {
            let message = format!(
                "prompt `{name}` was not deleted: this is not a terminal, so you cannot be asked to confirm it ({losing})"
            );
            CommandError::fixable(message).hint("use --yes to delete it without being asked")
        };
        let question = format!("delete prompt `{name}`? {losing}");
        if !question::ask(&question, unanswered, ui)? {
            ui.say("nothing was deleted");
            removal.print(name, false, options.json, ui)?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    removal.carry_out(places)?;
    ui.say(format!("deleted prompt `{name}`: {}", files.join(" and ")));
    if let Some(includers) = includers {
        ui.say(format!(
            "warning: {includers} and cannot be rendered without it"
        ));
    }
    removal.print(name, true, options.json, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// How many templates that include a prompt are named, besides the last.
const MOST_NAMED: usize = 4;

/// The beginning of a sentence about the templates that include a prompt, if there are any.
pub(super) fn included_in(
    opened: &OpenedCatalog,
    catalog: &Latest<'_>,
    found: PromptRef<'_>,
) -> Option<String> {
    let files = opened.world(catalog).template_files();
    let names: Vec<String> = includers(files, found).into_iter().collect();
    let (last, others) = names.split_last()?;
    let shown = &others[..others.len().min(MOST_NAMED)];
    let shown = shown.join("`, `");
    Some(match others.len() {
        0 => format!("`{last}` includes it"),
        1..=MOST_NAMED => format!("`{shown}` and `{last}` include it"),
        count => format!(
            "`{shown}` and {} other templates include it",
            count + 1 - MOST_NAMED
        ),
    })
}

/// The prompt with that name in a library's files; the error for a library names what removes it.
pub(super) fn prompt_named<'c>(
    opened: &OpenedCatalog,
    catalog: &'c Catalog,
    name: &str,
) -> Result<PromptRef<'c>, CommandError> {
    if let (Lookup::Missing, Some(library)) =
        (catalog.find_by_any_name(name), catalog.library(name))
        && library.stored().is_none()
    {
        let error = CommandError::fixable(format!("`{name}` is a library, not a prompt"));
        return Err(error.hint(format!(
            "`twig library remove {name}` stops serving a folder that was added; delete {} to delete the library",
            library.shown_root
        )));
    }
    let found = opened.find(catalog, name)?;
    if found.library.stored().is_some() {
        return Err(path::in_store(name));
    }
    path::refuse_package(found.library, name)?;
    Ok(found)
}

/// What is removed for a prompt.
struct Removal<'r> {
    library: &'r Library,
    /// The manifest and its text without the prompt.
    manifest: Option<(ManifestFile, String)>,
    /// The file of its text, from the library's folder.
    file: Option<PathBuf>,
}

impl<'r> Removal<'r> {
    fn of(places: &Places, found: PromptRef<'r>) -> Result<Self, CommandError> {
        let PromptRef {
            library, prompt, ..
        } = found;
        let by_hand = |what: &str| {
            let message = format!("`{}` {what}", prompt.full_name);
            let hint = format!("delete it by hand: {}", library.shown_root);
            Err(CommandError::fixable(message).hint(hint))
        };
        match library.kind {
            LibraryKind::Twig => Ok(Self {
                library,
                manifest: Some(without(places, library, prompt)?),
                file: own_file(library, prompt),
            }),
            LibraryKind::Skills => by_hand("is a skill, which is a folder of files"),
            LibraryKind::Functions => by_hand("is a function of prompts.bash"),
            _ => {
                let messages = prompt.messages.iter();
                let mut files = messages.filter_map(|it| it.content.file());
                match files.next() {
                    Some(file) => Ok(Self {
                        library,
                        manifest: None,
                        file: Some(file.as_str().into()),
                    }),
                    None => by_hand("has no file of its own"),
                }
            }
        }
    }

    fn print(
        &self,
        name: &str,
        changed: bool,
        json: bool,
        ui: &mut Ui,
    ) -> Result<(), CommandError> {
        if !json {
            return Ok(());
        }
        let path = self.file.iter().filter(|_| changed);
        let path = path.map(|file| self.library.path_of(file.display())).next();
        ui.json(&DeletedPrompt {
            name,
            changed,
            path,
        })
    }

    /// Its parts, for people.
    fn shown(&self, places: &Places) -> Vec<String> {
        let manifest = self.manifest.iter();
        let manifest = manifest.map(|(file, _)| format!("its table in {}", file.shown));
        let file = self.file.iter();
        let file = file.map(|path| places.shown(&Path::new(&*self.library.root).join(path)));
        manifest.chain(file).collect()
    }

    fn carry_out(&self, places: &Places) -> Result<(), CommandError> {
        if let Some((manifest, text)) = &self.manifest {
            manifest.replace(text)?;
        }
        let Some(path) = &self.file else {
            return Ok(());
        };
        let root = Path::new(&*self.library.root);
        let locked = lock(places, root, path)?;
        let removed = locked.read().and_then(|bytes| match bytes {
            Some(bytes) => locked.remove(&bytes),
            None => Ok(()),
        });
        removed.map_err(|error| {
            let shown = places.shown(&root.join(path));
            CommandError::fixable(format!("{shown} cannot be deleted: {}", reason(&error)))
        })
    }
}

/// The manifest of a prompt, and its text without the prompt's tables.
fn without(
    places: &Places,
    library: &Library,
    prompt: &Prompt,
) -> Result<(ManifestFile, String), CommandError> {
    let manifest = ManifestFile::open(places, library)?;
    let text = edited(&manifest, |file, prompts| {
        let parts = file.parts_of_item(prompts, prompt.name.as_str())?;
        Some(file.cut(&parts))
    })?;
    Ok((manifest, text))
}

/// A manifest's text after a change of its prompts.
pub(super) fn edited(
    manifest: &ManifestFile,
    change: impl FnOnce(&TomlFile<'_>, &toml_edit::Table) -> Option<String>,
) -> Result<String, CommandError> {
    let shown = &manifest.shown;
    let file = TomlFile::parse(&manifest.text)
        .map_err(|error| CommandError::fixable(format!("{shown} cannot be changed: {error}")))?;
    let text = match file.document.as_table().get("prompts") {
        Some(Item::Table(prompts)) => change(&file, prompts),
        _ => None,
    };
    let text = text.filter(|text| TomlFile::parse(text).is_ok());
    text.ok_or_else(|| {
        let message = format!("the prompt's lines in {shown} cannot be told from the others");
        CommandError::fixable(message).hint("change them by hand")
    })
}

/// The file of a prompt's text, if it has the prompt's name and no other prompt uses it.
pub(super) fn own_file(library: &Library, prompt: &Prompt) -> Option<PathBuf> {
    let path = format!("prompts/{}.md", prompt.name);
    let uses_it = |other: &Prompt| {
        let messages = other.messages.iter();
        let mut files = messages.filter_map(|it| match &it.content {
            Content::File(file) => Some(file.as_str()),
            _ => None,
        });
        files.any(|file| file == path)
    };
    let mut others = library.prompts.iter().filter(|it| it.name != prompt.name);
    let is_own = uses_it(prompt) && !others.any(|other| uses_it(other));
    is_own.then(|| PathBuf::from(path))
}
