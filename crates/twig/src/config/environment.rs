//! Settings from the environment: `TWIG_SECTION_KEY` for each key of the file that is one value or a
//! list of texts.
//!
//! A variable is read as if it were in the file, so the same values are good and the same mistakes
//! have the same words.

use std::path::Path;

use twig_core::parse::{Table, TomlEntry, TomlItem, TomlValue};

use super::http_settings;
use super::numbers::{HTTP, LIMITS, PACKAGES};
use super::store_settings;
use super::{Config, set_entry};
use crate::command_error::CommandError;
use crate::places::{self, Places};

/// How a variable is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Number,
    Text,
    /// `true` or `false`.
    Flag,
    /// Texts with commas between them.
    List,
}

/// A key of the file; the section is empty for keys that are in none.
#[derive(Debug, Clone, Copy)]
struct KnownKey {
    section: &'static str,
    key: &'static str,
    kind: ValueKind,
}

/// Sets what the environment says.
pub(super) fn apply(places: &Places, config: &mut Config) -> Result<(), CommandError> {
    for known in known_keys() {
        let name = known.variable();
        let Some(value) = places::variable(&name).filter(|value| !value.is_empty()) else {
            continue;
        };
        let Some(value) = value.to_str() else {
            return Err(CommandError::fixable(format!("{name} is not UTF-8 text")));
        };
        let here = places::working_folder().unwrap_or_default();
        // Paths are relative to the folder of this file, which is not there.
        let file = here.join("environment");
        known
            .set(places, config, &file, value)
            .map_err(|message| CommandError::fixable(format!("{name}: {message}")))?;
    }
    Ok(())
}

/// Logs variables that are probably misspelled. Others have names like ours: a service in Kubernetes
/// that is called `twig-http` gets `TWIG_HTTP_PORT`.
pub(super) fn warn_of_near_names() {
    for name in places::names_of_variables("TWIG_") {
        let keys = known_keys().filter(|known| !known.section.is_empty());
        // Keys of the section that the name begins with.
        let keys = keys.filter_map(|known| {
            let rest = name.strip_prefix(&known.prefix())?;
            Some((rest, known.key.to_ascii_uppercase()))
        });
        let keys: Vec<(&str, String)> = keys.collect();
        let Some((rest, _)) = keys.first() else {
            continue;
        };
        let near = twig_core::suggest::near(rest, keys.iter().map(|(_, key)| &**key));
        if let Some(near) = near.first().filter(|near| near != rest) {
            let prefix = name.trim_end_matches(rest);
            tracing::warn!("the variable {name} sets nothing: did you mean {prefix}{near}?");
        }
    }
}

/// Every key that a variable can set.
fn known_keys() -> impl Iterator<Item = KnownKey> {
    let key = |section, kind| move |key| KnownKey { section, key, kind };
    let limits = LIMITS.iter().map(|(name, ..)| *name);
    let http = HTTP.iter().map(|(name, ..)| *name);
    let packages = PACKAGES.iter().map(|(name, ..)| *name);
    let lists = [
        ("", "hide"),
        ("", "pin"),
        ("clients", "like_opencode"),
        ("functions", "environment"),
        ("serve", "only"),
    ];
    let own = lists.map(|(section, name)| key(section, ValueKind::List)(name));
    let texts = ["separator", "trigger"].map(key("", ValueKind::Text));
    let flags = [
        ("", "serve_own"),
        ("store", "serve"),
        ("hub", "enable"),
        ("stats", "enable"),
    ];
    let flags = flags.map(|(section, name)| key(section, ValueKind::Flag)(name));
    own.into_iter()
        .chain(texts)
        .chain(flags)
        .chain(["title", "description", "url"].map(key("hub", ValueKind::Text)))
        .chain(store_settings::TEXTS.map(key("store", ValueKind::Text)))
        .chain(store_settings::NUMBERS.map(key("store", ValueKind::Number)))
        // Reads are logged only if there is a file for them.
        .chain(["file", "reads"].map(key("audit", ValueKind::Text)))
        .chain(http_settings::TEXTS.map(key("http", ValueKind::Text)))
        .chain(http_settings::LISTS.map(key("http", ValueKind::List)))
        .chain(http_settings::FLAGS.map(key("http", ValueKind::Flag)))
        .chain(http.map(key("http", ValueKind::Number)))
        .chain(limits.map(key("limits", ValueKind::Number)))
        .chain(packages.map(key("packages", ValueKind::Number)))
}

impl KnownKey {
    fn variable(&self) -> String {
        self.prefix() + &self.key.to_ascii_uppercase()
    }

    fn prefix(&self) -> String {
        match self.section {
            "" => "TWIG_".to_owned(),
            section => format!("TWIG_{}_", section.to_ascii_uppercase()),
        }
    }

    fn set(
        &self,
        places: &Places,
        config: &mut Config,
        file: &Path,
        value: &str,
    ) -> Result<(), String> {
        let entry = entry(self.key, self.kind.read(value));
        let entry = match self.section {
            "" => entry,
            section => {
                let entries = vec![entry];
                self::entry(section, TomlValue::Table(Table { entries }))
            }
        };
        set_entry(config, places, file, &entry).map_err(|mistake| mistake.message)
    }
}

impl ValueKind {
    /// The value as the file would have it. What is no such value is text, which is refused.
    fn read(self, value: &str) -> TomlValue<'_> {
        let text = || TomlValue::Text(value.into());
        match self {
            Self::Number => {
                let number = value.trim().replace('_', "").parse();
                number.map_or_else(|_| text(), TomlValue::Integer)
            }
            Self::Flag => {
                let flag = value.trim().parse();
                flag.map_or_else(|_| text(), TomlValue::Bool)
            }
            Self::Text => text(),
            Self::List => {
                let parts = value.split(',').map(str::trim);
                let parts = parts.filter(|part| !part.is_empty());
                let items = parts.map(|part| item(TomlValue::Text(part.into())));
                TomlValue::List(items.collect())
            }
        }
    }
}

fn entry<'a>(key: &'a str, value: TomlValue<'a>) -> TomlEntry<'a> {
    TomlEntry {
        key: key.into(),
        key_span: 0..0,
        item: item(value),
    }
}

fn item(value: TomlValue<'_>) -> TomlItem<'_> {
    TomlItem { value, span: 0..0 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::CONFIG_SCHEMA;
    use super::*;

    /// The keys of the schema that are one value or a list of texts, with their sections.
    fn keys_of_schema() -> BTreeSet<String> {
        let schema: Value = serde_json::from_str(CONFIG_SCHEMA).unwrap();
        let is_value = |it: &Value| match it["type"].as_str() {
            Some("string" | "integer" | "boolean") => true,
            Some("array") => it["items"]["type"] == "string",
            _ => it.get("enum").is_some(),
        };
        let mut found = BTreeSet::new();
        for (name, it) in schema["properties"].as_object().unwrap() {
            if is_value(it) {
                found.insert(format!("TWIG_{name}").to_ascii_uppercase());
            }
            for (key, inner) in it["properties"].as_object().into_iter().flatten() {
                assert!(is_value(inner), "{name}.{key}");
                found.insert(format!("TWIG_{name}_{key}").to_ascii_uppercase());
            }
        }
        found
    }

    #[test]
    fn every_key_of_the_file_has_a_variable_of_its_own() {
        let variables: Vec<String> = known_keys().map(|known| known.variable()).collect();
        let unique: BTreeSet<String> = variables.iter().cloned().collect();
        assert_eq!(unique.len(), variables.len());
        assert_eq!(unique, keys_of_schema());
        // They have a meaning of their own.
        for other in ["TWIG_DATA_DIR", "TWIG_TOKEN", "TWIG_WORKING_FOLDER"] {
            assert!(!unique.contains(other));
        }
    }

    #[test]
    fn a_variable_changes_nothing_else_of_its_section() {
        let places = Places::from_environment();
        let file = Path::new("/config.toml");
        let text = "[clients]\nlike_opencode = [\"a\"]\n[clients.claude-code]\nserve_own = true\n\
                    [http]\nsessions = 3\nallow_host = [\"a.example\"]\n[limits]\npage = 7\n";
        let Ok(before) = super::super::read(&places, file, text) else {
            panic!("it is a good file");
        };
        let mut config = before.clone();
        let set = |config: &mut Config, name: &str, value: &str| {
            let known = known_keys().find(|known| known.variable() == name);
            known.unwrap().set(&places, config, file, value).unwrap();
        };
        set(&mut config, "TWIG_CLIENTS_LIKE_OPENCODE", "b, c");
        set(&mut config, "TWIG_HTTP_RENDERS", "1_000");
        set(&mut config, "TWIG_HTTP_ADMIN", ":1");
        set(&mut config, "TWIG_LIMITS_MESSAGE", "9");
        let mut expected = before;
        expected.command_clients = vec!["b".to_owned(), "c".to_owned()];
        expected.http.renders = 1_000;
        expected.http_settings.admin = Some(([127, 0, 0, 1], 1).into());
        expected.limits.message = 9;
        assert_eq!(config, expected);
    }

    #[test]
    fn every_variable_is_documented() {
        let page = include_str!("../../../../docs/config.md");
        for known in known_keys() {
            let name = known.variable();
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
