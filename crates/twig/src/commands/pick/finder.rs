//! What can be picked, what was typed, and which of it fits.

use std::cmp::Reverse;

use super::fuzzy::{FuzzyQuery, FuzzyText};

/// The longest query, in characters.
const LONGEST_QUERY: usize = 100;
/// From this length on, a query without a match may have one wrong letter.
const TYPO_FROM: usize = 4;

/// A prompt or a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PickedItem {
    pub(super) name: String,
    pub(super) about: String,
    /// Its name and what it is about, which are searched together after the names.
    text: String,
}

impl PickedItem {
    pub(super) fn new(name: &str, about: &str) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            text: format!("{name} {about}"),
        }
    }
}

/// The list that the user narrows by typing.
#[derive(Debug)]
pub(super) struct Finder {
    items: Vec<PickedItem>,
    query: String,
    /// The items that fit, best first.
    found: Vec<usize>,
    selected: usize,
    /// The first item that is on the screen.
    top: std::cell::Cell<usize>,
}

impl Finder {
    pub(super) fn new(items: Vec<PickedItem>, query: &str) -> Self {
        let mut finder = Self {
            items,
            query: query.chars().take(LONGEST_QUERY).collect(),
            found: Vec::new(),
            selected: 0,
            top: 0.into(),
        };
        finder.search();
        finder
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn found(&self) -> usize {
        self.found.len()
    }

    pub(super) fn total(&self) -> usize {
        self.items.len()
    }

    pub(super) fn selected(&self) -> Option<&PickedItem> {
        self.items.get(*self.found.get(self.selected)?)
    }

    /// The items for this many rows, and whether each is the selected one.
    pub(super) fn shown(&self, rows: usize) -> Vec<(&PickedItem, bool)> {
        let rows = rows.max(1);
        let top = self.top.get().min(self.selected);
        let top = top.max((self.selected + 1).saturating_sub(rows));
        self.top.set(top);
        let found = self.found.iter().enumerate().skip(top).take(rows);
        found
            .filter_map(|(at, index)| Some((self.items.get(*index)?, at == self.selected)))
            .collect()
    }

    pub(super) fn add(&mut self, letter: char) {
        if self.query.chars().count() < LONGEST_QUERY {
            self.query.push(letter);
            self.search();
        }
    }

    pub(super) fn remove_letter(&mut self) {
        self.query.pop();
        self.search();
    }

    pub(super) fn remove_word(&mut self) {
        let start = self.query.trim_end();
        let end = start.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        self.query.truncate(end);
        self.search();
    }

    pub(super) fn clear(&mut self) {
        self.query.clear();
        self.search();
    }

    pub(super) fn move_up(&mut self, rows: usize) {
        self.selected = self.selected.saturating_sub(rows);
    }

    pub(super) fn move_down(&mut self, rows: usize) {
        let last = self.found.len().saturating_sub(1);
        self.selected = self.selected.saturating_add(rows).min(last);
    }

    fn search(&mut self) {
        self.selected = 0;
        self.top.set(0);
        if self.query.trim().is_empty() {
            self.found = (0..self.items.len()).collect();
            return;
        }
        let query = FuzzyQuery::new(&self.query);
        self.found = self.matches(&[&query]);
        if self.found.is_empty() && self.query.chars().count() >= TYPO_FROM {
            let queries = query.with_a_letter_less();
            self.found = self.matches(&queries.iter().collect::<Vec<_>>());
        }
    }

    /// What fits one of the queries: by its name before what fits by its description, the best first.
    fn matches(&self, queries: &[&FuzzyQuery]) -> Vec<usize> {
        let mut found: Vec<(bool, Reverse<i32>, usize, usize)> = Vec::new();
        let best = |text: &FuzzyText| queries.iter().filter_map(|it| it.score(text)).max();
        for (index, item) in self.items.iter().enumerate() {
            let name = FuzzyText::new(&item.name);
            let by_name = best(&name).map(|score| (false, score));
            let by_text = || best(&FuzzyText::new(&item.text)).map(|score| (true, score));
            if let Some((is_by_text, score)) = by_name.or_else(by_text) {
                found.push((is_by_text, Reverse(score), name.len(), index));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(.., index)| index).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finder(query: &str) -> Finder {
        let items = [
            ("lib:commit", "Write a commit message"),
            ("lib:review", "Review code before a commit"),
            ("日本:レビュー", "コード"),
        ];
        let items = items.map(|(name, about)| PickedItem::new(name, about));
        Finder::new(items.into(), query)
    }

    fn names(finder: &Finder) -> Vec<&str> {
        let shown = finder.shown(10).into_iter();
        shown.map(|(item, _)| item.name.as_str()).collect()
    }

    #[test]
    fn names_come_before_descriptions() {
        assert_eq!(names(&finder("commit")), ["lib:commit", "lib:review"]);
        assert_eq!(names(&finder("rvw")), ["lib:review"]);
        assert_eq!(names(&finder("code rev")), ["lib:review"]);
        assert_eq!(names(&finder("レビ")), ["日本:レビュー"]);
        assert_eq!(names(&finder("revxew")), ["lib:review"], "one wrong letter");
        assert_eq!(names(&finder("zzzz")), [""; 0]);
        assert_eq!(finder(" ").found(), 3);
    }

    #[test]
    fn the_selection_stays_on_the_screen() {
        let items = (0..50).map(|at| PickedItem::new(&format!("p{at}"), ""));
        let mut finder = Finder::new(items.collect(), "");
        finder.move_down(9);
        let shown = finder.shown(5);
        assert_eq!(shown[4].0.name, "p9");
        assert!(shown[4].1);
        finder.move_up(1);
        assert!(finder.shown(5)[3].1);
        finder.move_down(1000);
        assert_eq!(finder.selected().map(|item| &*item.name), Some("p49"));
        finder.add('7');
        assert_eq!(finder.selected().map(|item| &*item.name), Some("p7"));
        finder.remove_word();
        assert_eq!((finder.query(), finder.found()), ("", 50));
    }
}
