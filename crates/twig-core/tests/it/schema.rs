//! The JSON Schemas against the readers: what one refuses, the other refuses, prompt by prompt.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use twig_core::parse::{DEFINITION_SCHEMA, MANIFEST_SCHEMA, Table, TomlValue, read_toml};
use twig_core::problem::locate;
use twig_core::{Problem, ProblemCode};
use twig_testkit::schema_errors;

use crate::definition::Definitions;
use crate::manifest::library;

/// What a schema cannot know: files on disk, other entries of the file, and other languages.
const UNKNOWN_TO_SCHEMAS: [ProblemCode; 13] = [
    // Files.
    ProblemCode::MissingFile,
    ProblemCode::MissingFolder,
    ProblemCode::NotAFile,
    ProblemCode::NotAFolder,
    ProblemCode::NotExecutable,
    ProblemCode::UnknownMedia,
    // Other entries: the same name twice, and a default that breaks its argument's own rule.
    ProblemCode::DuplicateArgument,
    ProblemCode::TwinName,
    ProblemCode::BadDefault,
    // Regular expressions, URIs, and characters that nothing shows.
    ProblemCode::BadPattern,
    ProblemCode::BadResource,
    ProblemCode::HiddenText,
    ProblemCode::NameMismatch,
];

fn json_of(table: &Table<'_>) -> Value {
    let entries = table.entries.iter();
    let entries = entries.map(|entry| (entry.key.to_string(), json_of_value(&entry.item.value)));
    Value::Object(entries.collect())
}

fn json_of_value(value: &TomlValue<'_>) -> Value {
    match value {
        TomlValue::Text(text) => json!(text),
        TomlValue::Bool(flag) => json!(flag),
        TomlValue::Integer(number) => json!(number),
        TomlValue::List(items) => items
            .iter()
            .map(|item| json_of_value(&item.value))
            .collect(),
        TomlValue::Table(table) => json_of(table),
        TomlValue::Other(_) => json!(1.5),
    }
}

/// The part of a manifest that a line is in: a prompt, or a table or key of the manifest itself.
fn parts(text: &str, table: &Table<'_>) -> BTreeMap<u32, String> {
    let mut parts = BTreeMap::new();
    for entry in &table.entries {
        let line = |at: usize| locate(text, at..at).line;
        match &entry.item.value {
            TomlValue::Table(prompts) if entry.key == "prompts" => {
                for prompt in &prompts.entries {
                    parts.insert(line(prompt.key_span.start), prompt.key.to_string());
                }
            }
            _ => {
                parts.insert(line(entry.key_span.start), entry.key.to_string());
            }
        }
    }
    parts
}

/// Whether a schema has to refuse this as well.
fn is_known(problem: &Problem, text: &str) -> bool {
    let line = problem
        .line
        .and_then(|line| text.lines().nth(line as usize - 1));
    // A symlink out of the library, and an invisible character in a path.
    let is_exception = line.is_some_and(|line| line.contains("link.md") || line.contains("u202e"));
    !UNKNOWN_TO_SCHEMAS.contains(&problem.code) && !is_exception
}

#[test]
fn reader_and_schema_refuse_the_same_parts_of_every_manifest() {
    let schema: Value = serde_json::from_str(MANIFEST_SCHEMA).expect("a schema");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/manifests");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).expect("a folder") {
        let path = file.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let text = text.trim_start_matches('\u{feff}');
        let Ok(table) = read_toml(text) else { continue };
        seen += 1;
        let parts = parts(text, &table);
        let problems = library("lib", text).problems;
        let read: BTreeSet<&str> = problems
            .iter()
            .filter(|problem| is_known(problem, text))
            .map(|problem| {
                let line = problem.line.expect("a line");
                let part = parts.range(..=line).next_back();
                &**part.expect("a part").1
            })
            .collect();
        let refused = schema_errors(&schema, &json_of(&table));
        let refused: BTreeSet<&str> = refused
            .iter()
            .map(|path| match &path[..] {
                [prompts, name, ..] if prompts == "prompts" => name,
                [first, ..] => first.as_str(),
                [] => "",
            })
            .collect();
        assert_eq!(refused, read, "{}", path.display());
        let is_bad = path
            .file_name()
            .is_some_and(|it| it.to_string_lossy().starts_with("err_"));
        assert!(is_bad || refused.is_empty(), "{}", path.display());
    }
    assert!(seen > 15, "{seen}");
}

/// Each of these is wrong in its own way, or is not wrong at all.
#[test]
fn reader_and_schema_agree_about_single_values() {
    let schema: Value = serde_json::from_str(MANIFEST_SCHEMA).expect("a schema");
    for text in [
        "[documents]\nfolder = \"docs\"",
        "[documents]\nfolder = \"./docs/\"",
        "[documents]\nfolder = \"\"",
        "[documents]\nfolder = \".\"",
        "[documents]\nfolder = \"/docs\"",
        "[documents]\nfolder = \"~/docs\"",
        "[documents]\nfolder = \"a/../b\"",
        "[documents]\nfolder = 5",
        "[documents]\nscheme = \"Team\"",
        "[documents]\nscheme = \"skill\"",
        "[documents]\ntemplates = \"x\"",
        "[documents]\ntemplates = [\"twig://lib/{a}\"]",
        "documents = 5",
        "library = []",
        "[prompts.p]\narguments = [\"a\", \"b?\", \"c=x,y\", \"d? \"]",
        "[prompts.p]\narguments = [\"if?\"]",
        "[prompts.p]\narguments = [\"a=x,\"]",
        "[prompts.p]\narguments = [5]",
        "[prompts.p]\narguments = [{ name = \"loop\" }]",
        "[prompts.p]\narguments = [{ name = \"a\", max_length = 1.5 }]",
        "[prompts.p]\narguments = [{ name = \"a\", choices = [[]] }]",
        "[prompts.p]\narguments = [{ name = \"a\", choices = \"x\" }]",
        "[prompts.p]\narguments = [{ name = \"a\", default = [] }]",
        "[prompts.p]\narguments = [{ name = \"a\", pattern = 5 }]",
        "[prompts.p]\ntext = \"x\"\noutput = \"text\"",
        "[prompts.p]\ntext = \"x\"\nread = [\"repository\"]",
        "[prompts.p]\ncommand = [\"./x\"]\nread = [\"repositories\"]",
        "[prompts.p]\ncommand = [\"./x\"]\nread = \"repository\"",
        "[prompts.p]\ncommand = [\"./x\"]\nread = [\"~/.config/x\", \"/a/..b\"]",
        "[prompts.p]\ncommand = [\"./x\"]\nread = [\"~/\"]",
        "[prompts.p]\ncommand = [\"./x\"]\nenvironment = [\"1A\"]",
        "[prompts.p]\ncommand = [\"./x\"]\nenvironment = [\"TWIG_X\"]",
        "[prompts.p]\ncommand = [\"./x\"]\nenvironment = [\"ENVIRONMENT\"]",
        "[prompts.p]\nfile = \"C:/x\"",
        "[prompts.p]\nfile = \".hidden/x.md\"",
        "[prompts.p]\nfile = \"./.\"",
        "[prompts.p]\ntemplate = \"none\"\narguments = []",
        "prompts.p = 5",
        "[prompts.-p]",
        "[prompts.\"p.q-\"]",
        "[prompts.\"p/q\"]",
        "[prompts.\"中文\"]",
    ] {
        let table = read_toml(text).expect(text);
        let problems = library("lib", text).problems;
        let is_read = !problems.iter().any(|it| is_known(it, text));
        let refused = schema_errors(&schema, &json_of(&table));
        assert_eq!(
            refused.is_empty(),
            is_read,
            "{text}\n{problems:?}\n{refused:?}"
        );
    }
}

/// Only a project's own manifest may say so; a schema does not know where it is.
#[test]
fn a_folder_of_the_project_is_a_folder() {
    let schema: Value = serde_json::from_str(MANIFEST_SCHEMA).expect("a schema");
    for (folder, is_good) in [
        ("../docs", true),
        ("./../docs/adr/", true),
        ("../..x", false),
        ("..", false),
        ("../", false),
        ("../.", false),
        ("../../docs", false),
        ("../docs/..", false),
        ("../.git", false),
        ("../docs/.git/x", false),
    ] {
        let manifest = json!({"documents": {"folder": folder}});
        assert_eq!(
            schema_errors(&schema, &manifest).is_empty(),
            is_good,
            "{folder}"
        );
        let path = twig_core::RelativePath::beside(folder).expect("it leads out");
        assert_eq!(path.is_ok(), is_good, "{folder}");
    }
}

#[test]
fn reader_and_schema_agree_about_definitions() {
    let schema: Value = serde_json::from_str(DEFINITION_SCHEMA).expect("a schema");
    let good = json!({
        "$schema": "../definition.schema.json",
        "name": "p", "title": "P", "description": "x", "template": "braces",
        "arguments": [{"name": "x", "description": "x", "required": true, "maxLength": 5}],
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "{{x}}"}},
            {"role": "assistant", "content": {"type": "image", "file": "shots/a.png"}},
        ],
    });
    let mut cases = vec![good.clone()];
    for (at, value) in [
        ("/name", json!("P")),
        ("/name", json!(5)),
        ("/title", json!(null)),
        ("/template", json!("mustache")),
        ("/arguments", json!({})),
        ("/arguments/0", json!("x")),
        ("/arguments/0/name", json!("a b")),
        ("/arguments/0/required", json!("yes")),
        ("/arguments/0/maxLength", json!(0)),
        ("/arguments/0/maxLength", json!(1.5)),
        ("/arguments/0/nam", json!("x")),
        ("/arguments/0/required", Value::Null),
        ("/messages", json!([])),
        ("/messages/0/role", json!("system")),
        ("/messages/0/content", json!("x")),
        ("/messages/0/content/type", json!("video")),
        ("/messages/0/content", json!({"type": "text"})),
        ("/messages/0/content", json!({"type": "image"})),
        (
            "/messages/0/content",
            json!({"type": "resource", "text": "x"}),
        ),
        ("/messages/0/content/txt", json!("x")),
        ("/extra", json!(1)),
    ] {
        let mut case = good.clone();
        let (parent, key) = at.rsplit_once('/').expect("a pointer");
        let parent = case.pointer_mut(parent).expect("a place");
        match parent {
            Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
            parent => parent[key] = value,
        }
        cases.push(case);
    }
    for gone in ["name", "messages"] {
        let mut case = good.clone();
        case.as_object_mut().expect("an object").remove(gone);
        cases.push(case);
    }
    for case in cases {
        let library = Definitions::new()
            .file("p.json", &case.to_string())
            .library();
        let is_read = !library.problems.iter().any(|it| is_known(it, ""));
        let refused = schema_errors(&schema, &case);
        assert_eq!(
            refused.is_empty(),
            is_read,
            "{case}\n{:?}",
            library.problems
        );
    }
}
