//! minijinja, set up once for plain templates and once for computed ones.

mod counters;
mod failure;
mod metered;
mod methods;
mod operands;
mod parameters;
mod printf;
mod scope;
mod text_filters;
mod undeclared;
mod unknown;
mod word_wrap;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, LazyLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, tests as checks};

pub use self::failure::EngineError;
pub(crate) use self::failure::TemplateLines;
use self::operands::Rewritten;
pub(crate) use self::operands::misordered;
pub(crate) use self::parameters::Parameters;
pub(crate) use self::undeclared::Undeclared;
pub(crate) use self::unknown::Unknown;
use super::values::{self, TemplateValues};
use crate::json_text::{self, EscapedText};

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
    /// The templates whose text differs from what their author wrote.
    rewritten: Arc<HashMap<String, Rewritten>>,
}

impl Engine {
    /// An engine without anything that multiplies.
    pub(crate) fn plain(sources: &[(&str, &str)], links: Links) -> Result<Self, EngineError> {
        Self::build(PLAIN.clone(), Arc::default(), sources, links)
    }

    /// An engine with everything, for a process that can be killed.
    pub(crate) fn computed(sources: &[(&str, &str)], links: Links) -> Result<Self, EngineError> {
        Self::build_computed(COMPUTED.clone(), Arc::default(), sources, links)
    }

    /// The same engine with further templates; those that it already has are not compiled again.
    pub(crate) fn with(&self, sources: &[(&str, &str)], links: Links) -> Result<Self, EngineError> {
        let environment = self.environment.clone();
        let rewritten = Arc::clone(&self.rewritten);
        if environment.recursion_limit() == PLAIN_RECURSION {
            return Self::build(environment, rewritten, sources, links);
        }
        Self::build_computed(environment, rewritten, sources, links)
    }

    /// Builds with what the engine itself cannot do.
    fn build_computed(
        mut environment: Environment<'static>,
        mut rewritten: Arc<HashMap<String, Rewritten>>,
        sources: &[(&str, &str)],
        links: Links,
    ) -> Result<Self, EngineError> {
        let escapes = |(_, source): &(&str, &str)| source.contains("autoescape");
        if sources.iter().any(escapes) {
            text_filters::escape_like_jinja(&mut environment);
        }
        let mut changed = operands::with_formatting(sources);
        if changed.is_empty() {
            return Self::build(environment, rewritten, sources, links);
        }
        let mut texts: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(sources.len());
        for (name, source) in sources {
            let text = match changed.remove(*name) {
                Some((edits, text)) => {
                    Arc::make_mut(&mut rewritten).insert((*name).to_owned(), edits);
                    Cow::Owned(text)
                }
                None => Cow::Borrowed(*source),
            };
            texts.push((name, text));
        }
        let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
        Self::build(environment, rewritten, &texts, links)
    }

    fn build(
        mut environment: Environment<'static>,
        rewritten: Arc<HashMap<String, Rewritten>>,
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
                    let written = rewritten.get(*name).cloned();
                    let written = written.unwrap_or_else(|| Rewritten::unchanged(source));
                    EngineError::from_error(&error, limit, |_| Some(written))
                })?;
        }
        Ok(Self {
            environment,
            rewritten,
        })
    }

    /// Renders one of the templates; output past `room` bytes is a limit failure.
    pub(crate) fn render(
        &self,
        main: &str,
        values: &TemplateValues<'_>,
        room: TextRoom,
    ) -> Result<String, EngineError> {
        let output = self.render_as(TemplateOutput::Text, main, values, room)?;
        String::from_utf8(output.bytes)
            .map_err(|_| EngineError::limit("the rendered prompt is not UTF-8"))
    }

    /// Renders one of the templates as the inside of a JSON string; `escaped` is its source. Returns
    /// the length of the text itself, too.
    pub(crate) fn render_escaped(
        &self,
        main: &str,
        escaped: Option<&EscapedText>,
        values: &TemplateValues<'_>,
        room: TextRoom,
    ) -> Result<(Vec<u8>, usize), EngineError> {
        let form = TemplateOutput::Escaped {
            source: escaped,
            address: 0,
            cursor: 0,
        };
        let output = self.render_as(form, main, values, room)?;
        Ok((output.bytes, output.length))
    }

    fn render_as<'s>(
        &self,
        mut form: TemplateOutput<'s>,
        main: &str,
        values: &TemplateValues<'_>,
        room: TextRoom,
    ) -> Result<Bounded<'s>, EngineError> {
        let limit = self.environment.recursion_limit();
        let failure = |error: &minijinja::Error| {
            EngineError::from_error(error, limit, |name| self.source(name))
        };
        let template = self
            .environment
            .get_template(main)
            .map_err(|error| failure(&error))?;
        let mut expected = template.source().len() + values.len();
        if let TemplateOutput::Escaped { address, .. } = &mut form {
            *address = template.source().as_ptr().addr();
            expected += expected / 8;
        }
        let mut output = Bounded {
            bytes: Vec::with_capacity(expected.min(room.left)),
            length: 0,
            room: room.left,
            is_full: false,
            form,
        };
        let rendered = template.render_captured_to(values.to_context(), &mut output);
        if output.is_full {
            return Err(EngineError::limit(format!(
                "the rendered prompt exceeds the limit of {} bytes",
                room.limit
            )));
        }
        match rendered {
            Ok(_) => Ok(output),
            Err(error) => Err(failure(&error)),
        }
    }

    fn source(&self, name: &str) -> Option<Rewritten> {
        if let Some(rewritten) = self.rewritten.get(name) {
            return Some(rewritten.clone());
        }
        let template = self.environment.get_template(name).ok()?;
        Some(Rewritten::unchanged(template.source()))
    }

    /// The text of a template as its author wrote it.
    fn written<'e>(&'e self, name: &str, compiled: &'e str) -> &'e str {
        let rewritten = self.rewritten.get(name);
        rewritten.map_or(compiled, |rewritten| &rewritten.original)
    }
}

/// A buffer with a limit.
struct Bounded<'s> {
    bytes: Vec<u8>,
    /// Bytes of text, which are fewer than those of its escaped form.
    length: usize,
    room: usize,
    is_full: bool,
    form: TemplateOutput<'s>,
}

/// What is written to a buffer.
enum TemplateOutput<'s> {
    Text,
    /// The inside of a JSON string.
    Escaped {
        /// The source of the main template.
        source: Option<&'s EscapedText>,
        /// Where the source is in memory: most of the output is parts of it, which need not be
        /// escaped again.
        address: usize,
        cursor: usize,
    },
}

impl io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.room - self.length {
            self.is_full = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.length += bytes.len();
        match &mut self.form {
            TemplateOutput::Text => self.bytes.extend_from_slice(bytes),
            TemplateOutput::Escaped {
                source,
                address,
                cursor,
            } => {
                let start = bytes.as_ptr().addr().checked_sub(*address);
                let part = source.zip(start);
                match part.and_then(|(source, start)| source.part(start, bytes.len(), cursor)) {
                    Some(part) => self.bytes.extend_from_slice(part),
                    None => json_text::escape_bytes(&mut self.bytes, bytes),
                }
            }
        }
        Ok(())
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
    // Most values are texts, which need no formatting.
    environment.set_formatter(|output, state, value| match value.as_str() {
        Some(text) if matches!(state.auto_escape(), AutoEscape::None) => {
            output.write_str(text).map_err(minijinja::Error::from)
        }
        _ => minijinja::escape_formatter(output, state, value),
    });
    set_up(&mut environment);
    environment
}

fn computed_environment() -> Environment<'static> {
    let mut environment = Environment::new();
    // It prints the internals of the engine, which no prompt needs.
    environment.remove_global("debug");
    // Known from Jinja2: the rest of its filters and functions, and Python's methods.
    environment.add_filter("filesizeformat", minijinja_contrib::filters::filesizeformat);
    environment.add_filter("striptags", minijinja_contrib::filters::striptags);
    environment.add_filter("wordcount", minijinja_contrib::filters::wordcount);
    text_filters::add(&mut environment);
    counters::add(&mut environment);
    environment.set_unknown_method_callback(methods::call);
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
    environment.set_syntax(syntax());
}

/// How templates are written: as everywhere, but the line end at the end of a file stays.
fn syntax() -> SyntaxConfig {
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    // Standard delimiters cannot clash; were they refused, tests of line ends would fail.
    syntax.unwrap_or_default()
}

#[cfg(test)]
mod tests;
