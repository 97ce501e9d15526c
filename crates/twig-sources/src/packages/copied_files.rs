//! The files of one prompt or skill in a client's folder, read within limits, to compare them with
//! what another tool's lock or a package says.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use twig_packages::PackageTree;
use twig_packages::other_locks::{same_skill, vercel_hash};
use twig_packages::tree::hex;

/// The file that makes a folder a skill.
const SKILL: &str = "SKILL.md";

/// The most files of one skill.
const MOST_FILES: usize = 2_000;

/// The most bytes of one skill.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Folders in folders, at most.
const DEEPEST: usize = 32;

/// The files of one prompt or skill.
#[derive(Debug, Clone)]
pub struct CopiedFiles {
    /// Paths from the skill's folder, with `/`, sorted; a prompt's one file has an empty path.
    files: Vec<(String, Vec<u8>)>,
    size: u64,
}

/// A skill or a prompt's file in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagedCopy {
    /// The path of its file, or of its folder if it is a skill; empty for all of the package.
    pub path: String,
    /// As [`CopiedFiles::digest`].
    pub digest: String,
    /// True if it is a skill.
    pub is_skill: bool,
}

impl CopiedFiles {
    /// Reads a file, or all files of a skill's folder. An error says what is too large, or which
    /// file cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut copied = Self {
            files: Vec::new(),
            size: 0,
        };
        if path.metadata()?.is_dir() {
            copied.read_folder(path)?;
        } else {
            copied.add(path, String::new())?;
        }
        copied.files.sort();
        Ok(copied)
    }

    fn read_folder(&mut self, root: &Path) -> io::Result<()> {
        let mut folders = vec![(String::new(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            if depth > DEEPEST {
                return Err(io::Error::other("it has too many folders in folders"));
            }
            for entry in fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let name = entry.file_name();
                let Some(name) = name.to_str() else {
                    return Err(io::Error::other("a name in it is not UTF-8"));
                };
                let path = format!("{folder}{name}");
                let kind = entry.file_type()?;
                if kind.is_dir() && matches!(name, ".git" | "node_modules") {
                    continue;
                }
                if kind.is_dir() {
                    folders.push((format!("{path}/"), depth + 1));
                } else {
                    self.add(&entry.path(), path)?;
                }
            }
            if folders.len() > MOST_FILES {
                return Err(io::Error::other("it has too many folders"));
            }
        }
        Ok(())
    }

    /// Adds a file; a symlink counts as the file that it points to.
    fn add(&mut self, path: &Path, name: String) -> io::Result<()> {
        let metadata = path.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("something in it is not a file"));
        }
        self.size = self.size.saturating_add(metadata.len());
        if self.files.len() == MOST_FILES || self.size > MOST_BYTES {
            return Err(io::Error::other("it is too large"));
        }
        let mut bytes = Vec::new();
        let read = File::open(path)?.take(metadata.len() + 1);
        { read }.read_to_end(&mut bytes)?;
        self.files.push((name, bytes));
        Ok(())
    }

    /// The bytes of all files together.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// One digest over the paths and bytes of all files, whoever wrote them.
    pub fn digest(&self) -> String {
        let files = self.files.iter();
        digest_of(files.map(|(path, bytes)| (path.as_str(), Sha256::digest(bytes).into())))
    }

    /// The digest of one file.
    pub fn digest_of(&self, path: &str) -> Option<[u8; 32]> {
        let bytes = self.bytes_of(path)?;
        Some(Sha256::digest(bytes).into())
    }

    /// The text of the prompt's file, or of the skill's `SKILL.md`.
    pub fn text(&self) -> Option<&str> {
        let bytes = self.bytes_of("").or_else(|| self.bytes_of(SKILL))?;
        std::str::from_utf8(bytes).ok()
    }

    /// The hash that `skills-lock.json` would have.
    pub fn vercel_hash(&self) -> String {
        let files = self.files.iter();
        let files: Vec<(&str, &[u8])> = files
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
            .collect();
        vercel_hash(&files)
    }

    /// True if a skill in a package has the same files, apart from what `gh skill` writes into its
    /// `SKILL.md`. `root` is the folder of the package's files, `folder` the skill's in it.
    pub fn is_skill_of(&self, root: &Path, list: &PackageTree, folder: &str) -> bool {
        let mut count = 0;
        for file in below(list, folder) {
            count += 1;
            let path = file.path.get(prefix(folder).len()..).unwrap_or_default();
            if self.digest_of(path) == Some(file.digest) {
                continue;
            }
            if path != SKILL || file.size > MOST_BYTES {
                return false;
            }
            let theirs = fs::read_to_string(root.join(&file.path));
            let is_same = match (self.text(), theirs) {
                (Some(ours), Ok(theirs)) => same_skill(ours, &theirs),
                _ => false,
            };
            if !is_same {
                return false;
            }
        }
        count == self.files.len()
    }

    fn bytes_of(&self, path: &str) -> Option<&[u8]> {
        let found = self.files.binary_search_by(|(it, _)| it.as_str().cmp(path));
        found.ok().map(|at| self.files[at].1.as_slice())
    }
}

/// The skills and files of a package. The files of a skill are not listed by themselves.
pub fn packaged_copies(list: &PackageTree) -> Vec<PackagedCopy> {
    let mut copies = Vec::new();
    let mut inside: Option<String> = None;
    for file in list.files() {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        if name == SKILL {
            let start = prefix(folder).len();
            let files = below(list, folder);
            let files = files.map(|file| (file.path.get(start..).unwrap_or_default(), file.digest));
            copies.push(PackagedCopy {
                path: folder.to_owned(),
                digest: digest_of(files),
                is_skill: true,
            });
            inside = Some(prefix(folder));
        } else if inside.as_ref().is_none_or(|it| !file.path.starts_with(it)) {
            copies.push(PackagedCopy {
                path: file.path.clone(),
                digest: digest_of([("", file.digest)]),
                is_skill: false,
            });
        }
    }
    copies
}

/// The files below a folder of a package.
fn below<'l>(
    list: &'l PackageTree,
    folder: &str,
) -> impl Iterator<Item = &'l twig_packages::PackageFile> + use<'l> {
    let prefix = prefix(folder);
    let files = list.files();
    let start = files.partition_point(|file| file.path.as_bytes() < prefix.as_bytes());
    files[start..]
        .iter()
        .take_while(move |file| file.path.starts_with(&prefix))
}

fn prefix(folder: &str) -> String {
    match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    }
}

fn digest_of<'p>(files: impl IntoIterator<Item = (&'p str, [u8; 32])>) -> String {
    let mut digest = Sha256::new();
    for (path, content) in files {
        digest.update((path.len() as u64).to_be_bytes());
        digest.update(path.as_bytes());
        digest.update(content);
    }
    hex(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use twig_packages::{FileMode, PackageFile};

    use super::*;

    fn listed(path: &str, bytes: &str) -> PackageFile {
        PackageFile {
            path: path.to_owned(),
            mode: FileMode::Plain,
            size: bytes.len() as u64,
            digest: Sha256::digest(bytes).into(),
        }
    }

    #[test]
    fn a_copied_skill_has_the_digest_of_the_package() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("pdf/scripts")).unwrap();
        fs::write(folder.path().join("pdf/SKILL.md"), "text").unwrap();
        fs::write(folder.path().join("pdf/scripts/a.py"), "code").unwrap();
        fs::write(folder.path().join("plain.md"), "plain").unwrap();
        let list = PackageTree::new(vec![
            listed("skills/pdf/SKILL.md", "text"),
            listed("skills/pdf/scripts/a.py", "code"),
            listed("skills/plain.md", "plain"),
        ]);
        let copies = packaged_copies(&list);
        let paths: Vec<&str> = copies.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["skills/pdf", "skills/plain.md"]);
        let read = |path: &str| CopiedFiles::read(&folder.path().join(path)).unwrap();
        assert_eq!(read("pdf").digest(), copies[0].digest);
        assert_eq!(read("plain.md").digest(), copies[1].digest);
        assert!(read("pdf").is_skill_of(Path::new("/"), &list, "skills/pdf"));
    }

    #[test]
    fn a_skill_that_is_too_large_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("SKILL.md")).unwrap();
        file.set_len(MOST_BYTES + 1).unwrap();
        let error = CopiedFiles::read(folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "it is too large");
    }
}
