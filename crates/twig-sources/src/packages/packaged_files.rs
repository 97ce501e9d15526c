//! The files that a library of a package must have, so that a changed byte is noticed when it is read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use twig_core::{BodyError, LibraryPackage};
use twig_packages::{PackageTree, TreeDigest};

use super::contents::PackageStore;

/// The lists of packages, each read once.
#[derive(Debug, Default)]
pub(crate) struct PackageLists {
    lists: Mutex<BTreeMap<TreeDigest, Arc<PackageTree>>>,
}

/// The files of one library of a package.
#[derive(Debug, Clone)]
pub(crate) struct PackagedFiles {
    /// `None` if the list is missing or damaged: then no file is as it was fetched.
    list: Option<Arc<PackageTree>>,
    below: Box<str>,
}

impl PackageLists {
    /// The files that a library of a package must have.
    pub(crate) fn of(&self, packages: Option<&Path>, package: &LibraryPackage) -> PackagedFiles {
        let list = TreeDigest::parse(&package.tree).and_then(|tree| {
            let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(list) = lists.get(&tree) {
                return Some(Arc::clone(list));
            }
            let list = PackageStore::new(packages?).files_of(tree).ok()?;
            let list = Arc::new(list);
            lists.insert(tree, Arc::clone(&list));
            Some(list)
        });
        PackagedFiles {
            list,
            below: package.below.clone(),
        }
    }

    /// Forgets packages that are no longer served.
    pub(crate) fn retain(&self, is_served: impl Fn(TreeDigest) -> bool) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|tree, _| is_served(*tree));
    }
}

impl PackagedFiles {
    /// Refuses bytes that are not those that were fetched; `path` is that in the library.
    pub(crate) fn check(&self, path: &str, bytes: &[u8]) -> Result<(), BodyError> {
        self.check_digest(path, &Sha256::digest(bytes).into())
    }

    /// The same for the digest of bytes.
    pub(crate) fn check_digest(&self, path: &str, digest: &[u8; 32]) -> Result<(), BodyError> {
        let list = self.list.as_ref().ok_or(BodyError::Altered)?;
        let file = list.file(&format!("{}{path}", self.below));
        match file {
            Some(file) if file.digest == *digest => Ok(()),
            _ => Err(BodyError::Altered),
        }
    }
}
