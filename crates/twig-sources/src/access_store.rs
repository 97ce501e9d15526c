//! Where the keys and roles of people are: a file of this server, or the database that servers share.
//!
//! With a database they are there, unless this server has a file with keys and the database has none
//! yet: then the file is used until its keys are moved, so that no door opens meanwhile.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use twig_core::access::{AccessError, AccessRecord};

use crate::access_file::{FollowedAccessFile, change_access, read_whole};
#[cfg(feature = "postgres")]
use crate::access_file::{is_expected, read_access};
use crate::access_store_error::AccessStoreError;
#[cfg(feature = "postgres")]
use crate::postgres::{FollowedPgAccess, PgAccess, PgAccessState};
use crate::shared_sessions::SharedSessions;
use crate::store_place::StorePlace;

/// Where keys and roles are.
#[derive(Debug, Clone)]
pub struct AccessStore {
    file: Option<PathBuf>,
    #[cfg(feature = "postgres")]
    database: Option<PgAccess>,
}

/// Where the keys are that count now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessHolder {
    /// The file of this server.
    File,
    /// The database.
    Database,
}

/// What a server brings to follow keys and roles.
pub struct AccessFollowing {
    /// Called when another server has changed something, on any thread.
    pub on_news: Box<dyn Fn() + Send + Sync>,
    /// Becomes the key that seals the ids of sessions on all servers, if they have none yet.
    pub session_key: [u8; 32],
}

impl AccessStore {
    /// The keys beside workspaces; `file` is where they are without a database. `None` if there is
    /// neither.
    #[cfg_attr(not(feature = "postgres"), allow(unused_variables))]
    pub fn new(workspaces: Option<&StorePlace>, file: Option<PathBuf>) -> Option<Self> {
        #[cfg(feature = "postgres")]
        let database = match workspaces {
            Some(StorePlace::Database(database)) => Some(PgAccess::new(database)),
            _ => None,
        };
        #[cfg(feature = "postgres")]
        let is_nowhere = file.is_none() && database.is_none();
        #[cfg(not(feature = "postgres"))]
        let is_nowhere = file.is_none();
        let found = Self {
            file,
            #[cfg(feature = "postgres")]
            database,
        };
        (!is_nowhere).then_some(found)
    }

    /// The file of this server.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether servers share a database.
    pub fn is_database(&self) -> bool {
        #[cfg(feature = "postgres")]
        return self.database.is_some();
        #[cfg(not(feature = "postgres"))]
        return false;
    }

    /// Reads all keys and roles, and says where they are.
    pub fn read(&self) -> Result<(AccessRecord, AccessHolder), AccessStoreError> {
        #[cfg(feature = "postgres")]
        if let Some(database) = &self.database {
            let shared = match database.read()? {
                PgAccessState::Lost => return Err(AccessStoreError::LostRow),
                PgAccessState::NoTable => return Err(AccessStoreError::LostTable),
                PgAccessState::Absent => AccessRecord::default(),
                PgAccessState::There(record) => record,
            };
            if shared.asks_for_keys() || !self.has_file_with_keys()? {
                return Ok((shared, AccessHolder::Database));
            }
        }
        let file = self.file.as_deref();
        let record = file.map_or(Ok(AccessRecord::default()), read_whole)?;
        Ok((record, AccessHolder::File))
    }

    /// Changes keys and roles where they are, while no other command does the same.
    pub fn change<R>(
        &self,
        change: impl FnOnce(&mut AccessRecord) -> Result<R, AccessError>,
    ) -> Result<R, AccessStoreError> {
        match self.read()?.1 {
            AccessHolder::Database => self.change_shared(change),
            AccessHolder::File => {
                change_access(self.file.as_deref().unwrap_or(Path::new("")), change)
            }
        }
    }

    /// Changes those of the database, if there is one, also if they do not count yet.
    pub fn change_shared<R>(
        &self,
        change: impl FnOnce(&mut AccessRecord) -> Result<R, AccessError>,
    ) -> Result<R, AccessStoreError> {
        #[cfg(feature = "postgres")]
        if let Some(database) = &self.database {
            let changed = database.change(change)?;
            return Ok(changed.ok_or(AccessStoreError::LostRow)??);
        }
        self.change(change)
    }

    /// Reads keys and roles, and follows their changes.
    #[cfg_attr(not(feature = "postgres"), allow(unused_variables))]
    pub fn follow(
        &self,
        following: AccessFollowing,
    ) -> Result<(FollowedAccess, AccessRecord), AccessStoreError> {
        #[cfg(feature = "postgres")]
        if let Some(database) = &self.database {
            let AccessFollowing {
                on_news,
                session_key,
            } = following;
            let (shared, state) = FollowedPgAccess::start(database, session_key, on_news)?;
            let record = match state {
                PgAccessState::Lost => return Err(AccessStoreError::LostRow),
                PgAccessState::NoTable => return Err(AccessStoreError::LostTable),
                PgAccessState::Absent => AccessRecord::default(),
                PgAccessState::There(record) => record,
            };
            let mut followed = FollowedAccess {
                file: None,
                shared: Some(Arc::new(shared)),
            };
            let Some(path) = self.file.as_deref().filter(|_| !record.asks_for_keys()) else {
                return Ok((followed, record));
            };
            let (file, record) = FollowedAccessFile::new(path)?;
            followed.file = Some(file);
            return Ok((followed, record));
        }
        let path = self.file.as_deref().unwrap_or(Path::new(""));
        let (file, record) = FollowedAccessFile::new(path)?;
        let followed = FollowedAccess {
            file: Some(file),
            #[cfg(feature = "postgres")]
            shared: None,
        };
        Ok((followed, record))
    }

    /// Whether this server has keys of its own, also if their file is gone.
    #[cfg(feature = "postgres")]
    fn has_file_with_keys(&self) -> Result<bool, AccessStoreError> {
        let Some(path) = self.file.as_deref() else {
            return Ok(false);
        };
        let record = read_access(path).map_err(AccessStoreError::Unreadable)?;
        Ok(record.asks_for_keys() || is_expected(path))
    }
}

/// Keys and roles, as a server last read them.
#[derive(Debug)]
pub struct FollowedAccess {
    /// `None` once the keys in the database count.
    file: Option<FollowedAccessFile>,
    #[cfg(feature = "postgres")]
    shared: Option<Arc<FollowedPgAccess>>,
}

/// Has the database asked out of turn.
pub struct AccessAsker(#[cfg(feature = "postgres")] Arc<FollowedPgAccess>);

impl AccessAsker {
    /// Waits a moment for the database to be asked now; callers share one question.
    pub fn ask(&self) {
        #[cfg(feature = "postgres")]
        self.0.look_now();
    }
}

impl FollowedAccess {
    /// The place of the keys, for messages.
    pub fn shown(&self) -> String {
        match &self.file {
            Some(file) => file.path().display().to_string(),
            None => "table twig.access in the database".to_owned(),
        }
    }

    /// Where the keys are that count now.
    pub fn holder(&self) -> AccessHolder {
        match &self.file {
            Some(_) => AccessHolder::File,
            None => AccessHolder::Database,
        }
    }

    /// What all servers share about sessions; `None` without a database that has them.
    pub fn sessions(&self) -> Option<Arc<SharedSessions>> {
        #[cfg(feature = "postgres")]
        return self.shared.as_ref()?.sessions().cloned();
        #[cfg(not(feature = "postgres"))]
        return None;
    }

    /// The record, if it changed since it was last read; an error if it cannot be read now.
    pub fn look(&mut self) -> Option<io::Result<AccessRecord>> {
        #[cfg(feature = "postgres")]
        if let Some(shared) = &self.shared
            && let Some(read) = shared.take()
        {
            match read {
                Ok(PgAccessState::There(record)) if record.asks_for_keys() => {
                    self.file = None;
                    return Some(Ok(record));
                }
                // Whoever was let in by the file still is.
                _ if self.file.is_some() => {}
                Ok(PgAccessState::There(record)) => return Some(Ok(record)),
                Ok(PgAccessState::Lost | PgAccessState::NoTable | PgAccessState::Absent) => {
                    return Some(Ok(AccessRecord::default()));
                }
                Err(error) => return Some(Err(io::Error::other(error))),
            }
        }
        self.file.as_mut()?.look()
    }

    /// What asks the database before the next look; `None` without one.
    pub fn asker(&self) -> Option<AccessAsker> {
        #[cfg(feature = "postgres")]
        return self.shared.clone().map(AccessAsker);
        #[cfg(not(feature = "postgres"))]
        return None;
    }
}
