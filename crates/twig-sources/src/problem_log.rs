//! Problems in the log: each once, when it appears.

use std::collections::BTreeMap;

use twig_core::{Problem, ProblemCode, Severity};

/// Maximum lines at once; `twig check` shows all problems.
const LINES: usize = 20;

/// The problems at the last call.
#[derive(Debug, Default)]
pub(crate) struct ProblemLog {
    told: BTreeMap<ProblemKey, usize>,
}

/// The identity of a problem, without its line: text added above does not make it another one.
type ProblemKey = (Box<str>, ProblemCode, String);

impl ProblemLog {
    /// Logs the problems that did not exist at the last call.
    pub(crate) fn tell<'p>(&mut self, problems: impl Iterator<Item = &'p Problem>) {
        let mut new = self.new_among(problems);
        // Notes must not take the lines of errors and warnings.
        new.sort_by_key(|problem| problem.severity == Severity::Note);
        for problem in new.iter().take(LINES) {
            match problem.severity {
                Severity::Error => tracing::error!("{problem}"),
                Severity::Warning => tracing::warn!("{problem}"),
                Severity::Note => tracing::info!("{problem}"),
            }
        }
        let rest = new.get(LINES..).unwrap_or_default();
        let are_notes = rest.iter().all(|it| it.severity == Severity::Note);
        match rest.len() {
            0 => {}
            more if are_notes => tracing::info!("and {more} more; run `twig check`"),
            more => tracing::warn!("and {more} more; run `twig check`"),
        }
    }

    fn new_among<'p>(&mut self, problems: impl Iterator<Item = &'p Problem>) -> Vec<&'p Problem> {
        let mut before = std::mem::take(&mut self.told);
        let mut new = Vec::new();
        for problem in problems {
            let key = (problem.path.clone(), problem.code, problem.message.clone());
            match before.get_mut(&key) {
                Some(left) if *left > 0 => *left -= 1,
                _ => new.push(problem),
            }
            *self.told.entry(key).or_default() += 1;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(line: u32, message: &str) -> Problem {
        Problem {
            line: Some(line),
            ..Problem::of_file(
                ProblemCode::UnknownField,
                Severity::Warning,
                "/lib/twig.toml",
                message,
            )
        }
    }

    fn check(log: &mut ProblemLog, problems: &[Problem], expected: &[u32]) {
        let new = log.new_among(problems.iter());
        let lines: Vec<u32> = new.iter().filter_map(|problem| problem.line).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_problem_is_new_once_wherever_it_moves() {
        let mut log = ProblemLog::default();
        check(&mut log, &[problem(1, "a"), problem(2, "b")], &[1, 2]);
        check(&mut log, &[problem(3, "a"), problem(4, "b")], &[]);
        check(&mut log, &[problem(3, "a"), problem(4, "a")], &[4]);
    }

    #[test]
    fn a_problem_that_comes_back_is_new_again() {
        let mut log = ProblemLog::default();
        check(&mut log, &[problem(1, "a")], &[1]);
        check(&mut log, &[], &[]);
        check(&mut log, &[problem(1, "a")], &[1]);
    }
}
