//! `prompts.json`, one fixture a case; and what a function is told.

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;
use twig_core::parse::functions::FunctionFiles;
use twig_core::parse::library::{LibraryRoot, functions_library};
use twig_core::template::Templates;
use twig_core::{
    BodyError, Catalog, FunctionCall, Library, LibraryName, Limits, Lookup, RenderError, Rendering,
    render,
};
use twig_core::{Latest, World};
use twig_testkit::MemoryFiles;

use crate::manifest::show;

/// Has every function that the fixtures ask for, except one.
const SCRIPT: &str = "prompt_code_review prompt_bare prompt_one prompt_twice prompt_wrong_title \
    prompt_wrong_arguments prompt_nameless_argument prompt_two_arguments prompt_wrong_required prompt_misspelt";

fn read(list: &str, script: &Result<String, BodyError>) -> Library {
    let folder = LibraryRoot {
        name: LibraryName::from_folder("box").expect("a name"),
        root: "/data/box".into(),
        shown_root: "~/data/box".into(),
        prefix: "lib:".into(),
    };
    let prefix = "prompt_";
    let files = FunctionFiles {
        list,
        script: script.as_deref(),
        prefix,
    };
    functions_library(&folder, &files, &Limits::default())
}

#[test]
fn fixtures() {
    insta::glob!("../fixtures/functions", "*.json", |path| {
        let text = std::fs::read_to_string(path).expect("readable");
        insta::assert_snapshot!(show(&read(&text, &Ok(SCRIPT.to_owned()))));
    });
}

#[test]
fn without_its_script_no_prompt_is_served() {
    let library = read(r#"[{"name":"one"}]"#, &Err(BodyError::NotFound));
    let refusal = library.prompts[0].unavailable.as_deref();
    assert_eq!(
        refusal,
        Some("Prompt `one` needs its script: prompts.bash not found")
    );
    assert_eq!(library.problems[0].code, "missing-file");
}

fn call(given: &[(&str, &str)]) -> Result<Box<FunctionCall>, RenderError> {
    let list = r#"[{"name":"p-q","arguments":[{"name":"b","required":true},{"name":"a"}]}]"#;
    let library = read(list, &Ok("prompt_p_q".to_owned()));
    let catalog = Latest::from(Catalog::build([Arc::new(library)]));
    let Lookup::Found(found) = catalog.find("p-q") else {
        panic!("it is there");
    };
    let world = World {
        catalog: &catalog,
        bodies: &MemoryFiles::default(),
        templates: &Templates::default(),
    };
    let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = given
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    match render(world, found, &given)? {
        Rendering::Function(call) => Ok(call),
        other => panic!("not a function: {other:?}"),
    }
}

#[test]
fn a_function_is_told_its_name_and_arguments_in_their_order() {
    let told = call(&[("a", "1\n\"$(x)\u{0}"), ("b", "--flag")]).expect("it is called");
    let expected =
        "{\"name\":\"p-q\",\"arguments\":{\"b\":\"--flag\",\"a\":\"1\\n\\\"$(x)\\u0000\"}}\n";
    assert_eq!(told.input, expected);
    assert_eq!(
        call(&[("b", "")]).expect("it is called").input,
        "{\"name\":\"p-q\",\"arguments\":{\"b\":\"\"}}\n"
    );
}

#[test]
fn missing_and_unknown_arguments_are_all_named() {
    let error = |given: &[(&str, &str)]| call(given).expect_err("it is refused").to_string();
    assert_eq!(error(&[]), "Missing required argument: b");
    assert_eq!(error(&[("b", "1"), ("x", "2")]), "Unknown argument: x");
    assert_eq!(error(&[("x", "1"), ("y", "2")]), "Unknown arguments: x, y");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn whatever_is_given_is_told_exactly(a in any::<String>(), b in any::<String>()) {
        let told = call(&[("a", &a), ("b", &b)]).expect("it is called").input;
        let expected = serde_json::json!({"name": "p-q", "arguments": {"a": a, "b": b}});
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&told).expect("JSON"), expected);
        prop_assert_eq!(told.matches('\n').count(), 1, "one line");
    }
}

#[test]
fn twenty_unknown_fields_are_told_and_every_error_beside_them() {
    let fields: String = (0..500).map(|at| format!(r#""x{at}":1,"#)).collect();
    let list = format!(r#"[{{{fields}"name":"one"}},{{{fields}"name":"bare","title":1}}]"#);
    let problems = read(&list, &Ok(SCRIPT.to_owned())).problems;
    let count = |code: &str| problems.iter().filter(|one| one.code == code).count();
    assert_eq!(count("unknown-field"), 20);
    assert_eq!(count("bad-prompt"), 1);
}

#[test]
fn what_a_program_says_is_told_without_the_values_it_was_told() {
    let values = [
        ("a", "secret \"word\""),
        ("b", "secret"),
        ("c", "x"),
        ("d", ""),
    ];
    let list =
        r#"[{"name":"p","arguments":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]}]"#;
    let library = Arc::new(read(list, &Ok("prompt_p".to_owned())));
    let catalog = Latest::from(Catalog::build(vec![library]));
    let Lookup::Found(found) = catalog.find("p") else {
        panic!("the prompt is there");
    };
    let templates = Templates::new(Limits::default());
    let world = World {
        catalog: &catalog,
        bodies: &MemoryFiles::default(),
        templates: &templates,
    };
    let given = values.map(|(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value)));
    let Ok(Rendering::Function(call)) = render(world, found, &given) else {
        panic!("a function is called");
    };
    assert_eq!(
        call.without_values("told: secret \"word\", secret \\\"word\\\" and secrets; x"),
        "told: …, … and …s; x"
    );
    let input = call.without_values(&call.input);
    assert!(!input.contains("secret"), "{input}");
}
