//! A document, rendered if it is Markdown, and the files of its skill.

use maud::{Markup, html};
use twig_core::{Catalog, Contents, DocumentRef, Library, Lookup, Skill, front_matter};

use crate::library::skill_of;
use crate::link;
use crate::markdown::markdown;
use crate::media::{IMAGES, image};
use crate::messages::size_of;
use crate::visible::{label, visible};

/// What the screen of a document shows.
#[derive(Debug)]
pub struct DocumentView<'v> {
    /// What else is there.
    pub catalog: &'v Catalog,
    /// The document.
    pub found: DocumentRef<'v>,
    /// What it holds, or why that cannot be read.
    pub contents: Result<&'v Contents, &'v str>,
    /// True to show a rendered document as it was written.
    pub is_raw: bool,
    /// True if the viewer can edit it.
    pub is_edited: bool,
    /// True if paths of this machine mean something to the viewer.
    pub with_paths: bool,
}

/// The most bytes of a text that are shown.
const SHOWN: usize = 256 * 1024;

/// The screen of a document.
pub fn document(view: &DocumentView<'_>) -> Markup {
    let (document, library) = (view.found.document, view.found.library);
    let can_be_raw = document.mime == "text/markdown" && view.contents.is_ok();
    let skill = skill_around(view);
    html! {
        div.page.reading data-uri=(document.uri) {
            header.title {
                p.crumbs {
                    a href="/" { "Library" }
                    " / "
                    a href=(format!("/?library={}", link::escaped(library.name.as_str()))) { (library.name.as_str()) }
                }
                div.head {
                    h1 { (label(document.shown_title())) }
                    div.actions {
                        @if can_be_raw {
                            a.button href=(if view.is_raw { "?" } else { "?raw=1" }) { @if view.is_raw { "Rendered" } @else { "As written" } }
                        }
                        @if view.is_edited {
                            a.button data-to="edit" href=(link::edit_document(&document.uri)) { "Edit" }
                        }
                        @if library.stored().is_some() || view.with_paths {
                            a.button data-to="history" href=(format!("{}/history", link::document(&document.uri))) { "History" }
                        }
                    }
                }
                p.facts {
                    span.mono { (label(&document.uri)) }
                    span { (document.mime) }
                    span { (size_of(usize::try_from(document.size).unwrap_or(usize::MAX))) }
                }
                @if let Some(description) = &document.description { p.lead.soft { (label(description)) } }
            }
            div.columns {
                @if let Some((name, skill)) = skill {
                    nav.files aria-label="Files of this skill" {
                        h2 { "Files" }
                        ul {
                            @for file in &skill.files {
                                li { a.mono href=(link::skill(name, skill, &file.uri)) aria-current=[(file.uri == document.uri).then_some("page")] {
                                    (label(link::below(skill, &file.uri)))
                                } }
                            }
                        }
                    }
                }
                (body(view))
            }
        }
    }
}

/// What it holds.
pub(crate) fn body(view: &DocumentView<'_>) -> Markup {
    let document = view.found.document;
    let is_markdown = document.mime == "text/markdown" && !view.is_raw;
    html! {
        div.body {
                    @match view.contents {
                        Ok(Contents::Text(text)) if is_markdown => {
                            @let split = front_matter::split(text);
                            @let head = text.len() - split.body.len();
                            @if head > 0 { details.embedded { summary { "front matter" } div.text { (visible(text[..head].trim_end())) } } }
                            div.document { (markdown(without_title(split.body, document.shown_title()))) }
                        }
                        Ok(Contents::Text(text)) => { div.text dir="auto" { (visible(start(text))) } }
                        Ok(Contents::Bytes(_)) if IMAGES.contains(&&*document.mime) => {
                            (image(&format!("uri={}", link::escaped(&document.uri)), &document.mime, document.shown_title()))
                        }
                        Ok(Contents::Bytes(bytes)) => {
                            p.blank { "This document is not text: " (document.mime) ", " (size_of(bytes.len())) "." }
                        }
                        Err(why) => { p.failure role="alert" { (label(why)) } }
                    }
                }
    }
}

/// A text without its first heading, if the screen has that as its title.
fn without_title<'t>(text: &'t str, title: &str) -> &'t str {
    let rest = text.trim_start();
    let (first, more) = rest.split_once('\n').unwrap_or((rest, ""));
    match first.strip_prefix("# ") {
        Some(heading) if heading.trim() == title => more,
        _ => text,
    }
}

/// The skill that a document belongs to, and the name of its prompt.
fn skill_around<'v>(view: &DocumentView<'v>) -> Option<(&'v str, &'v Skill)> {
    let uri = &*view.found.document.uri;
    let mut skills = view.catalog.skills(0);
    let found = skills.find(|it| {
        let folder = it.skill.uri.strip_suffix(link::SKILL_FILE);
        folder.is_some_and(|folder| uri.starts_with(folder))
    })?;
    let library: &Library = found.library;
    let prompts = view.catalog.prompts_of(library);
    let mut prompts = prompts.filter(|prompt| *prompt.name.as_str() == *found.skill.name);
    Some((&prompts.next()?.full_name, found.skill))
}

/// The URI of a file of a skill, by the name of its prompt and its path.
pub fn skill_file(catalog: &Catalog, name: &str, path: &str) -> Option<String> {
    let Lookup::Found(found) = catalog.find(name) else {
        return None;
    };
    let skill = skill_of(found)?;
    let mut files = skill.files.iter().map(|file| &file.uri);
    let found = files.find(|uri| link::below(skill, uri) == path);
    let itself = || (path == link::SKILL_FILE).then_some(&skill.uri);
    found.or_else(itself).map(ToString::to_string)
}

fn start(text: &str) -> &str {
    let mut end = text.len().min(SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
