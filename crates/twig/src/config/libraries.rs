//! `[[libraries]]`: folders that the user added.

use std::path::{Path, PathBuf};
use std::time::Duration;

use twig_clients::clients;
use twig_core::model::ShellLines;
use twig_core::parse::{Table, TomlItem, TomlValue};
use twig_core::store::{Noun, StoreName};
use twig_core::{LibraryName, RelativePath};
use twig_sources::{FollowSettings, Remembered, WantedPackage};

use crate::places::Places;

/// What is wrong, and where.
type LibraryEntryError = (String, usize);

/// The settings of one folder.
pub(super) const FIELDS: [&str; 12] = [
    "path",
    "source",
    "ref",
    "only",
    "kind",
    "name",
    "first_argument",
    "repository",
    "shell_lines",
    "workspace",
    "every",
    "token_file",
];

/// The longest time between two looks at a package that a server follows, in seconds: a day.
pub(super) const MOST_SECONDS: u64 = 86_400;

/// Reads every entry; a relative path starts at the configuration's own folder.
pub(super) fn read(
    places: &Places,
    config: &Path,
    item: &TomlItem<'_>,
) -> Result<Vec<Remembered>, LibraryEntryError> {
    let expected = "`libraries` has to be tables: [[libraries]] with a `path` each";
    let TomlValue::List(items) = &item.value else {
        return Err((expected.to_owned(), item.span.start));
    };
    let read = items.iter().map(|item| match &item.value {
        TomlValue::Table(table) => entry(places, config, table, item.span.start),
        _ => Err((expected.to_owned(), item.span.start)),
    });
    read.collect()
}

fn entry(
    places: &Places,
    config: &Path,
    table: &Table<'_>,
    start: usize,
) -> Result<Remembered, LibraryEntryError> {
    let mut remembered = Remembered::default();
    let is_package = table.get("source").is_some();
    for entry in &table.entries {
        let at = entry.key_span.start;
        match (&*entry.key, &entry.item.value) {
            ("path" | "source" | "ref" | "only" | "every" | "token_file", _) if is_package => {}
            ("ref" | "only" | "every" | "token_file", _) => {
                let message = format!("`{}` is for packages, which have a `source`", entry.key);
                return Err((message, at));
            }
            ("path", TomlValue::Text(text)) if !text.is_empty() => {
                remembered.path = expand(places, config, text);
            }
            ("repository", TomlValue::Text(text)) if !text.is_empty() => {
                remembered.repository = Some(expand(places, config, text));
            }
            ("kind", TomlValue::Text(text)) => {
                let kind = clients::kind_named(text).map_err(|why| (why, at))?;
                remembered.kind = Some(kind);
            }
            ("name", TomlValue::Text(text)) => {
                let name = LibraryName::from_folder(text);
                let Some(name) = name.filter(|name| name.as_str() == text) else {
                    return Err((bad_name(text), at));
                };
                remembered.name = Some(name);
            }
            ("first_argument", TomlValue::Integer(number @ (0 | 1))) => {
                remembered.options.first_argument = Some(u8::from(*number == 1));
            }
            ("first_argument", _) => {
                let message = "`first_argument` is the number of the first argument: 0 or 1";
                return Err((message.to_owned(), at));
            }
            ("shell_lines", value) => {
                let word = match value {
                    TomlValue::Text(word) => ShellLines::parse(word),
                    _ => None,
                };
                let Some(shell_lines) = word else {
                    let message = "`shell_lines` is \"text\" or \"instruct\"";
                    return Err((message.to_owned(), at));
                };
                remembered.options.shell_lines = shell_lines;
            }
            ("workspace", TomlValue::Text(text)) => {
                let name = StoreName::parse(Noun::Workspace, text);
                let name = name.map_err(|error| (error.to_string(), at))?;
                remembered.workspace = Some(name.as_str().into());
            }
            (key @ ("path" | "kind" | "name" | "repository" | "workspace"), _) => {
                return Err((format!("`{key}` of a library has to be text"), at));
            }
            (key, _) if super::SETTINGS.contains(&key) => {
                let message = format!(
                    "`{key}` is not a setting of a library: put it above the first [[libraries]]"
                );
                return Err((message, at));
            }
            (key, _) => {
                let near = twig_core::suggest::near(key, FIELDS);
                let near = near.first().map(|name| format!("; did you mean `{name}`?"));
                let message = format!(
                    "unknown setting `{key}` of a library{}",
                    near.unwrap_or_default()
                );
                return Err((message, at));
            }
        }
    }
    if is_package {
        let package = package(table, remembered.name.clone())?;
        remembered.followed = followed(places, config, table, &package)?;
        remembered.package = Some(package);
    } else if remembered.path.as_os_str().is_empty() {
        let message =
            "a library under [[libraries]] needs a `path` or a `source`: path = \"~/prompts\"";
        return Err((message.to_owned(), start));
    }
    Ok(remembered)
}

/// A package: `source`, `ref`, `path` and `only`.
fn package(
    table: &Table<'_>,
    name: Option<LibraryName>,
) -> Result<WantedPackage, LibraryEntryError> {
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => match &item.value {
            TomlValue::Text(text) => Ok(Some((&**text, item.span.start))),
            _ => Err((
                format!("`{key}` of a package has to be text"),
                item.span.start,
            )),
        },
    };
    let (source, at) = text("source")?.unwrap_or_default();
    let reference = text("ref")?.map(|(text, _)| text);
    let path = match text("path")? {
        None => None,
        Some((path, at)) => {
            let path = RelativePath::parse(path);
            Some(path.map_err(|error| (format!("`path` in the package {error}"), at))?)
        }
    };
    let only = match table.get("only") {
        None => Vec::new(),
        Some(item) => super::patterns("only", item).map_err(|(_, item)| {
            let message = "`only` is a list of names in the package: [\"pdf\", \"debug*\"]";
            (message.to_owned(), item.span.start)
        })?,
    };
    WantedPackage::new(source, reference, path, only, name).map_err(|message| (message, at))
}

/// How a server follows a package: `every` and `token_file`.
fn followed(
    places: &Places,
    config: &Path,
    table: &Table<'_>,
    package: &WantedPackage,
) -> Result<Option<FollowSettings>, LibraryEntryError> {
    let token = table.get("token_file");
    let Some(every) = table.get("every") else {
        return match token {
            None => Ok(None),
            Some(item) => {
                let message =
                    "`token_file` is for packages that a server follows: add `every`, in seconds";
                Err((message.to_owned(), item.span.start))
            }
        };
    };
    let seconds = match every.value {
        TomlValue::Integer(seconds) => u64::try_from(seconds).ok(),
        _ => None,
    };
    let seconds = seconds.filter(|it| (1..=MOST_SECONDS).contains(it));
    let Some(seconds) = seconds else {
        let message = format!("`every` is a number of seconds from 1 to {MOST_SECONDS}");
        return Err((message, every.span.start));
    };
    let url = package.source.git_url();
    let Some(url) = url else {
        let message =
            "only a git repository can be followed: `every` does not go with an index of skills";
        return Err((message.to_owned(), every.span.start));
    };
    let token_file = match token {
        None => None,
        Some(item) => match &item.value {
            TomlValue::Text(path) if !path.trim().is_empty() => {
                let is_http = url.starts_with("https://") || url.starts_with("http://");
                if !is_http {
                    let message = "`token_file` is for sources over https";
                    return Err((message.to_owned(), item.span.start));
                }
                Some(expand(places, config, path))
            }
            _ => {
                let message = "`token_file` of a package has to be text";
                return Err((message.to_owned(), item.span.start));
            }
        },
    };
    Ok(Some(FollowSettings {
        every: Duration::from_secs(seconds),
        token_file,
    }))
}

/// The message about a name that no library can have.
pub(crate) fn bad_name(text: &str) -> String {
    match LibraryName::from_folder(text) {
        Some(name) => format!("`{text}` is not a valid library name; `{name}` is one"),
        None => format!("`{text}` is not a valid library name: letters, digits and `_`"),
    }
}

pub(super) fn expand(places: &Places, config: &Path, text: &str) -> PathBuf {
    let below_home = match text {
        "~" => Some(""),
        _ => text.strip_prefix("~/"),
    };
    let base = config.parent().unwrap_or(Path::new("/"));
    let path = match (below_home, &places.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(text),
    };
    // Gives each folder one spelling.
    path.components().collect()
}
