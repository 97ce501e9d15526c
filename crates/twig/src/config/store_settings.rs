//! `[store]`: where workspaces are, and whether servers offer their prompts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use twig_core::parse::{Table, TomlItem, TomlValue};
use twig_sources::StorePlace;

use super::observed::{path, unknown};
use crate::command_error::{CommandError, reason};
use crate::places::Places;

/// The settings that a variable can set besides `serve` and the number.
pub(super) const TEXTS: [&str; 2] = ["url", "url_file"];

/// The settings that are numbers.
pub(super) const NUMBERS: [&str; 1] = ["freshness_millis"];

/// How old an answer may be by default.
const FRESHNESS: Duration = Duration::from_millis(50);

/// The longest such time: a day.
const LONGEST_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// The longest file with a URL.
const LONGEST_URL: u64 = 64 * 1024;

/// Where workspaces are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreSettings {
    /// The database; a folder of files without one.
    url: Option<String>,
    /// A file with that URL, which has a password in it.
    url_file: Option<PathBuf>,
    /// How old an answer may be.
    freshness: Duration,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            url: None,
            url_file: None,
            freshness: FRESHNESS,
        }
    }
}

impl StoreSettings {
    /// The database or the folder; `None` if there is a place for neither.
    pub(crate) fn place(&self, places: &Places) -> Result<Option<StorePlace>, CommandError> {
        let url = match (&self.url, &self.url_file) {
            (Some(url), _) => Some(url.clone()),
            (None, Some(file)) => Some(read_url(places, file)?),
            (None, None) => None,
        };
        Ok(match url {
            Some(url) => Some(StorePlace::database(&url, self.freshness)?),
            None => places.workspaces.clone().map(StorePlace::folder),
        })
    }

    /// The place that somebody names at the command line: a URL, `@FILE`, or the folder.
    pub(crate) fn named(place: &str) -> Self {
        let mut settings = Self::default();
        match place.strip_prefix('@') {
            Some(file) => settings.url_file = Some(file.into()),
            None if place != "files" => settings.url = Some(place.to_owned()),
            None => {}
        }
        settings
    }

    /// Whether workspaces are in a database.
    pub(crate) fn is_database(&self) -> bool {
        self.url.is_some() || self.url_file.is_some()
    }

    /// Reads the table; returns whether servers offer the prompts, if it says so.
    pub(super) fn read<'t, 'a>(
        &mut self,
        places: &Places,
        config: &Path,
        table: &'t Table<'a>,
    ) -> Result<Option<bool>, (String, &'t TomlItem<'a>)> {
        let mut serves = None;
        for entry in &table.entries {
            let item = &entry.item;
            match (&*entry.key, &item.value) {
                ("serve", TomlValue::Bool(value)) => serves = Some(*value),
                ("serve", _) => return Err(("`serve` has to be true or false".to_owned(), item)),
                ("url", TomlValue::Text(text)) if is_url(text) => {
                    self.url = Some(text.trim().to_owned());
                }
                ("url", _) => {
                    let message = "`url` is the address of a PostgreSQL database, such as \
                        \"postgres://twig@db.example/twig\"";
                    return Err((message.to_owned(), item));
                }
                ("url_file", TomlValue::Text(text)) if !text.trim().is_empty() => {
                    self.url_file = Some(path(places, config, text.trim()));
                }
                ("url_file", _) => {
                    let message = "`url_file` is the path of a file with the URL of a database";
                    return Err((message.to_owned(), item));
                }
                ("freshness_millis", TomlValue::Integer(millis))
                    if (0..=LONGEST_MILLIS).contains(millis) =>
                {
                    self.freshness = Duration::from_millis(millis.unsigned_abs());
                }
                ("freshness_millis", _) => {
                    let message = format!(
                        "`freshness_millis` has to be a whole number from 0 to {LONGEST_MILLIS}"
                    );
                    return Err((message, item));
                }
                (key, _) => {
                    let known = ["serve", "url", "url_file", "freshness_millis"];
                    return Err((unknown(key, "store", &known), item));
                }
            }
        }
        Ok(serves)
    }
}

fn is_url(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

fn read_url(places: &Places, file: &Path) -> Result<String, CommandError> {
    let cannot = |why: String| {
        let shown = places.shown(file);
        CommandError::fixable(format!("the URL of the store in {shown} {why}"))
    };
    let length = std::fs::metadata(file).map(|found| found.len());
    let text = match length {
        Ok(length) if length > LONGEST_URL => return Err(cannot("is too long".to_owned())),
        Ok(_) => std::fs::read_to_string(file),
        Err(error) => Err(error),
    };
    let text = text.map_err(|error| cannot(format!("cannot be read: {}", reason(&error))))?;
    let url = text.trim();
    if is_url(url) {
        return Ok(url.to_owned());
    }
    Err(cannot("has to start with postgres://".to_owned()))
}
