//! The catalog: order, lookup, what shadows what, and when a list has changed.

use std::sync::Arc;

use proptest::prelude::*;
use twig_core::{Catalog, Lookup};

use crate::manifest::library;

fn catalog(libraries: &[(&str, &str)]) -> Catalog {
    Catalog::build(
        libraries
            .iter()
            .map(|(folder, text)| Arc::new(library(folder, text))),
    )
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog
        .prompts(0)
        .map(|found| &*found.prompt.full_name)
        .collect()
}

#[test]
fn prompts_are_sorted_by_their_full_name() {
    let catalog = catalog(&[
        ("b", "[prompts.z]\n[prompts.a]\n"),
        ("a", "[prompts.q]\n"),
        ("b_", "[prompts.c]\n"),
    ]);
    assert_eq!(names(&catalog), ["a:q", "b:a", "b:z"]);
    // `b_` becomes `b` too, and the first one keeps the name.
    assert_eq!(catalog.shadowed().len(), 1);
    let problem = catalog.problems().next().expect("a problem");
    assert_eq!(
        problem.to_string(),
        "/data/b_: error[duplicate-library]: library `b` is already taken by ~/data/b; rename one of the folders: ~/data/b_ is not served"
    );
}

#[test]
fn a_bare_name_is_enough_where_it_is_the_only_one() {
    let catalog = catalog(&[("a", "[prompts.x]\n[prompts.y]\n"), ("b", "[prompts.y]\n")]);
    assert!(matches!(catalog.find("x"), Lookup::Found(found) if &*found.prompt.full_name == "a:x"));
    assert!(matches!(catalog.find("a:y"), Lookup::Found(_)));
    assert!(matches!(catalog.find("y"), Lookup::Ambiguous(names) if names == ["a:y", "b:y"]));
    assert!(matches!(catalog.find("z"), Lookup::Missing));
    assert!(matches!(catalog.find(""), Lookup::Missing));
}

#[test]
fn a_prompt_without_its_file_is_found_but_not_listed() {
    let catalog = catalog(&[("a", "[prompts.missing]\n[prompts.fine]\n")]);
    assert_eq!(names(&catalog), ["a:fine"]);
    assert!(
        matches!(catalog.find("missing"), Lookup::Found(found) if found.prompt.unavailable.is_some())
    );
}

#[test]
fn names_that_clients_would_mix_up_are_a_warning() {
    let catalog = catalog(&[("a", "[prompts.b_c]\n"), ("a_b", "[prompts.c]\n")]);
    let problem = catalog.problems().next().expect("a problem");
    assert_eq!(problem.code, "name-collision");
    assert_eq!(
        problem.message,
        "`a:b_c` and `a_b:c` are one name, `a_b_c`, in clients that rewrite names"
    );
}

#[test]
fn a_list_changes_when_a_client_would_see_it() {
    let base = "[prompts.p]\ndescription = \"x\"\n";
    let same = |other: &str| catalog(&[("a", base)]).lists_the_same(&catalog(&[("a", other)]));
    assert!(same(base));
    assert!(same(
        "# a comment\n[prompts.p]\ndescription = \"x\"\nfile = \"other.md\"\n"
    ));
    assert!(!same("[prompts.p]\ndescription = \"y\"\n"));
    assert!(!same("[prompts.p]\ndescription = \"x\"\ntitle = \"t\"\n"));
    assert!(!same(
        "[prompts.p]\ndescription = \"x\"\n[[prompts.p.arguments]]\nname = \"n\"\n"
    ));
    assert!(!same(
        "[prompts.p]\ndescription = \"x\"\nfile = \"missing.md\"\n"
    ));
    assert!(!same(""));
}

#[test]
fn near_names_are_suggested() {
    let catalog = catalog(&[("lib", "[prompts.code_review]\n[prompts.summary]\n")]);
    assert_eq!(catalog.suggestions("lib:code_revue"), ["lib:code_review"]);
    assert_eq!(catalog.suggestions("CodeReview"), ["lib:code_review"]);
    assert_eq!(catalog.suggestions("zzz"), Vec::<String>::new());
    assert_eq!(catalog.suggestions(""), Vec::<String>::new());
}

proptest! {
    /// Same documents, same fingerprint, same order, whatever was built before.
    #[test]
    fn a_catalog_is_a_function_of_its_documents(
        libraries in proptest::collection::vec(("[a-c]{1,2}", proptest::collection::btree_set("[a-d]", 0..4)), 0..5)
    ) {
        let build = || {
            let libraries = libraries.iter().map(|(folder, prompts)| {
                let text: String = prompts.iter().map(|name| format!("[prompts.{name}]\n")).collect();
                Arc::new(library(folder, &text))
            });
            Catalog::build(libraries)
        };
        let (one, two) = (build(), build());
        prop_assert_eq!(one.fingerprint(), two.fingerprint());
        prop_assert_eq!(names(&one), names(&two));
        prop_assert!(one.lists_the_same(&two));
        let mut sorted = names(&one);
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted, names(&one));
        for name in names(&one) {
            prop_assert!(matches!(one.find(name), Lookup::Found(_)));
        }
    }
}
