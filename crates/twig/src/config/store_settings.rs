//! `[store]`: where workspaces are, and whether servers offer their prompts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use twig_core::parse::{Table, TomlItem, TomlValue};
use twig_sources::{DatabaseAddress, StorePlace};

use super::observed::{path, unknown};
use crate::command_error::{CommandError, reason};
use crate::places::Places;

/// The settings that a variable can set besides `serve` and the number.
pub(super) const TEXTS: [&str; 4] = ["url", "url_file", "listen_url", "listen_url_file"];

/// The settings that are numbers.
pub(super) const NUMBERS: [&str; 3] = ["freshness_millis", "stale_limit_millis", "wait_seconds"];

/// The longest wait for a database at the start: a day.
const LONGEST_WAIT: i64 = 24 * 60 * 60;

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
    url: UrlSetting,
    /// Where servers listen for changes, if the database is behind a pooler.
    listen_url: UrlSetting,
    /// How old an answer may be.
    freshness: Duration,
    /// How long a server is ready for clients while the database is away; for ever if `None`.
    pub(crate) stale_limit: Option<Duration>,
    /// How long a server waits at its start for a database that is away.
    pub(crate) wait: Duration,
    /// The place, once it was asked for: one process has one connection of each kind.
    opened: OpenedPlace,
}

/// The place that settings name, once it was asked for. It is no part of what they say.
#[derive(Debug, Clone, Default)]
struct OpenedPlace(Arc<OnceLock<Option<StorePlace>>>);

impl PartialEq for OpenedPlace {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OpenedPlace {}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            url: UrlSetting::default(),
            listen_url: UrlSetting::default(),
            freshness: FRESHNESS,
            stale_limit: None,
            wait: Duration::ZERO,
            opened: OpenedPlace::default(),
        }
    }
}

impl StoreSettings {
    /// The database or the folder; `None` if there is a place for neither.
    pub(crate) fn place(&self, places: &Places) -> Result<Option<StorePlace>, CommandError> {
        if let Some(place) = self.opened.0.get() {
            return Ok(place.clone());
        }
        let place = match self.url.read(places)? {
            Some(url) => Some(StorePlace::database(&DatabaseAddress {
                url,
                listen_url: self.listen_url.read(places)?,
                freshness: self.freshness,
            })?),
            None => places.workspaces.clone().map(StorePlace::folder),
        };
        Ok(self.opened.0.get_or_init(|| place).clone())
    }

    /// The place that somebody names at the command line: a URL, `@FILE`, or the folder.
    pub(crate) fn named(place: &str) -> Self {
        let mut settings = Self::default();
        match place.strip_prefix('@') {
            Some(file) => settings.url.file = Some(file.into()),
            None if place != "files" => settings.url.text = Some(place.to_owned()),
            None => {}
        }
        settings
    }

    /// Whether workspaces are in a database.
    pub(crate) fn is_database(&self) -> bool {
        self.url.text.is_some() || self.url.file.is_some()
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
                (key @ ("url" | "listen_url"), TomlValue::Text(text)) if is_url(text) => {
                    self.url_of(key).text = Some(text.trim().to_owned());
                }
                (key @ ("url" | "listen_url"), _) => {
                    let message = format!(
                        "`{key}` is the address of a PostgreSQL database, such as \
                         \"postgres://twig@db.example/twig\""
                    );
                    return Err((message, item));
                }
                (key @ ("url_file" | "listen_url_file"), TomlValue::Text(text))
                    if !text.trim().is_empty() =>
                {
                    self.url_of(key).file = Some(path(places, config, text.trim()));
                }
                (key @ ("url_file" | "listen_url_file"), _) => {
                    let message =
                        format!("`{key}` is the path of a file with the URL of a database");
                    return Err((message, item));
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
                ("stale_limit_millis", TomlValue::Integer(millis))
                    if (1..=LONGEST_MILLIS).contains(millis) =>
                {
                    self.stale_limit = Some(Duration::from_millis(millis.unsigned_abs()));
                }
                ("stale_limit_millis", _) => {
                    let message = format!(
                        "`stale_limit_millis` has to be a whole number from 1 to {LONGEST_MILLIS}"
                    );
                    return Err((message, item));
                }
                ("wait_seconds", TomlValue::Integer(seconds))
                    if (0..=LONGEST_WAIT).contains(seconds) =>
                {
                    self.wait = Duration::from_secs(seconds.unsigned_abs());
                }
                ("wait_seconds", _) => {
                    let message =
                        format!("`wait_seconds` has to be a whole number from 0 to {LONGEST_WAIT}");
                    return Err((message, item));
                }
                (key, _) => {
                    let known = ["serve"].into_iter().chain(TEXTS).chain(NUMBERS);
                    let known: Vec<&str> = known.collect();
                    return Err((unknown(key, "store", &known), item));
                }
            }
        }
        Ok(serves)
    }

    fn url_of(&mut self, key: &str) -> &mut UrlSetting {
        if key.starts_with("listen") {
            &mut self.listen_url
        } else {
            &mut self.url
        }
    }
}

/// A URL, or a file with it, since it has a password in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UrlSetting {
    text: Option<String>,
    file: Option<PathBuf>,
}

impl UrlSetting {
    fn read(&self, places: &Places) -> Result<Option<String>, CommandError> {
        match (&self.text, &self.file) {
            (Some(url), _) => Ok(Some(url.clone())),
            (None, Some(file)) => read_url(places, file).map(Some),
            (None, None) => Ok(None),
        }
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
