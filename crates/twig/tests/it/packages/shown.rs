//! Where commands and tools say which package something comes from.

use serde_json::{Value, json};
use twig_testkit::{GitRepo, TestEnv};

use super::sample_package::{repository, run, source, succeed};

fn with_package(only: &str) -> (TestEnv, GitRepo) {
    let env = crate::env("");
    let repo = repository(&env);
    succeed(&env, ["add", &source(&repo), "--yes", "--only", only]);
    (env, repo)
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn show_names_package_source_version_and_what_is_left_out() {
    let (env, repo) = with_package("pdf");
    let shown = run(&env, ["show", "pdf"]);
    insta::assert_snapshot!(shown.to_string(), @"
    name         tools:pdf
    title        pdf
    description  About pdf
    library      tools
    kind         skills
    path         ~/.local/share/twig/packages/a44083fc24e6731289b7b9abf6e111c6479314b1e12a490db4b310e12f3aec0e/skills/pdf/SKILL.md
    package      tools
    source       git+file://[root]/remote/tools
    version      v1.0.0 (c99563d857)
    left out     docx

    arguments
      arguments    What follows the command

    text
    ---
    name: pdf
    description: About pdf
    ---

    Read the PDF.
    --- exit 0
    ");
    let shown = read(&succeed(&env, ["show", "pdf", "--json"]));
    let commit = repo.git(["rev-parse", "v1.0.0"]);
    let package = &shown["package"];
    assert_eq!(package["name"], "tools");
    assert_eq!(package["ref"], "v1.0.0");
    assert_eq!(package["commit"], commit.trim());
    assert_eq!(package["left_out"], json!(["docx"]));
    let libraries = read(&succeed(&env, ["library", "list", "--json"]));
    assert_eq!(libraries[0]["package"], *package);
    let listed = succeed(&env, ["library", "list"]);
    let version = package["version"].as_str().expect("a version");
    assert!(listed.contains(version), "{listed}");
}

#[test]
fn doctor_counts_packages_and_names_missing_ones() {
    let (env, _repo) = with_package("*");
    let report = succeed(&env, ["doctor"]);
    assert!(
        report.contains("\npackages\n  1 package, all installed\n"),
        "{report}"
    );
    let packages = env.home().join(".local/share/twig/packages");
    std::fs::rename(&packages, env.root().join("away")).expect("the test's own folder");
    let report = run(&env, ["doctor"]).stdout;
    let line = "  1 package, not installed: tools (run `twig install`)\n";
    assert!(report.contains(line), "{report}");
    let report = read(&run(&env, ["doctor", "--json"]).stdout);
    assert_eq!(report["packages"][0]["installed"], false);
}

#[test]
fn tools_and_prompts_say_their_package() {
    let (env, _repo) = with_package("*");
    let mut client = env.serve();
    client.initialize();
    let mut call = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        let mut answer = client.request("tools/call", params);
        answer["result"]["structuredContent"].take()
    };
    let prompts = call("list_prompts", json!({"filter": "pdf"}));
    let package = prompts["prompts"][0]["package"].clone();
    assert_eq!(package["name"], "tools", "{prompts}");
    let version = package["version"].as_str().expect("a version");
    assert!(version.starts_with("v1.0.0 ("), "{version}");
    // A folder of this machine is nobody else's business.
    assert_eq!(package.get("source"), None);
    let results = call("search", json!({"query": "pdf"}));
    assert_eq!(results["results"][0]["package"], package, "{results}");
    let name = prompts["prompts"][0]["name"].clone();
    let answer = client.request("prompts/get", json!({"name": name}));
    assert_eq!(
        answer["result"]["_meta"]["twig/package"], package,
        "{answer}"
    );
}

#[test]
fn names_of_packages_are_completed() {
    let (env, _repo) = with_package("*");
    for command in ["update", "outdated", "diff", "remove", "why", "vendor"] {
        let args = ["complete", "--next", "--", "twig", command];
        let output = env.run(args).stdout;
        assert!(
            output.lines().any(|line| line.starts_with("tools\t")),
            "{command}: {output}"
        );
    }
}
