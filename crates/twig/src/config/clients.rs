//! `[clients]`: clients that Twig does not know, and what lists show to one client.

use std::collections::BTreeMap;

use twig_clients::clients::{CLIENTS, client, client_called};
use twig_core::ClientListing;
use twig_core::parse::{Table, TomlItem, TomlValue};

use super::patterns;

/// What is wrong, and where.
type ClientsError<'t, 'a> = (String, &'t TomlItem<'a>);

/// The settings of one client.
pub(super) const CLIENT_FIELDS: [&str; 3] = ["hide", "pin", "serve_own"];

/// The names in `like_opencode`, and the tables of clients by their names.
pub(super) type ClientSettings = (Vec<String>, BTreeMap<Box<str>, ClientListing>);

pub(super) fn read<'t, 'a>(table: &'t Table<'a>) -> Result<ClientSettings, ClientsError<'t, 'a>> {
    let (mut names, mut clients) = (Vec::new(), BTreeMap::new());
    for entry in &table.entries {
        let item = &entry.item;
        match (&*entry.key, &item.value) {
            ("like_opencode", _) => names = like_opencode(item)?,
            (key, TomlValue::Table(table)) => {
                let name = name_of(key).map_err(|why| (why, item))?;
                if clients.insert(name, listing(table)?).is_some() {
                    return Err((format!("client `{key}` has two tables in [clients]"), item));
                }
            }
            (key, _) => {
                let message = format!(
                    "unknown setting `{key}` of [clients]: it has `like_opencode`, and a table for \
                     each client, such as [clients.claude-code]"
                );
                return Err((message, item));
            }
        }
    }
    Ok((names, clients))
}

fn like_opencode<'t, 'a>(item: &'t TomlItem<'a>) -> Result<Vec<String>, ClientsError<'t, 'a>> {
    let expected = "`like_opencode` is a list of names of clients: [\"acme-code\"]";
    let TomlValue::List(items) = &item.value else {
        return Err((expected.to_owned(), item));
    };
    let names = items.iter().map(|item| match &item.value {
        TomlValue::Text(name) if !name.trim().is_empty() => Ok(name.trim().to_owned()),
        _ => Err((expected.to_owned(), item)),
    });
    names.collect()
}

/// The name by which a client is looked up: Twig's, or the one that an unknown client gives itself.
fn name_of(key: &str) -> Result<Box<str>, String> {
    if let Some(known) = client(key).or_else(|| client_called(key)) {
        return Ok(known.id.into());
    }
    let known = CLIENTS.iter().map(|client| client.id);
    match twig_core::suggest::near(key, known).first() {
        Some(near) => Err(format!("unknown client `{key}`; did you mean `{near}`?")),
        None => Ok(key.trim().to_lowercase().into()),
    }
}

fn listing<'t, 'a>(table: &'t Table<'a>) -> Result<ClientListing, ClientsError<'t, 'a>> {
    let mut listing = ClientListing::default();
    for entry in &table.entries {
        let item = &entry.item;
        match (&*entry.key, &item.value) {
            ("hide", _) => listing.rules.hide = patterns("hide", item)?,
            ("pin", _) => listing.rules.pin = patterns("pin", item)?,
            ("serve_own", TomlValue::Bool(value)) => listing.serves_own = Some(*value),
            ("serve_own", _) => {
                return Err(("`serve_own` has to be true or false".to_owned(), item));
            }
            (key, _) => {
                let near = twig_core::suggest::did_you_mean(key, CLIENT_FIELDS);
                let near = near.map(|near| format!("; {near}")).unwrap_or_default();
                return Err((format!("unknown setting `{key}` of a client{near}"), item));
            }
        }
    }
    Ok(listing)
}
