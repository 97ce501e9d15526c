//! Libraries on disk: what is found, kept, and reported.

use std::fs;

use super::*;
use twig_clients::clients::formats;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn load(root: &Path, kind: LibraryKind, before: Option<LibraryFolder>) -> Option<LibraryFolder> {
    let candidate = Candidate::new(root.to_path_buf(), kind);
    let (settings, trust) = (Settings::default(), Trust::default());
    let lists = PackageLists::default();
    LibraryFolder::load(&settings, &trust, &lists, &candidate, before).unwrap()
}

/// A folder whose name is a valid library name.
fn home() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("lib");
    fs::create_dir(&root).unwrap();
    (dir, root)
}

const MANIFEST: &str = "[documents]\nfolder = \"docs\"\nscheme = \"architecture\"\n";

fn uris(state: &LibraryFolder) -> Vec<&str> {
    state.library.documents.iter().map(|it| &*it.uri).collect()
}

fn versions(state: &LibraryFolder) -> Vec<u64> {
    state
        .library
        .documents
        .iter()
        .map(|it| it.version)
        .collect()
}

#[test]
fn a_manifest_that_just_went_away_leaves_no_library() {
    let (_dir, root) = home();
    assert!(load(&root, LibraryKind::Twig, None).is_none());
    assert!(load(&root.join("gone"), LibraryKind::Twig, None).is_none());
}

#[cfg(unix)]
#[test]
fn a_manifest_that_is_a_link_to_nothing_is_a_problem() {
    let (_dir, root) = home();
    std::os::unix::fs::symlink("nowhere", root.join("twig.toml")).unwrap();
    let library = load(&root, LibraryKind::Twig, None).unwrap().library;
    let problem = &library.problems[0];
    assert!(
        problem.message.ends_with("twig.toml is a broken symlink"),
        "{problem}"
    );
    assert_eq!(problem.help.as_deref(), Some("fix or remove it"));
}

#[test]
fn what_did_not_change_is_neither_read_nor_made_again() {
    let (_dir, root) = home();
    write(&root, "a/one.md", "One.\n");
    write(&root, "two.md", "Two.\n");
    let first = load(&root, formats::CLAUDE.kind(), None).unwrap();
    let library = first.library();
    assert_eq!(library.prompts.len(), 2);
    let second = load(&root, formats::CLAUDE.kind(), Some(first)).unwrap();
    assert!(Arc::ptr_eq(&library, &second.library));
    write(&root, "two.md", "---\ndescription: Other.\n---\nTwo.\n");
    let third = load(&root, formats::CLAUDE.kind(), Some(second)).unwrap();
    assert!(!Arc::ptr_eq(&library, &third.library));
    // The prompt of an unchanged file is the same allocation.
    let kept = |library: &Library| {
        let is_it = |it: &&Arc<twig_core::Prompt>| it.name.as_str().contains("one");
        Arc::clone(library.prompts.iter().find(is_it).unwrap())
    };
    assert_eq!(kept(&library), kept(&third.library));
}

#[test]
fn only_documents_that_changed_are_looked_into() {
    let (_dir, root) = home();
    write(&root, "twig.toml", MANIFEST);
    let pattern = "docs/patterns/repository-pattern.md";
    write(&root, pattern, "# Repository\n");
    write(&root, "docs/a.md", "# A\n");
    let first = load(&root, LibraryKind::Twig, None).unwrap();
    assert_eq!(
        uris(&first),
        [
            "architecture://a",
            "architecture://patterns/repository-pattern"
        ]
    );
    let (before, library) = (versions(&first), first.library());
    let second = load(&root, LibraryKind::Twig, Some(first)).unwrap();
    assert!(Arc::ptr_eq(&library, &second.library));
    write(&root, "docs/a.md", "# B\n");
    let third = load(&root, LibraryKind::Twig, Some(second)).unwrap();
    assert_eq!(third.library.documents[0].shown_title(), "B");
    assert_ne!(versions(&third)[0], before[0]);
    assert_eq!(versions(&third)[1], before[1]);
}

#[test]
fn the_first_folder_that_is_there_holds_the_documents() {
    let (_dir, root) = home();
    write(&root, "prompts/p.json", "{}");
    let none = load(&root, LibraryKind::Definitions, None).unwrap();
    assert_eq!(uris(&none), [""; 0]);
    assert!(none.watched().iter().any(|path| path.ends_with("mcp")));
    write(&root, "mcp/resources/x.md", "x");
    let other = load(&root, LibraryKind::Definitions, Some(none)).unwrap();
    assert_eq!(uris(&other), ["architecture://x"]);
    write(&root, "docs/y.md", "y");
    let docs = load(&root, LibraryKind::Definitions, Some(other)).unwrap();
    assert_eq!(uris(&docs), ["architecture://y"]);
    fs::remove_dir_all(root.join("docs")).unwrap();
    let back = load(&root, LibraryKind::Definitions, Some(docs)).unwrap();
    assert_eq!(uris(&back), ["architecture://x"]);
}

#[test]
fn definitions_are_found_wherever_they_come_to_be() {
    let (_dir, root) = home();
    let names = |state: &LibraryFolder| -> Vec<String> {
        let prompts = state.library.prompts.iter();
        prompts.map(|it| it.name.to_string()).collect()
    };
    let text = |name: &str| {
        let content = r#"{"type": "text", "text": "x"}"#;
        format!(r#"{{"name": "{name}", "messages": [{{"role": "user", "content": {content}}}]}}"#)
    };
    let none = load(&root, LibraryKind::Definitions, None).unwrap();
    assert_eq!(names(&none), [""; 0]);
    write(&root, "mcp/prompts/a.json", &text("a"));
    let one = load(&root, LibraryKind::Definitions, Some(none)).unwrap();
    assert_eq!(names(&one), ["a"]);
    // As long as that folder has definitions, the other one does not count.
    write(&root, "prompts/b.json", &text("b"));
    let same = load(&root, LibraryKind::Definitions, Some(one)).unwrap();
    assert_eq!(names(&same), ["a"]);
    fs::remove_dir_all(root.join("mcp")).unwrap();
    let other = load(&root, LibraryKind::Definitions, Some(same)).unwrap();
    assert_eq!(names(&other), ["b"]);
}

#[cfg(unix)]
#[test]
fn a_documents_folder_that_is_a_file_or_leads_out_is_a_problem() {
    for make in [
        |path: &Path, _: &Path| fs::write(path, "x"),
        |path: &Path, outside: &Path| std::os::unix::fs::symlink(outside, path),
    ] {
        let ((_dir, root), outside) = (home(), tempfile::tempdir().unwrap());
        write(&root, "prompts/p.json", "{}");
        fs::write(outside.path().join("secret.md"), "# Secret\n").unwrap();
        let before = load(&root, LibraryKind::Definitions, None).unwrap();
        let before = before.library.problems.len();
        make(&root.join("docs"), outside.path()).unwrap();
        let state = load(&root, LibraryKind::Definitions, None).unwrap();
        assert_eq!(uris(&state), [""; 0]);
        let problems = &state.library.problems;
        assert_eq!(problems.len(), before + 1, "{problems:?}");
    }
}

#[test]
fn one_uri_and_one_number_mean_one_file() {
    let (_dir, root) = home();
    write(&root, "twig.toml", MANIFEST);
    for path in [
        "a",
        "a.md",
        "adr/001-x.md",
        "adr/001-y.md",
        "adr/002-z.md",
        "adr/003-z.md",
        "adr/003.md",
    ] {
        write(&root, &format!("docs/{path}"), "x");
    }
    let state = load(&root, LibraryKind::Twig, None).unwrap();
    let problems = state.library.problems.iter();
    let codes: Vec<&str> = problems.map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["duplicate-document", "ambiguous-number"]);
    let documents = state.library.documents.iter();
    let short = documents.filter_map(|it| it.short_uri.as_deref());
    assert_eq!(short.collect::<Vec<_>>(), ["architecture://adr/002"]);
    assert_eq!(state.library.documents[0].place(), "docs/a");
}

#[test]
fn functions_keep_their_last_good_state_like_manifests() {
    let (_dir, root) = home();
    for (kind, file, good, broken) in [
        (
            LibraryKind::Twig,
            "twig.toml",
            "[prompts.p]\nfile = \"p.md\"\n",
            "[",
        ),
        (
            LibraryKind::Functions,
            "prompts.json",
            r#"[{"name": "p"}]"#,
            "[",
        ),
    ] {
        write(&root, "p.md", "Hello.");
        write(&root, "prompts.bash", "prompt_p() { :; }");
        write(&root, file, good);
        let first = load(&root, kind, None).unwrap();
        assert_eq!(first.whole.prompts.len(), 1, "{kind:?}");
        write(&root, file, broken);
        let second = load(&root, kind, Some(first)).unwrap();
        assert_eq!(second.whole.prompts.len(), 1, "{kind:?}");
        let help = second.whole.problems[0].help.as_deref().unwrap_or_default();
        assert!(help.contains("last good version"), "{kind:?}: {help}");
    }
}
