//! Repositories hold exactly what the test wrote.

use std::collections::BTreeSet;

use tempfile::TempDir;
use twig_testkit::{GitRepo, RawEntry};

fn repo() -> (TempDir, GitRepo) {
    let folder = TempDir::new().expect("a temporary folder");
    let repo = GitRepo::new(folder.path().join("repo"));
    (folder, repo)
}

/// The modes, kinds and names of a commit's files.
fn listed(repo: &GitRepo, commit: &str) -> Vec<String> {
    let format = "--format=%(objectmode) %(objecttype) %(path)";
    let list = repo.git(["ls-tree", "-r", format, commit]);
    list.lines().map(str::to_owned).collect()
}

#[test]
fn a_commit_has_the_files_their_modes_and_their_bytes() {
    let (_folder, repo) = repo();
    repo.write_fixture("//- a.md\nA.\n//- b/c d.md\nC.\n//- .gitignore\n*\n//- run.sh\ntrue\n")
        .write(".gitattributes", "* text eol=crlf filter=evil\n")
        .write("crlf.txt", b"a\r\nb\xff\0")
        .write("quo\"te\\\n", "")
        .symlink("link", "../../etc/passwd")
        .executable("run.sh");
    let commit = repo.commit("first");
    assert_eq!(commit.len(), 40);
    assert_eq!(
        listed(&repo, &commit),
        [
            "100644 blob .gitattributes",
            "100644 blob .gitignore",
            "100644 blob a.md",
            "100644 blob b/c d.md",
            "100644 blob crlf.txt",
            "120000 blob link",
            r#"100644 blob "quo\"te\\\n""#,
            "100755 blob run.sh",
        ]
    );
    assert_eq!(repo.git(["cat-file", "-s", "main:crlf.txt"]), "6");
    assert_eq!(
        repo.git(["cat-file", "-p", "main:link"]),
        "../../etc/passwd"
    );
}

#[test]
fn later_commits_build_on_earlier_ones() {
    let (_folder, repo) = repo();
    repo.write("a/one", "1").write("a/two", "2").write("b", "");
    let first = repo.commit("first");
    repo.executable("b").remove("a/one");
    let second = repo.commit("second");
    assert_eq!(
        listed(&repo, &second),
        ["100644 blob a/two", "100755 blob b"]
    );
    assert_eq!(repo.git(["rev-parse", "main^"]), first);
    let empty = repo.commit("empty");
    assert_eq!(listed(&repo, &empty).len(), 2);
    let dates = repo.git(["log", "--format=%ct %an"]);
    assert_eq!(
        dates,
        "1767225602 Tester\n1767225601 Tester\n1767225600 Tester"
    );
}

#[test]
fn the_same_files_give_the_same_commit() {
    let commits: BTreeSet<String> = (0..2)
        .map(|_| repo().1.write("a", "A").commit("first"))
        .collect();
    assert_eq!(commits.len(), 1);
}

#[test]
fn tags_and_branches_stay_where_they_were_put() {
    let (_folder, repo) = repo();
    let first = repo.write("a", "1").commit("first");
    repo.tag("v1");
    repo.annotated_tag("v1.0.0", "release");
    repo.branch("next");
    let second = repo.write("a", "2").commit("second");
    let at = |name: &str| repo.git(["rev-parse", &format!("{name}^{{commit}}")]);
    let names = ["v1", "v1.0.0", "main", "HEAD", "next"].map(at);
    assert_eq!(
        names,
        [&first, &first, &first, &first, &second].map(Clone::clone)
    );
    repo.move_tag("v1");
    repo.default_branch("next");
    assert_eq!(["v1", "HEAD"].map(at), [second.clone(), second]);
    repo.branch("main");
    let third = repo.write("a", "3").commit("third");
    assert_eq!(repo.git(["rev-parse", &format!("{third}^")]), first);
}

#[test]
fn raw_trees_have_names_that_git_refuses() {
    let (_folder, repo) = repo();
    let first = repo.write("a", "A").commit("first");
    let id = "1234567890123456789012345678901234567890";
    let commit = repo.raw_tree(&[
        RawEntry::file("readme", "lower"),
        RawEntry::file("README", "upper"),
        RawEntry::folder("..", [RawEntry::file("up", "out")]),
        RawEntry::folder(".git", [RawEntry::executable("hook", "#!/bin/sh\n")]),
        RawEntry::file("a\\b", "back"),
        RawEntry::file(b"\xff", "bytes"),
        RawEntry::file("x/y", "slash"),
        RawEntry::symlink("link", "/etc/passwd"),
        RawEntry::gitlink("module", id),
    ]);
    let format = "--format=%(objectmode) %(path)";
    let list = repo.git(["ls-tree", "-r", format, &commit]);
    assert_eq!(
        list,
        "100644 ../up\n100755 .git/hook\n100644 README\n100644 \"a\\\\b\"\n120000 link\n\
         160000 module\n100644 readme\n100644 x/y\n100644 \"\\377\""
    );
    assert_eq!(repo.git(["rev-parse", "main"]), commit);
    assert_eq!(repo.git(["rev-parse", "main^"]), first);
}

#[test]
fn large_and_many_files_are_made_in_one_commit() {
    let (folder, repo) = repo();
    repo.large_blob("zeros.bin", 40 << 20).many_files(10_000);
    let commit = repo.commit("large");
    assert_eq!(listed(&repo, &commit).len(), 10_001);
    let size = repo.git(["cat-file", "-s", "main:zeros.bin"]);
    assert_eq!(size, (40 << 20).to_string());
    assert_eq!(
        repo.git(["cat-file", "-p", "main:many/0099/009999.md"]),
        "File 9999."
    );
    assert_eq!(repo.folder(), folder.path().join("repo"));
}
