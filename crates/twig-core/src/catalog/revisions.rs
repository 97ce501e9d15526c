//! Counters that clients are notified from: how often each list, and each document, has changed.
//!
//! An announcer compares these numbers with the last ones it sent. Several changes become one
//! announcement and none is lost, however slowly a client reads.

use std::sync::Arc;

use super::{Catalog, PromptRef};
use crate::document::Document;
use crate::model::{Function, Library, Prompt, Skill};
use crate::name::RelativePath;

/// Numbers that grow from one published catalog to the next if something differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// Of the list of prompts.
    pub prompts: u64,
    /// Of the list of documents, of their templates, and of the lists of skills.
    pub documents: u64,
    /// Of the contents of all documents.
    pub contents: u64,
    /// Of the selected project, and so of the tools that write to it, and of whether there are so
    /// many prompts that tools recommend a search.
    pub tools: u64,
}

impl Catalog {
    /// The numbers of this catalog.
    pub fn revisions(&self) -> Revisions {
        self.revisions
    }

    /// The same, marked as old: a store of it cannot be read now.
    #[must_use]
    pub fn with_staleness(mut self, is_stale: bool) -> Self {
        self.is_stale = is_stale;
        self
    }

    /// True if a store of it cannot be read now: what it has of that store may be old.
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// This catalog with the counters of one that is published after another.
    #[must_use]
    pub fn after(mut self, before: &Catalog) -> Self {
        let next = |number: u64, is_same: bool| number + u64::from(!is_same);
        let Revisions {
            prompts,
            documents,
            contents,
            tools,
        } = before.revisions;
        self.revisions = Revisions {
            // A client that uses `name@label` learns that it means another version now.
            prompts: next(
                prompts,
                self.lists_the_same(before) && self.has_the_same_labels(before),
            ),
            documents: next(
                documents,
                self.lists_the_same_documents(before) && self.has_the_same_skills(before),
            ),
            contents: next(contents, self.holds_the_same(before)),
            tools: next(
                tools,
                self.project().is_some() == before.project().is_some()
                    && self.has_many_prompts() == before.has_many_prompts(),
            ),
        };
        self
    }

    /// This catalog as the first one of a row, with counters that no other row has.
    #[must_use]
    pub fn with_first_revision(mut self, first: u64) -> Self {
        self.revisions = Revisions {
            prompts: first,
            documents: first,
            contents: first,
            tools: first,
        };
        self
    }

    /// This catalog with the counters of one that no client has seen.
    #[must_use]
    pub fn with_revisions_of(mut self, before: &Catalog) -> Self {
        self.revisions = before.revisions;
        self
    }

    /// True if a client that listed the prompts of both would see no difference.
    pub fn lists_the_same(&self, other: &Catalog) -> bool {
        let has_all = !self.has_rules_of_clients() || {
            let all = self.prompts(0).zip(other.prompts(0));
            self.len() == other.len() && all_the_same(all)
        };
        has_all
            && self.shown_len() == other.shown_len()
            && all_the_same(self.shown_prompts(0).zip(other.shown_prompts(0)))
            && self.has_listing_of(other)
    }

    /// The same for documents. The list includes the length and time of a document, but an edit
    /// only notifies the clients that watch that document, not all that ever listed.
    pub fn lists_the_same_documents(&self, other: &Catalog) -> bool {
        self.all_documents(other, |one, two| {
            one.uri == two.uri
                && one.name == two.name
                && one.title == two.title
                && one.description == two.description
                && one.mime == two.mime
        }) && {
            let templates = |of: &Catalog| {
                of.templates()
                    .map(|found| found.template.clone())
                    .collect::<Vec<_>>()
            };
            templates(self) == templates(other)
        }
    }

    /// True if the lists of all skills are the same, including digests: a client with an old list
    /// would refuse a file that changed since.
    fn has_the_same_skills(&self, other: &Catalog) -> bool {
        let skills = |of: &Catalog| -> Vec<Arc<Skill>> {
            let libraries = of.libraries().iter();
            libraries
                .flat_map(|library| library.skills.iter().cloned())
                .collect()
        };
        skills(self) == skills(other)
    }

    /// True if every label of a prompt names the same version.
    fn has_the_same_labels(&self, other: &Catalog) -> bool {
        let labelled = |of: &'_ Catalog| -> Vec<Arc<Library>> {
            let libraries = of.libraries().iter();
            let labelled = libraries.filter(|library| !library.labelled.is_empty());
            labelled.cloned().collect()
        };
        let (one, two) = (labelled(self), labelled(other));
        let is_same = |(one, two): (&Arc<Library>, &Arc<Library>)| {
            Arc::ptr_eq(one, two) || (one.root == two.root && one.labelled == two.labelled)
        };
        one.len() == two.len() && one.iter().zip(&two).all(is_same)
    }

    /// True if every URI means a file that did not change.
    fn holds_the_same(&self, other: &Catalog) -> bool {
        self.all_documents(other, |one, two| {
            one.version == two.version && one.uri == two.uri && one.short_uri == two.short_uri
        })
    }

    fn all_documents(&self, other: &Catalog, same: impl Fn(&Document, &Document) -> bool) -> bool {
        let pairs = self.documents(0).zip(other.documents(0));
        let mut pairs = pairs.map(|(one, two)| (one.document, two.document));
        self.document_count() == other.document_count()
            && pairs.all(|(one, two)| std::ptr::eq(one, two) || same(one, two))
    }
}

/// True if a client sees no difference in each pair of prompts.
fn all_the_same<'c>(mut pairs: impl Iterator<Item = (PromptRef<'c>, PromptRef<'c>)>) -> bool {
    pairs.all(|(one, two)| {
        // Unchanged libraries share the same allocation: nothing to compare.
        std::ptr::eq(one.prompt, two.prompt)
            || (one.prompt.full_name == two.prompt.full_name
                && one.prompt.title == two.prompt.title
                && one.prompt.description == two.prompt.description
                && one.prompt.arguments == two.prompt.arguments
                && runs(one.prompt) == runs(two.prompt))
    })
}

fn runs(prompt: &Prompt) -> Option<&RelativePath> {
    prompt.function().map(Function::file)
}
