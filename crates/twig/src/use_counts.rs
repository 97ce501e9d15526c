//! Counts how often prompts are used: per prompt, version and client, in one small file.
//!
//! Servers count in memory and add their counts to the file every few seconds and when they end. The
//! file is locked meanwhile, so that several servers can share it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use twig_core::store::Timestamp;
use twig_mcp::{ObservedOutcome, ObservedRequest};
use twig_sources::{LockError, LockedFile, NewFile, now};

/// The most rows that are kept; those that were used least are folded into one.
const MOST_ROWS: usize = 10_000;

/// How often counts are added to the file.
const SAVED_EVERY: Duration = Duration::from_secs(10);

/// How long the end of the program waits for the last counts.
const LAST_COUNTS: Duration = Duration::from_secs(1);

/// The prompt of the row that others were folded into.
pub(crate) const OTHER: &str = "other";

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct UseKey {
    pub(crate) prompt: Box<str>,
    pub(crate) version: Option<u64>,
    pub(crate) client: Option<Box<str>>,
}

/// How often, and when last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UseCount {
    pub(crate) count: u64,
    pub(crate) last: Timestamp,
}

impl UseCount {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.last = self.last.max(other.last);
    }
}

/// Every count, within a bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UseTable {
    pub(crate) rows: BTreeMap<UseKey, UseCount>,
    /// What was folded.
    pub(crate) other: Option<UseCount>,
    /// When the first one was counted.
    pub(crate) since: Option<Timestamp>,
}

impl UseTable {
    fn add(&mut self, key: UseKey, used: UseCount) {
        let since = self.since.map_or(used.last, |since| since.min(used.last));
        self.since = Some(since);
        match self.rows.get_mut(&key) {
            Some(count) => count.add(used),
            None => drop(self.rows.insert(key, used)),
        }
    }

    fn add_other(&mut self, used: UseCount) {
        match &mut self.other {
            Some(other) => other.add(used),
            None => self.other = Some(used),
        }
    }

    /// Folds the rows that were used least, and of those the ones that were used longest ago.
    fn fold(&mut self, most: usize) {
        let Some(surplus) = self.rows.len().checked_sub(most).filter(|it| *it > 0) else {
            return;
        };
        let mut keys: Vec<(UseCount, UseKey)> = Vec::with_capacity(self.rows.len());
        keys.extend(self.rows.iter().map(|(key, count)| (*count, key.clone())));
        keys.sort_by_key(|(used, _)| (used.count, used.last));
        for (used, key) in keys.into_iter().take(surplus) {
            self.rows.remove(&key);
            self.add_other(used);
        }
    }

    fn merge(&mut self, other: Self) {
        for (key, used) in other.rows {
            self.add(key, used);
        }
        if let Some(used) = other.other {
            self.add_other(used);
        }
        self.since = match (self.since, other.since) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }

    /// Reads the file; nothing if there is none, or none that is readable.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: &[u8]) -> Self {
        let Ok(file) = serde_json::from_slice::<UseFile>(bytes) else {
            return Self::default();
        };
        let mut table = Self {
            since: file.since.map(Timestamp),
            ..Self::default()
        };
        for row in file.rows.into_iter().take(MOST_ROWS) {
            let used = UseCount {
                count: row.count,
                last: Timestamp(row.last),
            };
            table.add(row.key, used);
        }
        table.other = file.other.map(|(count, last)| UseCount {
            count,
            last: Timestamp(last),
        });
        table
    }

    fn to_json(&self) -> Vec<u8> {
        let rows = self.rows.iter().map(|(key, used)| UseFileRow {
            key: key.clone(),
            count: used.count,
            last: used.last.0,
        });
        let file = UseFile {
            since: self.since.map(|since| since.0),
            rows: rows.collect(),
            other: self.other.map(|other| (other.count, other.last.0)),
        };
        // Strings and numbers are always JSON.
        serde_json::to_vec(&file).unwrap_or_default()
    }
}

#[derive(Serialize, Deserialize)]
struct UseFile {
    since: Option<i64>,
    rows: Vec<UseFileRow>,
    other: Option<(u64, i64)>,
}

#[derive(Serialize, Deserialize)]
struct UseFileRow {
    #[serde(flatten)]
    key: UseKey,
    count: u64,
    last: i64,
}

/// Counts in memory, and the thread that saves them.
#[derive(Debug)]
pub(crate) struct UseCounts {
    fresh: Arc<Mutex<UseTable>>,
    /// Asks the thread to save now, and to answer when that is done.
    orders: Sender<Sender<()>>,
}

impl UseCounts {
    /// Starts the thread that saves.
    pub(crate) fn start(path: PathBuf) -> io::Result<Self> {
        let fresh: Arc<Mutex<UseTable>> = Arc::default();
        let (orders, waiting) = channel();
        let counted = Arc::clone(&fresh);
        std::thread::Builder::new()
            .name("twig-stats".to_owned())
            .spawn(move || keep_saving(&path, &counted, &waiting))?;
        Ok(Self { fresh, orders })
    }

    /// Waits until everything is saved that was counted so far, but not for long.
    pub(crate) fn flush(&self) {
        let (done, saved) = channel();
        let is_sent = self.orders.send(done).is_ok();
        if !is_sent || saved.recv_timeout(LAST_COUNTS).is_err() {
            tracing::warn!("how often prompts are used could not be saved in time");
        }
    }

    /// Counts the use of a prompt.
    pub(crate) fn record(&self, request: &ObservedRequest<'_>) {
        let name = request.name.filter(|_| request.is_prompt);
        let (Some(prompt), ObservedOutcome::Done) = (name, request.outcome) else {
            return;
        };
        let key = UseKey {
            prompt: prompt.into(),
            version: request.version,
            client: request.client.map(Into::into),
        };
        let used = UseCount {
            count: 1,
            last: now(),
        };
        let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        if fresh.rows.len() < MOST_ROWS || fresh.rows.contains_key(&key) {
            fresh.add(key, used);
        } else {
            fresh.add_other(used);
        }
    }
}

/// Saves every few seconds, and when it is asked to.
fn keep_saving(path: &Path, counted: &Mutex<UseTable>, orders: &Receiver<Sender<()>>) {
    let mut is_failing = false;
    loop {
        let asked = orders.recv_timeout(SAVED_EVERY);
        let saved = save(path, counted);
        if let (Err(error), false) = (&saved, is_failing) {
            tracing::warn!("how often prompts are used cannot be saved: {error}");
        }
        is_failing = saved.is_err();
        match asked {
            Ok(done) => drop(done.send(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Adds the counts to the file; they stay if that fails.
fn save(path: &Path, fresh: &Mutex<UseTable>) -> Result<(), LockError> {
    let lock = || fresh.lock().unwrap_or_else(PoisonError::into_inner);
    let counted = std::mem::take(&mut *lock());
    if counted == UseTable::default() {
        return Ok(());
    }
    let saved = add_to_file(path, counted.clone());
    if saved.is_err() {
        let mut fresh = lock();
        fresh.merge(counted);
        fresh.fold(MOST_ROWS);
    }
    saved
}

fn add_to_file(path: &Path, counted: UseTable) -> Result<(), LockError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = LockedFile::open(path)?;
    let before = file.read()?;
    let mut table = UseTable::parse(before.as_deref().unwrap_or_default());
    table.merge(counted);
    table.fold(MOST_ROWS);
    file.replace(before.as_deref(), &table.to_json(), NewFile::PRIVATE)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(prompt: &str) -> UseKey {
        UseKey {
            prompt: prompt.into(),
            version: None,
            client: Some("tests".into()),
        }
    }

    fn used(count: u64, last: i64) -> UseCount {
        UseCount {
            count,
            last: Timestamp(last),
        }
    }

    fn table(rows: &[(&str, UseCount)]) -> UseTable {
        let mut table = UseTable::default();
        for (prompt, used) in rows {
            table.add(key(prompt), *used);
        }
        table
    }

    #[test]
    fn counts_of_several_servers_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats/use.json");
        add_to_file(&path, table(&[("a", used(2, 10)), ("b", used(1, 5))])).unwrap();
        add_to_file(&path, table(&[("a", used(1, 3))])).unwrap();
        let read = UseTable::read(&path).unwrap();
        assert_eq!(read.rows[&key("a")], used(3, 10));
        assert_eq!(read.rows[&key("b")], used(1, 5));
        assert_eq!(read.since, Some(Timestamp(3)));
        // A file that cannot be read is replaced.
        std::fs::write(&path, "{").unwrap();
        add_to_file(&path, table(&[("a", used(1, 3))])).unwrap();
        assert_eq!(UseTable::read(&path).unwrap(), table(&[("a", used(1, 3))]));
    }

    #[test]
    fn those_used_least_are_folded() {
        let mut counts = table(&[
            ("often", used(9, 1)),
            ("once, long ago", used(1, 2)),
            ("once", used(1, 8)),
        ]);
        counts.fold(2);
        let left: Vec<&str> = counts.rows.keys().map(|key| &*key.prompt).collect();
        assert_eq!(left, ["often", "once"]);
        assert_eq!(counts.other, Some(used(1, 2)));
        counts.fold(1);
        assert_eq!(counts.other, Some(used(2, 8)));
        assert_eq!(UseTable::parse(&counts.to_json()), counts);
    }
}
