//! `twig schema`, and the files that refer to a schema.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::{TestEnv, schema_errors};

use crate::env;

fn schema(env: &TestEnv, of: &[&str]) -> Value {
    let printed = env.run(["schema"].iter().chain(of).copied());
    assert_eq!((printed.code, &*printed.stderr), (0, ""), "{printed}");
    serde_json::from_str(&printed.stdout).expect("JSON")
}

#[test]
fn every_schema_is_printed() {
    let env = env("");
    for (of, title) in [
        (&[][..], "twig.toml"),
        (&["manifest"], "twig.toml"),
        (&["config"], "Twig's config.toml"),
        (&["repository"], "A repository's .twig/config.toml"),
        (&["definitions"], "A prompt definition of Twig"),
    ] {
        let schema = schema(&env, of);
        assert_eq!(schema["title"], title);
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    }
    insta::assert_snapshot!(env.run(["schema", "prompts"]).stderr.lines().next().unwrap_or_default(), @"error: invalid value 'prompts' for '[FILE]'");
    let offered = env.run(["complete", "--", "twig", "schema", ""]).stdout;
    assert!(offered.contains("definitions"), "{offered}");
}

/// An editor finds the schema beside the manifest, and Twig needs neither.
#[test]
fn new_manifests_come_with_their_schema() {
    let env = env("");
    assert_eq!(env.run(["init"]).code, 0);
    assert_eq!(env.run(["new", "library", "mine"]).code, 0);
    let printed = env.run(["schema"]).stdout;
    for folder in [env.work().join(".twig"), env.data().join("mine")] {
        let manifest = fs::read_to_string(folder.join("twig.toml")).expect("a manifest");
        let first = manifest.lines().next();
        assert_eq!(first, Some("#:schema ./twig.schema.json"));
        let schema = fs::read_to_string(folder.join("twig.schema.json")).expect("a schema");
        assert_eq!(schema, printed);
        fs::remove_file(folder.join("twig.schema.json")).expect("writable");
    }
    let checked = env.run(["check"]);
    assert_eq!((checked.code, &*checked.stdout), (0, ""), "{checked}");
}

#[test]
fn starter_definitions_fit_their_schema() {
    let env = env("");
    assert_eq!(env.run(["init", "--format", "definitions"]).code, 0);
    let schema = schema(&env, &["definitions"]);
    let folder = env.work().join(".twig/prompts");
    let mut seen = 0;
    for file in fs::read_dir(folder).expect("a folder") {
        let text = fs::read_to_string(file.expect("an entry").path()).expect("text");
        let definition: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(schema_errors(&schema, &definition), [] as [Vec<String>; 0]);
        seen += 1;
    }
    assert_eq!(seen, 3);
}

/// The configuration in both forms, and whether it is right.
#[test]
fn the_configuration_and_its_schema_agree() {
    let env = env("");
    let schema = schema(&env, &["config"]);
    for (text, value, is_good) in [
        ("", json!({}), true),
        ("separator = \"::\"", json!({"separator": "::"}), true),
        ("separator = \"x\"", json!({"separator": "x"}), false),
        ("separator = 5", json!({"separator": 5}), false),
        ("trigger = \"!\"", json!({"trigger": "!"}), true),
        ("trigger = \"'\"", json!({"trigger": "'"}), false),
        ("trigger = \"a\"", json!({"trigger": "a"}), false),
        (
            "[limits]\nrendered = 5",
            json!({"limits": {"rendered": 5}}),
            true,
        ),
        (
            "[limits]\nrendered = 0",
            json!({"limits": {"rendered": 0}}),
            false,
        ),
        (
            "[limits]\nrendred = 5",
            json!({"limits": {"rendred": 5}}),
            false,
        ),
        ("limits = 5", json!({"limits": 5}), false),
        (
            "[http]\nsessions = 5",
            json!({"http": {"sessions": 5}}),
            true,
        ),
        (
            "[http]\nsessions = 1000001",
            json!({"http": {"sessions": 1_000_001}}),
            false,
        ),
        (
            "[[libraries]]\npath = \"~/x\"\nkind = \"markdown\"\nname = \"x\"\nfirst_argument = 1",
            json!({"libraries": [{"path": "~/x", "kind": "markdown", "name": "x", "first_argument": 1}]}),
            true,
        ),
        (
            "[[libraries]]\nname = \"x\"",
            json!({"libraries": [{"name": "x"}]}),
            false,
        ),
        ("libraries = 5", json!({"libraries": 5}), false),
        (
            "[[libraries]]\npath = \"x\"\nfirst_argument = 2",
            json!({"libraries": [{"path": "x", "first_argument": 2}]}),
            false,
        ),
        (
            "[functions]\nenvironment = [\"A\"]",
            json!({"functions": {"environment": ["A"]}}),
            true,
        ),
        (
            "[functions]\nenvironment = [\"A=B\"]",
            json!({"functions": {"environment": ["A=B"]}}),
            false,
        ),
        (
            "[clients]\nlike_opencode = [\"acme\"]",
            json!({"clients": {"like_opencode": ["acme"]}}),
            true,
        ),
        (
            "[clients]\nlike_opencode = [\" \"]",
            json!({"clients": {"like_opencode": [" "]}}),
            false,
        ),
        (
            "[store]\nserve = false",
            json!({"store": {"serve": false}}),
            true,
        ),
        (
            "[store]\nserve = \"no\"",
            json!({"store": {"serve": "no"}}),
            false,
        ),
        ("hide = [\"a:*\"]", json!({"hide": ["a:*"]}), true),
        ("pin = [\" \"]", json!({"pin": [" "]}), false),
        ("[stores]", json!({"stores": {}}), false),
    ] {
        assert_agreement(&env, &schema, text, &value, is_good);
    }
}

/// The same for what servers keep of requests.
#[test]
fn what_is_kept_and_its_schema_agree() {
    let env = env("");
    let schema = schema(&env, &["config"]);
    for (text, value, is_good) in [
        (
            "[audit]\nfile = \"~/r.jsonl\"\nreads = \"names\"",
            json!({"audit": {"file": "~/r.jsonl", "reads": "names"}}),
            true,
        ),
        (
            "[audit]\nreads = \"names\"",
            json!({"audit": {"reads": "names"}}),
            false,
        ),
        (
            "[audit]\nfile = \" \"",
            json!({"audit": {"file": " "}}),
            false,
        ),
        (
            "[audit]\nreads = \"all\"",
            json!({"audit": {"reads": "all"}}),
            false,
        ),
        (
            "[stats]\nenable = true",
            json!({"stats": {"enable": true}}),
            true,
        ),
        (
            "[stats]\nenable = 1",
            json!({"stats": {"enable": 1}}),
            false,
        ),
    ] {
        assert_agreement(&env, &schema, text, &value, is_good);
    }
}

/// The same for the tables of clients and servers.
#[test]
fn what_differs_by_client_and_its_schema_agree() {
    let env = env("");
    let schema = schema(&env, &["config"]);
    for (text, value, is_good) in [
        (
            "[clients.claude-code]\nhide = [\"a\"]\npin = [\"b:*\"]\nserve_own = true",
            json!({"clients": {"claude-code": {"hide": ["a"], "pin": ["b:*"], "serve_own": true}}}),
            true,
        ),
        (
            "[clients.claude-code]\nhid = [\"a\"]",
            json!({"clients": {"claude-code": {"hid": ["a"]}}}),
            false,
        ),
        ("serve_own = true", json!({"serve_own": true}), true),
        ("serve_own = 1", json!({"serve_own": 1}), false),
        (
            "[serve]\nonly = [\"team\"]",
            json!({"serve": {"only": ["team"]}}),
            true,
        ),
        (
            "[serve]\nonly = \"team\"",
            json!({"serve": {"only": "team"}}),
            false,
        ),
        (
            "[[libraries]]\npath = \"~/x\"\nrepository = \"~\"",
            json!({"libraries": [{"path": "~/x", "repository": "~"}]}),
            true,
        ),
        (
            "[[libraries]]\npath = \"~/x\"\nrepository = 3",
            json!({"libraries": [{"path": "~/x", "repository": 3}]}),
            false,
        ),
    ] {
        assert_agreement(&env, &schema, text, &value, is_good);
    }
}

fn assert_agreement(env: &TestEnv, schema: &Value, text: &str, value: &Value, is_good: bool) {
    env.configure(text);
    let listed = env.run(["list"]);
    assert_eq!(listed.code == 0, is_good, "{text}: {listed}");
    let refused = schema_errors(schema, value);
    assert_eq!(refused.is_empty(), is_good, "{text}: {refused:?}");
}

/// The same for a repository's configuration, of which `check` reports the mistakes.
#[test]
fn the_configuration_of_a_repository_and_its_schema_agree() {
    let env = env("");
    let schema = schema(&env, &["repository"]);
    let folder = env.work().join(".twig");
    fs::create_dir_all(env.work().join("tools/prompts")).expect("writable");
    fs::create_dir_all(folder.join("prompts")).expect("writable");
    let tools = env.work().join("tools");
    fs::write(
        tools.join("twig.toml"),
        "[prompts.lint]\ntext = \"Lint.\"\n",
    )
    .expect("writable");
    for (text, value, is_good) in [
        ("", json!({}), true),
        (
            "hide = [\"a\"]\npin = [\"b\"]",
            json!({"hide": ["a"], "pin": ["b"]}),
            true,
        ),
        ("hide = [3]", json!({"hide": [3]}), false),
        (
            "[library]\ntitle = \"Shop\"",
            json!({"library": {"title": "Shop"}}),
            true,
        ),
        (
            "[library]\ntitel = \"Shop\"",
            json!({"library": {"titel": "Shop"}}),
            false,
        ),
        (
            "[documents]\nscheme = \"shop\"",
            json!({"documents": {"scheme": "shop"}}),
            true,
        ),
        (
            "[documents]\nscheme = \"S\"",
            json!({"documents": {"scheme": "S"}}),
            false,
        ),
        (
            "[export]\nto = [\"claude\"]\nonly = [\"tools\"]\nin = { claude = \"x\" }",
            json!({"export": {"to": ["claude"], "only": ["tools"], "in": {"claude": "x"}}}),
            true,
        ),
        (
            "[export]\nonly = [\"x\"]",
            json!({"export": {"only": ["x"]}}),
            false,
        ),
        (
            "[[libraries]]\npath = \"../tools\"\nkind = \"twig\"\nname = \"kit\"",
            json!({"libraries": [{"path": "../tools", "kind": "twig", "name": "kit"}]}),
            true,
        ),
        (
            "[[libraries]]\npath = \"../../tools\"",
            json!({"libraries": [{"path": "../../tools"}]}),
            false,
        ),
        (
            "[[libraries]]\nname = \"x\"",
            json!({"libraries": [{"name": "x"}]}),
            false,
        ),
        ("separator = \":\"", json!({"separator": ":"}), false),
    ] {
        fs::write(folder.join("config.toml"), text).expect("writable");
        let checked = env.run(["check", "--strict"]);
        assert_eq!(checked.code == 0, is_good, "{text}: {checked}");
        let refused = schema_errors(&schema, &value);
        assert_eq!(refused.is_empty(), is_good, "{text}: {refused:?}");
    }
    // A file that is too large gets advice of its own.
    fs::write(
        folder.join("config.toml"),
        format!("# {}", "x".repeat(1 << 20)),
    )
    .expect("writable");
    let checked = env.run(["check"]);
    assert!(checked.stdout.contains("make it smaller"), "{checked}");
}
