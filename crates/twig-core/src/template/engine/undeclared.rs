//! Variables that a template uses although nobody declares them.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Engine;
use crate::template::scan::{Kind, Tag, Token, Tokens};

/// A variable that is neither set in the templates nor part of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undeclared {
    /// The template that uses it.
    pub(crate) template: String,
    /// Its name.
    pub(crate) name: String,
    /// The first place where it is used.
    pub(crate) range: Range<usize>,
}

impl Engine {
    /// Every name that a template looks up outside itself, however it is used there.
    pub(crate) fn used(&self) -> Vec<String> {
        let names: BTreeSet<String> = self
            .environment
            .templates()
            .flat_map(|(_, template)| template.undeclared_variables(false))
            .collect();
        names.into_iter().collect()
    }

    /// The variables that have to come from outside: whoever knows the arguments takes those off.
    ///
    /// A name that is only used under `default`, or tested with `is defined` anywhere, does not
    /// trip a render and is left out. So is one that another template of the bundle sets.
    pub(crate) fn undeclared(&self) -> Vec<Undeclared> {
        let globals: BTreeSet<String> = self
            .environment
            .globals()
            .map(|(name, _)| name.to_owned())
            .collect();
        let mut templates: Vec<_> = self.environment.templates().collect();
        templates.sort_by(|a, b| a.0.cmp(b.0));
        let set: Vec<BTreeSet<String>> = templates
            .iter()
            .map(|(_, template)| names_set(template.source()))
            .collect();
        let mut found = Vec::new();
        for (at, (template, compiled)) in templates.iter().enumerate() {
            let set_elsewhere = |name: &str| {
                let others = set.iter().enumerate().filter(|(other, _)| *other != at);
                others.into_iter().any(|(_, names)| names.contains(name))
            };
            let mut names: Vec<String> = compiled.undeclared_variables(false).into_iter().collect();
            names.sort();
            for name in names {
                if globals.contains(&name) || is_special(&name) || set_elsewhere(&name) {
                    continue;
                }
                if let Some(range) = first_use(compiled.source(), &name) {
                    found.push(Undeclared {
                        template: (*template).to_owned(),
                        name,
                        range,
                    });
                }
            }
        }
        found.sort_by(|a, b| (&a.template, a.range.start).cmp(&(&b.template, b.range.start)));
        found
    }
}

#[cfg(test)]
impl Engine {
    /// What minijinja itself takes for variables of a template.
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
    let tokens: Vec<Token<'_>> = Tokens::new(source).collect();
    let at = (0..tokens.len()).find(|at| {
        let range = &tokens[*at].range;
        within.start <= range.start && range.end <= within.end && is_variable(&tokens, *at, first)
    })?;
    let start = tokens[at].range.start;
    let whole = start..start + name.len();
    // A name with its attributes is shown whole where it is written without gaps.
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

/// The first place where a name is used in a way that can fail.
fn first_use(source: &str, name: &str) -> Option<Range<usize>> {
    let tokens: Vec<Token<'_>> = Tokens::new(source).collect();
    let mut first = None;
    for at in 0..tokens.len() {
        if !is_variable(&tokens, at, name) {
            continue;
        }
        let kind = |step: usize| tokens.get(at + step).map(|token| token.kind);
        let test = if kind(2) == Some(Kind::Name("not")) {
            3
        } else {
            2
        };
        match kind(1) {
            Some(Kind::Name("is"))
                if matches!(kind(test), Some(Kind::Name("defined" | "undefined"))) =>
            {
                return None;
            }
            Some(Kind::Sign("|")) if matches!(kind(2), Some(Kind::Name("default" | "d"))) => {}
            _ => first = first.or(Some(tokens[at].range.clone())),
        }
    }
    first
}

/// Whether a token is this variable, not an attribute, a filter, a test or a keyword argument.
fn is_variable(tokens: &[Token<'_>], at: usize, name: &str) -> bool {
    if tokens[at].kind != Kind::Name(name) {
        return false;
    }
    let before = at.checked_sub(1).map(|before| tokens[before].kind);
    let twice_before = at.checked_sub(2).map(|before| tokens[before].kind);
    let after = tokens.get(at + 1).map(|token| token.kind);
    let is_test = before == Some(Kind::Name("is"))
        || (before == Some(Kind::Name("not")) && twice_before == Some(Kind::Name("is")));
    !is_test
        && !matches!(before, Some(Kind::Sign("." | "|") | Kind::Open(Tag::Block)))
        && after != Some(Kind::Sign("="))
}

/// Every name that a source gives a value to, wherever that holds.
fn names_set(source: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut keyword = None;
    let mut tokens = Tokens::new(source).peekable();
    while let Some(token) = tokens.next() {
        let next = tokens.peek().map(|token| token.kind);
        match (token.kind, keyword) {
            (Kind::Open(Tag::Block), _) => {
                if let Some(Kind::Name(word)) = next {
                    keyword = Some(word);
                    tokens.next();
                }
            }
            (Kind::Close, _)
            | (Kind::Sign("="), Some("set"))
            | (Kind::Name("in"), Some("for"))
            | (Kind::Sign("("), Some("macro")) => keyword = None,
            (Kind::Name("import" | "as"), Some("from" | "import")) => keyword = Some("set"),
            (Kind::Name(name), Some("set" | "for" | "macro")) => {
                names.insert(name.to_owned());
            }
            (Kind::Name(name), Some("with")) if next == Some(Kind::Sign("=")) => {
                names.insert(name.to_owned());
            }
            _ => {}
        }
    }
    names
}
