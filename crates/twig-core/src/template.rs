//! Jinja templates. Only this module knows the engine.
//!
//! A template is classified when it is compiled. *Plain* templates print, branch and include: their
//! output is bounded by their source and values, and they render on the calling thread. *Computed*
//! templates loop, set, call or multiply: they become a [`ComputedJob`], which [`run`] renders in a
//! process that can be killed.

mod bundle;
mod cache;
mod engine;
mod job;
mod scan;
mod values;

pub use bundle::{Bundle, Printing, Source, includers, printing};
pub(crate) use bundle::{BundleError, Inspection, PromptSources, inspect};
pub(crate) use cache::GatheredTemplates;
pub use cache::Templates;
pub use engine::EngineError;
pub(crate) use engine::TextRoom;
pub use job::{ComputedJob, JobOutcome, run};
pub use scan::{TagKind, TemplateToken, TokenKind, Tokens};
pub use values::TemplateValues;

use crate::body::Bodies;
use crate::catalog::Catalog;
use crate::limits::Limits;

/// What templates are read from.
#[derive(Clone, Copy)]
pub struct TemplateFiles<'a> {
    /// Where other libraries' templates are found.
    pub catalog: &'a Catalog,
    /// Where their text comes from.
    pub bodies: &'a dyn Bodies,
    /// What they may measure.
    pub limits: &'a Limits,
}
