//! Folders of definitions: where they are found, and what a change of a file changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, Instant};

use twig_core::LibraryKind;
use twig_sources::{LiveCatalog, Settings};
use twig_testkit::figure;

use crate::support::{Following, Tree, age, codes, description, library, names, problems};

fn definition(name: &str, description: &str) -> String {
    format!(
        r#"{{"name": "{name}", "description": "{description}",
  "messages": [{{"role": "user", "content": {{"type": "text", "text": "hi"}}}}]}}"#
    )
}

fn write(tree: &Tree, name: &str, description: &str) {
    let path = format!("data/lib/prompts/{name}.json");
    tree.write(&path, definition(name, description));
}

#[test]
fn both_layouts_are_found_in_the_data_folder_and_by_name() {
    let tree = Tree::new();
    write(&tree, "one", "d");
    tree.write("data/two/mcp/prompts/two.json", definition("two", "d"));
    tree.write("data/none/prompts/readme.md", "no definition");
    tree.write("data/none/prompts/.hidden.json", "{}");
    tree.write("named/prompts/three.json", definition("three", "d"));
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("named")],
        ..tree.settings()
    });
    assert_eq!(names(&live), ["one", "three", "two"]);
    assert_eq!(problems(&live), []);
    assert_eq!(library(&live, "named").kind, LibraryKind::Definitions);
}

#[test]
fn the_first_layout_and_a_manifest_win() {
    let tree = Tree::new();
    write(&tree, "one", "d");
    tree.write("data/lib/mcp/prompts/two.json", definition("two", "d"));
    let live = tree.load();
    assert_eq!(names(&live), ["one"]);
    tree.library("data/lib", &["review"]);
    live.refresh();
    assert_eq!(names(&live), ["lib:review"]);
    assert_eq!(library(&live, "lib").kind, LibraryKind::Twig);
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("data/lib")],
        kind: Some(LibraryKind::Definitions),
        ..Settings::default()
    });
    assert_eq!(names(&live), ["one"]);
}

#[test]
fn files_come_change_go_break_and_mend() {
    let tree = Tree::new();
    write(&tree, "one", "first");
    let following = tree.follow();
    let describes = |text: &'static str| {
        move |live: &LiveCatalog| description(live, "one").as_deref() == Some(text)
    };
    write(&tree, "two", "d");
    following.until_named(&["one", "two"]);
    write(&tree, "one", "second");
    following.until("a change", describes("second"));
    tree.write("data/lib/prompts/one.json", "{");
    following.until_named(&["two"]);
    assert_eq!(codes(&following.live), ["definition-syntax"]);
    write(&tree, "one", "third");
    following.until("mended", describes("third"));
    fs::remove_dir_all(tree.path("data/lib/prompts")).unwrap();
    following.until_named(&[]);
    write(&tree, "back", "d");
    following.until_named(&["back"]);
    assert_eq!(codes(&following.live), [""; 0]);
}

#[test]
fn looking_again_finds_the_same_as_being_told() {
    let tree = Tree::new();
    write(&tree, "one", "d");
    let following: Following = tree.poll();
    write(&tree, "two", "d");
    following.until_named(&["one", "two"]);
    fs::remove_file(tree.path("data/lib/prompts/one.json")).unwrap();
    following.until_named(&["two"]);
}

#[test]
fn a_look_without_changes_keeps_the_very_library() {
    let tree = Tree::new();
    write(&tree, "one", "d");
    let live = tree.load();
    let before = library(&live, "lib");
    write(&tree, "one", "d");
    live.refresh();
    assert!(Arc::ptr_eq(&before, &library(&live, "lib")));
}

#[test]
fn a_picture_that_comes_later_mends_its_prompt() {
    let tree = Tree::new();
    let text = definition("one", "d").replace(
        r#""type": "text", "text": "hi""#,
        r#""type": "image", "file": "shots/a.png""#,
    );
    tree.write("data/lib/prompts/one.json", text);
    let following = tree.follow();
    assert_eq!(names(&following.live), [""; 0]);
    assert_eq!(codes(&following.live), ["missing-file"]);
    tree.write("data/lib/shots/a.png", "PNG");
    following.until_named(&["one"]);
}

#[test]
fn nothing_outside_the_folder_is_read() {
    let tree = Tree::new();
    write(&tree, "ok", "d");
    tree.write("secret.json", definition("secret", "CANARY"));
    let prompts = tree.path("data/lib/prompts");
    symlink(tree.path("secret.json"), prompts.join("secret.json")).unwrap();
    symlink("../../../secret.json", prompts.join("up.json")).unwrap();
    symlink("ok.json", prompts.join("inside.json")).unwrap();
    fs::create_dir(prompts.join("folder.json")).unwrap();
    tree.write("data/lib/prompts/utf16.json", b"\xff\xfe{\0}\0");
    let live = tree.load();
    assert_eq!(names(&live), ["ok"]);
    let shown = format!("{:?}", problems(&live));
    assert!(!shown.contains("CANARY"), "{shown}");
    let mut codes = codes(&live);
    codes.sort_unstable();
    let expected = [
        "duplicate-prompt",
        "name-mismatch",
        "not-a-file",
        "not-utf8",
        "outside-library",
        "outside-library",
    ];
    assert_eq!(codes, expected);
}

#[test]
fn a_hundred_definitions_are_loaded_in_no_time() {
    let tree = Tree::new();
    for at in 0..100 {
        let name = format!("p{at}");
        write(&tree, &name, &"a description ".repeat(50));
        age(&tree.path(&format!("data/lib/prompts/{name}.json")));
    }
    let started = Instant::now();
    let mut loads = Vec::new();
    // Until everything has settled, each file is read twice.
    while loads.len() < 20 || started.elapsed().as_millis() < 200 {
        let started = Instant::now();
        let live = tree.load();
        loads.push(started.elapsed());
        assert_eq!(live.snapshot().len(), 100);
    }
    loads.sort_unstable();
    let live = tree.load();
    let started = Instant::now();
    live.refresh();
    let again = started.elapsed();
    println!(
        "load {:?}, at best {:?}, look again {again:?}",
        loads[loads.len() / 2],
        loads[0]
    );
    figure(
        "load of a hundred definitions",
        loads[0],
        Duration::from_secs(1),
    );
}
