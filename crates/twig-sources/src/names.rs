//! The names of libraries: unique, and the same in each run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use twig_core::slug::slug;
use twig_core::{LibraryName, Problem, ProblemCode, Severity};

use crate::candidate::Candidate;
use crate::client_folder::project_of;
use crate::settings::Settings;

/// Gives each library of another client's files a unique name; reports the libraries that could not
/// have their folder's name.
///
/// Libraries of other kinds keep theirs: of two with the same name, the first is served.
pub(crate) fn settle(
    settings: &Settings,
    candidates: &mut [Candidate],
    problems: &mut Vec<Problem>,
) {
    let mut taken: BTreeMap<String, PathBuf> = BTreeMap::new();
    let others = candidates.iter().filter(|it| !it.kind.is_format());
    for candidate in others.filter(|it| !it.is_project) {
        if let Some(name) = candidate.own_name() {
            let root = candidate.root.clone();
            taken.entry(name.to_string()).or_insert(root);
        }
    }
    for candidate in candidates.iter_mut().filter(|it| it.kind.is_format()) {
        let Some(wished) = candidate.own_name().or_else(|| made(candidate)) else {
            continue;
        };
        let name = free(settings, &candidate.root, &wished, &taken);
        if let Some(other) = taken.get(wished.as_str())
            && name != wished
        {
            problems.push(renamed(settings, &candidate.root, &wished, &name, other));
        }
        taken.insert(name.to_string(), candidate.root.clone());
        candidate.name = Some(name);
    }
}

/// A name for a folder whose own name is not valid.
fn made(candidate: &Candidate) -> Option<LibraryName> {
    let own = candidate.root.file_name()?.to_str()?;
    LibraryName::from_folder(&slug(own).replace("prompt-", "library_"))
}

/// The wanted name, else with the project's in front, else with a number.
fn free(
    settings: &Settings,
    root: &Path,
    wished: &LibraryName,
    taken: &BTreeMap<String, PathBuf>,
) -> LibraryName {
    let is_free = |name: &LibraryName| !taken.contains_key(name.as_str());
    if is_free(wished) {
        return wished.clone();
    }
    let project = project_of(root).filter(|path| path.file_name().is_some());
    let project = project.map(|path| {
        if settings.home.as_deref() == Some(path) {
            return "user".to_owned();
        }
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    });
    let longer = project.and_then(|it| LibraryName::from_folder(&format!("{it}_{wished}")));
    let longer = longer.unwrap_or_else(|| wished.clone());
    if is_free(&longer) {
        return longer;
    }
    let numbered = (2_u32..).map(|number| LibraryName::from_folder(&format!("{longer}_{number}")));
    // A name that is too long for a number is as good as none.
    let mut numbered = numbered.map(|name| name.unwrap_or_else(|| wished.clone()));
    let found = numbered.find(|name| is_free(name) || name == wished);
    found.unwrap_or_else(|| wished.clone())
}

fn renamed(
    settings: &Settings,
    root: &Path,
    wished: &LibraryName,
    name: &LibraryName,
    other: &Path,
) -> Problem {
    let message = format!(
        "{} is called `{name}`: {} is `{wished}` already",
        settings.shown(root),
        settings.shown(other)
    );
    let path = root.display().to_string();
    let problem = Problem::of_file(ProblemCode::LibraryRenamed, Severity::Note, &path, message);
    problem.with_help("give it a name of your own with `twig library add PATH --name NAME`")
}
