//! Patterns of Fabric: a folder each, with a `system.md` that has no front matter.

use super::about::TextAbout;
use super::arguments::too_many;
use super::{Reading, draft, markdown};
use twig_core::argument::Argument;
use twig_core::limits::Limits;
use twig_core::marks::curly;
use twig_core::model::{Dialect, LibraryKind, Marks};
use twig_core::name::RelativePath;
use twig_core::parse::library::LibraryRoot;
use twig_core::problem::{Problem, ProblemCode, Severity};

/// Reads a prompt from a pattern's file, or descriptions of patterns from another file.
pub(super) fn read(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    text: &str,
    limits: &Limits,
) -> Reading {
    match path.file_name() {
        EXPLANATIONS => Reading {
            descriptions: explanations(text),
            ..Reading::default()
        },
        "user.md" => Reading {
            problems: beside(folder, path, text).into_iter().collect(),
            ..Reading::default()
        },
        _ => pattern(kind, folder, path, text, limits),
    }
}

fn pattern(
    kind: LibraryKind,
    folder: &LibraryRoot,
    path: &RelativePath,
    text: &str,
    limits: &Limits,
) -> Reading {
    let id = markdown::folder_name(folder, path);
    let mut prompt = draft(kind, folder, path, id);
    let about = TextAbout::of(text);
    prompt.description = Some(about.description(id).into());
    prompt.dialect = Dialect::Marks(Marks::Patterns);
    let room = limits.arguments.saturating_sub(1);
    let names = curly::pattern_names(text, room + 1);
    let mut remarks = Vec::new();
    if names.is_none() {
        let message = "its double braces are text: not all of them hold the name of a variable";
        remarks.push((
            ProblemCode::BracesAreText,
            Severity::Note,
            message.to_owned(),
        ));
    }
    let mut names = names.unwrap_or_default();
    if names.len() > room {
        names.truncate(room);
        remarks.push(too_many(limits));
    }
    let variables = names.into_iter().map(|name| Argument {
        name: name.into(),
        required: true,
        ..Argument::default()
    });
    let input = Argument {
        name: curly::INPUT.into(),
        description: Some("What the pattern is applied to".into()),
        ..Argument::default()
    };
    prompt.arguments = variables.chain([input]).collect();
    Reading::of(folder, path, text, id, prompt).with(folder, path, remarks)
}

/// The note about a text next to a pattern.
fn beside(folder: &LibraryRoot, path: &RelativePath, text: &str) -> Option<Problem> {
    if text.trim().is_empty() {
        return None;
    }
    let file = folder.path_of(path);
    let message = "user.md is no part of the pattern: Fabric reads `system.md` alone";
    let note = Problem::of_file(ProblemCode::NotAPrompt, Severity::Note, &file, message);
    Some(note.with_help("move what it says to `system.md`"))
}

/// The file in the folder of patterns that describes each of them.
pub(super) const EXPLANATIONS: &str = "pattern_explanations.md";

/// Descriptions by the names of their patterns: lines like `12. **name**: what it does`.
pub(super) fn explanations(text: &str) -> Vec<(Box<str>, Box<str>)> {
    text.lines().filter_map(explanation).collect()
}

fn explanation(line: &str) -> Option<(Box<str>, Box<str>)> {
    let line = line.trim_start();
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[number..].strip_prefix(". **").filter(|_| number > 0)?;
    let (name, description) = rest.split_once("**:")?;
    let description = description.trim();
    let is_name = !name.is_empty() && !name.contains(['*', '/']) && !description.is_empty();
    is_name.then(|| (name.into(), description.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_are_numbered_lines() {
        let text = "# All\n\n- **x**: no\n1. **ai**: Answers.\n  12. **summarize_pull-requests**:  Sums up. \n3. **empty**: \n4. *a*: no\nx. **b**: no\n";
        let found = explanations(text);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect();
        assert_eq!(
            found,
            [("ai", "Answers."), ("summarize_pull-requests", "Sums up.")]
        );
    }
}
