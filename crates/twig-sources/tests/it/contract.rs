//! What every source does: finds libraries, orders them, reports what is wrong, reads only what
//! changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use twig_core::LibraryKind;
use twig_sources::{FoundState, LiveCatalog, Settings};

use crate::support::{Tree, body, codes, description, library, manifest, names, problems, text};

#[test]
fn libraries_of_the_data_folder_are_listed_by_name() {
    let tree = Tree::new();
    tree.library("data/My-Coding Lib", &["review"]);
    tree.library("data/another", &["fix", "explain"]);
    tree.write("data/notes/readme.md", "no library");
    tree.write("data/.git/twig.toml", manifest(&["hidden"]));
    tree.write("data/old~/twig.toml", manifest(&["backup"]));
    let live = tree.load();
    let expected = ["another:explain", "another:fix", "my_coding_lib:review"];
    assert_eq!(names(&live), expected);
    assert_eq!(problems(&live), []);
    let root = library(&live, "another");
    assert_eq!(&*root.shown_root, "~/data/another");
    assert_eq!(&*root.root, tree.path("data/another").to_str().unwrap());
}

#[test]
fn a_data_folder_that_is_not_there_is_an_empty_list() {
    let tree = Tree::new();
    fs::remove_dir(tree.path("data")).unwrap();
    let live = tree.load();
    assert_eq!(names(&live), [""; 0]);
    assert_eq!(problems(&live), []);
    assert_eq!(live.found()[0].state, FoundState::Missing);
}

#[test]
fn named_libraries_come_first_and_win() {
    let tree = Tree::new();
    tree.library("data/lib", &["data"]);
    tree.library("named/lib", &["named"]);
    tree.library("many/two", &["b"]);
    tree.library("many/one", &["a"]);
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("named/lib"), tree.path("many")],
        ..tree.settings()
    });
    let catalog = live.snapshot();
    let order: Vec<&str> = catalog
        .libraries()
        .iter()
        .map(|l| l.name.as_str())
        .collect();
    assert_eq!(order, ["lib", "one", "two"]);
    assert_eq!(names(&live), ["lib:named", "one:a", "two:b"]);
    assert_eq!(codes(&live), ["duplicate-library"]);
    assert_eq!(catalog.shadowed().len(), 1);
}

#[test]
fn a_library_named_and_in_the_data_folder_is_one() {
    let tree = Tree::with(&["a"]);
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("data/lib/"), tree.path("data/./lib")],
        ..tree.settings()
    });
    assert_eq!(names(&live), ["lib:a"]);
    assert_eq!(codes(&live), [""; 0]);
}

#[test]
fn twins_of_case_and_composition_are_refused_with_both_paths() {
    let tree = Tree::new();
    tree.library("data/\u{c4}hnlich", &["a"]);
    tree.library("data/A\u{308}HNLICH", &["b"]);
    let live = tree.load();
    assert_eq!(live.snapshot().len(), 1);
    assert_eq!(codes(&live), ["duplicate-library"]);
    let problem = problems(&live).remove(0);
    let sentence = format!("{} {}", problem.message, problem.help.unwrap());
    assert!(sentence.contains("~/data/\u{c4}hnlich"), "{sentence}");
    assert!(sentence.contains("~/data/A\u{308}HNLICH"), "{sentence}");
}

#[test]
fn places_that_are_wrong_are_problems() {
    let tree = Tree::new();
    tree.write("data/twig.toml", manifest(&["lost"]));
    tree.write("data/---/twig.toml", manifest(&["nameless"]));
    tree.write("file", "");
    fs::create_dir(tree.path("empty")).unwrap();
    let live = LiveCatalog::load(Settings {
        libraries: ["missing", "file", "empty"]
            .map(|name| tree.path(name))
            .into(),
        ..tree.settings()
    });
    let expected = [
        "missing-library",
        "not-a-folder",
        "no-library",
        "manifest-in-data-folder",
        "bad-library-name",
    ];
    assert_eq!(codes(&live), expected);
    assert!(problems(&live).iter().all(|problem| problem.help.is_some()));
}

#[test]
fn doctor_sees_what_was_found_and_what_was_skipped() {
    let tree = Tree::with(&["a", "b"]);
    fs::remove_file(tree.path("data/lib/prompts/b.md")).unwrap();
    fs::create_dir(tree.path("data/drafts")).unwrap();
    symlink("nowhere", tree.path("data/link")).unwrap();
    let live = tree.load();
    let found = live.found().remove(0);
    assert_eq!((found.named, found.state), (false, FoundState::Folder));
    assert_eq!(found.shown, "~/data");
    let lib = &found.libraries[0];
    assert_eq!((lib.name.as_str(), lib.kind), ("lib", LibraryKind::Twig));
    assert_eq!((lib.prompts, lib.unavailable, lib.problems), (1, 1, 1));
    let skipped: Vec<_> = found
        .skipped
        .iter()
        .map(|s| (s.name.as_str(), s.why))
        .collect();
    let expected = [
        ("drafts", "has no twig.toml"),
        ("link", "is a broken symlink"),
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn a_linked_library_folder_is_followed() {
    let tree = Tree::new();
    tree.library("checkout", &["a"]);
    symlink(tree.path("checkout"), tree.path("data/lib")).unwrap();
    let live = tree.load();
    assert_eq!(names(&live), ["lib:a"]);
    assert_eq!(text(&live, "prompts/a.md"), Ok(body("a")));
}

#[test]
fn only_what_changed_is_read_again() {
    let tree = Tree::new();
    tree.library("data/one", &["a"]);
    tree.library("data/two", &["b"]);
    let live = tree.load();
    let before = live.snapshot();
    let refresh = live.refresh();
    assert!(!refresh.changed && !refresh.lists_changed);
    assert!(Arc::ptr_eq(&before, &live.snapshot()));
    tree.library("data/two", &["b", "c"]);
    let refresh = live.refresh();
    assert!(refresh.changed && refresh.lists_changed);
    assert_eq!(refresh.libraries, 1);
    let after = live.snapshot();
    assert!(Arc::ptr_eq(&before.libraries()[0], &after.libraries()[0]));
    assert_eq!(names(&live), ["one:a", "two:b", "two:c"]);
}

#[test]
fn a_body_that_comes_and_goes_changes_the_list() {
    let tree = Tree::with(&["a", "b"]);
    let live = tree.load();
    fs::remove_file(tree.path("data/lib/prompts/b.md")).unwrap();
    assert!(live.refresh().lists_changed);
    assert_eq!(names(&live), ["lib:a"]);
    assert_eq!(codes(&live), ["missing-file"]);
    tree.write("data/lib/prompts/b.md", "back");
    assert!(live.refresh().lists_changed);
    assert_eq!(names(&live), ["lib:a", "lib:b"]);
    assert_eq!(codes(&live), [""; 0]);
}

#[test]
fn an_edit_of_a_body_publishes_nothing() {
    let tree = Tree::with(&["a"]);
    let live = tree.load();
    tree.write("data/lib/prompts/new", "edited");
    fs::rename(
        tree.path("data/lib/prompts/new"),
        tree.path("data/lib/prompts/a.md"),
    )
    .unwrap();
    assert!(!live.refresh().changed);
    assert_eq!(text(&live, "prompts/a.md").unwrap(), "edited");
}

#[test]
fn a_broken_manifest_keeps_the_last_good_prompts() {
    let tree = Tree::with(&["a"]);
    let live = tree.load();
    tree.write("data/lib/twig.toml", "[prompts.a\n");
    live.refresh();
    assert_eq!(names(&live), ["lib:a"]);
    assert_eq!(codes(&live), ["manifest-syntax"]);
    tree.write("data/lib/twig.toml", [0xff, 0xfe]);
    live.refresh();
    assert_eq!(names(&live), ["lib:a"]);
    assert_eq!(codes(&live), ["not-utf8"]);
    tree.library("data/lib", &["b"]);
    live.refresh();
    assert_eq!(names(&live), ["lib:b"]);
    assert_eq!(codes(&live), [""; 0]);
    fs::remove_file(tree.path("data/lib/twig.toml")).unwrap();
    live.refresh();
    assert_eq!(names(&live), [""; 0]);
}

#[test]
fn manifests_that_cannot_be_read_are_problems_and_the_rest_is_served() {
    let tree = Tree::with(&["a"]);
    tree.write("data/b_binary/twig.toml", "[prompts.a]\0");
    fs::create_dir_all(tree.path("data/c_folder/twig.toml")).unwrap();
    fs::create_dir(tree.path("data/d_fifo")).unwrap();
    rustix_fifo(&tree, "data/d_fifo/twig.toml");
    tree.write("data/e_large/twig.toml", "#".repeat(1024 * 1024 + 1));
    tree.write("data/f_latin/twig.toml", b"# \xe4");
    tree.write("outside.toml", manifest(&["secret"]));
    fs::create_dir(tree.path("data/g_out")).unwrap();
    symlink(tree.path("outside.toml"), tree.path("data/g_out/twig.toml")).unwrap();
    fs::create_dir(tree.path("data/h_dangling")).unwrap();
    symlink("nowhere", tree.path("data/h_dangling/twig.toml")).unwrap();
    tree.write("data/i_edge/twig.toml", "#".repeat(1024 * 1024));
    let live = tree.load();
    assert_eq!(names(&live), ["lib:a"]);
    let expected = [
        "binary-file",
        "not-a-file",
        "not-a-file",
        "too-large",
        "not-utf8",
        "outside-library",
        "missing-file",
    ];
    assert_eq!(codes(&live), expected);
}

pub(crate) fn rustix_fifo(tree: &Tree, path: &str) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(
        CWD,
        tree.path(path),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
}

#[test]
fn a_folder_of_markdown_is_a_library_where_it_is_named() {
    let tree = Tree::new();
    tree.write("agents/README.md", "# About these\n");
    tree.write(
        "agents/review.md",
        "---\ndescription: Reviews\n---\nReview {{input}}",
    );
    tree.write("agents/.hidden.md", "---\ndescription: x\n---\n");
    let settings = Settings {
        libraries: vec![tree.path("agents")],
        ..tree.settings()
    };
    let live = LiveCatalog::load(settings);
    assert_eq!(library(&live, "agents").kind, LibraryKind::Markdown);
    assert_eq!(description(&live, "review").as_deref(), Some("Reviews"));
    let before = names(&live);
    tree.write(
        "agents/fix.md",
        "---\ndescription: Fixes\n---\nFix {{input}}",
    );
    assert!(live.refresh().lists_changed);
    assert_eq!(names(&live).len(), before.len() + 1);
    tree.write(
        "agents/review.md",
        "---\ndescription: Reviews more\n---\nReview {{input}}",
    );
    assert!(live.refresh().lists_changed);
    assert!(!live.refresh().changed);
    fs::remove_file(tree.path("agents/fix.md")).unwrap();
    assert!(live.refresh().lists_changed);
    assert_eq!(names(&live), before);
}

#[test]
fn endings_of_markdown_files_may_be_in_capitals() {
    let tree = Tree::new();
    tree.write("agents/REVIEW.MD", "---\ndescription: Reviews\n---\nReview");
    tree.write("agents/fix.Md", "---\ndescription: Fixes\n---\nFix");
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("agents")],
        ..tree.settings()
    });
    assert_eq!(codes(&live), [""; 0]);
    let listed = names(&live);
    let mut listed: Vec<String> = listed.iter().map(|name| name.to_lowercase()).collect();
    listed.sort();
    assert_eq!(listed, ["fix", "review"]);
    assert_eq!(description(&live, "fix").as_deref(), Some("Fixes"));
}

#[test]
fn a_markdown_file_in_utf16_says_what_to_do() {
    let tree = Tree::new();
    tree.write("agents/a.md", "---\ndescription: A\n---\nText");
    tree.write("agents/b.md", b"\xff\xfeH\0i\0");
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("agents")],
        ..tree.settings()
    });
    assert_eq!(names(&live), ["a"]);
    let problem = problems(&live).remove(0);
    assert_eq!(problem.code, "not-utf8");
    assert!(problem.message.ends_with("b.md looks like UTF-16"));
    assert_eq!(problem.help.as_deref(), Some("save the file as UTF-8"));
}

#[test]
fn markdown_in_the_data_folder_is_no_library() {
    let tree = Tree::new();
    tree.write("data/notes/plain.md", "Just text");
    assert_eq!(names(&tree.load()), [""; 0]);
    let live = LiveCatalog::load(Settings {
        libraries: vec![tree.path("data/notes")],
        ..tree.settings()
    });
    assert_eq!(codes(&live), [""; 0]);
    assert_eq!(library(&live, "notes").kind, LibraryKind::Markdown);
}

#[test]
fn the_separator_is_the_persons() {
    let tree = Tree::with(&["a"]);
    let live = LiveCatalog::load(Settings {
        separator: "__".to_owned(),
        ..tree.settings()
    });
    assert_eq!(names(&live), ["lib__a"]);
}
