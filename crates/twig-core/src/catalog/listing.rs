//! What lists show of the prompts: which come first, which are left out, and what differs for a
//! client.

use sha2::{Digest, Sha256};

use super::filter::{is_called, is_match, is_named};
use super::{Catalog, PromptPosition, PromptRef, fingerprint};
use crate::model::{Library, ListingRules, ListingSettings, Prompt};

/// Where a prompt is in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ListRank {
    Pinned,
    Usual,
    Hidden,
}

/// Whether the list of a client shows a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptListing {
    /// It does.
    Shown,
    /// Rules of the user or of its repository leave it out.
    Hidden,
    /// The client loads its file itself.
    LoadedByClient,
}

/// A list of prompts that differs from the usual one: clients with equal views get the same list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListView {
    /// The client whose rules count.
    client: Option<Box<str>>,
    /// Positions of libraries that are left out.
    own: Vec<u32>,
}

/// The prompts that a list shows, in its order.
#[derive(Debug)]
pub struct ShownPrompts(Vec<PromptPosition>);

impl ShownPrompts {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Catalog {
    /// The same with what lists show: as these rules of the user say, and then those of each
    /// library's own repository.
    #[must_use]
    pub fn with_listing(mut self, settings: &ListingSettings) -> Self {
        self.listing = settings.clone();
        let mut libraries = self.libraries().iter();
        let is_silent =
            settings.rules.is_silent() && libraries.all(|library| library.listing.is_silent());
        self.shown = (!is_silent).then(|| self.ranked(None, &[]));
        // A cursor of another list is not one of this.
        let mut hash = Sha256::new();
        hash.update(fingerprint(&self.libraries));
        hash.update(format!("{settings:?}"));
        for library in self.libraries() {
            hash.update(format!("{:?}{:?}", library.listing, library.loaded_by));
        }
        self.fingerprint = hash.finalize().into();
        self
    }

    /// How many prompts lists show.
    pub fn shown_len(&self) -> usize {
        self.shown
            .as_ref()
            .map_or(self.listed.len(), ShownPrompts::len)
    }

    /// The prompts that lists show, from `offset` on: pinned ones first, hidden ones not at all.
    pub fn shown_prompts(&self, offset: usize) -> impl ExactSizeIterator<Item = PromptRef<'_>> {
        let shown = self.shown.as_ref().map_or(&self.listed, |shown| &shown.0);
        let rest = shown.get(offset..).unwrap_or_default();
        rest.iter().map(|place| self.at(*place))
    }

    /// The prompts in the list that a client of this name gets, as [`Self::view_of`] says.
    pub fn listed_for(&self, client: &str, is_here: bool) -> Vec<PromptRef<'_>> {
        let Some(view) = self.view_of(client, is_here) else {
            return self.shown_prompts(0).collect();
        };
        let shown = self.prompts_in(&view);
        shown.0.iter().map(|place| self.at(*place)).collect()
    }

    /// The list that a client of this name gets; `None` if it is the usual one. `is_here` is true if
    /// the client runs where the server does, so that it loads some libraries itself.
    pub fn view_of(&self, client: &str, is_here: bool) -> Option<ListView> {
        let settings = self.listing.clients.get(client);
        let has_rules = settings.is_some_and(|it| !it.rules.is_silent());
        let own = if is_here && !self.serves_own_of(client) {
            let libraries = (0..).zip(self.libraries());
            let own = libraries.filter(|(_, library)| library.loaded_by.contains(&client));
            own.map(|(at, _)| at).collect()
        } else {
            Vec::new()
        };
        (has_rules || !own.is_empty()).then(|| ListView {
            client: has_rules.then(|| client.into()),
            own,
        })
    }

    /// Whether the list of a client of this name shows a prompt; `is_here` as for
    /// [`view_of`](Self::view_of).
    pub fn listing_for(&self, client: &str, found: PromptRef<'_>, is_here: bool) -> PromptListing {
        let PromptRef { library, prompt } = found;
        if is_here && library.loaded_by.contains(&client) && !self.serves_own_of(client) {
            return PromptListing::LoadedByClient;
        }
        let own = self.listing.clients.get(client).map(|it| &it.rules);
        let rules = [&self.listing.rules, &library.listing];
        match LibraryListing::new(library, own.into_iter().chain(rules)).rank(prompt) {
            ListRank::Hidden => PromptListing::Hidden,
            ListRank::Pinned | ListRank::Usual => PromptListing::Shown,
        }
    }

    /// True if a client is offered the prompts that it loads itself.
    pub fn serves_own_of(&self, client: &str) -> bool {
        let settings = self.listing.clients.get(client);
        let own = settings.and_then(|it| it.serves_own);
        own.unwrap_or(self.listing.serves_own)
    }

    /// The prompts of a client's list.
    pub fn prompts_in(&self, view: &ListView) -> ShownPrompts {
        let client = view.client.as_deref();
        let settings = client.and_then(|client| self.listing.clients.get(client));
        self.ranked(settings.map(|it| &it.rules), &view.own)
    }

    /// They, from `offset` on.
    pub fn shown_of<'c>(
        &'c self,
        shown: &'c ShownPrompts,
        offset: usize,
    ) -> impl ExactSizeIterator<Item = PromptRef<'c>> {
        let rest = shown.0.get(offset..).unwrap_or_default();
        rest.iter().map(|place| self.at(*place))
    }

    /// True if every client that listed the prompts of both, and sees no difference between their
    /// prompts, gets the same list.
    pub(super) fn has_listing_of(&self, other: &Self) -> bool {
        let libraries = self.libraries().iter().zip(other.libraries());
        let is_same = |(one, two): (&std::sync::Arc<Library>, &std::sync::Arc<Library>)| {
            one.loaded_by == two.loaded_by
        };
        self.listing.serves_own == other.listing.serves_own
            && self.listing.clients == other.listing.clients
            && libraries.into_iter().all(is_same)
    }

    /// True if a client's list may have prompts that the usual one has not.
    pub(super) fn has_rules_of_clients(&self) -> bool {
        !self.listing.clients.is_empty()
    }

    /// The listed prompts as rules say: those of a client, the user's, then those of each library's
    /// own repository.
    fn ranked(&self, client: Option<&ListingRules>, left_out: &[u32]) -> ShownPrompts {
        let is_shown = |place: &&PromptPosition| !left_out.contains(&place.library);
        let listed = self.listed.iter().filter(is_shown);
        let libraries = self.libraries.iter().map(|library| {
            let rules = [&self.listing.rules, &library.listing];
            LibraryListing::new(library, client.into_iter().chain(rules))
        });
        let libraries: Vec<LibraryListing<'_>> = libraries.collect();
        let ranked = listed.map(|place| {
            let listing = &libraries[place.library as usize];
            (listing.rank(self.at(*place).prompt), *place)
        });
        let mut ranked: Vec<_> = ranked
            .filter(|(rank, _)| *rank != ListRank::Hidden)
            .collect();
        // The sort is stable: otherwise the order stays.
        ranked.sort_by_key(|(rank, _)| *rank);
        ShownPrompts(ranked.into_iter().map(|(_, place)| place).collect())
    }
}

/// What rules say about the prompts of one library.
#[derive(Debug)]
struct LibraryListing<'r> {
    library: &'r Library,
    /// The lists of the rules in their order; the first that names a prompt counts.
    lists: Vec<(LibraryPatterns<'r>, ListRank)>,
}

/// Patterns of one list, as they apply to one library.
#[derive(Debug)]
struct LibraryPatterns<'r> {
    /// True if one of them names the library itself.
    is_named: bool,
    patterns: &'r [Box<str>],
}

impl<'r> LibraryListing<'r> {
    fn new(library: &'r Library, rules: impl Iterator<Item = &'r ListingRules>) -> Self {
        let lists = rules.flat_map(|rules| {
            let list = |patterns, rank| (LibraryPatterns::new(library, patterns), rank);
            [
                list(&rules.pin, ListRank::Pinned),
                list(&rules.hide, ListRank::Hidden),
            ]
        });
        Self {
            library,
            lists: lists.collect(),
        }
    }

    /// The rank of a prompt of the library.
    fn rank(&self, prompt: &Prompt) -> ListRank {
        let mut lists = self.lists.iter();
        let found = lists.find(|(patterns, _)| patterns.name(self.library, prompt));
        found.map_or(ListRank::Usual, |(_, rank)| *rank)
    }
}

impl<'r> LibraryPatterns<'r> {
    fn new(library: &Library, patterns: &'r [Box<str>]) -> Self {
        // With a `:` a pattern names prompts as after `--only`, without one a library, or a prompt
        // whose name has no library in front.
        let names_library = |pattern: &str| {
            !pattern.contains(':') && !library.is_project() && is_called(library, pattern)
        };
        Self {
            is_named: patterns.iter().any(|pattern| names_library(pattern)),
            patterns,
        }
    }

    /// True if a pattern names a prompt.
    fn name(&self, library: &Library, prompt: &Prompt) -> bool {
        let names = |pattern: &str| {
            if pattern.contains(':') {
                is_named(library, prompt, pattern)
            } else {
                is_match(pattern, &prompt.full_name)
            }
        };
        self.is_named || self.patterns.iter().any(|pattern| names(pattern))
    }
}
