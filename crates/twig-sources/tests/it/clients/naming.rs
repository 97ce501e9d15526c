//! What libraries are called.

use twig_core::{LibraryName, Severity};
use twig_sources::{LiveCatalog, Remembered, Settings};

use super::{libraries, named, remembered};
use crate::support::{Tree, names, problems};

fn called(tree: &Tree, live: &LiveCatalog) -> Vec<String> {
    let rows = libraries(tree, live).into_iter();
    rows.map(|(name, ..)| name).collect()
}

#[test]
fn the_later_one_of_two_gets_its_projects_name_and_a_note() {
    let tree = Tree::new();
    for project in ["shop", "work/shop", "bank"] {
        tree.write(&format!("{project}/.claude/commands/a.md"), "A");
    }
    tree.write(".claude/commands/mine.md", "Mine");
    let settings = remembered(&tree, &["shop", "work/shop", "bank", ".claude/commands"]);
    let live = LiveCatalog::load(settings.clone());
    let expected = ["claude", "shop_claude", "bank_claude", "user_claude"];
    assert_eq!(called(&tree, &live), expected);
    let told = live.problems();
    assert!(
        told.iter().all(|it| it.severity == Severity::Note),
        "{told:?}"
    );
    assert_eq!(told.len(), 3);
    assert_eq!(
        told[0].message,
        "~/work/shop/.claude/commands is called `shop_claude`: ~/shop/.claude/commands is `claude` already"
    );
    assert_eq!(called(&tree, &LiveCatalog::load(settings)), expected);
}

#[test]
fn a_number_comes_last() {
    let tree = Tree::new();
    for place in ["a/shop", "b/shop", "c/shop", "d/shop"] {
        tree.write(&format!("{place}/prompts/x.md"), "X");
    }
    let paths = [
        "a/shop/prompts",
        "b/shop/prompts",
        "c/shop/prompts",
        "d/shop/prompts",
    ];
    let live = LiveCatalog::load(named(&tree, &paths));
    let expected = [
        "prompts",
        "shop_prompts",
        "shop_prompts_2",
        "shop_prompts_3",
    ];
    assert_eq!(called(&tree, &live), expected);
}

#[test]
fn a_twig_library_keeps_its_name() {
    let tree = Tree::new();
    tree.library("data/claude", &["a"]);
    tree.write("shop/.claude/commands/x.md", "X");
    let live = LiveCatalog::load(Settings {
        data: Some(tree.path("data")),
        ..named(&tree, &["shop"])
    });
    assert_eq!(called(&tree, &live), ["shop_claude", "claude"]);
    assert!(names(&live).contains(&"claude:a".to_owned()));
}

#[test]
fn the_persons_own_name_wins() {
    let tree = Tree::new();
    tree.write("shop/.claude/commands/x.md", "X");
    tree.write("shop/.cursor/commands/x.md", "X");
    tree.write("notes/x.md", "X");
    let entry = |path: &str, name: &str| Remembered {
        path: tree.path(path),
        name: LibraryName::from_folder(name),
        ..Remembered::default()
    };
    let live = LiveCatalog::load(Settings {
        data: None,
        remembered: vec![entry("shop", "work"), entry("notes", "mine")],
        ..tree.settings()
    });
    assert_eq!(called(&tree, &live), ["work_claude", "work_cursor", "mine"]);
}

#[test]
fn a_name_that_was_written_for_one_library_stays_when_others_come() {
    let tree = Tree::new();
    tree.write("shop/.claude/commands/x.md", "X");
    let live = LiveCatalog::load(Settings {
        data: None,
        remembered: vec![Remembered {
            path: tree.path("shop"),
            name: LibraryName::from_folder("shop_claude"),
            ..Remembered::default()
        }],
        ..tree.settings()
    });
    assert_eq!(called(&tree, &live), ["shop_claude"]);
    tree.write("shop/.cursor/commands/x.md", "X");
    live.refresh();
    assert_eq!(called(&tree, &live), ["shop_claude", "shop_cursor"]);
}

#[test]
fn a_name_that_is_taken_while_we_watch_moves_on() {
    let tree = Tree::new();
    std::fs::create_dir(tree.path("shop")).unwrap();
    tree.write("bank/.claude/commands/b.md", "B");
    let live = LiveCatalog::load(named(&tree, &["shop", "bank"]));
    assert_eq!(called(&tree, &live), ["claude"]);
    tree.write("shop/.claude/commands/a.md", "A");
    live.refresh();
    assert_eq!(called(&tree, &live), ["claude", "bank_claude"]);
    let moved = libraries(&tree, &live).remove(1);
    assert_eq!(moved.2, "bank/.claude/commands");
    assert_eq!(live.snapshot().len(), 2);
}

#[test]
fn folders_in_any_script_have_a_name() {
    let tree = Tree::new();
    for folder in ["\u{63d0}\u{793a}", "---", "My Prompts!"] {
        tree.write(&format!("{folder}/x.md"), "X");
    }
    let live = LiveCatalog::load(named(&tree, &["\u{63d0}\u{793a}", "---", "My Prompts!"]));
    let called = called(&tree, &live);
    assert_eq!(called.len(), 3, "{called:?} {:?}", problems(&live));
    assert!(called.iter().all(|name| !name.is_empty()));
    assert_eq!(called[2], "my_prompts");
}

#[test]
fn two_links_to_one_folder_are_one_library() {
    let tree = Tree::new();
    tree.write(
        "shop/.agents/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: P.\n---\nB",
    );
    std::fs::create_dir(tree.path("shop/.claude")).unwrap();
    std::os::unix::fs::symlink("../.agents/skills", tree.path("shop/.claude/skills")).unwrap();
    let live = LiveCatalog::load(named(&tree, &["shop"]));
    assert_eq!(called(&tree, &live), ["skills"]);
}
