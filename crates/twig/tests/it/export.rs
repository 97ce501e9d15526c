//! `twig export`, as a person runs it.

mod drift;
mod hostile;
mod keep_shell;
mod repository;
mod skills;
mod targets;

use std::fs;
use std::path::Path;

use serde_json::Value;
use twig_testkit::{CommandOutput, TestEnv};

const LIBRARY: &str = r#"
//- review/twig.toml
[prompts.code]
title = "Code review"
description = "Reviews code"

[[prompts.code.arguments]]
name = "language"
default = "rust"

[[prompts.code.arguments]]
name = "code"
required = true

[prompts.plan]
description = "Plans work"

[prompts.choose]
description = "Has conditions"

[[prompts.choose.arguments]]
name = "x"
//- review/prompts/code.md
Review this {{ language }} code:

{{ code }}
//- review/prompts/plan.md
Make a plan.
//- review/prompts/choose.md
{% if x %}a{% endif %}
"#;

fn env() -> TestEnv {
    crate::env(LIBRARY)
}

/// Exports for Claude Code. A check sees the libraries of the data folder only if it is named.
fn claude<'a>(env: &TestEnv, more: impl IntoIterator<Item = &'a str>) -> CommandOutput {
    let data = env.data().display().to_string();
    let mut args = vec!["export", "--to", "claude"];
    more.into_iter().for_each(|word| args.push(word));
    if args.contains(&"--check") && env.data().join("review").exists() {
        args.extend(["--library", &data]);
    }
    env.run(args)
}

/// The prompts and their states, as scripts see them.
fn states<'a>(env: &TestEnv, more: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let outcome = claude(env, ["--json"].into_iter().chain(more));
    let value: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let files = value["files"].as_array().expect("files").iter();
    let state = |file: &Value| {
        let text = |key: &str| file[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", text("prompt"), text("state"), text("action"))
    };
    files.map(state).collect()
}

fn read(env: &TestEnv, path: &str) -> String {
    fs::read_to_string(env.work().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn write(env: &TestEnv, path: &str, text: &str) {
    let path = env.work().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
    fs::write(path, text).expect("writable");
}

/// Every file below a folder, sorted.
fn tree(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                let inner = path.strip_prefix(root).expect("inside");
                files.push(inner.display().to_string());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn an_export_ends_with_a_table() {
    let env = env();
    insta::assert_snapshot!(claude(&env, []), @"
    written  review:code    code.md  loses the title, the default of `language`
    written  review:plan    plan.md
    skipped  review:choose  -        its template has conditions, which a file cannot hold
    --- stderr
    [work]/.claude/commands: 2 written, 1 skipped
    --- exit 0
    ");
    insta::assert_snapshot!(read(&env, ".claude/commands/code.md"), @r#"
    ---
    description: Reviews code
    argument-hint: "[language] <code>"
    arguments: language code
    # twig:export sha256:f0c2b8779caee0dceb79e98f08bfd700 review:code
    ---
    Review this $language code:

    $code
    "#);
    insta::assert_snapshot!(claude(&env, ["--check"]), @"
    unchanged  review:code    code.md
    unchanged  review:plan    plan.md
    skipped    review:choose  -        its template has conditions, which a file cannot hold
    --- stderr
    [work]/.claude/commands: 2 unchanged, 1 skipped
    --- exit 0
    ");
}

#[test]
fn scripts_get_the_same() {
    let env = env();
    insta::assert_snapshot!(claude(&env, ["--json", "--dry-run", "review:p*", "choose"]), @r#"
    {
      "client": "claude",
      "folder": "[work]/.claude/commands",
      "dry": true,
      "files": [
        {
          "prompt": "review:plan",
          "path": "plan.md",
          "state": "new",
          "action": "written",
          "why": null,
          "failed": false,
          "backups": [],
          "notes": []
        },
        {
          "prompt": "review:choose",
          "path": null,
          "state": "unfit",
          "action": null,
          "why": "its template has conditions, which a file cannot hold",
          "failed": false,
          "backups": [],
          "notes": []
        }
      ]
    }
    --- exit 1
    "#);
    assert_eq!(tree(&env.work()), [] as [&str; 0]);
}

#[test]
fn prompts_are_picked_by_name() {
    let env = env();
    assert_eq!(states(&env, ["plan"]), ["review:plan new written"]);
    assert_eq!(tree(&env.work()), [".claude/commands/plan.md"]);
    insta::assert_snapshot!(claude(&env, ["paln"]), @"
    --- stderr
    error: Prompt not found: paln
    hint: did you mean `review:plan`?
    --- exit 1
    ");
    insta::assert_snapshot!(claude(&env, ["other:*"]), @"
    --- stderr
    error: nothing matches `other:*`
    hint: run `twig list` to see every prompt
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["export", "--to", "cluade"]), @"
    --- stderr
    error: invalid value 'cluade' for '--to <CLIENT>': did you mean `claude-code`?

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn nothing_to_export_is_said() {
    let env = TestEnv::new(crate::TWIG);
    insta::assert_snapshot!(claude(&env, []), @"
    --- stderr
    no prompts in ~/.local/share/twig/prompts
    hint: make a first library with `twig new library NAME`
    [work]/.claude/commands: nothing to export
    --- exit 0
    ");
}
