//! Folders on file systems that may stop answering, such as NFS without its server.
//!
//! A thread that calls such a file system may block for ever, and cannot be stopped. So each call
//! runs on its own thread, with a time limit. While a call is blocked no other one is made: there
//! is at most one such thread for each folder. Folders on local disks are called directly.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

/// How long a file system may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of symlinks in a path.
const LINKS: usize = 40;

/// Which folders may block a thread, and which do so now.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Blocked calls, by folder; a message, or the end of the channel, is the answer.
    unanswered: Mutex<BTreeMap<PathBuf, Receiver<()>>>,
    /// Places and library folders on such file systems.
    far: RwLock<BTreeSet<PathBuf>>,
    /// Whether there are any: usually there are none.
    has_far: AtomicBool,
}

impl Reach {
    /// Whether a folder answers. A local disk always does.
    pub(crate) fn answers(&self, mounts: &Mounts, path: &Path) -> bool {
        if !mounts.is_far(path) {
            return true;
        }
        let asked = path.to_owned();
        let answer = self.ask(path, move || {
            // A file system may answer one call and not the other.
            std::fs::metadata(&asked).is_ok()
                && std::fs::read_dir(&asked).is_ok_and(|mut entries| entries.next().is_some())
        });
        answer.is_some()
    }

    /// Remembers which places and library folders are on such file systems.
    pub(crate) fn remember<'p>(&self, mounts: &Mounts, roots: impl Iterator<Item = &'p PathBuf>) {
        let far: BTreeSet<PathBuf> = if mounts.far.is_empty() {
            BTreeSet::new()
        } else {
            roots.filter(|root| mounts.is_far(root)).cloned().collect()
        };
        self.has_far.store(!far.is_empty(), Ordering::Release);
        *self.far.write().unwrap_or_else(PoisonError::into_inner) = far;
    }

    /// Whether a library's folder is on such a file system.
    pub(crate) fn is_far(&self, root: &Path) -> bool {
        self.has_far.load(Ordering::Acquire) && {
            let far = self.far.read().unwrap_or_else(PoisonError::into_inner);
            far.contains(root)
        }
    }

    /// A folder on such a file system, if there is one.
    pub(crate) fn first_far(&self) -> Option<PathBuf> {
        let far = self.far.read().unwrap_or_else(PoisonError::into_inner);
        far.first().cloned()
    }

    /// Runs a call on such a folder; `None` if there is no answer in time, or an earlier call is
    /// still blocked.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        folder: &Path,
        question: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let mut unanswered = self.unanswered();
        if let Some(earlier) = unanswered.get(folder) {
            if earlier.try_recv() == Err(TryRecvError::Empty) {
                return None;
            }
            unanswered.remove(folder);
        }
        drop(unanswered);
        let (answer, answered) = channel();
        let (done, is_done) = channel();
        let thread = std::thread::Builder::new().name("twig-far".to_owned());
        let started = thread.spawn(move || {
            // The receiver is gone once the time is over.
            let _ = answer.send(question());
            let _ = done.send(());
        });
        started.ok()?;
        let result = answered.recv_timeout(PATIENCE).ok();
        if result.is_none() {
            self.unanswered().insert(folder.to_owned(), is_done);
        }
        result
    }

    fn unanswered(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Receiver<()>>> {
        // The map is consistent at every moment, so a panic elsewhere does not spoil it.
        self.unanswered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The mounted file systems that may stop answering.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    /// Their mount points.
    far: BTreeSet<PathBuf>,
}

impl Mounts {
    /// Asks the system, without calling any of them.
    pub(crate) fn now() -> Self {
        let table = std::fs::read_to_string("/proc/self/mountinfo");
        table.map_or_else(|_| Self::default(), |table| Self::parse(&table))
    }

    fn parse(table: &str) -> Self {
        let mut mounts = Self::default();
        for line in table.lines() {
            let Some((front, back)) = line.split_once(" - ") else {
                continue;
            };
            let (Some(point), Some(kind)) = (front.split(' ').nth(4), back.split(' ').next())
            else {
                continue;
            };
            let point = unescaped(point);
            // A later mount hides an earlier one.
            if is_far_kind(kind) {
                mounts.far.insert(point);
            } else {
                mounts.far.remove(&point);
            }
        }
        mounts
    }

    /// Whether a path is on, or passes through, a file system that may stop answering; symlinks are
    /// followed until then.
    fn is_far(&self, path: &Path) -> bool {
        if self.far.is_empty() {
            return false;
        }
        let mut rest: VecDeque<OsString> = parts(path).collect();
        let mut way = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            if part == ".." {
                way.pop();
                continue;
            }
            way.push(part);
            if self.far.contains(&way) {
                return true;
            }
            let Ok(link) = way.read_link() else { continue };
            links += 1;
            if links > LINKS {
                return false;
            }
            way.pop();
            if link.is_absolute() {
                way = PathBuf::from("/");
            }
            for part in parts(&link).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(part);
            }
        }
        false
    }
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        _ => None,
    })
}

/// Kinds of file systems that another machine or program provides; `fuseblk` is a local disk.
fn is_far_kind(kind: &str) -> bool {
    let is_fuse = kind == "fuse" || kind.starts_with("fuse.");
    let known = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "coda", "ncpfs", "vboxsf",
        "lustre", "beegfs", "gpfs",
    ];
    is_fuse || known.contains(&kind)
}

/// A path from the table, which writes spaces and the like as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let mut path = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        path.push_str(before);
        let code = after
            .get(..3)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        if let Some(code) = code {
            path.push(code.into());
            rest = &after[3..];
        } else {
            path.push('\\');
            rest = after;
        }
    }
    path.push_str(rest);
    path.into()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn mounts_are_told_apart_without_asking_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let shown = root.display();
        let table = format!(
            "1 0 8:1 / / rw - ext4 /dev/sda rw\n\
             2 1 0:5 / {shown}/far rw,nosuid shared:1 - nfs4 server:/x rw\n\
             3 2 8:2 / {shown}/far/near rw - ext4 /dev/sdb rw\n\
             4 1 0:6 / {shown}/a\\040b rw - fuse.sshfs x rw\n\
             5 1 0:7 / {shown}/disk rw - fuseblk /dev/sdc rw\n"
        );
        let mounts = Mounts::parse(&table);
        symlink("far/deep", root.join("link")).unwrap();
        symlink(root.join("link"), root.join("again")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        for (path, is_far) in [
            ("far", true),
            ("far/x/y", true),
            ("far/near/x", true),
            ("a b/x", true),
            ("disk", false),
            ("farther", false),
            ("link/x", true),
            ("again", true),
            ("link/../../disk", true),
            ("circle", false),
        ] {
            assert_eq!(mounts.is_far(&root.join(path)), is_far, "{path}");
        }
        assert!(!Mounts::default().is_far(&root.join("far")));
    }

    #[test]
    fn a_question_without_an_answer_is_asked_once() {
        let reach = Reach::default();
        let folder = Path::new("/far");
        let (sender, go_on) = channel::<()>();
        assert_eq!(reach.ask(folder, move || go_on.recv().is_ok()), None);
        let second = reach.ask(folder, || panic!("it is not asked meanwhile"));
        assert_eq!(second, None::<()>);
        assert_eq!(reach.ask(Path::new("/other"), || 1), Some(1));
        sender.send(()).unwrap();
        // As soon as the first call is answered, the next one may run.
        while reach.ask(folder, || 2) != Some(2) {
            std::thread::yield_now();
        }
    }
}
