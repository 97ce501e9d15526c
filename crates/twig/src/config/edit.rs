//! Changes to `config.toml` that leave every other byte as it is.

mod list;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Value};
use twig_core::Kind;
use twig_core::depth;
use twig_sources::{LockError, LockedFile, NewFile};

use super::{Config, parse};
use crate::command_error::{CommandError, not_locked, reason};
use crate::places::Places;

/// A folder to remember, as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The path, `~` for home.
    pub(crate) path: String,
    pub(crate) kind: Option<Kind>,
    pub(crate) name: Option<String>,
}

/// The configuration's text, to be changed and saved.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// Where the person looks for it.
    path: PathBuf,
    file: LockedFile,
    before: Option<String>,
    text: String,
}

impl ConfigFile {
    /// Reads the file; one that is not there is empty. Until this is dropped, no other command changes
    /// it.
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

    /// Adds a folder after those that are there.
    pub(crate) fn add(&mut self, places: &Places, entry: &Entry) -> Result<(), CommandError> {
        let end = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let mut lines = vec![("path", entry.path.clone())];
        lines.extend(entry.kind.map(|kind| ("kind", kind.as_str().to_owned())));
        lines.extend(entry.name.clone().map(|name| ("name", name)));
        let pairs = lines.into_iter().map(|(key, text)| {
            let value = Value::from(text);
            format!("{key} = {}", value.to_string().trim())
        });
        let pairs: Vec<String> = pairs.collect();
        if let Some(list) = self.inline_list() {
            let separator = if list.is_empty { "" } else { ", " };
            let table = format!("{separator}{{ {} }}", pairs.join(", "));
            self.text.insert_str(list.end, &table);
        } else {
            if !self.text.is_empty() {
                let missing = if self.text.ends_with('\n') { "" } else { end };
                self.text.push_str(missing);
                self.text.push_str(end);
            }
            for line in ["[[libraries]]"]
                .into_iter()
                .chain(pairs.iter().map(|it| &**it))
            {
                self.text.push_str(line);
                self.text.push_str(end);
            }
        }
        self.check(places).map(|_| ())
    }

    /// Takes out the entry at a place; its comments stay.
    pub(crate) fn remove(&mut self, places: &Places, at: usize) -> Result<(), CommandError> {
        let missing = || CommandError::fixable("the configuration changed meanwhile: try again");
        let mut cuts = self.cuts_of(at).ok_or_else(missing)?;
        cuts.sort_by_key(|cut| cut.start);
        for cut in cuts.into_iter().rev() {
            self.text.replace_range(cut, "");
        }
        self.check(places).map(|_| ())
    }

    /// Writes the file in place of the old one: whoever reads sees one or the other, whole. A link
    /// stays one, and who may read the file stays as it was.
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
        let written = self.file.replace(before, self.text.as_bytes(), NewFile::PRIVATE);
        written.map_err(|error| wrong(&error))
    }

    /// What the changed text says; an error where it would say nothing any more.
    pub(crate) fn check(&self, places: &Places) -> Result<Config, CommandError> {
        parse(places, &self.path, &self.text)
    }

    fn document(&self) -> Option<Document<&str>> {
        depth::toml(&self.text).ok()?;
        Document::parse(self.text.as_str()).ok()
    }

    /// Where `libraries` is an array in one go, if it is.
    fn inline_list(&self) -> Option<InlineList> {
        let document = self.document()?;
        let Item::Value(Value::Array(array)) = document.get("libraries")? else {
            return None;
        };
        let last = array.iter().last().and_then(Value::span);
        let own = array.span()?;
        Some(InlineList {
            end: last.map_or(own.start + 1, |last| last.end),
            is_empty: array.is_empty(),
        })
    }

    /// The bytes of an entry: whole lines, or a table of an array with its comma.
    fn cuts_of(&self, at: usize) -> Option<Vec<Range<usize>>> {
        let document = self.document()?;
        match document.get("libraries")? {
            Item::ArrayOfTables(tables) => {
                let table = tables.get(at)?;
                let header = table.span()?;
                let values = table.iter().filter_map(|(_, item)| item.span());
                let end = values.map(|span| span.end).max().unwrap_or(header.end);
                let start = self.text[..header.start].rfind('\n').map_or(0, |at| at + 1);
                let end = end.max(header.end);
                let end = self.text[end..]
                    .find('\n')
                    .map_or(self.text.len(), |at| end + at + 1);
                Some(vec![self.with_blank_lines(start..end)])
            }
            Item::Value(Value::Array(array)) => {
                let spans: Vec<Range<usize>> = array.iter().filter_map(Value::span).collect();
                let before = at.checked_sub(1).map(|before| spans[before].end);
                list::cuts(&self.text, spans.get(at)?.clone(), before)
            }
            _ => None,
        }
    }

    /// Lines, and the empty one in front of them, which somebody put there for them.
    fn with_blank_lines(&self, lines: Range<usize>) -> Range<usize> {
        let before = &self.text[..lines.start];
        let blank = ["\r\n\r\n", "\n\n"]
            .into_iter()
            .find(|end| before.ends_with(end));
        let start = lines.start - blank.map_or(0, |end| end.len() / 2);
        start..lines.end
    }
}

struct InlineList {
    /// Where the next one goes.
    end: usize,
    is_empty: bool,
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
