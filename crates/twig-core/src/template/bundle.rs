//! A template together with everything it includes, extends and imports, compiled and classified.

mod documents;
mod gather;
mod includers;
mod printing;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use self::documents::Embed;
use self::gather::gather;
pub(crate) use self::gather::{Closure, PromptSources};
pub use self::includers::includers;
pub use self::printing::{Printing, printing};
use super::TemplateFiles;
use super::engine::{
    Engine, EngineError, Links, TemplateLines, TextRoom, Undeclared, Unknown, misordered,
};
use super::scan::Sort;
use super::values::TemplateValues;
use crate::body::{BodyError, FileRole, Stamp};
use crate::hidden::{self, TextPlace};
use crate::json_text::EscapedText;
use crate::limits::PROBLEMS;
use crate::model::{Content, Library};
use crate::name::RelativePath;
use crate::problem::{Problem, ProblemCode, Severity};
use crate::render_error::{RenderError, body_error};

/// A template and everything it refers to, compiled and classified.
#[derive(Debug)]
pub struct Bundle {
    main: String,
    /// How the main template's lines map to its file.
    pub(crate) lines: TemplateLines,
    content: Compiled,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) has_references: bool,
    /// Documents whose text is passed to the template like the arguments.
    pub(crate) documents: Vec<Embed>,
    pub(crate) weight: usize,
    /// The name of each source and the bytes it counts as.
    pub(crate) sizes: Vec<(Box<str>, usize)>,
}

#[derive(Debug)]
enum Compiled {
    /// With the text of the main template, if it can be escaped once.
    Plain(Box<Engine>, Option<EscapedText>),
    Computed {
        sources: Vec<Source>,
        links: Links,
    },
}

/// One file (or manifest text) of a bundle.
#[derive(Debug, Clone)]
pub struct Source {
    /// `library:path`, unique in the bundle.
    pub name: String,
    /// The template's text.
    pub text: Arc<str>,
    library: Arc<Library>,
    /// The file it came from; `None` for text in the manifest.
    path: Option<RelativePath>,
    has_mark: bool,
    lines: TemplateLines,
    /// Whether columns are those of the file.
    has_columns: bool,
}

/// A file whose change makes the bundle stale; `None` for one that must stay absent.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub(crate) library: Arc<Library>,
    pub(crate) path: RelativePath,
    pub(crate) stamp: Option<Stamp>,
}

/// Why a bundle could not be made.
#[derive(Debug)]
pub(crate) enum BundleError {
    /// A file cannot be read.
    Body {
        library: Arc<Library>,
        path: RelativePath,
        error: BodyError,
    },
    /// A template is wrong.
    Template {
        source: Box<Source>,
        code: ProblemCode,
        failure: Box<EngineError>,
        help: Option<String>,
    },
}

impl Bundle {
    /// True if it renders on the calling thread.
    pub fn is_plain(&self) -> bool {
        matches!(self.content, Compiled::Plain(..))
    }

    /// The name of the template to start with.
    pub(crate) fn main(&self) -> &str {
        &self.main
    }

    pub(crate) fn sources(&self) -> &[Source] {
        match &self.content {
            Compiled::Plain(..) => &[],
            Compiled::Computed { sources, .. } => sources,
        }
    }

    pub(crate) fn links(&self) -> &Links {
        static NONE: Links = BTreeMap::new();
        match &self.content {
            Compiled::Plain(..) => &NONE,
            Compiled::Computed { links, .. } => links,
        }
    }

    /// Renders a plain bundle.
    pub(crate) fn render(
        &self,
        values: &TemplateValues<'_>,
        room: TextRoom,
    ) -> Result<String, EngineError> {
        let (engine, _) = self.plain()?;
        engine
            .render(&self.main, values, room)
            .map_err(|failure| failure.seen_from(&self.main, self.lines))
    }

    /// Renders a plain bundle as the inside of a JSON string; returns the length of the text itself,
    /// too.
    pub(crate) fn render_escaped(
        &self,
        values: &TemplateValues<'_>,
        room: TextRoom,
    ) -> Result<(Vec<u8>, usize), EngineError> {
        let (engine, escaped) = self.plain()?;
        engine
            .render_escaped(&self.main, escaped, values, room)
            .map_err(|failure| failure.seen_from(&self.main, self.lines))
    }

    fn plain(&self) -> Result<(&Engine, Option<&EscapedText>), EngineError> {
        match &self.content {
            Compiled::Plain(engine, escaped) => Ok((engine, escaped.as_ref())),
            Compiled::Computed { .. } => Err(EngineError::limit(
                "computed templates are rendered by a worker",
            )),
        }
    }
}

impl BundleError {
    /// Records whether it happened in the requested template.
    fn seen_from(mut self, main: &str) -> Self {
        if let Self::Template {
            source, failure, ..
        } = &mut self
        {
            failure.in_main = source.name == main;
        }
        self
    }

    /// The error for a client.
    pub(crate) fn into_render_error(self) -> RenderError {
        match self {
            Self::Body {
                library,
                path,
                error,
            } => body_error(&library, &path, error),
            Self::Template {
                source,
                mut failure,
                ..
            } => {
                failure.line = failure.line.map(|line| source.lines.in_file(line));
                (*failure).into()
            }
        }
    }

    /// The problem for `check`.
    pub(crate) fn into_problem(self) -> Problem {
        match self {
            Self::Body {
                library,
                path,
                error,
            } => {
                let shown = library.shown_path_of(&path);
                let at = library.path_of(&path);
                error.problem(FileRole::PromptText, &at, &shown)
            }
            Self::Template {
                source,
                code,
                failure,
                help,
            } => {
                let mut problem =
                    source.problem(code, Severity::Error, failure.range, failure.message);
                problem.line = problem
                    .line
                    .or(failure.line.map(|line| source.lines.in_file(line)));
                problem.help = help;
                problem
            }
        }
    }
}

impl Source {
    /// Things that work but are probably mistakes.
    fn remarks(&self) -> Vec<Problem> {
        let mut remarks = Vec::new();
        // A manifest has many texts, so the line matters.
        let place = self.path.is_none().then_some(0..0);
        let mut remark = |code, severity, message: &str, help: &str| {
            let problem = self.problem(code, severity, place.clone(), message.to_owned());
            remarks.push(problem.with_help(help));
        };
        if self.has_mark {
            let message = "the file begins with a byte-order mark, which is ignored";
            remark(
                ProblemCode::ByteOrderMark,
                Severity::Note,
                message,
                "save it as UTF-8 without one",
            );
        }
        if self.text.trim().is_empty() {
            remark(
                ProblemCode::EmptyFile,
                Severity::Warning,
                "the prompt says nothing",
                "write something",
            );
        }
        if let Some(found) = hidden::find(&self.text, TextPlace::Body) {
            let range = found.offset..found.offset + found.character.len_utf8();
            let message = format!("the text {}", found.fault());
            let problem = self.problem(
                ProblemCode::HiddenText,
                Severity::Warning,
                Some(range),
                message,
            );
            remarks.push(problem.with_help(found.advice()));
        }
        remarks
    }

    /// Something that the engine does not have.
    fn unknown(&self, unknown: Unknown) -> Problem {
        let range = Some(unknown.range);
        let mut problem = self.problem(unknown.code, Severity::Error, range, unknown.message);
        problem.help = unknown.help;
        problem
    }

    /// A problem at a place in this source, mapped to its place in the file.
    pub(crate) fn problem(
        &self,
        code: ProblemCode,
        severity: Severity,
        range: Option<Range<usize>>,
        message: String,
    ) -> Problem {
        let file = self.path.as_ref().map_or("twig.toml", RelativePath::as_str);
        let path = self.library.path_of(file);
        let Some(range) = range else {
            return Problem::of_file(code, severity, &path, message);
        };
        let mut problem = Problem::at(code, severity, &path, &self.text, range, message);
        problem.line = problem.line.map(|line| self.lines.in_file(line));
        if !self.has_columns {
            problem.column = None;
            problem.excerpt = None;
        }
        problem
    }
}

/// What `check` needs to know about a template that compiles.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// Variables that have to come from outside, with their places.
    pub(crate) free: Vec<Free>,
    /// Every name that is looked up, however it is used.
    pub(crate) used: Vec<String>,
    /// Filters and tests that do not exist.
    pub(crate) unknown: Vec<Problem>,
    /// How many more of those there are.
    pub(crate) more: usize,
    /// Remarks on the files themselves.
    pub(crate) remarks: Vec<Problem>,
    /// What it embeds.
    pub(crate) documents: Vec<Embed>,
}

/// A variable that has to come from outside.
#[derive(Debug)]
pub(crate) struct Free {
    source: Arc<Source>,
    found: Undeclared,
    /// Whether it is used in the template itself, not in one that it includes.
    pub(crate) in_main: bool,
}

impl Free {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.found.name
    }

    /// The problem to report if it is called like a function.
    pub(crate) fn unknown_function(&self) -> Option<Problem> {
        let unknown = self.found.as_function()?;
        Some(self.source.unknown(unknown))
    }

    /// The problem to report if it is used as a variable.
    pub(crate) fn unknown_variable(&self, message: String) -> Problem {
        let range = Some(self.found.range.clone());
        self.source.problem(
            ProblemCode::UnknownVariable,
            Severity::Error,
            range,
            message,
        )
    }
}

/// Compiles a template as rendering does, and collects the names that it uses.
pub(crate) fn inspect(
    files: TemplateFiles<'_>,
    library: &Arc<Library>,
    content: &Content,
    prompt: &mut PromptSources,
) -> Result<Inspection, BundleError> {
    let closure = gather(files, library, content, prompt)?;
    let engine = engine(&closure, &mut SharedEngines::default())?;
    let documents = closure.documents;
    let sources: Vec<Arc<Source>> = closure.sources.into_iter().map(Arc::new).collect();
    let find = |name: &str| sources.iter().position(|source| source.name == name);
    let free = engine.undeclared().into_iter().filter_map(|found| {
        let at = find(&found.template)?;
        if documents.iter().any(|embed| embed.variable == found.name) {
            return None;
        }
        Some(Free {
            source: Arc::clone(&sources[at]),
            found,
            in_main: at == 0,
        })
    });
    let mut unknown = engine.unknown().into_iter().filter_map(|unknown| {
        let at = find(&unknown.template)?;
        Some((at, unknown))
    });
    // Finding a place means walking through the source.
    let told = unknown.by_ref().take(PROBLEMS);
    let told: Vec<Problem> = told.map(|(at, it)| sources[at].unknown(it)).collect();
    let more = unknown.count();
    let remarks = sources.iter().flat_map(|source| source.remarks());
    Ok(Inspection {
        free: free.collect(),
        used: engine.used(),
        unknown: told,
        more,
        remarks: remarks.collect(),
        documents,
    })
}

/// Reads a template and all it refers to.
pub(crate) fn closure(
    files: TemplateFiles<'_>,
    library: &Arc<Library>,
    content: &Content,
    prompt: &mut PromptSources,
) -> Result<Closure, RenderError> {
    gather(files, library, content, prompt).map_err(BundleError::into_render_error)
}

/// What the templates of one prompt share: a file is compiled once, even if several of them include
/// it.
#[derive(Debug, Default)]
pub(crate) struct SharedEngines {
    plain: Option<Engine>,
    computed: Option<Engine>,
}

/// Compiles a template and all it refers to.
pub(crate) fn compile(closure: Closure, shared: &mut SharedEngines) -> Result<Bundle, BundleError> {
    let engine = engine(&closure, shared)?;
    let Closure {
        sources,
        links,
        dependencies,
        sort,
        has_references,
        documents,
        weight,
        sizes,
        ..
    } = closure;
    let names = sources.iter().map(|source| source.name.as_str().into());
    let sizes = names.zip(sizes);
    Ok(Bundle {
        sizes: sizes.collect(),
        main: sources[0].name.clone(),
        lines: sources[0].lines,
        content: match sort {
            Sort::Plain => Compiled::Plain(Box::new(engine), EscapedText::new(&sources[0].text)),
            // It compiles, as the engine has shown; the worker compiles its own copy.
            Sort::Computed => Compiled::Computed { sources, links },
        },
        dependencies,
        has_references,
        documents,
        weight,
    })
}

fn engine(closure: &Closure, shared: &mut SharedEngines) -> Result<Engine, BundleError> {
    let Closure {
        sources,
        links,
        sort,
        has_order,
        ..
    } = closure;
    let pairs: Vec<(&str, &str)> = sources
        .iter()
        .map(|source| (source.name.as_str(), &*source.text))
        .collect();
    let (known, build): (_, fn(&_, _) -> _) = match sort {
        Sort::Plain => (&mut shared.plain, Engine::plain),
        Sort::Computed => (&mut shared.computed, Engine::computed),
    };
    let engine = match known {
        Some(known) => known.with(&pairs, links.clone()),
        None => build(&pairs, links.clone()),
    };
    if let Ok(engine) = &engine {
        *known = Some(engine.clone());
    }
    let wrong = |code, mut failure: EngineError| {
        let at = sources
            .iter()
            .position(|s| s.name == failure.template)
            .unwrap_or_default();
        failure.in_main = at == 0;
        BundleError::Template {
            source: Box::new(sources[at].clone()),
            code,
            failure: Box::new(failure),
            help: None,
        }
    };
    let engine = engine.map_err(|failure| wrong(ProblemCode::TemplateSyntax, failure))?;
    if *has_order && let Some(failure) = misordered(&pairs) {
        return Err(wrong(ProblemCode::TextAndNumber, failure));
    }
    Ok(engine)
}
