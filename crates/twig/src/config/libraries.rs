//! `[[libraries]]`: folders that the user added.

use std::path::{Path, PathBuf};

use twig_clients::clients;
use twig_clients::format::Options;
use twig_core::parse::{Table, TomlItem, TomlValue};
use twig_core::{LibraryKind, LibraryName};
use twig_sources::Remembered;

use crate::places::Places;

/// What is wrong, and where.
type LibraryEntryError = (String, usize);

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
    for entry in &table.entries {
        let at = entry.key_span.start;
        match (&*entry.key, &entry.item.value) {
            ("path", TomlValue::Text(text)) if !text.is_empty() => {
                remembered.path = expand(places, config, text);
            }
            ("kind", TomlValue::Text(text)) => {
                let Some(kind) = clients::kind(text) else {
                    return Err((unknown_kind(text), at));
                };
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
                remembered.options = Options {
                    first_argument: Some(u8::from(*number == 1)),
                };
            }
            ("first_argument", _) => {
                let message = "`first_argument` is the number of the first argument: 0 or 1";
                return Err((message.to_owned(), at));
            }
            (key @ ("path" | "kind" | "name"), _) => {
                return Err((format!("`{key}` of a library has to be text"), at));
            }
            (key, _) => {
                let known = ["path", "kind", "name", "first_argument"];
                let near = twig_core::suggest::near(key, known);
                let near = near.first().map(|name| format!("; did you mean `{name}`?"));
                let message = format!(
                    "unknown setting `{key}` of a library{}",
                    near.unwrap_or_default()
                );
                return Err((message, at));
            }
        }
    }
    if remembered.path.as_os_str().is_empty() {
        let message = "a library under [[libraries]] needs a `path`, such as \"~/prompts\"";
        return Err((message.to_owned(), start));
    }
    Ok(remembered)
}

/// The message about a name that no library can have.
pub(crate) fn bad_name(text: &str) -> String {
    match LibraryName::from_folder(text) {
        Some(name) => format!("`{text}` is not a valid library name; `{name}` is one"),
        None => format!("`{text}` is not a valid library name: letters, digits and `_`"),
    }
}

fn unknown_kind(text: &str) -> String {
    let known: Vec<&str> = clients::kinds().map(LibraryKind::as_str).collect();
    let near = twig_core::suggest::near(text, known.iter().copied());
    match near.first() {
        Some(near) => format!("unknown kind `{text}`; did you mean `{near}`?"),
        None => format!("unknown kind `{text}`; known are {}", known.join(", ")),
    }
}

fn expand(places: &Places, config: &Path, text: &str) -> PathBuf {
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
