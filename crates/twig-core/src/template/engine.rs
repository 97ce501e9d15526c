//! minijinja, set up once for plain templates and once for computed ones.

use std::collections::BTreeMap;
use std::ops::Range;

use minijinja::Environment;

use super::values::Values;

/// Which template a reference in another one means: `(parent, written name)` to its own name.
pub(crate) type Links = BTreeMap<(String, String), String>;

/// Why a template could not be compiled or rendered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Failure {
    /// The template it happened in (`library:path`), empty where that is unknown.
    pub template: String,
    /// Whether it is the template that was asked for, not one it includes.
    pub in_main: bool,
    /// The line in that template, from 1.
    pub line: Option<u32>,
    /// The bytes in that template's source.
    pub range: Option<Range<usize>>,
    /// What happened, such as `undefined variable 'x'`.
    pub message: String,
    /// Whether a limit ended it, not a mistake.
    pub is_limit: bool,
    /// The variable that is not defined, where that is what happened.
    pub undefined: Option<String>,
}

impl Failure {
    /// A limit was reached.
    pub fn limit(message: impl Into<String>) -> Self {
        Self {
            template: String::new(),
            in_main: true,
            line: None,
            range: None,
            message: message.into(),
            is_limit: true,
            undefined: None,
        }
    }

    /// The sentence that a client sees.
    pub fn sentence(&self) -> String {
        if self.is_limit {
            return self.message.clone();
        }
        match (self.line, self.in_main) {
            (Some(line), true) => {
                format!(
                    "Error rendering prompt template at line {line}: {}",
                    self.message
                )
            }
            (Some(line), false) => format!(
                "Error rendering prompt template at line {line} of {}: {}",
                self.template, self.message
            ),
            (None, _) => format!("Error rendering prompt template: {}", self.message),
        }
    }
}

/// A minijinja environment with a few templates in it.
#[derive(Debug)]
pub(crate) struct Engine {
    environment: Environment<'static>,
}

impl Engine {
    /// An engine that knows nothing that multiplies.
    pub(crate) fn plain(sources: &[(&str, &str)], links: Links) -> Result<Self, Failure> {
        Self::build(Environment::new(), sources, links)
    }

    /// An engine with everything, for a process that can be killed.
    pub(crate) fn computed(sources: &[(&str, &str)], links: Links) -> Result<Self, Failure> {
        Self::build(Environment::new(), sources, links)
    }

    fn build(
        environment: Environment<'static>,
        _sources: &[(&str, &str)],
        _links: Links,
    ) -> Result<Self, Failure> {
        Ok(Self { environment })
    }

    /// Renders one of the templates; output past `room` bytes is a limit failure.
    pub(crate) fn render(
        &self,
        main: &str,
        values: &Values,
        room: usize,
    ) -> Result<String, Failure> {
        let _ = (main, values, room, &self.environment);
        Err(Failure::limit("not there yet"))
    }
}
