//! Libraries that would run something, before and after they are trusted.

use std::fs;
use std::sync::Arc;

use twig_core::LibraryKind;
use twig_sources::{LiveCatalog, Settings, Trust, survey};

use crate::support::Tree;

const LIST: &str = r#"[{"name": "a"}, {"name": "b-c"}]"#;
const SCRIPT: &str = "prompt_a() { :; }\nprompt_b_c() { :; }\n";

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("data/box/prompts.json", LIST);
    tree.write("data/box/prompts.bash", SCRIPT);
    tree
}

fn load(tree: &Tree) -> LiveCatalog {
    LiveCatalog::load(Settings {
        trust: Some(tree.path("trust.json")),
        ..tree.settings()
    })
}

fn trust(tree: &Tree, library: &str) {
    let root = tree.path(library);
    let record = tree.path("trust.json");
    Trust::change(&record, |trust| trust.trust(&root, survey(&root).unwrap())).unwrap();
}

fn listed(live: &LiveCatalog) -> Vec<String> {
    let catalog = live.snapshot();
    let names = catalog
        .prompts(0)
        .map(|found| found.prompt.full_name.to_string());
    names.collect()
}

#[test]
fn a_pair_of_list_and_script_is_withheld_until_it_is_trusted() {
    let tree = tree();
    let live = load(&tree);
    assert_eq!(live.snapshot().libraries()[0].kind, LibraryKind::Functions);
    assert_eq!(listed(&live), [""; 0]);
    let problems: Vec<_> = live
        .snapshot()
        .problems()
        .map(|problem| problem.code.as_str())
        .collect();
    assert_eq!(problems, ["untrusted"]);
    trust(&tree, "data/box");
    assert!(live.refresh().lists_changed);
    assert_eq!(listed(&live), ["a", "b-c"]);
    assert_eq!(live.snapshot().problems().count(), 0);
    assert!(!live.refresh().changed);
}

#[test]
fn every_file_that_may_be_code_takes_the_trust_along() {
    for (path, text) in [
        (
            "data/box/prompts.bash",
            "prompt_a() { id; }; prompt_b_c() { :; }\n",
        ),
        (
            "data/box/prompts.json",
            r#"[{"name": "a", "title": "A"}, {"name": "b-c"}]"#,
        ),
        ("data/box/lib/new.sh", "id\n"),
        ("data/box/.hidden", "id\n"),
    ] {
        let tree = tree();
        trust(&tree, "data/box");
        let live = load(&tree);
        assert_eq!(listed(&live).len(), 2, "{path}");
        tree.write(path, text);
        live.refresh();
        assert_eq!(listed(&live), [""; 0], "{path}");
        let catalog = live.snapshot();
        let refusal = catalog.libraries()[0].prompts[0].unavailable.as_deref();
        let file = path.strip_prefix("data/box/").unwrap();
        assert!(refusal.unwrap().contains(file), "{refusal:?}");
    }
    let tree = tree();
    trust(&tree, "data/box");
    let live = load(&tree);
    tree.write("data/box/README.md", "Words.");
    assert!(!live.refresh().changed);
}

#[test]
fn prompts_that_run_nothing_need_no_trust() {
    let tree = Tree::with(&["plain"]);
    tree.write(
        "data/lib/twig.toml",
        "[prompts.plain]\n[prompts.run]\ncommand = [\"./run\"]\n",
    );
    tree.write("data/lib/run", "#!/bin/sh\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(tree.path("data/lib/run"), mode).unwrap();
    }
    let live = load(&tree);
    assert_eq!(listed(&live), ["lib:plain"]);
    let before = Arc::clone(&live.snapshot().libraries()[0]);
    assert!(!live.refresh().changed);
    assert!(Arc::ptr_eq(&before, &live.snapshot().libraries()[0]));
    trust(&tree, "data/lib");
    live.refresh();
    assert_eq!(listed(&live), ["lib:plain", "lib:run"]);
}

#[test]
fn a_record_that_cannot_be_read_trusts_nobody() {
    let tree = tree();
    trust(&tree, "data/box");
    let live = load(&tree);
    assert_eq!(listed(&live).len(), 2);
    tree.write("trust.json", "{\"libraries\": 1}");
    live.refresh();
    assert_eq!(listed(&live), [""; 0]);
    assert_eq!(live.problems()[0].code, "bad-trust");
    let without = LiveCatalog::load(tree.settings());
    assert_eq!(listed(&without), [""; 0], "no record, no trust");
}

#[test]
fn a_broken_list_leaves_the_last_good_one() {
    let tree = tree();
    trust(&tree, "data/box");
    let live = load(&tree);
    tree.write("data/box/prompts.json", "[{");
    live.refresh();
    let catalog = live.snapshot();
    let library = &catalog.libraries()[0];
    assert_eq!(
        library.prompts.len(),
        2,
        "they are known, though not trusted"
    );
    assert!(
        catalog
            .problems()
            .any(|problem| problem.code == "manifest-syntax")
    );
    fs::remove_file(tree.path("data/box/prompts.json")).unwrap();
    fs::remove_file(tree.path("data/box/prompts.bash")).unwrap();
    live.refresh();
    assert!(live.snapshot().libraries().is_empty());
}
