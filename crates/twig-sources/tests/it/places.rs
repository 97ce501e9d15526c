//! Folders that cannot be looked into are problems, not only lines in a log.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use twig_sources::{FoundState, LiveCatalog, Settings};

use crate::support::{Tree, codes, manifest, names, problems};

/// Makes a path lead in a circle: nobody can list that, not even who may do anything.
fn make_loop(tree: &Tree, path: &str) {
    let path = tree.path(path);
    symlink(path.file_name().unwrap(), &path).unwrap();
}

#[test]
fn a_data_folder_that_is_a_file_is_a_problem() {
    let tree = Tree::new();
    fs::remove_dir(tree.path("data")).unwrap();
    tree.write("data", "");
    let live = tree.load();
    assert_eq!(codes(&live), ["not-a-folder"]);
    assert_eq!(live.found()[0].state, FoundState::NotAFolder);
    assert_eq!(problems(&live)[0].message, "~/data is not a folder");
    fs::remove_file(tree.path("data")).unwrap();
    tree.library("data/lib", &["a"]);
    live.refresh();
    assert_eq!(codes(&live), [""; 0]);
    assert_eq!(names(&live), ["lib:a"]);
}

#[test]
fn a_data_folder_beneath_a_file_is_not_there() {
    let tree = Tree::new();
    tree.write("file", "");
    let live = LiveCatalog::load(Settings {
        data: Some(tree.path("file/data")),
        ..tree.settings()
    });
    assert_eq!(problems(&live), []);
    assert_eq!(live.found()[0].state, FoundState::Missing);
}

#[test]
fn a_data_folder_that_cannot_be_read_is_a_problem() {
    let tree = Tree::new();
    fs::remove_dir(tree.path("data")).unwrap();
    make_loop(&tree, "data");
    let live = tree.load();
    assert_eq!(codes(&live), ["unreadable-folder"]);
    assert!(matches!(live.found()[0].state, FoundState::Unreadable(_)));
}

#[test]
fn a_data_folder_without_permission_is_one_problem_and_keeps_its_prompts() {
    let tree = Tree::with(&["a"]);
    fs::create_dir(tree.path("data/drafts")).unwrap();
    let live = tree.load();
    let data = tree.path("data");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o000)).unwrap();
    live.refresh();
    // Whoever may do anything may list it too.
    if fs::read_dir(&data).is_err() {
        let places: Vec<_> = live.problems().iter().map(|p| p.code.as_str()).collect();
        assert_eq!(places, ["unreadable-folder"]);
        assert_eq!(names(&live), ["lib:a"]);
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_library_folder_that_cannot_be_listed_is_a_problem() {
    let tree = Tree::with(&["a"]);
    make_loop(&tree, "data/round");
    fs::create_dir(tree.path("data/lost+found")).unwrap();
    let live = tree.load();
    assert_eq!(names(&live), ["lib:a"]);
    assert_eq!(codes(&live), ["unreadable-folder"]);
    let path = tree.path("data/round");
    assert_eq!(&*problems(&live)[0].path, path.to_str().unwrap());
    fs::remove_file(path).unwrap();
    live.refresh();
    assert_eq!(codes(&live), [""; 0]);
}

#[test]
fn a_library_folder_without_permission_is_a_problem() {
    let tree = Tree::with(&["a"]);
    tree.library("data/locked", &["b"]);
    let locked = tree.path("data/locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may do anything may list it too.
    if fs::read_dir(&locked).is_err() {
        assert_eq!(codes(&tree.load()), ["unreadable-folder"]);
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_library_folder_whose_name_is_no_text_is_a_problem() {
    let tree = Tree::with(&["a"]);
    let name = |bytes| tree.path("data").join(OsStr::from_bytes(bytes));
    fs::create_dir(name(b"gr\xfcn")).unwrap();
    let live = tree.load();
    assert_eq!(codes(&live), [""; 0], "it is no library");
    fs::write(name(b"gr\xfcn").join("twig.toml"), manifest(&["b"])).unwrap();
    live.refresh();
    assert_eq!(codes(&live), ["bad-library-name"]);
    assert_eq!(names(&live), ["lib:a"]);
}
