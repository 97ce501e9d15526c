//! A documents folder on disk: what is found, kept, and told.

use std::fs;
use std::path::Path;

use twig_core::LibraryName;

use super::*;

fn folder(root: &Path) -> Folder {
    Folder {
        name: LibraryName::from_folder("lib").unwrap(),
        root: root.to_str().unwrap().into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    }
}

fn layout() -> Layout {
    let folders = ["docs", "mcp/resources"];
    Layout {
        folders: folders
            .map(|path| RelativePath::parse(path).unwrap())
            .to_vec(),
        prefix: "architecture://".into(),
        templates: Vec::new(),
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn load(root: &Path, before: Option<DocumentFolder>) -> DocumentFolder {
    DocumentFolder::load(&folder(root), &layout(), &Limits::default(), before)
}

fn uris(state: &DocumentFolder) -> Vec<&str> {
    state.documents.iter().map(|it| &*it.uri).collect()
}

#[test]
fn only_what_changed_is_looked_into() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(
        root,
        "docs/patterns/repository-pattern.md",
        "# Repository\n",
    );
    write(root, "docs/a.md", "# A\n");
    let first = load(root, None);
    assert!(first.changed);
    assert_eq!(
        uris(&first),
        [
            "architecture://a",
            "architecture://patterns/repository-pattern"
        ]
    );
    let versions = |state: &DocumentFolder| -> Vec<u64> {
        state.documents.iter().map(|it| it.version).collect()
    };
    let before = versions(&first);
    let second = load(root, Some(first));
    assert!(!second.changed);
    assert_eq!(versions(&second), before);
    write(root, "docs/a.md", "# B\n");
    let third = load(root, Some(second));
    assert!(third.changed);
    assert_eq!(third.documents[0].shown_title(), "B");
    assert_ne!(versions(&third)[0], before[0]);
    assert_eq!(versions(&third)[1], before[1]);
}

#[test]
fn the_first_folder_that_is_there_holds_the_documents() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let none = load(root, None);
    assert_eq!(uris(&none), [""; 0]);
    assert!(none.watched().any(|path| path.ends_with("mcp")));
    write(root, "mcp/resources/x.md", "x");
    let other = load(root, Some(none));
    assert_eq!(uris(&other), ["architecture://x"]);
    write(root, "docs/y.md", "y");
    let docs = load(root, Some(other));
    assert_eq!(uris(&docs), ["architecture://y"]);
    fs::remove_dir_all(root.join("docs")).unwrap();
    let back = load(root, Some(docs));
    assert!(back.changed);
    assert_eq!(uris(&back), ["architecture://x"]);
}

#[cfg(unix)]
#[test]
fn a_documents_folder_that_is_a_file_or_leads_out_is_a_problem() {
    for make in [
        |path: &Path, _: &Path| fs::write(path, "x"),
        |path: &Path, outside: &Path| std::os::unix::fs::symlink(outside, path),
    ] {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret.md"), "# Secret\n").unwrap();
        make(&dir.path().join("docs"), outside.path()).unwrap();
        let state = load(dir.path(), None);
        assert_eq!(uris(&state), [""; 0]);
        assert_eq!(state.problems.len(), 1, "{:?}", state.problems);
    }
}

#[test]
fn one_uri_and_one_number_mean_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for path in [
        "a",
        "a.md",
        "adr/001-x.md",
        "adr/001-y.md",
        "adr/002-z.md",
        "adr/003-z.md",
        "adr/003.md",
    ] {
        write(root, &format!("docs/{path}"), "x");
    }
    let state = load(root, None);
    let codes: Vec<&str> = state
        .problems
        .iter()
        .map(|problem| problem.code.as_str())
        .collect();
    assert_eq!(codes, ["duplicate-document", "ambiguous-number"]);
    let short = state
        .documents
        .iter()
        .filter_map(|it| it.short_uri.as_deref());
    assert_eq!(short.collect::<Vec<_>>(), ["architecture://adr/002"]);
    assert_eq!(state.documents[0].path.as_str(), "docs/a");
}
