//! Problems by file, the worst first.

use std::collections::BTreeMap;

use maud::{Markup, html};
use twig_core::{Problem, Severity};

use crate::link;
use crate::visible::{label, sentence, visible};

/// A problem, and where it is in words.
#[derive(Debug, Clone, Copy)]
pub struct ShownProblem<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// Its file, as the viewer may see it.
    pub place: &'p str,
    /// What opens at its line.
    pub opens: Option<ProblemPlace<'p>>,
}

/// What the file of a problem is on this page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemPlace<'p> {
    /// The text of a prompt, by its full name.
    Prompt(&'p str),
    /// A document, by its URI.
    Document(&'p str),
    /// The manifest of a library that the viewer can edit.
    Manifest(&'p str),
}

impl ProblemPlace<'_> {
    fn address(&self) -> String {
        match self {
            Self::Prompt(name) => link::prompt(name),
            Self::Document(uri) => link::raw_document(uri),
            Self::Manifest(library) => link::edit_manifest(library),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Prompt(name) | Self::Document(name) | Self::Manifest(name) => name,
        }
    }
}

/// The most files that are shown.
const FILES: usize = 300;

/// The screen of all problems; notes come last.
pub fn problems(found: &[ShownProblem<'_>]) -> Markup {
    let count = |severity: Severity| {
        let found = found.iter().filter(|it| it.problem.severity == severity);
        found.count()
    };
    let mut files: BTreeMap<&str, Vec<&ShownProblem<'_>>> = BTreeMap::new();
    for shown in found {
        files.entry(shown.place).or_default().push(shown);
    }
    let mut files: Vec<(&str, Vec<&ShownProblem<'_>>)> = files.into_iter().collect();
    for (_, problems) in &mut files {
        problems.sort_by_key(|it| (it.problem.line, it.problem.column, it.problem.severity));
    }
    // The worst file first; files with equal problems stay in the order of their names.
    files.sort_by_key(|(_, problems)| problems.iter().map(|it| it.problem.severity).min());
    let mut codes: Vec<&str> = found.iter().map(|it| it.problem.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    let serious = count(Severity::Error) + count(Severity::Warning);
    html! {
        div.page data-count=(serious) {
            header.title {
                h1 { "Problems" }
                p.lead {
                    @if found.is_empty() {
                        "Nothing is wrong in what is served."
                    } @else {
                        (counts(&[
                            (count(Severity::Error), "error", "errors"),
                            (count(Severity::Warning), "warning", "warnings"),
                            (count(Severity::Note), "note", "notes"),
                        ]))
                    }
                }
            }
            @if codes.len() > 1 {
                div.codes role="group" aria-label="Show only" {
                    @for code in &codes {
                        button.chip type="button" data-key=(code) data-code=(code) aria-pressed="false" { (code) }
                    }
                }
            }
            @for (place, problems) in files.iter().take(FILES) {
                section.file data-key=(place) {
                    h2.mono { (label(place)) }
                    ul.problems { @for it in problems { (problem(it)) } }
                }
            }
            @if files.len() > FILES {
                p.faint { "…and " (files.len() - FILES) " more files; `twig check` lists them all." }
            }
        }
    }
}

fn problem(shown: &ShownProblem<'_>) -> Markup {
    let problem = shown.problem;
    let severity = problem.severity.as_str();
    html! {
        li.problem data-code=(problem.code.as_str()) {
            p.what {
                span.severity.(severity) { span.dot.(severity) aria-hidden="true" {} (severity) }
                @if let Some(line) = problem.line {
                    span.place.mono { (line) @if let Some(column) = problem.column { ":" (column) } }
                }
                span.sentence { (sentence(&problem.message)) }
                span.code.mono { (problem.code.as_str()) }
                @if let Some(place) = shown.opens {
                    @let line = problem.line.map(|line| format!("#line={line}")).unwrap_or_default();
                    a.open href=(format!("{}{line}", place.address())) {
                        @if problem.line.is_some() { "Open at line" } @else { "Open" }
                        span.sr { " in " (label(place.name())) }
                    }
                }
            }
            @if let Some(excerpt) = &problem.excerpt {
                @let letters: Vec<char> = excerpt.text.chars().collect();
                @let start = excerpt.start.min(letters.len());
                @let end = (excerpt.start + excerpt.width).min(letters.len());
                @let part = |from: usize, to: usize| letters[from..to].iter().collect::<String>();
                pre.excerpt tabindex="0" {
                    (visible(&part(0, start)))
                    em.(severity) { (visible(&part(start, end))) }
                    (visible(&part(end, letters.len())))
                }
            }
            @if let Some(help) = &problem.help { p.advice { (sentence(help)) } }
        }
    }
}

/// Numbers in words: `1 error, 2 warnings`.
pub(crate) fn counts(words: &[(usize, &str, &str)]) -> String {
    let there = words.iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> = there
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    parts.join(", ")
}
