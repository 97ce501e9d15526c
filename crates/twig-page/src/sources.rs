//! The libraries and where they come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maud::{Markup, html};
use twig_core::problem::SERVED_MEANWHILE;
use twig_core::{Catalog, Library, LibraryOrigin, ProblemCode};

use crate::link;
use crate::packages::packages;
use crate::problems::counts;
use crate::visible::label;

/// A place that was searched, and why nothing of it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSource {
    /// Its path.
    pub path: String,
    /// Why it was searched.
    pub origin: &'static str,
    /// What is wrong with it.
    pub state: String,
}

/// What the screen of all libraries shows.
#[derive(Debug)]
pub struct SourcesView<'v> {
    /// The libraries.
    pub catalog: &'v Catalog,
    /// Places without a library.
    pub places: &'v [ShownSource],
    /// Why the folder of a library is searched, by that folder.
    pub found: &'v BTreeMap<PathBuf, &'static str>,
    /// True if the system reports changes of folders; otherwise the disk is polled.
    pub is_watched: bool,
    /// True for a viewer whose machine this is.
    pub with_paths: bool,
}

/// The screen of all libraries.
pub fn sources(view: &SourcesView<'_>) -> Markup {
    let SourcesView {
        catalog,
        places,
        with_paths,
        ..
    } = *view;
    html! {
        div.page {
            header.title {
                h1 { "Sources" }
                p.lead {
                    @if catalog.libraries().is_empty() { "No library is served." }
                    @else { (counts(&[(catalog.libraries().len(), "library", "libraries")])) ", the most important first." }
                }
            }
            ol.sources {
                @for library in catalog.libraries() { (source(view, library)) }
            }
            (packages(catalog, with_paths))
            @if !places.is_empty() {
                h2.minor { "Searched without a result" }
                ul.sources {
                    @for place in places {
                        li.source {
                            p.name.mono { (label(&place.path)) }
                            p.facts { span { (place.origin) } span { (label(&place.state)) } }
                        }
                    }
                }
            }
            @if !catalog.shadowed().is_empty() && with_paths {
                h2.minor { "Hidden by a library of the same name" }
                ul.sources {
                    @for library in catalog.shadowed() {
                        li.source {
                            p.name.mono { (library.name.as_str()) }
                            p.facts { span.mono { (label(&library.shown_root)) } }
                        }
                    }
                }
            }
        }
    }
}

fn source(view: &SourcesView<'_>, library: &Library) -> Markup {
    let with_paths = view.with_paths;
    let prompts = view.catalog.prompts_of(library);
    let (served, withheld): (Vec<_>, Vec<_>) = prompts.partition(|it| it.unavailable.is_none());
    let counted = counts(&[
        (served.len(), "prompt", "prompts"),
        (library.skills.len(), "skill", "skills"),
        (library.documents.len(), "document", "documents"),
        (withheld.len(), "prompt not served", "prompts not served"),
        (library.problems.len(), "problem", "problems"),
    ]);
    let is_project = library.stored().is_some();
    let found = view.found.get(Path::new(&*library.root));
    let mut limits: Vec<&str> = library
        .problems
        .iter()
        .map(|it| it.code)
        .filter(|it| it.is_limit())
        .map(ProblemCode::as_str)
        .collect();
    limits.sort_unstable();
    limits.dedup();
    html! {
        li.source {
            p.name {
                a.mono href=(format!("/?library={}", link::escaped(library.name.as_str()))) { (library.name.as_str()) }
                span.kind { (library.kind.as_str()) }
                @if let Some(version) = &library.about.version { span.kind { (label(version)) } }
            }
            @if let Some(about) = &library.about.description { p.about { (label(about)) } }
            p.facts {
                span { @if counted.is_empty() { "empty" } @else { (counted) } }
                @if with_paths && !is_project { span.mono { (label(&library.shown_root)) } }
                span { @match found { Some(why) => (why), None => (origin(library)) } }
                @if !is_project { span { @if view.is_watched { "watched" } @else { "polled for changes" } } }
                @if library.runs_functions() { span.tag { "runs programs" } }
            }
            @if let Some(kept) = last_good(view.catalog, library) {
                p.state.warn { span.dot.warning aria-hidden="true" {} (kept) }
            }
            @if !limits.is_empty() {
                p.state.warn {
                    span.dot.warning aria-hidden="true" {}
                    span { "limits reached: " @for (at, code) in limits.iter().enumerate() { @if at > 0 { ", " } code { (code) } } }
                    a href="/problems" { "Problems" }
                }
            }
            @if let Some(package) = &library.package {
                p.facts {
                    span { "package " span.mono { (package.name.as_str()) } }
                    span { "version " span.mono { (label(&package.version())) } }
                    span.mono { (label(&package.source)) }
                }
            }
        }
    }
}

/// Why a library is not served as it is now, if it is not.
fn last_good(catalog: &Catalog, library: &Library) -> Option<&'static str> {
    let is_kept = |help: &str| help.ends_with(SERVED_MEANWHILE);
    let mut problems = library.problems.iter();
    if problems.any(|problem| problem.help.as_deref().is_some_and(is_kept)) {
        return Some("It cannot be read now: its last good version is served");
    }
    let is_stale = library.stored().is_some() && catalog.is_stale();
    is_stale.then_some("Its store does not answer: the last state is served")
}

fn origin(library: &Library) -> String {
    match &library.origin {
        LibraryOrigin::Folder => "folder".to_owned(),
        LibraryOrigin::ProjectFolder => "folder of the project".to_owned(),
        LibraryOrigin::Stored { workspace, .. } | LibraryOrigin::Offered { workspace, .. } => {
            format!("project in workspace {workspace}")
        }
    }
}
