//! `twig inventory`: who put what into clients' folders.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use twig_packages::other_locks::vercel_hash;
use twig_testkit::{GitRepo, GitServer, TestEnv};

use super::sample_package::{put, run, skill, succeed};

fn inventory(env: &TestEnv) -> Vec<Value> {
    let rows = succeed(env, ["inventory", "--json"]);
    serde_json::from_str(&rows).expect("JSON")
}

fn row<'r>(rows: &'r [Value], end: &str) -> &'r Value {
    let is_it = |row: &&Value| row["path"].as_str().is_some_and(|path| path.ends_with(end));
    rows.iter().find(is_it).expect("a row")
}

/// Fields of a row.
fn fields(row: &Value, names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| row[*name].clone()).collect()
}

#[test]
fn files_by_hand_and_duplicates_are_listed_by_folder() {
    let env = crate::env("");
    put(&env.home().join(".claude/commands/fix.md"), "Fix it.");
    put(
        &env.home().join(".claude/skills/pdf/SKILL.md"),
        skill("pdf", "Read."),
    );
    put(
        &env.work().join(".agents/skills/pdf/SKILL.md"),
        skill("pdf", "Read better."),
    );
    put(&env.work().join(".cursor/commands/repair.md"), "Fix it.");
    insta::assert_snapshot!(run(&env, ["inventory"]).to_string(), @"
    ~/.claude/commands  Claude Code
      fix     by hand      duplicate of [work]/.cursor/commands/repair.md

    ~/.claude/skills  Claude Code, VS Code, Cursor, opencode
      pdf     by hand      same name as [work]/.agents/skills/pdf, other content

    [work]/.agents/skills  Claude Code, VS Code, Codex, Gemini CLI, Cursor, opencode, Zed, Cline, Copilot CLI, Kilo
      pdf     by hand      same name as ~/.claude/skills/pdf, other content

    [work]/.cursor/commands  Cursor
      repair  by hand      duplicate of ~/.claude/commands/fix.md
    --- stderr
    4 prompts and skills in 4 folders: 0 changed, 4 with duplicates
    --- exit 0
    ");
    let rows = inventory(&env);
    let fix = row(&rows, "fix.md");
    assert_eq!(fields(fix, &["by", "state"]), ["hand", "unknown"]);
    assert_eq!(fix["duplicates"][0]["same_content"], true);
    assert_eq!(
        row(&rows, ".agents/skills/pdf")["duplicates"][0]["same_content"],
        false
    );
}

#[test]
fn symlinks_count_once() {
    let env = crate::env("");
    let home = env.home();
    put(
        &home.join(".agents/skills/pdf/SKILL.md"),
        skill("pdf", "Read."),
    );
    fs::create_dir_all(home.join(".claude/skills")).expect("the test's own folder is writable");
    symlink("../../.agents/skills/pdf", home.join(".claude/skills/pdf")).expect("a symlink");
    fs::create_dir_all(home.join(".codex")).expect("the test's own folder is writable");
    symlink("../.agents/skills", home.join(".codex/skills")).expect("a symlink");
    let rows = inventory(&env);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        rows[0]["linked_from"],
        json!(["[home]/.claude/skills/pdf", "[home]/.codex/skills/pdf"])
    );
    assert_eq!(rows[0].get("duplicates"), None);
}

#[test]
fn locks_of_the_skills_tool_name_source_and_change() {
    let env = crate::env("");
    let folder = env.work().join(".agents/skills");
    let text = skill("pdf", "Read.");
    put(&folder.join("pdf/SKILL.md"), &text);
    put(&folder.join("docx/SKILL.md"), skill("docx", "Read."));
    let hash = |text: &str| vercel_hash(&[("SKILL.md", text.as_bytes())]);
    let entry = |hash: String| json!({"source": "acme/skills", "ref": "v2", "sourceType": "github", "computedHash": hash});
    let lock = json!({"version": 1, "skills": {"pdf": entry(hash(&text)), "docx": entry(hash("another"))}});
    put(&env.work().join("skills-lock.json"), lock.to_string());
    let global = json!({"version": 3, "skills": {"note": {
        "source": "acme/notes", "sourceType": "github", "sourceUrl": "https://github.com/acme/notes.git",
        "skillPath": "skills/note/SKILL.md", "skillFolderHash": "0".repeat(40)}}});
    put(
        &env.home().join(".agents/.skill-lock.json"),
        global.to_string(),
    );
    put(
        &env.home().join(".agents/skills/note/SKILL.md"),
        skill("note", "Note."),
    );
    let rows = inventory(&env);
    let names = ["by", "source", "ref", "state"];
    let from = |state: &str| ["skills", "github:acme/skills", "v2", state].map(Value::from);
    assert_eq!(fields(row(&rows, "/pdf"), &names), from("unchanged"));
    assert_eq!(fields(row(&rows, "/docx"), &names), from("changed"));
    assert_eq!(
        fields(row(&rows, "/note"), &["by", "source", "state"]),
        ["skills", "github:acme/notes", "unknown"]
    );
    put(&env.work().join("skills-lock.json"), "{");
    let output = run(&env, ["inventory"]);
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.stderr.contains("skills-lock.json is ignored"),
        "{output}"
    );
}

#[test]
fn exports_of_twig_are_recognised() {
    let env = crate::env("//- lib/twig.toml\n[prompts.fix]\ntext = \"Fix it.\"\n");
    succeed(&env, ["export", "--to", "claude-code"]);
    let rows = inventory(&env);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        fields(&rows[0], &["by", "source", "state"]),
        ["twig export", "lib:fix", "unchanged"]
    );
    let path = rows[0]["path"].as_str().expect("a path");
    let path = path.replace("[work]", &env.work().display().to_string());
    let path = std::path::Path::new(&path);
    let path = if path.is_dir() {
        path.join("SKILL.md")
    } else {
        path.to_path_buf()
    };
    let text = fs::read_to_string(&path).expect("it is there");
    put(&path, text.replace("Fix it.", "Fix it now."));
    assert_eq!(inventory(&env)[0]["state"], "changed");
}

/// What `gh skill` makes of a skill.
fn by_gh(url: &str, name: &str, text: &str, reference: &str) -> String {
    format!(
        "---\ndescription: About {name}\nmetadata:\n    github-path: skills/{name}\n    github-ref: refs/tags/{reference}\n    github-repo: {url}\n    github-tree-sha: {}\nname: {name}\n---\n{text}\n",
        "0".repeat(40)
    )
}

#[test]
fn skills_of_gh_and_of_packages_are_compared_with_packages() {
    let env = crate::env("");
    let repo = GitRepo::new(env.root().join("remote/tools.git"));
    for name in ["pdf", "docx", "note", "plain"] {
        repo.write(&format!("skills/{name}/SKILL.md"), skill(name, "Read."));
    }
    repo.write("skills/pdf/read.sh", "echo");
    repo.commit("first");
    repo.tag("v1.0.0");
    let server = GitServer::start(&env.root().join("remote"));
    let url = server.url("tools.git");
    succeed(&env, ["add", &format!("git+{url}"), "--yes"]);
    drop(server);
    let folder = env.home().join(".claude/skills");
    put(
        &folder.join("pdf/SKILL.md"),
        by_gh(&url, "pdf", "Read.", "v1.0.0"),
    );
    put(&folder.join("pdf/read.sh"), "echo");
    put(
        &folder.join("docx/SKILL.md"),
        by_gh(&url, "docx", "Read it twice.", "v1.0.0"),
    );
    put(
        &folder.join("note/SKILL.md"),
        by_gh(&url, "note", "Read it twice.", "v0.9.0"),
    );
    put(&folder.join("plain/SKILL.md"), skill("plain", "Read."));
    let rows = inventory(&env);
    let names = ["by", "source", "ref", "package", "state"];
    let of = |by: &str, reference: &str, package: Value, state: &str| {
        vec![
            by.into(),
            format!("git+{url}").into(),
            reference.into(),
            package,
            state.into(),
        ]
    };
    let tools = || Value::from("tools");
    assert_eq!(
        fields(row(&rows, "/pdf"), &names),
        of("gh skill", "v1.0.0", tools(), "unchanged")
    );
    assert_eq!(
        fields(row(&rows, "/docx"), &names),
        of("gh skill", "v1.0.0", Value::Null, "changed")
    );
    assert_eq!(
        fields(row(&rows, "/note"), &names),
        of("gh skill", "v0.9.0", Value::Null, "unknown")
    );
    assert_eq!(
        fields(row(&rows, "/plain"), &names),
        of("package", "v1.0.0", tools(), "unchanged")
    );
    let shown = run(&env, ["inventory"]).to_string();
    insta::assert_snapshot!(shown.replace(&url, "http://host/tools.git"), @"
    ~/.claude/skills  Claude Code, VS Code, Cursor, opencode
      docx   gh skill  git+http://host/tools.git#v1.0.0  changed    differs from the package `tools` at v1.0.0 (47e150b2b3)
      note   gh skill  git+http://host/tools.git#v0.9.0  unknown    differs from the package `tools` at v1.0.0 (47e150b2b3)
      pdf    gh skill  git+http://host/tools.git#v1.0.0  unchanged
      plain  package   git+http://host/tools.git#v1.0.0  unchanged
    --- stderr
    4 prompts and skills in 1 folder: 1 changed, 0 with duplicates
    --- exit 0
    ");
}

#[test]
fn nothing_is_written_and_large_files_are_not_compared() {
    let env = crate::env("");
    let path = env.home().join(".claude/skills/huge/SKILL.md");
    put(&path, skill("huge", "Huge."));
    let data = fs::File::create(path.with_file_name("data.bin")).expect("a file");
    data.set_len(64 * 1024 * 1024).expect("a size");
    let rows = inventory(&env);
    assert_eq!(rows[0]["state"], "unknown");
    assert_eq!(rows[0]["note"], "it is too large");
    assert!(!env.home().join(".config").exists());
}
