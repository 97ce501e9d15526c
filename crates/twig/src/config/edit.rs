//! Edits `config.toml` and leaves every other byte as it is.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Item, Value};
use twig_core::LibraryKind;
use twig_sources::{LockError, LockedFile, NewFile};

use super::{Config, parse};
use crate::command_error::{CommandError, not_locked, reason};
use crate::places::Places;
use crate::toml_file::TomlFile;

/// A folder to add, as it is written.
#[derive(Debug, Clone)]
pub(crate) struct LibraryEntry {
    /// The path, with `~` for home.
    pub(crate) path: String,
    pub(crate) kind: Option<LibraryKind>,
    pub(crate) name: Option<String>,
}

/// The text of the configuration, for changing and saving.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// The path that the user knows.
    path: PathBuf,
    file: LockedFile,
    before: Option<String>,
    text: String,
}

impl ConfigFile {
    /// Reads the file; a missing one counts as empty. Until this is dropped, no other command
    /// changes the file.
    pub(crate) fn open(places: &Places) -> Result<Self, CommandError> {
        let Some(path) = places.config.clone() else {
            let error = CommandError::fixable("there is no place for the configuration");
            return Err(error.hint("set HOME or XDG_CONFIG_HOME to an absolute path"));
        };
        let file = LockedFile::open(&path).map_err(|error| match error {
            LockError::Io(error) => trouble(places, &path, "written", &error),
            error => not_locked(&places.shown(&path), &error),
        })?;
        let before = file.read().and_then(|bytes| {
            let text = bytes.map(String::from_utf8).transpose();
            text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        });
        let before = before.map_err(|error| trouble(places, &path, "read", &error))?;
        let text = before.clone().unwrap_or_default();
        Ok(Self {
            path,
            file,
            before,
            text,
        })
    }

    /// Adds a folder after the existing ones.
    pub(crate) fn add(
        &mut self,
        places: &Places,
        entry: &LibraryEntry,
    ) -> Result<(), CommandError> {
        let mut pairs = vec![("path", entry.path.clone())];
        pairs.extend(entry.kind.map(|kind| ("kind", kind.as_str().to_owned())));
        pairs.extend(entry.name.clone().map(|name| ("name", name)));
        let pairs = pairs.into_iter().map(|(key, text)| {
            let value = Value::from(text);
            format!("{key} = {}", value.to_string().trim())
        });
        let edited = self.edit(|file| {
            if let Some(Item::Value(Value::Array(list))) = file.document.get("libraries") {
                let pairs: Vec<String> = pairs.collect();
                file.push(list, &format!("{{ {} }}", pairs.join(", ")))
            } else {
                let header = "[[libraries]]".to_owned();
                Some(file.append(&[header].into_iter().chain(pairs).collect::<Vec<_>>()))
            }
        });
        self.text = edited.ok_or_else(changed)?;
        self.check(places).map(|_| ())
    }

    /// Removes the entry at an index; its comments stay.
    pub(crate) fn remove(&mut self, places: &Places, at: usize) -> Result<(), CommandError> {
        let edited = self.edit(|file| match file.document.get("libraries")? {
            Item::ArrayOfTables(tables) => Some(file.cut(&file.parts(tables.get(at)?)?)),
            Item::Value(Value::Array(list)) => file.remove(list, at),
            _ => None,
        });
        self.text = edited.ok_or_else(changed)?;
        self.check(places).map(|_| ())
    }

    /// Writes the file, unless another program changed it. A symlink stays one, and the file keeps its
    /// owner and permissions.
    pub(crate) fn save(self, places: &Places) -> Result<(), CommandError> {
        if self.before.as_deref() == Some(&*self.text) {
            return Ok(());
        }
        let wrong = |error: &io::Error| trouble(places, &self.path, "written", error);
        let before = self.before.as_ref().map(String::as_bytes);
        let now = self.file.read().map_err(|error| wrong(&error))?;
        if now.as_deref() != before {
            let shown = places.shown(&self.path);
            let message = format!("{shown} changed meanwhile and was left as it is");
            return Err(CommandError::fixable(message).hint("try again"));
        }
        let written = self
            .file
            .replace(before, self.text.as_bytes(), NewFile::PRIVATE);
        written.map_err(|error| wrong(&error))
    }

    /// The configuration that the changed text describes, or an error if it would be invalid.
    pub(crate) fn check(&self, places: &Places) -> Result<Config, CommandError> {
        parse(places, &self.path, &self.text)
    }

    fn edit(&self, edit: impl FnOnce(&TomlFile<'_>) -> Option<String>) -> Option<String> {
        edit(&TomlFile::parse(&self.text).ok()?)
    }
}

fn changed() -> CommandError {
    CommandError::fixable("the configuration changed meanwhile: try again")
}

fn trouble(places: &Places, path: &Path, what: &str, error: &io::Error) -> CommandError {
    CommandError::fixable(format!(
        "the configuration {} cannot be {what}: {}",
        places.shown(path),
        reason(error)
    ))
}

#[cfg(test)]
mod tests;
