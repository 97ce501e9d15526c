//! Files that were written for other clients: found where they lie, followed, and never lost.

mod bounds;
mod corpus;
mod detect;
mod following;
mod naming;

use std::path::PathBuf;

use twig_core::{Content, LibraryKind};
use twig_sources::{LiveCatalog, Remembered, Settings};

use crate::support::Tree;

/// Loads folders that the person names.
fn named(tree: &Tree, paths: &[&str]) -> Settings {
    Settings {
        data: None,
        libraries: paths.iter().map(|path| tree.path(path)).collect(),
        ..tree.settings()
    }
}

/// Loads folders that the configuration remembers.
fn remembered(tree: &Tree, paths: &[&str]) -> Settings {
    let entry = |path: &&str| Remembered {
        path: tree.path(path),
        ..Remembered::default()
    };
    Settings {
        data: None,
        remembered: paths.iter().map(entry).collect(),
        ..tree.settings()
    }
}

/// Every library: name, kind and folder, below the tree.
fn libraries(tree: &Tree, live: &LiveCatalog) -> Vec<(String, &'static str, String)> {
    let root = tree.path("");
    let catalog = live.snapshot();
    let rows = catalog.libraries().iter().map(|library| {
        let path = PathBuf::from(&*library.root);
        let path = path.strip_prefix(&root).unwrap().display().to_string();
        (library.name.to_string(), library.kind.as_str(), path)
    });
    rows.collect()
}

/// The files of all prompts that are listed, by library.
fn files(live: &LiveCatalog) -> Vec<String> {
    let catalog = live.snapshot();
    let files = catalog.prompts(0).map(|found| {
        let content = &found.prompt.messages[0].content;
        match content {
            Content::File(path) => format!("{} {path}", found.library.name),
            other => panic!("{other:?}"),
        }
    });
    let mut files: Vec<String> = files.collect();
    files.sort();
    files
}

fn kinds(live: &LiveCatalog) -> Vec<LibraryKind> {
    let catalog = live.snapshot();
    catalog.libraries().iter().map(|it| it.kind).collect()
}
