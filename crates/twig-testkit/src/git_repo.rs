//! Git repositories for tests, the same on every machine: names, dates and so commit ids are fixed.
//!
//! A [`GitRepo`] is bare, as on a server. Its files go into commits without a working tree, so the
//! bytes, modes and symlinks in a commit are exactly what the test wrote.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fixture::fixture_files;

/// The date of the first commit, 2026-01-01; each further one is a second later.
const FIRST_DATE: u64 = 1_767_225_600;
const FILE: &str = "100644";
const EXECUTABLE: &str = "100755";
const SYMLINK: &str = "120000";
const FOLDER: &str = "40000";
const GITLINK: &str = "160000";

/// A bare repository that a test fills.
///
/// Changes are collected until [`GitRepo::commit`]. Commits go to the branch `main` until
/// [`GitRepo::branch`] names another one.
#[derive(Debug)]
pub struct GitRepo {
    folder: PathBuf,
    pending: Mutex<PendingCommit>,
}

/// What the next commit is made of.
#[derive(Debug)]
struct PendingCommit {
    branch: String,
    date: u64,
    changes: BTreeMap<String, PendingChange>,
}

#[derive(Debug)]
enum PendingChange {
    Content {
        mode: &'static str,
        bytes: Vec<u8>,
    },
    Zeros(u64),
    /// An object that the repository has already.
    Object {
        mode: &'static str,
        id: String,
    },
    Removal,
}

/// An entry of a tree with any name, also one that git refuses in an index.
#[derive(Debug, Clone)]
pub struct RawEntry {
    name: Vec<u8>,
    mode: &'static str,
    content: RawContent,
}

#[derive(Debug, Clone)]
enum RawContent {
    Blob(Vec<u8>),
    Tree(Vec<RawEntry>),
    /// A commit of another repository.
    Commit(String),
}

/// `git` without the configuration of the user and the system, with a fixed author and no prompts.
pub fn hermetic_git() -> Command {
    let mut command = Command::new("git");
    clean_environment(&mut command);
    command
}

/// Replaces the environment of a command that runs git or is run by it.
pub(crate) fn clean_environment(command: &mut Command) {
    command
        .env_clear()
        .env("PATH", search_path())
        .env("HOME", "/dev/null")
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_AUTHOR_NAME", "Tester")
        .env("GIT_AUTHOR_EMAIL", "tester@example.com")
        .env("GIT_COMMITTER_NAME", "Tester")
        .env("GIT_COMMITTER_EMAIL", "tester@example.com");
}

/// Where programs are, for a command that has to find git: [`crate::TestEnv`] names no place.
#[expect(clippy::disallowed_methods, reason = "git has no fixed place")]
pub fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

impl GitRepo {
    /// Makes an empty repository; the folder may not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        fs::create_dir_all(&folder).expect("the test's own folder is writable");
        let mut command = hermetic_git();
        command
            .args(["-c", "init.defaultBranch=main", "init", "--quiet"])
            .args(["--bare", "--template="])
            .arg(&folder);
        run(&mut command, b"");
        let pending = PendingCommit {
            branch: "main".to_owned(),
            date: FIRST_DATE,
            changes: BTreeMap::new(),
        };
        Self {
            folder,
            pending: Mutex::new(pending),
        }
    }

    /// The repository's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        self.content(path, FILE, bytes.as_ref())
    }

    /// Writes files, in the format of [`crate::write_fixture`].
    pub fn write_fixture(&self, fixture: &str) -> &Self {
        for (path, text) in fixture_files(fixture) {
            self.write(path, text);
        }
        self
    }

    /// Writes a symlink.
    pub fn symlink(&self, path: &str, target: &str) -> &Self {
        self.content(path, SYMLINK, target.as_bytes())
    }

    /// Makes a file executable that was written before, in this commit or an earlier one.
    pub fn executable(&self, path: &str) -> &Self {
        let mut pending = self.pending();
        if let Some(PendingChange::Content { mode, .. }) = pending.changes.get_mut(path) {
            *mode = EXECUTABLE;
            return self;
        }
        let id = self.git(["rev-parse", &format!("{}:{path}", pending.reference())]);
        let mode = EXECUTABLE;
        pending.change(path, PendingChange::Object { mode, id });
        self
    }

    /// Writes a file of zeros. They are never held in memory, but hashed and compressed when they are
    /// committed, some seconds for a gibibyte.
    pub fn large_blob(&self, path: &str, size: u64) -> &Self {
        self.pending().change(path, PendingChange::Zeros(size));
        self
    }

    /// Writes that many small files with different contents, a hundred to a folder.
    pub fn many_files(&self, count: usize) -> &Self {
        for number in 0..count {
            let folder = number / 100;
            let path = format!("many/{folder:04}/{number:06}.md");
            self.write(&path, format!("File {number}.\n"));
        }
        self
    }

    /// Removes a file or a folder.
    pub fn remove(&self, path: &str) -> &Self {
        self.pending().change(path, PendingChange::Removal);
        self
    }

    /// Commits all changes since the last commit; returns the commit's id.
    pub fn commit(&self, message: &str) -> String {
        let mut pending = self.pending();
        let parent = self.tip(&pending);
        let mut child = self
            .command()
            // Zeros are then never held in memory, and take the least time.
            .args(["-c", "core.bigFileThreshold=1m", "-c", "core.compression=1"])
            .args(["fast-import", "--quiet", "--done"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("git starts");
        let mut input = BufWriter::new(child.stdin.take().expect("stdin is piped"));
        pending
            .write_import(&mut input, parent.as_deref(), message)
            .and_then(|()| input.flush())
            .expect("git reads the commit");
        drop(input);
        let status = child.wait().expect("git was started");
        assert!(status.success(), "git does not take the commit");
        pending.next();
        self.git(["rev-parse", &pending.reference()])
    }

    /// Commits a tree of exactly these entries, whatever their names are; returns the commit's id.
    ///
    /// The branch moves to it. Entries are put into git's order, so only their names are wrong.
    /// Pending changes stay for the next commit.
    pub fn raw_tree(&self, entries: &[RawEntry]) -> String {
        let tree = self.write_tree(entries);
        let mut pending = self.pending();
        let mut command = self.command();
        let date = format!("{} +0000", pending.date);
        command
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .args(["commit-tree", "-m", "raw tree", &tree]);
        if let Some(parent) = self.tip(&pending) {
            command.args(["-p", &parent]);
        }
        let commit = run(&mut command, b"");
        self.git(["update-ref", &pending.reference(), &commit]);
        pending.next();
        commit
    }

    /// Tags the branch's newest commit; the tag must be new.
    pub fn tag(&self, name: &str) {
        let tip = self.tip_of_branch();
        self.git(["tag", name, &tip]);
    }

    /// The same with a tag object of its own, as releases often have.
    pub fn annotated_tag(&self, name: &str, message: &str) {
        let tip = self.tip_of_branch();
        let date = format!("{FIRST_DATE} +0000");
        let mut command = self.command();
        command.env("GIT_COMMITTER_DATE", date).args([
            "tag",
            "--annotate",
            "-m",
            message,
            name,
            &tip,
        ]);
        run(&mut command, b"");
    }

    /// Moves a tag to the branch's newest commit.
    pub fn move_tag(&self, name: &str) {
        let tip = self.tip_of_branch();
        self.git(["tag", "--force", name, &tip]);
    }

    /// Switches to a branch for later commits; a new one starts at the newest commit of the current
    /// branch. Clients still get `main` by default.
    pub fn branch(&self, name: &str) {
        let mut pending = self.pending();
        let tip = self.tip(&pending);
        name.clone_into(&mut pending.branch);
        if let (None, Some(tip)) = (self.tip(&pending), tip) {
            self.git(["update-ref", &pending.reference(), &tip]);
        }
    }

    /// Names the branch that clients get by default.
    pub fn default_branch(&self, name: &str) {
        self.git(["symbolic-ref", "HEAD", &format!("refs/heads/{name}")]);
    }

    /// Runs git in the repository; returns its output without the last line break.
    pub fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        run(self.command().args(args), b"")
    }

    fn content(&self, path: &str, mode: &'static str, bytes: &[u8]) -> &Self {
        let bytes = bytes.to_owned();
        let change = PendingChange::Content { mode, bytes };
        self.pending().change(path, change);
        self
    }

    fn pending(&self) -> MutexGuard<'_, PendingCommit> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tip_of_branch(&self) -> String {
        self.tip(&self.pending()).expect("the branch has a commit")
    }

    fn tip(&self, pending: &PendingCommit) -> Option<String> {
        let id = self.git([
            "for-each-ref",
            "--format=%(objectname)",
            &pending.reference(),
        ]);
        (!id.is_empty()).then_some(id)
    }

    fn command(&self) -> Command {
        let mut command = hermetic_git();
        command.arg("--git-dir").arg(&self.folder);
        command
    }

    fn write_tree(&self, entries: &[RawEntry]) -> String {
        let mut entries: Vec<&RawEntry> = entries.iter().collect();
        entries.sort_by_key(|entry| entry.sort_key());
        let mut tree = Vec::new();
        for entry in entries {
            let id = match &entry.content {
                RawContent::Blob(bytes) => self.write_object("blob", bytes),
                RawContent::Tree(entries) => self.write_tree(entries),
                RawContent::Commit(id) => id.clone(),
            };
            tree.extend_from_slice(entry.mode.as_bytes());
            tree.push(b' ');
            tree.extend_from_slice(&entry.name);
            tree.push(0);
            tree.extend(id_bytes(&id));
        }
        self.write_object("tree", &tree)
    }

    /// Writes an object that git does not have to find well formed.
    fn write_object(&self, kind: &str, bytes: &[u8]) -> String {
        let mut command = self.command();
        command.args(["hash-object", "-w", "--literally", "--stdin", "-t", kind]);
        run(&mut command, bytes)
    }
}

impl PendingCommit {
    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn change(&mut self, path: &str, change: PendingChange) {
        self.changes.insert(path.to_owned(), change);
    }

    fn next(&mut self) {
        self.date += 1;
    }

    /// Writes the changes in the format of `git fast-import`, and forgets them.
    fn write_import(
        &mut self,
        output: &mut impl Write,
        parent: Option<&str>,
        message: &str,
    ) -> io::Result<()> {
        writeln!(output, "commit {}", self.reference())?;
        for role in ["author", "committer"] {
            let date = self.date;
            writeln!(output, "{role} Tester <tester@example.com> {date} +0000")?;
        }
        write_data(output, message.as_bytes())?;
        if let Some(parent) = parent {
            writeln!(output, "from {parent}")?;
        }
        for (path, change) in std::mem::take(&mut self.changes) {
            change.write_import(output, &quoted(&path))?;
        }
        writeln!(output, "done")
    }
}

impl PendingChange {
    fn write_import(&self, output: &mut impl Write, path: &str) -> io::Result<()> {
        match self {
            Self::Content { mode, bytes } => {
                writeln!(output, "M {mode} inline {path}")?;
                write_data(output, bytes)
            }
            Self::Zeros(size) => {
                writeln!(output, "M {FILE} inline {path}")?;
                writeln!(output, "data {size}")?;
                write_zeros(output, *size)?;
                writeln!(output)
            }
            Self::Object { mode, id } => writeln!(output, "M {mode} {id} {path}"),
            Self::Removal => writeln!(output, "D {path}"),
        }
    }
}

impl RawEntry {
    /// A file.
    pub fn file(name: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Self {
        Self::new(name, FILE, RawContent::Blob(bytes.as_ref().to_owned()))
    }

    /// A file that may be run.
    pub fn executable(name: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Self {
        Self::new(
            name,
            EXECUTABLE,
            RawContent::Blob(bytes.as_ref().to_owned()),
        )
    }

    /// A symlink.
    pub fn symlink(name: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self::new(name, SYMLINK, RawContent::Blob(target.as_ref().to_owned()))
    }

    /// A folder.
    pub fn folder(name: impl AsRef<[u8]>, entries: impl Into<Vec<Self>>) -> Self {
        Self::new(name, FOLDER, RawContent::Tree(entries.into()))
    }

    /// A submodule at this commit, which does not have to exist.
    pub fn gitlink(name: impl AsRef<[u8]>, commit: &str) -> Self {
        Self::new(name, GITLINK, RawContent::Commit(commit.to_owned()))
    }

    fn new(name: impl AsRef<[u8]>, mode: &'static str, content: RawContent) -> Self {
        let name = name.as_ref().to_owned();
        Self {
            name,
            mode,
            content,
        }
    }

    /// Git sorts a folder as if its name ended with a slash.
    fn sort_key(&self) -> Vec<u8> {
        let mut key = self.name.clone();
        if matches!(self.content, RawContent::Tree(_)) {
            key.push(b'/');
        }
        key
    }
}

/// Runs a command to its end; returns its output without the last line break.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A program that fails early says why on its standard error.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the program was started");
    assert!(
        output.status.success(),
        "{command:?} fails: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("the program writes UTF-8");
    text.trim_end_matches('\n').to_owned()
}

fn write_zeros(output: &mut impl Write, size: u64) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut left = size;
    while left > 0 {
        let length = usize::try_from(left).map_or(zeros.len(), |left| left.min(zeros.len()));
        output.write_all(&zeros[..length])?;
        left -= u64::try_from(length).unwrap_or(left);
    }
    Ok(())
}

fn write_data(output: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    writeln!(output, "data {}", bytes.len())?;
    output.write_all(bytes)?;
    writeln!(output)
}

/// A path as `git fast-import` reads it.
fn quoted(path: &str) -> String {
    let escaped = path.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

/// The 20 bytes of an id of 40 hex digits.
fn id_bytes(id: &str) -> Vec<u8> {
    assert_eq!(id.len(), 40, "`{id}` is not an id");
    (0..40)
        .step_by(2)
        .map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("an id has hex digits"))
        .collect()
}
