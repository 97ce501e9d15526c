//! A cache of compiled templates. An entry is valid until one of its files changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::TemplateFiles;
use super::bundle::{Bundle, BundleError, Closure, PromptSources, SharedEngines, closure, compile};
use super::engine::EngineError;
use crate::document_cache::DocumentCache;
use crate::limits::Limits;
use crate::model::{Content, Library};
use crate::name::RelativePath;
use crate::render_error::RenderError;

/// Roughly how many bytes of compiled templates are kept.
const ROOM: usize = 1024 * 1024;

/// Bytes of sources that may be compiled on the calling thread.
const LIGHT: usize = 64 * 1024;

/// The templates of a prompt: compiled already, or read and still to be compiled.
#[derive(Debug)]
pub(crate) struct GatheredTemplates {
    parts: Vec<TemplatePart>,
    /// Bytes of sources that are to be compiled.
    new: usize,
}

#[derive(Debug)]
enum TemplatePart {
    Kept(Arc<Bundle>),
    /// With the file that it is kept for.
    New(Box<Closure>, Option<RelativePath>),
}

impl GatheredTemplates {
    /// True if compiling them takes so long that it should not delay other requests.
    pub(crate) fn is_heavy(&self) -> bool {
        self.new > LIGHT
    }
}

/// Compiles templates on first use and keeps them, within a bound.
#[derive(Debug, Default)]
pub struct Templates {
    limits: Limits,
    cache: Mutex<Cache>,
    documents: DocumentCache,
}

#[derive(Debug, Default)]
struct Cache {
    /// By library folder, then by path.
    entries: HashMap<Box<str>, HashMap<Box<str>, CachedBundle>>,
    weight: usize,
    clock: u64,
}

#[derive(Debug)]
struct CachedBundle {
    bundle: Arc<Bundle>,
    catalog: [u8; 32],
    used: u64,
}

impl Templates {
    /// An empty cache that keeps these limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            cache: Mutex::default(),
            documents: DocumentCache::default(),
        }
    }

    /// The limits that rendering keeps.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The contents of documents, kept from one request to the next.
    pub fn documents(&self) -> &DocumentCache {
        &self.documents
    }

    /// The current templates of one prompt: a file that changed is read again.
    pub(crate) fn gather<'c>(
        &self,
        files: TemplateFiles<'_>,
        library: &Arc<Library>,
        contents: impl Iterator<Item = &'c Content>,
    ) -> Result<GatheredTemplates, RenderError> {
        let mut sources = PromptSources::default();
        let mut gathered = GatheredTemplates {
            parts: Vec::new(),
            new: 0,
        };
        let mut contents = contents.peekable();
        while let Some(content) = contents.next() {
            let path = match content {
                Content::File(path) => Some(path),
                _ => None,
            };
            let kept = path.and_then(|path| self.cached(files, &library.root, path.as_str()));
            let part = if let Some(bundle) = kept {
                // A single template was counted when it was compiled.
                if !gathered.parts.is_empty() || contents.peek().is_some() {
                    for (name, bytes) in &bundle.sizes {
                        let counted = sources.count(name, *bytes, &self.limits);
                        counted.map_err(too_much)?;
                    }
                }
                TemplatePart::Kept(bundle)
            } else {
                let before = sources.bytes();
                let closure = closure(files, library, content, &mut sources)?;
                gathered.new += sources.bytes() - before;
                TemplatePart::New(Box::new(closure), path.cloned())
            };
            gathered.parts.push(part);
        }
        Ok(gathered)
    }

    /// Compiles the templates that are not compiled yet, each file once.
    pub(crate) fn compile(
        &self,
        files: TemplateFiles<'_>,
        library: &Arc<Library>,
        gathered: GatheredTemplates,
    ) -> Result<Vec<Arc<Bundle>>, RenderError> {
        let mut shared = SharedEngines::default();
        let bundles = gathered.parts.into_iter().map(|part| {
            let (closure, path) = match part {
                TemplatePart::Kept(bundle) => return Ok(bundle),
                TemplatePart::New(closure, path) => (closure, path),
            };
            let bundle = compile(*closure, &mut shared).map_err(BundleError::into_render_error)?;
            let bundle = Arc::new(bundle);
            if let Some(path) = path.filter(|_| bundle.weight <= ROOM) {
                let catalog = *files.catalog.fingerprint();
                self.lock()
                    .keep(&library.root, path.as_str(), Arc::clone(&bundle), catalog);
            }
            Ok(bundle)
        });
        bundles.collect()
    }

    fn cached(&self, files: TemplateFiles<'_>, root: &str, path: &str) -> Option<Arc<Bundle>> {
        let bundle = {
            let mut cache = self.lock();
            cache.clock += 1;
            let clock = cache.clock;
            let entry = cache.entries.get_mut(root)?.get_mut(path)?;
            // What a reference means depends on the other libraries too.
            if entry.bundle.has_references && entry.catalog != *files.catalog.fingerprint() {
                return None;
            }
            entry.used = clock;
            Arc::clone(&entry.bundle)
        };
        let fresh = bundle.dependencies.iter().all(|dependency| {
            files
                .bodies
                .stamp(&dependency.library, &dependency.path)
                .ok()
                == dependency.stamp
        });
        fresh.then_some(bundle)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Cache> {
        // A panic while the lock was held left at worst a missing entry.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    fn keep(&mut self, root: &str, path: &str, bundle: Arc<Bundle>, catalog: [u8; 32]) {
        self.clock += 1;
        self.weight += bundle.weight;
        let entry = CachedBundle {
            bundle,
            catalog,
            used: self.clock,
        };
        let library = match self.entries.get_mut(root) {
            Some(library) => library,
            None => self.entries.entry(root.into()).or_default(),
        };
        if let Some(old) = library.insert(path.into(), entry) {
            self.weight -= old.bundle.weight;
        }
        if self.weight > ROOM {
            self.forget_older_half();
        }
    }

    fn forget_older_half(&mut self) {
        let mut used: Vec<u64> = self
            .entries
            .values()
            .flat_map(HashMap::values)
            .map(|entry| entry.used)
            .collect();
        used.sort_unstable();
        let median = used.get(used.len() / 2).copied().unwrap_or_default();
        for library in self.entries.values_mut() {
            library.retain(|_, entry| entry.used >= median);
        }
        self.entries.retain(|_, library| !library.is_empty());
        self.weight = self
            .entries
            .values()
            .flat_map(HashMap::values)
            .map(|entry| entry.bundle.weight)
            .sum();
    }
}

fn too_much(sentence: String) -> RenderError {
    EngineError::limit(sentence).into()
}
