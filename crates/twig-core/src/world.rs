//! What requests are answered from: the current catalog and the ports.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::body::Bodies;
use crate::catalog::{Catalog, Revisions};
use crate::template::{TemplateFiles, Templates};

/// Everything that a request is answered from.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The snapshot that the request takes when it first asks for it.
    pub catalog: &'a Latest<'a>,
    /// Reads bodies.
    pub bodies: &'a dyn Bodies,
    /// Compiled templates, shared by all requests.
    pub templates: &'a Templates,
}

impl<'a> World<'a> {
    /// The files that templates are read from.
    pub fn template_files(self) -> TemplateFiles<'a> {
        TemplateFiles {
            catalog: self.catalog,
            bodies: self.bodies,
            limits: self.templates.limits(),
        }
    }
}

/// The catalog that a request is answered from: one snapshot, looked up when it is first needed.
///
/// A write needs none: otherwise a client that writes a thousand prompts would cause all of them to
/// be read again after each.
pub struct Latest<'a> {
    first: LookedUpCatalog,
    look: &'a CatalogLookup<'a>,
    /// Returns the catalog that was published last, and never waits.
    published: Option<&'a CatalogLookup<'a>>,
}

/// Returns a catalog.
type CatalogLookup<'a> = dyn Fn() -> Arc<Catalog> + Sync + 'a;

#[derive(Debug, Default)]
struct LookedUpCatalog {
    catalog: OnceLock<Arc<Catalog>>,
    /// The next one, if this one turned out to be outdated before anything was answered from it.
    next: OnceLock<Box<Self>>,
}

impl<'a> Latest<'a> {
    /// The catalog that `look` returns. It is called at most once, unless the catalog is renewed.
    pub fn new(look: &'a CatalogLookup<'a>) -> Self {
        Self {
            first: LookedUpCatalog::default(),
            look,
            published: None,
        }
    }

    /// The same, if a client that only connects can be answered without looking.
    #[must_use]
    pub fn or_published(mut self, published: &'a CatalogLookup<'a>) -> Self {
        self.published = Some(published);
        self
    }

    /// The counters that a client that connects now is notified from.
    pub fn revisions_at_start(&self) -> Revisions {
        match (self.first.catalog.get(), self.published) {
            (None, Some(published)) => published().revisions(),
            _ => self.revisions(),
        }
    }

    /// Looks up the catalog again; later calls get the new one.
    pub fn renew(&self) -> &Arc<Catalog> {
        let next = self.last().next.get_or_init(Box::default);
        next.catalog.get_or_init(self.look)
    }

    fn last(&self) -> &LookedUpCatalog {
        let mut last = &self.first;
        while let Some(next) = last.next.get() {
            last = next;
        }
        last
    }
}

/// An existing catalog.
impl<C: Into<Arc<Catalog>>> From<C> for Latest<'_> {
    fn from(catalog: C) -> Self {
        Self {
            first: LookedUpCatalog {
                catalog: OnceLock::from(catalog.into()),
                next: OnceLock::new(),
            },
            look: &Arc::default,
            published: None,
        }
    }
}

impl Deref for Latest<'_> {
    type Target = Arc<Catalog>;

    fn deref(&self) -> &Arc<Catalog> {
        self.last().catalog.get_or_init(self.look)
    }
}

impl fmt::Debug for Latest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latest").field(&self.first).finish()
    }
}
