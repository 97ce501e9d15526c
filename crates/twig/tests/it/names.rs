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

/// Commands of Claude Code with names in other scripts.
fn japanese() -> (TestEnv, String) {
    let env = env("");
    let folder = env.home().join("shop/.claude/commands");
    write_fixture(
        &folder,
        "//- 日本語レビュー.md\nレビューして。\n//- コードを直す.md\nなおして。\n//- Cre\u{300}me.md\nWhip it.\n//- plain.md\nPlain.\n",
    );
    (env, folder.display().to_string())
}

#[test]
fn letters_of_any_script_stay_in_names() {
    let (env, path) = japanese();
    let listed = env.run(["list", "--names", "--library", &path]);
    insta::assert_snapshot!(listed, @"
    claude:crème
    claude:plain
    claude:コードを直す
    claude:日本語レビュー
    --- exit 0
    ");
    // The names of earlier versions, and the short form for clients that know ASCII only.
    for (name, text) in [
        ("日本語レビュー", "レビューして。\n"),
        ("claude:日本語レビュー", "レビューして。\n"),
        ("ri-ben-yu-rebiyu", "レビューして。\n"),
        ("claude:ri-ben-yu-rebiyu", "レビューして。\n"),
        ("claude:prompt-c1dbb0ba", "レビューして。\n"),
        ("crème", "Whip it.\n"),
        ("creme", "Whip it.\n"),
    ] {
        let rendered = env.run(["render", name, "--library", &path]);
        assert_eq!(rendered.stdout, text, "{name}: {rendered}");
    }
    let only = env.run([
        "list",
        "--names",
        "--library",
        &path,
        "--only",
        "claude:ri-ben-yu-rebiyu",
    ]);
    assert_eq!(only.stdout, "claude:日本語レビュー\n", "{only}");
    let checked = env.run(["check", &path]);
    assert_eq!(checked.code, 0, "{checked}");
    assert!(!checked.stdout.contains("one name"), "{checked}");
}

#[test]
fn clients_that_replace_letters_get_names_in_ascii() {
    let (env, path) = japanese();
    for (client, is_short) in [
        ("claude-code", false),
        ("some-client", false),
        ("opencode", true),
        ("Visual Studio Code - Insiders", true),
    ] {
        let mut running = env.serve_with(["--library", &path]);
        running.request(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}),
        );
        let answer = running.request("prompts/list", json!({}));
        let prompts = answer["result"]["prompts"].as_array().expect("a list");
        let names: Vec<&str> = prompts
            .iter()
            .filter_map(|it| it["name"].as_str())
            .collect();
        assert_eq!(names.len(), 4, "{client}: {names:?}");
        assert_eq!(
            names.iter().all(|name| name.is_ascii()),
            is_short,
            "{client}: {names:?}"
        );
        assert!(names.contains(&"claude:plain"), "{client}: {names:?}");
        for prompt in prompts {
            let title = prompt["title"].as_str().unwrap_or_default();
            let is_short = prompt["name"]
                .as_str()
                .is_some_and(|it| it.contains(":prompt-"));
            assert!(!is_short || !title.is_empty(), "{client}: {prompt}");
            let asked = json!({"name": prompt["name"]});
            let answer = running.request("prompts/get", asked);
            assert!(answer["error"].is_null(), "{client}: {answer}");
            if prompt["name"] == "claude:prompt-c1dbb0ba" {
                assert_eq!(title, "日本語レビュー");
            }
        }
        let old = running.request("prompts/get", json!({"name": "claude:ri-ben-yu-rebiyu"}));
        let text = &old["result"]["messages"][0]["content"]["text"];
        assert_eq!(
            text.as_str().map(str::trim),
            Some("レビューして。"),
            "{old}"
        );
    }
}

#[test]
fn exported_files_have_names_that_their_client_takes() {
    let (env, path) = japanese();
    let files = |client: &str| {
        let folder = format!("out-{client}");
        let made = env.run([
            "export",
            "--to",
            client,
            "--library",
            &path,
            "--in",
            &folder,
        ]);
        assert_eq!(made.code, 0, "{made}");
        let mut names: Vec<String> = std::fs::read_dir(env.work().join(&folder))
            .expect("written")
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        files("cursor"),
        [
            "creme.md",
            "plain.md",
            "prompt-ac51c2f3.md",
            "prompt-c1dbb0ba.md"
        ]
    );
    assert_eq!(
        files("claude"),
        [
            "crème.md",
            "plain.md",
            "コードを直す.md",
            "日本語レビュー.md"
        ]
    );
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
