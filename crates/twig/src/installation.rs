//! What this program was built from, how it was installed, and what brings a newer one.
//!
//! Packages put `share/twig/installed.json` beside the `bin` folder of the program. It names the length
//! of that program, so that it says nothing about another one that took its place.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use twig_core::problem::shell_word;
use twig_core::uri;

/// What `twig --version` prints after the name.
pub(crate) fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| version_of(commit(), &features()));
    &TEXT
}

fn version_of(commit: Option<&str>, features: &[&str]) -> String {
    let commit = commit.map_or_else(String::new, |commit| format!(" ({commit})"));
    let features = features.join(", ");
    format!(
        "{}{commit}\nfeatures: {features}",
        env!("CARGO_PKG_VERSION")
    )
}

/// The commit that the program was built from, if the build knew.
pub(crate) fn commit() -> Option<&'static str> {
    Some(env!("TWIG_COMMIT")).filter(|commit| !commit.is_empty())
}

/// What can be left out of a build and is in this one, how it is linked, and whether it does without
/// the calls of Unix.
pub(crate) fn features() -> Vec<&'static str> {
    [
        ("page", cfg!(feature = "page")),
        ("postgres", cfg!(feature = "postgres")),
        ("static", cfg!(target_feature = "crt-static")),
        ("portable", cfg!(any(not(unix), twig_portable))),
    ]
    .into_iter()
    .filter_map(|(name, is_there)| is_there.then_some(name))
    .collect()
}

/// How the program came to this machine.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Installation {
    /// For a person: `npm`, `Debian package`, `cargo install`.
    pub(crate) by: String,
    /// The command, or the sentence, that brings a newer version.
    pub(crate) upgrade: String,
}

/// What a package says of itself.
#[derive(Debug, Deserialize)]
struct PackageNote {
    by: String,
    upgrade: String,
    bytes: u64,
}

impl Installation {
    /// Of the program at this path; nothing if it was copied there by hand.
    pub(crate) fn of(program: &Path) -> Option<Self> {
        let program = program.canonicalize().ok()?;
        let folder = program.parent()?;
        Self::from_package(&program)
            .or_else(|| Self::from_cargo(folder))
            .or_else(|| Self::from_checkout(folder))
    }

    fn from_package(program: &Path) -> Option<Self> {
        let prefix = program.parent()?.parent()?;
        let mut text = String::new();
        let file = File::open(prefix.join("share/twig/installed.json")).ok()?;
        file.take(4096).read_to_string(&mut text).ok()?;
        let note: PackageNote = serde_json::from_str(&text).ok()?;
        let bytes = fs::metadata(program).ok()?.len();
        (note.bytes == bytes).then_some(Self {
            by: note.by,
            upgrade: note.upgrade,
        })
    }

    /// Cargo lists what it installed beside the folder `bin`.
    fn from_cargo(folder: &Path) -> Option<Self> {
        let listed = fs::read_to_string(folder.parent()?.join(".crates.toml")).ok()?;
        let package = concat!("\"", env!("CARGO_PKG_NAME"), " ");
        let line = listed.lines().find(|line| line.starts_with(package))?;
        let (source, _) = line.split_once(" (")?.1.split_once(")\"")?;
        let upgrade = cargo_upgrade(source);
        Some(Self {
            by: "cargo install".to_owned(),
            upgrade,
        })
    }

    /// A profile's folder in the `target` of a checkout.
    fn from_checkout(folder: &Path) -> Option<Self> {
        let is_built_here = folder.join(".cargo-lock").exists();
        is_built_here.then(|| Self {
            by: "a build in a checkout".to_owned(),
            upgrade: "git pull && cargo build --release".to_owned(),
        })
    }
}

/// What upgrades a program of this source, as Cargo writes it: `path+file:///src`,
/// `git+https://host/twig?branch=main#5b2694c5`, `registry+https://host/index`. A name alone would
/// be looked up on crates.io, where it may be the one of somebody else.
fn cargo_upgrade(source: &str) -> String {
    let name = env!("CARGO_PKG_NAME");
    if let Some(path) = source.strip_prefix("path+file://") {
        let path = shell_word(&uri::decode(path.split('#').next().unwrap_or(path)));
        return format!("git -C {path} pull && cargo install --path {path}");
    }
    let Some(address) = source.strip_prefix("git+") else {
        return format!("install it again from where you installed it, {source}");
    };
    let address = address.split('#').next().unwrap_or(address);
    let (url, query) = address.split_once('?').unwrap_or((address, ""));
    let url = shell_word(url);
    match query.split_once('=') {
        None => format!("cargo install --git {url} {name}"),
        Some(("branch", branch)) => {
            let branch = shell_word(branch);
            format!("cargo install --git {url} --branch {branch} {name}")
        }
        // A tag or a commit stays what it is.
        Some((kind, _)) => format!("cargo install --git {url} {name}, with a newer --{kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_commit_and_the_features() {
        let number = env!("CARGO_PKG_VERSION");
        assert_eq!(
            version_of(Some("5b2694c5e808"), &["page", "static"]),
            format!("{number} (5b2694c5e808)\nfeatures: page, static")
        );
        assert_eq!(version_of(None, &[]), format!("{number}\nfeatures: "));
    }

    /// A program of four bytes in `bin`, with files beside it.
    fn installed(files: &[(&str, &str)]) -> Option<Installation> {
        let prefix = tempfile::tempdir().expect("a folder");
        for (name, text) in [("bin/twig", "twig")].iter().chain(files) {
            let path = prefix.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        Installation::of(&prefix.path().join("bin/twig"))
    }

    #[test]
    fn a_package_names_itself_for_its_own_program_only() {
        let note = |bytes| {
            let text = format!(r#"{{"by": "npm", "upgrade": "npm i", "bytes": {bytes}}}"#);
            installed(&[("share/twig/installed.json", &text)])
        };
        assert_eq!(note(4).map(|it| it.by).as_deref(), Some("npm"));
        assert_eq!(note(5), None);
        assert_eq!(installed(&[("share/twig/installed.json", "no")]), None);
    }

    #[test]
    fn cargo_names_what_was_installed_from_and_never_a_name_alone() {
        let of = |line: &str| installed(&[(".crates.toml", &format!("[v1]\n{line}\n"))]);
        let upgrade = |source: &str| {
            of(&format!(r#""twig 0.1.0 ({source})" = ["twig"]"#)).map(|it| it.upgrade)
        };
        for (source, expected) in [
            (
                "path+file:///src/crates/twig",
                "git -C /src/crates/twig pull && cargo install --path /src/crates/twig",
            ),
            (
                "path+file:///my%20src/twig",
                "git -C '/my src/twig' pull && cargo install --path '/my src/twig'",
            ),
            (
                "git+https://host.test/twig#5b2694c5",
                "cargo install --git https://host.test/twig twig",
            ),
            (
                "git+ssh://git@host.test/twig?branch=next#5b2694c5",
                "cargo install --git ssh://git@host.test/twig --branch next twig",
            ),
            (
                "git+https://host.test/twig?tag=v0.1.0#5b2694c5",
                "cargo install --git https://host.test/twig twig, with a newer --tag",
            ),
            (
                "registry+https://host.test/index",
                "install it again from where you installed it, registry+https://host.test/index",
            ),
        ] {
            assert_eq!(upgrade(source).as_deref(), Some(expected));
        }
        assert_eq!(of(r#""twigs 0.1.0 (registry)" = ["twigs"]"#), None);
    }

    #[test]
    fn a_build_in_a_checkout_and_a_copy_are_told_apart() {
        let by = |files: &[_]| installed(files).map(|it| it.by);
        let built = by(&[("bin/.cargo-lock", "")]);
        assert_eq!(built.as_deref(), Some("a build in a checkout"));
        assert_eq!(by(&[]), None);
    }
}
