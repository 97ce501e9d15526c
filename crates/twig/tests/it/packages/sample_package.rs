//! A repository with two skills and a command, and an environment that finds git.

use std::fs;
use std::path::Path;

use twig_testkit::{CommandOutput, GitRepo, TestEnv, search_path};

/// The text of a skill.
pub(super) fn skill(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}\n---\n\n{text}\n")
}

/// A repository in the test's folder, at version 1.0.0.
pub(super) fn repository(env: &TestEnv) -> GitRepo {
    let repo = GitRepo::new(env.root().join("remote/tools"));
    repo.write("skills/pdf/SKILL.md", skill("pdf", "Read the PDF."))
        .write("skills/pdf/scripts/read.sh", "#!/bin/sh\necho read\n")
        .executable("skills/pdf/scripts/read.sh")
        .write("skills/docx/SKILL.md", skill("docx", "Read the DOCX."))
        .write("LICENSE", "MIT License\n")
        .write("src/main.c", "int main;\n");
    repo.commit("first");
    repo.tag("v1.0.0");
    repo
}

/// The source of a repository.
pub(super) fn source(repo: &GitRepo) -> String {
    format!("git+file://{}", repo.folder().display())
}

/// Runs a command that may need git.
pub(super) fn run<'a>(env: &TestEnv, args: impl IntoIterator<Item = &'a str>) -> CommandOutput {
    env.outcome(env.command(args).env("PATH", search_path()))
}

/// The same of a command that has to succeed.
pub(super) fn succeed<'a>(env: &TestEnv, args: impl IntoIterator<Item = &'a str>) -> String {
    let output = run(env, args);
    assert_eq!(output.code, 0, "{output}");
    output.stdout
}

/// Writes a file and the folders around it.
pub(super) fn put(path: &Path, text: impl AsRef<[u8]>) {
    let folder = path.parent().expect("a file has a folder");
    fs::create_dir_all(folder).expect("the test's own folder is writable");
    fs::write(path, text).expect("the test's own folder is writable");
}
