//! Where a server works: its working folder and the roots of its client, and the repositories that
//! these are in.

use std::path::{Path, PathBuf};

use twig_core::parse::project::FOLDER;

use crate::settings::Settings;

/// The name of a project's own folder.
pub const PROJECT: &str = FOLDER;

/// The repository that a folder is in: the nearest folder above it with a `.git`, below the home.
pub fn repository_of<'f>(folder: &'f Path, home: Option<&Path>) -> Option<&'f Path> {
    let mut above = folder.ancestors().take_while(|it| home != Some(*it));
    above.find(|it| it.join(".git").symlink_metadata().is_ok())
}

/// The project folders upward from a folder. The first of them may not exist yet.
pub fn project_folders(folder: &Path) -> Vec<PathBuf> {
    let mut projects = vec![folder.join(PROJECT)];
    let above = folder.ancestors().skip(1).map(|it| it.join(PROJECT));
    projects.extend(above.filter(|it| it.is_dir()));
    projects
}

impl Settings {
    /// The folders that the server and its client work in.
    fn work_folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.work.iter().chain(&self.roots)
    }

    /// True if the server or its client works in this folder, or somewhere below it.
    pub(crate) fn works_in(&self, repository: &Path) -> bool {
        self.work_folders().any(|work| is_below(work, repository))
    }

    /// True if a client that works here loads what it finds in this folder: the home, a folder that
    /// it works in, or one above that in the same repository.
    pub(crate) fn loads_from(&self, folder: &Path) -> bool {
        let home = self.home.as_deref();
        home == Some(folder)
            || self.work_folders().any(|work| {
                let repository = repository_of(work, home).unwrap_or(work);
                is_below(work, folder) && is_below(folder, repository)
            })
    }
}

/// True if a folder is another one or below it, however both are spelled.
fn is_below(folder: &Path, other: &Path) -> bool {
    folder.starts_with(other)
        || match (folder.canonicalize(), other.canonicalize()) {
            (Ok(folder), Ok(other)) => folder.starts_with(other),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_client_loads_from_its_home_and_from_its_repository() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in [
            "home/shop/.git",
            "home/shop/src/deep",
            "home/plain/sub",
            "home/other",
        ] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        let mut settings = Settings {
            home: Some(path("home")),
            work: Some(path("home/shop/src")),
            ..Settings::default()
        };
        for (folder, loads) in [
            ("home", true),
            ("home/shop", true),
            ("home/shop/src", true),
            ("home/shop/src/deep", false),
            ("home/other", false),
        ] {
            assert_eq!(settings.loads_from(&path(folder)), loads, "{folder}");
        }
        assert!(settings.works_in(&path("home/shop")));
        assert!(!settings.works_in(&path("home/other")));
        settings.roots = vec![path("home/plain/sub")];
        assert!(settings.works_in(&path("home/plain")));
        assert!(settings.loads_from(&path("home/plain/sub")));
        assert!(!settings.loads_from(&path("home/plain")));
    }
}
