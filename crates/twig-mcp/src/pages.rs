//! The pages of `prompts/list`: written once for each snapshot and era, then shared.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use twig_core::Catalog;

use crate::cursor::{Cursor, snapshot_of};
use crate::era::Era;
use crate::json;
use crate::schema;
use crate::server::Server;

/// Snapshots that are kept so that a listing under way goes on when the catalog changes.
const SNAPSHOTS: usize = 2;

/// Bytes of a long item.
const ITEM: usize = 1024;

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
    /// By offset.
    legacy: BTreeMap<usize, Arc<Vec<u8>>>,
    modern: BTreeMap<usize, Arc<Vec<u8>>>,
    /// Whether some client may come back for the next page.
    gave_cursor: bool,
}

impl Pages {
    /// No pages yet; each is to have this many prompts.
    pub(crate) fn new(length: usize) -> Self {
        Self {
            length: length.max(1),
            snapshots: VecDeque::new(),
        }
    }

    /// The first page of a catalog, as the JSON of a result.
    pub(crate) fn first(
        &mut self,
        server: &Server,
        catalog: &Arc<Catalog>,
        era: Era,
    ) -> Arc<Vec<u8>> {
        let length = self.length;
        self.snapshot(catalog).page(server, era, 0, length)
    }

    /// The page that a cursor leads to; `None` where it leads nowhere.
    pub(crate) fn at(
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
        (is_start && offset < snapshot.catalog.len())
            .then(|| snapshot.page(server, era, offset, length))
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
                legacy: BTreeMap::new(),
                modern: BTreeMap::new(),
                gave_cursor: false,
            });
            self.snapshots.len() - 1
        });
        &mut self.snapshots[at]
    }
}

impl Snapshot {
    fn page(&mut self, server: &Server, era: Era, offset: usize, length: usize) -> Arc<Vec<u8>> {
        let next = offset.saturating_add(length);
        self.gave_cursor |= next < self.catalog.len();
        let pages = match era {
            Era::Legacy => &mut self.legacy,
            Era::Modern => &mut self.modern,
        };
        let page = pages
            .entry(offset)
            .or_insert_with(|| write(server, &self.catalog, era, offset, length));
        Arc::clone(page)
    }
}

fn write(
    server: &Server,
    catalog: &Catalog,
    era: Era,
    offset: usize,
    length: usize,
) -> Arc<Vec<u8>> {
    let prompts = catalog.prompts(offset).take(length);
    // A list that outgrows its buffer is copied each time; what is not written takes no memory.
    let mut page = Vec::with_capacity(prompts.len() * ITEM);
    json::object(&mut page, |result| {
        result.list("prompts", prompts, |buffer, found| {
            json::object(buffer, |item| schema::prompt(found.prompt, item));
        });
        let next = offset.saturating_add(length);
        if next < catalog.len()
            && let Some(cursor) = Cursor::new(catalog.fingerprint(), next)
        {
            result.text("nextCursor", &cursor.to_string());
        }
        era.keep_list(result);
        server.seal(era, "complete", result);
    });
    Arc::new(page)
}
