//! Folders and variables: the only access to the environment.

use std::env;
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use twig_clients::clients::{BaseFolder, CLIENTS, Candidates, KnownClient};
use twig_packages::lock::LOCK_FILE;
use twig_sources::platform::mode;
use twig_sources::{GitEnvironment, project_folders};

/// The user's folders on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) home: Option<PathBuf>,
    /// The folder of libraries.
    pub(crate) data: Option<PathBuf>,
    /// Whether `TWIG_DATA_DIR` names it.
    pub(crate) data_is_named: bool,
    /// The configuration file.
    pub(crate) config: Option<PathBuf>,
    /// The project folders of the working folder and of the folders around it; nearest first.
    pub(crate) projects: Vec<PathBuf>,
    /// The record of trusted libraries. It is never in a folder of libraries, whose authors could
    /// write it themselves.
    pub(crate) trust: Option<PathBuf>,
    /// The folder of packages that were fetched.
    pub(crate) packages: Option<PathBuf>,
    /// The lock of the packages in the configuration.
    pub(crate) lock: Option<PathBuf>,
    /// The record of folders that were made for clients' files.
    pub(crate) made_folders: Option<PathBuf>,
    /// The folder of workspaces.
    pub(crate) workspaces: Option<PathBuf>,
    /// The folder of what can be computed again.
    pub(crate) cache: Option<PathBuf>,
    /// The folder of versions of files that the page replaced.
    pub(crate) replaced: Option<PathBuf>,
    /// The prefix of the bash functions of prompts.
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
        let cache = absolute("XDG_CACHE_HOME").or_else(|| platform_cache(home.as_deref()));
        let state = absolute("XDG_STATE_HOME").or_else(|| platform_state(home.as_deref()));
        Self {
            cache: cache.map(|base| base.join("twig")),
            replaced: state.map(|base| base.join("twig").join("replaced")),
            home,
            data,
            data_is_named,
            projects: projects(),
            trust: own.as_ref().map(|own| own.join("trust.json")),
            packages: own.as_ref().map(|own| own.join("packages")),
            lock: config.as_ref().map(|it| it.with_file_name(LOCK_FILE)),
            made_folders: own.as_ref().map(|own| own.join("connected.json")),
            workspaces: own.map(|own| own.join("workspaces")),
            config,
            function_prefix: variable("MCBOX_PROMPTS_FUNCTION_NAME_PREFIX"),
        }
    }

    /// The record of keys that are pinned for sources of packages.
    pub(crate) fn keys(&self) -> Option<PathBuf> {
        let trust = self.trust.as_ref()?;
        Some(trust.with_file_name("keys.json"))
    }

    /// The record of keys and roles of people who use a server.
    pub(crate) fn access(&self) -> Option<PathBuf> {
        let trust = self.trust.as_ref()?;
        Some(trust.with_file_name("access.json"))
    }

    /// The folder of what a server keeps for itself.
    pub(crate) fn state(&self) -> Option<&Path> {
        self.trust.as_ref()?.parent()
    }

    /// The lock of the packages that a server follows.
    pub(crate) fn followed_lock(&self) -> Option<PathBuf> {
        let trust = self.trust.as_ref()?;
        Some(trust.with_file_name("followed.lock"))
    }

    /// The file with the counts of use.
    pub(crate) fn use_counts(&self) -> Option<PathBuf> {
        let trust = self.trust.as_ref()?;
        Some(trust.with_file_name("stats").join("use.json"))
    }

    /// A path for display: `~` for home.
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

/// True if an argument of the command line is exactly this one.
pub(crate) fn arguments_have(wanted: &str) -> bool {
    let mut arguments = env::args_os().skip(1);
    arguments.any(|argument| argument == wanted)
}

/// The variables that decide how git reaches hosts.
pub(crate) fn git_environment() -> GitEnvironment {
    // As for curl: small letters come first.
    let first = |names: &[&str]| {
        let values = names.iter().filter_map(|name| variable(name));
        let mut texts = values.filter_map(|value| value.into_string().ok());
        texts.find(|text| !text.is_empty())
    };
    GitEnvironment {
        variables: env::vars_os().map(|(name, _)| name).collect(),
        ssh_command: variable("GIT_SSH_COMMAND"),
        proxy: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
        no_proxy: first(&["no_proxy", "NO_PROXY"]),
        ssh_program: variable("GIT_SSH"),
        ssh_variant: variable("GIT_SSH_VARIANT"),
        login: None,
    }
}

/// The editor that the user chose, as a command line of the shell.
pub(crate) fn editor() -> Option<OsString> {
    let chosen = variable("VISUAL").filter(|value| !value.is_empty());
    chosen.or_else(|| variable("EDITOR").filter(|value| !value.is_empty()))
}

/// Where AI clients keep their configuration.
#[derive(Debug, Clone)]
pub(crate) struct ClientPlaces {
    pub(crate) home: Option<PathBuf>,
    /// `~/.config`, on every system.
    pub(crate) config: Option<PathBuf>,
    /// Where graphical applications keep theirs on this system.
    pub(crate) applications: Option<PathBuf>,
    /// The folders that environment variables give to clients, by variable.
    own: Vec<(&'static str, PathBuf)>,
    /// The folders of `PATH`.
    path: Vec<PathBuf>,
}

impl ClientPlaces {
    pub(crate) fn from_environment() -> Self {
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
        let config = absolute("XDG_CONFIG_HOME");
        let config = config.or_else(|| Some(home.as_ref()?.join(".config")));
        let applications = if cfg!(any(target_os = "macos", windows)) {
            platform_config(home.as_deref())
        } else {
            config.clone()
        };
        let path = variable("PATH").unwrap_or_default();
        let variables = CLIENTS.iter().filter_map(|client| client.home_variable);
        let own = variables.filter_map(|name| Some((name, absolute(name)?)));
        // A relative folder in `PATH` depends on the working folder.
        let path = env::split_paths(&path).filter(|folder| folder.is_absolute());
        Self {
            home,
            config,
            applications,
            own: own.collect(),
            path: path.collect(),
        }
    }

    /// One of the user's folders, as a client sees it.
    pub(crate) fn base(&self, client: &KnownClient, base: BaseFolder) -> Option<&PathBuf> {
        match base {
            BaseFolder::Own => {
                let own = self.own.iter();
                let mut own = own.filter(|(name, _)| client.home_variable == Some(*name));
                own.next().map(|(_, folder)| folder)
            }
            BaseFolder::Home => self.home.as_ref(),
            BaseFolder::Applications => self.applications.as_ref(),
            BaseFolder::Settings if cfg!(windows) => self.applications.as_ref(),
            BaseFolder::Config | BaseFolder::Settings => self.config.as_ref(),
        }
    }

    /// A path of a client, from the first known folder.
    pub(crate) fn first(&self, client: &KnownClient, paths: Candidates) -> Option<PathBuf> {
        let mut paths = paths.iter();
        paths.find_map(|(base, path)| Some(self.base(client, *base)?.join(path)))
    }

    /// Every folder that a client's files may be in.
    pub(crate) fn bases(&self) -> impl Iterator<Item = &PathBuf> {
        let shared = [&self.home, &self.config, &self.applications];
        let own = self.own.iter().map(|(_, folder)| folder);
        shared.into_iter().flatten().chain(own)
    }

    /// Finds a program by its name.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let name = format!("{name}{}", env::consts::EXE_SUFFIX);
        let mut programs = self.path.iter().map(|folder| folder.join(&name));
        programs.find(|program| is_program(program))
    }
}

/// Whether a file is executable.
pub(crate) fn is_program(path: &Path) -> bool {
    let can_run = |found: &Metadata| mode(found).is_none_or(|mode| mode & 0o111 != 0);
    path.metadata()
        .is_ok_and(|found| found.is_file() && can_run(&found))
}

/// The environment variables that name library folders: a client may not pass them on.
pub(crate) fn named_folders() -> Vec<(&'static str, PathBuf)> {
    let data = non_empty("TWIG_DATA_DIR").map(|path| on_disk(&path));
    let named = [
        ("TWIG_DATA_DIR", data),
        ("XDG_CONFIG_HOME", absolute("XDG_CONFIG_HOME")),
        ("XDG_DATA_HOME", absolute("XDG_DATA_HOME")),
    ];
    let named = named.into_iter();
    named
        .filter_map(|(name, path)| Some((name, path?)))
        .collect()
}

/// The variables that every client passes on to its servers; many pass on no more.
pub(crate) fn passed_on() -> Vec<(&'static str, OsString)> {
    const NAMES: [&str; 15] = [
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "USER",
        "APPDATA",
        "LOCALAPPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ];
    let values = NAMES.into_iter();
    values
        .filter_map(|name| Some((name, variable(name)?)))
        .collect()
}

/// The project folders upward from the working folder. The first of them may not exist yet.
fn projects() -> Vec<PathBuf> {
    env::current_dir().map_or(Vec::new(), |here| project_folders(&here))
}

/// The working folder.
pub(crate) fn working_folder() -> Option<PathBuf> {
    env::current_dir().ok()
}

/// The key that seals session ids, if several servers share one.
pub(crate) fn session_key() -> Option<String> {
    let key = variable("TWIG_SESSION_KEY")?.into_string().ok()?;
    (!key.is_empty()).then_some(key)
}

/// The token that HTTP clients have to send.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn token_from_environment() -> Option<OsString> {
    env::var_os("TWIG_TOKEN").filter(|token| !token.is_empty())
}

/// The socket of the service manager that started this process, if it wants to be notified.
pub(crate) fn notify_socket() -> Option<OsString> {
    variable("NOTIFY_SOCKET").filter(|name| !name.is_empty())
}

/// A variable by its name, such as one that the user lets functions have.
#[allow(clippy::disallowed_methods, reason = "this is the door")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// The names of variables that begin with this.
pub(crate) fn names_of_variables(prefix: &str) -> Vec<String> {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// A path that the user wrote after an `@`, where the shell does not expand `~/`.
pub(crate) fn expanded(path: &str) -> PathBuf {
    let home = || absolute("HOME").or_else(|| absolute("USERPROFILE"));
    let below = path.strip_prefix("~/");
    match below.and_then(|below| Some(home()?.join(below))) {
        Some(path) => path,
        None => path.into(),
    }
}

/// The absolute form of a path that the user gave.
pub(crate) fn on_disk(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[allow(clippy::disallowed_methods, reason = "this is the door")]
fn non_empty(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The base-directory specification says to ignore a relative path.
fn absolute(name: &str) -> Option<PathBuf> {
    non_empty(name).filter(|path| path.is_absolute())
}

fn platform_state(home: Option<&Path>) -> Option<PathBuf> {
    if cfg!(any(target_os = "macos", windows)) {
        return platform_data(home);
    }
    Some(home?.join(".local/state"))
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

fn platform_cache(home: Option<&Path>) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return Some(home?.join("Library/Caches"));
    }
    if cfg!(windows) {
        return absolute("LOCALAPPDATA");
    }
    Some(home?.join(".cache"))
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
