//! `twig add --from FILE`: what another tool installed becomes packages.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::{GitRepo, GitServer, TestEnv};

use super::{json as json_of, new_env, run};

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}\n---\nDo {name}.\n")
}

/// A server with two repositories; returns the first commit of `tools`.
fn served(env: &TestEnv) -> (GitServer, String) {
    let root = env.root().join("repos");
    let tools = GitRepo::new(root.join("tools.git"));
    for name in ["pdf", "docx", "xlsx"] {
        tools.write(&format!("skills/{name}/SKILL.md"), skill(name));
    }
    let first = tools.commit("skills");
    tools.tag("v1.0.0");
    tools.write("skills/pdf/SKILL.md", skill("pdf").replace("Do", "Make"));
    tools.commit("newer");
    let single = GitRepo::new(root.join("single.git"));
    single.write("review/SKILL.md", skill("review"));
    single.commit("a skill");
    (GitServer::start(&root), first)
}

fn skills_lock(server: &GitServer, env: &TestEnv) -> String {
    let lock = json!({
        "version": 1,
        "skills": {
            "pdf": { "source": server.url("tools"), "sourceType": "git", "ref": "v1.0.0",
                "skillPath": "skills/pdf/SKILL.md", "computedHash": "00" },
            "docx": { "source": server.url("tools"), "sourceType": "git", "ref": "v1.0.0",
                "skillPath": "skills/docx/SKILL.md", "computedHash": "00" },
            "review": { "source": server.url("single"), "sourceType": "git",
                "skillPath": "review/SKILL.md", "computedHash": "00" },
            "mine": { "source": "../mine", "sourceType": "local", "computedHash": "00" },
        },
    });
    let file = env.work().join("skills-lock.json");
    fs::write(&file, lock.to_string()).expect("the test's own folder is writable");
    "skills-lock.json".to_owned()
}

fn config(env: &TestEnv) -> String {
    fs::read_to_string(env.home().join(".config/twig/config.toml")).unwrap_or_default()
}

#[test]
fn skills_of_another_tool_become_packages() {
    let env = new_env();
    let (server, _) = served(&env);
    let file = skills_lock(&server, &env);
    let shown = run(&env, &["add", "--from", &file, "--dry-run"]);
    let text = shown.to_string();
    assert_eq!(shown.code, 0, "{text}");
    for part in [
        "skills-lock.json of skills: 2 packages to add, 0 there, 1 not taken over",
        "docx, pdf",
        "not taken over: `mine`: it comes from a folder of this machine",
        "v1.0.0",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    assert_eq!(config(&env), "");
    let unasked = run(&env, &["add", "--from", &file]);
    assert_eq!(unasked.code, 1, "{unasked}");
    assert!(unasked.stderr.contains("use --yes"), "{unasked}");
    let added = run(&env, &["add", "--from", &file, "--yes"]);
    assert_eq!(added.code, 0, "{added}");
    let config = config(&env);
    assert!(config.contains("ref = \"v1.0.0\""), "{config}");
    assert!(config.contains("only = [\"docx\", \"pdf\"]"), "{config}");
    let list = run(&env, &["list"]).stdout;
    for name in ["pdf", "docx", "review"] {
        assert!(list.contains(name), "{list}");
    }
    assert!(!list.contains("xlsx"), "{list}");
    let again = json_of(&env, &["add", "--from", &file, "--yes", "--json"]);
    assert_eq!(again["packages"], json!([]));
    assert_eq!(again["known"].as_array().map(Vec::len), Some(2), "{again}");
    assert_eq!(again["refused"][0]["name"], "mine");
}

#[test]
fn a_commit_is_kept_where_there_is_no_other_version() {
    let env = new_env();
    let (server, first) = served(&env);
    let mut lock = json!({ "lockfileVersion": 1, "sources": {} });
    lock["sources"][server.url("tools")] =
        json!({ "resolvedRef": first, "skills": { "pdf": { "integrity": "sha256-x" } } });
    fs::write(env.work().join("rulesync.lock"), lock.to_string()).unwrap();
    let added = json_of(&env, &["add", "--from", "rulesync.lock", "--yes", "--json"]);
    assert_eq!(added["tool"], "rulesync");
    assert_eq!(added["packages"][0]["ref"], Value::from(&*first), "{added}");
    assert_eq!(added["packages"][0]["commit"], Value::from(&*first));
    assert_eq!(added["packages"][0]["added"], true);
}

#[test]
fn one_that_cannot_be_fetched_does_not_keep_the_others_back() {
    let env = new_env();
    let (server, _) = served(&env);
    let manifest = format!(
        "name: x\ndependencies:\n  apm:\n    - git: {}\n      path: skills\n    - git: {}\n    - git: {}\n      path: skills\n      ref: v1.0.0\n",
        server.url("tools"),
        server.url("gone"),
        server.url("tools"),
    );
    fs::write(env.work().join("apm.yml"), manifest).unwrap();
    let added = run(&env, &["add", "--from", "apm.yml", "--yes"]);
    assert_eq!(added.code, 1, "{added}");
    assert!(added.stderr.contains("gone"), "{added}");
    assert!(added.stderr.contains("takes the same folder at"), "{added}");
    assert!(added.stderr.contains("added `tools`"), "{added}");
    let list = run(&env, &["list"]).stdout;
    assert!(list.contains("xlsx"), "{list}");
}

#[test]
fn other_files_are_refused_with_a_sentence() {
    let env = new_env();
    let none = run(&env, &["add", "--from", "skills-lock.json"]);
    assert!(
        none.stderr
            .contains("skills-lock.json cannot be read: there is no such file"),
        "{none}"
    );
    fs::write(env.work().join("notes.txt"), "hello").unwrap();
    let other = run(&env, &["add", "--from", "notes.txt"]);
    assert!(
        other.stderr.contains("is no file that Twig can take over"),
        "{other}"
    );
    fs::write(
        env.work().join("skills-lock.json"),
        "{\"version\": 9, \"skills\": {}}",
    )
    .unwrap();
    let newer = run(&env, &["add", "--from", "skills-lock.json"]);
    assert!(newer.stderr.contains("version 9 of its format"), "{newer}");
    for output in [none, other, newer] {
        assert_eq!(output.code, 1, "{output}");
    }
    let both = run(&env, &["add", "--from", "x", "o/r"]);
    assert_eq!(both.code, 2, "{both}");
}
