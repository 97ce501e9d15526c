//! The names that people use for prompts, and where clients are told that a mistake is.

use serde_json::{Value, json};
use twig_testkit::{TestEnv, write_fixture};

use crate::env;
use crate::http::Served;

/// Commands of Claude Code in a project, served by `--library`.
fn commands() -> (TestEnv, String) {
    let env = env("");
    let folder = env.home().join("shop");
    write_fixture(
        &folder,
        "//- .claude/commands/commit.md\nCommit it.\n\
         //- .claude/commands/backend/migration.md\nMigrate.\n\
         //- .claude/commands/frontend/deploy.md\nDeploy the page.\n\
         //- .claude/commands/big.md\n---\ntitle: Big Refactor\n---\nRefactor.\n",
    );
    let path = folder.join(".claude/commands").display().to_string();
    (env, path)
}

#[test]
fn the_terminal_takes_titles_and_native_names() {
    let (env, path) = commands();
    for (name, text) in [
        ("commit", "Commit it.\n"),
        ("/commit", "Commit it.\n"),
        ("backend:migration", "Migrate.\n"),
        ("/backend:migration", "Migrate.\n"),
        ("Backend:Migration", "Migrate.\n"),
        ("backend-migration", "Migrate.\n"),
    ] {
        let outcome = env.run(["render", name, "--library", &path]);
        assert_eq!(outcome.stdout, text, "{name}: {outcome}");
    }
    for name in ["migration", "/migration"] {
        let outcome = env.run(["show", name, "--library", &path]);
        assert_eq!(outcome.code, 1, "{outcome}");
        let hint = "backend-migration`?\n";
        assert!(outcome.stderr.ends_with(hint), "{outcome}");
    }
    // What is meant must be clear.
    env.write(
        "lib/twig.toml",
        "[prompts.a]\ntitle = \"One\"\n[prompts.b]\ntitle = \"one\"\n",
    );
    env.write("lib/prompts/a.md", "a\n");
    env.write("lib/prompts/b.md", "b\n");
    insta::assert_snapshot!(env.run(["show", "ONE"]), @r#"
    --- stderr
    error: several libraries have a prompt `ONE`
    hint: use one of `lib:a`, `lib:b`
    --- exit 1
    "#);
}

#[test]
fn clients_get_them_as_suggestions() {
    let (env, path) = commands();
    let mut client = env.serve_with(["--library", &path]);
    client.initialize();
    for name in ["backend:migration", "/backend:migration", "migration"] {
        let answer = client.request("prompts/get", json!({"name": name}));
        let error = &answer["error"];
        assert_eq!(error["message"], format!("Prompt not found: {name}"));
        let first = error["data"]["suggestions"][0].as_str().unwrap_or_default();
        assert!(first.ends_with(":backend-migration"), "{name}: {answer}");
        let answer = client.request(
            "tools/call",
            json!({"name": "expand_prompt", "arguments": {"command": name, "input": ""}}),
        );
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_default();
        assert!(text.contains(":backend-migration`"), "{name}: {answer}");
    }
}

const BROKEN: &str = "\
//- lib/twig.toml
[prompts.post]
[prompts.outer]
[prompts.gone]
[prompts.far]
[prompts.said]
[[prompts.said.messages]]
role = \"user\"
text = \"{{ oops }}\"
[[prompts.post.arguments]]
name = \"kind\"
choices = [\"a\"]
//- lib/prompts/post.md
First
{{ oops }}
//- lib/prompts/outer.md
{% include \"prompts/inner.md\" %}
//- lib/prompts/inner.md


{{ oops }}
//- lib/prompts/gone.md
x
//- lib/prompts/far.md
{% include \"other:prompts/x.md\" %}
//- other/twig.toml
[prompts.x]
//- other/prompts/x.md
{{ oops }}
";

/// What an error says of its place.
fn place(error: &Value) -> Value {
    let data = &error["data"];
    json!([data["prompt"], data["file"], data["line"]])
}

#[test]
fn an_error_names_its_prompt_file_and_line() {
    let env = env(BROKEN);
    let mut client = env.serve();
    client.initialize();
    std::fs::remove_file(env.data().join("lib/prompts/gone.md")).expect("there");
    let rows = [
        (
            json!({"name": "lib:post"}),
            json!(["lib:post", "prompts/post.md", 2]),
        ),
        (
            json!({"name": "lib:outer"}),
            json!(["lib:outer", "prompts/inner.md", 3]),
        ),
        (
            json!({"name": "lib:far"}),
            json!(["lib:far", "other:prompts/x.md", 1]),
        ),
        (
            json!({"name": "lib:said"}),
            json!(["lib:said", "twig.toml", 8]),
        ),
        (
            json!({"name": "lib:gone"}),
            json!(["lib:gone", "prompts/gone.md", null]),
        ),
        (
            json!({"name": "lib:post", "arguments": {"kind": "b"}}),
            json!(["lib:post", null, null]),
        ),
    ];
    for (params, expected) in &rows {
        let answer = client.request("prompts/get", params.clone());
        assert_eq!(place(&answer["error"]), *expected, "{answer}");
        assert_eq!(
            answer["error"]["data"]["details"],
            answer["error"]["message"]
        );
    }
    // A client on another machine reads the same, and no folder of this one.
    let served = Served::from_env(env);
    for (params, expected) in rows {
        let answer = served.caller().modern("prompts/get", params).json();
        assert_eq!(place(&answer["error"]), expected, "{answer}");
        assert!(!answer.to_string().contains("/home/"), "{answer}");
    }
}
