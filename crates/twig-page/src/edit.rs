//! The editor: a text, what is wrong with it, and what the model would get of it.

use maud::{Markup, html};
use twig_core::front_matter;

use crate::link;
use crate::markdown::markdown;
use crate::visible::{label, sentence};

/// What the screen of the editor shows.
#[derive(Debug)]
pub struct EditView<'v> {
    /// The name of the item.
    pub name: &'v str,
    /// Where it is, in words.
    pub place: Option<&'v str>,
    /// The library that it is in.
    pub library: Option<&'v str>,
    /// The full name of the prompt, if it is one.
    pub prompt: Option<&'v str>,
    /// The URI of the document, if it is one.
    pub document: Option<&'v str>,
    /// How requests name it, as JSON.
    pub item: &'v str,
    /// The text, or why it cannot be edited.
    pub text: Result<EditedText<'v>, &'v str>,
    /// How it is coloured.
    pub language: &'v str,
    /// The line at which the cursor begins.
    pub line: Option<u32>,
    /// True if a save makes another version in a project.
    pub is_stored: bool,
    /// What to know before it is saved.
    pub note: Option<&'v str>,
}

/// A text that can be edited.
#[derive(Debug, Clone, Copy)]
pub struct EditedText<'v> {
    /// The text.
    pub text: &'v str,
    /// The digest of what it was read from.
    pub digest: &'v str,
}

/// A document that is not saved, as it reads.
pub fn draft(text: &str) -> Markup {
    html! { div.document { (markdown(front_matter::split(text).body)) } }
}

/// The screen of the editor.
pub fn edit(view: &EditView<'_>) -> Markup {
    let back = match (view.prompt, view.document) {
        (Some(name), _) => link::prompt(name),
        (None, Some(uri)) => link::document(uri),
        (None, None) => format!(
            "/?library={}",
            link::escaped(view.library.unwrap_or_default())
        ),
    };
    let has_preview = view.prompt.is_some() || view.document.is_some();
    html! {
        div.edit data-item=(view.item) data-name=[view.prompt] data-digest=[view.text.as_ref().ok().map(|it| it.digest)] data-line=[view.line] {
            header.title {
                p.crumbs {
                    a href="/" { "Library" }
                    @if let Some(library) = view.library {
                        " / "
                        a href=(format!("/?library={}", link::escaped(library))) { (library) }
                    }
                    " / "
                    a href=(back) { (label(view.name)) }
                }
                div.head {
                    h1.mono { (label(view.name)) }
                    @if view.text.is_ok() {
                        div.actions {
                            span.faint #kept role="status" {}
                            details.menu #more {
                                summary.button { "More" }
                                div.items {
                                    button type="button" data-edit="undo" disabled { "Undo the last save" }
                                    button type="button" data-edit="plain" { "Plain text field" span.faint #plain-state {} }
                                    @if view.is_stored {
                                        button type="button" data-edit="delete" { "Delete…" }
                                    }
                                }
                            }
                            a.button data-back href=(back) { "Back" }
                            button.button.primary #save type="button" disabled { "Review and save" kbd aria-hidden="true" { "⌘ S" } }
                        }
                    }
                }
                @if let Some(place) = view.place { p.facts { span.mono { (label(place)) } } }
            }
            @match &view.text {
                Err(why) => {
                    div.notice.warning {
                        p role="alert" { (sentence(why)) }
                        a.button data-back href=(back) { "Back" }
                    }
                }
                Ok(text) => {
                    @if let Some(note) = view.note { div.notice.warning { p { (sentence(note)) } } }
                    div #drafted.notice hidden {
                        p { "A draft of this text was kept " span {} "." }
                        div.choices-of {
                            button.button type="button" { "Go on with it" }
                            button.quiet type="button" { "Discard it" }
                        }
                    }
                    div #conflict.notice.warning role="alert" hidden {
                        p #conflict-text { "This text changed on disk." }
                        div.choices-of {
                            button.button type="button" data-edit="compare" { "Compare" }
                            button.button type="button" data-edit="theirs" { "Take theirs" }
                            button.button type="button" data-edit="mine" { "Keep mine…" }
                        }
                    }
                    div.editing.alone[!has_preview] {
                        section.writing aria-label="Text" {
                            label.sr for="text" { "Text of " (label(view.name)) }
                            twig-editor data-language=(view.language) {
                                // A browser drops the first line end of a text area.
                                textarea #text spellcheck="false" autocapitalize="off" autocomplete="off" { "\n" (text.text) }
                            }
                        }
                        div.beside {
                            @if has_preview {
                                section aria-label="Preview" {
                                    h2 { @if view.prompt.is_some() { "With the last values" } @else { "As it reads" } }
                                    div.preview #preview aria-live="off" {}
                                }
                            }
                            section aria-label="Problems" {
                                h2 { "Problems" span.count #found-count {} }
                                ul.found #found {}
                            }
                        }
                    }
                }
            }
        }
    }
}
