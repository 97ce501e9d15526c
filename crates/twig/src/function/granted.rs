//! What one run of a function gets beyond its library: real paths, and whether it has a network.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twig_clients::clients::CLIENTS;
use twig_core::{Grant, Grants};
use twig_sources::{RecordedGrants, expanded, real_path};

use super::repository;
use crate::places::{ClientPlaces, Places};

/// Folders of the system with more than files.
const SYSTEM: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/var/run"];

/// What the sandbox leaves open for one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Granted {
    /// The real paths that it may read.
    pub(super) read: Vec<String>,
    pub(super) network: bool,
}

/// Where a function is called from.
#[derive(Debug, Clone, Copy)]
pub(super) enum CalledFrom<'c> {
    /// This folder, over stdio or in a terminal.
    Folder(&'c Path),
    /// Another machine, perhaps: over HTTP.
    Http,
}

/// Resolves what a function asks for; the error says what it cannot get.
pub(super) fn resolve(
    grants: &Grants,
    recorded: &RecordedGrants,
    places: &Places,
    from: Option<CalledFrom<'_>>,
) -> Result<Granted, String> {
    if let Some(grant) = grants.iter().find(|grant| !recorded.has(*grant)) {
        return Err(format!("it asks for `{grant}`, which was not granted"));
    }
    if grants.repository && matches!(from, Some(CalledFrom::Http)) {
        let why = "it reads the repository in which it is called, which no function can over HTTP";
        return Err(why.to_owned());
    }
    let mut granted = Granted {
        read: Vec::new(),
        network: grants.network,
    };
    if grants.is_empty() {
        return Ok(granted);
    }
    let protected = Protected::new(places);
    for path in &grants.paths {
        let real = protected.check(path, places.home.as_deref())?;
        match recorded.real_path(path) {
            Some(known) if known == real => granted.push(real)?,
            known => {
                let known = known.unwrap_or(Path::new(""));
                return Err(format!(
                    "{path} is {} now and was {} when it was granted",
                    real.display(),
                    known.display()
                ));
            }
        }
    }
    match from {
        _ if !grants.repository => {}
        Some(CalledFrom::Folder(folder)) => {
            for folder in repository::folders(folder).unwrap_or_default() {
                if let Some(what) = protected.beside(&folder) {
                    let folder = folder.display();
                    return Err(format!(
                        "it reads the repository in which it is called, and {folder} has {what}, which functions never read"
                    ));
                }
                granted.push(folder)?;
            }
        }
        Some(CalledFrom::Http) | None => {}
    }
    Ok(granted)
}

/// Checks the paths that a function asks for before the user is asked to grant them.
pub(crate) fn check(grants: &Grants, places: &Places) -> Result<(), String> {
    let protected = Protected::new(places);
    let home = places.home.as_deref();
    let mut paths = grants.iter().filter_map(|grant| match grant {
        Grant::Path(path) => Some(path),
        _ => None,
    });
    paths.try_for_each(|path| protected.check(path, home).map(drop))
}

impl Granted {
    fn push(&mut self, path: PathBuf) -> Result<(), String> {
        let path = path.into_os_string().into_string();
        let path = path.map_err(|path| format!("{} is not UTF-8", path.display()))?;
        self.read.push(path);
        Ok(())
    }
}

/// What no function reads, granted or not: real paths, and what is there.
struct Protected {
    places: Vec<(PathBuf, String)>,
}

impl Protected {
    fn new(places: &Places) -> Self {
        let own = [&places.data, &places.workspaces];
        let files = [&places.trust, &places.config];
        let files = files.into_iter().flatten().filter_map(|file| file.parent());
        let own = own.into_iter().flatten().map(PathBuf::as_path).chain(files);
        let own = own.map(|path| (path.to_owned(), "Twig's own files".to_owned()));
        let clients = ClientPlaces::from_environment();
        let bases: Vec<&PathBuf> = clients.bases().collect();
        let settings = CLIENTS.iter().flat_map(|client| {
            let files = client.servers.as_ref().map_or(&[][..], |file| file.user);
            let files = files
                .iter()
                .filter_map(|(base, path)| Some(clients.base(client, *base)?.join(path)));
            // The whole folder of a client: its tokens may be beside the file.
            let places = files.map(|file| match file.parent() {
                Some(folder) if !bases.iter().any(|base| base.starts_with(folder)) => {
                    folder.to_owned()
                }
                _ => file,
            });
            let what = format!("the configuration of {}", client.title);
            places
                .map(move |place| (place, what.clone()))
                .collect::<Vec<_>>()
        });
        let system = SYSTEM.map(|path| (PathBuf::from(path), "files of the system".to_owned()));
        let all = own.chain(settings).chain(system);
        Self {
            places: all.map(|(path, what)| (real_path(&path), what)).collect(),
        }
    }

    /// The real path of what is asked for, unless functions never read it.
    fn check(&self, path: &str, home: Option<&Path>) -> Result<PathBuf, String> {
        let Some(real) = expanded(path, home) else {
            return Err(format!(
                "it asks to read {path}, and there is no home folder"
            ));
        };
        let real = real_path(&real);
        match self.beside(&real) {
            None => Ok(real),
            Some(what) => Err(format!(
                "it asks to read {path}, which has {what}: no function reads those"
            )),
        }
    }

    /// What is in this folder, or what this folder is in.
    fn beside(&self, real: &Path) -> Option<&str> {
        let mut places = self.places.iter();
        let found = places.find(|(place, _)| place.starts_with(real) || real.starts_with(place));
        found.map(|(_, what)| what.as_str())
    }
}
