//! Combines the readings of all files into a [`Library`]: unique names, skills with their files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::files::{SKILL, without_ending};
use super::markdown::folder_name;
use super::{Reading, full_name, skills};
use crate::clients::{NameRule, format_of};
use twig_core::document::Head;
use twig_core::limits::Limits;
use twig_core::model::{Library, LibraryKind, Prompt};
use twig_core::name::{PromptName, RelativePath};
use twig_core::parse::library::{LibraryRoot, empty_library};
use twig_core::problem::{Problem, ProblemCode, Severity};
use twig_core::slug::Unique;
use twig_core::state_hash::StateHash;

/// A file that may belong to a skill, as a source found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFileFound {
    /// Relative to the library's folder.
    pub path: RelativePath,
    /// What its first bytes show.
    pub head: Head,
    /// SHA-256 of all its bytes.
    pub digest: [u8; 32],
    /// Its length.
    pub size: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: Option<i64>,
    /// Differs where the file does.
    pub version: u64,
}

/// Combines the readings of files into a library; their order does not matter.
///
/// `bundled` are all files of a library of skills, including `SKILL.md`; other libraries have none.
pub fn library<'r>(
    folder: &LibraryRoot,
    kind: LibraryKind,
    readings: impl IntoIterator<Item = (&'r RelativePath, &'r Reading)>,
    bundled: &[SkillFileFound],
    limits: &Limits,
) -> Library {
    let mut library = empty_library(folder, kind, Vec::new());
    let mut readings: Vec<_> = readings.into_iter().collect();
    readings.sort_by_key(|(path, _)| *path);
    if kind == LibraryKind::Skills {
        drop_twins(folder, &mut readings, &mut library.problems);
    }
    let descriptions = readings
        .iter()
        .flat_map(|(_, reading)| &reading.descriptions);
    let descriptions: BTreeMap<&str, &str> = descriptions
        .map(|(name, description)| (&**name, &**description))
        .collect();
    let names = names(kind, folder, &readings, |_, prompt| prompt.name.as_str());
    let has_old_names = readings
        .iter()
        .any(|(_, reading)| reading.old_name.is_some());
    if has_old_names {
        library.old_names = old_names(kind, folder, &readings, &names);
    }
    let mut first: BTreeMap<&str, &RelativePath> = BTreeMap::new();
    for ((path, reading), name) in readings.iter().zip(&names) {
        let wanted = reading.prompt.as_ref().map(|prompt| prompt.name.as_str());
        if let Some(wanted) = wanted.filter(|wanted| Some(*wanted) == name.as_deref()) {
            first.insert(wanted, path);
        }
    }
    let mut unserved = Unserved::default();
    for ((path, reading), name) in readings.iter().zip(names) {
        for problem in &reading.problems {
            unserved.push(problem, &mut library.problems);
        }
        let (Some(prompt), Some(name)) = (&reading.prompt, name) else {
            continue;
        };
        let wanted = prompt.name.as_str();
        let mut prompt = Arc::clone(prompt);
        if let Some(description) = descriptions.get(wanted) {
            Arc::make_mut(&mut prompt).description = Some((*description).into());
        }
        if name != wanted {
            let taken = first.get(wanted).map_or("another", |first| first.as_str());
            let problem = renamed(folder, path, wanted, taken, &name);
            library.problems.push(problem);
            let prompt = Arc::make_mut(&mut prompt);
            prompt.name = PromptName::of_format(&name);
            prompt.full_name = full_name(kind, folder, &prompt.name);
        }
        library.prompts.push(prompt);
    }
    unserved.finish(&mut library.problems);
    library.prompts.sort_by(|one, two| one.name.cmp(&two.name));
    if kind == LibraryKind::Skills {
        let found: Vec<skills::FoundSkill<'_>> = readings
            .iter()
            .filter(|(_, reading)| reading.prompt.is_some() || reading.skill.is_some())
            .map(|(path, reading)| (*path, reading.skill.as_ref()))
            .collect();
        let is_lost = |reading: &Reading| {
            let mut problems = reading.problems.iter();
            problems.any(|problem| problem.severity == Severity::Error)
        };
        let missing: Vec<&RelativePath> = readings
            .iter()
            .filter(|(_, reading)| reading.prompt.is_none() && is_lost(reading))
            .map(|(path, _)| *path)
            .collect();
        skills::add(&mut library, folder, &found, bundled, &missing, limits);
    }
    library.state = state(&library);
    library
}

/// If a folder has both `SKILL.md` and `skill.md`, the first is the skill.
fn drop_twins(
    folder: &LibraryRoot,
    readings: &mut Vec<(&RelativePath, &Reading)>,
    problems: &mut Vec<Problem>,
) {
    let exact: BTreeSet<&str> = readings
        .iter()
        .filter(|(path, _)| path.file_name() == SKILL)
        .map(|(path, _)| path.folder())
        .collect();
    readings.retain(|(path, _)| {
        let name = path.file_name();
        let is_twin = name != SKILL && name.eq_ignore_ascii_case(SKILL);
        let is_left = is_twin && exact.contains(path.folder());
        if is_left {
            let why = "is next to the `SKILL.md` of its folder";
            problems.extend(super::skipped(folder, path, why).problems);
        }
        !is_left
    });
}

/// The name of each prompt. A file whose own name is the wanted name keeps it whatever other files
/// there are; among the others, the first by path gets it.
fn names(
    kind: LibraryKind,
    folder: &LibraryRoot,
    readings: &[(&RelativePath, &Reading)],
    wanted: impl for<'r> Fn(&'r Reading, &'r Prompt) -> &'r str,
) -> Vec<Option<String>> {
    let is_exact = |path: &RelativePath, wanted: &str| match format_of(kind).names {
        NameRule::Folder => folder_name(folder, path) == wanted,
        _ => without_ending(kind, path) == wanted,
    };
    let mut unique = Unique::new();
    let mut names = vec![None; readings.len()];
    for exact in [true, false] {
        for ((path, reading), name) in readings.iter().zip(&mut names) {
            if let Some(prompt) = &reading.prompt
                && let wanted = wanted(reading, prompt)
                && is_exact(path, wanted) == exact
            {
                *name = Some(unique.name(wanted, path.as_str()));
            }
        }
    }
    names
}

/// The names that the prompts had when names were in Latin letters only, where they differ.
fn old_names(
    kind: LibraryKind,
    folder: &LibraryRoot,
    readings: &[(&RelativePath, &Reading)],
    names_now: &[Option<String>],
) -> BTreeMap<Box<str>, PromptName> {
    let before = names(kind, folder, readings, |reading, prompt| {
        let old = reading.old_name.as_deref();
        old.unwrap_or(prompt.name.as_str())
    });
    let pairs = before.into_iter().zip(names_now);
    let pairs = pairs.filter_map(|(old, now)| Some((old?, now.as_deref()?)));
    let changed = pairs.filter(|(old, now)| old != now);
    changed
        .map(|(old, now)| (old.into(), PromptName::of_format(now)))
        .collect()
}

fn renamed(
    folder: &LibraryRoot,
    path: &RelativePath,
    wanted: &str,
    taken: &str,
    name: &str,
) -> Problem {
    let file = folder.path_of(path);
    let message = format!("{path} is called `{name}`: `{wanted}` is the name of {taken} already");
    let problem = Problem::of_file(
        ProblemCode::DuplicatePrompt,
        Severity::Warning,
        &file,
        message,
    );
    problem.with_help("rename one of the two")
}

/// The note about keys that clients do not get, one for all files.
#[derive(Default)]
struct Unserved {
    /// The index of the first one among the problems.
    first: Option<usize>,
    others: usize,
}

impl Unserved {
    fn push(&mut self, problem: &Problem, problems: &mut Vec<Problem>) {
        if problem.code == ProblemCode::NotServed {
            if self.first.is_some() {
                self.others += 1;
                return;
            }
            self.first = Some(problems.len());
        }
        problems.push(problem.clone());
    }

    fn finish(self, problems: &mut [Problem]) {
        let first = self.first.and_then(|at| problems.get_mut(at));
        let Some(first) = first.filter(|_| self.others > 0) else {
            return;
        };
        let files = if self.others == 1 { "file" } else { "files" };
        first.message = format!("{} (also in {} other {files})", first.message, self.others);
    }
}

/// A hash of everything that a client can see in the lists of a library.
fn state(library: &Library) -> u64 {
    let mut hash = StateHash::default();
    let mut put = |part: &[u8]| hash.part(part);
    for prompt in &library.prompts {
        put_prompt(prompt, &mut put);
    }
    put(b"skills");
    for skill in &library.skills {
        put(skill.uri.as_bytes());
        put(skill.front_matter.as_bytes());
        put(&[u8::from(skill.is_unlisted)]);
        for file in &skill.files {
            put(file.uri.as_bytes());
            put(&file.digest);
        }
    }
    put(b"documents");
    for document in &library.documents {
        let description = document.description.as_deref().unwrap_or_default();
        for part in [
            &*document.uri,
            document.shown_title(),
            description,
            &*document.mime,
        ] {
            put(part.as_bytes());
        }
    }
    hash.end()
}

fn put_prompt(prompt: &Prompt, put: &mut impl FnMut(&[u8])) {
    put(prompt.full_name.as_bytes());
    put(bytes(prompt.title.as_deref()));
    put(bytes(prompt.description.as_deref()));
    put(&[u8::from(prompt.unavailable.is_some())]);
    put(format!("{:?}", prompt.dialect).as_bytes());
    for argument in prompt.arguments.iter() {
        put(argument.name.as_bytes());
        put(bytes(argument.description.as_deref()));
        put(&[u8::from(argument.required)]);
        put(bytes(argument.default.as_deref()));
        put(&argument.max_length.unwrap_or_default().to_le_bytes());
        let pattern = argument.pattern.as_ref();
        put(pattern.map_or("", |pattern| pattern.as_str()).as_bytes());
        put(argument.choices.join("\0").as_bytes());
    }
}

fn bytes(text: Option<&str>) -> &[u8] {
    text.unwrap_or_default().as_bytes()
}
