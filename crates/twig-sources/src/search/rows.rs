//! Maps the prompts and documents of a catalog to rows of the index, and keeps the rows up to date
//! with the catalog and the files.

use std::cmp::Ordering;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, available_parallelism};

use rusqlite::Result;
use twig_core::Catalog;
use twig_core::search::SearchScope;

use super::database::{DOCUMENTS, Database, IndexWriter};
use super::item::{SearchItem, TextSource, WrittenRow};

/// Bytes of all texts together. Later items are found by name, title and description alone.
const TEXTS: usize = 256 * 1024 * 1024;

/// Items that are read ahead at a time: handing over each one would wake a thread each time.
const PORTION: usize = 16;
/// Bytes from which on a portion is handed over as it is.
const PORTION_BYTES: usize = 1024 * 1024;
/// Portions that wait to be written. The last text of each may have twice
/// [`TEXT`](super::item::TEXT) bytes more.
const PORTIONS: usize = 2;
/// From this many items on, other threads are worth starting.
const MANY: usize = 16;
/// Maximum number of other threads that read.
const READERS: usize = 3;

/// Texts that are tried again in vain before the rest waits for the next search.
const FAILURES: usize = 4;

/// Texts of a store that could not be read.
#[derive(Debug)]
pub(super) struct UnreadTexts {
    pub(super) count: usize,
    pub(super) why: String,
}

/// What is known of one row.
#[derive(Debug, Clone, Copy, Default)]
struct KnownRow {
    /// The row, counted from 0 in its half.
    slot: u32,
    /// Bytes of its text.
    length: u32,
    stamp: u64,
    digest: u64,
    /// True if its text is in a store and could not be read.
    is_unread: bool,
}

/// The rows of all prompts, or of all documents.
#[derive(Debug)]
pub(super) struct Rows {
    scope: SearchScope,
    /// In the order of the catalog.
    entries: Vec<KnownRow>,
    /// The position of each slot's entry.
    places: Vec<u32>,
    free: Vec<u32>,
    /// Bytes of all texts.
    length: usize,
    /// Where unread texts are read again from: after the last one that was tried.
    next_unread: usize,
}

impl Rows {
    /// No rows yet, for either [`SearchScope::Prompts`] or [`SearchScope::Documents`].
    pub(super) fn new(scope: SearchScope) -> Self {
        Self {
            scope,
            entries: Vec::new(),
            places: Vec::new(),
            free: Vec::new(),
            length: 0,
            next_unread: 0,
        }
    }

    /// Updates the rows from one catalog to another: only differences are written.
    pub(super) fn follow(
        &mut self,
        world: TextSource<'_>,
        writer: &mut IndexWriter<'_>,
        before: &Catalog,
        after: &Catalog,
    ) -> Result<()> {
        let old = std::mem::take(&mut self.entries);
        let mut old = old
            .into_iter()
            .zip(SearchItem::all(before, self.scope))
            .peekable();
        let mut entries = Vec::new();
        let mut new = Vec::new();
        for item in SearchItem::all(after, self.scope) {
            let kept = loop {
                let Some((entry, known)) = old.peek().copied() else {
                    break None;
                };
                match known.key().cmp(item.key()) {
                    Ordering::Less => self.forget(writer, entry)?,
                    Ordering::Equal => {
                        if known.is_like(item) {
                            old.next();
                            break Some(entry);
                        }
                        self.forget(writer, entry)?;
                    }
                    Ordering::Greater => break None,
                }
                old.next();
            };
            if kept.is_none() {
                new.push((entries.len(), item));
            }
            entries.push(kept.unwrap_or_default());
        }
        for (entry, _) in old {
            self.forget(writer, entry)?;
        }
        read_many(world, &new, |at, written| {
            entries[new[at].0] = self.write(writer, written)?;
            Ok(())
        })?;
        self.places.clear();
        self.places
            .resize(entries.len() + self.free.len(), u32::MAX);
        for (place, entry) in (0..).zip(&entries) {
            self.places[entry.slot as usize] = place;
        }
        self.entries = entries;
        Ok(())
    }

    /// Checks whether the files of these entries changed, and rewrites the rows whose text differs.
    /// Returns whether there were any.
    pub(super) fn look<'c>(
        &mut self,
        database: &Database,
        world: TextSource<'_>,
        items: impl Iterator<Item = (usize, SearchItem<'c>)>,
    ) -> Result<bool> {
        let mut writer = None;
        for (place, item) in items {
            let entry = self.entries[place];
            if entry.stamp == 0 || item.stamp(world.bodies) == entry.stamp {
                continue;
            }
            let written = item.write(world);
            self.entries[place].stamp = written.stamp;
            if written.digest == entry.digest {
                continue;
            }
            let writer = match &mut writer {
                Some(writer) => writer,
                None => writer.insert(database.writer()?),
            };
            self.forget(writer, entry)?;
            // The number that was freed last is reused first, so positions stay.
            self.entries[place] = self.write(writer, written)?;
        }
        match writer {
            None => Ok(false),
            Some(writer) => writer.commit().map(|()| true),
        }
    }

    /// Reads the texts again that could not be read from a store; some of them if most fail, and the
    /// others the next time. Returns how many are left, and why the last of them was not read.
    pub(super) fn read_again(
        &mut self,
        database: &Database,
        world: TextSource<'_>,
        catalog: &Catalog,
    ) -> Result<Option<UnreadTexts>> {
        let unread = (0..self.entries.len()).filter(|place| self.entries[*place].is_unread);
        let mut unread: Vec<usize> = unread.collect();
        let next = unread.partition_point(|place| *place < self.next_unread);
        unread.rotate_left(next);
        let (mut count, mut failed, mut why) = (unread.len(), 0, String::new());
        let mut writer = None;
        for place in unread {
            let Some(item) = SearchItem::at(catalog, self.scope, place) else {
                continue;
            };
            self.next_unread = place + 1;
            let written = item.write(world);
            if let Some(reason) = &written.unread {
                (failed, why) = (failed + 1, reason.clone());
                if failed == FAILURES {
                    break;
                }
                continue;
            }
            let writer = match &mut writer {
                Some(writer) => writer,
                None => writer.insert(database.writer()?),
            };
            self.forget(writer, self.entries[place])?;
            self.entries[place] = self.write(writer, written)?;
            count -= 1;
        }
        if let Some(writer) = writer {
            writer.commit()?;
        }
        Ok((count > 0).then_some(UnreadTexts { count, why }))
    }

    /// Prompts or documents.
    pub(super) fn scope(&self) -> SearchScope {
        self.scope
    }

    /// The position of a row in the order of the catalog.
    pub(super) fn place(&self, row: i64) -> Option<usize> {
        let slot = usize::try_from(row - self.first()).ok()?;
        self.places.get(slot).map(|place| *place as usize)
    }

    fn first(&self) -> i64 {
        match self.scope {
            SearchScope::Documents => DOCUMENTS,
            _ => 0,
        }
    }

    fn write(&mut self, writer: &mut IndexWriter<'_>, mut written: WrittenRow) -> Result<KnownRow> {
        if self.length + written.row.text.len() > TEXTS {
            written.row.text.clear();
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(u32::MAX);
            u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
        });
        writer.insert(self.first() + i64::from(slot), &written.row)?;
        let length = u32::try_from(written.row.text.len()).unwrap_or(u32::MAX);
        self.length += length as usize;
        Ok(KnownRow {
            slot,
            length,
            stamp: written.stamp,
            digest: written.digest,
            is_unread: written.unread.is_some(),
        })
    }

    fn forget(&mut self, writer: &mut IndexWriter<'_>, entry: KnownRow) -> Result<()> {
        writer.remove(self.first() + i64::from(entry.slot))?;
        self.free.push(entry.slot);
        self.length -= entry.length as usize;
        Ok(())
    }
}

/// Reads items, and hands each with its number to `write`. Many are read by other threads while
/// this one writes; this one also reads when it would have to wait.
fn read_many(
    world: TextSource<'_>,
    items: &[(usize, SearchItem<'_>)],
    mut write: impl FnMut(usize, WrittenRow) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let read_next = || {
        let at = next.fetch_add(1, Relaxed);
        let (_, item) = items.get(at)?;
        Some((at, item.write(world)))
    };
    let read_portion = || {
        let (mut portion, mut bytes) = (Vec::new(), 0);
        while portion.len() < PORTION
            && bytes < PORTION_BYTES
            && let Some((at, written)) = read_next()
        {
            bytes += written.row.text.len() + written.row.parts.len();
            portion.push((at, written));
        }
        portion
    };
    let read_portions = |sender: SyncSender<Vec<(usize, WrittenRow)>>| {
        loop {
            let portion = read_portion();
            if portion.is_empty() || sender.send(portion).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (sender, portions) = sync_channel(PORTIONS);
        if items.len() >= MANY {
            let others = available_parallelism().map_or(1, |all| all.get() - 1);
            for _ in 0..others.clamp(1, READERS) {
                let sender = sender.clone();
                // Without other threads this one reads everything.
                let _ = Builder::new().spawn_scoped(scope, || read_portions(sender));
            }
        }
        drop(sender);
        loop {
            let portion = match portions.try_recv() {
                Ok(portion) => portion,
                Err(_) => match read_next() {
                    Some(written) => vec![written],
                    None => match portions.recv() {
                        Ok(portion) => portion,
                        Err(_) => return Ok(()),
                    },
                },
            };
            for (at, written) in portion {
                write(at, written)?;
            }
        }
    })
}
