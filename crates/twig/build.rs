//! Names the commit that the program is built from, in `TWIG_COMMIT`: what the packager says, what
//! `cargo package` noted, or what git says of a checkout. Without any of them there is none.

#![expect(
    clippy::disallowed_methods,
    reason = "the environment of a build, not of the program"
)]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TWIG_COMMIT");
    let commit = said().or_else(packaged).or_else(checked_out);
    println!(
        "cargo::rustc-env=TWIG_COMMIT={}",
        commit.unwrap_or_default()
    );
}

fn said() -> Option<String> {
    let commit = std::env::var("TWIG_COMMIT").ok()?;
    (!commit.is_empty()).then_some(commit)
}

/// The note in a package: `{"git": {"sha1": "…"}}`.
fn packaged() -> Option<String> {
    let note = Path::new(".cargo_vcs_info.json");
    let text = std::fs::read_to_string(note).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let hash = rest.split('"').nth(1)?;
    hash.get(..12).map(str::to_owned)
}

/// Debug builds do without: otherwise every commit would compile them again.
fn checked_out() -> Option<String> {
    if std::env::var("PROFILE").ok()? == "debug" {
        return None;
    }
    // In a copy inside another repository, git would name a commit of that one.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
