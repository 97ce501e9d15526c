//! What one person may do where.

use std::collections::BTreeMap;

use super::place::AccessPlace;
use super::verbs::Verbs;
use crate::store::StoreName;

/// A person, or a program, that was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Identifies it, also after a restart.
    pub id: Box<str>,
    /// Its name for people.
    pub name: Box<str>,
    /// What it may do.
    pub rights: AccessRights,
}

/// What one person may do where: everything that was granted, and nothing is ever denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessRights {
    everywhere: Verbs,
    workspaces: BTreeMap<StoreName, Verbs>,
    projects: BTreeMap<(StoreName, StoreName), Verbs>,
}

impl AccessRights {
    /// Everything, everywhere.
    pub fn all() -> Self {
        Self {
            everywhere: Verbs::ALL,
            ..Self::default()
        }
    }

    /// Adds what is allowed in a place.
    pub fn add(&mut self, place: &AccessPlace, verbs: Verbs) {
        match place {
            AccessPlace::Everywhere => self.everywhere |= verbs,
            AccessPlace::Workspace(workspace) => {
                *self.workspaces.entry(workspace.clone()).or_default() |= verbs;
            }
            AccessPlace::Project(workspace, project) => {
                let place = (workspace.clone(), project.clone());
                *self.projects.entry(place).or_default() |= verbs;
            }
        }
    }

    /// What is allowed in all of a workspace.
    pub fn on_workspace(&self, workspace: &StoreName) -> Verbs {
        let own = self.workspaces.get(workspace).copied();
        self.everywhere | own.unwrap_or_default()
    }

    /// What is allowed in a project.
    pub fn on_project(&self, workspace: &StoreName, project: &StoreName) -> Verbs {
        // There are few of these, and a look-up would have to copy both names.
        let own = self.projects.iter();
        let mut own = own.filter(|((w, p), _)| w == workspace && p == project);
        let own = own.next().map(|(_, verbs)| *verbs);
        self.on_workspace(workspace) | own.unwrap_or_default()
    }

    /// What is allowed with a library of the server, which belongs to a workspace or to everyone.
    pub fn on_library(&self, workspace: Option<&str>) -> Verbs {
        let Some(workspace) = workspace else {
            return Verbs::READ | self.everywhere;
        };
        let mut own = self.workspaces.iter();
        let own = own.find(|(name, _)| name.as_str() == workspace);
        self.everywhere | own.map(|(_, verbs)| *verbs).unwrap_or_default()
    }

    /// Whether there is a place in which anything may be written.
    pub fn may_write(&self) -> bool {
        let places = self.workspaces.values().chain(self.projects.values());
        let mut granted = places.chain([&self.everywhere]);
        granted.any(|verbs| verbs.has(Verbs::WRITE))
    }

    /// Whether anything in a workspace may be read.
    pub fn reach(&self, workspace: &StoreName) -> bool {
        self.on_workspace(workspace).has(Verbs::READ)
            || self
                .projects
                .iter()
                .any(|((name, _), verbs)| name == workspace && verbs.has(Verbs::READ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::verbs::AccessRole;
    use super::*;

    fn rights(granted: &[(AccessRole, &str)]) -> AccessRights {
        let mut rights = AccessRights::default();
        for (role, place) in granted {
            rights.add(&AccessPlace::parse(place).unwrap(), role.verbs());
        }
        rights
    }

    fn name(text: &str) -> StoreName {
        StoreName::parse(crate::store::Noun::Project, text).unwrap()
    }

    #[test]
    fn a_role_reaches_from_a_workspace_into_its_projects_and_no_further() {
        use AccessRole::{Reader, Run, Writer};
        let rights = rights(&[(Reader, "acme"), (Writer, "acme/garden"), (Run, "lab/x")]);
        let on = |workspace, project| rights.on_project(&name(workspace), &name(project)).words();
        assert_eq!(on("acme", "garden"), "read, write");
        assert_eq!(on("acme", "other"), "read");
        assert_eq!(on("lab", "x"), "run");
        assert_eq!(on("lab", "garden"), "");
        assert_eq!(rights.on_workspace(&name("acme")).words(), "read");
        assert!(rights.reach(&name("acme")));
        assert!(!rights.reach(&name("lab")), "it may be run, not read");
        assert!(rights.on_library(None).has(Verbs::READ));
        assert!(rights.on_library(Some("acme")).has(Verbs::READ));
        assert!(!rights.on_library(Some("lab")).has(Verbs::READ));
        assert!(!rights.on_library(None).has(Verbs::RUN));
        assert!(rights.may_write());
    }
}
