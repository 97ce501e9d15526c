//! minijinja, set up once for plain templates and once for computed ones.

mod failure;
mod metered;
mod scope;
mod undeclared;
mod unknown;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, tests as checks};

pub use self::failure::EngineError;
pub(crate) use self::failure::TemplateLines;
pub(crate) use self::undeclared::Undeclared;
pub(crate) use self::unknown::Unknown;
use super::values::{self, TemplateValues};

/// Resolves a reference in a template: `(parent, written name)` to the name of the template.
pub(crate) type Links = BTreeMap<(String, String), String>;

/// Steps that one render may take.
const FUEL: u64 = 200_000;

/// Frames that may be on a plain template's stack; an include counts ten.
const PLAIN_RECURSION: usize = 150;

static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(plain_environment);
static COMPUTED: LazyLock<Environment<'static>> = LazyLock::new(computed_environment);

/// How many bytes of text a prompt may still have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct TextRoom {
    left: usize,
    limit: usize,
}

impl TextRoom {
    /// The whole limit.
    pub(crate) fn new(limit: usize) -> Self {
        Self { left: limit, limit }
    }

    /// Subtracts bytes.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// A minijinja environment with a few templates in it; a clone has the same ones.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    environment: Environment<'static>,
}

impl Engine {
    /// An engine without anything that multiplies.
    pub(crate) fn plain(sources: &[(&str, &str)], links: Links) -> Result<Self, EngineError> {
        Self::build(PLAIN.clone(), sources, links)
    }

    /// An engine with everything, for a process that can be killed.
    pub(crate) fn computed(sources: &[(&str, &str)], links: Links) -> Result<Self, EngineError> {
        Self::build(COMPUTED.clone(), sources, links)
    }

    /// The same engine with further templates; those that it already has are not compiled again.
    pub(crate) fn with(&self, sources: &[(&str, &str)], links: Links) -> Result<Self, EngineError> {
        Self::build(self.environment.clone(), sources, links)
    }

    fn build(
        mut environment: Environment<'static>,
        sources: &[(&str, &str)],
        links: Links,
    ) -> Result<Self, EngineError> {
        let mut by_parent: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for ((parent, name), target) in links {
            by_parent.entry(parent).or_default().insert(name, target);
        }
        environment.set_path_join_callback(move |name, parent| {
            match by_parent.get(parent).and_then(|links| links.get(name)) {
                Some(target) => Cow::Owned(target.clone()),
                None => Cow::Borrowed(name),
            }
        });
        let limit = environment.recursion_limit();
        for (name, source) in sources {
            if environment.get_template(name).is_ok() {
                continue;
            }
            environment
                .add_template_owned((*name).to_owned(), (*source).to_owned())
                .map_err(|error| {
                    EngineError::from_error(&error, limit, |_| Some((*source).to_owned()))
                })?;
        }
        Ok(Self { environment })
    }

    /// Renders one of the templates; output past `room` bytes is a limit failure.
    pub(crate) fn render(
        &self,
        main: &str,
        values: &TemplateValues<'_>,
        room: TextRoom,
    ) -> Result<String, EngineError> {
        let limit = self.environment.recursion_limit();
        let failure = |error: &minijinja::Error| {
            EngineError::from_error(error, limit, |name| self.source(name))
        };
        let template = self
            .environment
            .get_template(main)
            .map_err(|error| failure(&error))?;
        let expected = template.source().len() + values.len();
        let mut output = Bounded {
            bytes: Vec::with_capacity(expected.min(room.left)),
            room: room.left,
            is_full: false,
        };
        let rendered = template.render_captured_to(values.to_context(), &mut output);
        if output.is_full {
            return Err(EngineError::limit(format!(
                "the rendered prompt exceeds the limit of {} bytes",
                room.limit
            )));
        }
        match rendered {
            Ok(_) => String::from_utf8(output.bytes)
                .map_err(|_| EngineError::limit("the rendered prompt is not UTF-8")),
            Err(error) => Err(failure(&error)),
        }
    }

    fn source(&self, name: &str) -> Option<String> {
        let template = self.environment.get_template(name).ok()?;
        Some(template.source().to_owned())
    }
}

/// A buffer with a limit.
struct Bounded {
    bytes: Vec<u8>,
    room: usize,
    is_full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.room - self.bytes.len() {
            self.is_full = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Only what a plain template may use: one that was classified wrongly fails instead of running.
fn plain_environment() -> Environment<'static> {
    let mut environment = Environment::empty();
    metered::add_filters(&mut environment);
    environment.add_test("none", checks::is_none);
    environment.add_test("string", checks::is_string);
    environment.add_test("number", checks::is_number);
    environment.add_test("integer", checks::is_integer);
    environment.add_test("int", checks::is_integer);
    environment.add_test("float", checks::is_float);
    environment.add_test("boolean", checks::is_boolean);
    environment.add_test("true", checks::is_true);
    environment.add_test("false", checks::is_false);
    environment.add_test("mapping", checks::is_mapping);
    environment.add_test("sequence", checks::is_sequence);
    environment.add_test("iterable", checks::is_iterable);
    environment.set_recursion_limit(PLAIN_RECURSION);
    set_up(&mut environment);
    environment
}

fn computed_environment() -> Environment<'static> {
    let mut environment = Environment::new();
    // It prints the internals of the engine, which no prompt needs.
    environment.remove_global("debug");
    // Known from Jinja2: the rest of its text filters, and Python's methods.
    environment.add_filter("filesizeformat", minijinja_contrib::filters::filesizeformat);
    environment.add_filter("striptags", minijinja_contrib::filters::striptags);
    environment.add_filter("truncate", minijinja_contrib::filters::truncate);
    environment.add_filter("wordcount", minijinja_contrib::filters::wordcount);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    set_up(&mut environment);
    environment
}

/// Settings of both engines.
fn set_up(environment: &mut Environment<'static>) {
    environment.add_filter("default", values::default);
    environment.add_filter("d", values::default);
    environment.add_test("defined", values::is_defined);
    environment.add_test("undefined", values::is_undefined);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    // Costs nothing until something is undefined; then the error has its name.
    environment.set_debug(true);
    // Standard delimiters cannot clash; were they refused, tests of line ends would fail.
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
}

#[cfg(test)]
mod tests;
