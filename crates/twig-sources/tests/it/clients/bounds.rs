//! What is odd, too large or too many is told by name, and everything else is served.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use twig_core::{Problem, Severity};
use twig_sources::LiveCatalog;

use super::{files, named};
use crate::contract::rustix_fifo;
use crate::support::{Tree, problems};

fn commands(tree: &Tree) -> LiveCatalog {
    LiveCatalog::load(named(tree, &["shop/.claude/commands"]))
}

/// Problems of more weight than a note: code and the path below the folder.
fn told(tree: &Tree, live: &LiveCatalog) -> Vec<(&'static str, String)> {
    let root = tree.path("shop/.claude/commands");
    let below = |problem: &Problem| {
        let path = std::path::Path::new(&*problem.path);
        path.strip_prefix(&root).unwrap().display().to_string()
    };
    let mut told: Vec<(&'static str, String)> = problems(live)
        .iter()
        .filter(|problem| problem.severity != Severity::Note)
        .map(|problem| (problem.code.as_str(), below(problem)))
        .collect();
    told.sort();
    told
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_served() {
    let tree = Tree::new();
    let folder = "shop/.claude/commands";
    tree.write(&format!("{folder}/deep/er/good.md"), "Good");
    tree.write(&format!("{folder}/latin.md"), b"caf\xe9");
    tree.write(&format!("{folder}/nul.md"), b"a\0b");
    tree.write(&format!("{folder}/large.md"), "x".repeat(1024 * 1024 + 1));
    tree.write(&format!("{folder}/edge.md"), "x".repeat(1024 * 1024));
    tree.write("shop/secret.md", "CANARY");
    rustix_fifo(&tree, &format!("{folder}/pipe.md"));
    let path = |name: &str| tree.path(&format!("{folder}/{name}"));
    let _socket = UnixListener::bind(path("socket.md")).unwrap();
    symlink("../../secret.md", path("out.md")).unwrap();
    symlink("nowhere.md", path("dangling.md")).unwrap();
    symlink("loop.md", path("loop.md")).unwrap();
    symlink("deep/er/good.md", path("inside.md")).unwrap();
    symlink("../..", path("outside")).unwrap();
    symlink(".", path("again")).unwrap();
    fs::write(
        path("x").with_file_name(OsStr::from_bytes(b"odd\xff.md")),
        "x",
    )
    .unwrap();
    fs::write(path("tab\there.md"), "x").unwrap();
    let live = commands(&tree);
    let served = [
        "claude deep/er/good.md",
        "claude edge.md",
        "claude inside.md",
    ];
    assert_eq!(files(&live), served);
    let expected = [
        ("bad-file-name", "odd\u{fffd}.md"),
        ("bad-file-name", "tab\\there.md"),
        ("binary-file", "nul.md"),
        ("link-loop", "loop.md"),
        ("missing-file", "dangling.md"),
        ("not-a-file", "pipe.md"),
        ("not-a-file", "socket.md"),
        ("not-utf8", "latin.md"),
        ("outside-library", "out.md"),
        ("outside-library", "outside"),
        ("too-large", "large.md"),
    ];
    let found = told(&tree, &live);
    let found: Vec<(&str, &str)> = found.iter().map(|(code, path)| (*code, &**path)).collect();
    assert_eq!(found, expected);
    assert!(!live.refresh().changed);
    assert!(!format!("{:?}", live.snapshot()).contains("CANARY"));
}

#[test]
fn a_name_that_no_path_can_have_is_told_and_looks_like_no_other() {
    let tree = Tree::new();
    let folder = "shop/.claude/commands";
    for name in [
        "a:b.md",
        "C:.md",
        "a\\b.md",
        "~c.md",
        "C:/in.md",
        "x\\y/in.md",
        "a/d.md",
    ] {
        tree.write(&format!("{folder}/{name}"), "Text");
    }
    let live = commands(&tree);
    assert_eq!(
        files(&live),
        ["claude C:.md", "claude a/d.md", "claude a:b.md"]
    );
    let names = ["C:/in.md", "a\\\\b.md", "x\\\\y/in.md", "~c.md"];
    let expected = names.map(|name| ("bad-file-name", name.to_owned()));
    assert_eq!(told(&tree, &live), expected);
}

#[test]
fn a_text_that_is_too_large_is_not_told_to_include_its_parts() {
    let tree = Tree::new();
    let text = "x".repeat(1024 * 1024 + 1);
    tree.write("shop/.claude/commands/large.md", text);
    let told = problems(&commands(&tree));
    let help = told[0].help.as_deref().unwrap_or_default();
    assert_eq!(help, "split it in two, or raise `verbatim` under [limits]");
}

#[test]
fn markdown_beside_files_of_another_kind_is_told() {
    let tree = Tree::new();
    tree.write("models/a.md", "A");
    tree.write(
        "models/b.prompt.yml",
        "messages: [{role: user, content: Hi}]\n",
    );
    tree.write("skills/a.md", "A");
    tree.write("skills/docs/b.md", "B");
    tree.write("skills/notes.txt", "N");
    tree.write("skills/pdf/more.md", "M");
    let skill = "---\nname: pdf\ndescription: Reads.\n---\nBody\n";
    tree.write("skills/pdf/SKILL.md", skill);
    tree.write("elsewhere/SKILL.md", skill);
    symlink("../elsewhere", tree.path("skills/out")).unwrap();
    symlink("pdf", tree.path("skills/again")).unwrap();
    let told = |live: &LiveCatalog| {
        let notes = problems(live).into_iter();
        let mut told: Vec<String> = notes
            .map(|it| format!("{} {}", it.code, it.message))
            .collect();
        told.sort();
        told
    };
    let live = LiveCatalog::load(named(&tree, &["models"]));
    let expected = ["not-a-prompt a.md does not end in `.prompt.yml`, so it is no prompt"];
    assert_eq!(told(&live), expected);
    let live = LiveCatalog::load(named(&tree, &["skills"]));
    let expected = [
        "folder-link ~/skills/again is a symlink to a folder of this library, which is read where it is",
        "not-a-prompt a.md is in no folder with a `SKILL.md`, so it is no prompt",
        "not-a-prompt b.md is in no folder with a `SKILL.md`, so it is no prompt",
        "outside-library ~/skills/out is a symlink to a folder outside the library, which is not read",
    ];
    assert_eq!(told(&live), expected);
    // A skill that comes takes the files around it along.
    tree.write("skills/docs/SKILL.md", skill.replace("pdf", "docs"));
    live.refresh();
    assert_eq!(told(&live), [expected[0], expected[1], expected[3]]);
    assert_eq!(
        files(&live),
        ["skills docs/SKILL.md", "skills pdf/SKILL.md"]
    );
}

#[test]
fn what_other_tools_leave_behind_is_not_looked_at() {
    let tree = Tree::new();
    for path in [
        "good.md",
        ".hidden.md",
        "a.md~",
        ".git/x.md",
        "node_modules/p/x.md",
        "x.md.swp",
    ] {
        tree.write(&format!("shop/.claude/commands/{path}"), "X");
    }
    assert_eq!(files(&commands(&tree)), ["claude good.md"]);
}

#[test]
fn folders_may_nest_sixteen_deep() {
    let tree = Tree::new();
    let nest = |depth: usize| vec!["d"; depth].join("/");
    tree.write(&format!("shop/.claude/commands/{}/edge.md", nest(16)), "X");
    tree.write(&format!("shop/.claude/commands/{}/past.md", nest(17)), "X");
    let live = commands(&tree);
    assert_eq!(files(&live), [format!("claude {}/edge.md", nest(16))]);
    assert_eq!(told(&tree, &live), [("too-deep", nest(17))]);
}

#[test]
fn there_may_be_twenty_thousand_files() {
    let tree = Tree::new();
    let write =
        |at: usize| tree.write(&format!("shop/.claude/commands/{}/{at:05}.md", at % 7), "X");
    (0..20_000).for_each(write);
    let live = commands(&tree);
    assert_eq!(live.snapshot().len(), 20_000);
    assert_eq!(told(&tree, &live), []);
    write(20_000);
    live.refresh();
    assert_eq!(live.snapshot().len(), 20_000);
    assert_eq!(told(&tree, &live), [("too-many-files", String::new())]);
}

#[test]
fn a_folder_that_cannot_be_listed_keeps_what_was_read() {
    let tree = Tree::new();
    tree.write("shop/.claude/commands/deep/a.md", "A");
    tree.write("shop/.claude/commands/b.md", "B");
    let live = commands(&tree);
    let before = files(&live);
    let deep = tree.path("shop/.claude/commands/deep");
    fs::set_permissions(&deep, fs::Permissions::from_mode(0o000)).unwrap();
    // Who may do anything can still list it.
    let may_list = fs::read_dir(&deep).is_ok();
    live.refresh();
    assert_eq!(files(&live).len(), before.len());
    let count = usize::from(!may_list);
    let unreadable = told(&tree, &live);
    let listed = unreadable
        .iter()
        .filter(|(code, _)| *code == "unreadable-folder");
    assert_eq!(listed.count(), count, "{unreadable:?}");
    fs::set_permissions(&deep, fs::Permissions::from_mode(0o755)).unwrap();
    live.refresh();
    assert_eq!(files(&live), before);
    assert_eq!(told(&tree, &live), []);
}

#[test]
fn a_file_of_a_skill_that_is_too_large_is_named() {
    let tree = Tree::new();
    let skill = "shop/.agents/skills/pdf";
    tree.write(
        &format!("{skill}/SKILL.md"),
        "---\nname: pdf\ndescription: P.\n---\nBody",
    );
    let file = fs::File::create(tree.path(&format!("{skill}/big.bin"))).unwrap();
    file.set_len(16 * 1024 * 1024 + 1).unwrap();
    tree.write(&format!("{skill}/small.bin"), [0, 1, 2]);
    let live = LiveCatalog::load(named(&tree, &["shop"]));
    assert_eq!(live.snapshot().len(), 1);
    let told: Vec<Problem> = problems(&live)
        .into_iter()
        .filter(|problem| problem.code == "too-large")
        .collect();
    assert_eq!(told.len(), 1);
    assert!(
        told[0]
            .message
            .starts_with("~/shop/.agents/skills/pdf/big.bin is 16777217 bytes long")
    );
}

#[test]
fn texts_are_not_kept() {
    let tree = Tree::new();
    let text = format!(
        "---\ndescription: Short.\n---\nFirst.\n\n{}\n",
        "CANARY ".repeat(1000)
    );
    tree.write("shop/.claude/commands/a.md", text);
    let live = commands(&tree);
    assert_eq!(files(&live), ["claude a.md"]);
    assert!(!format!("{live:?}").contains("CANARY"));
}
