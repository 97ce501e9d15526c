//! The thread that servers ask: answers, a crowd, and a search that fails in the worst way.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};

use twig_core::search::Scope;
use twig_core::{Blob, Bodies, Body, BodyError, Catalog, Library, Limits, RelativePath, Stamp};
use twig_sources::{LiveCatalog, Searcher};

use super::{name, prompts, query};
use crate::support::{LONG, age};

#[test]
fn a_searcher_answers_from_its_thread() {
    let shelf = prompts(&[("a", "", "needle")]);
    let catalog = shelf.live.snapshot();
    let searcher = Searcher::new(Arc::new(shelf.live), Limits::default());
    let (sender, answers) = channel();
    for _ in 0..3 {
        let sender = sender.clone();
        let done = Box::new(move |result| sender.send(result).unwrap());
        searcher.submit(Arc::clone(&catalog), query("needle", Scope::All, 5), done);
    }
    for _ in 0..3 {
        let hits = answers.recv_timeout(LONG).unwrap().unwrap();
        assert_eq!(hits.iter().map(name).collect::<Vec<_>>(), ["lib:a"]);
    }
}

/// Bodies that wait until they may go on, and then fail in the worst way where they are told to.
struct Slow {
    live: LiveCatalog,
    gate: Mutex<Receiver<Go>>,
}

#[derive(PartialEq)]
enum Go {
    Read,
    Panic,
}

impl Bodies for Slow {
    fn read(&self, library: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        let go = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(go.recv_timeout(LONG).unwrap() == Go::Read, "told to");
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
fn a_panic_costs_one_search_and_a_crowd_is_turned_away() {
    let shelf = prompts(&[("a", "", "needle")]);
    let path = shelf.tree.path("data/lib/prompts/a.md");
    age(&path);
    let catalog: Arc<Catalog> = shelf.live.snapshot();
    let (gate, gated) = channel();
    let bodies = Slow {
        live: shelf.live,
        gate: Mutex::new(gated),
    };
    let searcher = Searcher::new(Arc::new(bodies), Limits::default());
    let (sender, answers) = channel();
    let ask = || {
        let sender = sender.clone();
        let done = Box::new(move |result| sender.send(result).unwrap());
        searcher.submit(Arc::clone(&catalog), query("needle", Scope::All, 5), done);
    };
    ask();
    gate.send(Go::Panic).unwrap();
    let error = answers.recv_timeout(LONG).unwrap().unwrap_err();
    assert!(error.contains("bug"), "{error}");
    // One is under way and 64 wait; what is more is refused at once.
    let mut refused = None;
    for _ in 0..66 {
        ask();
        refused = answers.try_recv().ok().or(refused);
    }
    let error = refused.unwrap().unwrap_err();
    assert!(error.contains("64 searches"), "{error}");
    (0..200).for_each(|_| gate.send(Go::Read).unwrap());
    for _ in 0..64 {
        let hits = answers.recv_timeout(LONG).unwrap();
        assert_eq!(hits.map(|hits| hits.len()), Ok(1));
    }
}
