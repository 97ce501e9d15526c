//! The list of prompts and documents with its filters.

use std::collections::{BTreeMap, HashMap, HashSet};

use maud::{Markup, html};
use twig_core::search::{Hit, SearchTarget};
use twig_core::store::Timestamp;
use twig_core::{
    Catalog, DocumentRef, Library, LibraryKind, Lookup, PromptRef, Severity, Skill, VersionAuthor,
};

use crate::link;
use crate::problems::counts;
use crate::visible::{label, sentence};

/// What to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// The words that were typed.
    pub text: String,
    /// The one library to list.
    pub library: Option<String>,
    /// What to list of it.
    pub kind: ListKind,
    /// True to list only prompts that take arguments.
    pub takes_arguments: bool,
    /// True to list only prompts with problems.
    pub has_problems: bool,
    /// How many rows are there already.
    pub after: usize,
    /// How many rows are wanted, if more than usual: somebody comes back to a long list.
    pub rows: usize,
}

/// Prompts, documents or both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListKind {
    /// Everything.
    #[default]
    All,
    /// Prompts that are no skills.
    Prompts,
    /// Skills.
    Skills,
    /// Documents that are no files of skills.
    Documents,
}

impl ListKind {
    /// Reads the word for it in addresses.
    pub fn parse(word: &str) -> Self {
        match word {
            "prompts" => Self::Prompts,
            "skills" => Self::Skills,
            "documents" => Self::Documents,
            _ => Self::All,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Prompts => "prompts",
            Self::Skills => "skills",
            Self::Documents => "documents",
        }
    }
}

/// Rows in one answer.
const ROWS: usize = 100;
/// The most rows in one answer; further ones are asked for.
const MOST_ROWS: usize = 1_000;

/// A row before it is written.
#[derive(Clone, Copy)]
pub(crate) enum ListEntry<'c> {
    Prompt(PromptRef<'c>),
    Document(DocumentRef<'c>),
}

/// Files with problems by their whole paths, each with its worst one.
pub type TroubledFiles = BTreeMap<Box<str>, Severity>;

/// The whole screen. `hits` are what the search index found, the best first, or why the search
/// failed; `troubled` are files with problems, as far as they are known.
pub fn list(
    catalog: &Catalog,
    query: &ListQuery,
    hits: Result<&[Hit], &str>,
    troubled: &TroubledFiles,
) -> Markup {
    let all = everything(catalog);
    html! {
        div.library {
            (rail(catalog, query, &all, troubled))
            section.results aria-label="Prompts and documents" {
                (results(catalog, query, &sound(&all, query, troubled), hits, troubled))
            }
            aside.peek #peek aria-label="The chosen entry" tabindex="0" {
                p.faint { "Point at an entry, or go to it with " kbd { "j" } " and " kbd { "k" } ", to read it here." }
            }
        }
    }
}

/// The entries that a list of problems is about; all of them for any other list.
fn sound<'c>(
    all: &[ListEntry<'c>],
    query: &ListQuery,
    troubled: &TroubledFiles,
) -> Vec<ListEntry<'c>> {
    let all = all.iter().copied();
    all.filter(|entry| !query.has_problems || entry.trouble(troubled).is_some())
        .collect()
}

/// Further rows alone.
pub fn rows(
    catalog: &Catalog,
    query: &ListQuery,
    hits: &[Hit],
    troubled: &TroubledFiles,
) -> Markup {
    let all = sound(&everything(catalog), query, troubled);
    let found = found(catalog, query, &all, hits);
    html! { (shown_rows(&found, query, hits, troubled)) }
}

/// Everything that can be listed: prompts by name, those that are not served among them, then
/// documents by URI.
pub(crate) fn everything(catalog: &Catalog) -> Vec<ListEntry<'_>> {
    let mut prompts: Vec<PromptRef<'_>> = catalog.prompts(0).collect();
    let served = prompts.len();
    for library in catalog.libraries() {
        let own = catalog.prompts_of(library);
        let withheld = own.filter(|it| it.unavailable.is_some());
        prompts.extend(withheld.map(|prompt| PromptRef { library, prompt }));
    }
    if prompts.len() > served {
        prompts.sort_by_key(|found| &*found.prompt.full_name);
    }
    let prompts = prompts.into_iter().map(ListEntry::Prompt);
    // The files of a skill are found on its own screen.
    let documents = catalog
        .documents(0)
        .filter(|it| it.library.skills.is_empty());
    prompts.chain(documents.map(ListEntry::Document)).collect()
}

impl<'c> ListEntry<'c> {
    pub(crate) fn library(&self) -> &'c Library {
        match self {
            Self::Prompt(found) => found.library,
            Self::Document(found) => found.library,
        }
    }

    /// Tells entries apart.
    fn key(&self) -> &'c str {
        match self {
            Self::Prompt(found) => &found.prompt.full_name,
            Self::Document(found) => &found.document.uri,
        }
    }

    /// The worst problem of its files; an error if it is not served.
    fn trouble(&self, troubled: &TroubledFiles) -> Option<Severity> {
        let of = |library: &Library, file: &str| {
            let path = (!troubled.is_empty()).then(|| library.path_of(file))?;
            troubled.get(&*path).copied()
        };
        match self {
            Self::Prompt(found) if found.prompt.unavailable.is_some() => Some(Severity::Error),
            Self::Prompt(found) => {
                let messages = found.prompt.messages.iter();
                let files = messages.filter_map(|message| message.content.file());
                files.filter_map(|it| of(found.library, it.as_str())).min()
            }
            Self::Document(found) => of(found.library, found.document.file()?.as_str()),
        }
    }

    fn kind(&self) -> ListKind {
        match self {
            Self::Prompt(found) if is_skill(*found) => ListKind::Skills,
            Self::Prompt(_) => ListKind::Prompts,
            Self::Document(_) => ListKind::Documents,
        }
    }

    fn is_in(&self, query: &ListQuery) -> bool {
        let is_library = |name: &String| self.library().name.as_str() == name;
        let takes_arguments = match self {
            Self::Prompt(found) => !found.prompt.arguments.is_empty(),
            Self::Document(_) => false,
        };
        query.library.as_ref().is_none_or(is_library)
            && (query.kind == ListKind::All || query.kind == self.kind())
            && (takes_arguments || !query.takes_arguments)
    }

    /// How well the name fits what was typed, the best first; `None` if it does not.
    fn fit(&self, words: &str) -> Option<u8> {
        let (own, whole) = match self {
            Self::Prompt(found) => (found.prompt.name.as_str(), &*found.prompt.full_name),
            Self::Document(found) => (&*found.document.name, &*found.document.uri),
        };
        let (own, whole) = (own.to_lowercase(), whole.to_lowercase());
        if own == words || whole == words {
            return Some(0);
        }
        if own.starts_with(words) || whole.starts_with(words) {
            return Some(1);
        }
        whole.contains(words).then_some(2)
    }
}

/// True if a prompt is made of a `SKILL.md`.
pub(crate) fn is_skill(found: PromptRef<'_>) -> bool {
    found.library.kind == LibraryKind::Skills || skill_of(found).is_some()
}

/// The skill that a prompt is made of.
pub(crate) fn skill_of(found: PromptRef<'_>) -> Option<&Skill> {
    if found.library.skills.is_empty() {
        return None;
    }
    let mut messages = found.prompt.messages.iter();
    let file = messages.find_map(|message| message.content.file())?;
    let documents = &found.library.documents;
    let is_its = |skill: &&std::sync::Arc<Skill>| {
        let at = documents.binary_search_by(|it| it.uri.cmp(&skill.uri));
        at.is_ok_and(|at| documents[at].file() == Some(file))
    };
    // Nearly every skill has the name of its prompt.
    let mut skills = found.library.skills.iter();
    let named = skills.find(|it| *it.name == *found.prompt.name.as_str() && is_its(it));
    named
        .or_else(|| found.library.skills.iter().find(is_its))
        .map(|skill| &**skill)
}

/// What a query finds: first what has the words in its name, then what the index found.
pub(crate) fn found<'c>(
    catalog: &'c Catalog,
    query: &ListQuery,
    all: &[ListEntry<'c>],
    hits: &[Hit],
) -> Vec<ListEntry<'c>> {
    let words = query.text.trim().to_lowercase();
    let inside = all.iter().filter(|entry| entry.is_in(query));
    if words.is_empty() {
        return inside.copied().collect();
    }
    let mut named: Vec<(u8, ListEntry<'c>)> = inside
        .filter_map(|entry| Some((entry.fit(&words)?, *entry)))
        .collect();
    named.sort_by_key(|(fit, _)| *fit);
    let mut found: Vec<ListEntry<'c>> = named.into_iter().map(|(_, entry)| entry).collect();
    let known: HashSet<&str> = found.iter().map(ListEntry::key).collect();
    let more = hits.iter().filter_map(|hit| entry_of(catalog, hit));
    let is_listed = |entry: &ListEntry<'c>| {
        !query.has_problems || all.iter().any(|listed| listed.key() == entry.key())
    };
    let more =
        more.filter(|entry| entry.is_in(query) && !known.contains(entry.key()) && is_listed(entry));
    let more: Vec<ListEntry<'c>> = more.collect();
    found.extend(more);
    found
}

fn entry_of<'c>(catalog: &'c Catalog, hit: &Hit) -> Option<ListEntry<'c>> {
    match &hit.target {
        SearchTarget::Prompt(name) | SearchTarget::Skill(name) => match catalog.find(name) {
            Lookup::Found(found) => Some(ListEntry::Prompt(found)),
            _ => None,
        },
        SearchTarget::Document { uri, .. } => catalog.document(uri).map(ListEntry::Document),
    }
}

fn rail(
    catalog: &Catalog,
    query: &ListQuery,
    all: &[ListEntry<'_>],
    troubled: &TroubledFiles,
) -> Markup {
    let wrong = all.iter().filter_map(|it| it.trouble(troubled));
    let with_problems = wrong.count();
    let mut by_library: HashMap<&str, usize> = HashMap::new();
    let mut by_kind: HashMap<&str, usize> = HashMap::new();
    let mut with_arguments = 0;
    for entry in all {
        *by_library.entry(entry.library().name.as_str()).or_default() += 1;
        *by_kind.entry(entry.kind().as_str()).or_default() += 1;
        if let ListEntry::Prompt(found) = entry {
            with_arguments += usize::from(!found.prompt.arguments.is_empty());
        }
    }
    let facet = |changed: ListQuery, name: &str, count: usize, is_on: bool| {
        html! {
            li { a href=(address(&changed)) aria-current=[is_on.then_some("true")] data-key=(format!("rail:{name}")) {
                span.name { (label(name)) } span.count { (count) }
            } }
        }
    };
    let of_library = |library: Option<&str>| ListQuery {
        library: library.map(str::to_owned),
        after: 0,
        rows: 0,
        ..query.clone()
    };
    let of_kind = |kind: ListKind| ListQuery {
        kind: if query.kind == kind {
            ListKind::All
        } else {
            kind
        },
        after: 0,
        rows: 0,
        ..query.clone()
    };
    let (folders, projects): (Vec<_>, Vec<_>) = catalog
        .libraries()
        .iter()
        .filter(|library| by_library.contains_key(library.name.as_str()))
        .partition(|library| library.stored().is_none());
    let group = |title: &str, libraries: &[&std::sync::Arc<Library>]| {
        html! {
            @if !libraries.is_empty() {
                h2 { (title) }
                ul {
                    @for library in libraries {
                        @let name = library.name.as_str();
                        @let is_on = query.library.as_deref() == Some(name);
                        (facet(of_library(Some(name)), name, by_library.get(name).copied().unwrap_or(0), is_on))
                    }
                }
            }
        }
    };
    let kinds = [
        (ListKind::Prompts, "prompts"),
        (ListKind::Skills, "skills"),
        (ListKind::Documents, "documents"),
    ];
    let mut chosen: Vec<&str> = query.library.as_deref().into_iter().collect();
    chosen.extend((query.kind != ListKind::All).then(|| query.kind.as_str()));
    chosen.extend(query.takes_arguments.then_some("takes arguments"));
    chosen.extend(query.has_problems.then_some("has problems"));
    html! {
        // On narrow windows the rail is a menu.
        button.button #rail-button type="button" aria-expanded="false" aria-controls="rail" {
            span.name { @if chosen.is_empty() { "All libraries" } @else { (label(&chosen.join(", "))) } }
            span.sr { " (change what is listed)" }
        }
        nav.rail #rail aria-label="Libraries and filters" {
            ul { (facet(of_library(None), "All", all.len(), query.library.is_none())) }
            (group("Libraries", &folders))
            (group("Projects", &projects))
            h2 { "Show only" }
            ul {
                @for (kind, name) in kinds {
                    @let count = by_kind.get(kind.as_str()).copied().unwrap_or(0);
                    @if count > 0 { (facet(of_kind(kind), name, count, query.kind == kind)) }
                }
                @if with_arguments > 0 {
                    @let changed = ListQuery { takes_arguments: !query.takes_arguments, after: 0, ..query.clone() };
                    (facet(changed, "takes arguments", with_arguments, query.takes_arguments))
                }
                @if with_problems > 0 || query.has_problems {
                    @let changed = ListQuery { has_problems: !query.has_problems, after: 0, ..query.clone() };
                    (facet(changed, "has problems", with_problems, query.has_problems))
                }
            }
        }
    }
}

/// The address of a list.
fn address(query: &ListQuery) -> String {
    let mut parts = Vec::new();
    let mut part = |key: &str, value: &str| {
        if !value.is_empty() {
            parts.push(format!("{key}={}", link::escaped(value)));
        }
    };
    part("q", query.text.trim());
    part("library", query.library.as_deref().unwrap_or_default());
    part("kind", query.kind.as_str());
    part("arguments", if query.takes_arguments { "1" } else { "" });
    part("problems", if query.has_problems { "1" } else { "" });
    if parts.is_empty() {
        return "/".to_owned();
    }
    format!("/?{}", parts.join("&"))
}

fn results(
    catalog: &Catalog,
    query: &ListQuery,
    all: &[ListEntry<'_>],
    hits: Result<&[Hit], &str>,
    troubled: &TroubledFiles,
) -> Markup {
    let failed = hits.err();
    let hits = hits.unwrap_or_default();
    let found = found(catalog, query, all, hits);
    let prompts = found
        .iter()
        .filter(|it| matches!(it, ListEntry::Prompt(_)))
        .count();
    let words = counts(&[
        (prompts, "prompt", "prompts"),
        (found.len() - prompts, "document", "documents"),
    ]);
    html! {
        h1.sr { "Library" }
        @if all.is_empty() {
            (nothing_yet())
        } @else if found.is_empty() {
            div.blank {
                p.lead { "Nothing found." }
                @if let Some(why) = failed {
                    p role="alert" { (not_searched(why)) }
                } @else {
                    p { "No name, description or text has these words here. " a href="/" { "Show everything" } }
                }
            }
        } @else {
            @if let Some(why) = failed { p.failure role="alert" { (not_searched(why)) } }
            p.sum #sum { (words) @if !query.text.trim().is_empty() { " for “" (label(query.text.trim())) "”" } }
            ul.rows #rows { (shown_rows(&found, query, hits, troubled)) }
        }
    }
}

/// Says that a search failed; names are found all the same.
fn not_searched(why: &str) -> Markup {
    html! { span { "Not everything was searched: " (sentence(why)) "." } }
}

fn nothing_yet() -> Markup {
    html! {
        div.blank {
            p.lead { "There are no prompts yet." }
            p { "Each of these commands fills the page while it is open:" }
            ul.commands {
                @for (command, what) in [
                    ("twig new library my_prompts", "starts a library of your own"),
                    ("twig add github:OWNER/REPOSITORY", "adds a package of prompts and skills"),
                    ("twig import FILE", "imports prompts of other tools"),
                ] {
                    li { code { (command) } span.faint { " " (what) } }
                }
            }
        }
    }
}

fn shown_rows(
    found: &[ListEntry<'_>],
    query: &ListQuery,
    hits: &[Hit],
    troubled: &TroubledFiles,
) -> Markup {
    let snippets: HashMap<&str, &Hit> = hits.iter().map(|hit| (target(hit), hit)).collect();
    let rows = query.rows.clamp(ROWS, MOST_ROWS);
    let next = query.after.saturating_add(rows);
    html! {
        @for entry in found.iter().skip(query.after).take(rows) {
            (row(*entry, snippets.get(entry.key()).copied(), troubled))
        }
        @if next < found.len() {
            li.more data-next=(next) { a href=(address(query)) { "More" } }
        }
    }
}

fn target(hit: &Hit) -> &str {
    match &hit.target {
        SearchTarget::Prompt(name) | SearchTarget::Skill(name) => name,
        SearchTarget::Document { uri, .. } => uri,
    }
}

fn row(entry: ListEntry<'_>, hit: Option<&Hit>, troubled: &TroubledFiles) -> Markup {
    let hit = hit.filter(|hit| !hit.snippet.is_empty());
    let trouble = entry.trouble(troubled).map(mark);
    match entry {
        ListEntry::Prompt(found) => {
            let prompt = found.prompt;
            let about = prompt.description.as_deref().or(prompt.title.as_deref());
            let skill = skill_of(found);
            let version = prompt.messages.iter().find_map(|it| it.content.stored());
            html! {
                li data-key=(format!("p:{}", prompt.full_name)) {
                    a.row href=(link::prompt(&prompt.full_name)) {
                        span.name.mono { (prompt.name.as_str()) }
                        @match &prompt.unavailable {
                            Some(why) => { span.about.withheld { b { "not served" } " " (sentence(why)) } }
                            None => (about_row(about, hit)),
                        }
                        span.meta {
                            @if let Some(skill) = skill {
                                span { "skill · " (counts(&[(skill.files.len(), "file", "files")])) }
                            } @else if is_skill(found) { span { "skill" } }
                            @if prompt.function().is_some() { span { "program" } }
                            @if let Some(version) = version { span.mono { "v" (version.number) } }
                            @if let Some(written) = &prompt.written { (author(written)) }
                            @if !prompt.arguments.is_empty() && !is_skill(found) {
                                span.count title=(counts(&[(prompt.arguments.len(), "argument", "arguments")])) {
                                    "⟨" (prompt.arguments.len()) "⟩"
                                }
                            }
                            @if let Some(mark) = trouble { (mark) }
                        }
                        span.library { (found.library.name.as_str()) }
                    }
                }
            }
        }
        ListEntry::Document(found) => {
            let document = found.document;
            let about = document
                .description
                .as_deref()
                .or(document.title.as_deref());
            html! {
                li data-key=(format!("d:{}", document.uri)) {
                    a.row href=(link::document(&document.uri)) {
                        span.name.mono { (label(&document.name)) }
                        (about_row(about, hit))
                        span.meta { span { "document" } @if let Some(mark) = trouble { (mark) } }
                        span.library { (found.library.name.as_str()) }
                    }
                }
            }
        }
    }
}

/// What an entry is for, or the text in which words were found, with those marked.
fn about_row(about: Option<&str>, hit: Option<&Hit>) -> Markup {
    let Some(hit) = hit else {
        return html! { span.about { (label(about.unwrap_or_default())) } };
    };
    let mut end = 0;
    html! {
        span.about {
            @for found in &hit.matches {
                @let start = std::mem::replace(&mut end, found.end);
                (label(&hit.snippet[start..found.start]))
                mark { (label(&hit.snippet[found.clone()])) }
            }
            (label(&hit.snippet[end..]))
        }
    }
}

/// Says that something is wrong with an entry. It has no text, so a row that gets it is no news.
fn mark(severity: Severity) -> Markup {
    let words = match severity {
        Severity::Error => "has errors",
        _ => "has warnings",
    };
    html! { span.dot.(severity.as_str()) role="img" aria-label=(words) title=(words) {} }
}

/// Who wrote a version, and when; its age is filled in by the script.
fn author(written: &VersionAuthor) -> Markup {
    let at = Timestamp(written.at).to_string();
    html! {
        span.who { (label(&written.author)) }
        time.age datetime=(at) title=(at) {}
    }
}
