//! `config.toml`: the user's settings for how Twig runs.

mod edit;
mod libraries;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use twig_core::Limits;
use twig_core::parse::{Table, TomlItem, TomlValue, read_toml};
use twig_core::problem::locate;
use twig_sources::{ConfigMistake, FollowedConfig, LiveSettings, Remembered};

pub(crate) use self::edit::{ConfigFile, LibraryEntry};
pub(crate) use self::libraries::bad_name;
use crate::command_error::{CommandError, reason};
use crate::http;
use crate::places::Places;

/// The configuration, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// The separator between a library's name and a prompt's.
    pub(crate) separator: String,
    pub(crate) limits: Limits,
    pub(crate) http: http::HttpLimits,
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
}

impl Default for Config {
    fn default() -> Self {
        Self {
            separator: ":".to_owned(),
            limits: Limits::default(),
            http: http::HttpLimits::default(),
            function_environment: Vec::new(),
            trigger: ":".to_owned(),
            command_clients: Vec::new(),
            libraries: Vec::new(),
            serves_store: None,
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
            ("[clients]", self.command_clients != other.command_clients),
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
                let names = clients(table);
                config.command_clients =
                    names.map_err(|(message, item)| wrong(message, item.span.start))?;
            }
            ("store", TomlValue::Table(table)) => {
                let serves = store(table);
                config.serves_store =
                    serves.map_err(|(message, item)| wrong(message, item.span.start))?;
            }
            (key @ ("limits" | "http" | "functions" | "clients" | "store"), _) => {
                let message = format!("`{key}` has to be a table: [{key}]");
                return Err(wrong(message, at));
            }
            (key, _) => {
                let mistake = wrong(format!("unknown setting `{key}`"), at);
                let known = [
                    "separator",
                    "trigger",
                    "limits",
                    "http",
                    "functions",
                    "clients",
                    "store",
                    "libraries",
                ];
                let help = twig_core::suggest::did_you_mean(key, known);
                return Err(ConfigMistake { help, ..mistake });
            }
        }
    }
    Ok(config)
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

/// `like_opencode`: names of clients.
fn clients<'t, 'a>(table: &'t Table<'a>) -> Result<Vec<String>, (String, &'t TomlItem<'a>)> {
    let mut names = Vec::new();
    for entry in &table.entries {
        let item = &entry.item;
        let expected = "`like_opencode` is a list of names of clients: [\"acme-code\"]";
        let (TomlValue::List(items), "like_opencode") = (&item.value, &*entry.key) else {
            return Err((expected.to_owned(), item));
        };
        for item in items {
            match &item.value {
                TomlValue::Text(name) if !name.trim().is_empty() => {
                    names.push(name.trim().to_owned());
                }
                _ => return Err((expected.to_owned(), item)),
            }
        }
    }
    Ok(names)
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

const LIMITS: [LimitRow<Limits>; 28] = [
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
