//! Variables that a template uses but does not declare.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::Engine;
use super::scope::free;
use crate::template::scan::names::{Manner, NameEvent, names};
use crate::template::scan::{TagKind, TemplateToken, TokenKind, Tokens};

/// A variable that is neither set in the templates nor part of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undeclared {
    /// The template that uses it.
    pub(crate) template: String,
    /// Its name.
    pub(crate) name: String,
    /// The first place where it is used.
    pub(crate) range: Range<usize>,
    /// True if it is called there, like a function.
    pub(crate) is_called: bool,
}

impl Engine {
    /// Every name that a template looks up outside itself, however it is used there.
    pub(crate) fn used(&self) -> Vec<String> {
        let mut used = BTreeSet::new();
        for (name, template) in self.environment.templates() {
            used.extend(template.undeclared_variables(false));
            // minijinja misses a few places, such as a sliced value.
            let events = names(self.written(name, template.source()));
            used.extend(free(&events).map(|found| found.name.to_owned()));
        }
        used.into_iter().collect()
    }

    /// The variables that have to come from outside. The caller subtracts the declared arguments.
    ///
    /// A name that is only used under `default`, or tested with `is defined` anywhere, does not
    /// fail a render and is omitted. So is one that another template of the bundle sets.
    pub(crate) fn undeclared(&self) -> Vec<Undeclared> {
        let mut known: HashSet<&str> = self.environment.globals().map(|(name, _)| name).collect();
        let mut templates: Vec<_> = self.environment.templates().collect();
        templates.sort_by(|a, b| a.0.cmp(b.0));
        let events: Vec<Vec<NameEvent<'_>>> = templates
            .iter()
            .map(|(name, template)| names(self.written(name, template.source())))
            .collect();
        let mut setters: HashMap<&str, Setters> = HashMap::new();
        for (at, event) in events
            .iter()
            .enumerate()
            .flat_map(|(at, events)| events.iter().map(move |event| (at, event)))
        {
            match event {
                NameEvent::Bind(name, _) => {
                    let setters = setters.entry(name).or_insert(Setters::One(at));
                    if *setters != Setters::One(at) {
                        *setters = Setters::Several;
                    }
                }
                NameEvent::Use(found) if found.how == Manner::Tested => {
                    known.insert(found.name);
                }
                _ => {}
            }
        }
        let mut undeclared = Vec::new();
        for (at, (template, _)) in templates.iter().enumerate() {
            let mut seen = HashSet::new();
            for found in free(&events[at]) {
                let set_elsewhere = setters
                    .get(found.name)
                    .is_some_and(|setters| *setters != Setters::One(at));
                if found.how == Manner::Defaulted
                    || known.contains(found.name)
                    || is_special(found.name)
                    || set_elsewhere
                    || !seen.insert(found.name)
                {
                    continue;
                }
                undeclared.push(Undeclared {
                    template: (*template).to_owned(),
                    name: found.name.to_owned(),
                    range: found.range.clone(),
                    is_called: found.how == Manner::Called,
                });
            }
        }
        undeclared.sort_by(|a, b| (&a.template, a.range.start).cmp(&(&b.template, b.range.start)));
        undeclared
    }
}

/// Which templates of a bundle give a name a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setters {
    One(usize),
    Several,
}

#[cfg(test)]
impl Engine {
    /// The names that minijinja itself considers variables of a template.
    pub(crate) fn names(&self, template: &str) -> Vec<String> {
        let template = self
            .environment
            .get_template(template)
            .expect("it is there");
        template.undeclared_variables(false).into_iter().collect()
    }
}

fn is_special(name: &str) -> bool {
    matches!(
        name,
        "loop" | "self" | "super" | "caller" | "varargs" | "kwargs"
    )
}

/// Where a name such as `x` or `x.y` is used, in a range or on a line.
pub(super) fn place_of(
    source: &str,
    name: &str,
    within: Option<&Range<usize>>,
    line: Option<u32>,
) -> Option<Range<usize>> {
    let first = name.split(['.', '[']).next()?;
    let within = match within {
        Some(within) => within.clone(),
        None => line_range(source, line?)?,
    };
    let tokens: Vec<TemplateToken<'_>> = Tokens::new(source).collect();
    let at = (0..tokens.len()).find(|at| {
        let range = &tokens[*at].range;
        within.start <= range.start && range.end <= within.end && is_variable(&tokens, *at, first)
    })?;
    let start = tokens[at].range.start;
    let whole = start..start + name.len();
    // A name with its attributes is shown whole if it is written without gaps.
    match source.get(whole.clone()) {
        Some(text) if text == name => Some(whole),
        _ => Some(tokens[at].range.clone()),
    }
}

fn line_range(source: &str, line: u32) -> Option<Range<usize>> {
    let before: usize = source
        .split_inclusive('\n')
        .take(line.checked_sub(1)? as usize)
        .map(str::len)
        .sum();
    let length = source[before..].find('\n');
    Some(before..length.map_or(source.len(), |length| before + length))
}

/// Whether a token is this variable, not an attribute, a filter, a test or a keyword argument.
fn is_variable(tokens: &[TemplateToken<'_>], at: usize, name: &str) -> bool {
    if tokens[at].kind != TokenKind::Name(name) {
        return false;
    }
    let before = at.checked_sub(1).map(|before| tokens[before].kind);
    let twice_before = at.checked_sub(2).map(|before| tokens[before].kind);
    let after = tokens.get(at + 1).map(|token| token.kind);
    let is_test = before == Some(TokenKind::Name("is"))
        || (before == Some(TokenKind::Name("not")) && twice_before == Some(TokenKind::Name("is")));
    !is_test
        && !matches!(
            before,
            Some(TokenKind::Sign("." | "|") | TokenKind::Open(TagKind::Block))
        )
        && after != Some(TokenKind::Sign("="))
}
