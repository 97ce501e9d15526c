//! The index of one catalog: follows the catalog, finds and ranks rows, and turns them into hits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::Result;
use twig_core::Catalog;
use twig_core::search::{Hit, MatchedWords, Query, SearchScope};

use super::database::{Columns, DOCUMENTS, Database, FoundRow};
use super::item::{SearchItem, TextSource};
use super::rows::{Rows, UnreadTexts};
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
    /// For each document, the position of the prompt of the skill that it belongs to. Empty if
    /// there is no skill.
    skills: Vec<Option<u32>>,
}

/// A found prompt or document, by its position in the catalog.
#[derive(Debug, Clone, Copy)]
pub(super) struct CatalogPosition {
    shown: ItemPosition,
    /// Where the words are: in the item itself or in a file of the skill that it is.
    found_in: ItemPosition,
    /// Whether the query is its whole name.
    is_whole: bool,
    matched: MatchedWords,
}

/// A prompt or a document, by its position among its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ItemPosition {
    is_document: bool,
    place: usize,
}

impl ItemPosition {
    fn scope(self) -> SearchScope {
        if self.is_document {
            SearchScope::Documents
        } else {
            SearchScope::Prompts
        }
    }
}

impl Index {
    /// An empty index.
    pub(super) fn open(place: &str) -> Result<Self> {
        Ok(Self {
            database: Database::open(place)?,
            catalog: Arc::default(),
            prompts: Rows::new(SearchScope::Prompts),
            documents: Rows::new(SearchScope::Documents),
            skills: Vec::new(),
        })
    }

    /// Updates the index to a catalog. After an error it must be dropped.
    pub(super) fn follow(&mut self, world: TextSource<'_>, catalog: &Arc<Catalog>) -> Result<()> {
        if Arc::ptr_eq(catalog, &self.catalog) {
            return Ok(());
        }
        let is_first = self.catalog.libraries().is_empty();
        let mut writer = if is_first {
            self.database.filler()?
        } else {
            self.database.writer()?
        };
        for rows in [&mut self.prompts, &mut self.documents] {
            rows.follow(world, &mut writer, &self.catalog, catalog)?;
        }
        if is_first {
            writer.end_filling()?;
        } else {
            writer.commit()?;
        }
        self.skills = skills_of_documents(catalog);
        self.catalog = Arc::clone(catalog);
        Ok(())
    }

    /// Checks whether the files of any prompt changed.
    pub(super) fn look_at_prompts(&mut self, world: TextSource<'_>) -> Result<()> {
        let items = SearchItem::all(&self.catalog, SearchScope::Prompts).enumerate();
        self.prompts.look(&self.database, world, items).map(drop)
    }

    /// Reads the texts in a scope again that could not be read from a store; returns what is left of them.
    pub(super) fn read_again(
        &mut self,
        world: TextSource<'_>,
        scope: SearchScope,
    ) -> Result<Option<UnreadTexts>> {
        let mut left: Option<UnreadTexts> = None;
        for rows in [&mut self.prompts, &mut self.documents] {
            if scope != SearchScope::All && scope != rows.scope() {
                continue;
            }
            let unread = rows.read_again(&self.database, world, &self.catalog)?;
            left = match (left, unread) {
                (Some(one), Some(other)) => Some(UnreadTexts {
                    count: one.count + other.count,
                    ..one
                }),
                (one, other) => one.or(other),
            };
        }
        Ok(left)
    }

    /// Checks whether the files in which words were found changed; returns whether any text
    /// differs.
    pub(super) fn look_at(
        &mut self,
        world: TextSource<'_>,
        spots: &[CatalogPosition],
    ) -> Result<bool> {
        let mut has_changed = false;
        for rows in [&mut self.prompts, &mut self.documents] {
            let scope = rows.scope();
            let places = spots.iter().map(|spot| spot.found_in);
            let items = places
                .filter(|found| found.scope() == scope)
                .filter_map(|found| {
                    let item = SearchItem::at(&self.catalog, scope, found.place)?;
                    Some((found.place, item))
                });
            has_changed |= rows.look(&self.database, world, items)?;
        }
        Ok(has_changed)
    }

    /// The matching items, best first: whole names, then those with all words, then those with
    /// some; each by rank, then by name.
    pub(super) fn find(&self, words: &QueryWords, query: &Query) -> Result<Vec<CatalogPosition>> {
        let limit = query.limit.min(RANKED);
        let mut spots = Spots::new(query.scope, limit);
        let (prompts, documents) = ((0, DOCUMENTS), (DOCUMENTS, i64::MAX));
        let ranges = match query.scope {
            SearchScope::Prompts if self.skills.is_empty() => vec![prompts],
            // The files of skills count towards their prompts. Each range has its own limit, so that
            // many documents leave room for prompts.
            SearchScope::Prompts => vec![prompts, documents],
            SearchScope::All => vec![(0, i64::MAX)],
            SearchScope::Documents => vec![documents],
        };
        let find = |expression: &str, columns: Columns, most: usize| {
            in_each(&ranges, |range| {
                self.database.find(expression, columns, range, most)
            })
        };
        if let Some(expression) = words.whole_expression() {
            let found = find(&expression, Columns::All, RANKED)?;
            spots.add(self, found, true, MatchedWords::All);
        }
        if let Some(expression) = words.expression() {
            let all = find(&expression, Columns::All, RANKED + 1)?;
            if all.len() > RANKED {
                // Too many to rank: at least put matches in better columns first.
                for columns in [Columns::Name, Columns::Title, Columns::Description] {
                    if !spots.is_full() {
                        let found = find(&expression, columns, RANKED)?;
                        spots.add(self, found, false, MatchedWords::All);
                    }
                }
            }
            spots.add(self, all, false, MatchedWords::All);
        }
        if spots.list.is_empty() {
            self.scan(words, query, &mut spots);
        }
        spots.limit = limit.min(query.enough).max(spots.list.len());
        if let Some(expression) = words.some_expression()
            && !spots.is_full()
        {
            let found = in_each(&ranges, |range| {
                self.database.find_some(&expression, range, RANKED)
            })?;
            spots.add(self, found, false, MatchedWords::Some);
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
                if !item.is_indexed() {
                    continue;
                }
                text.clear();
                fold_into(item.key(), &mut text);
                text.push('\n');
                fold_into(item.title().unwrap_or_default(), &mut text);
                let has = |needle: &String| text.contains(needle);
                if needles.iter().all(has) {
                    let position = ItemPosition {
                        is_document: scope == SearchScope::Documents,
                        place,
                    };
                    spots.push(self, position, false, MatchedWords::All);
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
        world: TextSource<'_>,
        words: &QueryWords,
        query: &Query,
        spots: &[CatalogPosition],
    ) -> Vec<Hit> {
        let (all, some) = (words.folded(&query.text), words.some_folded());
        let mut hits = Vec::with_capacity(spots.len());
        for spot in spots {
            let (Some(item), Some(source)) = (self.item(spot.shown), self.item(spot.found_in))
            else {
                continue;
            };
            let words = match spot.matched {
                MatchedWords::All => &all,
                MatchedWords::Some => &some,
            };
            let text = source.text(world);
            // A user who asks for a name wants its description, not the places that use its words.
            let around = (!spot.is_whole).then(|| snippet::around(&text, words));
            let snippet = match (around.flatten(), item.description()) {
                (Some(snippet), _) => snippet,
                (None, None) => snippet::first_line(&text),
                (None, Some(description)) => snippet::around(description, words)
                    .unwrap_or_else(|| snippet::beginning(description)),
            };
            let matches = snippet::matches(&snippet, words);
            hits.push(item.hit(spot.matched, snippet, matches));
        }
        hits
    }

    fn item(&self, position: ItemPosition) -> Option<SearchItem<'_>> {
        SearchItem::at(&self.catalog, position.scope(), position.place)
    }

    fn position(&self, row: i64) -> Option<ItemPosition> {
        let is_document = row >= DOCUMENTS;
        let rows = if is_document {
            &self.documents
        } else {
            &self.prompts
        };
        let place = rows.place(row)?;
        Some(ItemPosition { is_document, place })
    }

    /// What is shown for a found item: for a file of a skill the skill's prompt, unless only
    /// documents are wanted.
    fn shown(&self, found_in: ItemPosition, scope: SearchScope) -> Option<ItemPosition> {
        if !found_in.is_document || scope == SearchScope::Documents {
            return Some(found_in);
        }
        let skill = self.skills.get(found_in.place).copied().flatten();
        let prompt = skill.map(|place| ItemPosition {
            is_document: false,
            place: place as usize,
        });
        match scope {
            SearchScope::Prompts => prompt,
            _ => Some(prompt.unwrap_or(found_in)),
        }
    }
}

/// The rows that are found in each of some ranges.
fn in_each(
    ranges: &[(i64, i64)],
    find: impl Fn((i64, i64)) -> Result<Vec<FoundRow>>,
) -> Result<Vec<FoundRow>> {
    let mut found = Vec::new();
    for range in ranges {
        found.append(&mut find(*range)?);
    }
    Ok(found)
}

/// For each document, the position of the prompt of the innermost skill in whose folder it is.
fn skills_of_documents(catalog: &Catalog) -> Vec<Option<u32>> {
    let prompts = (0..).zip(SearchItem::all(catalog, SearchScope::Prompts));
    let skills: HashMap<(&str, &str), u32> = prompts
        .filter_map(|(place, prompt)| {
            let (library, file) = prompt.skill_file()?;
            Some(((library, folder_of(file)), place))
        })
        .collect();
    if skills.is_empty() {
        return Vec::new();
    }
    let documents = SearchItem::all(catalog, SearchScope::Documents);
    documents
        .map(|document| {
            let (library, mut path) = document.document_file()?;
            while !path.is_empty() {
                path = folder_of(path);
                if let Some(place) = skills.get(&(library, path)) {
                    return Some(*place);
                }
            }
            None
        })
        .collect()
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The items found so far, each once.
struct Spots {
    scope: SearchScope,
    list: Vec<CatalogPosition>,
    known: HashSet<ItemPosition>,
    limit: usize,
}

impl Spots {
    fn new(scope: SearchScope, limit: usize) -> Self {
        Self {
            scope,
            list: Vec::new(),
            known: HashSet::new(),
            limit,
        }
    }

    fn is_full(&self) -> bool {
        self.list.len() >= self.limit
    }

    /// Adds found rows, best first.
    fn add(&mut self, index: &Index, found: Vec<FoundRow>, is_whole: bool, matched: MatchedWords) {
        let found = found.into_iter();
        let mut ranked: Vec<(f64, ItemPosition)> = found
            .filter_map(|found| Some((found.rank, index.position(found.row)?)))
            .collect();
        let key = |position: ItemPosition| index.item(position).map(SearchItem::key);
        ranked.sort_unstable_by(|one, two| {
            let by_rank = one.0.total_cmp(&two.0);
            by_rank.then_with(|| key(one.1).cmp(&key(two.1)))
        });
        for (_, position) in ranked {
            self.push(index, position, is_whole, matched);
        }
    }

    fn push(
        &mut self,
        index: &Index,
        found_in: ItemPosition,
        is_whole: bool,
        matched: MatchedWords,
    ) {
        let Some(shown) = index.shown(found_in, self.scope) else {
            return;
        };
        if !self.is_full() && self.known.insert(shown) {
            self.list.push(CatalogPosition {
                shown,
                found_in,
                is_whole,
                matched,
            });
        }
    }
}
