//! Packages: what is locked, what an update would change, and whether clients reach Twig, as the
//! commands of this program print it.

use maud::{Markup, html};
use serde::Deserialize;
use twig_core::{Catalog, LibraryPackage};

use crate::history::command_to_copy;
use crate::visible::{label, sentence};

/// What an update of a package would change.
#[derive(Debug, Deserialize)]
pub struct PackageUpdate {
    name: String,
    from: PackageUpdateVersion,
    to: PackageUpdateVersion,
    changes: PackageUpdateChanges,
}

#[derive(Debug, Deserialize)]
struct PackageUpdateVersion {
    #[serde(rename = "ref")]
    reference: Option<String>,
    commit: Option<String>,
    tree: String,
}

#[derive(Debug, Deserialize)]
struct PackageUpdateChanges {
    added: Vec<PackageUpdateItem>,
    removed: Vec<PackageUpdateItem>,
    renamed: Vec<PackageUpdateRename>,
    changed: Vec<PackageUpdateItem>,
    capabilities: Vec<PackageUpdateCapability>,
}

#[derive(Debug, Deserialize)]
struct PackageUpdateItem {
    kind: String,
    path: String,
}

#[derive(Debug, Deserialize)]
struct PackageUpdateRename {
    kind: String,
    from: String,
    to: String,
}

#[derive(Debug, Deserialize)]
struct PackageUpdateCapability {
    kind: String,
    name: String,
    path: String,
}

/// Whether a client reaches Twig.
#[derive(Debug, Deserialize)]
pub struct ReachedClient {
    client: String,
    scope: String,
    state: String,
    prompts: Option<usize>,
    problem: Option<String>,
}

/// Whether the files of a package are those of the lock, and who signed them.
#[derive(Debug, Deserialize)]
pub struct PackageCheck {
    name: String,
    files: usize,
    unchanged: bool,
    pinned: bool,
    signatures: Vec<CheckedSignature>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CheckedSignature {
    state: String,
}

/// The most lines of one update.
const LINES: usize = 100;

impl PackageUpdateVersion {
    fn shown(&self) -> String {
        let short = |text: &str| text.chars().take(10).collect::<String>();
        match (&self.reference, &self.commit) {
            (Some(reference), Some(commit)) => format!("{reference} ({})", short(commit)),
            (Some(one), None) | (None, Some(one)) => short(one),
            (None, None) => short(self.tree.trim_start_matches("sha256:")),
        }
    }
}

/// The packages that are served; `is_owner` is true for a visitor who may ask for more about them.
pub(crate) fn packages(catalog: &Catalog, is_owner: bool) -> Markup {
    let mut found: Vec<&LibraryPackage> = Vec::new();
    for library in catalog.libraries() {
        if let Some(package) = &library.package
            && !found.iter().any(|known| known.name == package.name)
        {
            found.push(package);
        }
    }
    html! {
        @if !found.is_empty() {
            section.packages aria-label="Packages" {
                div.head {
                    h2.minor { "Packages" }
                    @if is_owner {
                        div.actions {
                            button.quiet type="button" data-asked="verify" data-into="asked" { "Verify" }
                            button.button type="button" data-asked="updates" data-into="asked" { "Look for updates" }
                        }
                    }
                }
                div.asked #asked aria-live="polite" {}
                ul.sources { @for package in found { (locked(package)) } }
            }
        }
    }
}

fn locked(package: &LibraryPackage) -> Markup {
    html! {
        li.source data-key=(format!("package:{}", package.name)) {
            p.name { span.mono { (package.name.as_str()) } span.kind { (label(&package.version())) } }
            p.facts {
                span.mono { (label(&package.source)) }
                span { "locked as " span.mono title=(package.tree) { (package.tree.chars().take(19).collect::<String>()) "…" } }
                @if !package.only.is_empty() { span { "only " (label(&package.only.join(", "))) } }
                @if !package.left_out.is_empty() { span { (package.left_out.len()) " prompts left out" } }
            }
        }
    }
}

/// What updates would change.
pub fn updates(updates: &[PackageUpdate]) -> Markup {
    html! {
        @if updates.is_empty() { p { "Every package is the newest version." } }
        @for update in updates {
            article.update {
                h3 { span.mono { (label(&update.name)) } " " (label(&update.from.shown())) " → " (label(&update.to.shown())) }
                ul {
                    @for it in update.changes.capabilities.iter().take(LINES) {
                        li.new { "! now " (label(&it.kind)) " " code { (label(&it.name)) } " in " span.mono { (label(&it.path)) } }
                    }
                    @for it in update.changes.added.iter().take(LINES) { li { "+ " (label(&it.kind)) " " span.mono { (label(&it.path)) } } }
                    @for it in update.changes.removed.iter().take(LINES) { li { "− " (label(&it.kind)) " " span.mono { (label(&it.path)) } } }
                    @for it in update.changes.renamed.iter().take(LINES) { li { "→ " (label(&it.kind)) " " span.mono { (label(&it.from)) } " becomes " span.mono { (label(&it.to)) } } }
                    @for it in update.changes.changed.iter().take(LINES) { li { "~ " (label(&it.kind)) " " span.mono { (label(&it.path)) } } }
                }
                (command_to_copy(&format!("twig update {}", update.name)))
            }
        }
    }
}

/// Whether clients reach Twig.
pub fn reached(clients: &[ReachedClient]) -> Markup {
    html! {
        @if clients.is_empty() { p { "No client has Twig yet." } }
        ul.sources {
            @for client in clients {
                li.source {
                    p.name {
                        span { (label(&client.client)) } span.kind { (label(&client.scope)) }
                        span.state.good[client.state == "reached"].bad[client.state == "broken"] {
                            span.dot aria-hidden="true" {}
                            @match client.state.as_str() { "reached" => "reaches Twig", "broken" => "does not reach Twig", _ => "not asked" }
                        }
                    }
                    p.facts {
                        @if let Some(prompts) = client.prompts { span { (prompts) " prompts" } }
                        @if let Some(problem) = &client.problem { span { (sentence(problem)) } }
                    }
                }
            }
        }
    }
}

/// Whether the files of packages are those of the lock, and signed.
pub fn verified(packages: &[PackageCheck]) -> Markup {
    html! {
        ul.sources {
            @for package in packages {
                @let good = package.signatures.iter().filter(|it| it.state == "verified").count();
                @let failed = package.signatures.iter().filter(|it| it.state == "failed").count();
                li.source {
                    p.name {
                        span.mono { (label(&package.name)) }
                        span.state.good[package.unchanged].bad[!package.unchanged] {
                            span.dot aria-hidden="true" {}
                            @if package.unchanged { (package.files) " files, all as they were locked" } @else { "differs from the lock" }
                        }
                    }
                    p.facts {
                        @if failed > 0 { span.state.bad { (failed) " signatures failed" } }
                        @if good > 0 { span { "signed with a key that you pinned" } }
                        @else if package.pinned { span { "not signed, though a key is pinned" } }
                        @else { span { "no key is pinned for its source" } }
                        @if let Some(error) = &package.error { span { (sentence(error)) } }
                    }
                }
            }
        }
    }
}
