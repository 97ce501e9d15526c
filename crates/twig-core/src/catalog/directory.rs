//! Folders of documents: the direct children of one.
//!
//! A catalog has no folders, only URIs with segments. A folder is a prefix that several URIs share.

use std::ops::Range;
use std::sync::Arc;

use super::Catalog;
use super::documents::DocumentRef;
use super::skills::SkillRef;
use crate::uri::decode;

/// A direct child of a folder.
#[derive(Debug, Clone, Copy)]
pub enum Child<'c> {
    /// A document.
    Document(DocumentRef<'c>),
    /// Another folder, by its URI.
    Folder(&'c str),
}

impl<'c> Child<'c> {
    /// Its URI.
    pub fn uri(self) -> &'c str {
        match self {
            Self::Document(found) => &found.document.uri,
            Self::Folder(uri) => uri,
        }
    }

    /// The last segment of its URI, decoded for people.
    pub fn name(self) -> std::borrow::Cow<'c, str> {
        let uri = self.uri();
        decode(uri.rsplit_once('/').map_or(uri, |(_, name)| name))
    }
}

impl Catalog {
    /// The direct children of the folder with this URI, sorted by URI; `None` if there is no such
    /// folder. Folders have no `/` at their end.
    ///
    /// A skill's folder has exactly the files in that skill's list, and nothing else that happens
    /// to have such a URI.
    pub fn directory(&self, uri: &str) -> Option<Vec<Child<'_>>> {
        let (scheme, path) = uri.split_once("://")?;
        if scheme.is_empty() || path.is_empty() || path.ends_with('/') {
            return None;
        }
        let folder = format!("{uri}/");
        let mut rest = self.below(&folder, 0..self.document_count());
        // A document is no folder, even if other URIs start with it.
        if rest.is_empty() || self.document(uri).is_some() {
            return None;
        }
        // Only now it is known to be no longer than the URI of some document.
        let owner = self.skill_around(uri);
        let mut children: Vec<Child<'_>> = Vec::new();
        while !rest.is_empty() {
            let found = self.listed_document(rest.start);
            let name = &found.document.uri[folder.len()..];
            let Some((name, _)) = name.split_once('/') else {
                if is_of(owner, found) {
                    children.push(Child::Document(found));
                }
                rest.start += 1;
                continue;
            };
            let child = &found.document.uri[..folder.len() + name.len()];
            let inside = self.below(&found.document.uri[..=child.len()], rest.clone());
            let mut documents = inside.clone().map(|at| self.listed_document(at));
            let is_own = documents.any(|found| is_of(owner, found));
            if is_own && !name.is_empty() && self.document(child).is_none() {
                children.push(Child::Folder(child));
            }
            rest.start = inside.end;
        }
        children.sort_unstable_by(|one, two| one.uri().cmp(two.uri()));
        (!children.is_empty()).then_some(children)
    }

    /// Folders similar to one that does not exist.
    pub fn near_directories(&self, uri: &str) -> Vec<String> {
        let wanted = uri.trim_end_matches('/');
        if wanted != uri && self.directory(wanted).is_some() {
            return vec![wanted.to_owned()];
        }
        let mut folders: Vec<&str> = Vec::new();
        for found in self.documents(0) {
            let uri = &*found.document.uri;
            let Some((folder, _)) = uri.rsplit_once('/') else {
                continue;
            };
            // They are sorted: neighbours are mostly in the same folder.
            if folders.last() != Some(&folder) && !folder.ends_with('/') {
                folders.push(folder);
            }
        }
        folders.dedup();
        crate::suggest::near(wanted, folders)
    }

    /// The listed documents in a range whose URI has this prefix.
    fn below(&self, beginning: &str, within: Range<usize>) -> Range<usize> {
        let uri = |at: usize| &*self.listed_document(at).document.uri;
        let start = point(within.clone(), |at| uri(at) < beginning);
        let end = point(start..within.end, |at| uri(at).starts_with(beginning));
        start..end
    }
}

/// True if a document is one of a skill's files, or there is no skill.
fn is_of(owner: Option<SkillRef<'_>>, found: DocumentRef<'_>) -> bool {
    let Some(SkillRef { library, skill }) = owner else {
        return true;
    };
    let uri = &found.document.uri;
    let mine = || skill.files.binary_search_by(|file| file.uri.cmp(uri));
    Arc::ptr_eq(library, found.library) && (skill.is_unlisted || mine().is_ok())
}

/// The first index in a range at which a condition stops being true.
fn point(mut range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    while !range.is_empty() {
        let middle = usize::midpoint(range.start, range.end);
        if is_before(middle) {
            range.start = middle + 1;
        } else {
            range.end = middle;
        }
    }
    range.start
}
