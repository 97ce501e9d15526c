//! Whether the sandbox made a function fail, and which grant would help.

use std::path::{Path, PathBuf};

use twig_core::{Function, FunctionCall, Grant, Grants};
use twig_sources::expanded;

use super::repository;
use crate::places;

/// What programs say without a network, in lowercase.
const NO_NETWORK: [&str; 12] = [
    "could not resolve",
    "couldn't resolve",
    "temporary failure in name resolution",
    "name or service not known",
    "no address associated with hostname",
    "getaddrinfo",
    "eai_again",
    "failed to lookup address",
    "network is unreachable",
    "failed to connect",
    "could not connect",
    "couldn't connect",
];
/// What programs say if they may not do something.
const NOT_PERMITTED: [&str; 5] = [
    "permission denied",
    "operation not permitted",
    "eacces",
    "eperm",
    "read-only file system",
];
/// Words beside a file that was to be written.
const WRITING: [&str; 8] = [
    "create", "write", "writing", "mkdir", "mktemp", "remove", "rename", "touch",
];
/// Where every function reads.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/opt", "/nix/store"];
/// What shells say about a variable that is not set.
const NOT_SET: [&str; 2] = [": unbound variable", ": parameter not set"];

/// The sandbox of one function, for explaining its failures.
pub(super) struct SandboxCause<'c> {
    pub(super) call: &'c FunctionCall,
    /// The folder that it is called from; `None` over HTTP.
    pub(super) folder: Option<&'c Path>,
    pub(super) home: Option<&'c Path>,
}

impl SandboxCause<'_> {
    /// What to do about a failure, if its words say that the sandbox was the reason.
    pub(super) fn hint(&self, talk: &str) -> Option<String> {
        let grants = self.call.function.grants();
        let lines = || talk.lines().rev();
        let said = talk.to_ascii_lowercase();
        let is_refused = |line: &str| {
            let line = line.to_ascii_lowercase();
            NOT_PERMITTED.iter().any(|words| line.contains(words))
        };
        if said.contains("not a git repository") {
            return self.no_repository(grants);
        }
        let has_no_network = NO_NETWORK.iter().any(|words| said.contains(words))
            || (said.contains("socket") && talk.lines().any(is_refused));
        if has_no_network && !grants.network {
            return Some(self.ask_for("functions have no network", Grant::Network));
        }
        if let Some(name) = lines().find_map(missing_variable)
            && places::variable(name).is_some()
            && !grants.environment.iter().any(|known| **known == *name)
        {
            let what = format!("functions do not get `{name}` from your environment");
            return Some(self.ask_for(&what, Grant::Variable(name)));
        }
        let line = lines().find(|line| is_refused(line))?;
        self.not_permitted(line, grants)
    }

    fn no_repository(&self, grants: &Grants) -> Option<String> {
        let folder = self.folder?;
        if !grants.repository {
            let what = "functions do not see the repository in which they are called";
            let hint = self.ask_for(what, Grant::Repository);
            return Some(format!("{hint}, and use `git -C \"$TWIG_WORKING_FOLDER\"`"));
        }
        Some(if repository::folders(folder).is_none() {
            format!(
                "it was called in {}, which is not in a git repository",
                self.shown(folder)
            )
        } else {
            "use `git -C \"$TWIG_WORKING_FOLDER\"`: the working folder of a function is its library"
                .to_owned()
        })
    }

    fn not_permitted(&self, line: &str, grants: &Grants) -> Option<String> {
        let lower = line.to_ascii_lowercase();
        if WRITING.iter().any(|word| lower.contains(word)) {
            let what = "the sandbox lets functions write no file, not even a temporary one: print the result";
            return Some(what.to_owned());
        }
        let Some(path) = path_in(line) else {
            let what = "the sandbox may be the reason: a function reads its library's folder, writes no file and has no network, unless `read` or `network` in twig.toml ask for more";
            return Some(what.to_owned());
        };
        let repository = self
            .folder
            .and_then(repository::folders)
            .unwrap_or_default();
        if repository.iter().any(|folder| path.starts_with(folder)) && !grants.repository {
            let what = "functions do not see the repository in which they are called";
            return Some(self.ask_for(what, Grant::Repository));
        }
        // What a function says decides nothing but this sentence: the path is not looked at.
        let mut readable = grants
            .paths
            .iter()
            .filter_map(|path| expanded(path, self.home));
        let root = Path::new(&*self.call.library.root);
        if path.starts_with(root)
            || readable.any(|readable| path.starts_with(readable))
            || SYSTEM.iter().any(|folder| path.starts_with(folder))
            || repository.iter().any(|folder| path.starts_with(folder))
        {
            return None;
        }
        let shown = self.shown(&path);
        let what = format!("functions do not see {shown}");
        Some(self.ask_for(&what, Grant::Path(&shown)))
    }

    /// What is missing and how to get it.
    fn ask_for(&self, what: &str, grant: Grant<'_>) -> String {
        let library = &self.call.library.name;
        match &self.call.function {
            Function::Command { .. } => format!(
                "{what}: write `{grant}` under [prompts.{}] in twig.toml, run `twig library trust {library}`",
                self.call.name
            ),
            Function::Bash { .. } => format!(
                "{what}: only a prompt with a `command` in twig.toml can ask for it, with `{grant}`"
            ),
        }
    }

    fn shown(&self, path: &Path) -> String {
        let rest = self.home.and_then(|home| path.strip_prefix(home).ok());
        match rest.filter(|rest| !rest.as_os_str().is_empty()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }
}

/// The variable that a line says is missing.
fn missing_variable(line: &str) -> Option<&str> {
    let before = NOT_SET.iter().find_map(|words| line.strip_suffix(words));
    let name = match before {
        Some(before) => before.rsplit([' ', ':']).next()?,
        None => line.strip_prefix("KeyError: '")?.strip_suffix('\'')?,
    };
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

/// The first absolute path in a line.
fn path_in(line: &str) -> Option<PathBuf> {
    let is_around = |c: char| c.is_whitespace() || "'\"`‘’“”,;:()[]".contains(c);
    let mut words = line.split(is_around);
    words
        .find(|word| word.len() > 1 && word.starts_with('/'))
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_variables_are_found_in_what_programs_say() {
        for line in [
            "cat: /etc/shadow: Permission denied",
            "PermissionError: [Errno 13] Permission denied: '/etc/shadow'",
            "Error: EACCES: permission denied, open '/etc/shadow'",
            "head: cannot open ‘/etc/shadow’ for reading: Permission denied",
        ] {
            assert_eq!(path_in(line), Some(PathBuf::from("/etc/shadow")), "{line}");
        }
        assert_eq!(path_in("x / y"), None);
        for (line, name) in [
            ("bin/x: line 3: TOKEN: unbound variable", Some("TOKEN")),
            ("bin/x: 3: A_1: parameter not set", Some("A_1")),
            ("KeyError: 'TOKEN'", Some("TOKEN")),
            ("KeyError: 'who'", None),
            ("TOKEN", None),
        ] {
            assert_eq!(missing_variable(line), name, "{line}");
        }
    }
}
