//! Fetches packages from git repositories.
//!
//! Nothing is ever checked out: files are read from git's objects, checked, and written by Twig, so
//! nothing in a repository can run, or change what is written.

mod entries;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{ChildStdout, Stdio};

use twig_core::RelativePath;
use twig_packages::source::is_commit;
use twig_packages::{FileMode, PackageSource, PackageTree, TreeDigest, VersionTag};

use self::entries::{Entries, TreeEntry};
use super::contents::{FetchHold, PackageStore, StagedPackage};
use super::git_program::{FetchLimits, FetchStop, GitEnvironment, GitTask, old_version};
use super::package_error::PackageError;
use super::source_keys::SourceKeys;

/// How files of a repository are marked whose content is elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// How much of a symlink is read: no system has longer ones.
const TARGET: u64 = 4_096;

/// How much of a file is read at once.
const PART: usize = 256 * 1024;

/// Fetches packages into a store.
#[derive(Debug, Clone)]
pub struct PackageFetcher {
    /// Where packages are kept.
    pub store: PackageStore,
    /// What bounds each fetch.
    pub limits: FetchLimits,
    /// The user's environment, as far as git sees it.
    pub environment: GitEnvironment,
    /// The keys with which packages have to be signed.
    pub keys: SourceKeys,
    /// Keeps what it fetches until it is dropped.
    pub hold: FetchHold,
    /// Ends what it fetches.
    pub stop: FetchStop,
}

/// What a source has at the moment.
#[derive(Debug, Clone, Default)]
pub struct RemoteReferences {
    /// Branches and their commits.
    pub branches: BTreeMap<String, String>,
    /// Tags and the commits that they lead to.
    pub tags: BTreeMap<String, String>,
    /// The default branch.
    pub head: Option<String>,
}

/// What kind of reference was asked for; it decides what an update does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceKind {
    /// Updates go to its head.
    Branch,
    /// Updates go to the newest version, if it names one; else it stays.
    Tag,
    /// It stays.
    Commit,
}

/// A reference and the commit that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedReference {
    /// The branch, tag or commit.
    pub reference: String,
    /// What it is.
    pub kind: ReferenceKind,
    /// The commit.
    pub commit: String,
}

/// A package that was fetched.
#[derive(Debug, Clone)]
pub struct FetchedPackage {
    /// The digest over its files.
    pub tree: TreeDigest,
    /// Its files.
    pub files: PackageTree,
    /// Files of the repository that it does not have, and why.
    pub left_out: Vec<LeftOutFile>,
}

/// A file of a repository that its package does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutFile {
    /// Its path.
    pub path: String,
    /// Why it is left out.
    pub why: String,
}

impl RemoteReferences {
    /// What a reference leads to; without one, the newest version, or else the default branch.
    pub fn resolve(
        &self,
        source: &PackageSource,
        wanted: Option<&str>,
    ) -> Result<ResolvedReference, PackageError> {
        let source_text = source.to_string();
        let usual = || {
            let newest = VersionTag::newest(self.tags.keys().map(String::as_str), None);
            let newest = newest.and_then(|tag| self.named(&tag.tag));
            newest.or_else(|| self.named(self.head.as_deref()?))
        };
        let found = wanted.map_or_else(usual, |wanted| self.named(wanted));
        if let Some(found) = found {
            return Ok(found);
        }
        let Some(wanted) = wanted else {
            return Err(PackageError::Empty { source_text });
        };
        let names = self.tags.keys().chain(self.branches.keys());
        let near = twig_core::suggest::near(wanted, names.map(String::as_str));
        Err(PackageError::NoReference {
            source_text,
            reference: wanted.to_owned(),
            near,
        })
    }

    fn named(&self, wanted: &str) -> Option<ResolvedReference> {
        let resolved = |kind, commit: &String| ResolvedReference {
            reference: wanted.to_owned(),
            kind,
            commit: commit.clone(),
        };
        // As in git, a tag comes before a branch of the same name.
        let tag = self.tags.get(wanted);
        let branch = self.branches.get(wanted);
        tag.map(|commit| resolved(ReferenceKind::Tag, commit))
            .or_else(|| branch.map(|commit| resolved(ReferenceKind::Branch, commit)))
            .or_else(|| {
                let commit = is_commit(wanted).then(|| wanted.to_owned());
                commit.map(|commit| resolved(ReferenceKind::Commit, &commit))
            })
    }
}

impl PackageFetcher {
    /// A warning about the installed git, if it has known security defects.
    pub fn git_warning(&self) -> Option<String> {
        let version = old_version()?;
        Some(format!(
            "git {version} has known security defects; they need a checkout, which Twig never makes, but update git all the same"
        ))
    }

    /// Asks a repository for its branches and tags.
    pub fn references(
        &self,
        source: &PackageSource,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<RemoteReferences, PackageError> {
        let (source_text, url) = address(source)?;
        let task = self.task(&source_text, &url, progress);
        let folder = self.repository(url.as_str())?;
        let mut command = task.remote_command(folder.path());
        command.args(["ls-remote", "--symref", "--end-of-options", &url]);
        let output = task.run(command, None, None)?;
        if !output.is_success {
            return Err(task.failure(&output.said));
        }
        Ok(read_references(&output.stdout))
    }

    /// Fetches the files of a commit and keeps them. `reference` leads to the commit; it helps with
    /// servers that give no commits.
    pub fn fetch(
        &self,
        source: &PackageSource,
        commit: &str,
        reference: Option<&str>,
        path: Option<&RelativePath>,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<FetchedPackage, PackageError> {
        let (source_text, url) = address(source)?;
        let task = self.task(&source_text, &url, progress);
        let folder = self.repository(commit)?;
        // With a folder, its files are fetched after the names of all files.
        let is_partial = path.is_some() && !source.is_local();
        receive(&task, folder.path(), commit, reference, is_partial)?;
        if is_partial {
            let entries = list(&task, folder.path(), commit, path, is_partial)?;
            receive_blobs(&task, folder.path(), &entries)?;
            return self.write(&task, Objects::start(&task, folder.path())?, entries);
        }
        // Started first, so that it is ready when the files are listed.
        let objects = Objects::start(&task, folder.path())?;
        let entries = list(&task, folder.path(), commit, path, is_partial)?;
        self.write(&task, objects, entries)
    }

    fn task<'t>(
        &'t self,
        source: &'t str,
        url: &'t str,
        progress: &'t (dyn Fn(&str) + Sync),
    ) -> GitTask<'t> {
        GitTask {
            source,
            url,
            limits: &self.limits,
            environment: &self.environment,
            stop: &self.stop,
            progress,
        }
    }

    /// An empty repository for one fetch. Made by hand: `git init` would copy templates.
    fn repository(&self, id: &str) -> Result<tempfile::TempDir, PackageError> {
        let wrong = || PackageError::disk("a folder for the fetch cannot be made");
        fs::create_dir_all(self.store.folder()).map_err(wrong())?;
        self.store.tidy();
        let folder = tempfile::Builder::new()
            .prefix(".new-fetch-")
            .tempdir_in(self.store.folder())
            .map_err(wrong())?;
        let at = folder.path();
        let format = if id.len() == 64 && is_commit(id) {
            "[extensions]\n\tobjectFormat = sha256\n\tpartialClone = origin\n"
        } else {
            "[extensions]\n\tpartialClone = origin\n"
        };
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n{format}[remote \"origin\"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n"
        );
        fs::create_dir(at.join("objects")).map_err(wrong())?;
        fs::create_dir(at.join("refs")).map_err(wrong())?;
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").map_err(wrong())?;
        fs::write(at.join("config"), config).map_err(wrong())?;
        Ok(folder)
    }

    /// Writes the files and keeps them as a package.
    fn write(
        &self,
        task: &GitTask<'_>,
        mut objects: Objects,
        entries: Entries,
    ) -> Result<FetchedPackage, PackageError> {
        let entries = entries.with_links(task, |object| objects.text(task, object))?;
        let mut staged = self.store.stage(&self.hold)?;
        let mut left_out = entries.left_out;
        let mut bytes = 0;
        objects.ask_for(entries.files.iter().map(|entry| &*entry.object));
        for entry in &entries.files {
            bytes += objects.next(task, entry, &mut staged, &mut left_out)?;
            if bytes > self.limits.bytes {
                return Err(task.too_large());
            }
        }
        left_out.sort_by(|one, two| one.path.cmp(&two.path));
        let files = self.store.keep(staged)?;
        Ok(FetchedPackage {
            tree: files.digest(),
            files,
            left_out,
        })
    }
}

fn receive(
    task: &GitTask<'_>,
    folder: &Path,
    commit: &str,
    reference: Option<&str>,
    is_partial: bool,
) -> Result<(), PackageError> {
    let receive = |wanted: &str| {
        let mut command = task.remote_command(folder);
        command.args(["-c", &format!("remote.origin.url={}", task.url)]);
        command.args(["fetch", "--progress", "--depth=1", "--no-tags"]);
        command.args(["--no-recurse-submodules", "--no-write-fetch-head"]);
        command.args(["--no-auto-maintenance", "--no-show-forced-updates"]);
        command.arg(if is_partial {
            "--filter=blob:none"
        } else {
            "--no-filter"
        });
        command.args(["--end-of-options", "origin", wanted]);
        task.run(command, None, Some(&folder.join("objects")))
    };
    let output = receive(commit)?;
    if output.is_success {
        return Ok(());
    }
    let said = output.said.join("\n");
    let is_refused = said.contains("not our ref")
        || said.contains("unadvertised object")
        || said.contains("couldn't find remote ref");
    let Some(reference) = reference.filter(|it| is_refused && *it != commit) else {
        return Err(if is_refused {
            PackageError::NoReference {
                source_text: task.source.to_owned(),
                reference: commit.to_owned(),
                near: Vec::new(),
            }
        } else {
            task.failure(&output.said)
        });
    };
    let output = receive(reference)?;
    if output.is_success {
        return Ok(());
    }
    Err(task.failure(&output.said))
}

/// The files of a commit.
fn list(
    task: &GitTask<'_>,
    folder: &Path,
    commit: &str,
    path: Option<&RelativePath>,
    is_partial: bool,
) -> Result<Entries, PackageError> {
    let tree = match path {
        Some(path) => format!("{commit}:{}", path.as_str()),
        None => format!("{commit}:"),
    };
    let mut command = task.command(folder);
    command.args(["ls-tree", "-r", "-z", "--full-tree"]);
    // Sizes would be asked for one by one where the files are not there yet.
    if !is_partial {
        command.arg("-l");
    }
    command.args(["--end-of-options", &tree]);
    let output = task.run(command, None, None)?;
    if output.is_success {
        return Entries::read(task, &output.stdout);
    }
    let said = output.said.join("\n");
    let short = commit.get(..10).unwrap_or(commit);
    let is_missing = said.contains("not a tree object") || said.contains("Not a valid object name");
    Err(match path.filter(|_| is_missing) {
        Some(path) => PackageError::NoFolder {
            source_text: task.source.to_owned(),
            path: path.as_str().to_owned(),
            commit: short.to_owned(),
        },
        None if is_missing => PackageError::NoReference {
            source_text: task.source.to_owned(),
            reference: commit.to_owned(),
            near: Vec::new(),
        },
        None => task.failure(&output.said),
    })
}

/// Fetches the contents of a folder's files, in one request.
fn receive_blobs(task: &GitTask<'_>, folder: &Path, entries: &Entries) -> Result<(), PackageError> {
    let mut wanted: Vec<&str> = entries.files.iter().map(|it| &*it.object).collect();
    wanted.extend(entries.links.iter().map(|it| &*it.object));
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut input = wanted.join("\n").into_bytes();
    input.push(b'\n');
    let mut command = task.remote_command(folder);
    command.args(["-c", &format!("remote.origin.url={}", task.url)]);
    command.args(["-c", "fetch.negotiationAlgorithm=noop"]);
    command.args([
        "fetch",
        "--progress",
        "--no-tags",
        "--no-recurse-submodules",
    ]);
    command.args(["--no-write-fetch-head", "--no-auto-maintenance"]);
    command.args(["--filter=blob:none", "--stdin", "origin"]);
    let output = task.run(command, Some(input), Some(&folder.join("objects")))?;
    if output.is_success {
        return Ok(());
    }
    Err(task.failure(&output.said))
}

fn address(source: &PackageSource) -> Result<(String, String), PackageError> {
    let source_text = source.to_string();
    match source.git_url() {
        Some(url) => Ok((source_text, url)),
        None => Err(PackageError::NotGit { source_text }),
    }
}

fn read_references(output: &[u8]) -> RemoteReferences {
    let mut references = RemoteReferences::default();
    for line in String::from_utf8_lossy(output).lines() {
        let Some((object, name)) = line.split_once('\t') else {
            continue;
        };
        if let Some(head) = object.strip_prefix("ref: refs/heads/") {
            if name == "HEAD" {
                references.head = Some(head.to_owned());
            }
            continue;
        }
        if !is_commit(object) {
            continue;
        }
        let object = object.to_owned();
        if let Some(branch) = name.strip_prefix("refs/heads/") {
            references.branches.insert(branch.to_owned(), object);
        } else if let Some(tag) = name.strip_prefix("refs/tags/") {
            // The commit of an annotated tag comes after the tag itself.
            let tag = tag.strip_suffix("^{}").unwrap_or(tag);
            references.tags.insert(tag.to_owned(), object);
        }
    }
    references
}

/// Reads objects from `git cat-file`, in the order in which they are asked for.
struct Objects {
    child: std::process::Child,
    output: BufReader<ChildStdout>,
}

impl Objects {
    fn start(task: &GitTask<'_>, folder: &Path) -> Result<Self, PackageError> {
        let wrong = || PackageError::disk("git cannot be run");
        let mut command = task.command(folder);
        command.args(["cat-file", "--batch"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().map_err(wrong())?;
        let output = child.stdout.take();
        let output = output.ok_or_else(|| wrong()(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self {
            child,
            output: BufReader::with_capacity(PART, output),
        })
    }

    /// Asks for objects, from another thread: git writes while it reads.
    fn ask_for<'o>(&mut self, objects: impl Iterator<Item = &'o str>) {
        let mut input = Vec::new();
        for object in objects {
            input.extend_from_slice(object.as_bytes());
            input.push(b'\n');
        }
        if let Some(mut stdin) = self.child.stdin.take() {
            std::thread::spawn(move || stdin.write_all(&input));
        }
    }

    /// The first bytes of one object, at once.
    fn text(&mut self, task: &GitTask<'_>, object: &str) -> Result<Vec<u8>, PackageError> {
        let asked = match &mut self.child.stdin {
            Some(stdin) => writeln!(stdin, "{object}").and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        asked.map_err(PackageError::disk("git cannot be asked for files"))?;
        let size = self.size(task, object)?;
        if size > task.limits.bytes {
            return Err(task.too_large());
        }
        let unread = || PackageError::disk("git's answer cannot be read");
        let (kept, rest) = (size.min(TARGET), size.saturating_sub(TARGET) + 1);
        let mut bytes = Vec::new();
        let read = (&mut self.output).take(kept).read_to_end(&mut bytes);
        read.map_err(unread())?;
        io::copy(&mut (&mut self.output).take(rest), &mut io::sink()).map_err(unread())?;
        Ok(bytes)
    }

    fn size(&mut self, task: &GitTask<'_>, object: &str) -> Result<u64, PackageError> {
        let mut header = String::new();
        let read = (&mut self.output).take(200).read_line(&mut header);
        read.map_err(PackageError::disk("git's answer cannot be read"))?;
        let mut words = header.split_whitespace();
        let size = match (words.next(), words.next(), words.next()) {
            (Some(found), Some("blob"), Some(size)) if found == object => size.parse().ok(),
            _ => None,
        };
        size.ok_or_else(|| PackageError::Garbage {
            source_text: task.source.to_owned(),
            detail: format!("the object {object} is missing"),
        })
    }

    /// Writes the next file; returns its size. A file whose content is elsewhere is left out.
    fn next(
        &mut self,
        task: &GitTask<'_>,
        entry: &TreeEntry,
        staged: &mut StagedPackage,
        left_out: &mut Vec<LeftOutFile>,
    ) -> Result<u64, PackageError> {
        let size = self.size(task, &entry.object)?;
        if size > task.limits.bytes {
            return Err(task.too_large());
        }
        let unread = || PackageError::disk("git's answer cannot be read");
        let is_pointer = {
            let head = self.output.fill_buf().map_err(unread())?;
            head.starts_with(LFS_POINTER) && size < 1_024
        };
        let mut rest = size;
        let output = &mut self.output;
        let mut part = || -> io::Result<Option<Vec<u8>>> {
            if rest == 0 {
                return Ok(None);
            }
            let length = rest.min(PART as u64);
            let mut bytes = Vec::new();
            let read = output.take(length).read_to_end(&mut bytes)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            rest -= read as u64;
            Ok(Some(bytes))
        };
        if is_pointer {
            while part().map_err(unread())?.is_some() {}
            left_out.push(LeftOutFile {
                path: entry.path.clone(),
                why: "its content is in Git LFS, which is not fetched".to_owned(),
            });
        } else {
            let what = format!("`{}` cannot be written", entry.path);
            staged
                .write(&entry.path, entry.mode, part)
                .map_err(PackageError::disk(what))?;
        }
        let mut end = [0];
        self.output.read_exact(&mut end).map_err(unread())?;
        Ok(size)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The mode of a file, from git's.
fn mode(bits: &str) -> FileMode {
    match bits {
        "100755" => FileMode::Executable,
        _ => FileMode::Plain,
    }
}
