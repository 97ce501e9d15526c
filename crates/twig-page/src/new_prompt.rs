//! The form of a new prompt in a project.

use maud::{Markup, html};

use crate::visible::sentence;

/// A project in which a prompt can be made.
#[derive(Debug, Clone, Copy)]
pub struct ProjectChoice<'v> {
    /// The workspace that it is in.
    pub workspace: &'v str,
    /// Its name.
    pub project: &'v str,
}

/// The screen of a new prompt. `why` says why nothing can be made.
pub fn new_prompt(projects: &[ProjectChoice<'_>], chosen: &str, why: Option<&str>) -> Markup {
    html! {
        div.page.new {
            header.title {
                p.crumbs { a href="/" { "Library" } }
                h1 { "New prompt" }
                p.lead { "A prompt in a project: it is served as it is written, and every change makes a version." }
            }
            @if let Some(why) = why {
                p.failure role="alert" { (sentence(why)) }
            } @else if projects.is_empty() {
                p { "There is no project in which you may write. Make one in a terminal:" }
                ul.commands { li { code { "twig project create NAME" } } }
            } @else {
                form #new-prompt {
                    div.field {
                        label for="new-project" { "Project" }
                        select #new-project name="project" required {
                            @for it in projects {
                                option value=(format!("{}/{}", it.workspace, it.project))
                                    selected[it.project == chosen] { (it.project) " in " (it.workspace) }
                            }
                        }
                    }
                    div.field {
                        label for="new-name" { "Name" }
                        input #new-name name="name" required maxlength="128" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="new-name-help";
                        p.help #new-name-help { "Clients show it, such as in a menu: " code { "code-review" } }
                    }
                    div.field {
                        label for="new-description" { "Description " span.required { "optional" } }
                        input #new-description name="description" maxlength="2000" autocomplete="off";
                    }
                    div.field {
                        label for="new-text" { "Text" }
                        textarea #new-text name="text" required rows="10" spellcheck="true" {}
                    }
                    p.failure #new-failure role="alert" hidden {}
                    button.button.primary { "Make it" }
                }
            }
        }
    }
}
