//! The catalog of the moment, looked up when a request first asks for it.
//!
//! A write needs none, and whoever writes a thousand prompts would otherwise have all of them read
//! again after each.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use twig_core::Catalog;

/// The catalog that a request is answered from: one snapshot, however often it is asked for.
pub struct Latest<'a> {
    first: Looked,
    look: &'a dyn Fn() -> Arc<Catalog>,
}

/// One look.
#[derive(Debug, Default)]
struct Looked {
    found: OnceCell<Arc<Catalog>>,
    /// The next one, where this one was found to be old before anything was answered from it.
    next: OnceCell<Box<Self>>,
}

impl<'a> Latest<'a> {
    /// The catalog that `look` gives, should anybody ask.
    pub fn new(look: &'a dyn Fn() -> Arc<Catalog>) -> Self {
        Self {
            first: Looked::default(),
            look,
        }
    }

    /// Looks again: from here on there is the catalog of then.
    pub(crate) fn renew(&self) -> &Arc<Catalog> {
        let next = self.last().next.get_or_init(Box::default);
        next.found.get_or_init(self.look)
    }

    fn last(&self) -> &Looked {
        let mut last = &self.first;
        while let Some(next) = last.next.get() {
            last = next;
        }
        last
    }
}

impl From<Arc<Catalog>> for Latest<'_> {
    /// The one that was found already.
    fn from(catalog: Arc<Catalog>) -> Self {
        Self {
            first: Looked {
                found: OnceCell::from(catalog),
                next: OnceCell::new(),
            },
            look: &Arc::default,
        }
    }
}

impl Deref for Latest<'_> {
    type Target = Arc<Catalog>;

    fn deref(&self) -> &Arc<Catalog> {
        self.last().found.get_or_init(self.look)
    }
}

impl fmt::Debug for Latest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latest").field(&self.first).finish()
    }
}
