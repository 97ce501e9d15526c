//! Documents in a catalog: order, lookup, and which changes are whose news.

use std::sync::Arc;

use twig_core::document::{Document, Head, rfc3339};
use twig_core::parse::documents::{DocumentLayout, FoundDocument, documents};
use twig_core::parse::library::{LibraryRoot, add_documents, empty_library};
use twig_core::{Catalog, Library, LibraryKind, LibraryName, RelativePath, Revisions};

fn path(path: &str) -> RelativePath {
    RelativePath::parse(path).expect("a path")
}

fn found(name: &str, text: &str, version: u64) -> FoundDocument {
    FoundDocument {
        path: path(&format!("docs/{name}")),
        head: Head::read(name, text.as_bytes(), true),
        size: text.len() as u64,
        modified: Some(1_700_000_000),
        version,
    }
}

fn library(name: &str, files: &[FoundDocument]) -> Library {
    let folder = LibraryRoot {
        name: LibraryName::from_folder(name).expect("a name"),
        root: format!("/data/{name}").into(),
        shown_root: format!("~/{name}").into(),
        prefix: "lib:".into(),
    };
    let layout = DocumentLayout {
        folders: vec![path("docs")],
        prefix: "architecture://".into(),
        templates: Vec::new(),
    };
    let mut library = empty_library(&folder, LibraryKind::Definitions, Vec::new());
    let mut problems = Vec::new();
    let made = documents(
        &folder,
        &layout.prefix,
        &layout.folders[0],
        files,
        &mut problems,
    );
    library.problems = problems;
    add_documents(&mut library, &layout, made);
    library
}

fn catalog(libraries: Vec<Library>) -> Catalog {
    Catalog::build(libraries.into_iter().map(Arc::new))
}

fn uris(catalog: &Catalog) -> Vec<&str> {
    catalog
        .documents(0)
        .map(|found| &*found.document.uri)
        .collect()
}

#[test]
fn a_path_becomes_a_uri_and_a_number_is_enough_for_a_decision() {
    let files = [
        found("adr/001-microservices-architecture.md", "# Services", 1),
        found("overview.md", "", 1),
        found("patterns/repository-pattern.md", "# Repository", 1),
    ];
    let catalog = catalog(vec![library("lib", &files)]);
    assert_eq!(
        uris(&catalog),
        [
            "architecture://adr/001-microservices-architecture",
            "architecture://overview",
            "architecture://patterns/repository-pattern",
        ]
    );
    let title = |uri: &str| {
        catalog
            .document(uri)
            .map(|found| found.document.shown_title().to_owned())
    };
    assert_eq!(title("architecture://adr/001").as_deref(), Some("Services"));
    assert_eq!(
        title("architecture://overview").as_deref(),
        Some("overview")
    );
    assert_eq!(title("architecture://adr/01"), None);
    let templates: Vec<&str> = catalog.templates().map(|it| it.template.as_str()).collect();
    let usual = ["architecture://{category}/{name}", "architecture://{name}"];
    assert_eq!(templates, usual);
    let patterns = catalog.documents_in("architecture://patterns/");
    assert_eq!(patterns.count(), 1);
}

#[test]
fn of_two_libraries_with_one_uri_the_first_is_served() {
    let (one, two) = (
        [found("a.md", "# One", 1)],
        [found("a.md", "# Two", 2), found("b.md", "", 1)],
    );
    let catalog = catalog(vec![library("one", &one), library("two", &two)]);
    assert_eq!(uris(&catalog), ["architecture://a", "architecture://b"]);
    let served = catalog
        .document("architecture://a")
        .map(|found| found.document.shown_title());
    assert_eq!(served, Some("One"));
    let codes: Vec<&str> = catalog
        .problems()
        .map(|problem| problem.code.as_str())
        .collect();
    assert_eq!(codes, ["shadowed-document"]);
}

#[test]
fn an_edit_is_news_of_the_document_and_not_of_the_list() {
    let base = |text: &str, version| library("lib", &[found("x/a.md", text, version)]);
    let first = catalog(vec![base("# A", 1)]);
    let check = |next: Vec<Library>, documents: u64, contents: u64| {
        let next = catalog(next).after(&first);
        let expected = Revisions {
            prompts: 0,
            documents,
            contents,
            tools: 0,
        };
        assert_eq!(next.revisions(), expected);
        next.fingerprint() == first.fingerprint()
    };
    assert!(check(vec![base("# A", 1)], 0, 0));
    assert!(check(vec![base("# A\n\nmore", 2)], 0, 1));
    assert!(!check(vec![base("# B", 2)], 1, 1));
    assert!(!check(vec![], 1, 1));
    let two = [found("b.md", "", 1), found("x/a.md", "# A", 1)];
    assert!(!check(vec![library("lib", &two)], 1, 1));
    let later = catalog(vec![base("# B", 2)]).after(&first);
    let back = catalog(vec![base("# A", 3)]).after(&later);
    assert_eq!(back.revisions().documents, 2);
}

#[test]
fn what_a_document_is_follows_from_its_file() {
    let files = [found("logo", "GIF89a", 1), found("notes", "plain", 1)];
    let catalog = catalog(vec![library("lib", &files)]);
    let document =
        |uri: &str| -> Document { catalog.document(uri).expect("a document").document.clone() };
    assert_eq!(document("architecture://logo").mime, "image/gif");
    assert_eq!(document("architecture://notes").mime, "text/plain");
    let modified = document("architecture://notes").modified.and_then(rfc3339);
    assert_eq!(modified.as_deref(), Some("2023-11-14T22:13:20Z"));
}

#[test]
fn a_remote_client_reads_no_folder_of_documents_beside_a_project() {
    let beside = RelativePath::beside("../docs").expect("beside");
    let library = Library {
        root: "/home/me/shop/.twig".into(),
        shown_root: "~/shop/.twig".into(),
        documents_beside: Some(beside.expect("a path")),
        ..library("shop", &[])
    };
    for (sentence, expected) in [
        ("/home/me/shop/docs/a.md is gone", "docs/a.md is gone"),
        ("~/shop/docs/a.md is gone", "docs/a.md is gone"),
        ("~/shop/.twig/a.md is gone", "shop/a.md is gone"),
    ] {
        let reworded = twig_core::remote::without_folders([&library], sentence);
        assert_eq!(reworded, expected);
    }
}
