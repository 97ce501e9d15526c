//! Where files go: a project, a person's home, another folder; and where they come from.

use std::fs;

use twig_testkit::TestEnv;

use super::{claude, env, states, tree, write};

const CLIENTS: [&str; 7] = [
    "skills", "claude", "copilot", "cursor", "opencode", "windsurf", "gemini",
];

#[test]
fn every_client_has_its_folder_in_a_project() {
    let env = env();
    fs::create_dir(env.work().join("app")).expect("writable");
    for client in CLIENTS {
        let outcome = env.run(["export", "plan", "--to", client, "-C", "app"]);
        assert_eq!(outcome.code, 0, "{outcome}");
    }
    let expected = [
        "app/.agents/skills/plan/SKILL.md",
        "app/.claude/commands/plan.md",
        "app/.cursor/commands/plan.md",
        "app/.gemini/commands/plan.toml",
        "app/.github/prompts/plan.prompt.md",
        "app/.opencode/command/plan.md",
        "app/.windsurf/workflows/plan.md",
    ];
    assert_eq!(tree(&env.work()), expected);
}

#[test]
fn every_client_has_its_folder_at_home() {
    let env = env();
    for client in CLIENTS {
        let outcome = env.run(["export", "plan", "--to", client, "--scope=user"]);
        assert_eq!(outcome.code, 0, "{outcome}");
    }
    let mut expected = vec![
        ".agents/skills/plan/SKILL.md",
        ".claude/commands/plan.md",
        ".codeium/windsurf/global_workflows/plan.md",
        ".config/opencode/command/plan.md",
        ".cursor/commands/plan.md",
        ".gemini/commands/plan.toml",
    ];
    if cfg!(target_os = "linux") {
        expected.push(".config/Code/User/prompts/plan.prompt.md");
    }
    expected.sort_unstable();
    let found = tree(&env.home());
    let found: Vec<&str> = found
        .iter()
        .map(String::as_str)
        .filter(|path| !path.starts_with(".local") && !path.starts_with("Library"))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_environment_may_name_folders() {
    let env = env();
    let root = env.root().to_owned();
    let run = |client: &str, name: &str, folder: &str| {
        let mut command = env.command(["export", "plan", "--scope=user", "--to", client]);
        let output = command.env(name, root.join(folder)).output();
        assert!(output.expect("the binary starts").status.success());
    };
    run("claude", "CLAUDE_CONFIG_DIR", "claude");
    run("opencode", "XDG_CONFIG_HOME", "config");
    assert_eq!(tree(&root.join("claude")), ["commands/plan.md"]);
    assert_eq!(tree(&root.join("config")), ["opencode/command/plan.md"]);
}

#[test]
fn another_folder_may_be_named() {
    let env = env();
    let to = ["export", "plan", "--to", "skills", "--in"];
    env.run(to.into_iter().chain([".claude/skills"]));
    assert_eq!(tree(&env.work()), [".claude/skills/plan/SKILL.md"]);
    insta::assert_snapshot!(env.run(to.into_iter().chain(["../out"])), @"
    --- stderr
    error: `../out` is no folder inside the project or your home
    hint: write it from there on, such as `--in .claude/skills`
    --- exit 2
    ");
    insta::assert_snapshot!(claude(&env, ["-C", "nowhere"]), @"
    --- stderr
    error: cannot run in `nowhere`: there is no such folder
    --- exit 1
    ");
}

#[test]
fn a_library_is_not_written_into_itself() {
    let env = TestEnv::new(crate::TWIG);
    write(
        &env,
        ".claude/commands/own.md",
        "---\ndescription: Own\n---\nMine.\n",
    );
    let own = ["claude:own own -"];
    let from = ["--library", ".claude/commands", "--kind", "claude"];
    assert_eq!(states(&env, from), own);
    assert_eq!(states(&env, from.into_iter().chain(["--force"])), own);
    let outcome = claude(&env, from.into_iter().chain(["--check"]));
    assert_eq!(outcome.code, 0, "{outcome}");
    let cursor = ["export", "--to", "cursor"];
    env.run(cursor.into_iter().chain(from));
    let expected = [".claude/commands/own.md", ".cursor/commands/own.md"];
    assert_eq!(tree(&env.work()), expected);
}

#[test]
fn a_project_of_a_workspace_can_be_exported() {
    let env = TestEnv::new(crate::TWIG);
    env.run(["project", "create", "notes"]);
    env.run([
        "prompt",
        "add",
        "stand-up",
        "-p",
        "notes",
        "-c",
        "Say {{what}} you did.\n",
    ]);
    let states = states(&env, ["-p", "notes"]);
    assert_eq!(states, ["stand-up new written"]);
    let text = super::read(&env, ".claude/commands/stand-up.md");
    assert!(text.ends_with("---\nSay {{what}} you did.\n"), "{text}");
}

#[test]
fn documents_are_written_out() {
    let env = TestEnv::new(crate::TWIG);
    let fixture = r#"
//- arch/docs/patterns/repository.md
# Repository

One per aggregate.
//- arch/prompts/review.json
{"name": "review", "description": "Reviews", "arguments": [{"name": "code", "required": true}],
 "messages": [{"role": "user", "content": {"type": "text", "text": "{{resource:architecture://patterns/*}}\n\nCode: {{code}}"}}]}
//- arch/prompts/pick.json
{"name": "pick", "description": "Picks", "arguments": [{"name": "pattern", "required": true}],
 "messages": [{"role": "user", "content": {"type": "text", "text": "{{resource:architecture://patterns/{{pattern}}}}"}}]}
"#;
    twig_testkit::write_fixture(&env.work(), fixture);
    insta::assert_snapshot!(claude(&env, ["--library", "arch"]), @"
    written  review  review.md  the documents in it are written out as they are now
    skipped  pick    -          a value chooses the document `architecture://patterns/{{pattern}}`, and a file reads none
    --- stderr
    [work]/.claude/commands: 1 written, 1 skipped
    --- exit 0
    ");
    insta::assert_snapshot!(super::read(&env, ".claude/commands/review.md"), @r#"
    ---
    description: Reviews
    argument-hint: "<code>"
    arguments: code
    # twig:export sha256:9756a8fc5dffd3a7b155160e89e8277f review
    ---
    # Repository
    Source: architecture://patterns/repository

    # Repository

    One per aggregate.

    Code: $ARGUMENTS
    "#);
}

#[test]
fn files_of_the_same_client_keep_what_it_follows() {
    let env = TestEnv::new(crate::TWIG);
    fs::create_dir(env.work().join("to")).expect("writable");
    for (client, file, keys) in [
        (
            "copilot",
            ".github/prompts/a.prompt.md",
            "agent: plan\ntools: [\"search\", \"web/*\"]\n",
        ),
        (
            "opencode",
            ".opencode/command/a.md",
            "model: some/model\nsubtask: true\n",
        ),
    ] {
        write(
            &env,
            file,
            &format!("---\ndescription: A\n{keys}---\nDo it.\n"),
        );
        let from = ["--library", "..", "-C", "to"];
        let outcome = env.run(["export", "--to", client].into_iter().chain(from));
        assert_eq!(outcome.code, 0, "{outcome}");
        let text = super::read(&env, &format!("to/{file}"));
        let top = format!("---\ndescription: A\n{keys}# twig:export sha256:");
        assert!(text.starts_with(&top), "{text}");
        fs::remove_file(env.work().join(file)).expect("own file");
    }
}
