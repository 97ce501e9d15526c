//! The arguments of a file: those that its author or its format names, and no others.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Options;
use super::codex;
use super::declared::declared;
use crate::clients::MarkRule;
use twig_core::argument::{Argument, implied_arguments};
use twig_core::front_matter::{FrontMatterFields, FrontMatterValue};
use twig_core::limits::Limits;
use twig_core::marks::scan::{DollarContext, dollars};
use twig_core::marks::{
    ALL, MarkedPiece, NAME, Word, capitals, input, is_escaped, is_number_mark, pieces, word,
};
use twig_core::model::{AppendedForm, Dialect, Marks, Prompt};
use twig_core::problem::{ProblemCode, Severity};
use twig_core::slug::slug;

/// The arguments of a prompt and how its text marks them.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) arguments: Vec<Argument>,
    pub(super) marks: Marks,
    /// Remarks on it: code, severity, message.
    pub(super) remarks: Vec<(ProblemCode, Severity, String)>,
}

impl Taken {
    /// Gives the arguments to a prompt; returns the remarks. A file without arguments takes words
    /// all the same, as in its own client.
    pub(super) fn fill(
        self,
        rule: MarkRule,
        prompt: &mut Prompt,
    ) -> Vec<(ProblemCode, Severity, String)> {
        if self.arguments.is_empty() {
            prompt.arguments = Cow::Borrowed(implied_arguments());
            prompt.dialect = Dialect::Marks(Marks::Appended {
                form: appended_form(rule),
                is_implied: true,
            });
        } else {
            prompt.arguments = self.arguments.into();
            prompt.dialect = Dialect::Marks(self.marks);
        }
        self.remarks
    }
}

/// Finds the arguments of a file, in the order in which clients ask for them.
pub(super) fn take(
    rule: MarkRule,
    fields: &FrontMatterFields,
    body: &str,
    options: Options,
    limits: &Limits,
) -> Taken {
    let mut taken = Taken::default();
    let hint = hint(fields);
    let hint = hint.as_deref();
    if let Some(value) = fields.value("arguments") {
        taken.arguments = declared(value, limits, &mut taken.remarks);
    }
    let found = match rule {
        // This client replaces no `$` with a number.
        MarkRule::Inputs => ArgumentMarks::default(),
        _ => ArgumentMarks::of(rule, body),
    };
    if !taken.arguments.is_empty() {
        taken.marks = match rule {
            MarkRule::Inputs => Marks::Inputs,
            _ => Marks::Named,
        };
        let has_marks = |piece: &MarkedPiece<'_>| !matches!(piece, MarkedPiece::Text(_));
        let is_used = |marks| pieces(marks, &taken.arguments, body).iter().any(has_marks);
        if !is_used(taken.marks) {
            let positions = found.positions(rule, Some(0), options);
            taken.marks = match positions {
                Some(positions) => positions.marks(rule),
                None => appended(rule),
            };
        }
    } else if rule == MarkRule::Inputs {
        inputs(body, limits, &mut taken);
    } else if rule == MarkRule::Capitals {
        codex::names(body, found.has_all, limits, &mut taken);
    }
    if taken.arguments.is_empty() {
        taken.marks = Marks::None;
    }
    // These clients replace nothing: text typed after a command goes to the model with it.
    if taken.arguments.is_empty() && rule != MarkRule::Nothing {
        dollar(rule, &found, hint, options, &mut taken);
    }
    if taken.arguments.len() > limits.arguments {
        taken.arguments.truncate(limits.arguments);
        taken.remarks.push(too_many(limits));
    }
    taken
}

/// The remark on a prompt with too many arguments.
pub(super) fn too_many(limits: &Limits) -> (ProblemCode, Severity, String) {
    let message = format!(
        "the prompt has too many arguments: those after the first {} are ignored",
        limits.arguments
    );
    (ProblemCode::TooManyArguments, Severity::Warning, message)
}

/// The author's hint, as it is shown.
fn hint(fields: &FrontMatterFields) -> Option<String> {
    let keys = ["argument-hint", "argument_hint"];
    keys.into_iter().find_map(|key| match fields.value(key)? {
        FrontMatterValue::List(items) if fields.text(key).is_none() => {
            let items = items.iter().filter_map(FrontMatterValue::word);
            let items: Vec<String> = items.map(|item| format!("[{item}]")).collect();
            (!items.is_empty()).then(|| items.join(" "))
        }
        _ => fields.text(key).map(str::to_owned),
    })
}

/// `$ARGUMENTS` and numbers that a text has.
#[derive(Debug, Default)]
struct ArgumentMarks {
    has_all: bool,
    /// True if a number is in `$ARGUMENTS[N]`.
    has_place: bool,
    numbers: BTreeSet<usize>,
}

impl ArgumentMarks {
    fn of(rule: MarkRule, body: &str) -> Self {
        let mut found = Self::default();
        let has_escapes = rule != MarkRule::GreedyDollars;
        let counts = |at: usize| !(has_escapes && is_escaped(&body[..at]));
        let is_name =
            |at: usize| rule == MarkRule::Capitals && capitals(&body[at..], &body[..at]).is_some();
        // Code only matters for numbers, and few texts have one.
        let mut has_numbers = false;
        for (at, _) in body.match_indices('$') {
            match body.as_bytes().get(at + 1) {
                Some(b'0' | b'1') => {
                    has_numbers |= matches!(word(&body[at..]), Some(Word::Number { .. }));
                }
                Some(b'A') if counts(at) => match word(&body[at..]) {
                    // Codex takes a longer word for another name.
                    Some(Word::All { .. }) if is_name(at) => {}
                    Some(Word::All { .. }) => found.has_all = true,
                    Some(Word::Place { number, .. }) => {
                        found.has_place = true;
                        found.numbers.insert(number);
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        let places = if has_numbers {
            dollars(body)
        } else {
            Vec::new()
        };
        for (at, place) in places {
            // In a code block, such numbers belong to a shell, a database or a pattern.
            if let Some(Word::Number { number, .. }) = word(&body[at..])
                && place != DollarContext::Block
                && is_number_mark(place, &body[..at])
                && counts(at)
            {
                found.numbers.insert(number);
            }
        }
        found
    }

    /// How many consecutive numbers count as arguments, and which is the first. A hint that has a
    /// word for each counts if some number is not used.
    fn positions(
        &self,
        rule: MarkRule,
        hint: Option<usize>,
        options: Options,
    ) -> Option<Positions> {
        let from_one = matches!(rule, MarkRule::GreedyDollars | MarkRule::Capitals);
        let has_zero = self.numbers.contains(&0);
        let (first, why) = match options.first_argument {
            Some(first) => (first, "so it is set for the library"),
            None if from_one => (1, "the client counts from 1"),
            None if has_zero => (0, "the text uses number 0"),
            None => (1, "the text does not use number 0"),
        };
        let start = usize::from(first);
        let count = (start..=usize::from(u8::MAX))
            .take_while(|number| self.numbers.contains(number))
            .count();
        let is_whole = count == self.numbers.len();
        let words = hint.unwrap_or_default();
        let are_hinted = self
            .numbers
            .iter()
            .all(|it| (start..start + words).contains(it));
        let count = if are_hinted && !self.numbers.is_empty() {
            words
        } else {
            count
        };
        let is_meant = hint.is_some() || self.has_all || self.has_place;
        // Claude Code replaces every number, so one that starts the count is meant.
        let counts = is_meant || rule == MarkRule::Dollars || (from_one && is_whole);
        // A hint that names each number leaves no doubt about which is the first.
        let is_sure = are_hinted && words == self.numbers.len();
        (counts && count > 0).then_some(Positions {
            first,
            count,
            why: (!is_sure).then_some(why),
        })
    }
}

/// True if a command of Claude Code with this text has numbers that stand for arguments.
pub(crate) fn has_number_marks(body: &str) -> bool {
    let found = ArgumentMarks::of(MarkRule::Dollars, body);
    let positions = found.positions(MarkRule::Dollars, None, Options::default());
    positions.is_some()
}

/// How values are appended to a text without marks.
fn appended(rule: MarkRule) -> Marks {
    Marks::Appended {
        form: appended_form(rule),
        is_implied: false,
    }
}

/// The form of what the clients with this rule append.
fn appended_form(rule: MarkRule) -> AppendedForm {
    match rule {
        MarkRule::Dollars | MarkRule::HintedDollars => AppendedForm::Labelled,
        _ => AppendedForm::Bare,
    }
}

#[derive(Debug, Clone, Copy)]
struct Positions {
    first: u8,
    count: usize,
    /// Why this is the first, unless that is plain.
    why: Option<&'static str>,
}

impl Positions {
    fn marks(self, rule: MarkRule) -> Marks {
        Marks::Dollar {
            first: self.first,
            is_greedy: rule == MarkRule::GreedyDollars,
        }
    }
}

/// Numbers, else `$ARGUMENTS`, else the names in a hint.
fn dollar(
    rule: MarkRule,
    found: &ArgumentMarks,
    hint: Option<&str>,
    options: Options,
    taken: &mut Taken,
) {
    let names = hint.map(tokens);
    let words = names.as_ref().map(Vec::len);
    if let Some(positions) = found.positions(rule, words, options) {
        let names = names.filter(|names| names.len() == positions.count);
        let names = names.unwrap_or_default();
        taken.arguments = (0..positions.count)
            .map(|at| match names.get(at) {
                Some((name, shown)) => argument(name, Some(shown)),
                None => argument(&format!("arg{}", at + 1), hint),
            })
            .collect();
        taken.marks = positions.marks(rule);
        let remark = positions.why.map(|why| {
            let first = positions.first;
            let message = format!("`${first}` is taken as the first argument: {why}");
            (ProblemCode::FirstArgument, Severity::Note, message)
        });
        taken.remarks.extend(remark);
    } else if found.has_all || hint.is_some() {
        taken.arguments = vec![argument(ALL, hint)];
        taken.marks = if found.has_all {
            Marks::Named
        } else {
            appended(rule)
        };
    }
}

/// The names in a hint such as `[pull request] <branch>`; empty if one of them is not a valid name.
fn tokens(hint: &str) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    let mut rest = hint;
    while let Some(start) = rest.find(['[', '<']) {
        let close = if rest[start..].starts_with('[') {
            ']'
        } else {
            '>'
        };
        let Some(end) = rest[start..].find(close) else {
            return Vec::new();
        };
        let shown = rest[start..start + end].trim_matches(['[', '<', ']', '>', ' ', '.']);
        rest = &rest[start + end + close.len_utf8()..];
        rest = rest.trim_start_matches([']', '>']);
        let name = slug(shown);
        let is_name = !shown.contains(['|', '=', ',']) && is_argument_name(&name);
        if !is_name || names.iter().any(|(known, _)| *known == name) {
            return Vec::new();
        }
        names.push((name, shown.to_owned()));
    }
    names
}

/// True if an argument may have this name.
pub(super) fn is_argument_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.starts_with(first) && name.len() <= NAME && name.chars().all(inner)
}

pub(super) fn argument(name: &str, description: Option<&str>) -> Argument {
    Argument {
        name: name.into(),
        description: description.map(Into::into),
        ..Argument::default()
    }
}

/// Every `${input:name}`, in the order of the text.
fn inputs(body: &str, limits: &Limits, taken: &mut Taken) {
    for (at, _) in body.match_indices("${input:") {
        let Some(found) = input(&body[at..]) else {
            continue;
        };
        // One more than the limit is enough to report it.
        let has_room = taken.arguments.len() <= limits.arguments;
        let known = taken
            .arguments
            .iter_mut()
            .find(|known| *known.name == *found.name);
        match known {
            Some(known) if known.description.is_none() => {
                known.description = found.placeholder.map(Into::into);
            }
            Some(_) => {}
            None if !has_room => {}
            None => taken
                .arguments
                .push(argument(&found.name, found.placeholder)),
        }
    }
    taken.marks = Marks::Inputs;
}
