//! Finds filters, tests and functions that the engine does not have, before a render fails on them.

use crate::problem::ProblemCode;
use std::collections::HashSet;
use std::ops::Range;

use minijinja::Value;

use super::failure::{FILTERS, FUNCTIONS, TESTS};
use super::undeclared::Undeclared;
use super::{COMPUTED, Engine};
use crate::suggest::did_you_mean;
use crate::template::scan::names::{NameEvent, names};

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
            for event in names(compiled.source()) {
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
        self.is_called.then(|| Unknown {
            code: ProblemCode::UnknownFunction,
            template: self.template.clone(),
            range: self.range.clone(),
            message: format!("unknown function `{}`", self.name),
            help: did_you_mean(&self.name, FUNCTIONS)
                .or_else(|| Some("define it with `{% macro %}`, or import it".to_owned())),
        })
    }
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
            help: did_you_mean(name, known.iter().copied()),
        }
    }
}
