//! The last versions of files that were replaced, so that a save can be undone.
//!
//! Each file has a folder of its own, named by the digest of its path; a version is a file there,
//! named by its time and its own digest. Only this user can read them.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sha2::{Digest as _, Sha256};
use twig_core::store::{hex, read_hex};

use crate::platform::create_private_folder;
use crate::store::now;
use crate::write_file::{Existing, NewFile, write_file};

/// The versions that are kept of one file.
const KEPT: usize = 20;

/// The folder of replaced versions.
#[derive(Debug, Clone)]
pub struct ReplacedFiles {
    folder: PathBuf,
}

/// A version of a file that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedVersion {
    /// When it was replaced, in milliseconds since 1970.
    pub at: u64,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Its length in bytes.
    pub size: u64,
}

impl ReplacedFiles {
    /// Versions in this folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps what a file holds; the oldest version goes if there are too many.
    pub(crate) fn keep(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let digest = Sha256::digest(bytes).into();
        let folder = self.folder_of(path);
        create_private_folder(&folder)?;
        let known = self.list(path);
        if known.first().is_some_and(|last| last.digest == digest) {
            return Ok(());
        }
        let dir = Dir::open_ambient_dir(&folder, ambient_authority())?;
        // A clock that was set back makes nothing older.
        let after = known.first().map_or(0, |last| last.at + 1);
        let at = after.max(u64::try_from(now().0).unwrap_or(0));
        let name = file_name(at, &digest);
        write_file(&dir, name.as_ref(), bytes, NewFile::PRIVATE, Existing::NONE)?;
        for old in known.iter().skip(KEPT - 1) {
            // What stays is removed next time.
            let _ = dir.remove_file(file_name(old.at, &old.digest));
        }
        Ok(())
    }

    /// The versions of a file, the last one first.
    pub(crate) fn list(&self, path: &Path) -> Vec<ReplacedVersion> {
        let entries = self.folder_of(path).read_dir();
        let entries = entries.into_iter().flatten().flatten();
        let mut found: Vec<ReplacedVersion> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let (at, digest) = name.to_str()?.split_once('-')?;
                Some(ReplacedVersion {
                    at: at.parse().ok()?,
                    digest: read_hex(digest)?,
                    size: entry.metadata().ok()?.len(),
                })
            })
            .collect();
        found.sort_by_key(|version| std::cmp::Reverse(version.at));
        found
    }

    /// The bytes of a version.
    pub(crate) fn read(&self, path: &Path, digest: &[u8; 32]) -> io::Result<Vec<u8>> {
        let known = self.list(path);
        let found = known.iter().find(|version| version.digest == *digest);
        let found = found.ok_or(ErrorKind::NotFound)?;
        let bytes = std::fs::read(self.folder_of(path).join(file_name(found.at, digest)))?;
        let now: [u8; 32] = Sha256::digest(&bytes).into();
        if now == *digest {
            Ok(bytes)
        } else {
            Err(io::Error::other("what was kept of it is damaged"))
        }
    }

    fn folder_of(&self, path: &Path) -> PathBuf {
        let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
        self.folder.join(&hex(&digest.into())[..32])
    }
}

fn file_name(at: u64, digest: &[u8; 32]) -> String {
    format!("{at:013}-{}", hex(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_versions_of_each_file_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let replaced = ReplacedFiles::new(folder.path().join("new/replaced"));
        let (one, other) = (Path::new("/lib/a.md"), Path::new("/lib/b.md"));
        assert!(replaced.list(one).is_empty());
        for number in 0..KEPT + 5 {
            let text = format!("version {number}");
            replaced.keep(one, text.as_bytes()).unwrap();
            // The same once more is no further version.
            replaced.keep(one, text.as_bytes()).unwrap();
        }
        replaced.keep(other, b"other").unwrap();
        let kept = replaced.list(one);
        assert_eq!(kept.len(), KEPT);
        assert_eq!(replaced.list(other).len(), 1);
        let last = format!("version {}", KEPT + 4);
        assert_eq!(
            replaced.read(one, &kept[0].digest).unwrap(),
            last.as_bytes()
        );
        assert!(replaced.read(other, &kept[0].digest).is_err());
        let mode = |path: &Path| {
            let mode = crate::platform::mode(&path.metadata().unwrap());
            mode.map(|mode| mode & 0o777)
        };
        if let Some(folder) = mode(&replaced.folder) {
            assert_eq!(folder, 0o700);
            let files = replaced.folder_of(other).read_dir().unwrap();
            let modes: Vec<_> = files.map(|it| mode(&it.unwrap().path())).collect();
            assert_eq!(modes, [Some(0o600)]);
        }
    }
}
