//! `config.toml`: what the person changed about how Twig runs.

use std::fs;
use std::path::Path;

use twig_core::Limits;
use twig_core::parse::{Item, Table, Value, read_toml};
use twig_core::problem::locate;

use crate::command_error::{CommandError, reason};
use crate::places::Places;

/// The configuration, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// What stands between a library's name and a prompt's.
    pub(crate) separator: String,
    pub(crate) limits: Limits,
    /// Variables that prompt functions get.
    pub(crate) function_environment: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            separator: ":".to_owned(),
            limits: Limits::default(),
            function_environment: Vec::new(),
        }
    }
}

/// Reads the configuration; a file that is not there is an empty one.
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

fn parse(places: &Places, path: &Path, text: &str) -> Result<Config, CommandError> {
    let wrong = |message: String, at: usize| {
        let line = locate(text, at..at).line;
        CommandError::fixable(format!("{}:{line}: {message}", places.shown(path)))
    };
    let table = read_toml(text).map_err(|error| {
        wrong(
            format!("not valid TOML: {}", error.message),
            error.span.map_or(0, |span| span.start),
        )
    })?;
    let mut config = Config::default();
    for entry in &table.entries {
        let at = entry.key_span.start;
        match (&*entry.key, &entry.item.value) {
            ("separator", Value::Text(text)) if is_separator(text) => {
                config.separator = text.to_string();
            }
            ("separator", _) => {
                let message = "`separator` is one to three of `: / . _ -`, such as \":\"";
                return Err(wrong(message.to_owned(), at));
            }
            ("limits", Value::Table(table)) => limits(&mut config.limits, table)
                .map_err(|(message, item)| wrong(message, item.span.start))?,
            ("limits", _) => {
                let message = "`limits` has to be a table: [limits]";
                return Err(wrong(message.to_owned(), at));
            }
            ("functions", Value::Table(table)) => {
                let names = functions(table);
                config.function_environment =
                    names.map_err(|(message, item)| wrong(message, item.span.start))?;
            }
            ("functions", _) => {
                let message = "`functions` has to be a table: [functions]";
                return Err(wrong(message.to_owned(), at));
            }
            (key, _) => {
                let error = wrong(format!("unknown setting `{key}`"), at);
                let known = ["separator", "limits", "functions"];
                let near = twig_core::suggest::did_you_mean(key, known);
                return Err(near.into_iter().fold(error, CommandError::hint));
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

/// `environment`: names of variables that functions get.
fn functions<'t, 'a>(table: &'t Table<'a>) -> Result<Vec<String>, (String, &'t Item<'a>)> {
    let mut names = Vec::new();
    for entry in &table.entries {
        let item = &entry.item;
        let expected = "`environment` is a list of names of variables: [\"AWS_PROFILE\"]";
        let (Value::List(items), "environment") = (&item.value, &*entry.key) else {
            return Err((expected.to_owned(), item));
        };
        for item in items {
            match &item.value {
                Value::Text(name) if is_variable(name) => names.push(name.to_string()),
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

/// One row a limit that can be set: its name and where it is kept.
type Row = (&'static str, fn(&mut Limits) -> &mut usize);

const LIMITS: [Row; 14] = [
    ("template_source", |limits| &mut limits.template_source),
    ("manifest", |limits| &mut limits.manifest),
    ("front_matter", |limits| &mut limits.front_matter),
    ("arguments", |limits| &mut limits.arguments),
    ("argument_value", |limits| &mut limits.argument_value),
    ("argument_values", |limits| &mut limits.argument_values),
    ("rendered", |limits| &mut limits.rendered),
    ("media", |limits| &mut limits.media),
    ("function_output", |limits| &mut limits.function_output),
    ("include_depth", |limits| &mut limits.include_depth),
    ("includes", |limits| &mut limits.includes),
    ("message", |limits| &mut limits.message),
    ("page", |limits| &mut limits.page),
    ("subscriptions", |limits| &mut limits.subscriptions),
];

fn limits<'t, 'a>(limits: &mut Limits, table: &'t Table<'a>) -> Result<(), (String, &'t Item<'a>)> {
    for entry in &table.entries {
        let item = &entry.item;
        let number = match item.value {
            Value::Integer(number) if number > 0 => usize::try_from(number).ok(),
            _ => None,
        };
        let Some(number) = number else {
            return Err((
                format!("limit `{}` has to be a number above zero", entry.key),
                item,
            ));
        };
        let millis = match &*entry.key {
            "render_millis" => Some(&mut limits.render_millis),
            "function_millis" => Some(&mut limits.function_millis),
            _ => None,
        };
        if let Some(millis) = millis {
            *millis = number as u64;
            continue;
        }
        let Some((_, place)) = LIMITS.iter().find(|(name, _)| *name == entry.key) else {
            let near = twig_core::suggest::near(&entry.key, LIMITS.map(|(name, _)| name));
            let near = near.first().map(|name| format!("; did you mean `{name}`?"));
            let message = format!("unknown limit `{}`{}", entry.key, near.unwrap_or_default());
            return Err((message, item));
        };
        *place(limits) = number;
    }
    Ok(())
}
