//! `twig remove` and `twig library remove`: removes packages and folders from the configuration.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use twig_sources::{PlaceOrigin, Remembered, SearchedPlace};

use super::super::opened_catalog::{OpenedCatalog, SourceArgs};
use super::super::packages;
use super::add;
use crate::command_error::CommandError;
use crate::config::{Config, ConfigFile};
use crate::places::{Places, on_disk};
use crate::ui::Ui;

/// A folder that is no longer served, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct RemovedFolder {
    path: PathBuf,
}

pub(super) fn run(named: &str, json: bool, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    if let Some((scope, package)) = packages::remove::find(&places, named)? {
        return packages::remove::run(&places, &scope, &package, json, ui);
    }
    let mut file = ConfigFile::open(&places)?;
    let config = file.check(&places)?;
    let at = match by_path(&places, &config, named) {
        Some(at) => at,
        None => by_name(&places, &config, named)?,
    };
    file.remove(&places, at)?;
    file.save(&places)?;
    ui.say(format!(
        "{} is no longer served; its files were not changed",
        places.shown(&config.libraries[at].path)
    ));
    if json {
        let path = config.libraries[at].path.clone();
        ui.json(&RemovedFolder { path })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The entry for that folder, whether the folder exists or not.
fn by_path(places: &Places, config: &Config, named: &str) -> Option<usize> {
    let path: PathBuf = match (named.strip_prefix("~/"), &places.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => on_disk(Path::new(named)),
    };
    let known = add::known(config, &path)?;
    config.libraries.iter().position(|it| it == known)
}

/// The entry that a library with that name comes from.
fn by_name(places: &Places, config: &Config, named: &str) -> Result<usize, CommandError> {
    let is_called = |it: &Remembered| it.name.as_ref().is_some_and(|name| name.as_str() == named);
    if let Some(at) = config.libraries.iter().position(is_called) {
        return Ok(at);
    }
    let sources = SourceArgs::default();
    let opened = OpenedCatalog::with(places.clone(), config.clone(), &sources)?;
    let found = opened.live.found();
    let has_it = |place: &&SearchedPlace| place.libraries.iter().any(|it| it.name == named);
    match found.iter().find(has_it) {
        Some(place) if place.origin == PlaceOrigin::Configuration => {
            let at = config.libraries.iter().position(|it| it.path == place.path);
            at.ok_or_else(|| {
                CommandError::fixable("the configuration changed meanwhile: try again")
            })
        }
        Some(place) => Err(CommandError::fixable(format!(
            "library `{named}` was not added: it is in {}",
            place.shown
        ))
        .hint("move its folder away if it is not to be served")),
        None => {
            let added = found
                .iter()
                .filter(|it| it.origin == PlaceOrigin::Configuration);
            let others: Vec<&str> = added
                .flat_map(|place| &place.libraries)
                .map(|library| library.name.as_str())
                .collect();
            let message = format!("no library `{named}` was added, nor a folder of that name");
            let near = twig_core::suggest::did_you_mean(named, others);
            let hint =
                near.unwrap_or_else(|| "run `twig library list` to see which were".to_owned());
            Err(CommandError::fixable(message).hint(hint))
        }
    }
}
