//! Servers with packages: live, with stable names, and never on the network.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::{GitRepo, GitServer, TestClient};

use super::{PackageTest, edit, skill, source, write_program};

const CHANGED: &str = "notifications/prompts/list_changed";

/// A server without a `PATH`: it can run no git.
fn started(test: &PackageTest) -> TestClient {
    let mut client = test.env.serve();
    client.initialize();
    client
}

fn names(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array().expect("prompts");
    let names = prompts.iter().filter_map(|prompt| prompt["name"].as_str());
    names.map(str::to_owned).collect()
}

fn text(client: &mut TestClient, name: &str) -> String {
    let answer = client.request("prompts/get", json!({"name": name}));
    answer["result"]["messages"][0]["content"]["text"].to_string()
}

/// A repository of ten skills that all say the same word.
fn say(repo: &GitRepo, word: &str) {
    for number in 0..10 {
        let name = format!("s{number}");
        let text = skill(&name, word).replace("How to", word);
        repo.write(&format!("skills/{name}/SKILL.md"), text);
    }
    repo.commit(word);
}

#[test]
fn an_update_is_announced_once_and_switches_all_prompts_at_once() {
    let test = PackageTest::new();
    let repo = test.empty_repo("kit");
    say(&repo, "before");
    repo.tag("v1.0.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let mut client = started(&test);
    assert!(text(&mut client, "kit:s9").contains("before"));
    say(&repo, "after");
    repo.tag("v1.1.0");
    test.ok(["update", "--yes"]);
    client.notification(CHANGED);
    let listed = client.request("prompts/list", json!({}))["result"].to_string();
    assert!(
        listed.contains("after") && !listed.contains("before"),
        "{listed}"
    );
    for number in 0..10 {
        let shown = text(&mut client, &format!("kit:s{number}"));
        assert!(shown.contains("after"), "{shown}");
    }
    // What comes after the next change comes after all of the first one.
    test.env.write("own/twig.toml", "[prompts.p]\n");
    test.env.write("own/prompts/p.md", "text\n");
    client.notification(CHANGED);
    while !names(&mut client).contains(&"own:p".to_owned()) {
        client.notification(CHANGED);
    }
    assert_eq!(client.pending(CHANGED), 0);
}

#[test]
fn a_reader_never_sees_two_versions_in_one_list() {
    let test = PackageTest::new();
    let repo = test.empty_repo("kit");
    say(&repo, "before");
    repo.tag("v1.0.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let mut client = started(&test);
    say(&repo, "after");
    repo.tag("v1.1.0");
    let mut update = test.command(["update", "--yes"]);
    let mut update = update.stdout(std::process::Stdio::null()).spawn().unwrap();
    loop {
        let listed = client.request("prompts/list", json!({}))["result"].to_string();
        let is_old = listed.contains("before");
        assert_ne!(is_old, listed.contains("after"), "{listed}");
        if !is_old {
            break;
        }
    }
    assert!(update.wait().unwrap().success());
}

#[test]
fn names_stay_when_an_update_adds_other_kinds_of_folders() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    assert_eq!(test.prompts(), ["kit:pdf"]);
    repo.write(".claude/commands/do.md", "Do it.\n");
    repo.write("prompts/hello.md", "Hello.\n");
    repo.write("README.md", "# Kit\n");
    repo.write(".claude/skills/doc/SKILL.md", skill("doc", "text"));
    repo.write("plugins/more/skills/xls/SKILL.md", skill("xls", "text"));
    repo.commit("more kinds");
    repo.tag("v1.1.0");
    test.ok(["update", "--yes"]);
    let prompts = test.prompts();
    assert!(prompts.contains(&"kit:pdf".to_owned()), "{prompts:?}");
    assert!(
        prompts.contains(&"kit_commands:do".to_owned()),
        "{prompts:?}"
    );
    let before = test.state();
    // And when they go away again.
    repo.remove(".claude")
        .remove("prompts")
        .remove("plugins")
        .commit("fewer");
    repo.tag("v1.2.0");
    test.ok(["update", "--yes"]);
    assert_eq!(test.prompts(), ["kit:pdf"]);
    test.ok(["update", "--undo"]);
    assert_eq!(test.state().lock, before.lock);
    assert_eq!(test.prompts(), prompts);
}

#[test]
fn skills_carry_the_digests_of_the_list() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("skills/pdf/forms.md", "Forms.\n").commit("more");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let list = fs::read_to_string(test.package().with_extension("files")).unwrap();
    let mut client = test.env.serve();
    let answer = client.modern("skills/list", json!({}));
    let files = answer["result"]["skills"][0]["resources"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(files.len(), 2, "{answer}");
    for file in files {
        let digest = file["digest"].as_str().unwrap();
        let digest = digest.strip_prefix("sha256:").unwrap();
        let name = file["uri"].as_str().unwrap().rsplit('/').next().unwrap();
        let line = list
            .lines()
            .find(|line| line.ends_with(&format!("/{name}")))
            .unwrap();
        assert!(line.contains(digest), "{line}");
    }
}

#[test]
fn a_file_that_is_changed_while_it_is_served_is_refused() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    let mut client = started(&test);
    assert!(text(&mut client, "kit:pdf").contains("Read the file."));
    let path = test.package().join("skills/pdf/SKILL.md");
    let good = fs::read(&path).unwrap();
    edit(&path, skill("pdf", "Evil text.").as_bytes());
    let answer = client.request("prompts/get", json!({"name": "kit:pdf"}));
    assert!(answer.get("error").is_some(), "{answer}");
    assert!(!answer.to_string().contains("Evil"), "{answer}");
    edit(&path, &good);
    loop {
        let answer = client.request("prompts/get", json!({"name": "kit:pdf"}));
        assert!(!answer.to_string().contains("Evil"), "{answer}");
        if answer.get("error").is_none() {
            break;
        }
    }
}

#[test]
fn search_finds_prompts_of_packages() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write(
        "skills/tides/SKILL.md",
        skill("tides", "About the moon and harbours."),
    );
    repo.commit("tides");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let found = test.json(["search", "harbours"]).to_string();
    assert!(found.contains("kit:tides"), "{found}");
}

#[test]
fn functions_need_trust_and_an_update_asks_again() {
    let test = PackageTest::new();
    let repo = test.empty_repo("kit");
    let answer =
        r#"printf '{"messages":[{"role":"user","content":{"type":"text","text":"ran"}}]}'"#;
    let script = format!("#!/bin/sh\n{answer}\n");
    repo.write("twig.toml", "[prompts.run]\ncommand = [\"./bin/run\"]\n");
    repo.write("bin/run", &script).executable("bin/run");
    repo.commit("one");
    repo.tag("v1.0.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let mut client = started(&test);
    let run = |client: &mut TestClient| -> Value {
        client.request("prompts/get", json!({"name": "kit:run"}))
    };
    assert!(run(&mut client).get("error").is_some());
    test.ok(["library", "trust", "kit", "--yes"]);
    while run(&mut client).get("error").is_some() {
        client.notification(CHANGED);
    }
    repo.write("bin/run", script.replace("ran", "ran again"))
        .executable("bin/run");
    repo.commit("two");
    repo.tag("v1.1.0");
    test.ok(["update", "--yes"]);
    loop {
        let answer = run(&mut client);
        assert!(!answer.to_string().contains("ran again"), "{answer}");
        if answer.get("error").is_some() {
            break;
        }
        client.notification(CHANGED);
    }
    // The version that was trusted is still trusted.
    test.ok(["update", "--undo"]);
    while run(&mut client).get("error").is_some() {
        client.notification(CHANGED);
    }
}

#[test]
fn a_repository_with_packages_serves_them_only_after_install() {
    let test = PackageTest::new();
    test.repo("kit");
    let server = GitServer::start(&test.repos());
    let folder = test.env.work().join(".twig");
    fs::create_dir_all(test.env.work().join(".git")).unwrap();
    fs::create_dir_all(&folder).unwrap();
    let config = format!("[[libraries]]\nsource = \"git+{}\"\n", server.url("kit"));
    fs::write(folder.join("config.toml"), config).unwrap();
    let mut command = test.command(["serve"]);
    let trap = test.env.root().join("programs");
    write_program(
        &trap.join("git"),
        &format!("touch '{}'\n", test.mark().display()),
    );
    let mut client = TestClient::start({
        command.env("PATH", &trap);
        command
    });
    client.initialize();
    assert_eq!(names(&mut client), [""; 0]);
    assert_eq!(server.request_count(), 0);
    assert!(!folder.join("twig.lock").exists());
    let checked = test.run(["check"]);
    assert!(
        checked
            .to_string()
            .contains("the package `kit` is not in the lock"),
        "{checked}"
    );
    assert!(
        checked.to_string().contains("run `twig install`"),
        "{checked}"
    );
    test.ok(["install"]);
    assert!(folder.join("twig.lock").is_file());
    let requests = server.request_count();
    while names(&mut client) != ["kit:pdf"] {
        client.notification(CHANGED);
    }
    assert_eq!(server.request_count(), requests);
    assert!(!test.was_executed());
}

#[test]
fn what_is_not_installed_is_named_and_the_rest_served() {
    let test = PackageTest::new();
    let (one, two) = (test.repo("one"), test.repo("two"));
    two.write("x.md", "x").commit("more");
    two.tag("v1.1.0");
    test.ok(["add", &source(&one), "--yes"]);
    let only = test.package();
    test.ok(["add", &source(&two), "--yes"]);
    fs::rename(&only, test.env.root().join("gone")).unwrap();
    assert_eq!(test.prompts(), ["two:pdf"]);
    let checked = test.run(["check"]).to_string();
    let expected = "the package `one` is not on this machine, so nothing of it is served";
    assert!(checked.contains(expected), "{checked}");
}

#[test]
fn plain_prompts_are_served_beside_skills() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("prompts/standup.md", "Write my standup.\n");
    repo.write("prompts/README.md", "About the prompts.\n");
    repo.write("docs/guide.md", "A guide.\n");
    repo.commit("prompts");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    let mut client = started(&test);
    assert_eq!(names(&mut client), ["kit:pdf", "kit_prompts:standup"]);
}
