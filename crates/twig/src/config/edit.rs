//! Edits `config.toml` and leaves every other byte as it is.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Item, Value};
use twig_core::{LibraryKind, Limits, Severity};
use twig_sources::{LockError, LockedFile, NewFile, WantedPackage, repository_config_of};

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
    /// The repository in which alone it is served, with `~` for home.
    pub(crate) repository: Option<String>,
    /// `instruct`, if the user chose it.
    pub(crate) shell_lines: Option<&'static str>,
}

/// The text of the configuration, for changing and saving.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// The path that the user knows.
    path: PathBuf,
    file: LockedFile,
    before: Option<String>,
    text: String,
    /// True for the file of a repository, which may say less than the user's.
    is_repository: bool,
}

impl ConfigFile {
    /// Reads the file; a missing one counts as empty. Until this is dropped, no other command
    /// changes the file.
    pub(crate) fn open(places: &Places) -> Result<Self, CommandError> {
        let Some(path) = places.config.clone() else {
            let error = CommandError::fixable("there is no place for the configuration");
            return Err(error.hint("set HOME or XDG_CONFIG_HOME to an absolute path"));
        };
        Self::open_at(places, path, false)
    }

    /// The same for the file of a repository, in its `.twig` folder.
    pub(crate) fn open_repository(places: &Places, path: &Path) -> Result<Self, CommandError> {
        Self::open_at(places, path.to_path_buf(), true)
    }

    fn open_at(places: &Places, path: PathBuf, is_repository: bool) -> Result<Self, CommandError> {
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
            is_repository,
        })
    }

    /// Adds a package after the existing entries.
    pub(crate) fn add_package(
        &mut self,
        places: &Places,
        package: &WantedPackage,
    ) -> Result<(), CommandError> {
        let mut pairs = vec![("source", Value::from(package.source.to_string()))];
        let reference = package.reference.clone();
        pairs.extend(reference.map(|it| ("ref", Value::from(it))));
        let path = package.path.as_ref().map(|it| it.as_str().to_owned());
        pairs.extend(path.map(|it| ("path", Value::from(it))));
        if !package.only.is_empty() {
            let only = package.only.iter().map(ToString::to_string);
            pairs.push(("only", Value::Array(only.collect())));
        }
        pairs.push(("name", Value::from(package.name.to_string())));
        self.add_entry(places, pairs)
    }

    /// Writes another reference for the package at an index.
    pub(crate) fn set_reference(
        &mut self,
        places: &Places,
        at: usize,
        reference: &str,
    ) -> Result<(), CommandError> {
        let value = Value::from(reference).to_string();
        let edited = self.edit(|file| {
            let item = match file.document.get("libraries")? {
                Item::ArrayOfTables(tables) => tables.get(at)?.get("ref")?,
                Item::Value(Value::Array(list)) => {
                    return file
                        .replace_value(list.get(at)?.as_inline_table()?.get("ref")?, &value);
                }
                _ => return None,
            };
            file.replace_value(item.as_value()?, &value)
        });
        self.text = edited.ok_or_else(changed)?;
        self.check_text(places)
    }

    /// Adds a folder after the existing ones.
    pub(crate) fn add(
        &mut self,
        places: &Places,
        entry: &LibraryEntry,
    ) -> Result<(), CommandError> {
        let texts = [
            ("path", Some(entry.path.clone())),
            ("kind", entry.kind.map(|kind| kind.as_str().to_owned())),
            ("name", entry.name.clone()),
            ("repository", entry.repository.clone()),
            ("shell_lines", entry.shell_lines.map(ToOwned::to_owned)),
        ];
        let pairs = texts.into_iter();
        let pairs = pairs.filter_map(|(key, text)| Some((key, Value::from(text?))));
        self.add_entry(places, pairs.collect())
    }

    fn add_entry(
        &mut self,
        places: &Places,
        pairs: Vec<(&str, Value)>,
    ) -> Result<(), CommandError> {
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| format!("{key} = {}", value.to_string().trim()));
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
        self.check_text(places)
    }

    /// Removes the entry at an index; its comments stay.
    pub(crate) fn remove(&mut self, places: &Places, at: usize) -> Result<(), CommandError> {
        let edited = self.edit(|file| match file.document.get("libraries")? {
            Item::ArrayOfTables(tables) => Some(file.cut(&file.parts(tables.get(at)?)?)),
            Item::Value(Value::Array(list)) => file.remove(list, at),
            _ => None,
        });
        self.text = edited.ok_or_else(changed)?;
        self.check_text(places)
    }

    /// Refuses a changed text that would be invalid.
    fn check_text(&self, places: &Places) -> Result<(), CommandError> {
        if !self.is_repository {
            return self.check(places).map(|_| ());
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let config = repository_config_of(folder, &self.text, &Limits::default());
        let problems = config.map(|config| config.problems).unwrap_or_default();
        match problems.iter().find(|it| it.severity == Severity::Error) {
            Some(problem) => {
                let shown = places.shown(&self.path);
                Err(CommandError::mistake(
                    "nothing was changed",
                    &shown,
                    problem,
                ))
            }
            None => Ok(()),
        }
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
            .replace(before, self.text.as_bytes(), self.new_file());
        written.map_err(|error| wrong(&error))
    }

    fn new_file(&self) -> NewFile {
        if self.is_repository {
            NewFile::SHARED
        } else {
            NewFile::PRIVATE
        }
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
