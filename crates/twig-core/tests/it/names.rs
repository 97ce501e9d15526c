//! Names and paths: what is taken, what is refused, and what always holds.

use proptest::prelude::*;
use twig_core::name::{NameError, check_argument_name, client_key, twin_key};
use twig_core::{LibraryName, PromptName, RelativePath};

#[test]
fn folders_become_library_names() {
    let name = |folder: &str| LibraryName::from_folder(folder).map(|name| name.to_string());
    assert_eq!(name("My-Coding Lib").as_deref(), Some("my_coding_lib"));
    assert_eq!(name("__MyLib__").as_deref(), Some("mylib"));
    assert_eq!(name("a--b").as_deref(), Some("a__b"));
    assert_eq!(name("Ärger").as_deref(), Some("ärger"));
    assert_eq!(name("A\u{308}rger").as_deref(), Some("ärger"));
    assert_eq!(name("---"), None);
    assert_eq!(name(""), None);
    assert_eq!(name(&"x".repeat(128)).map(|name| name.len()), Some(128));
    assert_eq!(name(&"x".repeat(129)), None);
}

#[test]
fn prompt_names_are_keys_not_paths() {
    for name in [
        "review",
        "code_review",
        "a-b",
        "v1.2",
        "Ä",
        "_private",
        "7days",
    ] {
        assert!(PromptName::parse(name).is_ok(), "{name}");
    }
    for name in [
        "..",
        ".",
        "../x",
        "a/b",
        "a b",
        "a:b",
        "a\\b",
        "a\0b",
        "x.",
        "-x",
        "x\n",
        "\u{202e}x",
        "．．",
    ] {
        assert_eq!(
            PromptName::parse(name),
            Err(NameError::Character),
            "{name:?}"
        );
    }
    assert_eq!(PromptName::parse(&"x".repeat(129)), Err(NameError::TooLong));
}

#[test]
fn names_that_are_not_bare_keys_are_quoted() {
    let key = |name: &str| {
        PromptName::parse(name)
            .expect("a name")
            .as_toml_key()
            .into_owned()
    };
    assert_eq!(key("a-b_1"), "a-b_1");
    assert_eq!(key("a.b"), "\"a.b\"");
    assert_eq!(key("é"), "\"é\"");
}

#[test]
fn argument_names_are_identifiers() {
    assert_eq!(check_argument_name("max_issues2"), Ok(()));
    for name in ["max-issues", "2x", "a.b", "ä", "a b"] {
        assert_eq!(
            check_argument_name(name),
            Err(NameError::NotAnIdentifier),
            "{name}"
        );
    }
}

#[test]
fn twins_are_equal_under_their_key() {
    assert_eq!(twin_key("Review"), twin_key("rEVIEW"));
    assert_eq!(twin_key("Ä"), twin_key("a\u{308}"));
    assert_eq!(client_key("lib:code.review"), "lib_code_review");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn a_library_name_is_its_own_name(folder in any::<String>()) {
        if let Some(name) = LibraryName::from_folder(&folder) {
            let text = name.as_str();
            prop_assert!(!text.is_empty() && text.len() <= 128);
            prop_assert!(text.chars().all(|c| c.is_alphanumeric() || c == '_'));
            prop_assert!(!text.starts_with('_') && !text.ends_with('_'));
            let again = LibraryName::from_folder(text);
            prop_assert_eq!(again.as_ref().map(LibraryName::as_str), Some(text));
        }
    }

    #[test]
    fn a_path_that_is_taken_stays_inside(parts in proptest::collection::vec(
        prop_oneof![Just("..".to_owned()), Just(".".to_owned()), Just(String::new()), Just("~".to_owned()),
            Just("C:".to_owned()), Just("a\\b".to_owned()), "[a-z.]{1,4}", any::<String>()], 0..6)) {
        let text = parts.join("/");
        if let Ok(path) = RelativePath::parse(&text) {
            prop_assert!(!path.as_str().starts_with('/'));
            for part in path.as_str().split('/') {
                prop_assert!(!part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '\0']));
            }
            prop_assert_eq!(RelativePath::parse(path.as_str()), Ok(path));
        }
    }

    #[test]
    fn a_prompt_name_is_never_a_path(text in any::<String>()) {
        if PromptName::parse(&text).is_ok() {
            prop_assert!(!text.contains(['/', '\\', ':', '\0']) && text != "." && text != "..");
        }
    }
}
