//! What the clients of this machine have: their files, and whether they are installed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::clients::{ConfigScope, ConnectClient};
use super::config::{ClientConfig, ConfigError};
use super::made_folders::holds_only;
use crate::places::ClientPlaces;

/// A file of a client, as far as it can be read.
pub(crate) type SurveyedFile = (
    ConnectClient,
    ConfigScope,
    PathBuf,
    Result<ClientConfig, ConfigError>,
);

/// The files of every client that has any here, as far as they can be read.
pub(crate) fn survey(project: &Path, places: &ClientPlaces) -> Vec<SurveyedFile> {
    let all = ConnectClient::all().flat_map(|client| ConfigScope::ALL.map(|scope| (client, scope)));
    let files = all.filter_map(|(client, scope)| {
        let path = client.file(scope, project, places)?;
        // In the home folder a project's file may be the user's own.
        let own = client.file(ConfigScope::User, project, places);
        let is_own = scope == ConfigScope::Project && own.as_ref() == Some(&path);
        (!is_own).then_some((client, scope, path))
    });
    files
        .map(|(client, scope, path)| {
            let config = ClientConfig::read(client, scope, path.clone());
            (client, scope, path, config)
        })
        .collect()
}

/// Which clients seem to be installed, in their order.
pub(crate) fn installed(
    found: &[SurveyedFile],
    made: &BTreeSet<PathBuf>,
    homes: &ClientPlaces,
) -> Vec<bool> {
    let clients = ConnectClient::all().map(|client| {
        let own = found
            .iter()
            .find(|it| (it.0, it.1) == (client, ConfigScope::User));
        client.is_installed(homes, |path| {
            own.is_some_and(|(_, _, file, config)| match config {
                Ok(config) if path == file => config.has_only_twig(),
                Ok(config) => config.has_only_twig() && holds_only(path, file, made),
                Err(_) => false,
            })
        })
    });
    clients.collect()
}
