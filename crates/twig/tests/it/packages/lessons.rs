//! What others got wrong: a test for each.

use std::fs;

use serde_json::json;
use twig_testkit::{GitServer, SshServer};

use super::{PackageTest, edit, skill, source};

#[test]
fn a_lock_has_no_times_tool_versions_or_paths_of_this_machine() {
    let test = PackageTest::new();
    test.repo("kit");
    let server = GitServer::start(&test.repos());
    test.ok(["add", &server.url("kit"), "--yes"]);
    let lock = test.lock();
    for word in [
        env!("CARGO_PKG_VERSION"),
        "time",
        "date",
        &*test.env.root().to_string_lossy(),
    ] {
        assert!(!lock.contains(&format!("\"{word}")), "{word} in {lock}");
    }
    let keys: Vec<&str> = lock
        .lines()
        .filter_map(|it| it.split_once(" = "))
        .map(|it| it.0)
        .collect();
    assert_eq!(
        keys,
        [
            "version", "name", "source", "ref", "commit", "tree", "files"
        ]
    );
    // Doing it again, or doing nothing, changes no byte.
    test.ok(["install"]);
    test.ok(["update", "--yes"]);
    assert_eq!(test.lock(), lock);
    fs::remove_file(test.lock_path()).unwrap();
    test.ok(["install"]);
    assert_eq!(test.lock(), lock);
}

#[test]
fn no_history_is_fetched() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    for number in 0..5 {
        let noise: String = (0..20_000_u64)
            .map(|at| format!("{:x}", (at + number).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        repo.write("large.txt", noise).commit("large");
    }
    repo.remove("large.txt").commit("small");
    repo.tag("v2.0.0");
    let server = GitServer::start(&test.repos());
    test.ok(["add", &server.url("kit"), "--yes"]);
    assert!(server.bytes_sent() < 20_000, "{}", server.bytes_sent());
}

#[test]
fn packages_are_fetched_side_by_side() {
    let test = PackageTest::new();
    let server = GitServer::start(&test.repos());
    let mut config = String::new();
    for number in 0..3 {
        test.repo(&format!("kit{number}"));
        let url = server.url(&format!("kit{number}"));
        config.push_str(&format!("[[libraries]]\nsource = \"git+{url}\"\n"));
    }
    test.env.configure(&config);
    // Nobody gets an answer until all have asked.
    server.stall_after(0);
    let mut command = test.command(["install"]);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    server.wait_for_requests(3);
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_passphrase_is_never_asked_for() {
    let test = PackageTest::new();
    test.repo("kit");
    let Some(server) = SshServer::start(&test.repos()) else {
        println!("passed over: there is no sshd");
        return;
    };
    let key = test.env.root().join("locked_key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "a passphrase", "-f"])
        .arg(&key)
        .status();
    assert!(made.unwrap().success());
    let command = format!("{} -i '{}'", server.command(), key.display());
    server.refuse_keys();
    let trap = test.trap("askpass");
    let mut add = test.command(["add", &server.url("kit.git"), "--yes"]);
    add.env("GIT_SSH_COMMAND", command)
        .env("SSH_ASKPASS", trap)
        .env("SSH_ASKPASS_REQUIRE", "force")
        .env("DISPLAY", ":0");
    let said = test.refused_by(&mut add);
    assert!(said.contains("git has no login for it"), "{said}");
}

#[test]
fn the_lock_keeps_the_host() {
    let test = PackageTest::new();
    test.repo("kit");
    let server = GitServer::start(&test.repos());
    test.ok(["add", &server.url("kit"), "--yes"]);
    assert!(
        test.lock()
            .contains(&format!("source = \"git+{}\"", server.url("kit")))
    );
}

#[test]
fn an_update_overwrites_neither_edits_nor_a_skill_of_another_owner() {
    let test = PackageTest::new();
    let (one, two) = (test.repo("one"), test.repo("two"));
    two.write("skills/pdf/SKILL.md", skill("pdf", "Of two."))
        .commit("own");
    two.tag("v1.0.1");
    test.ok(["add", &source(&one), &source(&two), "--yes"]);
    let own = test.env.home().join(".claude/skills/pdf/SKILL.md");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "edited by hand").unwrap();
    one.write("skills/pdf/SKILL.md", skill("pdf", "New of one."))
        .commit("new");
    one.tag("v1.1.0");
    test.ok(["update", "--yes"]);
    assert_eq!(fs::read_to_string(&own).unwrap(), "edited by hand");
    assert!(test.ok(["render", "one:pdf"]).contains("New of one."));
    assert!(test.ok(["render", "two:pdf"]).contains("Of two."));
}

#[test]
fn a_rename_leaves_no_orphan() {
    let test = PackageTest::new();
    let repo = test.empty_repo("kit");
    let body = "A text that is long enough to be known again when it moves.\n".repeat(5);
    repo.write("skills/pdf/SKILL.md", skill("pdf", &body))
        .commit("one");
    repo.tag("v1.0.0");
    test.ok(["add", &source(&repo), "--yes"]);
    repo.remove("skills/pdf");
    repo.write("skills/paper/SKILL.md", skill("paper", &body));
    repo.commit("renamed");
    repo.tag("v1.1.0");
    let output = test.run(["update", "--yes"]);
    assert!(
        output.stdout.contains("pdf → ") && output.stdout.contains("paper"),
        "{output}"
    );
    assert_eq!(test.prompts(), ["kit:paper"]);
}

#[test]
fn the_disk_is_compared_and_not_only_the_lock() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    edit(&test.package().join("skills/pdf/SKILL.md"), b"other");
    assert_ne!(test.run(["render", "kit:pdf"]).code, 0);
    assert_eq!(test.json(["install", "--repair"])[0]["state"], "fetched");
    assert_eq!(test.run(["render", "kit:pdf"]).code, 0);
}

#[test]
fn a_source_that_does_not_answer_deletes_nothing() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    let server = GitServer::start(&test.repos());
    test.ok(["add", &server.url("kit"), "--yes"]);
    server.not_found();
    for args in [&["update", "--yes"][..], &["outdated"]] {
        test.refused(args.iter().copied());
    }
    test.ok(["install"]);
    server.heal();
    // The tag was removed: what is locked stays, and is still to be had by its commit.
    repo.git(["tag", "-d", "v1.0.0"]);
    let before = test.state();
    test.run(["update", "--plan"]);
    assert_eq!(test.state().lock, before.lock);
    fs::rename(test.store(), test.env.root().join("gone")).unwrap();
    test.ok(["install"]);
    assert_eq!(test.prompts(), ["kit:pdf"]);
}

#[test]
fn commits_are_pinned_and_no_stale_copy_is_served() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &format!("{}#main", source(&repo)), "--yes"]);
    let first = repo.git(["rev-parse", "main"]);
    repo.write("skills/pdf/SKILL.md", skill("pdf", "Newer."))
        .commit("next");
    assert!(test.lock().contains(&first));
    assert!(test.ok(["render", "kit:pdf"]).contains("Read the file."));
    test.ok(["update", "--yes"]);
    assert!(test.ok(["render", "kit:pdf"]).contains("Newer."));
}

#[test]
fn only_what_a_digest_proves_ours_is_removed() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    let strange = ["notes.txt", "pdf/SKILL.md", "abcdef"];
    for path in strange {
        let path = test.store().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "not ours").unwrap();
    }
    test.ok(["remove", "kit"]);
    assert_eq!(test.json(["gc"])["kept"], json!(0));
    for path in strange {
        assert!(test.store().join(path).exists(), "{path}");
    }
}
