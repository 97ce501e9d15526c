//! What the user granted to functions, in the form in which it was shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twig_core::{Function, Grant, Grants, Library};

/// What one function was granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedGrants {
    #[serde(default)]
    repository: bool,
    /// Each path as the author wrote it, with the real path that it was then.
    #[serde(default)]
    paths: BTreeMap<String, String>,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    environment: BTreeSet<String>,
}

/// What the functions of a library were granted, by the prompt's own name.
pub type LibraryGrants = BTreeMap<String, RecordedGrants>;

impl RecordedGrants {
    fn new(grants: &Grants, home: Option<&Path>) -> Self {
        let real = |path: &str| {
            let real = expanded(path, home).map(|path| real_path(&path));
            let real = real.and_then(|real| real.into_os_string().into_string().ok());
            (path.to_owned(), real.unwrap_or_default())
        };
        Self {
            repository: grants.repository,
            paths: grants.paths.iter().map(|path| real(path)).collect(),
            network: grants.network,
            environment: grants.environment.iter().map(ToString::to_string).collect(),
        }
    }

    /// Whether this was granted.
    pub fn has(&self, grant: Grant<'_>) -> bool {
        match grant {
            Grant::Repository => self.repository,
            Grant::Path(path) => self.paths.contains_key(path),
            Grant::Network => self.network,
            Grant::Variable(name) => self.environment.contains(name),
        }
    }

    /// The real path of a granted path, when it was granted.
    pub fn real_path(&self, path: &str) -> Option<&Path> {
        self.paths.get(path).map(Path::new)
    }

    /// Whether all of this was granted, with the same real paths.
    fn covers(&self, asked: &Self) -> bool {
        let is_same = |(path, real): (&String, &String)| self.paths.get(path) == Some(real);
        (self.repository || !asked.repository)
            && (self.network || !asked.network)
            && self.environment.is_superset(&asked.environment)
            && asked.paths.iter().all(is_same)
    }
}

/// What the functions of a library ask for; functions that ask for nothing are left out.
pub fn asked_grants(library: &Library, home: Option<&Path>) -> LibraryGrants {
    let asking = library.prompts.iter().filter_map(|prompt| {
        let grants = prompt.function().map(Function::grants)?;
        let name = prompt.name.as_str().to_owned();
        (!grants.is_empty()).then(|| (name, RecordedGrants::new(grants, home)))
    });
    asking.collect()
}

/// Whether everything that is asked for was granted, with the same real paths.
pub fn covers(granted: &LibraryGrants, asked: &LibraryGrants) -> bool {
    let is_covered = |(name, asked): (&String, &RecordedGrants)| {
        granted
            .get(name)
            .is_some_and(|granted| granted.covers(asked))
    };
    asked.iter().all(is_covered)
}

/// What the functions of a library ask for and were not granted.
pub(super) fn missing(library: &Library, granted: &LibraryGrants) -> Vec<String> {
    let none = RecordedGrants::default();
    let prompts = library.prompts.iter();
    let missing = prompts.filter_map(|prompt| {
        let name = prompt.name.as_str();
        let granted = granted.get(name).unwrap_or(&none);
        let grants = prompt.function().map(Function::grants)?;
        let mut missing = grants.iter().filter(|grant| !granted.has(*grant));
        missing.next().map(|grant| format!("{name}: {grant}"))
    });
    missing.collect()
}

/// A granted path on this machine; `None` if there is no home folder.
pub fn expanded(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}

/// A path without symlinks. Its last parts need not exist.
pub fn real_path(path: &Path) -> PathBuf {
    for known in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (known.canonicalize(), path.strip_prefix(known)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    path.to_owned()
}
