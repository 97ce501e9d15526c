//! Whatever a file holds: a prompt or a problem, a name, a description, and never a panic.

use proptest::prelude::*;
use twig_core::marks::{MarkedPiece, pieces};
use twig_core::{AppendedForm, Argument, LibraryKind, Marks};

use super::Shelf;

/// Every kind whose files are read in place.
fn kinds() -> Vec<LibraryKind> {
    let kinds = twig_clients::clients::kinds();
    kinds.filter(|kind| kind.is_format()).collect()
}

/// Bytes that now and then mean something.
fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..8),
        any::<String>().prop_map(String::into_bytes),
        "(---\n|\n|# |```\n|````x\n|\\$ARGUMENTS|\\$[0-9]|\\$[A-Z]{1,3}|\\$\\{input:[a-z:|]{0,4}\\}|arguments: |- |name: |description: |prompt = |\"\"\"|\\{\\{[a-z ]{0,5}\\}\\}|messages:\n|- role: user\n|  content: |\\[|\\\\|')"
            .prop_map(String::into_bytes),
    ];
    proptest::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

fn any_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-zA-Z0-9 .:_-]{1,12}",
        "[ü確\u{200b}🙂]{1,3}",
        Just("SKILL".to_owned())
    ];
    let ending = prop_oneof![
        Just(".md"),
        Just(".prompt.md"),
        Just(".toml"),
        Just(".prompt.yml"),
        Just("/system.md"),
        Just("")
    ];
    let parts = proptest::collection::vec(part, 1..4);
    (parts, ending).prop_map(|(parts, ending)| format!("{}{ending}", parts.join("/")))
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_prompt_or_a_problem(
        files in proptest::collection::vec((any_path(), any_file()), 1..5),
        kind in proptest::sample::select(kinds()),
    ) {
        let mut shelf = Shelf::new(kind, []);
        for (path, bytes) in files {
            if let Ok(path) = twig_core::RelativePath::parse(&path) {
                shelf.files.insert(path, bytes);
            }
        }
        let library = shelf.library();
        prop_assert_eq!(&library, &shelf.library());
        let mut names = std::collections::BTreeSet::new();
        for prompt in &library.prompts {
            let name = prompt.name.as_str();
            let is_good = twig_core::PromptName::parse(name).is_ok() && !name.contains('.');
            prop_assert!(name.len() <= 64 && is_good && name == name.to_lowercase(), "{name}");
            prop_assert!(names.insert(name), "{name}");
            let description = prompt.description.as_deref().unwrap_or_default();
            prop_assert!(!description.trim().is_empty(), "{name}");
            if prompt.unavailable.is_none() {
                let given: Vec<(&str, &str)> = prompt.arguments.iter().map(|it| (&*it.name, "v")).collect();
                let rendered = shelf.messages(&prompt.full_name, &given);
                let is_refused = prompt.arguments.iter().any(|it| it.pattern.is_some() || !it.choices.is_empty());
                prop_assert!(rendered.is_ok() || is_refused, "{rendered:?}");
            } else {
                prop_assert!(!library.problems.is_empty());
            }
        }
        for path in shelf.files.keys() {
            if twig_clients::format::part(kind, path) == Some(twig_clients::format::ClientFilePart::Prompt) {
                let is_prompt = library.prompts.iter().any(|it| it.messages[0].content.file() == Some(path));
                let is_told = library.problems.iter().any(|it| it.path.ends_with(path.as_str()));
                prop_assert!(is_prompt || is_told, "{path}");
            }
        }
    }

    #[test]
    fn pieces_are_the_text(
        text in "(\\$ARGUMENTS|\\$ARGUMENTS\\[[0-9]\\]|\\$[0-3]|\\$[AB]{1,2}|\\$a|\\$\\{input:a[:|]?b?\\}|\\\\|`|'|\n|[a-c .$]){0,24}",
        first in 0..2_u8,
        is_greedy: bool,
    ) {
        let arguments = ["a", "A", "AB"].map(|name| Argument { name: name.into(), ..Argument::default() });
        let marks = [
            Marks::None,
            Marks::Named,
            Marks::Dollar { first, is_greedy },
            Marks::Appended {
                form: AppendedForm::Labelled,
                is_implied: true,
            },
            Marks::Capitals,
            Marks::Inputs,
        ];
        for marks in marks {
            let mut at = 0;
            for piece in pieces(marks, &arguments, &text) {
                let part = match piece {
                    MarkedPiece::Text(part) => part,
                    MarkedPiece::Argument { at, mark } => {
                        prop_assert!(at < arguments.len());
                        mark
                    }
                    MarkedPiece::All { mark } => mark,
                };
                prop_assert!(!part.is_empty() || text.is_empty());
                if !text[at..].starts_with(part) {
                    prop_assert!(text[at..].starts_with('\\'), "{text:?} at {at}");
                    at += 1;
                }
                prop_assert!(text[at..].starts_with(part), "{text:?} at {at}");
                at += part.len();
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
