//! A prompt or document beside the list, on windows that are wide enough.

use maud::{Markup, html};

use crate::document::DocumentView;
use crate::link;
use crate::prompt::{PromptView, texts};
use crate::visible::label;

/// What is shown beside the list: a prompt as it was written.
pub fn peek(view: &PromptView<'_>) -> Markup {
    let prompt = view.found.prompt;
    html! {
        header {
            h2.mono { (prompt.name.as_str()) }
            @if let Some(about) = prompt.description.as_deref().or(prompt.title.as_deref()) { p.faint { (label(about)) } }
            @if !prompt.arguments.is_empty() {
                ul.arguments {
                    @for argument in &*prompt.arguments {
                        li { span.mono { (argument.name) } @if argument.required { span.required { " required" } } }
                    }
                }
            }
            a.button href=(link::prompt(&prompt.full_name)) { "Open" }
        }
        div.source-text { (texts(view)) }
    }
}

/// The same for a document.
pub fn peek_document(view: &DocumentView<'_>) -> Markup {
    let document = view.found.document;
    html! {
        header {
            h2 { (label(document.shown_title())) }
            @if let Some(about) = &document.description { p.faint { (label(about)) } }
            a.button href=(link::document(&document.uri)) { "Open" }
        }
        (crate::document::body(view))
    }
}
