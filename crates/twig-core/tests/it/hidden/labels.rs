//! Titles and descriptions in the files of every kind.

use serde_json::{Value, json};
use twig_core::limits::PROBLEMS;
use twig_core::parse::functions::FunctionFiles;
use twig_core::parse::library::{
    LibraryRoot, definitions_library, functions_library, twig_library,
};
use twig_core::{Library, LibraryName, Limits, Prompt, RelativePath};
use twig_testkit::assert_linear;

use super::{attacks, benign};
use crate::manifest::named_files;

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Title,
    Description,
    Argument,
}

const FIELDS: [Field; 3] = [Field::Title, Field::Description, Field::Argument];

fn folder() -> LibraryRoot {
    LibraryRoot {
        name: LibraryName::from_folder("lib").expect("a name"),
        root: "/lib".into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    }
}

/// In double quotes, as TOML and YAML read it.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            ' '..='~' if !matches!(c, '"' | '\\') => c.to_string(),
            c => format!("\\U{:08X}", c as u32),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn twig(field: Field, text: &str) -> Library {
    let manifest = match field {
        Field::Title => format!("[prompts.p]\ntitle = {text}\n"),
        Field::Description => format!("[prompts.p]\ndescription = {text}\n"),
        Field::Argument => {
            format!("[prompts.p]\n[[prompts.p.arguments]]\nname = \"a\"\ndescription = {text}\n")
        }
    };
    let manifest = format!("{manifest}[prompts.q]\n");
    twig_library(&folder(), &manifest, &named_files(), &Limits::default())
}

/// A prompt as JSON has it.
fn object(field: Field, text: &str) -> Value {
    match field {
        Field::Title => json!({"name": "p", "title": text}),
        Field::Description => json!({"name": "p", "description": text}),
        Field::Argument => {
            json!({"name": "p", "arguments": [{"name": "a", "description": text, "required": true}]})
        }
    }
}

fn definitions(field: Field, text: &str) -> Library {
    let mut one = object(field, text);
    let mut two = json!({"name": "q"});
    for definition in [&mut one, &mut two] {
        let text = json!({"type": "text", "text": "{{a}}"});
        definition["messages"] = json!([{"role": "user", "content": text}]);
    }
    two["arguments"] = json!([{"name": "a", "required": true}]);
    if field != Field::Argument {
        one["arguments"] = two["arguments"].clone();
    }
    let file = |name: &str, definition: &Value| {
        let path = RelativePath::parse(&format!("prompts/{name}.json")).expect("a path");
        (path, definition.to_string())
    };
    let files = [file("p", &one), file("q", &two)];
    let files = files.each_ref().map(|(path, text)| (path, Ok(&**text)));
    definitions_library(&folder(), &files, &named_files(), &Limits::default())
}

fn functions(field: Field, text: &str) -> Library {
    let list = json!([object(field, text), {"name": "q"}]).to_string();
    let script = Ok("prompt_p() { :; }; prompt_q() { :; }".to_owned());
    let files = FunctionFiles {
        list: &list,
        script: script.as_deref(),
        prefix: "prompt_",
    };
    functions_library(&folder(), &files, &Limits::default())
}

/// A text as the `p` of each kind of library has it.
fn everywhere(text: &str) -> Vec<(Field, Library)> {
    let mut libraries = Vec::new();
    for field in FIELDS {
        libraries.push((field, twig(field, &quoted(text))));
        libraries.push((field, definitions(field, text)));
        libraries.push((field, functions(field, text)));
    }
    libraries
}

fn label(field: Field, prompt: &Prompt) -> Option<&str> {
    match field {
        Field::Title => prompt.title.as_deref(),
        Field::Description => prompt.description.as_deref(),
        Field::Argument => prompt.arguments[0].description.as_deref(),
    }
}

#[test]
fn an_attack_makes_its_prompt_unavailable_and_no_other() {
    for (name, text) in attacks::EVERYWHERE.iter().chain(&attacks::LABELS) {
        for (field, library) in everywhere(text) {
            let case = format!("{name} as {field:?} of {:?}", library.kind);
            let [p, q] = &library.prompts[..] else {
                panic!("{case}: {:?}", library.prompts);
            };
            let sentence = p.unavailable.as_deref().unwrap_or_default();
            assert!(sentence.contains("is refused: the "), "{case}: {sentence}");
            assert!(sentence.contains("U+"), "{case}: {sentence}");
            assert_eq!(q.unavailable, None, "{case}");
            let problems = library.problems.iter();
            let told: Vec<_> = problems.filter(|it| it.code == "hidden-text").collect();
            let [problem] = &told[..] else {
                panic!("{case}: {:?}", library.problems);
            };
            assert!(problem.line.is_some(), "{case}: {problem}");
            assert!(problem.path.starts_with("/lib/"), "{case}: {problem}");
        }
    }
}

#[test]
fn what_people_write_is_served_byte_for_byte() {
    for text in benign::EVERYWHERE {
        for (field, library) in everywhere(text) {
            let case = format!("{text:?} as {field:?} of {:?}", library.kind);
            let p = &library.prompts[0];
            assert_eq!(p.unavailable, None, "{case}");
            assert_eq!(label(field, p), Some(text), "{case}");
            assert!(
                library.problems.is_empty(),
                "{case}: {:?}",
                library.problems
            );
        }
    }
}

#[test]
fn the_problem_points_at_the_character() {
    let told = |library: &Library| library.problems[0].to_string();
    let hint = "has an invisible character (U+200B), which people do not see; remove it";
    let literal = twig(Field::Title, "\"Größe\u{200b}\"");
    assert_eq!(
        told(&literal),
        format!("/lib/twig.toml:2:15: error[hidden-text]: the title of prompt `lib:p` {hint}")
    );
    let argument = "the description of argument `a` of prompt";
    assert_eq!(
        told(&twig(Field::Argument, r#""say \"x\u200b\"""#)),
        format!("/lib/twig.toml:4:23: error[hidden-text]: {argument} `lib:p` {hint}")
    );
}

#[test]
fn a_library_that_hides_something_of_itself_is_served_without() {
    let manifest = "[library]\ntitle = \"a\\u202eb\"\ndescription = \"fine\"\n[prompts.p]\n";
    let library = twig_library(&folder(), manifest, &named_files(), &Limits::default());
    assert_eq!(library.about.title, None);
    assert_eq!(library.about.description.as_deref(), Some("fine"));
    assert_eq!(library.prompts[0].unavailable, None);
    assert_eq!(
        library.problems[0].to_string(),
        "/lib/twig.toml:2:11: warning[hidden-text]: the library's title is ignored: it has a \
         direction control (U+202E), which changes the order in which people read; remove it"
    );
}

#[test]
fn names_of_arguments_hide_nothing_in_lists_of_functions() {
    for (name, text) in attacks::EVERYWHERE.iter().chain(&attacks::LABELS) {
        let list = json!([{"name": "p", "arguments": [{"name": text}]}]).to_string();
        let script = Ok("prompt_p".to_owned());
        let files = FunctionFiles {
            list: &list,
            script: script.as_deref(),
            prefix: "prompt_",
        };
        let library = functions_library(&folder(), &files, &Limits::default());
        assert!(library.prompts[0].unavailable.is_some(), "{name}");
    }
}

/// Where thousands of prompts hide something, the first are told with their place.
#[test]
fn a_manifest_full_of_them_costs_as_much_as_it_is_long() {
    let manifest = |count: usize| -> String {
        (0..count)
            .map(|at| format!("[prompts.p{at}]\ntitle = \"{at}\\u200b\"\n"))
            .collect()
    };
    let read =
        |manifest: &str| twig_library(&folder(), manifest, &named_files(), &Limits::default());
    assert_linear("titles", 1_000, manifest, |text| drop(read(text)));
    let library = read(&manifest(4_000));
    assert_eq!(library.problems.len(), PROBLEMS + 1);
    assert_eq!(
        library
            .problems
            .iter()
            .filter(|it| it.line.is_some())
            .count(),
        20
    );
}
