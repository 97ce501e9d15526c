//! `config.toml`: the user's settings for how Twig runs.

mod clients;
mod edit;
mod environment;
mod http_settings;
mod hub;
mod libraries;
mod numbers;
mod observed;
mod store_settings;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use twig_core::parse::{Table, TomlEntry, TomlItem, TomlValue, read_toml};
use twig_core::problem::locate;
use twig_core::{Limits, ListingSettings};
use twig_sources::{ConfigMistake, FetchLimits, FollowedConfig, LiveSettings, Remembered};

pub(crate) use self::edit::{ConfigFile, LibraryEntry};
pub(crate) use self::libraries::bad_name;
use self::numbers::{HTTP, LIMITS, PACKAGES, set};
pub(crate) use self::observed::ObservedSettings;
pub(crate) use self::store_settings::StoreSettings;
use crate::command_error::{CommandError, reason};
use crate::http;
use crate::places::Places;

/// The JSON Schema of the file. It says what this module reads; a test compares the two.
pub(crate) const CONFIG_SCHEMA: &str = include_str!("config/schema.json");

/// Every setting.
const SETTINGS: [&str; 16] = [
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
    "hub",
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
    /// The defaults of the flags for HTTP.
    pub(crate) http_settings: http::HttpSettings,
    /// Whether there is a hub, and what it says of itself.
    pub(crate) hub: http::HubSettings,
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
    /// Where workspaces are.
    pub(crate) store: StoreSettings,
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
            http_settings: http::HttpSettings::default(),
            hub: http::HubSettings::default(),
            packages: FetchLimits::default(),
            function_environment: Vec::new(),
            trigger: ":".to_owned(),
            command_clients: Vec::new(),
            libraries: Vec::new(),
            serves_store: None,
            store: StoreSettings::default(),
            listing: ListingSettings::default(),
            serves_only: Vec::new(),
            observed: ObservedSettings::default(),
        }
    }
}

/// Reads the configuration: the environment's settings over those of the file. A missing file counts
/// as empty.
pub(crate) fn load(places: &Places) -> Result<Config, CommandError> {
    let mut config = load_file(places)?;
    environment::apply(places, &mut config)?;
    Ok(config)
}

fn load_file(places: &Places) -> Result<Config, CommandError> {
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
    environment::warn_of_near_names();
    let Some(path) = &places.config else {
        return Ok((load(places)?, None));
    };
    let last: Arc<Mutex<Config>> = Arc::default();
    let (known, own, file) = (Arc::clone(&last), places.clone(), path.clone());
    let followed = FollowedConfig::new(path, move |text| {
        let mut config = read(&own, &file, text)?;
        // The environment of a process does not change, and was good at the start.
        let _ = environment::apply(&own, &mut config);
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
            (
                "[http]",
                self.http != other.http || self.http_settings != other.http_settings,
            ),
            ("[hub]", self.hub != other.hub),
            (
                "[functions]",
                self.function_environment != other.function_environment,
            ),
            (
                "`like_opencode`",
                self.command_clients != other.command_clients,
            ),
            ("[store]", self.store != other.store),
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
        set_entry(&mut config, places, path, entry).map_err(|mistake| ConfigMistake {
            help: mistake.help,
            ..wrong(mistake.message, mistake.at)
        })?;
    }
    Ok(config)
}

/// What is wrong with a setting.
struct SettingMistake {
    message: String,
    /// Where it is in the file.
    at: usize,
    help: Option<String>,
}

impl From<(String, usize)> for SettingMistake {
    fn from((message, at): (String, usize)) -> Self {
        let help = None;
        Self { message, at, help }
    }
}

impl From<(String, &TomlItem<'_>)> for SettingMistake {
    fn from((message, item): (String, &TomlItem<'_>)) -> Self {
        (message, item.span.start).into()
    }
}

/// Reads one setting, or one table of them.
fn set_entry(
    config: &mut Config,
    places: &Places,
    path: &Path,
    entry: &TomlEntry<'_>,
) -> Result<(), SettingMistake> {
    let at = entry.key_span.start;
    let wrong = |message: &str| Err(SettingMistake::from((message.to_owned(), at)));
    match (&*entry.key, &entry.item.value) {
        ("separator", TomlValue::Text(text)) if is_separator(text) => {
            config.separator = text.to_string();
        }
        ("separator", _) => {
            return wrong("`separator` is one to three of `: / . _ -`, such as \":\"");
        }
        ("trigger", TomlValue::Text(text)) if is_trigger(text) => {
            config.trigger = text.to_string();
        }
        ("trigger", _) => {
            return wrong("`trigger` is one to three punctuation marks, such as \":\"");
        }
        ("limits", TomlValue::Table(table)) => set(&mut config.limits, &LIMITS, table, &[])?,
        ("http", TomlValue::Table(table)) => {
            set(&mut config.http, &HTTP, table, &http_settings::names())?;
            http_settings::read(&mut config.http_settings, places, path, table)?;
        }
        ("packages", TomlValue::Table(table)) => set(&mut config.packages, &PACKAGES, table, &[])?,
        ("libraries", _) => config.libraries = libraries::read(places, path, &entry.item)?,
        ("functions", TomlValue::Table(table)) => config.function_environment = functions(table)?,
        ("clients", TomlValue::Table(table)) => {
            let (names, clients) = clients::read(table)?;
            if !names.is_empty() {
                config.command_clients = names;
            }
            // The environment adds to what the file says.
            config.listing.clients.extend(clients);
        }
        ("hub", TomlValue::Table(table)) => hub::read(&mut config.hub, table)?,
        ("serve", TomlValue::Table(table)) => config.serves_only = serve(table)?,
        ("serve_own", TomlValue::Bool(value)) => config.listing.serves_own = *value,
        ("serve_own", _) => return wrong("`serve_own` has to be true or false"),
        ("store", TomlValue::Table(table)) => {
            let serves = config.store.read(places, path, table)?;
            config.serves_store = serves.or(config.serves_store);
        }
        (key @ ("audit" | "stats"), TomlValue::Table(table)) => {
            let read = config.observed.read(places, path, key, table);
            read.map_err(|(message, from)| (message, from.unwrap_or(at)))?;
        }
        ("hide", _) => config.listing.rules.hide = patterns("hide", &entry.item)?,
        ("pin", _) => config.listing.rules.pin = patterns("pin", &entry.item)?,
        (
            key @ ("limits" | "http" | "packages" | "functions" | "clients" | "store" | "serve"
            | "hub" | "audit" | "stats"),
            _,
        ) => return wrong(&format!("`{key}` has to be a table: [{key}]")),
        (key, _) => {
            let message = format!("unknown setting `{key}`");
            let help = twig_core::suggest::did_you_mean(key, SETTINGS);
            return Err(SettingMistake { message, at, help });
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::numbers::ANY;
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
        let mut fields = names(&libraries::FIELDS);
        fields.insert("every".to_owned(), Some(libraries::MOST_SECONDS));
        assert_eq!(most("/properties/libraries/items"), fields);
        assert_eq!(
            most("/properties/clients/additionalProperties"),
            names(&clients::CLIENT_FIELDS)
        );
        assert_eq!(most("/properties/serve"), names(&["only"]));
        assert_eq!(most("/properties/hub"), names(&hub::FIELDS));
        let limits = LIMITS.iter().map(|(name, most, _)| (*name, *most));
        assert_eq!(most("/properties/limits"), rows(limits.collect()));
        let packages = PACKAGES.iter().map(|(name, most, _)| (*name, *most));
        assert_eq!(most("/properties/packages"), rows(packages.collect()));
        let http = HTTP.iter().map(|(name, most, _)| (*name, *most));
        let mut http = rows(http.collect());
        http.extend(names(&http_settings::names()));
        assert_eq!(most("/properties/http"), http);
    }
}
