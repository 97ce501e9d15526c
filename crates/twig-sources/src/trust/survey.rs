//! What a library could run: a digest of every file in it that is not clearly data.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use twig_core::{BodyError, MediaKind};

use super::own::shared;
use crate::platform::is_executable;
use crate::root::{Root, body_error, digest};
use crate::stamp::FileStamp;

/// Each file that may be code, by its path relative to the library's folder, with its digest.
pub type CodeFiles = BTreeMap<String, String>;

/// Maximum number of files and folders of a library that can be trusted, and their maximum depth.
const ENTRIES: usize = 10_000;
const DEPTH: usize = 16;
/// Maximum bytes of all of its code.
const CODE_BYTES: usize = 64 * 1024 * 1024;

/// Extensions of files that are read, never run, unless they are executable.
const DATA: [&str; 11] = [
    "md", "markdown", "txt", "csv", "tsv", "html", "css", "pdf", "yaml", "yml", "lock",
];

/// The files of a library that may be code, and whether anyone else can change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibrarySurvey {
    /// Those that may be code.
    pub files: CodeFiles,
    /// The first file or folder that another user can change, and why.
    pub shared: Option<String>,
}

/// Examines all files of a library, reads those that may be code, and sees who can change them.
pub fn examine(root: &Path) -> Result<LibrarySurvey, String> {
    Surveyor::default().examine(root)
}

/// Examines all files of a library and reads those that may be code.
pub fn survey(root: &Path) -> Result<CodeFiles, String> {
    Surveyor::default().look(root)
}

/// Reads one program of a library in order to run exactly these bytes; returns them with their
/// digest in the form of [`survey`].
pub fn program(root: &Path, path: &str) -> Result<(Vec<u8>, String), String> {
    let wrong = |error: BodyError| format!("{path} {error}");
    let root = Root::open(root).map_err(wrong)?;
    let mut file = root.open_file(path).map_err(wrong)?;
    let mut bytes = Vec::new();
    let read = (&mut file)
        .take(CODE_BYTES as u64 + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| wrong(body_error(&error)))?;
    if bytes.len() > CODE_BYTES {
        return Err(too_large());
    }
    let digest = written(&Sha256::digest(&bytes));
    Ok((bytes, digest))
}

/// Remembers digests, so that a check costs a `stat` for each unchanged file.
#[derive(Debug, Default)]
pub(crate) struct Surveyor {
    known: BTreeMap<String, (FileStamp, String)>,
    /// The folders that were walked.
    pub(crate) folders: Vec<PathBuf>,
    shared: Option<String>,
}

impl Surveyor {
    pub(crate) fn examine(&mut self, root: &Path) -> Result<LibrarySurvey, String> {
        let files = self.look(root)?;
        let shared = self.shared.take();
        Ok(LibrarySurvey { files, shared })
    }

    pub(crate) fn look(&mut self, root: &Path) -> Result<CodeFiles, String> {
        let mut walk = Walk {
            root: Root::open(root).map_err(|error| format!("its folder {error}"))?,
            path: root,
            files: CodeFiles::new(),
            known: std::mem::take(&mut self.known),
            next: BTreeMap::new(),
            folders: Vec::new(),
            shared: None,
            entries: 0,
            bytes: 0,
        };
        let walked = walk.folder("", 0);
        self.known = walk.next;
        self.folders = walk.folders;
        self.shared = walk.shared;
        walked.map(|()| walk.files)
    }
}

struct Walk<'r> {
    root: Root,
    path: &'r Path,
    files: CodeFiles,
    known: BTreeMap<String, (FileStamp, String)>,
    next: BTreeMap<String, (FileStamp, String)>,
    folders: Vec<PathBuf>,
    shared: Option<String>,
    entries: usize,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &str, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err(format!("its folders nest deeper than {DEPTH} levels"));
        }
        self.folders.push(self.path.join(folder));
        // The library's own folder may be given by a symlink.
        let metadata = std::fs::metadata(self.path.join(folder));
        if let Ok(metadata) = metadata {
            self.note_owner(folder, shared(&metadata));
        }
        let wrong = |error: BodyError| {
            let shown = if folder.is_empty() {
                "its folder"
            } else {
                folder
            };
            format!("{shown} {error}")
        };
        for entry in self.root.entries(folder).map_err(wrong)? {
            let entry = entry.map_err(|error| wrong(body_error(&error)))?;
            self.entries += 1;
            if self.entries > ENTRIES {
                return Err(format!("it has more than {ENTRIES} files and folders"));
            }
            let Ok(name) = entry.file_name().into_string() else {
                return Err(format!(
                    "the name of {} is not UTF-8",
                    entry.file_name().display()
                ));
            };
            if is_passed_over(&name) {
                continue;
            }
            let path = match folder {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            let kind = entry.file_type();
            let kind = kind.map_err(|error| wrong(body_error(&error)))?;
            if kind.is_dir() {
                self.folder(&path, depth + 1)?;
            } else if kind.is_symlink() {
                self.link(path)?;
            } else if kind.is_file() {
                self.file(path)?;
            } else {
                self.note_owner(&path, Some("is not a file"));
                self.files.insert(path, "not a file".to_owned());
            }
        }
        Ok(())
    }

    /// Keeps the first reason why others can change the library.
    fn note_owner(&mut self, path: &str, why: Option<&'static str>) {
        if let (None, Some(why)) = (&self.shared, why) {
            self.shared = Some(match path {
                "" => format!("its folder {why}"),
                path => format!("{path} {why}"),
            });
        }
    }

    /// A symlink counts with its target's path and, if that is a file of the library, its digest.
    fn link(&mut self, path: String) -> Result<(), String> {
        self.note_owner(&path, Some("is a symlink"));
        let target = std::fs::read_link(self.path.join(&path));
        let target = target.map_or_else(|_| String::new(), |target| target.display().to_string());
        let opened = self.root.open_file(&path).and_then(|file| {
            let metadata = file.metadata();
            Ok((metadata.map_err(|error| body_error(&error))?, file))
        });
        let there = match opened {
            Ok((metadata, file)) => self.digest(&path, &metadata, |_| Ok(file))?,
            Err(error) => Err(error),
        };
        let there = there.unwrap_or_else(|error| error.to_string());
        self.files
            .insert(path, format!("link to {target}: {there}"));
        Ok(())
    }

    fn file(&mut self, path: String) -> Result<(), String> {
        let wrong = |error: BodyError| format!("{path} {error}");
        let metadata = std::fs::symlink_metadata(self.path.join(&path));
        let metadata = metadata.map_err(|error| wrong(body_error(&error)))?;
        self.note_owner(&path, shared(&metadata));
        if !is_executable(&metadata) && is_data(&path) {
            return Ok(());
        }
        let digest = self.digest(&path, &metadata, |root| root.open_file(&path))?;
        let digest = digest.map_err(wrong)?;
        self.files.insert(path, digest);
        Ok(())
    }

    /// The digest of the file at a path: cached, or by reading all of it. Both count towards the
    /// library's limit; exceeding it is the outer error.
    fn digest(
        &mut self,
        path: &str,
        metadata: &Metadata,
        open: impl FnOnce(&Root) -> Result<File, BodyError>,
    ) -> Result<Result<String, BodyError>, String> {
        self.bytes = self.bytes.saturating_add(metadata.len());
        if self.bytes > CODE_BYTES as u64 {
            return Err(too_large());
        }
        let stamp = FileStamp::of(metadata);
        let known = self.known.remove(path).filter(|(seen, _)| *seen == stamp);
        let digest = match known {
            Some((_, digest)) => digest,
            None => match open(&self.root).and_then(|file| hash(&file)) {
                Ok(Some(digest)) => digest,
                Ok(None) => return Err(too_large()),
                Err(error) => return Ok(Err(error)),
            },
        };
        if stamp.is_settled() {
            let path = path.to_owned();
            self.next.insert(path, (stamp, digest.clone()));
        }
        Ok(Ok(digest))
    }
}

/// `None` if there is more than a library may have: it grew since it was checked.
fn hash(file: &File) -> Result<Option<String>, BodyError> {
    let mut file = file.take(CODE_BYTES as u64 + 1);
    let digest = digest(&mut file).map_err(|error| body_error(&error))?;
    Ok((file.limit() > 0).then(|| written(&digest)))
}

pub(super) fn written(digest: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = "sha256:".to_owned();
    for byte in digest {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn too_large() -> String {
    let limit = CODE_BYTES / (1024 * 1024);
    format!("its programs have more than {limit} MiB together")
}

/// Whether a name is a leftover of version control or editors.
fn is_passed_over(name: &str) -> bool {
    matches!(name, ".git" | ".hg" | ".svn" | ".DS_Store" | "4913")
        || name.starts_with(".#")
        || name.ends_with('~')
        || (name.starts_with('#') && name.ends_with('#'))
        || name.rsplit_once('.').is_some_and(|(_, end)| end == "swp")
}

/// Whether a name says that a file is read, never run. Any other file may be code.
pub(crate) fn is_data(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    [MediaKind::Image, MediaKind::Audio]
        .iter()
        .any(|kind| kind.mime_of(name).is_some())
        || ending.is_some_and(|ending| DATA.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(files: &CodeFiles) -> Vec<&str> {
        files.keys().map(String::as_str).collect()
    }

    #[test]
    fn all_that_may_be_code_counts_and_texts_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        for name in [
            "twig.toml",
            "bin/run",
            "lib.sh",
            "helper",
            "a.md",
            "b.png",
            "c.csv",
            ".git/x",
            "bin/run~",
            ".hidden",
        ] {
            fs::write(root.join(name), name).unwrap();
        }
        symlink("run", root.join("bin/link")).unwrap();
        symlink("/etc/passwd", root.join("bin/out")).unwrap();
        let files = survey(root).unwrap();
        let expected = [
            ".hidden",
            "bin/link",
            "bin/out",
            "bin/run",
            "helper",
            "lib.sh",
            "twig.toml",
        ];
        assert_eq!(names(&files), expected);
        assert!(files["bin/link"].ends_with(&files["bin/run"]));
        assert_eq!(
            files["bin/out"],
            "link to /etc/passwd: points outside the library's folder"
        );
        assert_eq!(program(root, "bin/run").unwrap().1, files["bin/run"]);
        fs::set_permissions(root.join("a.md"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(survey(root).unwrap().contains_key("a.md"));
    }

    #[test]
    fn a_surveyor_sees_every_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let mut surveyor = Surveyor::default();
        let mut last = CodeFiles::new();
        for round in 0..50 {
            fs::write(root.join("run"), format!("{round:02}")).unwrap();
            let files = surveyor.look(root).unwrap();
            assert_ne!(files, last, "round {round}");
            assert_eq!(files, survey(root).unwrap());
            last = files;
        }
    }

    #[test]
    fn more_than_can_be_looked_at_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let large = fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(CODE_BYTES as u64 + 1).unwrap();
        assert!(survey(folder.path()).unwrap_err().contains("64 MiB"));
        assert!(
            program(folder.path(), "large")
                .unwrap_err()
                .contains("64 MiB")
        );
    }

    #[test]
    fn what_a_link_leads_to_is_bounded_as_well() {
        let folder = tempfile::tempdir().unwrap();
        // Its name says that it is data: by itself it would not be read.
        let large = fs::File::create(folder.path().join("large.txt")).unwrap();
        symlink("large.txt", folder.path().join("link")).unwrap();
        large.set_len(20 * 1024 * 1024 * 1024).unwrap();
        assert!(survey(folder.path()).unwrap_err().contains("64 MiB"));
        // Many symlinks to one file count as many files.
        large.set_len(CODE_BYTES as u64 / 2).unwrap();
        symlink("large.txt", folder.path().join("second")).unwrap();
        survey(folder.path()).unwrap();
        symlink("large.txt", folder.path().join("third")).unwrap();
        assert!(survey(folder.path()).unwrap_err().contains("64 MiB"));
    }

    #[test]
    fn a_surveyor_reads_what_a_link_leads_to_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("a.txt"), "one").unwrap();
        symlink("a.txt", root.join("link")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(60));
        let mut surveyor = Surveyor::default();
        let first = surveyor.look(root).unwrap();
        let (_, digest) = surveyor.known.get_mut("link").unwrap();
        "known".clone_into(digest);
        assert_eq!(surveyor.look(root).unwrap()["link"], "link to a.txt: known");
        fs::write(root.join("a.txt"), "two").unwrap();
        let last = surveyor.look(root).unwrap();
        assert_ne!(last, first);
        assert_eq!(last, survey(root).unwrap());
    }
}
