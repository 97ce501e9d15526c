//! Commits that are not taken, and configurations that are refused.

use super::{FollowTest, manifest};

#[test]
fn a_commit_with_errors_is_not_taken_and_is_named_once() {
    let mut server = FollowTest::new().serve();
    server.wait_for("one");
    let good = server.repo.git(["rev-parse", "main"]);
    server.repo.write("prompts/twig.toml", manifest("bad"));
    server.repo.write("prompts/prompts/a.md", "{% if %}\n");
    let bad = server.repo.commit("bad");
    let line = server.wait_for_log("was not taken");
    for part in [&bad[..10], &good[..10], "prompts/a.md:1"] {
        assert!(line.contains(part), "{line}");
    }
    server.wait_for_looks();
    assert!(server.listed().contains("a says one"));
    server.repo.write("prompts/prompts/a.md", "fixed\n");
    server.repo.write("prompts/twig.toml", manifest("two"));
    server.repo.commit("two");
    server.wait_for("two");
    let (test, talk) = server.end();
    assert!(!talk.contains("was not taken"), "{talk}");
    let check = test.env.outcome(&mut test.command(&["check"]));
    assert_eq!(check.code, 0, "{check}");
}

#[test]
fn too_many_files_and_hostile_paths_are_not_taken() {
    let test = FollowTest::new();
    test.configure_with("", "[packages]\nfiles = 10");
    let mut server = test.serve();
    server.wait_for("one");
    for number in 0..20 {
        server
            .repo
            .write(&format!("prompts/more/{number}.md"), "text\n");
    }
    server.repo.commit("many");
    let line = server.wait_for_log("was not taken");
    assert!(
        line.contains("more files than a package may have (10)"),
        "{line}"
    );
    server.repo.remove("prompts/more");
    server.repo.symlink("prompts/prompts/out.md", "/etc/passwd");
    server.repo.write("prompts/twig.toml", manifest("two"));
    server.repo.commit("a symlink");
    server.wait_for("two");
    assert!(!server.listed().contains("root:"));
    let (test, _) = server.end();
    let found = std::process::Command::new("find")
        .arg(test.env.home())
        .args(["-name", "out.md"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn an_emptied_repository_is_not_taken() {
    let mut server = FollowTest::new().serve();
    server.wait_for("one");
    server.repo.remove("prompts");
    server.repo.write("about.txt", "nothing\n");
    server.repo.commit("empty");
    let line = server.wait_for_log("was not taken");
    assert!(line.contains("no folder `prompts`"), "{line}");
    assert!(server.listed().contains("a says one"));
}

#[test]
fn a_configuration_says_what_is_wrong() {
    let test = FollowTest::new();
    let url = test.git.url("kit");
    let cases = [
        (
            "every = 0",
            "`every` is a number of seconds from 1 to 86400",
        ),
        ("every = \"60\"", "`every` is a number of seconds"),
        ("token_file = \"/t\"", "add `every`"),
    ];
    for (line, expected) in cases {
        let source = format!("[[libraries]]\nsource = \"git+{url}\"\n{line}\n");
        test.env.configure(&source);
        let output = test.env.run(["list"]);
        assert!(output.stderr.contains(expected), "{output}");
    }
    for (source, expected) in [
        (
            "https://hub.example.com",
            "only a git repository can be followed",
        ),
        (
            "git@git.example.com:a/b.git",
            "`token_file` is for sources over https",
        ),
    ] {
        let config = format!(
            "[[libraries]]\nsource = \"{source}\"\nname = \"x\"\nevery = 60\ntoken_file = \"/t\"\n"
        );
        test.env.configure(&config);
        let output = test.env.run(["list"]);
        assert!(output.stderr.contains(expected), "{output}");
    }
    // A repository cannot have this machine ask a host again and again.
    test.env.configure("");
    let folder = test.env.work().join(".twig");
    std::fs::create_dir_all(&folder).unwrap();
    let config = format!("[[libraries]]\nsource = \"git+{url}\"\nname = \"x\"\nevery = 60\n");
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let output = test.env.run(["check"]);
    assert!(output.stdout.contains("`every`"), "{output}");
}
