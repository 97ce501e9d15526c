//! The bodies port, read from disk: a `stat` to see whether a body changed, a careful read if it
//! did.

use std::cell::RefCell;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};
use twig_core::parse::library::source_of;
use twig_core::{
    Blob, Bodies, Body, BodyError, Library, NotAFile, Prompt, RelativePath, Stamp, StoredVersion,
};

use crate::library_set::ScanScope;
use crate::live::LiveCatalog;
use crate::reader::{ReadFile, SavePatience, read_bytes, read_opened, read_text};
use crate::root::{Root, body_error};
use crate::stamp::FileStamp;
use crate::store::content_error;

impl LiveCatalog {
    /// Calls a library's file system, with a time limit.
    fn ask<T: Send + 'static>(
        &self,
        library: &Library,
        path: &RelativePath,
        question: impl FnOnce(&Path, &str) -> Result<T, BodyError> + Send + 'static,
    ) -> Result<T, BodyError> {
        let root = Path::new(&*library.root);
        if !self.reach.is_far(root) {
            return question(root, path.as_str());
        }
        let (folder, path) = (root.to_owned(), path.clone());
        let answer = self
            .reach
            .ask(root, move || question(&folder, path.as_str()));
        let silence = || BodyError::Unreadable("its file system does not answer".to_owned());
        answer.unwrap_or_else(|| Err(silence()))
    }
}

impl LiveCatalog {
    /// Refuses a file of a package that is not as it was fetched.
    fn check_package(
        &self,
        library: &Library,
        path: &RelativePath,
        digest: impl FnOnce() -> [u8; 32],
    ) -> Result<(), BodyError> {
        let Some(package) = &library.package else {
            return Ok(());
        };
        let packages = self.settings().packages.as_deref();
        let files = self.lists().of(packages, package);
        files.check_digest(path.as_str(), &digest())
    }
}

impl Bodies for LiveCatalog {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        let limit = self.settings().limits.library_file();
        let read = self.ask(library, path, move |root, path| {
            read_text(root, path, limit, SavePatience::BODY)
        })?;
        let digest = || ReadFile::digest_of(&read.text, read.has_mark);
        self.check_package(library, path, digest)?;
        Ok(Body {
            text: read.text,
            has_mark: read.has_mark,
            stamp: stamp_of(&read.stamp),
        })
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        let beside = library.documents_beside.clone();
        let beside = beside.map(|folder| (PathBuf::from(library.path_of(&folder)), folder));
        let read = self.ask(library, path, move |root, path| {
            let found = beside
                .as_ref()
                .and_then(|(at, folder)| Some((at, below(folder, path)?)));
            match found {
                Some((at, (folder, path))) => {
                    let open = || Root::beside(root, folder);
                    read_opened(at, path, limit, SavePatience::BODY, open)
                }
                None => read_bytes(root, path, limit, SavePatience::BODY),
            }
        })?;
        self.check_package(library, path, || Sha256::digest(&read.bytes).into())?;
        Ok(Blob {
            bytes: read.bytes,
            stamp: stamp_of(&read.stamp),
            is_executable: read.is_executable,
        })
    }

    /// One plain `stat`: it reads nothing. A path that was changed to point outside has another
    /// inode, so the stamp differs and the read that follows refuses it.
    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        if self.reach.is_far(Path::new(&*library.root)) {
            return self.ask(library, path, |root, path| {
                file_stamp(std::fs::metadata(root.join(path))).map(|stamp| stamp_of(&stamp))
            });
        }
        file_stamp(metadata(library, path.as_str())).map(|stamp| stamp_of(&stamp))
    }

    fn stored(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        let content = match (self.project(), self.workspace()) {
            (Some(project), _) => Some(project.content(&version.digest)),
            (None, Some(workspace)) => workspace.content(&version.digest),
            (None, None) => None,
        };
        let content = content.ok_or(BodyError::NotFound)?;
        content.map_err(|error| content_error(&error))
    }

    /// One plain `stat`, too. A missing file is being saved, or was removed: the check after its
    /// event will tell. A file system that may not answer is left to that check, too.
    fn is_current(&self, library: &Library, prompt: &Prompt) -> bool {
        if self.reach.is_far(Path::new(&*library.root)) {
            return true;
        }
        let Some(source) = source_of(library, prompt) else {
            return true;
        };
        match metadata(library, source) {
            Ok(metadata) => self.is_read(library, source, &FileStamp::of(&metadata)),
            Err(_) => true,
        }
    }

    fn renew(&self, library: &Library) {
        self.check(ScanScope::Library(Path::new(&*library.root)));
    }
}

/// The folder of documents outside a project's own, and the path in it of a file, if it is one of
/// those.
pub(crate) fn beside_of<'l>(
    library: &'l Library,
    path: &'l RelativePath,
) -> Option<(&'l str, &'l str)> {
    below(library.documents_beside.as_ref()?, path.as_str())
}

/// The folder of documents outside a project's own, and the path in it of one of its files.
fn below<'p>(folder: &'p RelativePath, path: &'p str) -> Option<(&'p str, &'p str)> {
    let path = path.strip_prefix(folder.as_str())?.strip_prefix('/')?;
    Some((folder.in_project()?, path))
}

/// The `stat` of a library's file.
fn metadata(library: &Library, path: &str) -> std::io::Result<Metadata> {
    thread_local! {
        static FULL: RefCell<String> = const { RefCell::new(String::new()) };
    }
    FULL.with_borrow_mut(|full| {
        full.clear();
        full.push_str(&library.root);
        full.push('/');
        full.push_str(path);
        std::fs::metadata(full.as_str())
    })
}

fn file_stamp(found: std::io::Result<Metadata>) -> Result<FileStamp, BodyError> {
    match found {
        Ok(metadata) if metadata.is_file() => Ok(FileStamp::of(&metadata)),
        Ok(metadata) if metadata.is_dir() => Err(BodyError::NotAFile(NotAFile::Folder)),
        Ok(_) => Err(BodyError::NotAFile(NotAFile::Unknown)),
        Err(error) => Err(body_error(&error)),
    }
}

/// A stamp that equals another one only if the text is certainly the same.
///
/// While a file is so young that another write could leave the same times, each check gets its own
/// number, so that a comparison leads to another read. After that, and while a program that maps
/// the file may write without a trace, each round has one number.
fn stamp_of(stamp: &FileStamp) -> Stamp {
    static LOOKS: AtomicU64 = AtomicU64::new(1);
    let Some(round) = stamp.round() else {
        return Stamp(stamp.digest());
    };
    let look = if stamp.is_settled() {
        // Counted down, so that it is not the number of a check.
        u64::MAX - u64::from(round)
    } else {
        LOOKS.fetch_add(1, Ordering::Relaxed)
    };
    Stamp(stamp.digest() ^ look.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    use std::sync::Arc;

    use twig_core::{Content, Library};

    use super::*;
    use crate::settings::Settings;
    use crate::stamp::{SeenStamp, next_round};

    /// Writes each line that it reads to the same place of a mapped file, and reports it.
    const WRITER: &str = "
import mmap, sys
file = open(sys.argv[1], 'r+b')
memory = mmap.mmap(file.fileno(), 0)
at = memory.find(b'zero')
for line in sys.stdin:
    memory[at:at + 4] = line.strip().encode()
    print('written', flush=True)
";

    fn says(library: &Library) -> &str {
        match &library.prompts[0].messages[0].content {
            Content::Text { text, .. } => text,
            content => panic!("{content:?}"),
        }
    }

    #[test]
    fn a_second_write_through_one_mapping_is_seen_in_the_next_round() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("lib");
        std::fs::create_dir(&root).unwrap();
        let manifest = root.join("twig.toml");
        let text = "[prompts.p]\n[[prompts.p.messages]]\nrole = \"user\"\ntext = \"zero\"\n";
        std::fs::write(&manifest, text).unwrap();
        let writer = Command::new("python3")
            .args(["-c", WRITER, manifest.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut writer) = writer else {
            eprintln!("skipped: there is no python3");
            return;
        };
        let mut input = writer.stdin.take().unwrap();
        let mut output = BufReader::new(writer.stdout.take().unwrap());
        let mut write = |text: &str| {
            writeln!(input, "{text}").unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, "written\n");
        };
        write("once");
        let path = RelativePath::parse("twig.toml").unwrap();
        let stamp = || SeenStamp::at(&manifest);
        while stamp().settled().is_none() {
            std::thread::yield_now();
        }
        let live = LiveCatalog::load(Settings {
            libraries: vec![root.clone()],
            ..Settings::default()
        });
        let library = || Arc::clone(&live.published().libraries()[0]);
        assert_eq!(says(&library()), "once");
        let (before, seen) = (live.stamp(&library(), &path).unwrap(), stamp());
        write("more");
        let is_silent = stamp().stamp() == seen.stamp();
        next_round();
        assert_ne!(live.stamp(&library(), &path).unwrap(), before);
        live.refresh();
        assert_eq!(says(&library()), "more", "without a trace: {is_silent}");
        drop(input);
        writer.wait().unwrap();
    }
}
