//! The named arguments of Codex, distinguished from shell variables.

use std::collections::BTreeSet;

use super::arguments::{Taken, argument};
use twig_core::argument::Argument;
use twig_core::limits::Limits;
use twig_core::marks::scan::{DollarContext, dollars, lines};
use twig_core::marks::{NAME, capitals};
use twig_core::model::Marks;
use twig_core::problem::{ProblemCode, Severity};

/// Variables that a shell sets itself, and those that common programs set.
const SHELL: [&str; 34] = [
    "BASH",
    "CI",
    "CODEX_HOME",
    "COLUMNS",
    "DISPLAY",
    "EDITOR",
    "EUID",
    "HOME",
    "HOSTNAME",
    "IFS",
    "LANG",
    "LC_ALL",
    "LINENO",
    "LINES",
    "LOGNAME",
    "OLDPWD",
    "OPTARG",
    "OSTYPE",
    "PAGER",
    "PATH",
    "PPID",
    "PS1",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHELL",
    "TERM",
    "TMP",
    "TMPDIR",
    "UID",
    "USER",
    "USERNAME",
    "VISUAL",
];

/// Prefixes of variables that other programs set.
const FAMILIES: [&str; 5] = ["BASH_", "GITHUB_", "LC_", "NPM_", "XDG_"];

/// Every `$NAME` that is not a shell variable, in the order of the text: the client asks for all of
/// them.
///
/// If an author uses `$ARGUMENTS`, names in code blocks belong to the code.
pub(super) fn names(body: &str, has_all: bool, limits: &Limits, taken: &mut Taken) {
    let own = assigned(body);
    let mut left = BTreeSet::new();
    for (at, place) in dollars(body) {
        let is_code = has_all && matches!(place, DollarContext::Block | DollarContext::Quoted);
        let Some(name) = capitals(&body[at..], &body[..at]) else {
            continue;
        };
        let is_shell = SHELL.contains(&name)
            || FAMILIES.iter().any(|family| name.starts_with(family))
            || own.contains(name);
        if is_shell || is_code || name.len() > NAME {
            left.insert(name);
        } else if taken.arguments.len() <= limits.arguments
            && taken.arguments.iter().all(|known| *known.name != *name)
        {
            let required = true;
            taken.arguments.push(Argument {
                required,
                ..argument(name, None)
            });
        }
    }
    taken.marks = Marks::Capitals;
    left.retain(|name| taken.arguments.iter().all(|known| *known.name != **name));
    if !left.is_empty() {
        let names: Vec<String> = left
            .iter()
            .take(8)
            .map(|name| format!("`${name}`"))
            .collect();
        let message = format!(
            "no arguments, but variables of a shell: {}",
            names.join(", ")
        );
        taken
            .remarks
            .push((ProblemCode::ShellVariable, Severity::Note, message));
    }
}

/// Variables that a block of code sets itself.
fn assigned(body: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for line in lines(body).filter(|line| line.is_code) {
        let mut said = line.text.trim_start();
        for word in [
            "export ",
            "local ",
            "readonly ",
            "declare ",
            "for ",
            "read ",
            "read -r ",
        ] {
            said = said.strip_prefix(word).unwrap_or(said).trim_start();
        }
        let is_inner = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let end = said.find(|c: char| !is_inner(c)).unwrap_or(said.len());
        let (name, more) = said.split_at(end);
        let is_set = more.starts_with('=') || line.text.trim_start().len() > said.len();
        if !name.is_empty() && is_set {
            names.insert(name);
        }
    }
    names
}
