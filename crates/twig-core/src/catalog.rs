//! The catalog: one immutable value made of all libraries, from which every request is answered.

mod directory;
mod documents;
mod filter;
mod listing;
mod revisions;
mod skills;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use self::directory::Child;
use self::documents::DocumentIndex;
pub use self::documents::{DocumentRef, TemplateRef};
pub use self::filter::{CatalogFilter, is_match};
use self::filter::{OfferedPart, matches_library};
pub use self::listing::{ListView, PromptListing, ShownPrompts};
pub use self::revisions::Revisions;
use self::skills::SkillIndex;
pub use self::skills::SkillRef;
use crate::model::{Library, ListingSettings, Prompt};
use crate::name::{client_chars, client_key};
use crate::problem::{Problem, ProblemCode, Severity, shorten};
use crate::slug::short_form;
use crate::store::{other_labels, split_label};
use crate::suggest;

/// Every library, in order, and an index of their prompts and documents.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Those that are offered, in order; then those that others may only include and embed.
    libraries: Vec<Arc<Library>>,
    /// How many of them are offered.
    offered: usize,
    filter: CatalogFilter,
    shadowed: Vec<Arc<Library>>,
    shadowed_prompts: Vec<PromptPosition>,
    /// Places of all prompts that can be served, sorted by full name.
    listed: Vec<PromptPosition>,
    /// Those of them that lists show, the pinned ones first; `None` if that is all of them.
    shown: Option<ShownPrompts>,
    /// What the user says about lists.
    listing: ListingSettings,
    /// The same places by full name.
    by_name: HashMap<Box<str>, PromptPosition>,
    documents: DocumentIndex,
    skills: SkillIndex,
    problems: Vec<Problem>,
    fingerprint: [u8; 32],
    revisions: Revisions,
    /// True if a store of it cannot be read now.
    is_stale: bool,
}

#[derive(Debug, Clone, Copy)]
struct PromptPosition {
    library: u32,
    prompt: u32,
}

/// A prompt together with the library it is in.
#[derive(Debug, Clone, Copy)]
pub struct PromptRef<'c> {
    /// The library.
    pub library: &'c Arc<Library>,
    /// The prompt.
    pub prompt: &'c Prompt,
}

/// The result of looking up a name.
#[derive(Debug)]
pub enum Lookup<'c> {
    /// Just one prompt; it may still be one that cannot be served.
    Found(PromptRef<'c>),
    /// A bare name that several libraries have: their full names.
    Ambiguous(Vec<&'c str>),
    /// `name@label` of a project's prompt that does not have this label.
    NoLabel(MissingLabel<'c>),
    /// No such prompt.
    Missing,
}

/// A label that a prompt does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingLabel<'c> {
    /// The prompt's full name.
    pub name: &'c str,
    /// The label that was asked for.
    pub label: Box<str>,
    /// The labels that it has.
    pub labels: Vec<&'c str>,
}

impl fmt::Display for MissingLabel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, label) = (self.name, shorten(&self.label, 64));
        let others = other_labels(&self.labels);
        write!(f, "Prompt '{name}' has no label '{label}'; {others}")
    }
}

impl Catalog {
    /// Builds a catalog of libraries, most important first.
    ///
    /// If two libraries have the same name, the first is served; the other is reported as a problem
    /// and listed by [`Catalog::shadowed`]. A project that is only offered goes by the name in its
    /// prompts' names.
    pub fn build(libraries: impl IntoIterator<Item = Arc<Library>>) -> Self {
        Self::filtered(libraries, &CatalogFilter::default())
    }

    /// The same, offering only what a filter names.
    pub fn filtered(
        libraries: impl IntoIterator<Item = Arc<Library>>,
        filter: &CatalogFilter,
    ) -> Self {
        let mut catalog = Self {
            filter: filter.clone(),
            ..Self::default()
        };
        let is_offered = |library: &Library| filter.part(library) != OfferedPart::Nothing;
        for library in libraries {
            let name = match (library.is_offered(), library.stored()) {
                (true, Some((_, project))) => project,
                _ => library.name.as_str(),
            };
            let winner = catalog.library(name);
            match winner.filter(|winner| !winner.is_project() && !library.is_project()) {
                None => catalog.libraries.push(library),
                Some(winner) => {
                    if is_offered(&library) || is_offered(winner) {
                        let problem = taken(&library, winner);
                        catalog.problems.push(problem);
                    }
                    if is_offered(&library) {
                        catalog.shadowed.push(library);
                    }
                }
            }
        }
        // The sort is stable: otherwise the order stays.
        catalog
            .libraries
            .sort_by_key(|library| !is_offered(library));
        catalog.offered = catalog
            .libraries
            .partition_point(|library| is_offered(library));
        catalog.listed = catalog.index();
        catalog.drop_shadowed_prompts();
        catalog.warn_about_collisions();
        catalog.by_name = catalog
            .listed
            .iter()
            .map(|place| (catalog.at(*place).prompt.full_name.clone(), *place))
            .collect();
        let mut problems = std::mem::take(&mut catalog.problems);
        catalog.documents = DocumentIndex::new(&catalog, &mut problems);
        catalog.skills = SkillIndex::new(&catalog, &mut problems);
        catalog.problems = problems;
        catalog.fingerprint = fingerprint(&catalog.libraries);
        catalog
    }

    /// The libraries that are offered, each at least in part.
    pub fn libraries(&self) -> &[Arc<Library>] {
        &self.libraries[..self.offered]
    }

    /// Every library that this was built from, most important first, whether it is offered or not.
    pub fn sources(&self) -> impl Iterator<Item = &Arc<Library>> {
        self.libraries.iter().chain(&self.shadowed)
    }

    /// What the user says about lists.
    pub fn listing(&self) -> &ListingSettings {
        &self.listing
    }

    /// The prompts of a library that are offered, and those of them that cannot be served.
    pub fn prompts_of<'l>(&self, library: &'l Library) -> impl Iterator<Item = &'l Arc<Prompt>> {
        let is_whole = self.is_whole(library);
        let prompts = library.prompts.iter();
        prompts.filter(move |prompt| is_whole || self.filter.names_prompt(library, prompt))
    }

    /// True if a library is offered as a whole, with its documents.
    pub fn is_whole(&self, library: &Library) -> bool {
        self.filter.part(library) == OfferedPart::Whole
    }

    /// What the catalog offers.
    pub fn filter(&self) -> &CatalogFilter {
        &self.filter
    }

    /// The names in the filter that match nothing.
    pub fn unmatched(&self) -> impl Iterator<Item = &str> {
        let all = || self.libraries.iter().chain(&self.shadowed);
        let names = self.filter.names();
        names.filter(move |name| !all().any(|library| matches_library(library, name)))
    }

    /// True if a problem is about what is offered.
    pub fn concerns(&self, problem: &Problem) -> bool {
        let is_inside = |path: &str| {
            let offered = self.libraries().iter().chain(&self.shadowed);
            let mut roots = offered.map(|library| Path::new(&*library.root));
            self.filter.has_path(path) || roots.any(|root| Path::new(path).starts_with(root))
        };
        is_inside(&problem.path) || problem.other_library.as_deref().is_some_and(is_inside)
    }

    /// The libraries that are hidden by another one of the same name.
    pub fn shadowed(&self) -> &[Arc<Library>] {
        &self.shadowed
    }

    /// Prompts that are hidden by one of the same full name in a more important library.
    pub fn shadowed_prompts(&self) -> impl Iterator<Item = PromptRef<'_>> {
        self.shadowed_prompts.iter().map(|place| self.at(*place))
    }

    /// Prompts that can be served.
    pub fn len(&self) -> usize {
        self.listed.len()
    }

    /// Whether there is nothing to serve.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The prompts that can be served, sorted by full name, from `offset` on.
    pub fn prompts(&self, offset: usize) -> impl ExactSizeIterator<Item = PromptRef<'_>> {
        let rest = self.listed.get(offset..).unwrap_or_default();
        rest.iter().map(|place| self.at(*place))
    }

    /// True if there are so many prompts that a search is a better start than the list of all.
    pub fn has_many_prompts(&self) -> bool {
        self.listed.len() > MANY_PROMPTS
    }

    /// Finds a prompt by its full name, or by its own name if only one library has it; a version of
    /// a project's prompt by `name@label`.
    pub fn find(&self, name: &str) -> Lookup<'_> {
        if let Some(place) = self.by_name.get(name) {
            return Lookup::Found(self.at(*place));
        }
        let labelled = self.find_labelled(name);
        if let Some(Lookup::Found(_)) = labelled {
            return labelled.unwrap_or(Lookup::Missing);
        }
        // Prompts that cannot be served are few and asked for rarely: they are not in the index.
        let mut matches = self
            .all()
            .filter(|found| *found.prompt.full_name == *name || is_bare(found, name));
        match (matches.next(), matches.next()) {
            (None, _) => match self.find_by_other_name(name) {
                Lookup::Missing => labelled.unwrap_or(Lookup::Missing),
                found => found,
            },
            (Some(found), None) => Lookup::Found(found),
            (Some(first), Some(second)) => {
                let names = [first, second].into_iter().chain(matches);
                Lookup::Ambiguous(names.map(|found| &*found.prompt.full_name).collect())
            }
        }
    }

    /// The version that `name@label` means; `None` if no project's prompt is meant.
    fn find_labelled(&self, name: &str) -> Option<Lookup<'_>> {
        let (name, label) = split_label(name)?;
        let found = self.at(*self.by_name.get(name)?);
        found.library.stored()?;
        let labelled = found.library.labelled_versions(&found.prompt.name);
        let version = labelled.iter().find(|it| *it.label == *label);
        Some(match version {
            Some(version) => Lookup::Found(PromptRef {
                library: found.library,
                prompt: &version.prompt,
            }),
            None => Lookup::NoLabel(MissingLabel {
                name: &found.prompt.full_name,
                label: label.into(),
                labels: labelled.iter().map(|it| &*it.label).collect(),
            }),
        })
    }

    /// Finds a prompt by a name that no list shows: its short form, or the one it had before.
    fn find_by_other_name(&self, name: &str) -> Lookup<'_> {
        let others = self.all().filter(|found| has_other_name(found, name));
        let others: Vec<PromptRef<'_>> = others.collect();
        match &*others {
            [] => Lookup::Missing,
            [found] => Lookup::Found(*found),
            several => {
                let names = several.iter().map(|found| &*found.prompt.full_name);
                Lookup::Ambiguous(names.collect())
            }
        }
    }

    /// Finds a prompt by what a person calls it: as [`Catalog::find`] does, or by its title, or
    /// with a `/` in front.
    pub fn find_by_any_name(&self, name: &str) -> Lookup<'_> {
        for name in [Some(name), name.strip_prefix('/')].into_iter().flatten() {
            match self.find(name) {
                Lookup::Missing => {}
                found => return found,
            }
            let titled: Vec<PromptRef<'_>> = self.titled(name).collect();
            match &*titled {
                [] => {}
                [found] => return Lookup::Found(*found),
                several => {
                    let names = several.iter().map(|found| &*found.prompt.full_name);
                    return Lookup::Ambiguous(names.collect());
                }
            }
        }
        Lookup::Missing
    }

    /// The served prompts with a title, whatever its case.
    fn titled(&self, title: &str) -> impl Iterator<Item = PromptRef<'_>> {
        let title = title.to_lowercase();
        self.prompts(0).filter(move |found| {
            let own = found.prompt.title.as_deref();
            own.is_some_and(|own| own.to_lowercase() == title)
        })
    }

    /// Finds a library by name; projects that are only offered are none.
    pub fn library(&self, name: &str) -> Option<&Arc<Library>> {
        let named = || {
            let libraries = self.libraries.iter();
            libraries.filter(|library| library.name.as_str() == name && !library.is_offered())
        };
        named()
            .find(|library| !library.is_project())
            .or(named().next())
    }

    /// The project of a workspace that is served, if one is.
    pub fn project(&self) -> Option<&Arc<Library>> {
        self.libraries
            .iter()
            .find(|library| library.is_project() && library.stored().is_some())
    }

    /// Names that were likely meant by one that was not found, three at most: first prompts with
    /// that title or with that name in a project, then names that end in it, then similar ones.
    pub fn suggestions(&self, name: &str) -> Vec<String> {
        let name = name.strip_prefix('/').unwrap_or(name);
        let ends = |found: &PromptRef<'_>| {
            let own = found.prompt.name.as_str();
            own.strip_suffix(name)
                .is_some_and(|front| front.ends_with(['-', '_', '.', '/', ':']))
        };
        let is_own = |found: &PromptRef<'_>| found.prompt.name.as_str() == name;
        let full_name = |found: PromptRef<'_>| found.prompt.full_name.to_string();
        let mut likely: Vec<String> = self
            .titled(name)
            .take(MOST_SUGGESTED)
            .map(full_name)
            .collect();
        if !name.is_empty() {
            let own = self.prompts(0).filter(is_own).take(MOST_SUGGESTED);
            let ending = self.prompts(0).filter(ends).take(MOST_SUGGESTED);
            likely.extend(own.chain(ending).map(full_name));
        }
        likely.extend(suggest::near(
            name,
            self.prompts(0).map(|found| &*found.prompt.full_name),
        ));
        let mut suggested: Vec<String> = Vec::new();
        for name in likely {
            if suggested.len() < MOST_SUGGESTED && !suggested.contains(&name) {
                suggested.push(name);
            }
        }
        suggested
    }

    /// Every problem known without reading bodies, library by library.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        let of_libraries = self.libraries().iter().flat_map(|library| {
            let files = self.files_of_others(library);
            let problems = library.problems.iter();
            problems.filter(move |problem| !files.contains(&*problem.path))
        });
        self.problems.iter().chain(of_libraries)
    }

    /// The files of those prompts of a library that are not offered.
    fn files_of_others(&self, library: &Library) -> HashSet<String> {
        if self.is_whole(library) {
            return HashSet::new();
        }
        let files = |is_offered: bool| -> HashSet<String> {
            let named = |prompt: &Prompt| self.filter.names_prompt(library, prompt);
            let prompts = library.prompts.iter();
            let prompts = prompts.filter(|prompt| named(prompt) == is_offered);
            let messages = prompts.flat_map(|prompt| &prompt.messages);
            let files = messages.filter_map(|message| message.content.file());
            files.map(|file| library.path_of(file)).collect()
        };
        &files(false) - &files(true)
    }

    /// A digest of the documents that the catalog was made from.
    pub fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    fn at(&self, place: PromptPosition) -> PromptRef<'_> {
        let library = &self.libraries[place.library as usize];
        PromptRef {
            library,
            prompt: &library.prompts[place.prompt as usize],
        }
    }

    fn all(&self) -> impl Iterator<Item = PromptRef<'_>> {
        self.libraries().iter().flat_map(|library| {
            let prompts = self.prompts_of(library);
            prompts.map(move |prompt| PromptRef { library, prompt })
        })
    }

    /// The places of all prompts that can be served, sorted by full name.
    fn index(&self) -> Vec<PromptPosition> {
        let libraries = self.libraries();
        let mut listed = Vec::with_capacity(libraries.iter().map(|l| l.prompts.len()).sum());
        for (library_at, library) in (0..).zip(libraries) {
            let is_whole = self.is_whole(library);
            for (prompt_at, prompt) in (0..).zip(&library.prompts) {
                let is_offered = is_whole || self.filter.names_prompt(library, prompt);
                if prompt.unavailable.is_none() && is_offered {
                    listed.push(PromptPosition {
                        library: library_at,
                        prompt: prompt_at,
                    });
                }
            }
        }
        let name = |place: &PromptPosition| &*self.at(*place).prompt.full_name;
        listed.sort_by(|one, two| name(one).cmp(name(two)));
        listed
    }

    /// Libraries without a prefix can share a prompt name: the more important library wins.
    fn drop_shadowed_prompts(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let mut kept: Vec<PromptPosition> = Vec::with_capacity(listed.len());
        let mut dropped = Vec::new();
        for place in listed {
            let found = self.at(place);
            let winner = kept.last().map(|last| self.at(*last));
            if let Some(winner) = winner.filter(|w| w.prompt.full_name == found.prompt.full_name) {
                let message = format!(
                    "prompt `{}` is already taken by {}",
                    found.prompt.full_name, winner.library.shown_root
                );
                let root = &found.library.root;
                let problem = Problem::of_file(
                    ProblemCode::ShadowedPrompt,
                    Severity::Warning,
                    root,
                    message,
                );
                let problem = problem.with_help("rename one of the two");
                self.problems.push(problem);
                dropped.push(place);
            } else {
                kept.push(place);
            }
        }
        self.listed = kept;
        self.shadowed_prompts = dropped;
    }

    fn warn_about_collisions(&mut self) {
        // Thousands of names with hardly any collision: compare hashes first, names only if those
        // agree.
        let hash = |place: &PromptPosition| {
            let mut hasher = DefaultHasher::new();
            let name = name_in_ascii(self.at(*place).prompt);
            client_chars(&name).for_each(|c| hasher.write_u8(c as u8));
            hasher.finish()
        };
        let mut hashes: Vec<(u64, PromptPosition)> = self
            .listed
            .iter()
            .map(|place| (hash(place), *place))
            .collect();
        hashes.sort_by_key(|(hash, _)| *hash);
        let pairs = hashes.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let clashes = pairs.filter_map(|pair| self.collision(pair[0].1, pair[1].1));
        let clashes: Vec<Problem> = clashes.collect();
        self.problems.extend(clashes);
    }

    fn collision(&self, one: PromptPosition, two: PromptPosition) -> Option<Problem> {
        let (one, two) = (self.at(one), self.at(two));
        let key = client_key(&name_in_ascii(one.prompt));
        if key != client_key(&name_in_ascii(two.prompt)) {
            return None;
        }
        let message = format!(
            "`{}` and `{}` are one name, `{key}`, in clients that rewrite names",
            one.prompt.full_name, two.prompt.full_name
        );
        let problem = Problem::of_file(
            ProblemCode::NameCollision,
            Severity::Warning,
            &two.library.root,
            message,
        );
        Some(problem.with_help("rename one of the two prompts"))
    }
}

/// The most names that are suggested for one that was not found.
const MOST_SUGGESTED: usize = 3;

/// More prompts than this are many.
const MANY_PROMPTS: usize = 50;

/// Whether a prompt has this name in its library, where a bare name is enough.
fn is_bare(found: &PromptRef<'_>, name: &str) -> bool {
    found.prompt.name.as_str() == name && !found.library.is_offered()
}

/// Whether this is a prompt's short form or an old name of it, with its library's name or without.
fn has_other_name(found: &PromptRef<'_>, name: &str) -> bool {
    let (library, prompt) = (found.library, found.prompt);
    if library.old_names.is_empty() && prompt.name.as_str().is_ascii() {
        return false;
    }
    let own = match name.strip_prefix(prompt.prefix()) {
        Some(own) => own,
        None if library.is_offered() => return false,
        None => name,
    };
    library.old_names.get(own) == Some(&prompt.name)
        || short_form(prompt.name.as_str()).is_some_and(|short| short == own)
}

/// The full name, or its short form for clients that replace letters outside ASCII.
fn name_in_ascii(prompt: &Prompt) -> Cow<'_, str> {
    match prompt.short_full_name() {
        Some(short) => Cow::Owned(short),
        None => Cow::Borrowed(&prompt.full_name),
    }
}

fn taken(library: &Library, winner: &Library) -> Problem {
    if let (true, Some((_, project))) = (library.is_offered(), library.stored()) {
        let message = format!(
            "the prompts of project `{project}` are hidden by the library `{}` in {}",
            winner.name, winner.shown_root
        );
        let (code, severity) = (ProblemCode::DuplicateLibrary, Severity::Warning);
        let problem = Problem::of_file(code, severity, &library.root, message);
        return problem.with_help(format!(
            "rename one of the two, or use the project with `--project {project}`"
        ));
    }
    let message = format!(
        "library `{}` is already taken by {}",
        library.name, winner.shown_root
    );
    let help = format!(
        "rename one of the folders: {} is not served",
        library.shown_root
    );
    let (code, severity) = (ProblemCode::DuplicateLibrary, Severity::Error);
    Problem {
        other_library: Some(winner.root.clone()),
        ..Problem::of_file(code, severity, &library.root, message).with_help(help)
    }
}

fn fingerprint(libraries: &[Arc<Library>]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for library in libraries {
        hash.update((library.name.as_str().len() as u64).to_le_bytes());
        hash.update(library.name.as_str());
        hash.update(library.state.to_le_bytes());
    }
    hash.finalize().into()
}
