//! Lists in pages: written once for each snapshot and era, then shared.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use twig_core::Catalog;

use crate::cursor::{Cursor, snapshot_of};
use crate::dispatch::{Call, Outcome};
use crate::era::Era;
use crate::error::Refusal;
use crate::json;
use crate::params::{self, Fields};
use crate::schema;
use crate::server::Server;

/// Snapshots that are kept so that a listing under way goes on when the catalog changes.
const SNAPSHOTS: usize = 2;

/// A list of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Documents,
    /// `resources/templates/list`.
    Templates,
}

/// Answers a request for a list with one of its pages.
pub(crate) fn list(call: &Call<'_>, fields: &Fields<'_>, list: List) -> Result<Outcome, Refusal> {
    let Some(cursor) = fields.cursor else {
        let mut pages = call.server.pages();
        let page = pages.first(call.server, call.host.catalog, call.era, list);
        return Ok(Outcome::Page(page));
    };
    let cursor = params::text(Some(cursor), "cursor")?;
    let cursor = Cursor::parse(&cursor).filter(|cursor| cursor.list == list);
    let cursor = cursor.ok_or(Refusal::Cursor)?;
    let mut pages = call.server.pages();
    let page = pages.at(call.server, call.host.catalog, call.era, cursor);
    page.map(Outcome::Page).ok_or(Refusal::Cursor)
}

/// The pages of recent snapshots.
#[derive(Debug)]
pub(crate) struct Pages {
    length: usize,
    /// Oldest first.
    snapshots: VecDeque<Snapshot>,
}

#[derive(Debug)]
struct Snapshot {
    catalog: Arc<Catalog>,
    /// By list, era and offset.
    pages: BTreeMap<(List, Era, usize), Arc<Vec<u8>>>,
    /// What the tool `list_prompts` answers, by era.
    commands: BTreeMap<Era, Arc<Vec<u8>>>,
    /// Whether some client may come back for the next page.
    gave_cursor: bool,
}

impl Pages {
    /// No pages yet; each is to have this many items.
    pub(crate) fn new(length: usize) -> Self {
        Self {
            length: length.max(1),
            snapshots: VecDeque::new(),
        }
    }

    /// The first page of a list, as the JSON of a result.
    fn first(
        &mut self,
        server: &Server,
        catalog: &Arc<Catalog>,
        era: Era,
        list: List,
    ) -> Arc<Vec<u8>> {
        let length = self.length;
        self.snapshot(catalog).page(server, era, list, 0, length)
    }

    /// The page that a cursor leads to; `None` where it leads nowhere.
    fn at(
        &mut self,
        server: &Server,
        catalog: &Arc<Catalog>,
        era: Era,
        cursor: Cursor,
    ) -> Option<Arc<Vec<u8>>> {
        let length = self.length;
        let offset = cursor.offset as usize;
        let is_meant = |of: &Catalog| snapshot_of(of.fingerprint()) == cursor.snapshot;
        let known = self.snapshots.iter_mut().rev();
        let snapshot = match known.into_iter().find(|known| is_meant(&known.catalog)) {
            Some(known) => known,
            None if is_meant(catalog) => self.snapshot(catalog),
            None => return None,
        };
        let is_start = offset > 0 && offset.is_multiple_of(length);
        (is_start && offset < cursor.list.len(&snapshot.catalog))
            .then(|| snapshot.page(server, era, cursor.list, offset, length))
    }

    /// What the tool `list_prompts` answers, as the JSON of a result.
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
            // What nobody can come back for is of no use once there is something newer.
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
        server: &Server,
        era: Era,
        list: List,
        offset: usize,
        length: usize,
    ) -> Arc<Vec<u8>> {
        let next = offset.saturating_add(length);
        self.gave_cursor |= next < list.len(&self.catalog);
        let page = self.pages.entry((list, era, offset));
        let page = page.or_insert_with(|| write(server, &self.catalog, era, list, offset, length));
        Arc::clone(page)
    }
}

impl List {
    /// Every list, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Prompts, Self::Documents, Self::Templates];

    fn len(self, catalog: &Catalog) -> usize {
        match self {
            Self::Prompts => catalog.len(),
            Self::Documents => catalog.document_count(),
            Self::Templates => catalog.templates().count(),
        }
    }

    /// Roughly the bytes of a long item.
    fn item(self) -> usize {
        match self {
            Self::Prompts => 1024,
            Self::Documents | Self::Templates => 320,
        }
    }
}

fn write(
    server: &Server,
    catalog: &Catalog,
    era: Era,
    list: List,
    offset: usize,
    length: usize,
) -> Arc<Vec<u8>> {
    let count = list.len(catalog).saturating_sub(offset).min(length);
    // A list that outgrows its buffer is copied each time; what is not written takes no memory.
    let mut page = Vec::with_capacity(count * list.item());
    json::object(&mut page, |result| {
        match list {
            List::Prompts => {
                let prompts = catalog.prompts(offset).take(length);
                result.list("prompts", prompts, |buffer, found| {
                    json::object(buffer, |item| schema::prompt(found, item));
                });
            }
            List::Documents => {
                let documents = catalog.documents(offset).take(length);
                result.list("resources", documents, |buffer, found| {
                    json::object(buffer, |item| schema::document(found, item));
                });
            }
            List::Templates => {
                let templates = catalog.templates().skip(offset).take(length);
                result.list("resourceTemplates", templates, |buffer, found| {
                    json::object(buffer, |item| schema::template(found, item));
                });
            }
        }
        let next = offset.saturating_add(length);
        if next < list.len(catalog)
            && let Some(cursor) = Cursor::new(catalog.fingerprint(), list, next)
        {
            result.text("nextCursor", &cursor.to_string());
        }
        era.keep_list(result);
        server.seal(era, "complete", None, result);
    });
    Arc::new(page)
}
