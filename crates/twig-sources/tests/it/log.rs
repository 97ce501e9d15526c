//! Problems are in the log once, when they turn up.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;

use twig_core::LibraryKind;
use twig_sources::{LiveCatalog, Settings};

use crate::support::{LONG, Tree, codes, names};

/// What all tests logged; each looks for its own folder.
static LOG: LazyLock<Arc<Mutex<Vec<u8>>>> = LazyLock::new(|| {
    let log = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&log);
    tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .with_writer(move || Writer(Arc::clone(&writer)))
        .init();
    log
});

struct Writer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines about a tree, without its own path.
fn lines(tree: &Tree) -> Vec<String> {
    let log = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
    let own = tree.path("");
    let own = own.to_str().unwrap();
    let lines = log.lines().filter(|line| line.contains(own));
    lines
        .map(|line| line.replace(own, "").trim().to_owned())
        .collect()
}

fn wait_for_lines(tree: &Tree, count: usize) -> Vec<String> {
    let started = Instant::now();
    loop {
        let lines = lines(tree);
        if lines.len() >= count {
            return lines;
        }
        assert!(started.elapsed() < LONG, "only {lines:?}");
        std::thread::yield_now();
    }
}

#[test]
fn problems_are_logged_once_as_bad_as_they_are() {
    LazyLock::force(&LOG);
    let tree = Tree::with(&["a", "b"]);
    fs::remove_file(tree.path("data/lib/prompts/b.md")).unwrap();
    tree.write("data/twig.toml", "");
    let live = tree.load();
    assert_eq!(lines(&tree), [""; 0], "whoever loads decides");
    for _ in 0..3 {
        live.log_problems();
        live.refresh();
    }
    let logged = lines(&tree);
    assert_eq!(logged.len(), 2, "{logged:?}");
    let starts = [
        "WARN data/twig.toml: warning[",
        "ERROR data/lib/twig.toml:3:",
    ];
    for (line, start) in logged.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn new_problems_are_logged_while_the_disk_is_followed() {
    LazyLock::force(&LOG);
    let tree = Tree::with(&["a", "b"]);
    let following = tree.follow();
    fs::remove_file(tree.path("data/lib/prompts/b.md")).unwrap();
    following.until_named(&["lib:a"]);
    let logged = wait_for_lines(&tree, 1);
    assert!(logged[0].contains("error[missing-file]"), "{logged:?}");
    // A problem of a place publishes no catalog and is told of all the same.
    tree.write("data/twig.toml", "");
    let logged = wait_for_lines(&tree, 2);
    assert!(logged[1].contains("manifest-in-data-folder"), "{logged:?}");
    tree.write("data/lib/prompts/a.md", "another text");
    following.live.refresh();
    following.live.log_problems();
    assert_eq!(lines(&tree).len(), 2);
}

#[test]
fn a_broken_manifest_is_logged_once_with_what_is_served() {
    LazyLock::force(&LOG);
    let tree = Tree::with(&["a"]);
    let following = tree.follow();
    tree.write("data/lib/twig.toml", "[prompts.a\n");
    let logged = wait_for_lines(&tree, 1);
    following.live.refresh();
    following.live.log_problems();
    assert_eq!(lines(&tree), logged);
    let end = "the prompts of the last good version are served meanwhile";
    assert!(logged[0].ends_with(end), "{logged:?}");
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert_eq!(names(&following.live), ["lib:a"]);
}

#[test]
fn many_problems_are_counted_past_twenty() {
    LazyLock::force(&LOG);
    let prompts: Vec<String> = (0..77).map(|at| format!("p{at}")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let tree = Tree::with(&[]);
    tree.write("data/lib/twig.toml", crate::support::manifest(&prompts));
    let live = tree.load();
    live.log_problems();
    assert_eq!(lines(&tree).len(), 20);
    let log = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
    assert!(log.contains("and 57 more; run `twig check`"));
}

#[test]
fn a_markdown_folder_that_cannot_be_listed_is_logged_once() {
    LazyLock::force(&LOG);
    let tree = Tree::new();
    symlink("agents", tree.path("agents")).unwrap();
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("agents")],
        kind: Some(LibraryKind::Markdown),
        ..tree.settings()
    });
    for _ in 0..3 {
        live.log_problems();
        live.refresh();
    }
    assert_eq!(codes(&live), ["unreadable-folder"]);
    let logged = lines(&tree);
    assert_eq!(logged.len(), 1, "{logged:?}");
    fs::remove_file(tree.path("agents")).unwrap();
    tree.write("agents/a.md", "---\ndescription: A\n---\ntext");
    live.refresh();
    live.log_problems();
    assert_eq!(names(&live), ["a"]);
    assert_eq!(lines(&tree).len(), 1);
}
