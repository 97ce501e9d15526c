//! Problems as the protocol has them, and what the editor was sent of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use twig_core::{Problem, Severity};

use super::file_uri::uri_of;
use super::text_position::{TextPosition, TextRange, units};

/// The most problems of one file.
const MOST: usize = 500;

/// What the editor shows, by file.
#[derive(Debug, Default)]
pub(super) struct Reports(BTreeMap<PathBuf, Vec<Value>>);

impl Reports {
    /// Takes over all problems; returns the parameters of a notification for each file whose
    /// problems differ. `open` says how the editor calls a file, its version and its text.
    pub(super) fn replace<'t>(
        &mut self,
        problems: &[Problem],
        open: impl Fn(&Path) -> Option<(&'t str, i64, &'t str)>,
    ) -> Vec<Value> {
        let mut found: BTreeMap<PathBuf, Vec<Value>> = BTreeMap::new();
        for problem in problems {
            let path = PathBuf::from(&*problem.path);
            let text = open(&path).map(|(_, _, text)| text);
            let rows = found.entry(path).or_default();
            if rows.len() < MOST {
                rows.push(diagnostic(problem, text));
            }
        }
        let paths: BTreeSet<&PathBuf> = found.keys().chain(self.0.keys()).collect();
        let none = Vec::new();
        let differ = paths.into_iter().filter_map(|path| {
            let now = found.get(path).unwrap_or(&none);
            if self.0.get(path).unwrap_or(&none) == now {
                return None;
            }
            let mut params = json!({ "uri": uri_of(path), "diagnostics": now });
            if let Some((uri, version, _)) = open(path) {
                params["uri"] = uri.into();
                params["version"] = version.into();
            }
            Some(params)
        });
        let differ = differ.collect();
        self.0 = found;
        differ
    }
}

fn diagnostic(problem: &Problem, text: Option<&str>) -> Value {
    let severity = match problem.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Note => 3,
    };
    let message = match &problem.help {
        Some(help) => format!("{}\nhelp: {help}", problem.message),
        None => problem.message.clone(),
    };
    json!({
        "range": range_of(problem, text),
        "severity": severity,
        "code": problem.code.as_str(),
        "source": "twig",
        "message": message,
    })
}

/// The range that a problem is about: its part of the line, or the whole line.
fn range_of(problem: &Problem, text: Option<&str>) -> TextRange {
    let line = problem.line.unwrap_or(1).saturating_sub(1);
    let excerpt = problem.excerpt.as_ref();
    let full = excerpt.map(|excerpt| &*excerpt.text).or_else(|| {
        let mut lines = text?.lines();
        lines.nth(usize::try_from(line).ok()?)
    });
    let full = full.unwrap_or_default();
    let at = |character: u32| TextPosition { line, character };
    match (problem.column, excerpt) {
        (Some(_), Some(excerpt)) => {
            let start = units(full.chars().take(excerpt.start));
            let marked = full.chars().skip(excerpt.start).take(excerpt.width);
            TextRange {
                start: at(start),
                end: at(start + units(marked).max(1)),
            }
        }
        _ => TextRange {
            start: at(0),
            end: at(units(full.chars())),
        },
    }
}

#[cfg(test)]
mod tests {
    use twig_core::ProblemCode;

    use super::*;

    fn problem(text: &str, part: &str) -> Problem {
        let at = text.find(part).unwrap();
        let (code, severity) = (ProblemCode::TemplateSyntax, Severity::Error);
        Problem::at(
            code,
            severity,
            "/lib/a.md",
            text,
            at..at + part.len(),
            "is wrong",
        )
    }

    #[test]
    fn a_problem_covers_what_it_is_about() {
        let text = "one\n\u{1f331} two three";
        let range = range_of(&problem(text, "two"), Some(text));
        assert_eq!((range.start.line, range.start.character), (1, 3));
        assert_eq!(range.end.character, 6);
        let whole = Problem {
            column: None,
            excerpt: None,
            ..problem(text, "two")
        };
        let range = range_of(&whole, Some(text));
        assert_eq!((range.start.character, range.end.character), (0, 12));
    }

    #[test]
    fn only_files_whose_problems_differ_are_sent() {
        let mut reports = Reports::default();
        let problems = [problem("one two", "two")];
        let none = |_: &Path| None;
        let first = reports.replace(&problems, none);
        assert_eq!(first.len(), 1);
        assert_eq!(first[0]["uri"], "file:///lib/a.md");
        assert!(reports.replace(&problems, none).is_empty());
        let cleared = reports.replace(&[], none);
        assert_eq!(cleared[0]["diagnostics"], json!([]));
        assert!(reports.replace(&[], none).is_empty());
    }
}
