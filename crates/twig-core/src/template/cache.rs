//! Compiled templates, kept until a file they were made from changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::bundle::{Bundle, BundleError, compile};
use crate::document::DocumentCache;
use crate::limits::Limits;
use crate::model::{Content, Library};
use crate::render::{RenderError, World};

/// Roughly how many bytes of compiled templates are kept.
const ROOM: usize = 1024 * 1024;

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
    entries: HashMap<Box<str>, HashMap<Box<str>, Entry>>,
    weight: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
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

    /// The compiled template, fresh: a file that changed is read again.
    pub(crate) fn bundle(
        &self,
        world: World<'_>,
        library: &Arc<Library>,
        content: &Content,
    ) -> Result<Arc<Bundle>, RenderError> {
        let Content::File(path) = content else {
            return build(world, library, content).map(Arc::new);
        };
        if let Some(bundle) = self.cached(world, &library.root, path.as_str()) {
            return Ok(bundle);
        }
        let bundle = Arc::new(build(world, library, content)?);
        let catalog = *world.catalog.fingerprint();
        self.lock()
            .keep(&library.root, path.as_str(), Arc::clone(&bundle), catalog);
        Ok(bundle)
    }

    fn cached(&self, world: World<'_>, root: &str, path: &str) -> Option<Arc<Bundle>> {
        let bundle = {
            let mut cache = self.lock();
            cache.clock += 1;
            let clock = cache.clock;
            let entry = cache.entries.get_mut(root)?.get_mut(path)?;
            // What a reference means depends on the other libraries too.
            if entry.bundle.has_references && entry.catalog != *world.catalog.fingerprint() {
                return None;
            }
            entry.used = clock;
            Arc::clone(&entry.bundle)
        };
        let fresh = bundle.dependencies.iter().all(|dependency| {
            world
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
        let entry = Entry {
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

fn build(
    world: World<'_>,
    library: &Arc<Library>,
    content: &Content,
) -> Result<Bundle, RenderError> {
    compile(world, library, content).map_err(BundleError::into_render_error)
}
