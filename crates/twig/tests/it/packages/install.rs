//! `twig install`: exactly what the lock says.

use std::fs;

use twig_testkit::{GitServer, TestEnv};

use super::{PackageTest, skill, source};
use crate::TWIG;

#[test]
fn install_ignores_tags_and_branches_that_moved() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    let lock = test.lock();
    repo.write("skills/pdf/SKILL.md", skill("pdf", "Evil."))
        .commit("moved");
    repo.move_tag("v1.0.0");
    fs::rename(test.store(), test.env.root().join("gone")).unwrap();
    assert_eq!(test.prompts(), [""; 0]);
    let rows = test.json(["install"]);
    assert_eq!(rows[0]["state"], "fetched");
    assert_eq!(test.lock(), lock);
    assert!(test.ok(["render", "kit:pdf"]).contains("Read the file."));
}

#[test]
fn a_lock_with_other_files_is_refused() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    let commit = repo.git(["rev-parse", "main"]);
    let other = repo.write("x.md", "x").commit("other");
    fs::write(test.lock_path(), test.lock().replace(&commit, &other)).unwrap();
    fs::rename(test.store(), test.env.root().join("gone")).unwrap();
    let output = test.run(["install"]);
    assert_eq!(output.code, 1, "{output}");
    assert!(
        output
            .stderr
            .contains("has other files than the lock says (sha256:"),
        "{output}"
    );
    assert_eq!(test.prompts(), [""; 0]);
}

#[test]
fn two_machines_with_one_lock_serve_the_same_bytes() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("skills/pdf/run.sh", "true\n")
        .executable("skills/pdf/run.sh");
    repo.commit("more");
    repo.tag("v1.1.0");
    test.ok(["add", &source(&repo), "--yes"]);
    repo.write("skills/pdf/SKILL.md", skill("pdf", "Newer."))
        .commit("newer");
    repo.tag("v1.2.0");
    let other = PackageTest {
        env: TestEnv::in_memory(TWIG),
    };
    fs::create_dir_all(other.config_path().parent().unwrap()).unwrap();
    fs::copy(test.config_path(), other.config_path()).unwrap();
    fs::copy(test.lock_path(), other.lock_path()).unwrap();
    assert_eq!(other.prompts(), [""; 0]);
    other.ok(["install", "--frozen"]);
    assert_eq!(other.lock(), test.lock());
    assert_eq!(other.packages(), test.packages());
    for path in ["skills/pdf/SKILL.md", "skills/pdf/run.sh"] {
        let bytes = |it: &PackageTest| fs::read(it.package().join(path)).unwrap();
        assert_eq!(bytes(&test), bytes(&other));
    }
    assert_eq!(
        test.ok(["render", "kit:pdf"]),
        other.ok(["render", "kit:pdf"])
    );
}

#[test]
fn nothing_to_do_asks_nobody() {
    let test = PackageTest::new();
    test.repo("kit");
    let server = GitServer::start(&test.repos());
    test.ok(["add", &server.url("kit"), "--yes"]);
    let requests = server.request_count();
    let before = test.state();
    let said = test.says(["install"]);
    assert!(
        said.contains("1 package is up to date with the lock"),
        "{said}"
    );
    assert_eq!(server.request_count(), requests);
    assert_eq!(test.state(), before);
}

#[test]
fn frozen_fails_on_any_difference() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    repo.write("x.md", "x").commit("more");
    let from = source(&repo);
    test.env
        .configure(&format!("[[libraries]]\nsource = \"{from}\"\n"));
    let said = test.refused(["install", "--frozen"]);
    insta::assert_snapshot!(said, @"
    error: ~/.config/twig/config.toml and the lock beside it differ: `kit` is not locked as wanted
    hint: run `twig install` without --frozen, and commit the lock
    ");
    test.ok(["install"]);
    test.ok(["install", "--frozen"]);
    test.env.configure(&format!(
        "[[libraries]]\nsource = \"{from}\"\nref = \"main\"\n"
    ));
    let said = test.refused(["install", "--frozen"]);
    assert!(said.contains("`kit` is not locked as wanted"), "{said}");
    test.env.configure("");
    let said = test.refused(["install", "--frozen"]);
    assert!(said.contains("`kit` is locked and not wanted"), "{said}");
    let rows = test.json(["install"]);
    assert_eq!(rows[0]["state"], "removed");
    assert!(!test.lock().contains("kit"));
}

#[test]
fn offline_uses_what_is_there() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    test.ok(["install", "--offline"]);
    fs::rename(test.store(), test.env.root().join("gone")).unwrap();
    let output = test.run(["install", "--offline"]);
    assert_eq!(output.code, 1, "{output}");
    insta::assert_snapshot!(output.stderr, @"
    error: the package `kit` is not on this machine
    hint: run `twig install` without --offline
    ");
    fs::remove_file(test.lock_path()).unwrap();
    let output = test.run(["install", "--offline"]);
    assert!(
        output
            .stderr
            .contains("the package `kit` is not in the lock"),
        "{output}"
    );
    assert!(!test.lock_path().exists());
}

#[test]
fn one_that_fails_does_not_keep_the_others_back() {
    let test = PackageTest::new();
    let (one, two) = (test.repo("one"), test.repo("two"));
    test.env.configure(&format!(
        "[[libraries]]\nsource = \"{}\"\n[[libraries]]\nsource = \"{}\"\n",
        source(&one),
        source(&two)
    ));
    fs::rename(one.folder(), test.env.root().join("gone")).unwrap();
    let output = test.run(["install"]);
    assert_eq!(output.code, 1, "{output}");
    assert!(
        output
            .stderr
            .contains("the package `one` was not installed: "),
        "{output}"
    );
    assert_eq!(test.prompts(), ["two:pdf"]);
}

#[test]
fn a_lock_of_a_newer_version_is_left_alone() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    let newer = test.lock().replace("version = 1", "version = 2");
    fs::write(test.lock_path(), newer).unwrap();
    insta::assert_snapshot!(test.refused(["install"]), @"error: ~/.config/twig/twig.lock: it has version 2 of the format, and this Twig knows version 1: update Twig");
    for args in [
        &["update", "--yes"][..],
        &["outdated"],
        &["gc"],
        &["remove", "kit"],
    ] {
        let said = test.refused(args.iter().copied());
        assert!(said.contains("update Twig"), "{args:?}: {said}");
    }
    let two = test.repo("two");
    let output = test.run(["add", &source(&two), "--yes"]);
    assert!(output.stderr.contains("update Twig"), "{output}");
    assert!(test.lock().contains("version = 2"));
    let config = fs::read_to_string(test.config_path()).unwrap();
    assert!(!config.contains("two.git"), "{config}");
}

#[test]
fn a_merge_conflict_in_the_lock_is_healed() {
    let test = PackageTest::new();
    let (one, two, both) = (test.repo("one"), test.repo("two"), test.repo("both"));
    test.ok(["add", &source(&one), &source(&both), "--yes"]);
    let ours = test.lock();
    both.write("x.md", "x").commit("next");
    both.tag("v1.1.0");
    test.ok(["remove", "one"]);
    test.ok(["add", &source(&two), "--yes"]);
    test.ok(["update", "both", "--yes"]);
    let theirs = test.lock();
    let body = |text: &str| text.split_once("version = 1\n").unwrap().1.to_owned();
    let conflict = format!(
        "version = 1\n<<<<<<< HEAD\n{}||||||| base\n=======\n{}>>>>>>> other\n",
        body(&ours),
        body(&theirs)
    );
    test.ok(["add", &source(&one), "--yes"]);
    fs::write(test.lock_path(), &conflict).unwrap();
    for args in [
        &["install", "--frozen"][..],
        &["update", "--yes"],
        &["outdated"],
    ] {
        let said = test.refused(args.iter().copied());
        assert!(
            said.contains("twig.lock:2: git left a merge conflict here"),
            "{said}"
        );
        assert!(
            said.contains("hint: run `twig install`, which takes both sides"),
            "{said}"
        );
    }
    let said = test.says(["install"]);
    assert!(
        said.contains("had a merge conflict: both sides are taken"),
        "{said}"
    );
    let lock = test.lock();
    assert!(!lock.contains("<<<<"), "{lock}");
    assert!(lock.contains("ref = \"v1.1.0\""), "{lock}");
    assert_eq!(test.prompts(), ["both:pdf", "one:pdf", "two:pdf"]);
}

#[test]
fn a_lock_that_is_no_lock_is_refused_with_its_line() {
    let test = PackageTest::new();
    let repo = test.repo("kit");
    test.ok(["add", &source(&repo), "--yes"]);
    let good = test.lock();
    for (from, to, expected) in [
        ("version = 1", "", "`version = 1` is missing"),
        (
            "name = \"kit\"",
            "name = \"../x\"",
            "`name` is not a valid library name",
        ),
        (
            "commit = \"",
            "commit = \"x",
            "`commit` is not a full commit id",
        ),
        ("sha256:", "md5:", "`tree` is not `sha256:` and 64 digits"),
        ("git+file:///", "ext::sh -c ", "is no source"),
        ("files = 2", "files = -1", "a library has no `files`"),
        (
            "ref = \"v1.0.0\"",
            "ref = \"--upload-pack=x\"",
            "is no branch, tag or commit",
        ),
        ("files = 2", "files = 2\npath = \"../x\"", "`path`"),
    ] {
        fs::write(test.lock_path(), good.replacen(from, to, 1)).unwrap();
        let said = test.refused(["install"]);
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("twig.lock:"), "{said}");
    }
}
