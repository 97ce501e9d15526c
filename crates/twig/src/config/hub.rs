//! `[hub]`: whether a server over HTTP is a hub, and what it says of itself.

use twig_core::parse::{Table, TomlItem, TomlValue};
use twig_core::suggest::did_you_mean;

use crate::http::{HubSettings, parse_hub_url};

/// Every setting of the table.
pub(super) const FIELDS: [&str; 4] = ["enable", "title", "description", "url"];

/// Reads the settings of the hub.
pub(super) fn read<'t, 'a>(
    settings: &mut HubSettings,
    table: &'t Table<'a>,
) -> Result<(), (String, &'t TomlItem<'a>)> {
    for entry in &table.entries {
        let (key, item) = (&*entry.key, &entry.item);
        match (key, &item.value) {
            ("enable", TomlValue::Bool(value)) => settings.is_on = *value,
            ("enable", _) => return Err(("`enable` has to be true or false".to_owned(), item)),
            ("title", value) => settings.title = Some(words(key, value, 100).map_err(at(item))?),
            ("description", value) => {
                settings.description = Some(words(key, value, 1_000).map_err(at(item))?);
            }
            ("url", TomlValue::Text(text)) if let Some(url) = parse_hub_url(text) => {
                settings.url = Some(url);
            }
            ("url", _) => {
                let message = "`url` is a scheme and a host, such as \"https://hub.example.com\"";
                return Err((message.to_owned(), item));
            }
            (key, _) => {
                let near = did_you_mean(key, FIELDS);
                let near = near.map(|near| format!("; {near}")).unwrap_or_default();
                return Err((format!("unknown setting `{key}` of [hub]{near}"), item));
            }
        }
    }
    Ok(())
}

fn at<'t, 'a>(item: &'t TomlItem<'a>) -> impl FnOnce(String) -> (String, &'t TomlItem<'a>) {
    move |message| (message, item)
}

/// A text on one line, of at most this many characters.
fn words(key: &str, value: &TomlValue<'_>, most: usize) -> Result<String, String> {
    let TomlValue::Text(text) = value else {
        return Err(format!("`{key}` has to be a text"));
    };
    let text = text.trim();
    let is_line = !text.is_empty() && !text.contains(char::is_control);
    if !is_line || text.chars().count() > most {
        return Err(format!(
            "`{key}` has to be one line of at most {most} characters"
        ));
    }
    Ok(text.to_owned())
}
