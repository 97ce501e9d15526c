//! Finds filters, tests and functions that the engine does not have, before a render fails on them.

use crate::problem::ProblemCode;
use std::collections::HashSet;
use std::ops::Range;

use minijinja::Value;

use super::failure::{FILTERS, FUNCTIONS, TESTS, absent};
use super::methods::{CHANGES, cannot_change};
use super::undeclared::Undeclared;
use super::{COMPUTED, Engine};
use crate::suggest::did_you_mean;
use crate::template::scan::names::{NameEvent, names};
use crate::template::scan::{TemplateToken, TokenKind, Tokens};

/// What is wrong with a call of `resource` that is not replaced by its document before a render.
pub(super) const COMPUTED_URI: &str = "`resource` needs a URI that is one quoted text";

/// A filter, test or function that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// The problem's code.
    pub(crate) code: ProblemCode,
    /// The template that uses it.
    pub(crate) template: String,
    /// The first place where it is used.
    pub(crate) range: Range<usize>,
    /// The message, in the words of a render.
    pub(crate) message: String,
    /// What was likely meant.
    pub(crate) help: Option<String>,
}

impl Engine {
    /// Unknown filters and tests, each where a template first uses it.
    pub(crate) fn unknown(&self) -> Vec<Unknown> {
        let mut unknown = Vec::new();
        for (template, compiled) in self.environment.templates() {
            let mut seen = HashSet::new();
            let source = self.written(template, compiled.source());
            unknown.extend(changes(template, source));
            for event in names(source) {
                let (what, name, range) = match event {
                    NameEvent::Filter(name, range) => (EngineItem::Filter, name, range),
                    NameEvent::Test(name, range) => (EngineItem::Test, name, range),
                    _ => continue,
                };
                if !seen.insert((what, name.clone())) || what.exists(&name) {
                    continue;
                }
                unknown.push(what.unknown(template, &name, range));
            }
        }
        unknown.sort_by(|a, b| (&a.template, a.range.start).cmp(&(&b.template, b.range.start)));
        unknown
    }
}

impl Undeclared {
    /// The function that it was meant to be; `None` if it is used like a variable.
    pub(crate) fn as_function(&self) -> Option<Unknown> {
        let (message, help) = if self.name == "resource" {
            let help = "write {{ resource('scheme://name') }}; a template cannot compute the URI";
            (COMPUTED_URI.to_owned(), help.to_owned())
        } else {
            let help = absent(&self.name).or_else(|| did_you_mean(&self.name, FUNCTIONS));
            let help = help.unwrap_or_else(|| "define it with `{% macro %}`, or import it".into());
            (format!("unknown function `{}`", self.name), help)
        };
        self.is_called.then(|| Unknown {
            code: ProblemCode::UnknownFunction,
            template: self.template.clone(),
            range: self.range.clone(),
            message,
            help: Some(help),
        })
    }
}

/// Calls of methods that would change a list or a map, each at its place.
fn changes(template: &str, source: &str) -> Vec<Unknown> {
    if !CHANGES.iter().any(|method| source.contains(method)) {
        return Vec::new();
    }
    let tokens: Vec<TemplateToken<'_>> = Tokens::new(source).collect();
    // The macros of an imported template may have any name.
    let modules: Vec<TokenKind<'_>> = tokens
        .split(|token| matches!(token.kind, TokenKind::Open(_)))
        .filter(|tag| tag.first().map(|token| token.kind) == Some(TokenKind::Name("import")))
        .filter_map(|tag| {
            let at = tag
                .iter()
                .position(|token| token.kind == TokenKind::Name("as"))?;
            Some(tag.get(at + 1)?.kind)
        })
        .collect();
    let mut found: Vec<Unknown> = Vec::new();
    for four in tokens.windows(4) {
        let [value, dot, method, bracket] = four else {
            continue;
        };
        let TokenKind::Name(name) = method.kind else {
            continue;
        };
        if dot.kind == TokenKind::Sign(".")
            && bracket.kind == TokenKind::Sign("(")
            && CHANGES.contains(&name)
            && !modules.contains(&value.kind)
        {
            found.push(Unknown {
                code: ProblemCode::UnknownMethod,
                template: template.to_owned(),
                range: method.range.clone(),
                message: cannot_change(name),
                help: None,
            });
        }
    }
    found
}

/// Something that the engine knows by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum EngineItem {
    Filter,
    Test,
}

impl EngineItem {
    /// Whether the engine has it. One that only computed templates have makes a template computed.
    fn exists(self, name: &str) -> bool {
        let test = match self {
            Self::Filter => "filter",
            Self::Test => "test",
        };
        let mut state = COMPUTED.empty_state();
        // Both tests are built into the engine.
        state
            .perform_test(test, &[Value::from(name)])
            .unwrap_or(true)
    }

    fn unknown(self, template: &str, name: &str, range: Range<usize>) -> Unknown {
        let (code, word, known) = match self {
            Self::Filter => (ProblemCode::UnknownFilter, "filter", &FILTERS[..]),
            Self::Test => (ProblemCode::UnknownTest, "test", &TESTS[..]),
        };
        Unknown {
            code,
            template: template.to_owned(),
            range,
            message: format!("unknown {word} `{name}`"),
            help: absent(name).or_else(|| did_you_mean(name, known.iter().copied())),
        }
    }
}
