//! Copies of trusted texts, so that the next question about a library can show what changed.
//!
//! They are beside the record of trust, each under its digest, for this user alone. They are only
//! ever shown: what runs is decided by the digests in the record.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sha2::{Digest, Sha256};

use super::survey::{CodeFiles, program, written};
use crate::platform::create_private_folder;
use crate::write_file::{Existing, NewFile, write_file};

/// The longest text that is kept, and the longest of a library together.
const TEXT: usize = 64 * 1024;
const LIBRARY: usize = 1024 * 1024;

/// The folder of the copies.
#[derive(Debug, Clone)]
pub struct TrustedTexts {
    folder: PathBuf,
}

impl TrustedTexts {
    /// The copies that belong to a record.
    pub fn beside(record: &Path) -> Self {
        Self {
            folder: record.with_file_name("trusted"),
        }
    }

    /// The text with this digest, if there is a copy of it.
    pub fn get(&self, digest: &str) -> Option<String> {
        let bytes = fs::read(self.folder.join(name_of(digest)?)).ok()?;
        let is_it = written(&Sha256::digest(&bytes)) == digest;
        String::from_utf8(bytes).ok().filter(|_| is_it)
    }

    /// Keeps copies of a library's texts, as they are in these files.
    pub fn keep(&self, root: &Path, files: &CodeFiles) -> io::Result<()> {
        create_private_folder(&self.folder)?;
        let dir = Dir::open_ambient_dir(&self.folder, ambient_authority())?;
        let mut left = LIBRARY;
        for (path, digest) in files {
            let Some(name) = name_of(digest) else {
                continue;
            };
            let Ok((bytes, now)) = program(root, path) else {
                continue;
            };
            let is_text = bytes.len() <= TEXT.min(left) && std::str::from_utf8(&bytes).is_ok();
            if now == *digest && is_text {
                left -= bytes.len();
                let name = Path::new(name);
                write_file(&dir, name, &bytes, NewFile::PRIVATE, Existing::ANY)?;
            }
        }
        Ok(())
    }

    /// Removes all copies but those of these files.
    pub fn keep_only<'f>(&self, files: impl Iterator<Item = &'f CodeFiles>) -> io::Result<()> {
        let known: BTreeSet<&str> = files
            .flat_map(|files| files.values())
            .filter_map(|digest| name_of(digest))
            .collect();
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let name = entry?.file_name();
            let is_copy = name.to_str().filter(|name| is_digest(name));
            if is_copy.is_some_and(|name| !known.contains(name)) {
                fs::remove_file(self.folder.join(name))?;
            }
        }
        Ok(())
    }
}

/// The name of a copy: the digest's digits. Symlinks and what is no file have no copy.
fn name_of(digest: &str) -> Option<&str> {
    digest
        .strip_prefix("sha256:")
        .filter(|name| is_digest(name))
}

fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::super::survey;
    use super::*;

    #[test]
    fn texts_are_kept_while_they_are_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("library");
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("run"), "one").unwrap();
        fs::write(root.join("binary"), [0xff; 9]).unwrap();
        fs::write(root.join("large"), "x".repeat(TEXT + 1)).unwrap();
        let texts = TrustedTexts::beside(&folder.path().join("trust.json"));
        let files = survey(&root).unwrap();
        texts.keep(&root, &files).unwrap();
        fs::write(root.join("run"), "two").unwrap();
        assert_eq!(texts.get(&files["run"]).as_deref(), Some("one"));
        assert_eq!(texts.get(&files["binary"]), None);
        assert_eq!(texts.get(&files["large"]), None);
        assert_eq!(texts.get("sha256:../../etc/passwd"), None);
        // Another text under that name is not shown as it.
        let copy = folder.path().join("trusted").join(&files["run"][7..]);
        fs::write(&copy, "three").unwrap();
        assert_eq!(texts.get(&files["run"]), None);
        texts
            .keep_only([&survey(&root).unwrap()].into_iter())
            .unwrap();
        assert!(!copy.exists());
    }
}
