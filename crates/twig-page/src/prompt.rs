//! One prompt: its fields, its text, and where it comes from.

use maud::{Markup, html};
use twig_core::{Catalog, LibraryKind, PromptRef};

use crate::form::form;
use crate::library::{is_skill, skill_of};
use crate::link;
use crate::markdown::markdown;
use crate::problems::counts;
use crate::visible::{label, sentence, visible};

/// What the screen of a prompt shows.
#[derive(Debug)]
pub struct PromptView<'v> {
    /// What else is there.
    pub catalog: &'v Catalog,
    /// The prompt.
    pub found: PromptRef<'v>,
    /// The texts of its messages as their author wrote them.
    pub texts: &'v [PromptText],
    /// True if paths of this machine mean something to the viewer.
    pub with_paths: bool,
    /// Why the viewer cannot edit it; `None` if they can.
    pub not_edited: Option<&'v str>,
}

/// The text of a message as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// The role of the message.
    pub role: &'static str,
    /// The file, from the library's folder.
    pub file: Option<String>,
    /// The text, or why there is none.
    pub text: Result<String, String>,
    /// True if it is a text of the prompt's own.
    pub is_edited: bool,
}

/// The screen of a prompt.
pub fn prompt(view: &PromptView<'_>) -> Markup {
    let (prompt, library) = (view.found.prompt, view.found.library);
    let runs = prompt.function().is_some();
    html! {
        div.prompt data-name=(prompt.full_name) data-runs[runs] {
            header.title {
                p.crumbs {
                    a href="/" { "Library" }
                    " / "
                    a href=(format!("/?library={}", link::escaped(library.name.as_str()))) { (library.name.as_str()) }
                }
                div.head {
                    h1.mono { (prompt.name.as_str()) }
                    div.actions {
                        @if let Some(skill) = skill_of(view.found) {
                            a.button href=(link::skill(&prompt.full_name, skill, &skill.uri)) { "Files" }
                        }
                        @if view.not_edited.is_none() {
                            a.button data-to="edit" href=(link::edit(&prompt.full_name)) { "Edit" }
                        }
                        @if library.stored().is_some() || view.with_paths {
                            a.button data-to="history" href=(format!("{}/history", link::prompt(&prompt.full_name))) { "History" }
                        }
                        details.menu #copy {
                            summary.button { "Copy" }
                            div.items {
                                button type="button" data-copy="text" { "Text" span.faint { "what the model gets" } }
                                button type="button" data-copy="command" { "Command" span.faint { "twig render …" } }
                                button type="button" data-copy="json" { "Request" span.faint { "prompts/get as JSON" } }
                                button type="button" data-copy="line" { "Line" span.faint { "to type in your client" } }
                                button type="button" data-copy="link" { "Link" span.faint { "this page with its values" } }
                            }
                        }
                    }
                }
                @if let Some(title) = &prompt.title { p.lead { (label(title)) } }
                @if let Some(description) = &prompt.description { p.lead.soft { (label(description)) } }
            }
            div.tabs role="tablist" aria-label="Views of this prompt" {
                (tab("try", "Try", true))
                (tab("text", "Text", false))
                (tab("where", "Where", false))
            }
            div.try #panel-try role="tabpanel" aria-labelledby="tab-try" {
                section.inputs aria-label="Arguments" {
                    h2 { "Arguments" }
                    (form(&prompt.arguments, |argument| !view.catalog.names_for(prompt, argument).is_empty()))
                }
                section.outputs aria-label="What the model gets" {
                    div.head {
                        h2 { "What the model gets" }
                        span.faint #tokens {}
                    }
                    @if runs {
                        p.run {
                            button.button #run type="button" { "Run the program" }
                            span.faint { " It runs only when you say so." }
                        }
                    }
                    div.preview #preview aria-live="off" {}
                }
                section.client #client aria-label="In your client" hidden {
                    label for="client-name" { "In your client" }
                    select #client-name {}
                    code #client-line tabindex="0" {}
                    button.quiet type="button" data-copy="line" { "Copy" }
                    p.faint #client-note {}
                    details.others #all-clients {
                        summary { "In every client" }
                        ul.lines-of {}
                    }
                }
            }
            div.source-text #panel-text role="tabpanel" aria-labelledby="tab-text" hidden { (texts(view)) }
            div.where #panel-where role="tabpanel" aria-labelledby="tab-where" hidden { (place(view)) }
        }
    }
}

fn tab(id: &str, title: &str, is_on: bool) -> Markup {
    html! {
        button role="tab" type="button" id=(format!("tab-{id}")) aria-controls=(format!("panel-{id}"))
            aria-selected=(if is_on { "true" } else { "false" }) tabindex=(if is_on { "0" } else { "-1" })
            data-tab=(id) { (title) }
    }
}

pub(crate) fn texts(view: &PromptView<'_>) -> Markup {
    let is_document = is_skill(view.found);
    html! {
        @for (at, text) in view.texts.iter().enumerate() {
            article.message data-role=(text.role) {
                h3.role {
                    (text.role)
                    @if view.texts.len() > 1 && text.is_edited && view.not_edited.is_none() {
                        a href=(format!("{}?message={at}", link::edit(&view.found.prompt.full_name))) { "Edit" }
                    }
                    @if let Some(file) = &text.file { span.file.mono { (label(file)) } }
                }
                @match &text.text {
                    Ok(text) if is_document => { div.document { (markdown(without_front_matter(text))) } }
                    Ok(text) => { div.text dir="auto" { (visible(text)) } }
                    Err(why) => { p.failure { (label(why)) } }
                }
            }
        }
    }
}

/// A text without the block between two `---` lines, which the other tab shows in words.
fn without_front_matter(text: &str) -> &str {
    twig_core::front_matter::split(text).body
}

fn place(view: &PromptView<'_>) -> Markup {
    let (prompt, library) = (view.found.prompt, view.found.library);
    let files: Vec<&str> = view
        .texts
        .iter()
        .filter_map(|it| it.file.as_deref())
        .collect();
    let version = prompt.messages.iter().find_map(|it| it.content.stored());
    let skill = skill_of(view.found);
    html! {
        dl.facts {
            dt { "Full name" } dd.mono { (prompt.full_name) }
            dt { "Library" } dd { a.mono href=(format!("/?library={}", link::escaped(library.name.as_str()))) { (library.name.as_str()) } " (" (library.kind.as_str()) ")" }
            @if view.with_paths && library.stored().is_none() {
                dt { "Folder" } dd.mono { (label(&library.shown_root)) }
            }
            @if let Some((workspace, project)) = library.stored() {
                dt { "Project" } dd { span.mono { (project) } " in workspace " span.mono { (workspace) } }
            }
            @if let Some(version) = version { dt { "Version" } dd.mono { (version.number) } }
            @if !files.is_empty() {
                dt { (if files.len() == 1 { "File" } else { "Files" }) }
                dd { @for file in &files { div.mono { (label(file)) } } }
            }
            @if let Some(package) = &library.package {
                dt { "Package" } dd { span.mono { (package.name.as_str()) } " " (label(&package.version())) }
                dt { "Source" } dd.mono { (label(&package.source)) }
            }
            @if let Some(function) = prompt.function() {
                dt { "Program" } dd.mono { (label(function.file().as_str())) }
            }
            @if let Some(why) = view.not_edited { dt { "Editing" } dd { (sentence(why)) } }
            @if view.with_paths && library.kind == LibraryKind::Twig && library.package.is_none() {
                dt { "Manifest" } dd { a.mono href=(link::edit_manifest(library.name.as_str())) { "twig.toml" } }
            }
            @if let Some(license) = &library.about.license { dt { "Licence" } dd { (label(license)) } }
        }
        @if let Some(skill) = skill {
            h2.minor { "Files of this skill: " (counts(&[(skill.files.len(), "file", "files")])) }
            ul.files {
                @for file in &skill.files {
                    li { a.mono href=(link::skill(&prompt.full_name, skill, &file.uri)) { (label(link::below(skill, &file.uri))) }
                        span.faint { " " (crate::messages::size_of(usize::try_from(file.size).unwrap_or(usize::MAX))) } }
                }
            }
        }
    }
}
