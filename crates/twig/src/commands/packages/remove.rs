//! `twig remove`: removes a package from the configuration and the lock.

use std::process::ExitCode;

use serde::Serialize;

use super::scope::{PackageScope, ScopedPackage};
use crate::command_error::CommandError;
use crate::places::Places;
use crate::ui::Ui;

/// A package that is no longer served, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct RemovedPackage {
    name: String,
    source: String,
}

/// The package of a name: the repository's before the user's own.
pub(crate) fn find(
    places: &Places,
    name: &str,
) -> Result<Option<(PackageScope, ScopedPackage)>, CommandError> {
    for scope in PackageScope::all(places)?.into_iter().rev() {
        let wanted = scope.wanted(places)?.into_iter();
        let found = { wanted }.find(|it| it.wanted.name.as_str() == name);
        if let Some(found) = found {
            return Ok(Some((scope, found)));
        }
    }
    Ok(None)
}

pub(crate) fn run(
    places: &Places,
    scope: &PackageScope,
    package: &ScopedPackage,
    json: bool,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let wanted = &package.wanted;
    // With a lock that cannot be changed, nothing is.
    scope.read_lock(places)?;
    // The configuration first: an entry of the lock that nothing asks for does no harm.
    let mut config = scope.open_config(places)?;
    config.remove(places, package.at)?;
    config.save(places)?;
    scope.change_lock(places, None, |lock| {
        lock.remove(&wanted.name);
    })?;
    ui.say(format!(
        "`{}` is no longer served; `twig gc` removes its files",
        wanted.name
    ));
    if json {
        ui.json(&RemovedPackage {
            name: wanted.name.to_string(),
            source: wanted.source.to_string(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
