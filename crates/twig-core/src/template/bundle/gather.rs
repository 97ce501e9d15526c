//! Reads a template and everything it refers to: resolves names, finds cycles, and counts the cost.

use crate::problem::ProblemCode;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::documents::{self, Embed};
use super::{BundleError, Dependency, Source};
use crate::body::{BodyError, NotAFile, Stamp};
use crate::front_matter;
use crate::limits::Limits;
use crate::model::{Content, Library, TextForm};
use crate::name::RelativePath;
use crate::template::TemplateFiles;
use crate::template::engine::{EngineError, Links, TemplateLines};
use crate::template::scan::{How, Sort, TemplateError, TemplateReference, TemplateScan, scan};

/// Filters, tests and comparisons that a plain template may have, including those of its includes.
/// Each takes time in proportion to a value's length; together they have to stay far below the
/// render limit.
const PLAIN_OPERATIONS: usize = 256;

/// Approximate memory of a small compiled template besides its text.
const COMPILED_WEIGHT: usize = 12 * 1024;

/// Approximate memory per token of a large template.
const TOKEN_WEIGHT: usize = 64;

/// Approximate memory of a named block.
const BLOCK_WEIGHT: usize = 8 * 1024;

/// Bytes that a named block counts as, besides its text.
const BLOCK_SIZE: usize = 2048;

/// The result before compilation, separate so that `check` can inspect the sources.
#[derive(Debug)]
pub(crate) struct Closure {
    pub(super) sources: Vec<Source>,
    pub(super) links: Links,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) sort: Sort,
    pub(super) has_references: bool,
    /// True if one of them asks which of two values is larger.
    pub(super) has_order: bool,
    /// The documents that its templates embed.
    pub(super) documents: Vec<Embed>,
    /// Approximate memory that the engine needs for it.
    pub(super) weight: usize,
    /// The bytes that each source counts as.
    pub(super) sizes: Vec<usize>,
}

/// A source that was scanned.
#[derive(Debug)]
struct Scanned {
    /// The text with variables in place of calls for documents.
    text: Arc<str>,
    embeds: Vec<Embed>,
    scan: TemplateScan,
}

impl Scanned {
    /// The bytes it counts as, out of those that the templates of a prompt may have. With many tags
    /// that is more than its length, since each token takes some fifty bytes once it is compiled,
    /// and each named block some thousands.
    fn size(&self) -> usize {
        self.text.len().max(self.scan.tokens * 2) + self.scan.named_blocks * BLOCK_SIZE
    }

    fn weight(&self) -> usize {
        let TemplateScan {
            tokens,
            named_blocks,
            ..
        } = self.scan;
        let engine = tokens * TOKEN_WEIGHT + named_blocks * BLOCK_WEIGHT;
        // The text, what the engine keeps of it, and its escaped form.
        self.text.len() * 3 + engine.max(COMPILED_WEIGHT)
    }
}

/// The sources of one prompt's templates: each file is read and counted once, even if several
/// messages use it.
#[derive(Debug, Default)]
pub(crate) struct PromptSources {
    files: BTreeMap<String, (Source, Stamp)>,
    scanned: BTreeMap<String, Arc<Scanned>>,
    counted: BTreeSet<Box<str>>,
    bytes: usize,
    /// How many texts of the manifest there are so far.
    inline: usize,
}

impl PromptSources {
    /// Counts a source; the error is a sentence that names the limit.
    pub(crate) fn count(
        &mut self,
        name: &str,
        bytes: usize,
        limits: &Limits,
    ) -> Result<(), String> {
        if self.counted.contains(name) {
            return Ok(());
        }
        self.counted.insert(name.into());
        self.bytes += bytes;
        if self.bytes <= limits.template_sources {
            return Ok(());
        }
        Err(format!(
            "the templates of one prompt, each file counted once, exceed the limit `template_sources` of {} bytes",
            limits.template_sources
        ))
    }

    /// A unique name for a text in a manifest: one line may have several.
    fn inline_name(&mut self, place: &str) -> String {
        self.inline += 1;
        match self.inline {
            1 => place.to_owned(),
            count => format!("{place}.{count}"),
        }
    }

    /// The bytes counted so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether they exceed their limit.
    pub(crate) fn is_full(&self, limits: &Limits) -> bool {
        self.bytes > limits.template_sources
    }
}

/// Reads a template and all it refers to.
pub(super) fn gather(
    files: TemplateFiles<'_>,
    library: &Arc<Library>,
    content: &Content,
    prompt: &mut PromptSources,
) -> Result<Closure, BundleError> {
    let mut builder = Builder {
        files,
        prompt,
        limits: files.limits,
        closure: Closure {
            sources: Vec::new(),
            links: Links::new(),
            dependencies: Vec::new(),
            sort: Sort::Plain,
            has_references: false,
            has_order: false,
            documents: Vec::new(),
            weight: 0,
            sizes: Vec::new(),
        },
        done: BTreeMap::new(),
        stack: Vec::new(),
    };
    let main = match content {
        Content::File(path) | Content::Media { path, .. } => builder.read(library, path)?,
        // Programs are run, not expanded, so this is never reached.
        Content::Function(function) => builder.read(library, function.file())?,
        // These are no templates, so this is never reached.
        Content::Stored(_) => Source {
            name: builder.prompt.inline_name(library.name.as_str()),
            text: Arc::from(""),
            library: Arc::clone(library),
            path: None,
            has_mark: false,
            lines: TemplateLines {
                before: 0,
                folded: false,
            },
            has_columns: false,
        },
        Content::Braces { file, .. } | Content::Document { file, .. } => {
            builder.read(library, file)?
        }
        Content::Text {
            text,
            line,
            form,
            file,
        } => Source {
            name: builder.prompt.inline_name(&format!(
                "{}:{}#{line}",
                library.name,
                file.as_ref().map_or("twig.toml", RelativePath::as_str)
            )),
            text: Arc::from(&**text),
            library: Arc::clone(library),
            path: file.clone(),
            has_mark: false,
            lines: TemplateLines {
                before: line.saturating_sub(1),
                folded: *form == TextForm::Escaped,
            },
            has_columns: *form == TextForm::Lines,
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

struct Builder<'w> {
    files: TemplateFiles<'w>,
    prompt: &'w mut PromptSources,
    limits: &'w Limits,
    closure: Closure,
    /// Cost of each finished source.
    done: BTreeMap<String, Cost>,
    /// Names from the main template down to the one being visited.
    stack: Vec<String>,
}

/// The cost of including a template once more, with everything below it.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    includes: usize,
    operations: usize,
    /// How deep includes nest below it.
    height: usize,
}

impl Builder<'_> {
    fn read(&mut self, library: &Arc<Library>, path: &RelativePath) -> Result<Source, BundleError> {
        let name = format!("{}:{path}", library.name);
        if let Some((source, stamp)) = self.prompt.files.get(&name) {
            let (source, stamp) = (source.clone(), *stamp);
            self.depend(library, path, Some(stamp));
            return Ok(source);
        }
        let limit = self.limits.template_source;
        let body = self.files.bodies.read(library, path).map_err(|error| {
            let (library, path) = (Arc::clone(library), path.clone());
            // Reading has a limit of its own; the limit that applies here is that of templates.
            let error = match error {
                BodyError::TooLarge { size, .. } => BodyError::TooLarge { size, limit },
                error => error,
            };
            BundleError::Body {
                library,
                path,
                error,
            }
        })?;
        self.depend(library, path, Some(body.stamp));
        let (text, before) = match library.kind {
            kind if kind.is_format() => {
                let split = front_matter::split(&body.text);
                let front = &body.text[..split.body_start];
                (split.body.into(), front.matches('\n').count())
            }
            _ => (body.text.into(), 0),
        };
        let source = Source {
            name,
            text,
            library: Arc::clone(library),
            path: Some(path.clone()),
            has_mark: body.has_mark,
            lines: TemplateLines {
                before: u32::try_from(before).unwrap_or_default(),
                folded: false,
            },
            has_columns: true,
        };
        let kept = (source.clone(), body.stamp);
        self.prompt.files.insert(source.name.clone(), kept);
        Ok(source)
    }

    fn depend(&mut self, library: &Arc<Library>, path: &RelativePath, stamp: Option<Stamp>) {
        let library = Arc::clone(library);
        self.closure.dependencies.push(Dependency {
            library,
            path: path.clone(),
            stamp,
        });
    }

    fn visit(&mut self, mut source: Source) -> Result<Cost, BundleError> {
        if source.text.len() > self.limits.template_source {
            let message = format!(
                "the template is {} bytes long; the limit is {}",
                source.text.len(),
                self.limits.template_source
            );
            return Err(fault(source, ProblemCode::TooLarge, None, message, None));
        }
        let scanned = match self.scanned(&source) {
            Ok(scanned) => scanned,
            Err(found) => {
                let is_limit = found.is_limit();
                let TemplateError {
                    code,
                    range,
                    message,
                    help,
                } = found;
                let mut error = fault(source, code, Some(range), message, help);
                if let BundleError::Template { failure, .. } = &mut error {
                    failure.is_limit = is_limit;
                }
                return Err(error);
            }
        };
        if let Err(message) = self.prompt.count(&source.name, scanned.size(), self.limits) {
            let help = "make the files shorter, or split the prompt in two".to_owned();
            let mut error = fault(
                source,
                ProblemCode::TemplatesTooLarge,
                None,
                message,
                Some(help),
            );
            if let BundleError::Template { failure, .. } = &mut error {
                failure.is_limit = true;
            }
            return Err(error);
        }
        source.text = Arc::clone(&scanned.text);
        if let Err(message) = documents::merge(&mut self.closure.documents, &scanned.embeds) {
            return Err(fault(
                source,
                ProblemCode::TooManyResources,
                None,
                message,
                None,
            ));
        }
        let TemplateScan {
            sort,
            ref references,
            operations,
            ..
        } = scanned.scan;
        if sort == Sort::Computed {
            self.closure.sort = Sort::Computed;
        }
        if self.closure.sources.len() > self.limits.includes {
            // No need to read on: each of these is included at least once.
            let count = self.closure.sources.len();
            return Err(self.too_many(source, count));
        }
        self.closure.has_references |= !references.is_empty();
        self.closure.has_order |= scanned.scan.has_order;
        self.closure.weight += scanned.weight();
        self.closure.sizes.push(scanned.size());
        self.closure.sources.push(source.clone());
        self.stack.push(source.name.clone());
        let mut cost = Cost {
            operations,
            ..Cost::default()
        };
        for reference in references {
            let child = self.follow(&source, reference)?;
            cost.includes = cost.includes.saturating_add(child.includes);
            cost.operations = cost.operations.saturating_add(child.operations);
            cost.height = cost.height.max(child.height);
        }
        self.stack.pop();
        if cost.includes > self.limits.includes {
            return Err(self.too_many(source, cost.includes));
        }
        self.done.insert(source.name, cost);
        Ok(cost)
    }

    /// Scans a source, unless another message of the prompt already uses it.
    fn scanned(&mut self, source: &Source) -> Result<Arc<Scanned>, TemplateError> {
        if let Some(scanned) = self.prompt.scanned.get(&source.name) {
            return Ok(Arc::clone(scanned));
        }
        let mut embeds = Vec::new();
        let text = match documents::take(&source.text, &mut embeds)? {
            Some(text) => text.into(),
            None => Arc::clone(&source.text),
        };
        let scanned = Arc::new(Scanned {
            scan: scan(&text)?,
            text,
            embeds,
        });
        let kept = Arc::clone(&scanned);
        self.prompt.scanned.insert(source.name.clone(), kept);
        Ok(scanned)
    }

    fn too_many(&self, source: Source, count: usize) -> BundleError {
        let message = format!(
            "{count} or more templates are included, counted with repetition; the limit is {}",
            self.limits.includes
        );
        fault(source, ProblemCode::TooManyIncludes, None, message, None)
    }

    fn follow(
        &mut self,
        from: &Source,
        reference: &TemplateReference,
    ) -> Result<Cost, BundleError> {
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
            // Of several names only the first that exists is used, but it is not known here which
            // one.
            cost.includes = cost.includes.max(child.includes + 1);
            cost.operations = cost.operations.max(child.operations);
            cost.height = cost.height.max(child.height + 1);
        }
        if !found_one && !reference.ignore_missing {
            let (name, range) = reference.names.first().cloned().unwrap_or_default();
            let what = match reference.how {
                How::Include => "included",
                How::Extends => "extended",
                How::Import => "imported",
            };
            let own = name.split_once(':').map_or(&*name, |(_, own)| own);
            let (message, help) = if self.is_inline(from, &name) {
                (
                    format!("{what} prompt `{name}` has its text in twig.toml, not in a file"),
                    format!("move its text to prompts/{own}.md"),
                )
            } else {
                let help = "name a file of this library, or `library:prompt` for one of another";
                (
                    format!("{what} template `{name}` not found"),
                    help.to_owned(),
                )
            };
            return Err(fault(
                from.clone(),
                ProblemCode::MissingInclude,
                Some(range),
                message,
                Some(help),
            ));
        }
        Ok(cost)
    }

    /// True if a name is that of a prompt whose text is in the manifest.
    fn is_inline(&self, from: &Source, name: &str) -> bool {
        let found = self.library_of(from, name);
        let content = found
            .as_ref()
            .and_then(|(library, own)| first_content(library, own));
        matches!(content, Some(Content::Text { file: None, .. }))
    }

    /// The library that a name in a template is about, and the name in that library.
    fn library_of<'n>(&self, from: &Source, name: &'n str) -> Option<(Arc<Library>, &'n str)> {
        match name.split_once(':') {
            None => Some((Arc::clone(&from.library), name)),
            Some((library, own)) => {
                let library = self.files.catalog.library(library)?;
                Some((Arc::clone(library), own))
            }
        }
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
            let (message, help) = match &*path {
                [own, _] => (
                    format!("template `{own}` includes itself"),
                    "remove this include",
                ),
                path => (
                    format!("templates include each other: {}", path.join(" → ")),
                    "break the circle",
                ),
            };
            let help = Some(help.to_owned());
            return Err(fault(
                from.clone(),
                ProblemCode::IncludeCycle,
                Some(range.clone()),
                message,
                help,
            ));
        }
        let known = self.done.get(&target.name).copied();
        if self.stack.len() + known.map_or(0, |cost| cost.height) > self.limits.include_depth {
            let message = format!("includes nest deeper than {}", self.limits.include_depth);
            return Err(fault(
                from.clone(),
                ProblemCode::IncludeDepth,
                Some(range.clone()),
                message,
                None,
            ));
        }
        match known {
            Some(cost) => Ok(cost),
            None => self.visit(target),
        }
    }

    /// Resolves a name in a template: a prompt of the library, or a file relative to the library's
    /// root, its `prompts` folder or the folder of the template; `other:name` looks in another
    /// library.
    fn resolve(
        &mut self,
        from: &Source,
        name: &str,
        range: &Range<usize>,
    ) -> Result<Option<Source>, BundleError> {
        let Some((library, own)) = self.library_of(from, name) else {
            return Ok(None);
        };
        if let Some(Content::File(path)) = first_content(&library, own) {
            return self.read_known(&library, path).map(Some);
        }
        let path = match RelativePath::parse(own) {
            Ok(path) => path,
            Err(error) => {
                // The name may be a path of this machine, so clients do not get it.
                let message = format!("the name {error}");
                return Err(fault(
                    from.clone(),
                    ProblemCode::OutsideLibrary,
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
                    // A folder may have the name of a file elsewhere.
                    Err(BundleError::Body {
                        error: BodyError::NotFound | BodyError::NotAFile(NotAFile::Folder),
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

/// The first message of a prompt.
fn first_content<'l>(library: &'l Library, name: &str) -> Option<&'l Content> {
    let prompts = &library.prompts;
    let found = prompts.binary_search_by(|prompt| prompt.name.as_str().cmp(name));
    let message = prompts[found.ok()?].messages.first()?;
    Some(&message.content)
}

fn fault(
    source: Source,
    code: ProblemCode,
    range: Option<Range<usize>>,
    message: String,
    help: Option<String>,
) -> BundleError {
    let line = range
        .clone()
        .map(|range| crate::problem::locate(&source.text, range).line);
    let failure = EngineError {
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
