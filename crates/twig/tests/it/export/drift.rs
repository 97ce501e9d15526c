//! A second export: what it updates, what it leaves, what it removes.

use std::fs;

use super::{claude, env, read, states, tree, write};

const CODE: &str = ".claude/commands/code.md";
const PLAN: &str = ".claude/commands/plan.md";

#[test]
fn a_second_export_updates_what_it_wrote() {
    let env = env();
    let fresh = [
        "review:code new written",
        "review:plan new written",
        "review:choose unfit -",
    ];
    assert_eq!(states(&env, []), fresh);
    let current = [
        "review:code current -",
        "review:plan current -",
        "review:choose unfit -",
    ];
    assert_eq!(states(&env, []), current);
    assert_eq!(claude(&env, ["--check"]).code, 0);
    env.write("review/prompts/plan.md", "Make a better plan.\n");
    let outcome = claude(&env, ["--check"]);
    assert!(
        outcome.stdout.contains("changed    review:plan"),
        "{outcome}"
    );
    assert_eq!(outcome.code, 1);
    assert!(read(&env, PLAN).ends_with("---\nMake a plan.\n"));
    assert_eq!(states(&env, [])[1], "review:plan changed updated");
    assert!(read(&env, PLAN).ends_with("---\nMake a better plan.\n"));
    assert_eq!(claude(&env, ["--check"]).code, 0);
}

#[test]
fn what_somebody_changed_is_left() {
    let env = env();
    claude(&env, []);
    let edited = read(&env, PLAN).replace("Make a plan.", "Make my plan.");
    write(&env, PLAN, &edited);
    env.write("review/prompts/plan.md", "Make a better plan.\n");
    insta::assert_snapshot!(claude(&env, ["review:plan"]), @"
    skipped  review:plan  plan.md  was changed since it was exported
    --- stderr
    [work]/.claude/commands: 1 skipped
    hint: --force replaces what was changed or is not Twig's, and keeps a copy
    --- exit 1
    ");
    insta::assert_snapshot!(claude(&env, ["review:plan", "--check"]), @"
    edited  review:plan  plan.md  was changed since it was exported
    --- stderr
    [work]/.claude/commands: 1 edited
    hint: --force replaces what was changed or is not Twig's, and keeps a copy
    --- exit 1
    ");
    assert_eq!(read(&env, PLAN), edited);
    insta::assert_snapshot!(claude(&env, ["review:plan", "--force"]), @"
    replaced  review:plan  plan.md  what was there is plan.md.bak
    --- stderr
    [work]/.claude/commands: 1 replaced
    --- exit 0
    ");
    assert_eq!(read(&env, ".claude/commands/plan.md.bak"), edited);
    assert!(read(&env, PLAN).ends_with("---\nMake a better plan.\n"));
    // A second copy does not replace the first.
    write(&env, PLAN, "mine");
    claude(&env, ["--force"]);
    assert_eq!(read(&env, ".claude/commands/plan.md.bak1"), "mine");
    assert_eq!(read(&env, ".claude/commands/plan.md.bak"), edited);
}

#[test]
fn a_line_break_that_somebody_added_is_left() {
    let env = env();
    claude(&env, []);
    let edited = read(&env, PLAN).replace("Make a plan.", "Make a plan.  ");
    write(&env, PLAN, &edited);
    assert_eq!(claude(&env, ["review:plan", "--check"]).code, 1);
    env.write("review/prompts/plan.md", "Make a better plan.\n");
    claude(&env, []);
    assert_eq!(read(&env, PLAN), edited);
}

#[test]
fn who_may_read_a_file_and_its_copy_stays() {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let env = env();
    write(&env, PLAN, "mine");
    let file = env.work().join(PLAN);
    set_permissions(&file, Permissions::from_mode(0o600)).expect("the test's own file");
    claude(&env, ["--force"]);
    assert!(read(&env, PLAN).contains("Make a plan."));
    for path in [PLAN, ".claude/commands/plan.md.bak"] {
        let mode = metadata(env.work().join(path))
            .expect("a file")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{path}");
    }
}

#[test]
fn what_somebody_wrote_is_left_and_is_no_drift() {
    let env = env();
    write(&env, PLAN, "My own plan\n");
    claude(&env, []);
    assert_eq!(read(&env, PLAN), "My own plan\n");
    insta::assert_snapshot!(claude(&env, ["--check"]), @"
    unchanged  review:code    code.md
    skipped    review:plan    plan.md  was not written by Twig
    skipped    review:choose  -        its template has conditions, which a file cannot hold
    --- stderr
    [work]/.claude/commands: 1 unchanged, 2 skipped
    hint: --force replaces what was changed or is not Twig's, and keeps a copy
    --- exit 0
    ");
    assert_eq!(
        states(&env, ["--force", "--dry-run"])[1],
        "review:plan taken replaced"
    );
    assert_eq!(read(&env, PLAN), "My own plan\n");
    assert_eq!(states(&env, ["--force"])[1], "review:plan taken replaced");
    assert_eq!(read(&env, ".claude/commands/plan.md.bak"), "My own plan\n");
}

#[test]
fn checkouts_with_other_line_ends_are_no_drift() {
    let env = env();
    claude(&env, []);
    for path in [CODE, PLAN] {
        write(&env, path, &read(&env, path).replace('\n', "\r\n"));
    }
    assert_eq!(claude(&env, ["--check"]).code, 0);
}

#[test]
fn files_of_prompts_that_are_gone_go_only_when_asked_for() {
    let env = env();
    claude(&env, []);
    write(&env, ".claude/commands/mine.md", "mine");
    let manifest = "[prompts.code]\ndescription = \"Reviews code\"\n";
    env.write("review/twig.toml", manifest);
    env.write("review/prompts/code.md", "Review code.\n");
    insta::assert_snapshot!(claude(&env, ["--check"]), @"
    changed  review:code  code.md
    gone     review:plan  plan.md
    --- stderr
    [work]/.claude/commands: 1 changed, 1 gone
    hint: --prune removes files of prompts that are gone
    --- exit 1
    ");
    // Of other prompts nothing is said.
    assert_eq!(states(&env, ["code"]), ["review:code changed updated"]);
    insta::assert_snapshot!(claude(&env, []), @"
    unchanged  review:code  code.md
    gone       review:plan  plan.md
    --- stderr
    [work]/.claude/commands: 1 unchanged, 1 gone
    hint: --prune removes files of prompts that are gone
    --- exit 0
    ");
    assert!(fs::exists(env.work().join(PLAN)).expect("readable"));
    insta::assert_snapshot!(claude(&env, ["--prune"]), @"
    unchanged  review:code  code.md
    removed    review:plan  plan.md
    --- stderr
    [work]/.claude/commands: 1 unchanged, 1 removed
    --- exit 0
    ");
    assert_eq!(tree(&env.work()), [CODE, ".claude/commands/mine.md"]);
    assert_eq!(claude(&env, ["--check"]).code, 0);
}

#[test]
fn what_is_gone_and_was_changed_stays() {
    let env = env();
    claude(&env, []);
    let edited = read(&env, PLAN).replace("Make a plan.", "Make my plan.");
    write(&env, PLAN, &edited);
    env.write("review/twig.toml", "");
    assert_eq!(
        states(&env, ["--prune", "--force"]),
        ["review:code gone removed", "review:plan gone -"]
    );
    assert_eq!(read(&env, PLAN), edited);
}

#[test]
fn a_prompt_that_gets_another_file_does_not_stay_in_the_old_one() {
    let env = env();
    claude(&env, []);
    env.write("team/twig.toml", "[prompts.plan]\n");
    env.write("team/prompts/plan.md", "Plan together.\n");
    let check = claude(&env, ["--check", "*:plan"]);
    assert_eq!(check.code, 1, "{check}");
    insta::assert_snapshot!(claude(&env, ["*:plan"]), @"
    written  review:plan  review-plan.md  is called `review-plan`: another prompt is `plan`, too
    written  team:plan    team-plan.md    is called `team-plan`: another prompt is `plan`, too
    removed  review:plan  plan.md
    --- stderr
    [work]/.claude/commands: 2 written, 1 removed
    --- exit 0
    ");
    // Nothing is left to do.
    assert_eq!(claude(&env, ["--check", "*:plan"]).code, 0);
}

#[test]
fn an_old_file_that_somebody_changed_stays() {
    let env = env();
    claude(&env, []);
    let edited = read(&env, PLAN).replace("Make a plan.", "Make my plan.");
    write(&env, PLAN, &edited);
    env.write("team/twig.toml", "[prompts.plan]\n");
    env.write("team/prompts/plan.md", "Plan together.\n");
    assert_eq!(
        states(&env, ["review:*"]).last().map(|it| &**it),
        Some("review:choose unfit -")
    );
    let states = states(&env, ["*:plan"]);
    assert!(
        states.contains(&"review:plan gone -".to_owned()),
        "{states:?}"
    );
    assert_eq!(read(&env, PLAN), edited);
}

#[test]
fn text_behind_the_marker_is_a_change() {
    let env = env();
    let cursor = |more: &[&str]| {
        let data = env.data().display().to_string();
        let args = ["export", "--to", "cursor", "plan", "--library", &data];
        env.run(args.iter().chain(more).copied())
    };
    cursor(&[]);
    let path = ".cursor/commands/plan.md";
    write(
        &env,
        path,
        &format!("{}\nAnd be quick.\n", read(&env, path)),
    );
    insta::assert_snapshot!(cursor(&["--check"]), @"
    edited  review:plan  plan.md  was changed since it was exported
    --- stderr
    [work]/.cursor/commands: 1 edited
    hint: --force replaces what was changed or is not Twig's, and keeps a copy
    --- exit 1
    ");
}

#[test]
fn earlier_exports_for_others_do_not_change_names() {
    let env = twig_testkit::TestEnv::new(crate::TWIG);
    write(&env, ".claude/commands/deploy.md", "Deploy it.\n");
    let to = |client: &str| env.run(["export", "--to", client, "--library", "."]);
    assert_eq!(to("copilot").code, 0);
    insta::assert_snapshot!(to("skills"), @"
    written  claude:deploy   deploy/SKILL.md
    skipped  copilot:deploy  -                is itself an export of `claude:deploy`
    --- stderr
    [work]/.agents/skills: 1 written, 1 skipped
    --- exit 0
    ");
    let again = to("copilot");
    let line = "unchanged  claude:deploy   deploy.prompt.md";
    assert!(again.stdout.starts_with(line), "{again}");
}

#[test]
fn the_file_of_another_prompt_is_left() {
    let env = env();
    env.write("team/twig.toml", "[prompts.plan]\n");
    env.write("team/prompts/plan.md", "Plan together.\n");
    claude(&env, ["*:plan"]);
    claude(
        &env,
        [
            "--library",
            &env.data().join("review").display().to_string(),
        ],
    );
    let before = read(&env, ".claude/commands/review-plan.md");
    write(&env, PLAN, &before);
    // Alone, this prompt is called like the other one's file.
    let alone = claude(&env, ["team:plan"]);
    assert!(
        alone
            .stdout
            .contains("is the file of another prompt, `review:plan`"),
        "{alone}"
    );
    assert_eq!(alone.code, 1, "{alone}");
    assert_eq!(read(&env, PLAN), before);
    assert!(read(&env, ".claude/commands/team-plan.md").contains("Plan together."));
}

#[test]
fn files_with_the_names_of_earlier_versions_are_replaced() {
    let env = crate::env("//- lib/größe.md\nHow large?\n");
    let library = env.data().join("lib").display().to_string();
    let run = |more: &[&str]| {
        let args = [
            "export",
            "--to",
            "claude",
            "--library",
            &library,
            "--kind",
            "markdown",
        ];
        env.run(args.iter().chain(more).copied())
    };
    run(&[]);
    // Earlier versions called the same file `grosse`.
    let (old, new) = (
        env.data().join("lib/grosse.md"),
        env.data().join("lib/größe.md"),
    );
    std::fs::rename(&new, &old).expect("ours");
    run(&["--prune"]);
    assert_eq!(super::tree(&env.work()), [".claude/commands/grosse.md"]);
    std::fs::rename(&old, &new).expect("ours");
    let again = run(&[]);
    assert_eq!(
        super::tree(&env.work()),
        [".claude/commands/größe.md"],
        "{again}"
    );
}

#[test]
fn a_prompt_that_was_named_and_not_written_is_a_failure() {
    let env = env();
    let named = claude(&env, ["choose"]);
    assert_eq!(named.code, 1, "{named}");
    assert_eq!(claude(&env, ["review:*"]).code, 0);
}
