//! Nothing outside a library's own folder is read for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use twig_core::{Bodies, BodyError, RelativePath};

use crate::support::{Tree, age, body, codes, library, names, relative, text};

const CANARY: &str = "CANARY";

#[test]
fn links_that_lead_out_are_refused_and_links_inside_are_followed() {
    let tree = Tree::new();
    let prompts = [
        "absolute", "chain", "inside", "loop", "magic", "ok", "relative", "up",
    ];
    tree.library("data/lib", &prompts);
    tree.write("data/secret.md", CANARY);
    let folder = tree.path("data/lib/prompts");
    let link = |target: &str, name: &str| {
        let path = folder.join(format!("{name}.md"));
        let _ = fs::remove_file(&path);
        symlink(target, path).unwrap();
    };
    link(tree.path("data/secret.md").to_str().unwrap(), "absolute");
    link("../../secret.md", "relative");
    for at in 0..8 {
        link(&format!("chain{}.md", at + 1), &format!("chain{at}"));
    }
    link("../../secret.md", "chain8");
    link("chain0.md", "chain");
    symlink("..", tree.path("data/lib/above")).unwrap();
    link("../above/secret.md", "up");
    link("/proc/self/root/etc/passwd", "magic");
    link("loop.md", "loop");
    link("ok.md", "inside");
    let live = tree.load();
    assert_eq!(names(&live), ["lib:inside", "lib:ok"]);
    assert_eq!(codes(&live).len(), 6);
    for name in ["absolute", "chain", "relative", "up"] {
        let found = text(&live, &format!("prompts/{name}.md"));
        assert_eq!(found, Err(BodyError::Outside), "{name}");
    }
    assert!(text(&live, "prompts/magic.md").is_err());
    assert_eq!(text(&live, "prompts/loop.md"), Err(BodyError::Loop));
    assert_eq!(text(&live, "above/secret.md"), Err(BodyError::Outside));
    assert_eq!(text(&live, "prompts/inside.md"), Ok(body("ok")));
}

#[test]
fn what_a_link_leads_to_may_come_and_go() {
    let tree = Tree::with(&["a"]);
    let link = tree.path("data/lib/prompts/a.md");
    fs::remove_file(&link).unwrap();
    symlink("../texts/a.md", &link).unwrap();
    let live = tree.load();
    assert_eq!(names(&live), [""; 0]);
    tree.write("data/lib/texts/a.md", "here now");
    live.refresh();
    assert_eq!(names(&live), ["lib:a"]);
    fs::remove_file(tree.path("data/lib/texts/a.md")).unwrap();
    live.refresh();
    assert_eq!(names(&live), [""; 0]);
}

#[test]
fn a_sibling_with_a_longer_name_is_outside() {
    let tree = Tree::with(&["a"]);
    tree.write("data/lib-evil/s.md", CANARY);
    symlink("../lib-evil/s.md", tree.path("data/lib/s.md")).unwrap();
    symlink("../lib-evil", tree.path("data/lib/evil")).unwrap();
    let live = tree.load();
    for spelling in [
        "../lib-evil/s.md",
        "./../lib-evil/s.md",
        "a/../../lib-evil/s.md",
    ] {
        assert!(RelativePath::parse(spelling).is_err(), "{spelling}");
    }
    for spelling in ["s.md", "./s.md", "evil/s.md", "evil//s.md", "evil/./s.md"] {
        assert_eq!(text(&live, spelling), Err(BodyError::Outside), "{spelling}");
    }
}

#[test]
fn a_file_that_is_swapped_for_a_link_never_leaks() {
    let tree = Tree::with(&["p"]);
    tree.write("canary", CANARY);
    tree.write("data/lib/kept", "kept");
    age(&tree.path("data/lib/kept"));
    let live = tree.load();
    let lib = library(&live, "lib");
    let path = relative("prompts/p.md");
    let stop = AtomicBool::new(false);
    let (mut kept, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let target = tree.path("data/lib/prompts/p.md");
            let next = tree.path("data/lib/prompts/next");
            while !stop.load(Ordering::Relaxed) {
                symlink(tree.path("canary"), &next).unwrap();
                fs::rename(&next, &target).unwrap();
                fs::copy(tree.path("data/lib/kept"), &next).unwrap();
                age(&next);
                fs::rename(&next, &target).unwrap();
            }
        });
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(2) {
            match live.read(&lib, &path) {
                Ok(body) => {
                    assert!(!body.text.contains(CANARY), "leaked");
                    kept += 1;
                }
                Err(_) => refused += 1,
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(kept > 0 && refused > 0, "{kept} read, {refused} refused");
}

#[test]
fn every_path_is_beneath_the_root_or_an_error() {
    let tree = Tree::with(&["p"]);
    tree.write("data/secret.md", CANARY);
    tree.write("data/lib/a/b/p.md", "fine");
    symlink("../..", tree.path("data/lib/a/up")).unwrap();
    symlink("/", tree.path("data/lib/root")).unwrap();
    symlink("b", tree.path("data/lib/a/c")).unwrap();
    symlink(tree.path("data/secret.md"), tree.path("data/lib/a/s.md")).unwrap();
    let live = tree.load();
    let lib = library(&live, "lib");
    let part = prop_oneof![
        4 => prop::sample::select(vec![
            "a", "b", "c", "up", "root", "data", "lib", "prompts", "p.md", "s.md", "secret.md",
            "..", ".", "", "~", "etc", "passwd", "proc", "self", "%2e%2e", "\u{ff0e}\u{ff0e}",
            "..\\", "twig.toml",
        ]).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
    ];
    let paths = prop::collection::vec(part, 1..8).prop_map(|parts| parts.join("/"));
    let mut runner = TestRunner::new(Config {
        cases: 20_000,
        failure_persistence: None,
        ..Config::default()
    });
    let inside = [
        body("p"),
        "fine".to_owned(),
        crate::support::manifest(&["p"]),
    ];
    let outcome = runner.run(&paths, |path| {
        if let Ok(path) = RelativePath::parse(&path)
            && let Ok(read) = live.read(&lib, &path)
        {
            prop_assert!(inside.contains(&read.text), "{path} read {:?}", read.text);
        }
        Ok(())
    });
    outcome.unwrap();
}
