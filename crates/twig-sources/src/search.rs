//! Searches prompts and documents by name, title, description and text.
//!
//! [`SearchIndex`] keeps an FTS5 table in a private SQLite database and updates it for each search.
//! Nothing is opened before the first search.
//!
//! Freshness: a search answers from the catalog that it is given. A changed text is read again
//! before it is shown, so no result lacks the words. Words that a file gained without a new catalog
//! are found at most [`ROUND`] after they were written, since that is how often a search checks the
//! files of all prompts; a changed document makes a new catalog. A text in a store that could not be reached
//! is read by a later search, and until then a search that finds nothing there says so. A text that is
//! damaged, gone or too large is not searched.

mod database;
mod index;
mod item;
mod rows;
mod snippet;
mod words;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use twig_core::search::{Hit, Query};
use twig_core::{Bodies, Catalog, Limits};

use self::database::{IN_MEMORY, ON_DISK};
use self::index::Index;
use self::item::TextSource;
use self::rows::UnreadTexts;
use self::words::QueryWords;

/// How long a check of the files of all prompts stays valid. It costs a `stat` per file, which for
/// ten thousand files takes longer than the search itself.
const ROUND: Duration = Duration::from_secs(2);

/// How often to repeat a search because a file changed in that very moment.
const TRIES: usize = 3;

/// An index of the items that a catalog serves.
#[derive(Debug)]
pub struct SearchIndex {
    limits: Limits,
    place: &'static str,
    index: Option<Index>,
    looked: Instant,
    round: Duration,
    /// Counts the texts that were read.
    counter: Arc<AtomicUsize>,
    /// What the last search could not read.
    unread: Option<UnreadTexts>,
}

impl SearchIndex {
    /// An index that the first search opens and fills.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            place: ON_DISK,
            index: None,
            looked: Instant::now(),
            round: ROUND,
            counter: Arc::default(),
            unread: None,
        }
    }

    /// Counts the texts that are read from now on.
    pub fn count_in(&mut self, counter: Arc<AtomicUsize>) {
        self.counter = counter;
    }

    /// The hits in that catalog, best first, as its files are now.
    ///
    /// Any text is a query: text without a word is searched for literally, in names and titles. If
    /// too few items have all words, those with some of them follow, ranked by BM25. A skill is one
    /// hit, in which of its files the words may be. The error is a sentence for people.
    pub fn search(
        &mut self,
        catalog: &Arc<Catalog>,
        bodies: &dyn Bodies,
        query: &Query,
    ) -> Result<Vec<Hit>, String> {
        // Taken out: after an error or a panic it is gone, and the next search starts over.
        let result = match self.index.take() {
            Some(index) => self.answer(index, catalog, bodies, query),
            None => self.start(catalog, bodies, query),
        };
        let result = match result {
            // The disk is full or read-only: use memory instead.
            Err(error) if self.place == ON_DISK => {
                tracing::debug!("the search index goes on in memory: {error}");
                self.place = IN_MEMORY;
                self.start(catalog, bodies, query)
            }
            result => result,
        };
        let hits = result.map_err(|error| format!("the search failed: {error}; try again"))?;
        match self.unread.take() {
            Some(UnreadTexts { count, why }) if hits.is_empty() => Err(format!(
                "nothing was found, but {} could not be read ({why}): try again",
                match count {
                    1 => "a text".to_owned(),
                    count => format!("{count} texts"),
                }
            )),
            _ => Ok(hits),
        }
    }

    fn start(
        &mut self,
        catalog: &Arc<Catalog>,
        bodies: &dyn Bodies,
        query: &Query,
    ) -> rusqlite::Result<Vec<Hit>> {
        self.looked = Instant::now();
        let index = Index::open(self.place)?;
        self.answer(index, catalog, bodies, query)
    }

    fn answer(
        &mut self,
        mut index: Index,
        catalog: &Arc<Catalog>,
        bodies: &dyn Bodies,
        query: &Query,
    ) -> rusqlite::Result<Vec<Hit>> {
        let world = TextSource {
            bodies,
            limits: &self.limits,
            counter: &self.counter,
        };
        index.follow(world, catalog)?;
        self.unread = index.read_again(world, query.scope)?;
        if self.looked.elapsed() >= self.round {
            index.look_at_prompts(world)?;
            self.looked = Instant::now();
        }
        let words = QueryWords::of(&query.text);
        let mut spots = Vec::new();
        for _ in 0..TRIES {
            spots = index.find(&words, query)?;
            if !index.look_at(world, &spots)? {
                break;
            }
        }
        let hits = index.hits(world, &words, query, &spots);
        self.index = Some(index);
        Ok(hits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LiveCatalog, Settings};
    use std::fmt::Write as _;
    use std::fs;
    use tempfile::TempDir;
    use twig_core::search::SearchScope;

    fn library(count: usize) -> (TempDir, LiveCatalog) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("lib");
        fs::create_dir_all(root.join("prompts")).unwrap();
        let mut manifest = String::new();
        for at in 0..count {
            writeln!(manifest, "[prompts.p{at}]").unwrap();
            fs::write(
                root.join(format!("prompts/p{at}.md")),
                "some words\n".repeat(100),
            )
            .unwrap();
        }
        fs::write(root.join("twig.toml"), manifest).unwrap();
        let live = LiveCatalog::load(Settings {
            data: Some(folder.path().to_owned()),
            ..Settings::default()
        });
        (folder, live)
    }

    fn count(index: &mut SearchIndex, live: &LiveCatalog, text: &str) -> usize {
        let query = Query {
            text: text.to_owned(),
            scope: SearchScope::All,
            limit: 100,
            enough: 100,
        };
        index.search(&live.snapshot(), live, &query).unwrap().len()
    }

    #[test]
    fn nothing_is_opened_before_the_first_search() {
        let (_folder, live) = library(1);
        let mut index = SearchIndex::new(Limits::default());
        assert!(index.index.is_none());
        assert_eq!(count(&mut index, &live, "words"), 1);
        assert!(index.index.is_some());
    }

    #[test]
    fn a_full_disk_moves_the_index_to_memory() {
        let (folder, live) = library(50);
        let mut index = SearchIndex::new(Limits::default());
        let opened = Index::open(ON_DISK).unwrap();
        opened.database.limit_pages(1);
        index.index = Some(opened);
        assert_eq!(count(&mut index, &live, "words"), 50);
        assert_eq!(index.place, IN_MEMORY);
        fs::write(folder.path().join("lib/prompts/p7.md"), "nothing").unwrap();
        assert_eq!(count(&mut index, &live, "words"), 49);
    }

    #[test]
    fn every_round_looks_at_the_files_of_all_prompts() {
        let (folder, live) = library(3);
        let mut index = SearchIndex::new(Limits::default());
        assert_eq!(count(&mut index, &live, "needle"), 0);
        fs::write(folder.path().join("lib/prompts/p1.md"), "needle").unwrap();
        index.round = Duration::MAX;
        assert_eq!(count(&mut index, &live, "needle"), 0, "not yet");
        index.round = Duration::ZERO;
        assert_eq!(count(&mut index, &live, "needle"), 1);
    }
}
