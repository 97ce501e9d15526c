//! Folders of a repository are served in it alone.

use std::fs;
use std::path::Path;

use serde_json::json;
use twig_testkit::{TestClient, TestEnv, write_fixture};

use super::names;
use crate::TWIG;

/// A home and a repository, each with commands of Claude Code, and a folder beside them.
fn machine() -> TestEnv {
    let env = TestEnv::new(TWIG);
    write_fixture(&env.home(), "//- .claude/commands/commit.md\nCommit.\n");
    write_fixture(
        &env.work(),
        "//- .git/HEAD\nref\n//- .claude/commands/fix.md\nFix.\n//- src/deep/x.txt\nx\n",
    );
    fs::create_dir_all(env.root().join("elsewhere")).expect("writable");
    env
}

fn listed_in(env: &TestEnv, folder: &Path) -> Vec<String> {
    let mut command = env.command(["serve"]);
    command.current_dir(folder);
    let mut client = TestClient::start(command);
    let answer = client.modern("prompts/list", json!({}));
    names(&answer).into_iter().map(str::to_owned).collect()
}

#[test]
fn detected_folders_of_a_repository_are_served_in_it_alone() {
    let env = machine();
    insta::assert_snapshot!(env.run(["library", "add", "--detect", "--yes"]), @"
    1.  claude       claude  1 prompt        ~/.claude/commands
    2.  work_claude  claude  1 prompt        [work]/.claude/commands  only in [work]
    --- stderr
    added 2 folders; `twig list` shows what is in them
    --- exit 0
    ");
    let config = fs::read_to_string(env.home().join(".config/twig/config.toml")).expect("there");
    let work = env.work().display().to_string();
    assert_eq!(
        config.replace(&work, "[work]"),
        "[[libraries]]\npath = \"~/.claude/commands\"\n\n\
         [[libraries]]\npath = \"[work]/.claude/commands\"\nname = \"work_claude\"\nrepository = \"[work]\"\n"
    );
    let both = ["claude:commit", "work_claude:fix"];
    assert_eq!(listed_in(&env, &env.work()), both);
    assert_eq!(listed_in(&env, &env.work().join("src/deep")), both);
    assert_eq!(
        listed_in(&env, &env.root().join("elsewhere")),
        ["claude:commit"]
    );
    // Commands agree with servers.
    let list = env.run(["-C", "../elsewhere", "list", "--names"]);
    assert_eq!(list.stdout, "claude:commit\n", "{list}");
    let check = env.run(["-C", "../elsewhere", "check", "--strict"]);
    assert_eq!(check.code, 0, "{check}");
    // It can be removed from anywhere.
    let folder = env.work().join(".claude/commands").display().to_string();
    let removed = env.run(["-C", "../elsewhere", "library", "remove", &folder]);
    assert_eq!(removed.code, 0, "{removed}");
    assert_eq!(listed_in(&env, &env.work()), ["claude:commit"]);
}

#[test]
fn a_person_says_where_a_folder_is_served() {
    let env = machine();
    let added = env.run(["library", "add", "--detect", "--yes", "--scope", "user"]);
    assert_eq!(added.code, 0, "{added}");
    assert_eq!(listed_in(&env, &env.root().join("elsewhere")).len(), 2);
    let env = machine();
    let folder = env.work().join(".claude/commands").display().to_string();
    let args = [
        "-C",
        "../elsewhere",
        "library",
        "add",
        "--scope",
        "project",
        &folder,
    ];
    insta::assert_snapshot!(env.run(args), @"
    claude  claude  1 prompt      [work]/.claude/commands  only in [work]
    --- stderr
    added [work]/.claude/commands
    --- exit 0
    ");
    assert_eq!(listed_in(&env, &env.work()), ["claude:fix"]);
    assert!(listed_in(&env, &env.root().join("elsewhere")).is_empty());
    let home = env.home().join(".claude/commands").display().to_string();
    insta::assert_snapshot!(env.run(["library", "add", "--scope", "project", &home]), @"
    --- stderr
    error: ~/.claude/commands was not added: it is in no repository
    hint: without `--scope project` it is served everywhere
    --- exit 1
    ");
}
