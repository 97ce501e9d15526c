//! Documents on disk: what is read again, what is announced, how fast.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use twig_core::document_cache::DocumentCache;
use twig_core::{Contents, LibraryName, Limits};
use twig_sources::LiveCatalog;
use twig_testkit::figure;

use crate::editors::EDITORS;
use crate::support::{Tree, codes, library, names};

fn tree() -> Tree {
    let tree = Tree::with(&["a"]);
    tree.write("data/lib/docs/x/one.md", "# One\n");
    tree.write("data/lib/docs/two.md", "# Two\n");
    tree
}

fn title(live: &LiveCatalog, uri: &str) -> Option<String> {
    let catalog = live.snapshot();
    let found = catalog.document(uri)?;
    Some(found.document.shown_title().to_owned())
}

fn text(live: &LiveCatalog, uri: &str) -> Option<String> {
    let catalog = live.snapshot();
    let found = catalog.document(uri)?;
    let limit = Limits::default().document;
    let cache = DocumentCache::default();
    let read = cache.read(live, found.library, found.document, limit);
    read.ok()
        .as_deref()
        .and_then(Contents::text)
        .map(str::to_owned)
}

const ONE: &str = "twig://lib/x/one";

#[test]
fn an_edit_publishes_a_catalog_with_the_same_lists() {
    let tree = tree();
    let live = tree.load();
    let before = live.snapshot();
    assert!(!live.refresh().changed);
    assert!(Arc::ptr_eq(&before, &live.snapshot()));
    tree.write("data/lib/docs/x/one.md", "# One\n\nmore\n");
    let refresh = live.refresh();
    assert!(refresh.changed && refresh.contents_changed && !refresh.lists_changed);
    assert_eq!(before.fingerprint(), live.snapshot().fingerprint());
    tree.write("data/lib/docs/x/one.md", "# Another\n");
    let refresh = live.refresh();
    assert!(refresh.contents_changed && refresh.lists_changed);
    assert_ne!(before.fingerprint(), live.snapshot().fingerprint());
    assert_eq!(title(&live, ONE).as_deref(), Some("Another"));
    // The edit of a prompt's text is none of a document's.
    tree.write("data/lib/prompts/a.md", "other\n");
    assert!(!live.refresh().contents_changed);
    assert_eq!(names(&live), ["lib:a"]);
}

#[test]
fn however_a_document_is_saved_it_is_announced() {
    let tree = tree();
    let following = tree.follow();
    for (round, (name, save)) in EDITORS.into_iter().enumerate() {
        let text = format!("# Title {round}\n\n{name}\n");
        save(&tree.path("data/lib/docs/x/one.md"), &text);
        let wanted = format!("Title {round}");
        following.until(name, |live| title(live, ONE).as_deref() == Some(&*wanted));
        assert_eq!(self::text(&following.live, ONE), Some(text));
        following.until("no leftovers", |live| live.snapshot().document_count() == 2);
    }
    assert_eq!(codes(&following.live), [""; 0]);
}

#[test]
fn a_manifest_that_breaks_keeps_the_documents_and_follows_them() {
    let tree = tree();
    let live = tree.load();
    tree.write("data/lib/twig.toml", "[prompts.a\n");
    tree.write("data/lib/docs/three.md", "# Three\n");
    live.refresh();
    assert_eq!(codes(&live), ["manifest-syntax"]);
    assert_eq!(names(&live), ["lib:a"]);
    assert_eq!(title(&live, "twig://lib/three").as_deref(), Some("Three"));
    let name = LibraryName::from_folder("lib").unwrap();
    assert_eq!(library(&live, name.as_str()).documents.len(), 3);
}

#[test]
fn folders_come_and_go_three_hundred_at_a_time() {
    let tree = tree();
    let following = tree.follow();
    for at in 0..300 {
        tree.write(&format!("data/lib/docs/d{at}/e/f.md"), "# New\n");
    }
    following.until("all of them", |live| {
        live.snapshot().document_count() == 302
    });
    fs::remove_dir_all(tree.path("data/lib/docs")).unwrap();
    following.until("none of them", |live| live.snapshot().document_count() == 0);
}

#[test]
fn a_thousand_documents_are_loaded_and_followed_in_no_time() {
    let tree = tree();
    for at in 0..998 {
        let text = format!("# Title {at}\n{}", "text ".repeat(1000));
        tree.write(&format!("data/lib/docs/c{}/{at}.md", at % 20), text);
    }
    let started = Instant::now();
    let live = tree.load();
    let load = started.elapsed();
    assert_eq!(live.snapshot().document_count(), 1_000);
    let started = Instant::now();
    live.refresh();
    let refresh = started.elapsed();
    let following = tree.follow();
    let mut times: Vec<Duration> = (0..15)
        .map(|round| {
            let wanted = format!("Round {round}");
            tree.write("data/lib/docs/x/one.md", format!("# {wanted}\n"));
            following.until("the save", |live| {
                title(live, ONE).as_deref() == Some(&*wanted)
            })
        })
        .collect();
    times.sort();
    let announced = times[times.len() / 2];
    println!("load {load:?}, refresh {refresh:?}, announced after {announced:?}");
    figure("load of a thousand documents", load, Duration::from_secs(2));
    figure(
        "announcement of a document",
        announced,
        Duration::from_millis(500),
    );
}
