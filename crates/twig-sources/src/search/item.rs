//! One prompt or document for the index: its indexed text, and whether that is still current.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use twig_core::document_cache::document_bytes;
use twig_core::model::SKILL_FILE;
use twig_core::search::{Hit, MatchedWords, SearchScope, SearchTarget};
use twig_core::spoken;
use twig_core::{
    Bodies, BodyError, Catalog, Content, Contents, DocumentRef, LibraryKind, Limits, PromptRef,
    Stamp,
};

use super::database::IndexRow;
use super::words::{add_parts, add_whole, cut, indexed, indexed_text};

/// Bytes of one text that are indexed.
pub(super) const TEXT: usize = 256 * 1024;

/// Where texts come from, and how much of each is indexed.
#[derive(Clone, Copy)]
pub(super) struct TextSource<'a> {
    pub(super) bodies: &'a dyn Bodies,
    pub(super) limits: &'a Limits,
    pub(super) counter: &'a AtomicUsize,
}

/// A prompt or a document of a catalog.
#[derive(Debug, Clone, Copy)]
pub(super) enum SearchItem<'c> {
    Prompt(PromptRef<'c>),
    Document(DocumentRef<'c>),
}

/// A row, and the state of the files that it was made from.
#[derive(Debug, Default)]
pub(super) struct WrittenRow {
    pub(super) row: IndexRow,
    /// The stamp of the files that were read; 0 if there are none that could change.
    pub(super) stamp: u64,
    /// Differs if the text does.
    pub(super) digest: u64,
    /// Why a text in a store could not be read, if it may be read later. Versions have no stamp that
    /// would change when it can.
    pub(super) unread: Option<String>,
}

impl<'c> SearchItem<'c> {
    /// The item at a position in the order of [`SearchItem::all`], of either prompts or documents.
    pub(super) fn at(catalog: &'c Catalog, scope: SearchScope, place: usize) -> Option<Self> {
        match scope {
            SearchScope::Documents => catalog.documents(place).next().map(Self::Document),
            _ => catalog.prompts(place).next().map(Self::Prompt),
        }
    }

    /// All served items of a catalog: prompts sorted by name, then documents sorted by URI.
    pub(super) fn all(catalog: &'c Catalog, scope: SearchScope) -> impl Iterator<Item = Self> {
        let prompts = (scope != SearchScope::Documents).then(|| catalog.prompts(0));
        let documents = (scope != SearchScope::Prompts).then(|| catalog.documents(0));
        let prompts = prompts.into_iter().flatten().map(Self::Prompt);
        prompts.chain(documents.into_iter().flatten().map(Self::Document))
    }

    /// The unique key of an item within its kind, which is also the sort key.
    pub(super) fn key(self) -> &'c str {
        match self {
            Self::Prompt(found) => &found.prompt.full_name,
            Self::Document(found) => &found.document.uri,
        }
    }

    pub(super) fn title(self) -> Option<&'c str> {
        match self {
            Self::Prompt(found) => found.prompt.title.as_deref(),
            Self::Document(found) => found.document.title.as_deref(),
        }
    }

    pub(super) fn description(self) -> Option<&'c str> {
        match self {
            Self::Prompt(found) => found.prompt.description.as_deref(),
            Self::Document(found) => found.document.description.as_deref(),
        }
    }

    /// The name of its library and the `SKILL.md` in it that it is made from, if it is a skill.
    pub(super) fn skill_file(self) -> Option<(&'c str, &'c str)> {
        let (library, file) = match self {
            Self::Prompt(found) => match &found.prompt.messages.first()?.content {
                Content::File(path) => (found.library, path),
                _ => return None,
            },
            Self::Document(found) => (found.library, found.document.file()?),
        };
        let (name, file) = (library.name.as_str(), file.as_str());
        let is_skill = file == SKILL_FILE || file.ends_with("/SKILL.md");
        is_skill.then_some((name, file))
    }

    /// True if it belongs in the index: of the files of a skill, those that describe what it does.
    pub(super) fn is_indexed(self) -> bool {
        self.inside_skill().is_none_or(is_about)
    }

    /// The path of a skill's file in the folder of the skill, if it is not the `SKILL.md`.
    fn inside_skill(self) -> Option<&'c str> {
        match self {
            Self::Document(found) if found.library.kind == LibraryKind::Skills => {
                // Named `skill/path`.
                let (_, inside) = found.document.name.split_once('/')?;
                Some(inside)
            }
            _ => None,
        }
    }

    /// The name of its library and its file, if it is a document in a folder.
    pub(super) fn document_file(self) -> Option<(&'c str, &'c str)> {
        match self {
            Self::Document(found) => {
                let file = found.document.file()?;
                Some((found.library.name.as_str(), file.as_str()))
            }
            Self::Prompt(_) => None,
        }
    }

    pub(super) fn hit(
        self,
        matched: MatchedWords,
        snippet: String,
        ranges: Vec<Range<usize>>,
    ) -> Hit {
        Hit {
            matched,
            target: match self {
                Self::Prompt(_) if self.skill_file().is_some() => {
                    SearchTarget::Skill(self.key().into())
                }
                Self::Prompt(_) => SearchTarget::Prompt(self.key().into()),
                Self::Document(found) => SearchTarget::Document {
                    uri: self.key().into(),
                    name: found.document.name.as_ref().into(),
                },
            },
            title: self.title().map(Into::into),
            description: self.description().map(Into::into),
            snippet: snippet.into(),
            matches: ranges.into(),
        }
    }

    /// Whether everything known without reading files is equal.
    pub(super) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Prompt(one), Self::Prompt(two)) => {
                let (root, other_root) = (&one.library.root, &two.library.root);
                let (one, two) = (one.prompt, two.prompt);
                // Libraries that did not change are the same allocation: no need to compare.
                std::ptr::eq(one, two)
                    || (one.full_name == two.full_name
                        && one.name == two.name
                        && one.title == two.title
                        && one.description == two.description
                        && one.messages == two.messages
                        && root == other_root)
            }
            (Self::Document(one), Self::Document(two)) => {
                std::ptr::eq(one.document, two.document)
                    || (one.document == two.document && one.library.root == two.library.root)
            }
            _ => false,
        }
    }

    /// The current stamp of its files; 0 if there are none that could change.
    pub(super) fn stamp(self, bodies: &dyn Bodies) -> u64 {
        let library = match self {
            Self::Prompt(found) => found.library,
            Self::Document(found) => found.library,
        };
        let mut stamps = Stamps::default();
        match self {
            Self::Prompt(found) => {
                for message in &found.prompt.messages {
                    if let Content::File(path) = &message.content {
                        stamps.add(bodies.stamp(library, path).as_ref());
                    }
                }
            }
            // A stored version never changes.
            Self::Document(found) => match found.document.file() {
                Some(path) if found.document.is_text => {
                    stamps.add(bodies.stamp(library, path).as_ref());
                }
                _ => {}
            },
        }
        stamps.finish()
    }

    /// Reads the text to index.
    pub(super) fn write(self, world: TextSource<'_>) -> WrittenRow {
        world.counter.fetch_add(1, Ordering::Relaxed);
        if !self.is_indexed() {
            return WrittenRow::default();
        }
        let mut stamps = Stamps::default();
        let text = self.read(world, &mut stamps);
        let text = cut(&text, TEXT);
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        WrittenRow {
            row: self.row(text),
            stamp: stamps.finish(),
            digest: hasher.finish(),
            unread: stamps.unread,
        }
    }

    /// Reads the text again, to show where the words are.
    pub(super) fn text(self, world: TextSource<'_>) -> String {
        let mut text = self.read(world, &mut Stamps::default());
        text.truncate(cut(&text, TEXT).len());
        text
    }

    fn read(self, world: TextSource<'_>, stamps: &mut Stamps) -> String {
        match self {
            Self::Prompt(found) => prompt_text(found, world.bodies, stamps),
            Self::Document(found) => document_text(found, world, stamps),
        }
    }

    fn row(self, text: &str) -> IndexRow {
        let (title, description) = (self.title(), self.description());
        let mut row = IndexRow {
            name: indexed(self.key()).into_owned(),
            title: indexed(title.unwrap_or_default()).into_owned(),
            description: indexed(description.unwrap_or_default()).into_owned(),
            text: indexed_text(text),
            parts: String::new(),
        };
        let mut wholes = String::new();
        match self {
            Self::Prompt(found) => {
                add_parts(self.key(), &mut row.name);
                add_whole(found.prompt.name.as_str(), &mut wholes);
                add_whole(self.key(), &mut wholes);
            }
            Self::Document(found) => {
                let name = &*found.document.name;
                row.name.push(' ');
                row.name.push_str(&indexed(name));
                add_parts(name, &mut row.name);
                add_whole(name, &mut wholes);
                add_whole(self.key(), &mut wholes);
                if self.inside_skill().is_some() {
                    // The name is the skill's, and the skill's own row has it: here it and the
                    // heading count like the text.
                    row.parts = std::mem::take(&mut row.name);
                    row.parts.push(' ');
                    row.parts.push_str(&std::mem::take(&mut row.title));
                } else {
                    let last = name.rsplit('/').next().unwrap_or(name);
                    let stem = last.split_once('.').map_or(last, |(stem, _)| stem);
                    add_whole(stem, &mut wholes);
                    add_whole(last, &mut wholes);
                }
                if let Some(short) = &found.document.short_uri {
                    add_whole(short, &mut wholes);
                }
            }
        }
        let mut parts = String::new();
        for text in [
            title.unwrap_or_default(),
            description.unwrap_or_default(),
            text,
        ] {
            add_parts(text, &mut parts);
        }
        row.parts.push(' ');
        row.parts.push_str(&indexed_text(&parts));
        row.parts.push_str(&wholes);
        row
    }
}

/// Names of files of a skill that a program wrote: signatures, locks, results of evaluations.
const GENERATED: [&str; 7] = [
    "benchmark.md",
    "bun.lockb",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "skill-card.md",
];

/// The same by the end of their names.
const GENERATED_ENDINGS: [&str; 10] = [
    ".asc",
    ".lock",
    ".map",
    ".min.css",
    ".min.js",
    ".minisig",
    ".p7s",
    ".sig",
    ".sigstore",
    ".sigstore.json",
];

/// Folders of a skill with files that do not say what it does: `evals` holds questions, which would
/// be found instead of the skills that answer them.
const OTHER_FOLDERS: [&str; 4] = ["__pycache__", "dist", "evals", "node_modules"];

/// True if a file of a skill, at that path in its folder, says what the skill does.
fn is_about(inside: &str) -> bool {
    let (folders, file) = inside.rsplit_once('/').unwrap_or(("", inside));
    let file = file.to_ascii_lowercase();
    let is_other = |folder: &str| OTHER_FOLDERS.contains(&&*folder.to_ascii_lowercase());
    !folders.split('/').any(is_other)
        && !GENERATED.contains(&&*file)
        && !GENERATED_ENDINGS
            .iter()
            .any(|ending| file.ends_with(ending))
}

/// The texts of all messages.
fn prompt_text(found: PromptRef<'_>, bodies: &dyn Bodies, stamps: &mut Stamps) -> String {
    let mut text = String::new();
    for message in &found.prompt.messages {
        if !text.is_empty() {
            text.push('\n');
        }
        match &message.content {
            Content::File(path) => {
                let body = bodies.read(found.library, path);
                stamps.add(body.as_ref().map(|body| &body.stamp));
                // An unreadable prompt is found by its name; rendering it reports the reason.
                let Ok(body) = body else { continue };
                if found.library.kind.is_format() {
                    // A file that is not valid for its kind is found by its name.
                    let spoken = spoken::bodies(found.library.kind, &body.text);
                    let spoken: Vec<_> = spoken.unwrap_or_default();
                    let texts: Vec<&str> = spoken.iter().map(|it| &*it.text).collect();
                    text.push_str(&texts.join("\n"));
                } else {
                    text.push_str(&body.text);
                }
            }
            Content::Stored(version) => {
                let stored = stamps.stored(bodies.stored(version));
                let stored = stored.and_then(|bytes| String::from_utf8(bytes).ok());
                text.push_str(&stored.unwrap_or_default());
            }
            Content::Text { text: own, .. } => text.push_str(own),
            Content::Braces { text: own, .. } => text.push_str(own.as_str()),
            _ => {}
        }
    }
    text
}

fn document_text(found: DocumentRef<'_>, world: TextSource<'_>, stamps: &mut Stamps) -> String {
    if !found.document.is_text {
        return String::new();
    }
    let TextSource { bodies, limits, .. } = world;
    let document = found.document;
    let read = document_bytes(bodies, found.library, document, limits.document);
    let read = if document.file().is_some() {
        stamps.add(read.as_ref().map(|read| &read.stamp));
        read.ok()
    } else {
        stamps.stored(read)
    };
    match read.map(|read| Contents::of(read.bytes)) {
        Some(Contents::Text(text)) => text,
        _ => String::new(),
    }
}

/// Several stamps in one number that is 0 if there are none.
#[derive(Debug, Default)]
struct Stamps {
    number: u64,
    /// Why a text in a store could not be read, if it may be read later.
    unread: Option<String>,
}

impl Stamps {
    fn add(&mut self, stamp: Result<&Stamp, &BodyError>) {
        // A file that cannot be read keeps this stamp until it can.
        let stamp = stamp.map_or(1, |stamp| stamp.0);
        self.number = (self.number.rotate_left(7) ^ stamp).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    }

    /// What was read from a store. Contents never change, so one that is too large, damaged or gone has
    /// no text: its item is found by its name, and reading that reports the reason.
    fn stored<T>(&mut self, read: Result<T, BodyError>) -> Option<T> {
        match read {
            Ok(read) => return Some(read),
            Err(error @ (BodyError::TooLarge { .. } | BodyError::Lost(_))) => {
                tracing::debug!("a text is not searched: {error}");
            }
            Err(error) => self.unread = Some(error.to_string()),
        }
        None
    }

    fn finish(&self) -> u64 {
        self.number
    }
}
