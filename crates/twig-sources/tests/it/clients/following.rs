//! Changes deep inside are announced, and no way to save makes a prompt vanish.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use twig_sources::LiveCatalog;

use super::{files, named};
use crate::editors::EDITORS;
use crate::support::{Following, Tree};

fn descriptions(live: &LiveCatalog) -> Vec<String> {
    let catalog = live.snapshot();
    let texts = catalog
        .prompts(0)
        .filter_map(|found| found.prompt.description.clone());
    texts.map(String::from).collect()
}

#[test]
fn files_and_folders_deep_inside_are_announced() {
    let tree = Tree::new();
    tree.write(
        "shop/.claude/commands/a/b/c/one.md",
        "---\ndescription: One.\n---\nOne",
    );
    let following = Following::start(named(&tree, &["shop"]));
    tree.write(
        "shop/.claude/commands/a/b/c/one.md",
        "---\ndescription: Two.\n---\nOne",
    );
    let took = following.until("a change", |live| descriptions(live) == ["Two."]);
    assert!(took < Duration::from_secs(2), "{took:?}");
    tree.write("shop/.claude/commands/x/y/z/two.md", "Two");
    let took = following.until("a new folder", |live| files(live).len() == 2);
    assert!(took < Duration::from_secs(2), "{took:?}");
    fs::remove_dir_all(tree.path("shop/.claude/commands/a")).unwrap();
    following.until("a removal", |live| files(live) == ["claude x/y/z/two.md"]);
    fs::remove_dir_all(tree.path("shop/.claude/commands")).unwrap();
    following.until("all gone", |live| files(live).is_empty());
    tree.write("shop/.claude/commands/new.md", "New");
    following.until("made again", |live| files(live) == ["claude new.md"]);
}

#[test]
fn no_way_to_save_makes_a_prompt_vanish() {
    for (editor, save) in EDITORS {
        let tree = Tree::new();
        let path = tree.path("shop/.claude/commands/deep/er/a.md");
        let text =
            |number: usize| format!("---\ndescription: Number {number}.\n---\nBody {number}\n");
        tree.write("shop/.claude/commands/deep/er/a.md", text(0));
        let live = LiveCatalog::load(named(&tree, &["shop"]));
        let is_over = AtomicBool::new(false);
        let gone = std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut gone = 0;
                while !is_over.load(Ordering::Relaxed) {
                    live.refresh();
                    gone += usize::from(files(&live) != ["claude deep/er/a.md"]);
                }
                gone
            });
            for number in 1..10 {
                save(&path, &text(number));
            }
            is_over.store(true, Ordering::Relaxed);
            looking.join().unwrap()
        });
        assert_eq!(gone, 0, "{editor}");
        live.refresh();
        assert_eq!(descriptions(&live), ["Number 9."], "{editor}");
    }
}
