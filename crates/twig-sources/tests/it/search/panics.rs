//! An index that is asked again after a search failed in the worst way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use twig_core::search::SearchScope;
use twig_core::{Blob, Bodies, Body, BodyError, Library, RelativePath, Stamp};
use twig_sources::LiveCatalog;

use super::{name, prompts, query};
use crate::support::age;

/// Bodies that fail in the worst way as long as they are told to.
struct Broken {
    live: LiveCatalog,
    is_broken: AtomicBool,
}

impl Bodies for Broken {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        assert!(!self.is_broken.load(Ordering::Relaxed), "told to");
        self.live.read(library, path)
    }

    fn stamp(&self, library: &Library, path: &RelativePath) -> Result<Stamp, BodyError> {
        self.live.stamp(library, path)
    }

    fn bytes(&self, l: &Library, path: &RelativePath, limit: usize) -> Result<Blob, BodyError> {
        self.live.bytes(l, path, limit)
    }
}

#[test]
fn a_panic_costs_one_search() {
    let mut shelf = prompts(&[("a", "", "needle")]);
    age(&shelf.tree.path("data/lib/prompts/a.md"));
    let catalog = shelf.live.snapshot();
    let bodies = Broken {
        live: shelf.live,
        is_broken: AtomicBool::new(true),
    };
    let query = query("needle", SearchScope::All, 5);
    let mut search = || shelf.index.search(&catalog, &bodies, &query);
    assert!(catch_unwind(AssertUnwindSafe(&mut search)).is_err());
    bodies.is_broken.store(false, Ordering::Relaxed);
    let hits = search().unwrap();
    assert_eq!(hits.iter().map(name).collect::<Vec<_>>(), ["lib:a"]);
}
