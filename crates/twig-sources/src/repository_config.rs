//! A repository's own configuration: `config.toml` in its `.twig` folder.

use std::path::Path;

use twig_core::parse::documents::DocumentLayout;
use twig_core::parse::library::{LibraryRoot, MANIFEST};
use twig_core::parse::project::{CONFIG, ProjectConfig, project_config};
use twig_core::{BodyError, LibraryName, Limits};

use crate::listing::FileLister;
use crate::packages::REPOSITORY_WORDS;
use crate::platform::{this_user, user};
use crate::reader::{ReadFile, SavePatience, read_text};

/// Reads the configuration in a `.twig` folder; `None` if there is none, or if another user put the
/// folder there. Its problems are those that the folder's library reports.
pub fn repository_config(
    folder: &Path,
    limits: &Limits,
) -> Result<Option<ProjectConfig>, BodyError> {
    let file = read_config(folder, limits)?;
    Ok(file.and_then(|file| parse_config(folder, &file.text, limits)))
}

/// The content that a text would have as the configuration in a `.twig` folder.
pub fn repository_config_of(folder: &Path, text: &str, limits: &Limits) -> Option<ProjectConfig> {
    parse_config(folder, text, limits)
}

/// The file of the configuration.
pub(crate) fn read_config(folder: &Path, limits: &Limits) -> Result<Option<ReadFile>, BodyError> {
    if !is_of_this_person(folder) {
        return Ok(None);
    }
    match read_text(folder, CONFIG, limits.manifest, SavePatience::BODY) {
        Ok(read) => Ok(Some(read)),
        Err(BodyError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The configuration that a text describes; `None` if the folder's path cannot be written as text.
pub(crate) fn parse_config(folder: &Path, text: &str, limits: &Limits) -> Option<ProjectConfig> {
    let (name, root) = (LibraryName::from_folder("repository")?, folder.to_str()?);
    let root = LibraryRoot {
        name,
        root: root.into(),
        shown_root: root.into(),
        prefix: "".into(),
    };
    let usual = DocumentLayout::usual("", Vec::new());
    let has_manifest = folder.join(MANIFEST).exists();
    let files = FileLister::new(folder);
    let words = &REPOSITORY_WORDS;
    Some(project_config(
        &root,
        text,
        usual,
        has_manifest,
        &files,
        limits,
        words,
    ))
}

/// True if this user or root owns a folder: any user can create `.twig` in `/tmp`.
///
/// Where files have no users, every folder counts as this user's.
pub fn is_of_this_person(folder: &Path) -> bool {
    // Checks the symlink, not its target: the author of the symlink chose the target.
    let owner = folder.symlink_metadata().ok();
    let owner = owner.and_then(|metadata| user(&metadata));
    owner.is_none_or(|owner| owner == 0 || Some(owner) == this_user())
}
