//! A page of a list that a tool answers with: bounded by bytes, since models read it.

use std::sync::Arc;

use twig_core::Catalog;

use super::reply;
use crate::call::Call;
use crate::cursor::{Cursor, List, snapshot_in};
use crate::error::Refusal;
use crate::json::Object;

/// Where a page starts, and in which catalog.
pub(super) struct ListPage<'a> {
    call: &'a Call<'a>,
    list: List,
    /// What is listed, for the cursor: one of another list is refused.
    key: String,
    pub(super) catalog: Arc<Catalog>,
    pub(super) offset: usize,
}

impl<'a> ListPage<'a> {
    /// The page at a cursor, or the first one, of a list with so many items. Two lists need two
    /// keys.
    pub(super) fn at(
        call: &'a Call<'a>,
        list: List,
        key: impl Into<String>,
        cursor: Option<&str>,
        count: impl Fn(&Catalog) -> usize,
    ) -> Result<Self, String> {
        let key = key.into();
        let now: &Arc<Catalog> = call.world.catalog;
        let (catalog, offset) = match cursor {
            None => (Arc::clone(now), 0),
            Some(cursor) => {
                let wrong = || Refusal::Cursor.to_string();
                let cursor = Cursor::parse(cursor).filter(|cursor| cursor.list == list);
                let cursor = cursor.ok_or_else(wrong)?;
                let is_meant =
                    |of: &Catalog| snapshot_in(of.fingerprint(), &key) == cursor.snapshot;
                let catalog = call.server.pages().catalog(now, is_meant);
                let catalog = catalog.ok_or_else(wrong)?;
                let offset = cursor.offset as usize;
                if offset == 0 || offset >= count(&catalog) {
                    return Err(wrong());
                }
                (catalog, offset)
            }
        };
        Ok(Self {
            call,
            list,
            key,
            catalog,
            offset,
        })
    }

    /// Writes the items that fit, always at least one, and `nextCursor` if there are more. `None`
    /// stands for an item that is not listed.
    pub(super) fn write(
        self,
        name: &'static str,
        all: impl Iterator<Item = Option<Vec<u8>>>,
        most: usize,
        bytes: usize,
        result: &mut Object<'_>,
    ) {
        let (mut items, mut written, mut next) = (Vec::new(), 0, None);
        for (at, item) in all.enumerate() {
            let Some(item) = item else { continue };
            // The comma counts, too.
            written += item.len() + 1;
            if items.len() == most || (written > bytes && !items.is_empty()) {
                next = u32::try_from(self.offset + at).ok();
                break;
            }
            items.push(item);
        }
        reply::structured(
            |content| {
                content.list(name, items, |buffer, item| buffer.extend_from_slice(&item));
                if let Some(offset) = next {
                    let cursor = Cursor {
                        snapshot: snapshot_in(self.catalog.fingerprint(), &self.key),
                        list: self.list,
                        offset,
                    };
                    content.text("nextCursor", &cursor.to_string());
                }
            },
            result,
        );
        if next.is_some() {
            self.call.server.pages().keep(&self.catalog);
        }
    }
}
