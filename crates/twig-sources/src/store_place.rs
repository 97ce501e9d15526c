//! Where workspaces are: a folder of SQLite files, or a PostgreSQL database.

use std::path::{Path, PathBuf};

use twig_core::Limits;
use twig_core::plan::{ChangeQuery, CheckedChain, RecordedChange};
use twig_core::store::{
    Digest, ItemKind, LabelName, OnWritten, Project, Store, StoreError, StoreName, Summary,
    Version, VersionQuery, Write,
};

use crate::copied::CopiedProject;
use crate::database_address::DatabaseAddress;
use crate::database_facts::DatabaseFacts;
use crate::packages::CommitAgreement;
#[cfg(feature = "postgres")]
use crate::postgres::{PgAgreement, PgStore, PgWorkspaces};
use crate::store::{Access, OldVersions, SqliteStore, VerifiedRows, Workspaces};
use crate::store_health::StoreHealth;
use crate::store_roles::StoreRoles;

/// Where workspaces are.
#[derive(Debug, Clone)]
pub enum StorePlace {
    /// A folder with one file for each.
    Folder(Workspaces),
    /// A database that has all of them.
    #[cfg(feature = "postgres")]
    Database(PgWorkspaces),
}

impl StorePlace {
    /// The workspaces in a folder, which need not exist yet.
    pub fn folder(folder: PathBuf) -> Self {
        Self::Folder(Workspaces::new(folder))
    }

    /// The workspaces in a database; nothing is connected yet.
    #[cfg(feature = "postgres")]
    pub fn database(address: &DatabaseAddress) -> Result<Self, StoreError> {
        Ok(Self::Database(PgWorkspaces::new(address)?))
    }

    /// The same without PostgreSQL: an error.
    #[cfg(not(feature = "postgres"))]
    pub fn database(_address: &DatabaseAddress) -> Result<Self, StoreError> {
        Err(StoreError::Unavailable(
            "This build of Twig has no PostgreSQL: remove the URL of the store, or use a build with \
             the feature `postgres`"
                .to_owned(),
        ))
    }

    /// Where the database is, without the password; `None` for files.
    pub fn address(&self) -> Option<String> {
        match self {
            Self::Folder(_) => None,
            #[cfg(feature = "postgres")]
            Self::Database(database) => Some(database.address()),
        }
    }

    /// The names of all workspaces, sorted.
    pub fn list(&self) -> Result<Vec<StoreName>, StoreError> {
        match self {
            Self::Folder(folder) => folder.list(),
            #[cfg(feature = "postgres")]
            Self::Database(database) => database.list(),
        }
    }

    /// Whether there is a workspace with that name. Also true if that cannot be found out: opening
    /// it reports the problem.
    pub fn exists(&self, name: &StoreName) -> bool {
        match self {
            Self::Folder(folder) => folder.exists(name),
            #[cfg(feature = "postgres")]
            Self::Database(database) => database.exists(name),
        }
    }

    /// Creates an empty workspace.
    pub fn create(&self, name: &StoreName) -> Result<(), StoreError> {
        match self {
            Self::Folder(folder) => folder.create(name),
            #[cfg(feature = "postgres")]
            Self::Database(database) => database.create(name),
        }
    }

    /// Deletes a workspace with everything in it.
    pub fn delete(&self, name: &StoreName) -> Result<(), StoreError> {
        match self {
            Self::Folder(folder) => folder.delete(name),
            #[cfg(feature = "postgres")]
            Self::Database(database) => database.delete(name),
        }
    }

    /// Opens a workspace. The default workspace is created if it is to be written.
    pub fn open(
        &self,
        name: &StoreName,
        access: Access,
        limits: &Limits,
    ) -> Result<WorkspaceStore, StoreError> {
        Ok(match self {
            Self::Folder(folder) => WorkspaceStore::Sqlite(folder.open(name, access, limits)?),
            #[cfg(feature = "postgres")]
            Self::Database(database) => {
                WorkspaceStore::Postgres(database.open(name, access, limits)?)
            }
        })
    }

    /// Creates the tables of a database or brings them up to date, and gives roles their rights: the
    /// version before, 0 if there were none, and now. `None` for files, which are migrated when they
    /// are opened.
    #[cfg_attr(not(feature = "postgres"), allow(unused_variables))]
    pub fn migrate(&self, roles: StoreRoles<'_>) -> Result<Option<(u32, u32)>, StoreError> {
        match self {
            Self::Folder(_) => Ok(None),
            #[cfg(feature = "postgres")]
            Self::Database(database) => {
                let migrated = database.migrate(roles)?;
                Ok(Some((migrated.from, migrated.to)))
            }
        }
    }

    /// What a database says about itself; `None` for files.
    pub fn facts(&self) -> Result<Option<DatabaseFacts>, StoreError> {
        match self {
            Self::Folder(_) => Ok(None),
            #[cfg(feature = "postgres")]
            Self::Database(database) => database.facts().map(Some),
        }
    }

    /// Asks a database whether it answers, for a moment at most; files always do.
    pub fn probe(&self) -> Result<(), StoreError> {
        match self {
            Self::Folder(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Self::Database(database) => database.probe(),
        }
    }

    /// Whether a database answers, as the last calls have shown; `None` for files.
    pub fn health(&self) -> Option<StoreHealth> {
        match self {
            Self::Folder(_) => None,
            #[cfg(feature = "postgres")]
            Self::Database(database) => Some(database.health()),
        }
    }

    /// Where replicas agree on the commits of followed packages; `None` if there is no database.
    pub fn agreement(&self) -> Option<Box<dyn CommitAgreement>> {
        match self {
            Self::Folder(_) => None,
            #[cfg(feature = "postgres")]
            Self::Database(database) => Some(Box::new(PgAgreement::new(database))),
        }
    }

    /// A message if a workspace's log has grown because another program prevents its checkpoint.
    pub fn held_log(&self, name: &StoreName) -> Option<String> {
        match self {
            Self::Folder(folder) => folder.held_log(name),
            #[cfg(feature = "postgres")]
            Self::Database(_) => None,
        }
    }

    /// The file of a workspace; `None` in a database.
    pub(crate) fn path(&self, name: &StoreName) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.path(name)),
            #[cfg(feature = "postgres")]
            Self::Database(_) => None,
        }
    }

    /// The folder; in a database, an error that says what to do instead.
    #[cfg_attr(not(feature = "postgres"), allow(unused_variables))]
    pub fn files(&self, instead: &str) -> Result<&Workspaces, StoreError> {
        match self {
            Self::Folder(folder) => Ok(folder),
            #[cfg(feature = "postgres")]
            Self::Database(_) => Err(not_a_file(instead)),
        }
    }
}

#[cfg(feature = "postgres")]
fn not_a_file(instead: &str) -> StoreError {
    StoreError::Unavailable(format!(
        "The workspaces are in a database, where this does not work: {instead}"
    ))
}

/// An open workspace of either kind.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkspaceStore {
    /// In a file.
    Sqlite(SqliteStore),
    /// In a database.
    #[cfg(feature = "postgres")]
    Postgres(PgStore),
}

impl WorkspaceStore {
    fn store(&self) -> &dyn Store {
        match self {
            Self::Sqlite(store) => store,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store,
        }
    }

    /// The file; in a database, an error that says what to do instead.
    #[cfg_attr(not(feature = "postgres"), allow(unused_variables))]
    pub fn file(&self, instead: &str) -> Result<&SqliteStore, StoreError> {
        match self {
            Self::Sqlite(store) => Ok(store),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Err(not_a_file(instead)),
        }
    }

    /// The path of the file; `None` in a database.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(store) => Some(store.path()),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }

    /// Checks that the pages of a file are consistent; a database does that itself.
    pub fn check_pages(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.check_pages(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// The changes that a query asks for, oldest first.
    pub fn changes(&self, query: &ChangeQuery) -> Result<Vec<RecordedChange>, StoreError> {
        match self {
            Self::Sqlite(store) => store.changes(query),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.changes(query),
        }
    }

    /// Checks the chain of every project, also of deleted ones; sorted by name.
    pub fn check_changes(&self) -> Result<Vec<CheckedChain>, StoreError> {
        match self {
            Self::Sqlite(store) => store.check_changes(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.check_changes(),
        }
    }

    /// Counts the versions older than the last `keep` ones of each prompt and resource, in one
    /// project or in all.
    pub fn count_old_versions(
        &self,
        project: Option<&StoreName>,
        keep: u64,
    ) -> Result<OldVersions, StoreError> {
        match self {
            Self::Sqlite(store) => store.count_old_versions(project, keep),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.count_old_versions(project, keep),
        }
    }

    /// Drops the versions older than the last `keep` ones; `keep` is at least one.
    pub fn drop_old_versions(
        &self,
        project: Option<&StoreName>,
        keep: u64,
    ) -> Result<OldVersions, StoreError> {
        match self {
            Self::Sqlite(store) => store.drop_old_versions(project, keep),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.drop_old_versions(project, keep),
        }
    }

    /// Compares all versions and contents with their digests.
    pub fn verify(&self) -> Result<VerifiedRows, StoreError> {
        match self {
            Self::Sqlite(store) => store.verify(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.verify(),
        }
    }
}

impl WorkspaceStore {
    /// Everything of every project, also the changes of deleted ones.
    pub(crate) fn copied_projects(&self) -> Result<Vec<CopiedProject>, StoreError> {
        match self {
            Self::Sqlite(store) => store.copied_projects(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.copied_projects(),
        }
    }

    /// Writes projects of another store as they are; this one has to be empty.
    pub(crate) fn write_copies(
        &self,
        projects: &[CopiedProject],
        content: &dyn Fn(&Digest) -> Result<Vec<u8>, StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.write_copies(projects, content),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.write_copies(projects, content),
        }
    }
}

/// Copies a workspace with its whole history to another place, where it is new or empty: a copy that
/// was interrupted leaves an empty one.
pub fn copy_workspace(
    store: &WorkspaceStore,
    to: &StorePlace,
    name: &StoreName,
    limits: &Limits,
) -> Result<VerifiedRows, StoreError> {
    let chains = store.check_changes()?;
    let projects = store.copied_projects()?;
    if store.check_changes()? != chains {
        return Err(StoreError::Unavailable(format!(
            "Workspace '{}' was changed while it was copied, and nothing was copied: stop its \
             servers, then try again",
            store.workspace()
        )));
    }
    let is_new = !to.exists(name);
    if is_new {
        to.create(name)?;
    }
    let copied = || {
        let copy = to.open(name, Access::Write, limits)?;
        copy.write_copies(&projects, &|digest| store.content(digest))?;
        copy.verify()
    };
    copied().inspect_err(|_| {
        if is_new && let Err(error) = to.delete(name) {
            tracing::warn!("the half copy `{name}` cannot be removed: {error}");
        }
    })
}

impl Store for WorkspaceStore {
    fn workspace(&self) -> &StoreName {
        self.store().workspace()
    }

    fn revision(&self) -> Result<u64, StoreError> {
        self.store().revision()
    }

    fn projects(&self) -> Result<Vec<Summary>, StoreError> {
        self.store().projects()
    }

    fn project(&self, name: &StoreName) -> Result<Option<Project>, StoreError> {
        self.store().project(name)
    }

    fn content(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.store().content(digest)
    }

    fn history(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<Version>, StoreError> {
        self.store().history(project, kind, name)
    }

    fn versions(&self, query: &VersionQuery) -> Result<Vec<Version>, StoreError> {
        self.store().versions(query)
    }

    fn labels(
        &self,
        project: &StoreName,
        kind: ItemKind,
        name: &StoreName,
    ) -> Result<Vec<(LabelName, u64)>, StoreError> {
        self.store().labels(project, kind, name)
    }

    fn protected_labels(&self, project: &StoreName) -> Result<Vec<LabelName>, StoreError> {
        self.store().protected_labels(project)
    }

    fn watch(&self, on_write: Box<dyn Fn() + Send + Sync>) -> Box<dyn Send> {
        self.store().watch(on_write)
    }

    fn close(&self) {
        self.store().close();
    }

    fn write(&self, write: Write, done: OnWritten) {
        self.store().write(write, done);
    }
}
