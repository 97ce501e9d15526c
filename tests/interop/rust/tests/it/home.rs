//! A home with a small library, and the program under test in it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::process::Command;

/// What all the SDKs' homes hold.
const FILES: &str = include_str!("../../../home.txt");

/// A person's home, gone when it is dropped.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("twig-interop-").tempdir();
        let home = Self(folder.expect("a temporary folder"));
        for file in FILES.split("//- ").skip(1) {
            let (path, text) = file.split_once('\n').expect("a path, then a text");
            home.write(path, text);
        }
        home
    }

    /// The program with nothing of the outer environment.
    pub(crate) fn twig(&self) -> Command {
        let mut command = Command::new(binary());
        command
            .env_clear()
            .env("HOME", self.0.path())
            .env("TMPDIR", self.0.path())
            .env("TWIG_DATA_DIR", self.0.path().join("prompts"))
            .current_dir(self.0.path())
            .kill_on_drop(true);
        command
    }

    /// Adds `greetings:later`.
    pub(crate) fn add_prompt(&self) {
        self.write("prompts/greetings/prompts/later.md", "See you later!\n");
        let manifest = self.0.path().join("prompts/greetings/twig.toml");
        // In one write, so that no half of it is ever read.
        fs::OpenOptions::new()
            .append(true)
            .open(manifest)
            .and_then(|mut manifest| manifest.write_all(b"[prompts.later]\n"))
            .expect("the home is ours");
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(&path)).expect("the home is ours");
        fs::write(path, text).expect("the home is ours");
    }
}

/// The program under test: `TWIG`, else what `cargo build` made.
#[allow(clippy::disallowed_methods, reason = "a test is told what to test")]
fn binary() -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/debug/twig");
    std::env::var_os("TWIG").map_or_else(built, PathBuf::from)
}
