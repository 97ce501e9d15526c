//! Searches in a project whose store cannot be read for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use twig_core::search::{Query, SearchScope};
use twig_core::{
    Blob, Bodies, Body, BodyError, Library, Limits, RelativePath, Stamp, StoredVersion,
};
use twig_sources::{LiveCatalog, SearchIndex, Selected, Settings};

use super::support::*;
use crate::support::Tree;

/// Bodies whose store is away at times.
struct AtTimes<'a> {
    live: &'a LiveCatalog,
    is_away: AtomicBool,
}

impl Bodies for AtTimes<'_> {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        self.live.read(library, path)
    }

    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        self.live.stamp(library, path)
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        limit: usize,
    ) -> Result<Blob, BodyError> {
        self.live.bytes(library, path, limit)
    }

    fn stored(&self, version: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(BodyError::Store("the store is away".to_owned()));
        }
        self.live.stored(version)
    }
}

#[test]
fn texts_that_a_search_could_not_read_are_found_when_the_store_is_back() {
    let (home, tree) = (Home::with_project(), Tree::new());
    let store = home.open();
    prompt(&store, "one", text("the axolotl")).unwrap();
    prompt(&store, "two", text("the newt")).unwrap();
    resource(&store, "three", at("notes://three", "the axolotl too")).unwrap();
    let live = LiveCatalog::load(Settings {
        project: Some(Selected {
            name: name("p"),
            store: Arc::new(store),
        }),
        ..tree.settings()
    });
    let bodies = AtTimes {
        live: &live,
        is_away: AtomicBool::new(true),
    };
    let mut index = SearchIndex::new(Limits::default());
    let mut search = |text: &str| {
        let query = Query {
            text: text.to_owned(),
            scope: SearchScope::All,
            limit: 10,
            enough: 10,
        };
        let found = index.search(&live.snapshot(), &bodies, &query);
        found.map(|hits| hits.len())
    };
    let refused = search("axolotl").unwrap_err();
    assert_eq!(
        refused,
        "nothing was found, but 3 texts could not be read (the store is away): try again"
    );
    assert_eq!(search("one"), Ok(1), "names are found all the same");
    bodies.is_away.store(false, Ordering::Relaxed);
    assert_eq!(search("axolotl"), Ok(2));
    assert_eq!(search("newt"), Ok(1));
    assert_eq!(search("salamander"), Ok(0));
}
