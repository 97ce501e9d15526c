//! Folders of skills: those of many clients, symlinks between them, and what exports keep.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use twig_testkit::{TestEnv, write_fixture};

use crate::TWIG;

const SKILL: &str = "---\nname: NAME\ndescription: About NAME\n---\nDo NAME.\n";

fn skill(folder: &Path, name: &str) {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).expect("writable");
    fs::write(folder.join("SKILL.md"), SKILL.replace("NAME", name)).expect("writable");
}

fn names(env: &TestEnv) -> Vec<String> {
    let outcome = env.run(["list", "--names"]);
    outcome.stdout.lines().map(str::to_owned).collect()
}

/// A project as `npx skills add` leaves it: the skills in one folder, symlinks in another.
fn installed() -> TestEnv {
    let env = TestEnv::new(TWIG);
    let work = env.work();
    skill(&work.join(".agents/skills"), "pdf");
    skill(&work.join(".agents/skills"), "tides");
    fs::create_dir_all(work.join(".claude/skills")).expect("writable");
    for name in ["pdf", "tides"] {
        let target = format!("../../.agents/skills/{name}");
        symlink(target, work.join(".claude/skills").join(name)).expect("writable");
    }
    env
}

#[test]
fn folders_of_many_clients_are_found() {
    let env = TestEnv::new(TWIG);
    let folders = [
        (".agent/skills", "agent_skills"),
        (".qwen/skills", "qwen_skills"),
        (".roo/skills", "roo_skills"),
        (".junie/skills", "junie_skills"),
        (".config/goose/skills", "goose_skills"),
        (".tabnine/agent/skills", "tabnine_skills"),
    ];
    for (folder, _) in folders {
        skill(&env.home().join(folder), "pdf");
    }
    let outcome = env.run(["library", "add", "--detect", "--json"]);
    let rows: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let mut found: Vec<&str> = rows
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["name"].as_str().expect("a name"))
        .collect();
    found.sort_unstable();
    let mut expected = folders.map(|(_, name)| name);
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn symlinks_to_the_shared_skills_count_once_and_are_no_problem() {
    let env = installed();
    assert_eq!(env.run(["library", "add", "."]).code, 0);
    assert_eq!(names(&env), ["skills:pdf", "skills:tides"]);
    let check = env.run(["check", "--strict"]);
    assert_eq!(check.code, 0, "{check}");
    // A skill of the client's own beside the symlinks is served as well.
    skill(&env.work().join(".claude/skills"), "own");
    assert_eq!(
        names(&env),
        ["claude_skills:own", "skills:pdf", "skills:tides"]
    );
    let check = env.run(["check", "--strict"]);
    assert_eq!(check.code, 0, "{check}");
}

#[test]
fn a_folder_of_symlinks_can_be_added() {
    let env = installed();
    insta::assert_snapshot!(env.run(["library", "add", ".claude/skills"]), @"
    skills  skills  2 prompts  2 skills    [work]/.agents/skills
    --- stderr
    added [work]/.claude/skills
    --- exit 0
    ");
    assert_eq!(names(&env), ["skills:pdf", "skills:tides"]);
    let check = env.run(["check", "--strict"]);
    assert_eq!(check.code, 0, "{check}");
    let mut client = env.serve();
    client.initialize();
    let answer = client.request("prompts/get", json!({"name": "skills:pdf"}));
    let text = answer["result"]["messages"][0]["content"]["text"].as_str();
    assert!(
        text.is_some_and(|text| text.contains("Do pdf.")),
        "{answer}"
    );
}

#[test]
fn shared_skills_outside_the_project_are_not_followed() {
    let env = installed();
    let elsewhere = env.root().join("elsewhere");
    fs::rename(env.work().join(".agents/skills"), &elsewhere).expect("writable");
    symlink(&elsewhere, env.work().join(".agents/skills")).expect("writable");
    let added = env.run(["library", "add", ".claude/skills"]);
    assert_eq!(added.code, 1, "{added}");
    let folder = env.work().join(".claude/skills").display().to_string();
    env.configure(&format!("[[libraries]]\npath = \"{folder}\"\n"));
    let check = env.run(["check"]);
    let message = "[work]/.agents/skills is ignored: it is a symlink to a folder outside [work]";
    assert!(check.stdout.contains(message), "{check}");
    assert!(names(&env).is_empty());
}

#[test]
fn exports_of_twig_are_skipped() {
    let env = crate::env("//- review/twig.toml\n[prompts.code]\ntext = \"Review.\"\n");
    for client in ["claude", "skills", "gemini"] {
        let export = env.run(["export", "--to", client, "--scope", "project"]);
        assert_eq!(export.code, 0, "{export}");
    }
    write_fixture(&env.work(), "//- .cursor/commands/ship.md\nShip it.\n");
    insta::assert_snapshot!(env.run(["library", "add", "--detect", "--yes"]), @"
    1.  cursor  cursor  1 prompt        [work]/.cursor/commands  only in [work]
    --- stderr
    skipped [work]/.claude/commands: `twig export` wrote what is in it
    skipped [work]/.agents/skills: `twig export` wrote what is in it
    skipped [work]/.gemini/commands: `twig export` wrote what is in it
    added 1 folder; `twig list` shows what is in them
    --- exit 0
    ");
    // Beside files of the person, they are counted.
    write_fixture(&env.work(), "//- .claude/commands/own.md\nMine.\n");
    let outcome = env.run(["library", "add", "--detect", "--json"]);
    let rows: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows").iter();
    let claude = rows
        .clone()
        .find(|row| row["kind"] == "claude")
        .expect("a row");
    assert_eq!(
        (&claude["prompts"], &claude["exported"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn scripts_of_a_skill_stay_executable() {
    let env = TestEnv::new(TWIG);
    let own = env.root().join("own/skills");
    skill(&own, "pdf");
    write_fixture(
        &own,
        "//- pdf/scripts/run.sh\n#!/bin/sh\necho hi\n//- pdf/notes.md\nNotes.\n",
    );
    let script = own.join("pdf/scripts/run.sh");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o111;
    let own = own.display().to_string();
    let export = || {
        env.run([
            "export",
            "--to",
            "skills",
            "--scope",
            "project",
            "--library",
            &own,
        ])
    };
    assert_eq!(export().code, 0);
    let written = env.work().join(".agents/skills/pdf/scripts/run.sh");
    assert_eq!(mode(&written), 0);
    // The bit alone is a change, too.
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("ours");
    let again = export();
    assert_eq!(again.code, 0, "{again}");
    assert_ne!(mode(&written), 0, "{again}");
    assert_eq!(mode(&env.work().join(".agents/skills/pdf/notes.md")), 0);
    assert_eq!(mode(&env.work().join(".agents/skills/pdf/SKILL.md")), 0);
    fs::remove_dir_all(env.work().join(".agents")).expect("ours");
    assert_eq!(export().code, 0);
    assert_ne!(mode(&written), 0);
}
