//! `twig vendor`: copies of locked files in the repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use twig_testkit::{GitRepo, TestEnv};

use super::sample_package::{put, repository, run, skill, source, succeed};

/// A repository with a `.twig` folder that has the package.
fn project(only: Option<&str>) -> (TestEnv, GitRepo) {
    let env = crate::env("");
    let repo = repository(&env);
    fs::create_dir_all(env.work().join(".twig")).expect("the test's own folder is writable");
    let source = source(&repo);
    let only = only.map(|only| ["--only", only]);
    let args = ["add", &source, "--yes"];
    succeed(&env, args.into_iter().chain(only.into_iter().flatten()));
    (env, repo)
}

fn vendor(env: &TestEnv, args: &[&str]) -> Value {
    let args = ["vendor", "--json"].iter().chain(args).copied();
    let mut report: Value = serde_json::from_str(&succeed(env, args)).expect("JSON");
    report["files"].take()
}

fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                let path = path.strip_prefix(folder).expect("it is in the folder");
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn served_files_are_copied_once() {
    let (env, _repo) = project(None);
    let folder = env.work().join(".twig/vendor");
    let written = |path: &str| json!({"path": format!("tools/{path}"), "action": "written"});
    let all = json!([
        written("LICENSE"),
        written("skills/docx/SKILL.md"),
        written("skills/pdf/SKILL.md"),
        written("skills/pdf/scripts/read.sh"),
    ]);
    assert_eq!(vendor(&env, &["--dry-run"]), all);
    assert!(!folder.exists());
    assert_eq!(vendor(&env, &[]), all);
    let script = folder.join("tools/skills/pdf/scripts/read.sh");
    let mode = script.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "{mode:o}");
    let list = fs::read(folder.join("twig-vendor.files")).expect("a list");
    assert_eq!(vendor(&env, &[]), json!([]));
    let again = fs::read(folder.join("twig-vendor.files")).expect("a list");
    assert_eq!(list, again);
    let shown = run(&env, ["vendor"]).to_string();
    insta::assert_snapshot!(shown, @"
    --- stderr
    1 package copied to [work]/.twig/vendor: 0 written, 0 updated, 0 removed, 4 unchanged
    --- exit 0
    ");
}

#[test]
fn what_only_leaves_out_is_not_copied() {
    let (env, _repo) = project(Some("pdf"));
    vendor(&env, &["third_party"]);
    let found = files_below(&env.work().join("third_party"));
    assert_eq!(
        found,
        [
            "tools/LICENSE",
            "tools/skills/pdf/SKILL.md",
            "tools/skills/pdf/scripts/read.sh",
            "twig-vendor.files"
        ]
    );
}

#[test]
fn files_that_were_changed_by_hand_are_kept() {
    let (env, repo) = project(None);
    vendor(&env, &[]);
    let folder = env.work().join(".twig/vendor/tools/skills");
    put(&folder.join("pdf/SKILL.md"), "mine");
    put(&folder.join("own/SKILL.md"), "never theirs");
    repo.write("skills/pdf/SKILL.md", skill("pdf", "Read it better."))
        .remove("skills/pdf/scripts/read.sh")
        .remove("skills/docx/SKILL.md")
        .write("skills/xlsx/SKILL.md", skill("xlsx", "Read the table."));
    repo.commit("second");
    repo.tag("v1.1.0");
    put(&folder.join("docx/SKILL.md"), "mine, too");
    succeed(&env, ["update", "--yes"]);
    let done = |path: &str, action: &str| json!({"path": format!("tools/skills/{path}"), "action": action});
    let first = json!([
        done("docx/SKILL.md", "kept"),
        done("pdf/SKILL.md", "kept"),
        done("pdf/scripts/read.sh", "removed"),
        done("xlsx/SKILL.md", "written"),
    ]);
    assert_eq!(vendor(&env, &["--dry-run"]), first);
    assert_eq!(vendor(&env, &[]), first);
    assert_eq!(vendor(&env, &[]), json!([done("pdf/SKILL.md", "kept")]));
    assert!(!folder.join("pdf/scripts").exists());
    let text = |path: &str| fs::read_to_string(folder.join(path)).expect("it is there");
    assert_eq!(text("pdf/SKILL.md"), "mine");
    assert_eq!(text("docx/SKILL.md"), "mine, too");
    assert_eq!(
        vendor(&env, &["--force"]),
        json!([done("pdf/SKILL.md", "updated")])
    );
    assert_eq!(text("pdf/SKILL.md"), skill("pdf", "Read it better."));
    assert_eq!(text("docx/SKILL.md"), "mine, too");
    assert_eq!(text("own/SKILL.md"), "never theirs");
}

#[test]
fn a_package_that_is_gone_takes_its_copies_along() {
    let (env, _repo) = project(None);
    vendor(&env, &[]);
    succeed(&env, ["remove", "tools"]);
    vendor(&env, &[]);
    assert_eq!(
        files_below(&env.work().join(".twig/vendor")),
        Vec::<String>::new()
    );
}

#[test]
fn a_symlink_out_of_the_repository_is_refused() {
    let (env, _repo) = project(None);
    let outside = env.root().join("outside");
    fs::create_dir_all(&outside).expect("the test's own folder is writable");
    std::os::unix::fs::symlink(&outside, env.work().join(".twig/vendor")).expect("a symlink");
    let output = run(&env, ["vendor"]);
    assert_eq!(output.code, 1, "{output}");
    assert_eq!(files_below(&outside), Vec::<String>::new());
    insta::assert_snapshot!(output.to_string(), @"
    --- stderr
    error: [work]/.twig/vendor/twig-vendor.files cannot be used: it leads outside the folder
    --- exit 1
    ");
}

#[test]
fn hostile_lists_and_unknown_names_are_refused() {
    let (env, _repo) = project(None);
    let list = env.work().join("copies/twig-vendor.files");
    let digest = "0".repeat(64);
    put(
        &list,
        format!("twig package files 1\n644 {digest} 0 ../outside\n"),
    );
    let output = run(&env, ["vendor", "copies"]);
    insta::assert_snapshot!(output.to_string(), @"
    --- stderr
    error: [work]/copies/twig-vendor.files is no list of copied files
    hint: restore it from git, or remove it: then files that differ are kept
    --- exit 1
    ");
    let output = run(&env, ["vendor", "other", "tolls"]);
    insta::assert_snapshot!(output.to_string(), @"
    --- stderr
    error: [work]/.twig/twig.lock has no package `tolls`
    hint: did you mean `tools`?
    --- exit 1
    ");
}

#[test]
fn a_package_that_is_not_here_is_named() {
    let (env, _repo) = project(None);
    let packages = env.home().join(".local/share/twig/packages");
    fs::rename(&packages, env.root().join("away")).expect("the test's own folder");
    let output = run(&env, ["vendor"]);
    assert_eq!(output.code, 1, "{output}");
    assert!(
        output
            .stderr
            .contains("the package `tools` cannot be copied")
    );
    assert!(output.stderr.contains("run `twig install`"), "{output}");
}
