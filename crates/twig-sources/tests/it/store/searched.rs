//! Searches in a project with texts that cannot be read: for a while, or ever again.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use twig_core::search::{Query, SearchScope};
use twig_core::{
    Blob, Bodies, Body, BodyError, Library, Limits, RelativePath, Stamp, StoredVersion,
};
use twig_sources::{LiveCatalog, SearchIndex, Selected, Settings, SqliteStore};

use super::support::*;
use crate::support::Tree;

/// Says why a text is not read, if it is not.
type Fails = dyn Fn(&str) -> Option<BodyError> + Send;

/// Bodies some of whose texts cannot be read at times.
struct AtTimes {
    live: LiveCatalog,
    fails: Mutex<Box<Fails>>,
}

impl AtTimes {
    /// Those of the project in that store, all of which can be read.
    fn new(store: SqliteStore, tree: &Tree) -> Self {
        let live = LiveCatalog::load(Settings {
            project: Some(Selected {
                name: name("p"),
                store: Arc::new(store),
            }),
            ..tree.settings()
        });
        Self {
            live,
            fails: Mutex::new(Box::new(|_| None)),
        }
    }

    fn fail(&self, fails: impl Fn(&str) -> Option<BodyError> + Send + 'static) {
        *self.fails.lock().unwrap() = Box::new(fails);
    }

    /// The number of hits.
    fn search(
        &self,
        index: &mut SearchIndex,
        scope: SearchScope,
        text: &str,
    ) -> Result<usize, String> {
        let query = Query {
            text: text.to_owned(),
            scope,
            limit: 10,
            enough: 10,
        };
        let found = index.search(&self.live.snapshot(), self, &query);
        found.map(|hits| hits.len())
    }
}

fn away() -> BodyError {
    BodyError::Store("the store is away".to_owned())
}

impl Bodies for AtTimes {
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
        let content = self.live.stored(version)?;
        let text = String::from_utf8(content).unwrap();
        match (self.fails.lock().unwrap())(&text) {
            Some(error) => Err(error),
            None => Ok(text.into_bytes()),
        }
    }
}

#[test]
fn texts_that_a_search_could_not_read_are_found_when_the_store_is_back() {
    let (home, tree) = (Home::with_project(), Tree::new());
    let store = home.open();
    prompt(&store, "one", text("the axolotl")).unwrap();
    prompt(&store, "two", text("the newt")).unwrap();
    resource(&store, "three", at("notes://three", "the axolotl too")).unwrap();
    let bodies = AtTimes::new(store, &tree);
    bodies.fail(|_| Some(away()));
    let mut index = SearchIndex::new(Limits::default());
    let mut search = |text: &str| bodies.search(&mut index, SearchScope::All, text);
    let refused = search("axolotl").unwrap_err();
    assert_eq!(
        refused,
        "nothing was found, but 3 texts could not be read (the store is away): try again"
    );
    assert_eq!(search("one"), Ok(1), "names are found all the same");
    bodies.fail(|_| None);
    assert_eq!(search("axolotl"), Ok(2));
    assert_eq!(search("newt"), Ok(1));
    assert_eq!(search("salamander"), Ok(0));
}

/// A search stops after a few texts that fail, and the next one goes on behind them.
#[test]
fn texts_that_fail_again_do_not_keep_later_ones_from_being_read() {
    let (home, tree) = (Home::with_project(), Tree::new());
    let store = home.open();
    for number in 0..9 {
        prompt(&store, &format!("p{number}"), text("the newt")).unwrap();
    }
    prompt(&store, "q", text("the axolotl")).unwrap();
    let bodies = AtTimes::new(store, &tree);
    bodies.fail(|_| Some(away()));
    let mut index = SearchIndex::new(Limits::default());
    let mut search = |text: &str| bodies.search(&mut index, SearchScope::All, text);
    assert!(search("axolotl").is_err());
    bodies.fail(|text| text.contains("newt").then(away));
    let found = (0..3).map(|_| search("axolotl")).find(Result::is_ok);
    assert_eq!(found, Some(Ok(1)));
    let refused = search("salamander").unwrap_err();
    assert!(refused.contains("9 texts could not be read"), "{refused}");
    bodies.fail(|_| None);
    assert_eq!(search("newt"), Ok(9));
}

#[test]
fn a_text_that_is_damaged_or_too_large_is_no_reason_to_try_again() {
    for error in [
        BodyError::Lost("a content differs".to_owned()),
        BodyError::TooLarge { size: 9, limit: 8 },
    ] {
        let (home, tree) = (Home::with_project(), Tree::new());
        let store = home.open();
        prompt(&store, "one", text("the axolotl")).unwrap();
        resource(&store, "two", at("notes://two", "the axolotl too")).unwrap();
        let bodies = AtTimes::new(store, &tree);
        bodies.fail(move |_| Some(error.clone()));
        let (mut index, read) = (SearchIndex::new(Limits::default()), Arc::default());
        index.count_in(Arc::clone(&read));
        let mut search = |text: &str| bodies.search(&mut index, SearchScope::All, text);
        assert_eq!(search("axolotl"), Ok(0));
        assert_eq!(search("one"), Ok(1), "names are found all the same");
        assert_eq!(search("axolotl"), Ok(0));
        assert_eq!(read.load(Ordering::Relaxed), 2, "each was read once");
    }
}

#[test]
fn a_content_that_the_store_lost_is_no_reason_to_try_again() {
    let (home, tree) = (Home::with_project(), Tree::new());
    let store = home.open();
    prompt(&store, "one", text("the axolotl")).unwrap();
    prompt(&store, "two", text("the newt")).unwrap();
    prompt(&store, "three", text("the toad")).unwrap();
    let bodies = AtTimes::new(store, &tree);
    let file = Connection::open(home.file("default.db")).unwrap();
    // Triggers refuse it otherwise.
    let lose = "DROP TRIGGER content_is_final; \
        DELETE FROM content WHERE bytes = CAST('the newt' AS BLOB); \
        UPDATE content SET bytes = CAST('the frog' AS BLOB) WHERE bytes = CAST('the toad' AS BLOB)";
    file.execute_batch(lose).unwrap();
    let mut index = SearchIndex::new(Limits::default());
    let mut search = |text: &str| bodies.search(&mut index, SearchScope::All, text);
    for lost in ["newt", "toad", "frog"] {
        assert_eq!(search(lost), Ok(0), "{lost}");
    }
    assert_eq!(search("axolotl"), Ok(1));
}

#[test]
fn only_unread_texts_of_what_is_searched_are_told_of() {
    let (home, tree) = (Home::with_project(), Tree::new());
    let store = home.open();
    prompt(&store, "one", text("the axolotl")).unwrap();
    resource(&store, "two", at("notes://two", "the newt")).unwrap();
    let bodies = AtTimes::new(store, &tree);
    bodies.fail(|text| text.contains("newt").then(away));
    let mut index = SearchIndex::new(Limits::default());
    let mut search = |scope| bodies.search(&mut index, scope, "salamander");
    assert_eq!(search(SearchScope::Prompts), Ok(0));
    for scope in [SearchScope::Documents, SearchScope::All] {
        let refused = search(scope).unwrap_err();
        assert!(refused.contains("a text could not be read"), "{refused}");
    }
}
