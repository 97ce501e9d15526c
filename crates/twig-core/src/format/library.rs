//! From the readings of all files to a [`Library`]: names that are unique, skills with their files.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Reading;
use crate::document::Head;
use crate::limits::Limits;
use crate::model::{Kind, Library};
use crate::name::RelativePath;
use crate::parse::library::{Folder, empty_library};

/// A file that a skill may bring, as a source found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundled {
    /// From the library's folder.
    pub path: RelativePath,
    /// What its first bytes tell.
    pub head: Head,
    /// SHA-256 of all its bytes.
    pub digest: [u8; 32],
    /// Its length.
    pub size: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: Option<i64>,
    /// Differs where the file does.
    pub version: u64,
}

/// Makes a library of what its files say, in the order of their paths.
///
/// `bundled` are all files of a library of skills, `SKILL.md` too; elsewhere there are none.
pub fn library<'r>(
    folder: &Folder,
    kind: Kind,
    readings: impl IntoIterator<Item = (&'r RelativePath, &'r Reading)>,
    _bundled: &[Bundled],
    _limits: &Limits,
) -> Library {
    let mut library = empty_library(folder, kind, Vec::new());
    let mut hash = Sha256::new();
    for (path, reading) in readings {
        hash.update(path.as_str());
        library.problems.extend(reading.problems.iter().cloned());
        if let Some(prompt) = &reading.prompt {
            hash.update(&*prompt.full_name);
            library.prompts.push(Arc::clone(prompt));
        }
    }
    library.prompts.sort_by(|one, two| one.name.cmp(&two.name));
    library.digest = hash.finalize().into();
    library
}
