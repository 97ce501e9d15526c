//! What a repository exports, as its own configuration says.

use std::fs;

use serde_json::Value;
use twig_testkit::{CommandOutput, TestEnv};

use super::{read, tree, write};

/// A repository with two prompts of its own, and a user with private ones.
fn shop() -> TestEnv {
    let env = crate::env(super::LIBRARY);
    write(
        &env,
        ".twig/twig.toml",
        "[prompts.ship]\n\n[prompts.plan]\n",
    );
    write(&env, ".twig/prompts/ship.md", "Ship it.\n");
    write(&env, ".twig/prompts/plan.md", "Plan our work.\n");
    env
}

fn configure(env: &TestEnv, config: &str) {
    write(env, ".twig/config.toml", config);
}

fn export(env: &TestEnv, more: &[&str]) -> CommandOutput {
    env.run(["export"].iter().chain(more).copied())
}

/// Every file that is not the repository's own.
fn written(env: &TestEnv) -> Vec<String> {
    let mut files = tree(&env.work());
    files.retain(|file| !file.starts_with(".twig/"));
    files
}

#[test]
fn a_repository_says_what_it_exports() {
    let env = shop();
    configure(
        &env,
        "[export]\nto = [\"claude\", \"skills\"]\nonly = [\"sh*\"]\nin = { skills = \".claude/skills\" }\n",
    );
    insta::assert_snapshot!(export(&env, &[]), @"
    written  ship  ship.md
    written  ship  ship/SKILL.md
    --- stderr
    [work]/.claude/commands: 1 written
    [work]/.claude/skills: 1 written
    --- exit 0
    ");
    assert_eq!(
        written(&env),
        [".claude/commands/ship.md", ".claude/skills/ship/SKILL.md"]
    );
    let check = export(&env, &["--check"]);
    assert_eq!(check.code, 0, "{check}");
    // The same from any folder of the repository.
    fs::create_dir_all(env.work().join("src/deep")).expect("ours");
    let check = export(&env, &["-C", "src/deep", "--check"]);
    assert_eq!(check.code, 0, "{check}");
    // Flags win.
    let other = export(&env, &["--to", "cursor", "plan"]);
    assert_eq!(other.code, 0, "{other}");
    assert!(written(&env).contains(&".cursor/commands/plan.md".to_owned()));
    assert!(read(&env, ".cursor/commands/plan.md").contains("Plan our work."));
    let other = export(&env, &["--to", "skills", "--in", "x", "ship"]);
    assert_eq!(other.code, 0, "{other}");
    assert!(written(&env).contains(&"x/ship/SKILL.md".to_owned()));
    write(&env, ".twig/prompts/ship.md", "Ship it now.\n");
    assert_eq!(export(&env, &["--check"]).code, 1);
}

#[test]
fn the_file_of_a_prompt_that_is_no_longer_named_is_outdated() {
    let env = shop();
    configure(
        &env,
        "[export]\nto = [\"claude\"]\nonly = [\"ship\", \"plan\"]\n",
    );
    assert_eq!(export(&env, &[]).code, 0);
    configure(&env, "[export]\nto = [\"claude\"]\nonly = [\"ship\"]\n");
    let check = export(&env, &["--check"]);
    assert_eq!(check.code, 1, "{check}");
    export(&env, &["--prune"]);
    assert_eq!(written(&env), [".claude/commands/ship.md"]);
}

#[test]
fn two_machines_write_the_same_files() {
    let env = shop();
    configure(&env, "[export]\nto = [\"claude\"]\n");
    let first = export(&env, &[]);
    assert_eq!(first.code, 0, "{first}");
    let files = written(&env);
    assert_eq!(
        files,
        [".claude/commands/plan.md", ".claude/commands/ship.md"]
    );
    // A colleague has another name for the checkout, other settings, and prompts of their own.
    let other = shop();
    let checkout = other.work().join("my copy");
    fs::create_dir(&checkout).expect("ours");
    fs::rename(other.work().join(".twig"), checkout.join(".twig")).expect("ours");
    fs::write(
        checkout.join(".twig/config.toml"),
        "[export]\nto = [\"claude\"]\n",
    )
    .expect("ours");
    other.configure("separator = \"/\"\n");
    other.run(["project", "create", "garden"]);
    other.run(["prompt", "add", "ship", "-c", "Mine", "-p", "garden"]);
    let outcome = export(&other, &["-C", "my copy"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    for file in files {
        let there = fs::read_to_string(checkout.join(&file)).expect("written");
        assert_eq!(there, read(&env, &file));
    }
}

#[test]
fn a_check_never_sees_private_prompts() {
    let env = shop();
    // Without [export], an export has everything that is served.
    let all = export(&env, &["--to", "claude"]);
    assert!(all.stdout.contains("review:code"), "{all}");
    insta::assert_snapshot!(export(&env, &["--to", "claude", "--check"]), @"
    unchanged  plan         plan.md
    unchanged  ship         ship.md
    gone       review:code  code.md
    gone       review:plan  review-plan.md
    --- stderr
    [work]/.claude/commands: 2 unchanged, 2 gone
    hint: --prune removes files of prompts that are gone
    --- exit 1
    ");
    insta::assert_snapshot!(export(&env, &["--to", "claude", "--check", "review:code"]), @"
    --- stderr
    error: Prompt not found: review:code
    hint: run `twig list` to see every prompt
    hint: only the prompts of this repository count: [work]/.twig and what its config.toml lists, and folders that `--library` names
    --- exit 1
    ");
    // A folder that is named is no secret.
    let data = env.data().display().to_string();
    let named = export(&env, &["--to", "claude", "--check", "--library", &data]);
    assert_eq!(named.code, 0, "{named}");
    // In one's own home, everything is one's own.
    let user = ["--to", "claude", "--scope", "user"];
    assert_eq!(export(&env, &user).code, 0);
    let user = export(&env, &[&user[..], &["--check"]].concat());
    assert_eq!(user.code, 0, "{user}");
}

#[test]
fn without_a_repository_a_check_says_what_counts() {
    let env = crate::env(super::LIBRARY);
    insta::assert_snapshot!(export(&env, &["--to", "claude", "--check"]), @"
    --- stderr
    nothing to export: only the prompts of this repository count, and there is no .twig folder: make one with `twig init`, or name a folder with `--library`
    [work]/.claude/commands: nothing to export
    --- exit 0
    ");
    insta::assert_snapshot!(export(&env, &[]), @r#"
    --- stderr
    error: say whose files to write: `--to CLIENT`
    hint: write it in .twig/config.toml to export without flags: [export] with to = ["claude"]; `twig help export` explains it
    --- exit 2
    "#);
}

#[test]
fn a_mistake_in_the_export_is_named_and_stops_it() {
    let env = shop();
    configure(
        &env,
        "[documents]\nfolder = \"docs\"\n\n[export]\nto = [\"cluade\", \"zed\"]\nonyl = [\"ship\"]\nin = { claude = \"../out\" }\n",
    );
    insta::assert_snapshot!(export(&env, &[]), @"
    --- stderr
    error: nothing was exported: [work]/.twig/config.toml:5: `cluade`: there is no client of this name; did you mean `claude-code`?
    --- exit 1
    ");
    assert_eq!(written(&env), [] as [&str; 0]);
    insta::assert_snapshot!(env.run(["check", ".twig"]), @r#"
    warning[unknown-field]: [documents] is ignored here: twig.toml describes the library
     --> .twig/config.toml:1:1
      |
    1 | [documents]
      | ^^^^^^^^^^^
      = help: move it to twig.toml

    error[bad-setting]: `cluade`: there is no client of this name; did you mean `claude-code`?
     --> .twig/config.toml:5:7
      |
    5 | to = ["cluade", "zed"]
      |       ^^^^^^^^

    error[bad-setting]: `zed`: Twig writes no files for Zed; `twig connect zed` gives it your prompts
     --> .twig/config.toml:5:17
      |
    5 | to = ["cluade", "zed"]
      |                 ^^^^^

    warning[unknown-field]: unknown field `onyl` in [export] is ignored
     --> .twig/config.toml:6:1
      |
    6 | onyl = ["ship"]
      | ^^^^
      = help: did you mean `only`?

    error[outside-library]: `../out` is not a folder inside this repository
     --> .twig/config.toml:7:17
      |
    7 | in = { claude = "../out" }
      |                 ^^^^^^^^
      = help: write it from the repository's folder on, such as ".claude/skills"
    --- stderr
    checked 2 prompts in 1 library: 3 errors, 2 warnings
    --- exit 1
    "#);
    // Many warnings before it do not hide it.
    let others: String = (0..301).map(|at| format!("x{at} = 1\n")).collect();
    configure(
        &env,
        &format!("{others}[export]\nto = [\"claude\"]\nonyl = [\"ship\"]\n"),
    );
    insta::assert_snapshot!(export(&env, &[]), @"
    --- stderr
    error: nothing was exported: [work]/.twig/config.toml:304: unknown field `onyl` in [export] is ignored
    hint: did you mean `only`?
    --- exit 1
    ");
    assert_eq!(written(&env), [] as [&str; 0]);
    configure(&env, "[export\n");
    insta::assert_snapshot!(export(&env, &["--to", "claude"]), @"
    --- stderr
    error: nothing was exported: [work]/.twig/config.toml:1: config.toml is not valid TOML: unclosed table, expected `]`
    --- exit 1
    ");
    configure(&env, "[export]\nto = [\"claude\"]\nonly = [\"shop\"]\n");
    insta::assert_snapshot!(export(&env, &[]), @"
    --- stderr
    error: [work]/.twig/config.toml: `only` of [export] matches nothing: `shop`
    hint: only the prompts of this repository count: [work]/.twig and what its config.toml lists, and folders that `--library` names
    --- exit 1
    ");
}

#[test]
fn scripts_get_a_list_of_clients() {
    let env = shop();
    configure(&env, "[export]\nto = [\"codex\", \"skills\"]\n");
    let outcome = export(&env, &["--json"]);
    let value: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let rows = value.as_array().expect("a list");
    // Both read the same files.
    assert_eq!(rows.len(), 1, "{outcome}");
    assert_eq!(rows[0]["client"], "skills");
    let named = export(&env, &["--to", "skills", "--json"]);
    let value: Value = serde_json::from_str(&named.stdout).expect("JSON");
    assert_eq!(value["client"], "skills");
}
