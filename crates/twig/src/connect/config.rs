//! One client's configuration file: its servers, and its text with one added or removed.

use std::io;
use std::path::{Path, PathBuf};

use twig_sources::{LockedFile, NewFile, read_file};

use super::clients::{ConfigScope, ConnectClient, Syntax};
use super::diff::{Side, diff};
use super::server_entry::{ServerEntry, ServerTarget};
use super::yaml::{self, YamlPlace};
use super::{file, jsonc, toml};
use crate::edit_error::EditError;

/// A file that was read.
#[derive(Debug)]
pub(crate) struct ClientConfig {
    pub(crate) client: ConnectClient,
    pub(crate) scope: ConfigScope,
    pub(crate) path: PathBuf,
    /// `None` if the file does not exist.
    pub(crate) text: Option<String>,
    pub(crate) entries: Vec<ServerEntry>,
    /// Prevents other commands from changing the file; `None` if it is only read.
    pub(crate) file: Option<LockedFile>,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    #[error("it cannot be written")]
    Write(#[source] io::Error),
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// A file without our entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Without {
    /// `None` if the file is removed, since it had nothing but our entry.
    pub(crate) text: Option<String>,
    /// The backup that is now identical to it.
    pub(crate) backup: Option<PathBuf>,
}

impl ClientConfig {
    /// Reads a file without locking it.
    pub(crate) fn read(
        client: ConnectClient,
        scope: ConfigScope,
        path: PathBuf,
    ) -> Result<Self, ConfigError> {
        let bytes = read_file(&path);
        Self::of(client, scope, path, bytes, None)
    }

    /// Reads a file that will be changed.
    pub(crate) fn read_locked(
        client: ConnectClient,
        scope: ConfigScope,
        path: PathBuf,
        file: LockedFile,
    ) -> Result<Self, ConfigError> {
        let bytes = file.read();
        Self::of(client, scope, path, bytes, Some(file))
    }

    fn of(
        client: ConnectClient,
        scope: ConfigScope,
        path: PathBuf,
        bytes: io::Result<Option<Vec<u8>>>,
        file: Option<LockedFile>,
    ) -> Result<Self, ConfigError> {
        let bytes = bytes.map_err(ConfigError::Read)?;
        let text = bytes.map(String::from_utf8).transpose();
        let text = text.map_err(|_| ConfigError::Read(io::ErrorKind::InvalidData.into()))?;
        let entries = text
            .as_deref()
            .map_or(Ok(Vec::new()), |text| entries(client, text))?;
        Ok(Self {
            client,
            scope,
            path,
            text,
            entries,
            file,
        })
    }

    /// A file that has no place for servers, and so has none.
    pub(crate) fn without_servers(
        client: ConnectClient,
        scope: ConfigScope,
        path: PathBuf,
    ) -> Self {
        Self {
            client,
            scope,
            path,
            text: None,
            entries: Vec::new(),
            file: None,
        }
    }

    /// A change as a diff that shows only our own text.
    pub(crate) fn diff(&self, name: &str, after: Option<&str>) -> Vec<String> {
        let entries = after.map(|text| entries(self.client, text));
        let entries = entries.and_then(Result::ok).unwrap_or_default();
        let next = entries.iter().rev().find(|entry| entry.name == name);
        let raw = |entry: Option<&ServerEntry>| entry.map_or_else(String::new, |it| it.raw.clone());
        let before = Side {
            text: self.text.as_deref(),
            own: &raw(self.entry(name)),
        };
        let after = Side {
            text: after,
            own: &raw(next),
        };
        diff(&self.path.display().to_string(), before, after)
    }

    /// The server with that name; clients that read a name twice use the last one.
    pub(crate) fn entry(&self, name: &str) -> Option<&ServerEntry> {
        self.entries.iter().rev().find(|entry| entry.name == name)
    }

    /// The servers that are Twig.
    pub(crate) fn twigs(&self) -> impl Iterator<Item = &ServerEntry> {
        self.entries.iter().filter(|entry| entry.is_twig())
    }

    /// The file with an entry.
    pub(crate) fn with(&self, name: &str, target: &ServerTarget) -> Result<String, ConfigError> {
        let text = self.text.as_deref().unwrap_or_default();
        Ok(with(self.client, text, name, target)?)
    }

    /// The file with the target's program in an otherwise equal entry: what the user or the client
    /// added to the entry stays.
    pub(crate) fn with_program(
        &self,
        name: &str,
        target: &ServerTarget,
    ) -> Result<String, ConfigError> {
        let ServerTarget::Program(launch) = target else {
            return self.with(name, target);
        };
        let (text, program) = (self.text.as_deref().unwrap_or_default(), &launch.program);
        let (keys, _) = self.client.layout(text);
        let edited = match self.client.syntax() {
            Syntax::Jsonc => jsonc::set_program(text, keys, name, program)?,
            Syntax::Toml => toml::set_program(text, keys[0], name, program)?,
            syntax => yaml::set_program(text, yaml_place(keys, syntax), name, program)?,
        };
        edited.map_or_else(|| self.with(name, target), Ok)
    }

    /// True if the file is what Twig writes where there was none: then it does not show that the
    /// client is installed.
    pub(crate) fn has_only_twig(&self) -> bool {
        let mut twigs = self.twigs();
        let first = twigs.next().filter(|_| twigs.next().is_none());
        let made = first.and_then(|entry| {
            let target = entry.target.as_ref()?;
            with(self.client, "", &entry.name, target).ok()
        });
        made.is_some() && made == self.text
    }

    /// The file without an entry: identical to its earlier state if nothing else changed since.
    pub(crate) fn without(&self, name: &str) -> Result<Without, ConfigError> {
        let text = self.text.as_deref().unwrap_or_default();
        if let Some((backup, before)) = self.origin(name)? {
            return Ok(Without {
                text: Some(before),
                backup: Some(backup),
            });
        }
        let target = self.entry(name).and_then(|entry| entry.target.as_ref());
        let made = target.and_then(|target| with(self.client, "", name, target).ok());
        if made.as_deref() == Some(text) {
            return Ok(Without {
                text: None,
                backup: None,
            });
        }
        // The newest backup shows which objects existed before our entry.
        let backups = self.backups()?;
        let newest = backups.iter().rev().find_map(|(_, text)| text.as_deref());
        let (keys, _) = self.client.layout(text);
        let edited = match self.client.syntax() {
            Syntax::Jsonc => {
                let kept = newest.map_or(0, |newest| jsonc::depth(newest, keys));
                jsonc::remove(text, keys, name, kept)?
            }
            Syntax::Toml => {
                let kept = newest.is_some_and(|newest| toml::has_container(newest, keys[0]));
                toml::remove(text, keys[0], name, kept)?
            }
            syntax => {
                let place = yaml_place(keys, syntax);
                let kept = newest.is_some_and(|newest| yaml::has_container(newest, place));
                yaml::remove(text, place, name, kept)?
            }
        };
        Ok(Without {
            text: Some(edited),
            backup: None,
        })
    }

    /// The backup that equals this file except for our entry.
    pub(crate) fn origin(&self, name: &str) -> Result<Option<(PathBuf, String)>, ConfigError> {
        let target = self.entry(name).and_then(|entry| entry.target.as_ref());
        let Some(target) = target else {
            return Ok(None);
        };
        let backups = self.backups()?;
        let mut copies = backups.into_iter().rev();
        Ok(copies.find_map(|(path, before)| {
            let before = before?;
            let again = with(self.client, &before, name, target).ok();
            (again == self.text).then_some((path, before))
        }))
    }

    fn backups(&self) -> Result<Vec<(PathBuf, Option<String>)>, ConfigError> {
        file::backups(&self.path, self.file.as_ref()).map_err(ConfigError::Read)
    }

    fn locked(&self) -> Result<&LockedFile, ConfigError> {
        let unlocked = || ConfigError::Write(io::Error::other("it is not locked"));
        self.file.as_ref().ok_or_else(unlocked)
    }

    /// Copies the file to a backup next to it and returns its path.
    pub(crate) fn back_up(&self) -> Result<Option<PathBuf>, ConfigError> {
        let file = self.locked()?;
        let copy = |text: &String| file::back_up(&self.path, file, text);
        let kept = self.text.as_ref().map(copy).transpose();
        kept.map_err(ConfigError::Write)
    }

    /// Writes the file, or removes it.
    pub(crate) fn write(&self, text: Option<&str>) -> Result<(), ConfigError> {
        let before = self.text.as_ref().map(String::as_bytes);
        // A user's new file may come to hold secrets; a project's file is shared.
        let new = match self.scope {
            ConfigScope::User => NewFile::PRIVATE,
            ConfigScope::Project => NewFile::SHARED,
        };
        let new = NewFile {
            keeps_owner: true,
            ..new
        };
        let file = self.locked()?;
        let written = match text {
            Some(text) => file.replace(before, text.as_bytes(), new),
            None => file.remove(before.unwrap_or_default()),
        };
        written.map_err(ConfigError::Write)
    }

    /// Removes a backup that is identical to the file again; one that stays does no harm.
    pub(crate) fn remove_backup(&self, copy: &Path) {
        if let (Some(file), Some(name)) = (&self.file, copy.file_name()) {
            let _ = file.remove_beside(name);
        }
    }
}

fn entries(client: ConnectClient, text: &str) -> Result<Vec<ServerEntry>, EditError> {
    let (keys, _) = client.layout(text);
    let listed = match client.syntax() {
        Syntax::Jsonc => jsonc::entries(text, keys)?,
        Syntax::Toml => toml::entries(text, keys[0])?,
        syntax => yaml::entries(text, yaml_place(keys, syntax))?,
    };
    let listed = listed.into_iter();
    Ok(listed
        .map(|(name, value, raw)| ServerEntry::read(name, &value, raw))
        .collect())
}

fn with(
    client: ConnectClient,
    text: &str,
    name: &str,
    target: &ServerTarget,
) -> Result<String, EditError> {
    let (keys, form) = client.layout(text);
    let entry = target.entry(form, client.remote(), name);
    let text = if text.is_empty() {
        client.new_file()
    } else {
        text
    };
    match client.syntax() {
        Syntax::Jsonc => jsonc::set(text, keys, name, &entry),
        Syntax::Toml => toml::set(text, keys[0], name, &entry),
        syntax => yaml::set(text, yaml_place(keys, syntax), name, &entry),
    }
}

/// Where the servers are in a YAML file.
fn yaml_place(keys: &'static [&'static str], syntax: Syntax) -> YamlPlace {
    YamlPlace {
        key: keys[0],
        is_list: syntax == Syntax::YamlList,
    }
}
