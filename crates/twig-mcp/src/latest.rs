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
    found: OnceCell<Arc<Catalog>>,
    look: &'a dyn Fn() -> Arc<Catalog>,
}

impl<'a> Latest<'a> {
    /// The catalog that `look` gives, should anybody ask.
    pub fn new(look: &'a dyn Fn() -> Arc<Catalog>) -> Self {
        Self {
            found: OnceCell::new(),
            look,
        }
    }
}

impl From<Arc<Catalog>> for Latest<'_> {
    /// The one that was found already.
    fn from(catalog: Arc<Catalog>) -> Self {
        Self {
            found: OnceCell::from(catalog),
            look: &Arc::default,
        }
    }
}

impl Deref for Latest<'_> {
    type Target = Arc<Catalog>;

    fn deref(&self) -> &Arc<Catalog> {
        self.found.get_or_init(self.look)
    }
}

impl fmt::Debug for Latest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latest").field(&self.found).finish()
    }
}
