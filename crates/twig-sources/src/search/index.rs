//! The index of one catalog: follows the catalog, finds and ranks rows, and turns them into hits.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::Result;
use twig_core::Catalog;
use twig_core::search::{Hit, Query, SearchScope};

use super::database::{Columns, DOCUMENTS, Database, FoundRow};
use super::item::{SearchItem, TextSource};
use super::rows::Rows;
use super::snippet;
use super::words::{QueryWords, fold_into};

/// The maximum number of hits that are ranked, and so returned. Ranking costs a microsecond per
/// hit.
const RANKED: usize = 1_000;

/// The rows of one catalog.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) database: Database,
    catalog: Arc<Catalog>,
    prompts: Rows,
    documents: Rows,
}

/// A found prompt or document, by its position in the catalog.
#[derive(Debug, Clone, Copy)]
pub(super) struct CatalogPosition {
    scope: SearchScope,
    place: usize,
    /// Whether the query is its whole name.
    is_whole: bool,
}

impl Index {
    /// An empty index.
    pub(super) fn open(place: &str) -> Result<Self> {
        Ok(Self {
            database: Database::open(place)?,
            catalog: Arc::default(),
            prompts: Rows::new(SearchScope::Prompts),
            documents: Rows::new(SearchScope::Documents),
        })
    }

    /// Updates the index to a catalog. After an error it must be dropped.
    pub(super) fn follow(&mut self, world: TextSource<'_>, catalog: &Arc<Catalog>) -> Result<()> {
        if Arc::ptr_eq(catalog, &self.catalog) {
            return Ok(());
        }
        let mut writer = self.database.writer()?;
        for rows in [&mut self.prompts, &mut self.documents] {
            rows.follow(world, &mut writer, &self.catalog, catalog)?;
        }
        writer.commit()?;
        self.catalog = Arc::clone(catalog);
        Ok(())
    }

    /// Checks whether the files of any prompt changed.
    pub(super) fn look_at_prompts(&mut self, world: TextSource<'_>) -> Result<()> {
        let items = SearchItem::all(&self.catalog, SearchScope::Prompts).enumerate();
        self.prompts.look(&self.database, world, items).map(drop)
    }

    /// Checks whether the files of the found items changed; returns whether any text differs.
    pub(super) fn look_at(
        &mut self,
        world: TextSource<'_>,
        spots: &[CatalogPosition],
    ) -> Result<bool> {
        let mut has_changed = false;
        for rows in [&mut self.prompts, &mut self.documents] {
            let scope = rows.scope();
            let spots = spots.iter().filter(|spot| spot.scope == scope);
            let items = spots.filter_map(|spot| {
                let item = SearchItem::at(&self.catalog, spot.scope, spot.place)?;
                Some((spot.place, item))
            });
            has_changed |= rows.look(&self.database, world, items)?;
        }
        Ok(has_changed)
    }

    /// The matching items, best first: whole names, then by rank, then by name.
    pub(super) fn find(&self, words: &QueryWords, query: &Query) -> Result<Vec<CatalogPosition>> {
        let limit = query.limit.min(RANKED);
        let mut spots = Spots::new(limit);
        let range = match query.scope {
            SearchScope::All => (0, i64::MAX),
            SearchScope::Prompts => (0, DOCUMENTS),
            SearchScope::Documents => (DOCUMENTS, i64::MAX),
        };
        let find = |expression: &str, columns: Columns, most: usize| {
            self.database.find(expression, columns, range, most)
        };
        if let Some(expression) = words.whole_expression() {
            spots.add(self, find(&expression, Columns::All, limit)?, true);
        }
        if !words.words.is_empty() {
            let expression = words.expression();
            let all = find(&expression, Columns::All, RANKED + 1)?;
            if all.len() > RANKED {
                // Too many to rank: at least put matches in better columns first.
                for columns in [Columns::Name, Columns::Title, Columns::Description] {
                    if !spots.is_full() {
                        spots.add(self, find(&expression, columns, RANKED)?, false);
                    }
                }
            }
            spots.add(self, all, false);
        }
        if spots.list.is_empty() {
            self.scan(words, query, &mut spots);
        }
        Ok(spots.list)
    }

    /// Searches inside words, or for text without any word: in names and titles only.
    fn scan(&self, words: &QueryWords, query: &Query, spots: &mut Spots) {
        let needles = words.folded(&query.text);
        let needles: Vec<String> = needles.iter().map(|word| word.iter().collect()).collect();
        if needles.is_empty() {
            return;
        }
        let mut text = String::new();
        for scope in [SearchScope::Prompts, SearchScope::Documents] {
            if query.scope != scope && query.scope != SearchScope::All {
                continue;
            }
            for (place, item) in SearchItem::all(&self.catalog, scope).enumerate() {
                text.clear();
                fold_into(item.key(), &mut text);
                text.push('\n');
                fold_into(item.title().unwrap_or_default(), &mut text);
                let has = |needle: &String| text.contains(needle);
                if needles.iter().all(has) {
                    spots.push(
                        self,
                        CatalogPosition {
                            scope,
                            place,
                            is_whole: false,
                        },
                    );
                }
                if spots.is_full() {
                    return;
                }
            }
        }
    }

    /// Hits with their snippets: the text around the words, or the description, or the first line.
    pub(super) fn hits(
        &self,
        words: &QueryWords,
        query: &Query,
        spots: &[CatalogPosition],
    ) -> Result<Vec<Hit>> {
        let words = words.folded(&query.text);
        let mut reader = self.database.reader()?;
        let mut hits = Vec::with_capacity(spots.len());
        for spot in spots {
            let Some(item) = self.item(*spot) else {
                continue;
            };
            let text = reader.text(self.row(*spot))?;
            // A user who asks for a name wants its description, not the places that use its words.
            let around = (!spot.is_whole).then(|| snippet::around(&text, &words));
            let snippet = match (around.flatten(), item.description()) {
                (Some(snippet), _) => snippet,
                (None, None) => snippet::first_line(&text),
                (None, Some(description)) => snippet::around(description, &words)
                    .unwrap_or_else(|| snippet::beginning(description)),
            };
            hits.push(item.hit(snippet));
        }
        Ok(hits)
    }

    fn item(&self, spot: CatalogPosition) -> Option<SearchItem<'_>> {
        SearchItem::at(&self.catalog, spot.scope, spot.place)
    }

    fn row(&self, spot: CatalogPosition) -> i64 {
        self.rows(spot.scope).row(spot.place)
    }

    fn spot(&self, found: FoundRow, is_whole: bool) -> Option<CatalogPosition> {
        let scope = if found.row < DOCUMENTS {
            SearchScope::Prompts
        } else {
            SearchScope::Documents
        };
        let place = self.rows(scope).place(found.row)?;
        Some(CatalogPosition {
            scope,
            place,
            is_whole,
        })
    }

    fn rows(&self, scope: SearchScope) -> &Rows {
        match scope {
            SearchScope::Documents => &self.documents,
            _ => &self.prompts,
        }
    }
}

/// The items found so far, each once.
struct Spots {
    list: Vec<CatalogPosition>,
    known: HashSet<(bool, usize)>,
    limit: usize,
}

impl Spots {
    fn new(limit: usize) -> Self {
        Self {
            list: Vec::new(),
            known: HashSet::new(),
            limit,
        }
    }

    fn is_full(&self) -> bool {
        self.list.len() >= self.limit
    }

    /// Adds found rows, best first.
    fn add(&mut self, index: &Index, found: Vec<FoundRow>, is_whole: bool) {
        let found = found.into_iter();
        let mut ranked: Vec<(f64, CatalogPosition)> = found
            .filter_map(|found| Some((found.rank, index.spot(found, is_whole)?)))
            .collect();
        let key = |spot: CatalogPosition| index.item(spot).map(SearchItem::key);
        ranked.sort_unstable_by(|one, two| {
            let by_rank = one.0.total_cmp(&two.0);
            by_rank.then_with(|| key(one.1).cmp(&key(two.1)))
        });
        for (_, spot) in ranked {
            self.push(index, spot);
        }
    }

    /// A skill is both a prompt and a document: the prompt stands for both.
    fn push(&mut self, index: &Index, spot: CatalogPosition) {
        let key = (spot.scope == SearchScope::Documents, spot.place);
        if self.is_full() || !self.known.insert(key) {
            return;
        }
        let file = index.item(spot).and_then(SearchItem::skill_file);
        let is_other = |other: &&mut CatalogPosition| {
            file.is_some() && index.item(**other).and_then(SearchItem::skill_file) == file
        };
        match self.list.iter_mut().find(is_other) {
            Some(other) if spot.scope == SearchScope::Prompts => *other = spot,
            Some(_) => {}
            None => self.list.push(spot),
        }
    }
}
