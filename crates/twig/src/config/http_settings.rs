//! The settings of `[http]` that are not limits: what flags of `twig serve` say otherwise.

use std::path::{Path, PathBuf};

use twig_core::parse::{Table, TomlItem, TomlValue};

use super::libraries::expand;
use crate::http::{HttpSettings, parse_address, parse_admin, parse_host, parse_origin};
use crate::places::Places;

/// The settings that are one text.
pub(super) const TEXTS: [&str; 6] = [
    "address",
    "admin",
    "tls_cert",
    "tls_key",
    "token_file",
    "hook_secret_file",
];
/// The settings that are a list of texts.
pub(super) const LISTS: [&str; 2] = ["allow_host", "allow_origin"];
/// The settings that are `true` or `false`.
pub(super) const FLAGS: [&str; 2] = ["page_edit", "sticky"];

/// Every setting of this module.
pub(super) fn names() -> [&'static str; 10] {
    let [
        address,
        admin,
        tls_cert,
        tls_key,
        token_file,
        hook_secret_file,
    ] = TEXTS;
    let [allow_host, allow_origin] = LISTS;
    let [page_edit, sticky] = FLAGS;
    [
        address,
        admin,
        allow_host,
        allow_origin,
        tls_cert,
        tls_key,
        token_file,
        hook_secret_file,
        page_edit,
        sticky,
    ]
}

/// Reads the settings of this module; a relative path starts at the configuration's own folder.
pub(super) fn read<'t, 'a>(
    settings: &mut HttpSettings,
    places: &Places,
    config: &Path,
    table: &'t Table<'a>,
) -> Result<(), (String, &'t TomlItem<'a>)> {
    for entry in &table.entries {
        let (key, item) = (&*entry.key, &entry.item);
        let file = || -> Result<Option<PathBuf>, _> {
            text(key, item).map(|path| Some(expand(places, config, path)))
        };
        match key {
            "address" => settings.address = Some(parsed(key, item, parse_address)?),
            "admin" => settings.admin = Some(parsed(key, item, parse_admin)?),
            "allow_host" => settings.allow_host = list(key, item, parse_host)?,
            "allow_origin" => settings.allow_origin = list(key, item, parse_origin)?,
            "tls_cert" => settings.tls_cert = file()?,
            "tls_key" => settings.tls_key = file()?,
            "token_file" => settings.token_file = file()?,
            "hook_secret_file" => settings.hook_secret_file = file()?,
            "page_edit" => settings.page_edit = flag(key, item)?,
            "sticky" => settings.sticky = flag(key, item)?,
            // A limit.
            _ => {}
        }
    }
    Ok(())
}

fn text<'t, 'a>(key: &str, item: &'t TomlItem<'a>) -> Result<&'t str, (String, &'t TomlItem<'a>)> {
    match &item.value {
        TomlValue::Text(text) if !text.trim().is_empty() => Ok(text.trim()),
        _ => Err((format!("`{key}` has to be text"), item)),
    }
}

fn flag<'t, 'a>(key: &str, item: &'t TomlItem<'a>) -> Result<bool, (String, &'t TomlItem<'a>)> {
    match item.value {
        TomlValue::Bool(flag) => Ok(flag),
        _ => Err((format!("`{key}` has to be true or false"), item)),
    }
}

fn parsed<'t, 'a, T>(
    key: &str,
    item: &'t TomlItem<'a>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, (String, &'t TomlItem<'a>)> {
    let text = text(key, item)?;
    parse(text).map_err(|why| (format!("`{key}` cannot be `{text}`: {why}"), item))
}

fn list<'t, 'a>(
    key: &str,
    item: &'t TomlItem<'a>,
    parse: impl Fn(&str) -> Result<String, String>,
) -> Result<Vec<String>, (String, &'t TomlItem<'a>)> {
    let TomlValue::List(items) = &item.value else {
        return Err((format!("`{key}` has to be a list of texts"), item));
    };
    items.iter().map(|item| parsed(key, item, &parse)).collect()
}
