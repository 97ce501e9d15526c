//! Problems of a place itself.

use std::path::Path;

use twig_core::parse::library::MANIFEST;
use twig_core::{Problem, ProblemCode, Severity};

use super::LibraryPlace;
use super::manifest::manifest_at;
use crate::found::{FoundState, PlaceOrigin};
use crate::settings::Settings;

impl LibraryPlace {
    pub(super) fn locked_problems(&self, settings: &Settings) -> impl Iterator<Item = Problem> {
        let locked = self.locked.iter();
        locked.map(|(path, why)| unreadable(settings, path, why))
    }

    /// The problems of folders whose file system does not answer.
    pub(super) fn away_problems(&self, settings: &Settings) -> impl Iterator<Item = Problem> {
        let away = self.away.iter();
        away.map(|path| {
            let message = format!(
                "the file system of {} does not answer; the last version read is served meanwhile",
                settings.shown(path)
            );
            let path = path.display().to_string();
            let problem =
                Problem::of_file(ProblemCode::NotAnswering, Severity::Error, &path, message);
            problem.with_help("check the connection to the machine or program that has the folder")
        })
    }

    /// The problem of Markdown files that none of its libraries reads.
    pub(super) fn left_out(&self, settings: &Settings) -> Option<Problem> {
        let (count, first) = self.layout.as_ref()?.left_out.as_ref()?;
        let shown = settings.shown(first);
        let message = match count {
            1 => format!("{shown} is in none of the libraries there, so it is not a prompt"),
            2 => format!(
                "{shown} and 1 other Markdown file are in none of the libraries there, so they are \
                 not prompts"
            ),
            _ => format!(
                "{shown} and {} other Markdown files are in none of the libraries there, so they \
                 are not prompts",
                count - 1
            ),
        };
        let path = first.display().to_string();
        let problem = Problem::of_file(ProblemCode::NotAPrompt, Severity::Note, &path, message);
        Some(problem.with_help("add its folder by itself if what is there is meant to be served"))
    }

    pub(super) fn problem(&self, settings: &Settings) -> Option<Problem> {
        let shown = settings.shown(&self.path);
        let is_named = self.is_named();
        let is_remembered = self.origin == PlaceOrigin::Configuration;
        let forget = format!("create the folder, or forget it with `twig library remove {shown}`");
        let (code, message, help) = match &self.state {
            FoundState::Missing if is_named => (
                ProblemCode::MissingLibrary,
                format!("there is no folder {shown}"),
                if is_remembered {
                    &*forget
                } else {
                    "check the path, or create the folder"
                },
            ),
            FoundState::NotAFolder => (
                ProblemCode::NotAFolder,
                format!("{shown} is not a folder"),
                if self.is_project {
                    "move the file away; `twig init` makes the folder"
                } else if is_named {
                    "name the folder that holds the library"
                } else {
                    "move the file away, or name another data folder"
                },
            ),
            FoundState::Unreadable(_) if self.tells_itself => return None,
            FoundState::Unreadable(why) => return Some(unreadable(settings, &self.path, why)),
            FoundState::Folder if is_named && self.roots.is_empty() => (
                ProblemCode::NoLibrary,
                format!(
                    "{shown} has no {MANIFEST} and no prompts of a client, nor has a folder in it"
                ),
                if self.is_listed() {
                    "create a twig.toml there, or say how to read it with `kind`"
                } else {
                    "create a twig.toml there, or say how to read it with `--kind`"
                },
            ),
            FoundState::Folder if self.is_strangers() => {
                let message = format!("{shown} is ignored: it belongs to another user");
                let path = self.path.display().to_string();
                let problem = Problem::of_file(
                    ProblemCode::StrangersFolder,
                    Severity::Warning,
                    &path,
                    message,
                );
                let help = format!("look at it, then name it with `--library {shown}`");
                return Some(problem.with_help(help));
            }
            FoundState::Folder if self.is_project => return None,
            FoundState::Folder if !is_named => return self.stray_manifest(&shown),
            FoundState::Missing | FoundState::Folder => return None,
        };
        let path = self.path.display().to_string();
        // A folder that was added long ago may be gone for good; the others are served.
        let severity = if is_remembered {
            Severity::Warning
        } else {
            Severity::Error
        };
        Some(Problem::of_file(code, severity, &path, message).with_help(help))
    }

    /// A manifest in the data folder itself, where it is not read.
    fn stray_manifest(&self, shown: &str) -> Option<Problem> {
        manifest_at(&self.path, false).ok()??;
        let message = format!(
            "{shown}/{MANIFEST} is not read: the data folder holds libraries, each in a folder of its own"
        );
        let help = format!("move it and its prompts into a folder, such as {shown}/mine");
        let path = format!("{}/{MANIFEST}", self.path.display());
        let code = ProblemCode::ManifestInDataFolder;
        Some(Problem::of_file(code, Severity::Warning, &path, message).with_help(help))
    }
}

fn unreadable(settings: &Settings, path: &Path, why: &str) -> Problem {
    let message = format!("{} cannot be listed: {why}", settings.shown(path));
    let path = path.display().to_string();
    Problem::of_file(
        ProblemCode::UnreadableFolder,
        Severity::Error,
        &path,
        message,
    )
    .with_help("check the folder's permissions, and where it points if it is a symlink")
}
