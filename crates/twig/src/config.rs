//! `config.toml`: the user's settings for how Twig runs.

mod clients;
mod edit;
mod libraries;
mod observed;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use twig_core::parse::{Table, TomlItem, TomlValue, read_toml};
use twig_core::problem::locate;
use twig_core::{Limits, ListingSettings};
use twig_sources::{ConfigMistake, FetchLimits, FollowedConfig, LiveSettings, Remembered};

pub(crate) use self::edit::{ConfigFile, LibraryEntry};
pub(crate) use self::libraries::bad_name;
pub(crate) use self::observed::ObservedSettings;
use crate::command_error::{CommandError, reason};
use crate::http;
use crate::places::Places;

/// The JSON Schema of the file. It says what this module reads; a test compares the two.
pub(crate) const CONFIG_SCHEMA: &str = include_str!("config/schema.json");

/// Every setting.
const SETTINGS: [&str; 15] = [
    "separator",
    "trigger",
    "limits",
    "http",
    "packages",
    "functions",
    "clients",
    "store",
    "libraries",
    "hide",
    "pin",
    "serve_own",
    "serve",
    "audit",
    "stats",
];

/// The configuration, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// The separator between a library's name and a prompt's.
    pub(crate) separator: String,
    pub(crate) limits: Limits,
    pub(crate) http: http::HttpLimits,
    /// What bounds the fetch of a package.
    pub(crate) packages: FetchLimits,
    /// Variables that prompt functions get.
    pub(crate) function_environment: Vec<String>,
    /// The prefix that marks a prompt's name in a message.
    pub(crate) trigger: String,
    /// Names of clients that treat prompts as opencode does, besides those that Twig knows.
    pub(crate) command_clients: Vec<String>,
    /// Folders that the user added.
    pub(crate) libraries: Vec<Remembered>,
    /// Whether `serve` offers the prompts of the store; the transport decides if it is `None`.
    pub(crate) serves_store: Option<bool>,
    /// What lists show of the prompts.
    pub(crate) listing: ListingSettings,
    /// What alone servers offer, unless `--only` says otherwise; everything if it is empty.
    pub(crate) serves_only: Vec<String>,
    /// What is kept of the requests that servers answer.
    pub(crate) observed: ObservedSettings,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            separator: ":".to_owned(),
            limits: Limits::default(),
            http: http::HttpLimits::default(),
            packages: FetchLimits::default(),
            function_environment: Vec::new(),
            trigger: ":".to_owned(),
            command_clients: Vec::new(),
            libraries: Vec::new(),
            serves_store: None,
            listing: ListingSettings::default(),
            serves_only: Vec::new(),
            observed: ObservedSettings::default(),
        }
    }
}

/// Reads the configuration; a missing file counts as empty.
pub(crate) fn load(places: &Places) -> Result<Config, CommandError> {
    let Some(path) = &places.config else {
        return Ok(Config::default());
    };
    match fs::read_to_string(path) {
        Ok(text) => parse(places, path, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::default()),
        Err(error) => Err(CommandError::fixable(format!(
            "the configuration {} cannot be read: {}",
            places.shown(path),
            reason(&error)
        ))),
    }
}

/// Reads the configuration, and follows its file: a server takes over what can change while it
/// runs. `serves_store` is the default of that setting.
pub(crate) fn load_and_follow(
    places: &Places,
    serves_store: bool,
) -> Result<(Config, Option<FollowedConfig>), CommandError> {
    let Some(path) = &places.config else {
        return Ok((Config::default(), None));
    };
    let last: Arc<Mutex<Config>> = Arc::default();
    let (known, own, file) = (Arc::clone(&last), places.clone(), path.clone());
    let followed = FollowedConfig::new(path, move |text| {
        let config = read(&own, &file, text)?;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = known.only_at_start(&config);
        if !waiting.is_empty() {
            tracing::warn!(
                "{}: changes of {} take effect when the server is started again",
                own.shown(&file),
                waiting.join(", ")
            );
        }
        let live = LiveSettings {
            remembered: config.libraries.clone(),
            separator: config.separator.clone(),
            serves_store: config.serves_store.unwrap_or(serves_store),
            listing: config.listing.clone(),
        };
        *known = config;
        Ok(live)
    });
    let config = load(places)?;
    *last.lock().unwrap_or_else(PoisonError::into_inner) = config.clone();
    Ok((config, Some(followed)))
}

impl Config {
    /// The settings that differ in another configuration and that a running server keeps.
    fn only_at_start(&self, other: &Self) -> Vec<&'static str> {
        let differ = [
            ("`trigger`", self.trigger != other.trigger),
            ("[limits]", self.limits != other.limits),
            ("[http]", self.http != other.http),
            (
                "[functions]",
                self.function_environment != other.function_environment,
            ),
            (
                "`like_opencode`",
                self.command_clients != other.command_clients,
            ),
            ("[serve]", self.serves_only != other.serves_only),
            ("[audit] or [stats]", self.observed != other.observed),
        ];
        let differ = differ.into_iter().filter(|(_, differs)| *differs);
        differ.map(|(name, _)| name).collect()
    }
}

fn parse(places: &Places, path: &Path, text: &str) -> Result<Config, CommandError> {
    read(places, path, text).map_err(|mistake| {
        let ConfigMistake {
            line,
            message,
            help,
        } = mistake;
        let error = CommandError::fixable(format!("{}:{line}: {message}", places.shown(path)));
        help.into_iter().fold(error, CommandError::hint)
    })
}

fn read(places: &Places, path: &Path, text: &str) -> Result<Config, ConfigMistake> {
    let wrong = |message: String, at: usize| ConfigMistake {
        line: locate(text, at..at).line,
        message,
        help: None,
    };
    let table = read_toml(text).map_err(|error| ConfigMistake {
        help: error.help.map(Into::into),
        ..wrong(
            format!("not valid TOML: {}", error.message),
            error.span.map_or(0, |span| span.start),
        )
    })?;
    let mut config = Config::default();
    for entry in &table.entries {
        let at = entry.key_span.start;
        match (&*entry.key, &entry.item.value) {
            ("separator", TomlValue::Text(text)) if is_separator(text) => {
                config.separator = text.to_string();
            }
            ("separator", _) => {
                let message = "`separator` is one to three of `: / . _ -`, such as \":\"";
                return Err(wrong(message.to_owned(), at));
            }
            ("trigger", TomlValue::Text(text)) if is_trigger(text) => {
                config.trigger = text.to_string();
            }
            ("trigger", _) => {
                let message = "`trigger` is one to three punctuation marks, such as \":\"";
                return Err(wrong(message.to_owned(), at));
            }
            ("limits", TomlValue::Table(table)) => set(&mut config.limits, &LIMITS, table)
                .map_err(|(message, item)| wrong(message, item.span.start))?,
            ("http", TomlValue::Table(table)) => set(&mut config.http, &HTTP, table)
                .map_err(|(message, item)| wrong(message, item.span.start))?,
            ("packages", TomlValue::Table(table)) => set(&mut config.packages, &PACKAGES, table)
                .map_err(|(message, item)| wrong(message, item.span.start))?,
            ("libraries", _) => {
                let read = libraries::read(places, path, &entry.item);
                config.libraries = read.map_err(|(message, at)| wrong(message, at))?;
            }
            ("functions", TomlValue::Table(table)) => {
                let names = functions(table);
                config.function_environment =
                    names.map_err(|(message, item)| wrong(message, item.span.start))?;
            }
            ("clients", TomlValue::Table(table)) => {
                let read = clients::read(table);
                (config.command_clients, config.listing.clients) =
                    read.map_err(|(message, item)| wrong(message, item.span.start))?;
            }
            ("serve", TomlValue::Table(table)) => {
                let only = serve(table);
                config.serves_only =
                    only.map_err(|(message, item)| wrong(message, item.span.start))?;
            }
            ("serve_own", item) => {
                let TomlValue::Bool(value) = item else {
                    return Err(wrong("`serve_own` has to be true or false".to_owned(), at));
                };
                config.listing.serves_own = *value;
            }
            ("store", TomlValue::Table(table)) => {
                let serves = store(table);
                config.serves_store =
                    serves.map_err(|(message, item)| wrong(message, item.span.start))?;
            }
            (key @ ("audit" | "stats"), TomlValue::Table(table)) => {
                let read = config.observed.read(places, path, key, table);
                read.map_err(|(message, from)| wrong(message, from.unwrap_or(at)))?;
            }
            (key @ ("hide" | "pin"), _) => {
                let patterns = patterns(key, &entry.item);
                let patterns =
                    patterns.map_err(|(message, item)| wrong(message, item.span.start))?;
                match key {
                    "hide" => config.listing.rules.hide = patterns,
                    _ => config.listing.rules.pin = patterns,
                }
            }
            (
                key @ ("limits" | "http" | "packages" | "functions" | "clients" | "store" | "serve"
                | "audit" | "stats"),
                _,
            ) => {
                let message = format!("`{key}` has to be a table: [{key}]");
                return Err(wrong(message, at));
            }
            (key, _) => {
                let mistake = wrong(format!("unknown setting `{key}`"), at);
                let help = twig_core::suggest::did_you_mean(key, SETTINGS);
                return Err(ConfigMistake { help, ..mistake });
            }
        }
    }
    Ok(config)
}

/// `hide`, `pin` and `only`: patterns of names of libraries and prompts.
fn patterns<'t, 'a>(
    key: &str,
    item: &'t TomlItem<'a>,
) -> Result<Vec<Box<str>>, (String, &'t TomlItem<'a>)> {
    let expected = || match key {
        "only" => "`only` is a list of names of libraries and prompts: [\"team\"]".to_owned(),
        key => format!("`{key}` is a list of names of prompts: [\"review:*\"]"),
    };
    let TomlValue::List(items) = &item.value else {
        return Err((expected(), item));
    };
    let patterns = items.iter().map(|item| match &item.value {
        TomlValue::Text(text) if !text.trim().is_empty() => Ok(text.trim().into()),
        _ => Err((expected(), item)),
    });
    patterns.collect()
}

fn is_separator(text: &str) -> bool {
    (1..=3).contains(&text.len())
        && text
            .chars()
            .all(|c| matches!(c, ':' | '/' | '.' | '_' | '-'))
}

fn is_trigger(text: &str) -> bool {
    (1..=3).contains(&text.chars().count())
        && text
            .chars()
            .all(|c| c.is_ascii_punctuation() && !matches!(c, '"' | '\''))
}

/// `environment`: names of variables that functions get.
fn functions<'t, 'a>(table: &'t Table<'a>) -> Result<Vec<String>, (String, &'t TomlItem<'a>)> {
    let mut names = Vec::new();
    for entry in &table.entries {
        let item = &entry.item;
        let expected = "`environment` is a list of names of variables: [\"AWS_PROFILE\"]";
        let (TomlValue::List(items), "environment") = (&item.value, &*entry.key) else {
            return Err((expected.to_owned(), item));
        };
        for item in items {
            match &item.value {
                TomlValue::Text(name) if is_variable(name) => names.push(name.to_string()),
                _ => return Err((expected.to_owned(), item)),
            }
        }
    }
    Ok(names)
}

/// `serve`: whether servers offer the prompts of the store.
fn store<'t, 'a>(table: &'t Table<'a>) -> Result<Option<bool>, (String, &'t TomlItem<'a>)> {
    let mut serves = None;
    for entry in &table.entries {
        let item = &entry.item;
        match (&*entry.key, &item.value) {
            ("serve", TomlValue::Bool(value)) => serves = Some(*value),
            ("serve", _) => return Err(("`serve` has to be true or false".to_owned(), item)),
            (key, _) => {
                let near = twig_core::suggest::did_you_mean(key, ["serve"]);
                let near = near.map(|near| format!("; {near}")).unwrap_or_default();
                return Err((format!("unknown setting `{key}` of [store]{near}"), item));
            }
        }
    }
    Ok(serves)
}

/// `only`: what alone servers offer.
fn serve<'t, 'a>(table: &'t Table<'a>) -> Result<Vec<String>, (String, &'t TomlItem<'a>)> {
    let mut only = Vec::new();
    for entry in &table.entries {
        let item = &entry.item;
        if &*entry.key != "only" {
            let near = twig_core::suggest::did_you_mean(&entry.key, ["only"]);
            let near = near.map(|near| format!("; {near}")).unwrap_or_default();
            let message = format!("unknown setting `{}` of [serve]{near}", entry.key);
            return Err((message, item));
        }
        only = patterns("only", item)?
            .into_iter()
            .map(Into::into)
            .collect();
    }
    Ok(only)
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// One row per configurable limit: its name, its maximum, and the field that it sets.
type LimitRow<T> = (&'static str, usize, fn(&mut T, usize));

/// The maximum of the number type.
const ANY: usize = usize::MAX;

const LIMITS: [LimitRow<Limits>; 29] = [
    ("template_source", ANY, |to, n| to.template_source = n),
    ("template_sources", ANY, |to, n| to.template_sources = n),
    ("manifest", ANY, |to, n| to.manifest = n),
    ("front_matter", ANY, |to, n| to.front_matter = n),
    ("arguments", ANY, |to, n| to.arguments = n),
    ("messages", ANY, |to, n| to.messages = n),
    ("argument_value", ANY, |to, n| to.argument_value = n),
    ("argument_values", ANY, |to, n| to.argument_values = n),
    ("rendered", ANY, |to, n| to.rendered = n),
    ("media", ANY, |to, n| to.media = n),
    ("embedded", ANY, |to, n| to.embedded = n),
    ("embedded_bytes", ANY, |to, n| to.embedded_bytes = n),
    ("skill_files", ANY, |to, n| to.skill_files = n),
    ("skill_bytes", ANY, |to, n| to.skill_bytes = n),
    ("document", ANY, |to, n| to.document = n),
    ("verbatim", ANY, |to, n| to.verbatim = n),
    ("project_items", ANY, |to, n| to.project_items = n),
    ("project_history", ANY, |to, n| to.project_history = n),
    ("store_millis", DAY, |to, n| to.store_millis = n as u64),
    ("queue_millis", DAY, |to, n| to.queue_millis = n as u64),
    ("render_millis", ANY, |to, n| to.render_millis = n as u64),
    ("function_output", ANY, |to, n| to.function_output = n),
    ("function_millis", ANY, |to, n| {
        to.function_millis = n as u64;
    }),
    ("answer_millis", DAY, |to, n| to.answer_millis = n as u64),
    ("include_depth", ANY, |to, n| to.include_depth = n),
    ("includes", ANY, |to, n| to.includes = n),
    ("message", ANY, |to, n| to.message = n),
    ("page", ANY, |to, n| to.page = n),
    ("subscriptions", ANY, |to, n| to.subscriptions = n),
];

/// More than any machine serves, and less than a semaphore can count.
const MANY: usize = 1_000_000;
/// A day, which overflows no clock.
const DAY: usize = 24 * 60 * 60 * 1_000;

const HTTP: [LimitRow<http::HttpLimits>; 11] = [
    ("connections", MANY, |to, n| to.connections = n),
    ("address_connections", MANY, |to, n| {
        to.address_connections = Some(n);
    }),
    ("sessions", MANY, |to, n| to.sessions = n),
    ("renders", MANY, |to, n| to.renders = n),
    ("reply_bytes", ANY, |to, n| to.reply_bytes = n),
    ("head_millis", DAY, |to, n| to.head = millis(n)),
    ("body_millis", DAY, |to, n| to.body = millis(n)),
    ("idle_millis", DAY, |to, n| to.idle = millis(n)),
    ("stall_millis", DAY, |to, n| to.stall = millis(n)),
    ("keep_alive_millis", DAY, |to, n| to.keep_alive = millis(n)),
    ("session_millis", DAY, |to, n| to.session = millis(n)),
];

const PACKAGES: [LimitRow<FetchLimits>; 4] = [
    ("bytes", ANY, |to, n| to.bytes = n as u64),
    ("files", MANY, |to, n| to.files = n),
    ("stall_millis", DAY, |to, n| to.stall = millis(n)),
    ("fetch_millis", DAY, |to, n| to.total = millis(n)),
];

fn millis(number: usize) -> Duration {
    Duration::from_millis(number as u64)
}

fn set<'t, 'a, T>(
    limits: &mut T,
    rows: &[LimitRow<T>],
    table: &'t Table<'a>,
) -> Result<(), (String, &'t TomlItem<'a>)> {
    for entry in &table.entries {
        let (key, item) = (&*entry.key, &entry.item);
        let Some((_, most, set)) = rows.iter().find(|(name, ..)| *name == key) else {
            let near = twig_core::suggest::near(key, rows.iter().map(|(name, ..)| *name));
            let near = near.first().map(|name| format!("; did you mean `{name}`?"));
            let message = format!("unknown limit `{key}`{}", near.unwrap_or_default());
            return Err((message, item));
        };
        let number = match item.value {
            TomlValue::Integer(number) if number > 0 => usize::try_from(number).ok(),
            _ => None,
        };
        let Some(number) = number else {
            let message = format!("limit `{key}` has to be a whole number above zero");
            return Err((message, item));
        };
        if number > *most {
            return Err((format!("limit `{key}` can be {most} at most"), item));
        }
        set(limits, number);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_schema_has_every_setting_that_is_read() {
        let schema: Value = serde_json::from_str(CONFIG_SCHEMA).unwrap();
        let most = |at: &str| -> BTreeMap<String, Option<u64>> {
            let known = schema.pointer(&format!("{at}/properties")).unwrap();
            let known = known.as_object().unwrap().iter();
            let known = known.map(|(name, it)| (name.clone(), it["maximum"].as_u64()));
            known.collect()
        };
        let names = |names: &[&str]| -> BTreeMap<String, Option<u64>> {
            names
                .iter()
                .map(|name| ((*name).to_owned(), None))
                .collect()
        };
        let rows = |rows: Vec<(&str, usize)>| -> BTreeMap<String, Option<u64>> {
            let most = |most: usize| (most != ANY).then_some(most as u64);
            let rows = rows.into_iter();
            rows.map(|(name, it)| (name.to_owned(), most(it))).collect()
        };
        assert_eq!(most(""), names(&SETTINGS));
        assert_eq!(
            most("/properties/libraries/items"),
            names(&libraries::FIELDS)
        );
        assert_eq!(
            most("/properties/clients/additionalProperties"),
            names(&clients::CLIENT_FIELDS)
        );
        assert_eq!(most("/properties/serve"), names(&["only"]));
        let limits = LIMITS.iter().map(|(name, most, _)| (*name, *most));
        assert_eq!(most("/properties/limits"), rows(limits.collect()));
        let packages = PACKAGES.iter().map(|(name, most, _)| (*name, *most));
        assert_eq!(most("/properties/packages"), rows(packages.collect()));
        let http = HTTP.iter().map(|(name, most, _)| (*name, *most));
        assert_eq!(most("/properties/http"), rows(http.collect()));
    }
}
