//! A template together with everything it includes, extends and imports.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::engine::{Engine, Failure, Links};
use super::scan::{Fault, How, Reference, Scan, Sort, scan};
use super::values::Values;
use crate::body::{BodyError, Stamp};
use crate::limits::Limits;
use crate::model::{Content, Library};
use crate::name::RelativePath;
use crate::problem::{Problem, Severity};
use crate::render::{RenderError, World, body_error, body_sentence};

/// Filters, tests and comparisons that a plain template may have, includes counted in: each costs
/// time by the length of a value, and together they have to stay far below the render limit.
const PLAIN_OPERATIONS: usize = 256;

/// A template and its closure, compiled and sorted.
#[derive(Debug)]
pub struct Bundle {
    main: String,
    /// Lines before the main template in its file.
    pub(crate) lines_before: u32,
    content: Compiled,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) has_references: bool,
    pub(crate) weight: usize,
}

#[derive(Debug)]
enum Compiled {
    Plain(Box<Engine>),
    Computed { sources: Vec<Source>, links: Links },
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
    /// Lines before its first one in that file.
    lines_before: u32,
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
    /// A file cannot be had; the main one where `referrer` is `None`.
    Body {
        library: Arc<Library>,
        path: RelativePath,
        error: BodyError,
    },
    /// A template is wrong.
    Template {
        source: Box<Source>,
        code: &'static str,
        failure: Box<Failure>,
        help: Option<String>,
    },
}

impl Bundle {
    /// Whether it renders in place.
    pub fn is_plain(&self) -> bool {
        matches!(self.content, Compiled::Plain(_))
    }

    /// The name of the template to start with.
    pub(crate) fn main(&self) -> &str {
        &self.main
    }

    pub(crate) fn sources(&self) -> &[Source] {
        match &self.content {
            Compiled::Plain(_) => &[],
            Compiled::Computed { sources, .. } => sources,
        }
    }

    pub(crate) fn links(&self) -> &Links {
        static NONE: Links = BTreeMap::new();
        match &self.content {
            Compiled::Plain(_) => &NONE,
            Compiled::Computed { links, .. } => links,
        }
    }

    /// Renders a plain bundle.
    pub(crate) fn render(&self, values: &Values<'_>, room: usize) -> Result<String, Failure> {
        let Compiled::Plain(engine) = &self.content else {
            return Err(Failure::limit(
                "computed templates are rendered by a worker",
            ));
        };
        engine
            .render(&self.main, values, room)
            .map_err(|failure| failure.seen_from(&self.main, self.lines_before))
    }
}

impl BundleError {
    /// Says whether it happened in the template that was asked for.
    fn seen_from(mut self, main: &str) -> Self {
        if let Self::Template {
            source, failure, ..
        } = &mut self
        {
            failure.in_main = source.name == main;
        }
        self
    }

    /// As a client reads it.
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
                failure.line = failure.line.map(|line| line + source.lines_before);
                RenderError::from_failure(*failure)
            }
        }
    }

    /// As `check` reports it.
    pub(crate) fn into_problem(self) -> Problem {
        match self {
            Self::Body {
                library,
                path,
                error,
            } => {
                let shown = format!("{}/{path}", library.shown_root);
                let at = format!("{}/{path}", library.root);
                body_problem(&at, &shown, &error)
            }
            Self::Template {
                source,
                code,
                failure,
                help,
            } => {
                let mut problem =
                    source.problem(code, Severity::Error, failure.range, failure.message);
                problem.line = problem.line.or(failure.line);
                problem.help = help;
                problem
            }
        }
    }
}

/// The problem that a body which cannot be had makes.
pub(crate) fn body_problem(path: &str, shown: &str, error: &BodyError) -> Problem {
    let (code, help) = match error {
        BodyError::NotFound => (
            "missing-file",
            "create the file, or name another with `file`",
        ),
        BodyError::Outside => ("outside-library", "copy the file into the library"),
        BodyError::NotAFile(_) => ("not-a-file", "put a regular text file there"),
        BodyError::TooLarge { .. } => ("too-large", "split it and `{% include %}` the parts"),
        BodyError::NotUtf8 { .. } => ("not-utf8", "save the file as UTF-8"),
        BodyError::Binary { .. } => ("binary-file", "prompts are text; remove the NUL bytes"),
        BodyError::Unreadable(_) => ("unreadable-file", "check the file's permissions"),
    };
    Problem::of_file(code, Severity::Error, path, body_sentence(shown, error)).with_help(help)
}

impl Source {
    /// A problem at a place in this source, told by its place in the file.
    pub(crate) fn problem(
        &self,
        code: &'static str,
        severity: Severity,
        range: Option<Range<usize>>,
        message: String,
    ) -> Problem {
        let file = self.path.as_ref().map_or("twig.toml", RelativePath::as_str);
        let path = format!("{}/{file}", self.library.root);
        let Some(range) = range else {
            return Problem::of_file(code, severity, &path, message);
        };
        let mut problem = Problem::at(code, severity, &path, &self.text, range, message);
        problem.line = problem.line.map(|line| line + self.lines_before);
        problem
    }
}

/// What is built before it is compiled: kept apart so that `check` can look at the sources.
pub(crate) struct Closure {
    pub(crate) sources: Vec<Source>,
    pub(crate) links: Links,
    dependencies: Vec<Dependency>,
    sort: Sort,
    has_references: bool,
}

/// Reads a template and all it refers to.
pub(crate) fn gather(
    world: World<'_>,
    library: &Arc<Library>,
    content: &Content,
) -> Result<Closure, BundleError> {
    let mut builder = Builder {
        world,
        limits: world.templates.limits(),
        closure: Closure {
            sources: Vec::new(),
            links: Links::new(),
            dependencies: Vec::new(),
            sort: Sort::Plain,
            has_references: false,
        },
        done: BTreeMap::new(),
        stack: Vec::new(),
    };
    let main = match content {
        Content::File(path) => builder.read(library, path)?,
        Content::Text { text, line } => Source {
            name: format!("{}:twig.toml#{line}", library.name),
            text: Arc::from(&**text),
            library: Arc::clone(library),
            path: None,
            lines_before: line.saturating_sub(1),
        },
    };
    let name = main.name.clone();
    let cost = builder
        .visit(main)
        .map_err(|error| error.seen_from(&name))?;
    if cost.operations > PLAIN_OPERATIONS {
        builder.closure.sort = Sort::Computed;
    }
    Ok(builder.closure)
}

/// What `check` wants to know of a template that compiles.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// Variables that have to come from outside, with their places.
    pub(crate) free: Vec<(Source, String, Range<usize>)>,
    /// Every name that is looked up, however it is used.
    pub(crate) used: Vec<String>,
}

/// Compiles a template the way rendering does, and looks at the names that it uses.
pub(crate) fn inspect(
    world: World<'_>,
    library: &Arc<Library>,
    content: &Content,
) -> Result<Inspection, BundleError> {
    let closure = gather(world, library, content)?;
    let sources = closure.sources.clone();
    let engine = engine(&closure)?;
    let free = engine.undeclared().into_iter().filter_map(|found| {
        let source = sources
            .iter()
            .find(|source| source.name == found.template)?;
        Some((source.clone(), found.name, found.range))
    });
    Ok(Inspection {
        free: free.collect(),
        used: engine.used(),
    })
}

/// Compiles what was gathered.
pub(crate) fn compile(closure: Closure) -> Result<Bundle, BundleError> {
    let engine = engine(&closure)?;
    let Closure {
        sources,
        links,
        dependencies,
        sort,
        has_references,
    } = closure;
    let text: usize = sources.iter().map(|source| source.text.len()).sum();
    Ok(Bundle {
        main: sources[0].name.clone(),
        lines_before: sources[0].lines_before,
        content: match sort {
            Sort::Plain => Compiled::Plain(Box::new(engine)),
            // The engine has shown that it compiles; the worker makes its own.
            Sort::Computed => Compiled::Computed { sources, links },
        },
        dependencies,
        has_references,
        weight: text * 3 + 4096,
    })
}

fn engine(closure: &Closure) -> Result<Engine, BundleError> {
    let Closure {
        sources,
        links,
        sort,
        ..
    } = closure;
    let pairs: Vec<(&str, &str)> = sources
        .iter()
        .map(|source| (source.name.as_str(), &*source.text))
        .collect();
    let engine = match sort {
        Sort::Plain => Engine::plain(&pairs, links.clone()),
        Sort::Computed => Engine::computed(&pairs, links.clone()),
    };
    engine.map_err(|mut failure| {
        let at = sources
            .iter()
            .position(|s| s.name == failure.template)
            .unwrap_or_default();
        failure.in_main = at == 0;
        let source = Box::new(sources[at].clone());
        let failure = Box::new(failure);
        BundleError::Template {
            source,
            code: "template-syntax",
            failure,
            help: None,
        }
    })
}

struct Builder<'w> {
    world: World<'w>,
    limits: &'w Limits,
    closure: Closure,
    /// Cost of each finished source.
    done: BTreeMap<String, Cost>,
    /// Names from the main template down to the one being visited.
    stack: Vec<String>,
}

/// What including a template once more costs, everything below it counted.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    includes: usize,
    operations: usize,
}

impl Builder<'_> {
    fn read(&mut self, library: &Arc<Library>, path: &RelativePath) -> Result<Source, BundleError> {
        let body = self
            .world
            .bodies
            .read(library, path)
            .map_err(|error| BundleError::Body {
                library: Arc::clone(library),
                path: path.clone(),
                error,
            })?;
        self.depend(library, path, Some(body.stamp));
        Ok(Source {
            name: format!("{}:{path}", library.name),
            text: body.text.into(),
            library: Arc::clone(library),
            path: Some(path.clone()),
            lines_before: 0,
        })
    }

    fn depend(&mut self, library: &Arc<Library>, path: &RelativePath, stamp: Option<Stamp>) {
        let library = Arc::clone(library);
        self.closure.dependencies.push(Dependency {
            library,
            path: path.clone(),
            stamp,
        });
    }

    fn visit(&mut self, source: Source) -> Result<Cost, BundleError> {
        if source.text.len() > self.limits.template_source {
            let message = format!(
                "the template is {} bytes long; the limit is {}",
                source.text.len(),
                self.limits.template_source
            );
            return Err(fault(source, "too-large", None, message, None));
        }
        let Scan {
            sort,
            references,
            operations,
        } = match scan(&source.text) {
            Ok(found) => found,
            Err(Fault {
                code,
                range,
                message,
                help,
            }) => {
                return Err(fault(source, code, Some(range), message, help));
            }
        };
        if sort == Sort::Computed {
            self.closure.sort = Sort::Computed;
        }
        self.closure.has_references |= !references.is_empty();
        self.closure.sources.push(source.clone());
        self.stack.push(source.name.clone());
        let mut cost = Cost {
            includes: 0,
            operations,
        };
        for reference in &references {
            let child = self.follow(&source, reference)?;
            cost.includes = cost.includes.saturating_add(child.includes);
            cost.operations = cost.operations.saturating_add(child.operations);
        }
        self.stack.pop();
        if cost.includes > self.limits.includes {
            let message = format!(
                "{} templates are included, counted with repetition; the limit is {}",
                cost.includes, self.limits.includes
            );
            return Err(fault(source, "too-many-includes", None, message, None));
        }
        self.done.insert(source.name, cost);
        Ok(cost)
    }

    fn follow(&mut self, from: &Source, reference: &Reference) -> Result<Cost, BundleError> {
        let mut cost = Cost::default();
        let mut found_one = false;
        for (name, range) in &reference.names {
            let Some(target) = self.resolve(from, name, range)? else {
                continue;
            };
            found_one = true;
            self.closure
                .links
                .insert((from.name.clone(), name.clone()), target.name.clone());
            let child = self.enter(from, range, target)?;
            // Of several names only the first that exists is used, but which one is not known here.
            cost.includes = cost.includes.max(child.includes + 1);
            cost.operations = cost.operations.max(child.operations);
        }
        if !found_one && !reference.ignore_missing {
            let (name, range) = reference.names.first().cloned().unwrap_or_default();
            let what = match reference.how {
                How::Include => "included",
                How::Extends => "extended",
                How::Import => "imported",
            };
            let message = format!("{what} template `{name}` not found");
            let help = "name a file of this library, or `library:prompt` for one of another";
            return Err(fault(
                from.clone(),
                "missing-include",
                Some(range),
                message,
                Some(help.to_owned()),
            ));
        }
        Ok(cost)
    }

    fn enter(
        &mut self,
        from: &Source,
        range: &Range<usize>,
        target: Source,
    ) -> Result<Cost, BundleError> {
        if let Some(at) = self.stack.iter().position(|name| *name == target.name) {
            let path = self.stack[at..].iter().chain([&target.name]);
            let path: Vec<&str> = path.map(String::as_str).collect();
            let message = format!("templates include each other: {}", path.join(" → "));
            let help = Some("break the circle".to_owned());
            return Err(fault(
                from.clone(),
                "include-cycle",
                Some(range.clone()),
                message,
                help,
            ));
        }
        if self.stack.len() > self.limits.include_depth {
            let message = format!("includes nest deeper than {}", self.limits.include_depth);
            return Err(fault(
                from.clone(),
                "include-depth",
                Some(range.clone()),
                message,
                None,
            ));
        }
        match self.done.get(&target.name) {
            Some(cost) => Ok(*cost),
            None => self.visit(target),
        }
    }

    /// Finds what a name in a template means: a prompt of the library, a file from its root, from
    /// its `prompts` folder or from beside the template; `other:name` looks in another library.
    fn resolve(
        &mut self,
        from: &Source,
        name: &str,
        range: &Range<usize>,
    ) -> Result<Option<Source>, BundleError> {
        let (library, own) = match name.split_once(':') {
            None => (Arc::clone(&from.library), name),
            Some((library, own)) => match self.world.catalog.library(library) {
                Some(library) => (Arc::clone(library), own),
                None => return Ok(None),
            },
        };
        let prompt = library
            .prompts
            .iter()
            .find(|prompt| prompt.name.as_str() == own);
        if let Some(Content::File(path)) =
            prompt.and_then(|p| p.messages.first()).map(|m| &m.content)
        {
            return self.read_known(&library, path).map(Some);
        }
        let path = match RelativePath::parse(own) {
            Ok(path) => path,
            Err(error) => {
                let message = format!("`{name}` {error}");
                return Err(fault(
                    from.clone(),
                    "outside-library",
                    Some(range.clone()),
                    message,
                    None,
                ));
            }
        };
        let beside = from
            .path
            .as_ref()
            .filter(|_| Arc::ptr_eq(&library, &from.library));
        let folders = ["", "prompts", beside.map_or("", |path| path.folder())];
        for (at, folder) in folders.iter().enumerate() {
            if folders[..at].contains(folder) {
                continue;
            }
            for ending in ["", ".md"] {
                let text = format!("{folder}/{path}{ending}");
                let Ok(candidate) = RelativePath::parse(text.trim_start_matches('/')) else {
                    continue;
                };
                match self.read_known(&library, &candidate) {
                    Err(BundleError::Body {
                        error: BodyError::NotFound,
                        ..
                    }) => {
                        self.depend(&library, &candidate, None);
                    }
                    found => return found.map(Some),
                }
            }
        }
        Ok(None)
    }

    /// Reads a file unless it is part of the bundle already.
    fn read_known(
        &mut self,
        library: &Arc<Library>,
        path: &RelativePath,
    ) -> Result<Source, BundleError> {
        let name = format!("{}:{path}", library.name);
        match self
            .closure
            .sources
            .iter()
            .find(|source| source.name == name)
        {
            Some(source) => Ok(source.clone()),
            None => self.read(library, path),
        }
    }
}

fn fault(
    source: Source,
    code: &'static str,
    range: Option<Range<usize>>,
    message: String,
    help: Option<String>,
) -> BundleError {
    let line = range
        .clone()
        .map(|range| crate::problem::locate(&source.text, range).line);
    let failure = Failure {
        template: source.name.clone(),
        in_main: true,
        line,
        range,
        message,
        is_limit: false,
        undefined: None,
    };
    BundleError::Template {
        source: Box::new(source),
        code,
        failure: Box::new(failure),
        help,
    }
}
