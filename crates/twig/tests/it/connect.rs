//! Twig in the configuration of clients.

mod clients;
mod doctor;
mod entries;
mod files;
mod over_http;
mod several;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use twig_testkit::{CommandOutput, TestEnv};

/// Each client, its file of a person below home, and its file of a project below that.
const CLIENTS: [(&str, &str, Option<&str>); 15] = [
    ("claude-code", ".claude.json", Some(".mcp.json")),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        None,
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        Some(".vscode/mcp.json"),
    ),
    ("cursor", ".cursor/mcp.json", Some(".cursor/mcp.json")),
    (
        "zed",
        ".config/zed/settings.json",
        Some(".zed/settings.json"),
    ),
    ("codex", ".codex/config.toml", Some(".codex/config.toml")),
    (
        "gemini",
        ".gemini/settings.json",
        Some(".gemini/settings.json"),
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        Some("opencode.json"),
    ),
    ("windsurf", ".codeium/windsurf/mcp_config.json", None),
    (
        "copilot-cli",
        ".copilot/mcp-config.json",
        Some(".github/mcp.json"),
    ),
    ("kilo", ".config/kilo/kilo.json", None),
    ("qwen", ".qwen/settings.json", Some(".qwen/settings.json")),
    ("goose", ".config/goose/config.yaml", None),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        None,
    ),
    ("continue", ".continue/config.yaml", None),
];

/// `twig connect` with these arguments.
fn connect(env: &TestEnv, args: &[&str]) -> CommandOutput {
    env.run(["connect"].into_iter().chain(args.iter().copied()))
}

/// The same, which has to succeed.
#[track_caller]
fn done(env: &TestEnv, args: &[&str]) -> CommandOutput {
    let outcome = connect(env, args);
    assert_eq!(outcome.code, 0, "{args:?}: {outcome}");
    outcome
}

#[track_caller]
fn json(outcome: &CommandOutput) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

/// Puts a file below home.
fn put(env: &TestEnv, path: &str, text: &str) -> PathBuf {
    let path = env.home().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("the test's own folder");
    fs::write(&path, text).expect("the test's own folder");
    path
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The copy beside a file.
fn backup(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.twig-backup", path.display()))
}
