//! The problems of one file: places are found in one pass, and the number of reports is limited.

use crate::problem::ProblemCode;
use std::cell::OnceCell;
use std::ops::Range;

use super::{Location, Problem, Severity, location};
use crate::limits::PROBLEMS;

/// The starts of the lines of a text: computed once, it finds any number of places.
#[derive(Debug)]
pub struct LineStarts(Vec<usize>);

impl LineStarts {
    /// Scans a text.
    pub fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self([0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// The line of a byte, from 1.
    pub fn line(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }

    /// The place of some bytes of the text that this was made from; see [`super::locate`].
    pub fn locate(&self, text: &str, range: Range<usize>) -> Location {
        let line = self.line(range.start.min(text.len()));
        location(text, self.0[line - 1], line, range)
    }
}

/// The problems of one file, as they are found.
///
/// A file may have a mistake in each of its lines. The first few hundred errors and as many
/// warnings are reported one by one, and the rest are counted.
#[derive(Debug)]
pub(crate) struct FileProblems<'f> {
    path: &'f str,
    text: &'f str,
    lines: OnceCell<LineStarts>,
    problems: Vec<Problem>,
    /// How many were found of each severity.
    found: [usize; 3],
    /// Whether the last one was reported.
    is_told: bool,
}

impl<'f> FileProblems<'f> {
    /// Starts without problems, for a file with this text.
    pub(crate) fn new(path: &'f str, text: &'f str) -> Self {
        Self {
            path,
            text,
            lines: OnceCell::new(),
            problems: Vec::new(),
            found: [0; 3],
            is_told: false,
        }
    }

    /// The line of a byte of the file, from 1.
    pub(crate) fn line(&self, at: usize) -> u32 {
        u32::try_from(self.lines().line(at)).unwrap_or(u32::MAX)
    }

    fn lines(&self) -> &LineStarts {
        self.lines.get_or_init(|| LineStarts::new(self.text))
    }

    /// Adds a problem with some bytes of the file.
    pub(crate) fn add(
        &mut self,
        code: ProblemCode,
        severity: Severity,
        range: Range<usize>,
        message: impl Into<String>,
    ) {
        self.add_found(Problem::of_file(code, severity, self.path, message), range);
    }

    /// Adds an existing problem, at some bytes of the file.
    pub(crate) fn add_found(&mut self, problem: Problem, range: Range<usize>) {
        self.is_told = self.has_room(problem.severity);
        if self.is_told {
            let place = self.lines().locate(self.text, range);
            self.problems.push(problem.placed(place));
        }
    }

    /// Adds help to the last problem.
    pub(crate) fn help(&mut self, help: impl Into<Option<String>>) {
        if let Some(problem) = self.problems.last_mut().filter(|_| self.is_told) {
            problem.help = help.into();
        }
    }

    /// The problems that were added so far.
    pub(crate) fn reported(&self) -> &[Problem] {
        &self.problems
    }

    /// Adds problems that other code found in the file.
    pub(crate) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            self.is_told = self.has_room(problem.severity);
            if self.is_told {
                self.problems.push(problem);
            }
        }
    }

    /// The reported problems in the order of the file, and how many more there are.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        self.problems
            .sort_by_key(|problem| (problem.line, problem.column));
        let more = self.found.map(|count| count.saturating_sub(PROBLEMS));
        let [errors, ..] = more;
        let severity = if errors > 0 {
            Severity::Error
        } else {
            Severity::Warning
        };
        let more: usize = more.iter().sum();
        self.problems
            .extend(more_problems(self.path, severity, more));
        self.problems
    }

    fn has_room(&mut self, severity: Severity) -> bool {
        let found = &mut self.found[severity as usize];
        *found += 1;
        *found <= PROBLEMS
    }
}

/// The problem that reports how many others were only counted.
pub(crate) fn more_problems(path: &str, severity: Severity, more: usize) -> Option<Problem> {
    let mistakes = if more == 1 { "mistake" } else { "mistakes" };
    let message = format!("and {more} more {mistakes} in this file");
    let problem = Problem::of_file(ProblemCode::MoreProblems, severity, path, message);
    let help = "fix those that are shown, then check again";
    (more > 0).then(|| problem.with_help(help))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::locate;
    use super::*;

    proptest! {
        #[test]
        fn both_ways_find_the_same_place(
            text in "[a\u{fc}\n\r]{0,40}", start in 0_usize..60, length in 0_usize..9,
        ) {
            let range = start..start + length;
            let lines = LineStarts::new(&text);
            prop_assert_eq!(lines.locate(&text, range.clone()), locate(&text, range));
        }
    }

    #[test]
    fn errors_are_told_whatever_else_there_is() {
        let text = "a\n".repeat(PROBLEMS * 2);
        let mut problems = FileProblems::new("/f", &text);
        for line in 0..PROBLEMS * 2 {
            problems.add(
                ProblemCode::UnknownField,
                Severity::Warning,
                line * 2..line * 2 + 1,
                "warning",
            );
            problems.help(line.to_string());
        }
        problems.add(ProblemCode::WrongType, Severity::Error, 0..1, "error");
        problems.extend([Problem::of_file(
            ProblemCode::WrongType,
            Severity::Error,
            "/f",
            "whole",
        )]);
        let problems = problems.finish();
        assert_eq!(problems.len(), PROBLEMS + 3);
        assert_eq!(problems[0].message, "whole");
        assert_eq!(problems[2].message, "error");
        let last = &problems[PROBLEMS + 1];
        let line = u32::try_from(PROBLEMS).ok();
        assert_eq!((last.line, last.help.as_deref()), (line, Some("299")));
        let more = &problems[PROBLEMS + 2];
        assert_eq!(more.severity, Severity::Warning);
        assert_eq!(more.message, "and 300 more mistakes in this file");
    }
}
