//! The page without any data: it is public, and the same for everyone.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::assets::{EDITOR, SCRIPT, STYLE};

/// A twig of three strokes; the leaf shows when something changed.
const MARK: &str = r#"<svg class="mark" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"><path d="M12 21V6"/><path d="M12 15c-3.4-.4-5.6-2.4-6.2-6"/><path d="M12 11c2.8-.3 4.8-2 5.4-5"/><path class="leaf" d="M17.4 6c1.6-2.2 3.2-3 4.8-3 .2 2.2-1.4 4.2-4.8 3z" fill="currentColor" stroke="none"/></svg>"#;

/// The document that every address of the page answers with.
pub fn shell() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                meta name="twig-editor" content=(EDITOR);
                title { "Twig" }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(STYLE);
                script type="module" src=(SCRIPT) {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header.bar {
                    a.home href="/" aria-label="Twig: library" { (PreEscaped(MARK)) span { "twig" } }
                    form #search.search role="search" {
                        label.sr for="query" { "Search prompts and documents" }
                        input #query type="search" autocomplete="off" spellcheck="false"
                            enterkeyhint="search" placeholder="Search prompts and documents";
                        kbd aria-hidden="true" { "/" }
                    }
                    nav.screens aria-label="Screens" {
                        a href="/" data-screen="library" { "Library" }
                        a href="/problems" data-screen="problems" { "Problems" span #problem-count {} }
                        a href="/sources" data-screen="sources" { "Sources" }
                        a href="/connect" data-screen="connect" { "Connect" }
                    }
                    div.tools {
                        button #palette-button.quiet type="button" aria-haspopup="dialog" { kbd { "⌘ K" } span.sr { "Find or do anything" } }
                        span #live.live data-state="off" { span.dot aria-hidden="true" {} span.word { "offline" } }
                        button #keys-button.quiet type="button" aria-haspopup="dialog" { span aria-hidden="true" { "?" } span.sr { "Keys" } }
                    }
                }
                main #main tabindex="-1" {}
                div #said.sr role="status" aria-live="polite" {}
                noscript { p.blank { "The page of Twig needs JavaScript; `twig list` and `twig render` show the same in a terminal." } }
            }
        }
    }
}
