//! Where things are: the one door to the environment.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use twig_sources::PROJECT;

/// Folders of this person on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) home: Option<PathBuf>,
    /// The folder of libraries.
    pub(crate) data: Option<PathBuf>,
    /// Whether `TWIG_DATA_DIR` says so.
    pub(crate) data_is_named: bool,
    /// The folder for settings, where the environment names one.
    pub(crate) config_home: Option<PathBuf>,
    /// The folder that Claude Code is told to use.
    pub(crate) claude_home: Option<PathBuf>,
    /// The configuration file.
    pub(crate) config: Option<PathBuf>,
    /// The folders of the project that this is run in, and of those around it; nearest first.
    pub(crate) projects: Vec<PathBuf>,
    /// The record of trusted libraries. It is never in a folder of libraries, whose authors could
    /// write it themselves.
    pub(crate) trust: Option<PathBuf>,
    /// The folder of workspaces.
    pub(crate) workspaces: Option<PathBuf>,
    /// What the bash functions of prompts begin with.
    pub(crate) function_prefix: Option<OsString>,
}

impl Places {
    pub(crate) fn from_environment() -> Self {
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
        let named = non_empty("TWIG_DATA_DIR");
        let data_is_named = named.is_some();
        let own = absolute("XDG_DATA_HOME").or_else(|| platform_data(home.as_deref()));
        let own = own.map(|base| base.join("twig"));
        let data = named.map(|path| on_disk(&path));
        let data = data.or_else(|| Some(own.as_ref()?.join("prompts")));
        let config = absolute("XDG_CONFIG_HOME")
            .or_else(|| platform_config(home.as_deref()))
            .map(|base| base.join("twig").join("config.toml"));
        Self {
            home,
            data,
            data_is_named,
            config_home: absolute("XDG_CONFIG_HOME"),
            claude_home: absolute("CLAUDE_CONFIG_DIR"),
            config,
            projects: projects(),
            trust: own.as_ref().map(|own| own.join("trust.json")),
            workspaces: own.map(|own| own.join("workspaces")),
            function_prefix: variable("MCBOX_PROMPTS_FUNCTION_NAME_PREFIX"),
        }
    }

    /// A path as people like to read it: `~` for home.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match self
            .home
            .as_deref()
            .and_then(|home| path.strip_prefix(home).ok())
        {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }
}

/// The project folders upward from the working folder. The first of them may still be made.
fn projects() -> Vec<PathBuf> {
    let Ok(here) = env::current_dir() else {
        return Vec::new();
    };
    let mut projects = vec![here.join(PROJECT)];
    let above = here.ancestors().skip(1).map(|folder| folder.join(PROJECT));
    projects.extend(above.filter(|folder| folder.is_dir()));
    projects
}

/// The token that clients over HTTP have to show.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn token_from_environment() -> Option<OsString> {
    env::var_os("TWIG_TOKEN").filter(|token| !token.is_empty())
}

/// A variable that the person lets functions have.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// An absolute form of a path that the person gave.
pub(crate) fn on_disk(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[allow(clippy::disallowed_methods, reason = "this is the door")]
fn non_empty(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The base-directory rules say that a relative path there counts as none.
fn absolute(name: &str) -> Option<PathBuf> {
    non_empty(name).filter(|path| path.is_absolute())
}

fn platform_data(home: Option<&Path>) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return Some(home?.join("Library/Application Support"));
    }
    if cfg!(windows) {
        return absolute("APPDATA");
    }
    Some(home?.join(".local/share"))
}

fn platform_config(home: Option<&Path>) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return Some(home?.join("Library/Application Support"));
    }
    if cfg!(windows) {
        return absolute("APPDATA");
    }
    Some(home?.join(".config"))
}
