//! Lists in pages: written once for each snapshot and era, then shared.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use twig_core::{Catalog, Limits, ListView, PromptRef, ShownPrompts, Skill};

use crate::cursor::{Cursor, List, snapshot_of};
use crate::era::Era;
use crate::json;
use crate::schema::{self, ResultOrigin};

/// Bytes of a result beside its items: its id, which can be long, and its last members.
const ENVELOPE: usize = 16 * 1024;

/// Total bytes of the items of one page, so that the message stays within its limit.
pub(crate) fn page_bytes(limits: &Limits) -> usize {
    limits.message.saturating_sub(ENVELOPE)
}

/// Snapshots that are kept so that a started listing can continue when the catalog changes.
const SNAPSHOTS: usize = 2;

/// How the names of prompts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameForm {
    /// With letters of any script.
    Native,
    /// In ASCII, for clients that replace all other letters.
    Short,
}

/// How a list is written for a client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ListForm {
    /// The names of prompts.
    pub(crate) names: NameForm,
    /// True if each prompt with arguments has a required one, for clients that fill in no others.
    pub(crate) requires_one: bool,
    /// The prompts that it shows; the usual ones if `None`.
    pub(crate) view: Option<ListView>,
}

impl ListForm {
    /// The form for most clients.
    pub(crate) const PLAIN: Self = Self {
        names: NameForm::Native,
        requires_one: false,
        view: None,
    };
}

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
    /// By list, its form, era and offset.
    pages: BTreeMap<(List, ListForm, Era, usize), Arc<Vec<u8>>>,
    /// The prompts of lists that are not the usual one. There are no more of them than the
    /// configuration and the table of clients have differences.
    views: BTreeMap<ListView, Arc<ShownPrompts>>,
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
        list: (List, ListForm),
    ) -> Arc<Vec<u8>> {
        let room = self.room;
        let snapshot = self.snapshot(catalog);
        let shown = snapshot.shown(list.1.view.as_ref());
        snapshot.page(info, era, (list, shown), 0, room)
    }

    /// The page at a cursor; `None` if the cursor is invalid.
    pub(crate) fn at(
        &mut self,
        info: &str,
        catalog: &Arc<Catalog>,
        era: Era,
        (cursor, form): (Cursor, ListForm),
    ) -> Option<Arc<Vec<u8>>> {
        let room = self.room;
        let offset = cursor.offset as usize;
        let is_meant = |of: &Catalog| snapshot_of(of.fingerprint()) == cursor.snapshot;
        let snapshot = self.meant(catalog, is_meant)?;
        let shown = snapshot.shown(form.view.as_ref());
        let items = ListItems::new(&snapshot.catalog, shown.as_deref());
        let is_start = cursor.list.is_start(items, offset, room);
        let list = (cursor.list, form);
        is_start.then(|| snapshot.page(info, era, (list, shown), offset, room))
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
                views: BTreeMap::new(),
                gave_cursor: false,
            });
            self.snapshots.len() - 1
        });
        &mut self.snapshots[at]
    }
}

impl Snapshot {
    /// The prompts of a view; `None` for the usual ones.
    fn shown(&mut self, view: Option<&ListView>) -> Option<Arc<ShownPrompts>> {
        let view = view?;
        if let Some(known) = self.views.get(view) {
            return Some(Arc::clone(known));
        }
        let shown = Arc::new(self.catalog.prompts_in(view));
        self.views.insert(view.clone(), Arc::clone(&shown));
        Some(shown)
    }

    fn page(
        &mut self,
        info: &str,
        era: Era,
        ((list, form), shown): ((List, ListForm), Option<Arc<ShownPrompts>>),
        offset: usize,
        room: PageRoom,
    ) -> Arc<Vec<u8>> {
        let page = self.pages.entry((list, form.clone(), era, offset));
        let page = page.or_insert_with(|| {
            let items = ListItems::new(&self.catalog, shown.as_deref());
            let end = list.end(items, offset, room);
            self.gave_cursor |= end < list.len(items);
            write(info, items, era, (list, &form), offset..end)
        });
        Arc::clone(page)
    }
}

/// What lists are made of.
#[derive(Clone, Copy)]
struct ListItems<'c> {
    catalog: &'c Catalog,
    /// The prompts, if they are not the usual ones.
    shown: Option<&'c ShownPrompts>,
}

impl<'c> ListItems<'c> {
    fn new(catalog: &'c Catalog, shown: Option<&'c ShownPrompts>) -> Self {
        Self { catalog, shown }
    }

    fn prompts(self, range: Range<usize>) -> Vec<PromptRef<'c>> {
        let (offset, count) = (range.start, range.len());
        match self.shown {
            Some(shown) => self.catalog.shown_of(shown, offset).take(count).collect(),
            None => self.catalog.shown_prompts(offset).take(count).collect(),
        }
    }
}

impl List {
    fn len(self, items: ListItems<'_>) -> usize {
        let catalog = items.catalog;
        match self {
            Self::Prompts => items.shown.map_or(catalog.shown_len(), ShownPrompts::len),
            Self::Documents => catalog.document_count(),
            Self::Templates => catalog.templates().count(),
            Self::Skills => catalog.skill_count(),
        }
    }

    /// The end of the page that starts at an offset.
    fn end(self, items: ListItems<'_>, offset: usize, room: PageRoom) -> usize {
        let end = offset.saturating_add(room.items).min(self.len(items));
        match self {
            Self::Skills => fitting_skills(items.catalog, offset..end, room.bytes),
            _ => end,
        }
    }

    /// True if a page other than the first starts there: no cursor has another offset.
    fn is_start(self, items: ListItems<'_>, offset: usize, room: PageRoom) -> bool {
        let is_within = offset > 0 && offset < self.len(items);
        is_within
            && match self {
                Self::Skills => {
                    let mut start = 0;
                    while start < offset {
                        start = self.end(items, start, room);
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

fn write(
    info: &str,
    items: ListItems<'_>,
    era: Era,
    (list, form): (List, &ListForm),
    range: Range<usize>,
) -> Arc<Vec<u8>> {
    let catalog = items.catalog;
    let (offset, count) = (range.start, range.len());
    // A list that outgrows its buffer is copied each time; unused capacity takes no memory.
    let mut page = Vec::with_capacity(count * list.item());
    json::object(&mut page, |result| {
        match list {
            List::Prompts => {
                let prompts = items.prompts(range.clone());
                result.list("prompts", prompts, |buffer, found| {
                    let short = match form.names {
                        NameForm::Native => None,
                        NameForm::Short => found.prompt.short_full_name(),
                    };
                    let first = schema::first_optional(&found.prompt.arguments);
                    let required = first.filter(|_| form.requires_one);
                    json::object(buffer, |item| {
                        schema::prompt(found, short.as_deref(), required, item);
                    });
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
        if range.end < list.len(items)
            && let Some(cursor) = Cursor::new(catalog.fingerprint(), list, range.end)
        {
            result.text("nextCursor", &cursor.to_string());
        }
        era.keep_list(catalog, result);
        schema::seal(era, info, "complete", &ResultOrigin::Plain, result);
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
