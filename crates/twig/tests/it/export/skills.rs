//! Skills are folders: their files come along, and count.

use std::fs;

use twig_testkit::{CommandOutput, TestEnv, write_fixture};

use super::{read, tree, write};

const SKILLS: &str = "\
//- mine/pdf/SKILL.md
---
name: pdf
description: Works with PDF files
license: MIT
allowed-tools: Read Bash
model: big
metadata:
  author: somebody
---
Run [the script](scripts/run.sh) on $ARGUMENTS.
//- mine/pdf/scripts/run.sh
echo run
//- mine/pdf/reference.md
# Reference
";

fn env() -> TestEnv {
    let env = TestEnv::new(crate::TWIG);
    write_fixture(&env.work(), SKILLS);
    fs::create_dir(env.work().join("app")).expect("writable");
    env
}

fn export<'a>(env: &TestEnv, more: impl IntoIterator<Item = &'a str>) -> CommandOutput {
    let args = [
        "export",
        "--library",
        "../mine",
        "--kind",
        "skills",
        "-C",
        "app",
    ];
    env.run(args.into_iter().chain(more))
}

const MAIN: &str = "app/.agents/skills/pdf/SKILL.md";

#[test]
fn a_skill_brings_its_files() {
    let env = env();
    insta::assert_snapshot!(export(&env, ["--to", "skills"]), @"
    written  mine:pdf  pdf/SKILL.md  keeps `allowed-tools: Read Bash`, and clients may run these without asking; leaves out `model`: not in the specification
    --- stderr
    [work]/app/.agents/skills: 1 written
    --- exit 0
    ");
    insta::assert_snapshot!(read(&env, MAIN), @r#"
    ---
    name: pdf
    description: Works with PDF files
    license: MIT
    allowed-tools: Read Bash
    metadata:
      author: "somebody"
      twig-files: "reference.md|scripts/run.sh"
      twig-export: "sha256:fa1270f516630e28099c5a8e322ddaec mine:pdf"
    ---
    Run [the script](scripts/run.sh) on $ARGUMENTS.
    "#);
    let expected = ["SKILL.md", "reference.md", "scripts/run.sh"];
    assert_eq!(tree(&env.work().join("app/.agents/skills/pdf")), expected);
    assert_eq!(
        read(&env, "app/.agents/skills/pdf/scripts/run.sh"),
        "echo run\n"
    );
    assert_eq!(export(&env, ["--to", "skills", "--check"]).code, 0);
}

#[test]
fn a_changed_file_of_a_skill_is_drift() {
    let env = env();
    export(&env, ["--to", "skills"]);
    write(&env, "mine/pdf/scripts/run.sh", "echo more\n");
    fs::remove_file(env.work().join("mine/pdf/reference.md")).expect("writable");
    write(&env, "app/.agents/skills/pdf/notes.txt", "mine");
    assert_eq!(export(&env, ["--to", "skills", "--check"]).code, 1);
    export(&env, ["--to", "skills"]);
    assert_eq!(
        read(&env, "app/.agents/skills/pdf/scripts/run.sh"),
        "echo more\n"
    );
    let expected = ["SKILL.md", "notes.txt", "scripts/run.sh"];
    assert_eq!(tree(&env.work().join("app/.agents/skills/pdf")), expected);
    assert_eq!(export(&env, ["--to", "skills", "--check"]).code, 0);
}

#[test]
fn what_somebody_changed_in_a_skill_is_left() {
    let env = env();
    export(&env, ["--to", "skills"]);
    write(&env, "app/.agents/skills/pdf/scripts/run.sh", "echo mine\n");
    write(&env, "mine/pdf/scripts/run.sh", "echo more\n");
    let outcome = export(&env, ["--to", "skills"]);
    assert!(
        outcome.stdout.contains("changed since it was exported"),
        "{outcome}"
    );
    assert_eq!(
        read(&env, "app/.agents/skills/pdf/scripts/run.sh"),
        "echo mine\n"
    );
    export(&env, ["--to", "skills", "--force"]);
    assert_eq!(
        read(&env, "app/.agents/skills/pdf/scripts/run.sh"),
        "echo more\n"
    );
    assert_eq!(
        read(&env, "app/.agents/skills/pdf/scripts/run.sh.bak"),
        "echo mine\n"
    );
}

#[test]
fn a_skill_that_is_gone_goes_with_its_files() {
    let env = env();
    export(&env, ["--to", "skills"]);
    fs::remove_dir_all(env.work().join("mine/pdf")).expect("writable");
    write(
        &env,
        "mine/other/SKILL.md",
        "---\nname: other\ndescription: Another\n---\nOther.\n",
    );
    export(&env, ["--to", "skills", "--prune"]);
    assert_eq!(
        tree(&env.work().join("app")),
        [".agents/skills/other/SKILL.md"]
    );
}

#[test]
fn commands_say_that_files_stay_behind() {
    let env = env();
    let outcome = export(&env, ["--to", "claude"]);
    assert!(
        outcome
            .stdout
            .contains("the 2 files of the skill stay behind"),
        "{outcome}"
    );
}
