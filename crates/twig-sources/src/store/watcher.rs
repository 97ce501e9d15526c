//! The thread that notices writes of this process and of others, and reports them.
//!
//! The system's events only wake it early; it compares `data_version` on its own connection. An
//! event can arrive before its write is visible, so the thread checks several times.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::open::{OpenConnection, open};
use super::workspace_handle::WorkspaceHandle;
use crate::system_watcher::start_watcher;

/// Delays after an event at which to check.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(25),
    Duration::from_millis(100),
];

/// Minimum time between two signals while events arrive continuously. Writes that follow each other
/// are announced ten times a second at most, so checking more often would only slow the writer down.
const PACE: Duration = Duration::from_millis(25);

/// How often to check without an event.
const TICK: Duration = Duration::from_millis(250);

/// The same if the system sends no events.
const FAST_TICK: Duration = Duration::from_millis(50);

/// How long dropping waits for the connection to close.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// What wakes the thread.
enum WatcherSignal {
    Touched,
    Stop,
}

/// The thread; dropping this ends it.
pub(super) struct StoreWatcher {
    signals: SyncSender<WatcherSignal>,
    is_over: Arc<AtomicBool>,
    /// `None` if it could not be started.
    thread: Option<ThreadId>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl Drop for StoreWatcher {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // If the channel is full, another signal wakes the thread.
        let _ = self.signals.try_send(WatcherSignal::Stop);
        // It may be busy reporting a write, even to the code that drops this.
        if self.thread != Some(std::thread::current().id()) {
            let _ = self.ended.recv_timeout(LAST_LOOK);
        }
    }
}

impl StoreWatcher {
    pub(super) fn start(handle: WorkspaceHandle, on_write: Box<dyn Fn() + Send + Sync>) -> Self {
        Self::start_with(handle, on_write, listen)
    }

    /// The same with another source of events.
    fn start_with(
        handle: WorkspaceHandle,
        on_write: Box<dyn Fn() + Send + Sync>,
        listen: Listen,
    ) -> Self {
        // Several signals say no more than one.
        let (signals, received) = sync_channel(1);
        let (ending, ended) = channel();
        let hints = signals.clone();
        let is_over = Arc::new(AtomicBool::new(false));
        let watching = StoreWatcherThread {
            is_over: Arc::clone(&is_over),
            seen: None,
            handle,
            opened: None,
            received,
            on_write,
        };
        let thread = std::thread::Builder::new().name("twig-store-watch".to_owned());
        let spawned = thread.spawn(move || {
            let _ending: Sender<()> = ending;
            // Dropped before the end is signalled: its connection is closed by then.
            let mut watching = watching;
            watching.run(listen, hints);
        });
        let thread = match spawned {
            Ok(thread) => Some(thread.thread().id()),
            Err(error) => {
                tracing::warn!("writes of others are not announced: {error}");
                None
            }
        };
        Self {
            signals,
            is_over,
            thread,
            ended,
        }
    }
}

/// Subscribes to the system's events for a workspace's files.
type Listen = fn(&Path, SyncSender<WatcherSignal>) -> notify::Result<RecommendedWatcher>;

struct StoreWatcherThread {
    is_over: Arc<AtomicBool>,
    handle: WorkspaceHandle,
    opened: Option<OpenConnection>,
    /// The last `data_version`; `None` until it was read once.
    seen: Option<i64>,
    received: Receiver<WatcherSignal>,
    on_write: Box<dyn Fn() + Send + Sync>,
}

impl StoreWatcherThread {
    fn run(&mut self, listen: Listen, hints: SyncSender<WatcherSignal>) {
        let native = match listen(&self.handle.path, hints) {
            Ok(native) => Some(native),
            Err(error) => {
                // Polling notices writes just as fast, and the folder watcher reports the same
                // error.
                tracing::debug!("looking for writes every {FAST_TICK:?} instead: {error}");
                None
            }
        };
        // Opening counts as a change, so that earlier writes are not missed.
        self.look();
        let tick = if native.is_some() { TICK } else { FAST_TICK };
        while !self.is_over.load(Ordering::Acquire) {
            match self.received.recv_timeout(tick) {
                Ok(WatcherSignal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.look(),
                Ok(WatcherSignal::Touched) => {
                    if !self.look_again_and_again() {
                        return;
                    }
                }
            }
        }
    }

    /// `false` when the thread must end.
    fn look_again_and_again(&mut self) -> bool {
        let mut since = Instant::now();
        let mut next = 0;
        while let Some(after) = LOOKS.get(next) {
            if self.is_over.load(Ordering::Acquire) {
                return false;
            }
            let left = (since + *after).saturating_duration_since(Instant::now());
            match self.received.recv_timeout(left) {
                Ok(WatcherSignal::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                // Another write: start over.
                Ok(WatcherSignal::Touched) => {
                    since = Instant::now();
                    next = 1;
                }
                Err(RecvTimeoutError::Timeout) => next += 1,
            }
            self.look();
        }
        true
    }

    /// Checks for a write and reports it.
    fn look(&mut self) {
        let mut is_news = false;
        if let Some(gone) = self.opened.take_if(|opened| !opened.is_usable()) {
            gone.leave(&self.handle);
            is_news = true;
        }
        if self.opened.is_none() {
            self.opened = open(&self.handle).ok();
            is_news |= self.opened.is_some();
            self.seen = self.opened.as_ref().and_then(version);
        }
        let now = self.opened.as_ref().and_then(version);
        if now.is_none() {
            // It cannot be read: the next check opens it again.
            if let Some(silent) = self.opened.take() {
                silent.leave(&self.handle);
            }
        }
        is_news |= now != self.seen;
        self.seen = now;
        if is_news {
            (self.on_write)();
        }
    }
}

/// Subscribes to the system's events for a file and its log.
fn listen(path: &Path, hints: SyncSender<WatcherSignal>) -> notify::Result<RecommendedWatcher> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let name: OsString = path.file_name().unwrap_or_default().to_owned();
    let hear = move |event: notify::Result<notify::Event>| {
        let is_news = event.as_ref().map_or(true, |event| {
            let is_ours = |path: &PathBuf| {
                let found = path.file_name().unwrap_or_default().as_encoded_bytes();
                found.starts_with(name.as_encoded_bytes())
            };
            // Our own reads are events, too.
            !matches!(event.kind, EventKind::Access(_))
                && (event.paths.is_empty() || event.paths.iter().any(is_ours))
        });
        if is_news && hints.try_send(WatcherSignal::Touched).is_ok() {
            // One write is a dozen events, and waking this thread for each of them slows the writer
            // down. Meanwhile the system merges them into one.
            std::thread::sleep(PACE);
        }
    };
    let mut native = start_watcher(hear)?;
    let folder = path.parent().unwrap_or(&path);
    native.watch(folder, RecursiveMode::NonRecursive)?;
    Ok(native)
}

/// A number that differs after every write of another connection.
fn version(opened: &OpenConnection) -> Option<i64> {
    let asked = opened
        .connection
        .query_row("PRAGMA data_version", [], |row| row.get(0));
    asked.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use twig_core::Limits;
    use twig_core::store::{Author, Noun, Store, StoreName, Write};

    use super::super::{Access, SqliteStore, Workspaces};
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn open_store(folder: &Path) -> SqliteStore {
        let name = StoreName::parse(Noun::Workspace, "default").unwrap();
        let workspaces = Workspaces::new(folder.to_path_buf());
        let opened = workspaces.open(&name, Access::Write, &Limits::default());
        opened.unwrap()
    }

    fn create_project(store: &SqliteStore, name: &str) {
        let (sender, told) = channel();
        let name = StoreName::parse(Noun::Project, name).unwrap();
        let done = move |outcome| sender.send(outcome).unwrap();
        store.write(
            Write::CreateProject {
                name,
                author: Author::Person,
            },
            Box::new(done),
        );
        told.recv_timeout(LONG).unwrap().unwrap();
    }

    #[test]
    fn writes_are_heard_of_where_the_system_tells_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(folder.path());
        let (sender, heard) = channel();
        let on_write = Box::new(move || {
            let _ = sender.send(());
        });
        let deaf: Listen = |_, _| Err(notify::Error::generic("no watches"));
        let watcher = StoreWatcher::start_with(store.handle.clone(), on_write, deaf);
        for name in ["a", "b"] {
            create_project(&store, name);
            heard.recv_timeout(LONG).unwrap();
        }
        drop(watcher);
        while heard.recv_timeout(LONG).is_ok() {}
    }

    #[test]
    fn whoever_hears_of_a_write_may_drop_the_watch() {
        let folder = tempfile::tempdir().unwrap();
        let store = open_store(folder.path());
        let (sender, heard) = channel();
        let watch: Arc<std::sync::Mutex<Option<Box<dyn Send>>>> = Arc::default();
        let held = Arc::clone(&watch);
        let on_write = Box::new(move || {
            let since = Instant::now();
            drop(held.lock().unwrap().take());
            let _ = sender.send(since.elapsed());
        });
        *watch.lock().unwrap() = Some(store.watch(on_write));
        create_project(&store, "a");
        assert!(heard.recv_timeout(LONG).unwrap() < LAST_LOOK);
    }
}
