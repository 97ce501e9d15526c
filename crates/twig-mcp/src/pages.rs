//! Lists in pages: written once for each snapshot and era, then shared.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use twig_core::{Catalog, Limits, Skill};

use crate::cursor::{Cursor, List, snapshot_of};
use crate::era::Era;
use crate::json;
use crate::schema;

/// Bytes of a result beside its items: its id, which can be long, and its last members.
const ENVELOPE: usize = 16 * 1024;

/// Total bytes of the items of one page, so that the message stays within its limit.
pub(crate) fn page_bytes(limits: &Limits) -> usize {
    limits.message.saturating_sub(ENVELOPE)
}

/// Snapshots that are kept so that a started listing can continue when the catalog changes.
const SNAPSHOTS: usize = 2;

/// The pages of recent snapshots.
#[derive(Debug)]
pub(crate) struct Pages {
    room: PageRoom,
    /// Oldest first.
    snapshots: VecDeque<Snapshot>,
}

/// The limits of one page.
#[derive(Debug, Clone, Copy)]
struct PageRoom {
    items: usize,
    /// Bytes, because an item can be as long as a message.
    bytes: usize,
}

#[derive(Debug)]
struct Snapshot {
    catalog: Arc<Catalog>,
    /// By list, era and offset.
    pages: BTreeMap<(List, Era, usize), Arc<Vec<u8>>>,
    /// The results of the tool `list_prompts`, by era.
    commands: BTreeMap<Era, Arc<Vec<u8>>>,
    /// True if a client may ask for the next page.
    gave_cursor: bool,
}

impl Pages {
    /// Starts without pages; each will have at most this many items, and no more bytes than a
    /// message.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            room: PageRoom {
                items: limits.page.max(1),
                bytes: page_bytes(limits),
            },
            snapshots: VecDeque::new(),
        }
    }

    /// The first page of a list, as the JSON of a result.
    pub(crate) fn first(
        &mut self,
        info: &str,
        catalog: &Arc<Catalog>,
        era: Era,
        list: List,
    ) -> Arc<Vec<u8>> {
        let room = self.room;
        self.snapshot(catalog).page(info, era, list, 0, room)
    }

    /// The page at a cursor; `None` if the cursor is invalid.
    pub(crate) fn at(
        &mut self,
        info: &str,
        catalog: &Arc<Catalog>,
        era: Era,
        cursor: Cursor,
    ) -> Option<Arc<Vec<u8>>> {
        let room = self.room;
        let offset = cursor.offset as usize;
        let is_meant = |of: &Catalog| snapshot_of(of.fingerprint()) == cursor.snapshot;
        let snapshot = self.meant(catalog, is_meant)?;
        let is_start = cursor.list.is_start(&snapshot.catalog, offset, room);
        is_start.then(|| snapshot.page(info, era, cursor.list, offset, room))
    }

    /// The catalog, recent or current, that a cursor was made from.
    pub(crate) fn catalog(
        &mut self,
        now: &Arc<Catalog>,
        is_meant: impl Fn(&Catalog) -> bool,
    ) -> Option<Arc<Catalog>> {
        let snapshot = self.meant(now, is_meant)?;
        Some(Arc::clone(&snapshot.catalog))
    }

    /// Keeps a catalog for a client that has a cursor into it.
    pub(crate) fn keep(&mut self, catalog: &Arc<Catalog>) {
        self.snapshot(catalog).gave_cursor = true;
    }

    fn meant(
        &mut self,
        now: &Arc<Catalog>,
        is_meant: impl Fn(&Catalog) -> bool,
    ) -> Option<&mut Snapshot> {
        let known = self.snapshots.iter();
        let known = known.rev().find(|known| is_meant(&known.catalog));
        let catalog = match known {
            Some(known) => Arc::clone(&known.catalog),
            None if is_meant(now) => Arc::clone(now),
            None => return None,
        };
        Some(self.snapshot(&catalog))
    }

    /// The result of the tool `list_prompts`, as JSON.
    pub(crate) fn commands(
        &mut self,
        catalog: &Arc<Catalog>,
        era: Era,
        write: impl FnOnce() -> Vec<u8>,
    ) -> Arc<Vec<u8>> {
        let commands = self.snapshot(catalog).commands.entry(era);
        Arc::clone(commands.or_insert_with(|| Arc::new(write())))
    }

    fn snapshot(&mut self, catalog: &Arc<Catalog>) -> &mut Snapshot {
        let known = self
            .snapshots
            .iter()
            .position(|known| Arc::ptr_eq(&known.catalog, catalog));
        let at = known.unwrap_or_else(|| {
            // A snapshot without a cursor is of no use once there is a newer one.
            self.snapshots.retain(|known| known.gave_cursor);
            if self.snapshots.len() == SNAPSHOTS {
                self.snapshots.pop_front();
            }
            self.snapshots.push_back(Snapshot {
                catalog: Arc::clone(catalog),
                pages: BTreeMap::new(),
                commands: BTreeMap::new(),
                gave_cursor: false,
            });
            self.snapshots.len() - 1
        });
        &mut self.snapshots[at]
    }
}

impl Snapshot {
    fn page(
        &mut self,
        info: &str,
        era: Era,
        list: List,
        offset: usize,
        room: PageRoom,
    ) -> Arc<Vec<u8>> {
        let page = self.pages.entry((list, era, offset));
        let page = page.or_insert_with(|| {
            let end = list.end(&self.catalog, offset, room);
            self.gave_cursor |= end < list.len(&self.catalog);
            write(info, &self.catalog, era, list, offset..end)
        });
        Arc::clone(page)
    }
}

impl List {
    fn len(self, catalog: &Catalog) -> usize {
        match self {
            Self::Prompts => catalog.len(),
            Self::Documents => catalog.document_count(),
            Self::Templates => catalog.templates().count(),
            Self::Skills => catalog.skill_count(),
        }
    }

    /// The end of the page that starts at an offset.
    fn end(self, catalog: &Catalog, offset: usize, room: PageRoom) -> usize {
        let end = offset.saturating_add(room.items).min(self.len(catalog));
        match self {
            Self::Skills => fitting_skills(catalog, offset..end, room.bytes),
            _ => end,
        }
    }

    /// True if a page other than the first starts there: no cursor has another offset.
    fn is_start(self, catalog: &Catalog, offset: usize, room: PageRoom) -> bool {
        let is_within = offset > 0 && offset < self.len(catalog);
        is_within
            && match self {
                Self::Skills => {
                    let mut start = 0;
                    while start < offset {
                        start = self.end(catalog, start, room);
                    }
                    start == offset
                }
                _ => offset.is_multiple_of(room.items),
            }
    }

    /// The approximate size of a long item in bytes.
    fn item(self) -> usize {
        match self {
            Self::Prompts => 1024,
            Self::Documents | Self::Templates => 320,
            Self::Skills => 2048,
        }
    }
}

fn write(info: &str, catalog: &Catalog, era: Era, list: List, range: Range<usize>) -> Arc<Vec<u8>> {
    let (offset, count) = (range.start, range.len());
    // A list that outgrows its buffer is copied each time; unused capacity takes no memory.
    let mut page = Vec::with_capacity(count * list.item());
    json::object(&mut page, |result| {
        match list {
            List::Prompts => {
                let prompts = catalog.prompts(offset).take(count);
                result.list("prompts", prompts, |buffer, found| {
                    json::object(buffer, |item| schema::prompt(found, item));
                });
            }
            List::Documents => {
                let documents = catalog.documents(offset).take(count);
                result.list("resources", documents, |buffer, found| {
                    json::object(buffer, |item| schema::document(found, item));
                });
            }
            List::Templates => {
                let templates = catalog.templates().skip(offset).take(count);
                result.list("resourceTemplates", templates, |buffer, found| {
                    json::object(buffer, |item| schema::template(found, item));
                });
            }
            List::Skills => {
                let skills = catalog.skills(offset).take(count);
                result.list("skills", skills, |buffer, found| {
                    json::object(buffer, |item| schema::skill(found.skill, item));
                });
            }
        }
        if range.end < list.len(catalog)
            && let Some(cursor) = Cursor::new(catalog.fingerprint(), list, range.end)
        {
            result.text("nextCursor", &cursor.to_string());
        }
        era.keep_list(result);
        schema::seal(era, info, "complete", None, result);
    });
    Arc::new(page)
}

/// The end of the entries that fit on a page, from the start of a range; always at least one.
fn fitting_skills(catalog: &Catalog, range: Range<usize>, bytes: usize) -> usize {
    let mut room = bytes;
    let mut end = range.start;
    for found in catalog.skills(range.start).take(range.len()) {
        let length = skill_bytes(found.skill);
        if length > room && end > range.start {
            break;
        }
        room = room.saturating_sub(length);
        end += 1;
    }
    end
}

/// An upper bound for the bytes of a skill's entry.
fn skill_bytes(skill: &Skill) -> usize {
    /// More than names, quotes, commas, a digest and a number take.
    const AROUND: usize = 160;
    // URIs hold nothing that JSON escapes, unless a client invented them.
    let text = |text: &str| 2 * text.len() + AROUND;
    let listed = skill.files.iter().filter(|_| !skill.is_unlisted);
    let files: usize = listed.map(|file| text(&file.uri)).sum();
    text(&skill.uri) + skill.front_matter.len() + files
}
