//! Helpers for reading a definition: fields by name, types, and problems with places.

use std::ops::Range;

use super::DefinitionContext;
use crate::braces::BraceError;
use crate::name::RelativePath;
use crate::parse::TOLD;
use crate::parse::json::{Json, Path, written_at};
use crate::problem::{Problem, ProblemCode, Severity, shorten};
use crate::suggest;

/// Reads one definition.
pub(super) struct DefinitionReader<'r> {
    pub(super) context: DefinitionContext<'r>,
    /// The file, relative to the library's folder.
    pub(super) path: &'r RelativePath,
    /// The file, absolute.
    file: String,
    pub(super) source: &'r str,
    pub(super) problems: Vec<Problem>,
    /// The first mistake that keeps the prompt from being served.
    pub(super) refusal: Option<String>,
}

/// The members of an object, by name; if a name occurs twice, the last one counts.
pub(super) struct DefinitionFields<'j, 'a> {
    members: &'j [(std::borrow::Cow<'a, str>, Json<'a>)],
    path: &'j Path<'j>,
}

impl<'j, 'a> DefinitionFields<'j, 'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'j Json<'a>> {
        let mut members = self.members.iter().rev();
        members.find(|(name, _)| name == key).map(|(_, json)| json)
    }

    /// A member that has to exist.
    pub(super) fn required(
        &self,
        reader: &mut DefinitionReader<'_>,
        key: &str,
    ) -> Option<&'j Json<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let message = format!("expected a field `{key}`, found none");
            reader.error(ProblemCode::MissingField, self.path, &message, None);
        }
        found
    }
}

impl<'r> DefinitionReader<'r> {
    pub(super) fn new(
        context: DefinitionContext<'r>,
        path: &'r RelativePath,
        file: String,
        source: &'r str,
    ) -> Self {
        Self {
            context,
            path,
            file,
            source,
            problems: Vec::new(),
            refusal: None,
        }
    }

    /// Adds a problem that keeps the prompt from being served.
    pub(super) fn error(
        &mut self,
        code: ProblemCode,
        path: &Path<'_>,
        message: &str,
        help: Option<String>,
    ) {
        self.refuse(path, message);
        self.remark(code, Severity::Error, path, message, help);
    }

    fn refuse(&mut self, path: &Path<'_>, message: &str) {
        let refusal = || shorten(&format!("{path}: {message}"), 300);
        self.refusal.get_or_insert_with(refusal);
    }

    /// Adds a problem with the value at a path.
    pub(super) fn remark(
        &mut self,
        code: ProblemCode,
        severity: Severity,
        path: &Path<'_>,
        message: &str,
        help: Option<String>,
    ) {
        if self.is_full() {
            return;
        }
        let message = format!("{path}: {message}");
        let problem = self.problem(code, severity, path.find(self.source), message);
        self.problems.push(Problem { help, ..problem });
    }

    /// Adds the mistakes in the text at a path, each at its own place.
    pub(super) fn mistakes(&mut self, path: &Path<'_>, mistakes: Vec<BraceError>) {
        // Finding a place means reading the file again: at most once per text, and only if it is
        // reported.
        let is_told = !mistakes.is_empty() && !self.is_full();
        let range = is_told.then(|| path.find(self.source)).flatten();
        for mistake in mistakes {
            if mistake.severity == Severity::Error {
                self.refuse(path, &mistake.message);
            }
            if self.is_full() {
                continue;
            }
            let place = range.clone().map(|range| {
                let written = &self.source[range.clone()];
                let [start, end] = [mistake.range.start, mistake.range.end]
                    .map(|offset| range.start + written_at(written, offset));
                start..end
            });
            let message = format!("{path}: {}", mistake.message);
            let problem = self.problem(mistake.code, mistake.severity, place, message);
            self.problems.push(problem.with_help(mistake.help));
        }
    }

    fn is_full(&self) -> bool {
        self.problems.len() >= TOLD
    }

    fn problem(
        &self,
        code: ProblemCode,
        severity: Severity,
        place: Option<Range<usize>>,
        message: String,
    ) -> Problem {
        match place {
            Some(range) => Problem::at(code, severity, &self.file, self.source, range, message),
            None => Problem::of_file(code, severity, &self.file, message),
        }
    }

    pub(super) fn wrong_type(&mut self, path: &Path<'_>, expected: &str, found: &Json<'_>) {
        let message = format!("expected {expected}, found {}", found.type_name());
        self.error(ProblemCode::WrongType, path, &message, None);
    }

    /// The members of an object; unknown and duplicate members are reported.
    pub(super) fn object<'j, 'a>(
        &mut self,
        path: &'j Path<'j>,
        json: &'j Json<'a>,
        what: &str,
        known: &[&str],
    ) -> Option<DefinitionFields<'j, 'a>> {
        let Json::Object(members) = json else {
            self.wrong_type(path, "an object", json);
            return None;
        };
        for (at, (key, _)) in members.iter().enumerate() {
            if self.is_full() {
                break;
            }
            if !known.contains(&&**key) {
                let shown = shorten(key, 64);
                let message = format!(
                    "unknown field `{}` in {what} is ignored",
                    shown.escape_debug()
                );
                let help = suggest::did_you_mean(key, known.iter().copied());
                let path = path.key(key);
                self.remark(
                    ProblemCode::UnknownField,
                    Severity::Warning,
                    &path,
                    &message,
                    help,
                );
            } else if members[..at].iter().any(|(other, _)| other == key) {
                let message = format!("`{key}` is there twice; the last one counts");
                let path = path.key(key);
                let help = Some("remove one of the two".to_owned());
                self.remark(
                    ProblemCode::DuplicateKey,
                    Severity::Warning,
                    &path,
                    &message,
                    help,
                );
            }
        }
        Some(DefinitionFields { members, path })
    }

    /// A string, if there is one.
    pub(super) fn text(&mut self, path: &Path<'_>, json: Option<&Json<'_>>) -> Option<Box<str>> {
        match json? {
            Json::Text(text) => Some(text.as_ref().into()),
            other => {
                self.wrong_type(path, "a string", other);
                None
            }
        }
    }
}
