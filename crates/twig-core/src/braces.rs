//! The `{{name}}` dialect of definitions: text, arguments, and documents by URI.
//!
//! A text is parsed once into nodes. Values and documents are inserted between them afterwards and
//! are never scanned, whatever braces they contain.

mod scan;
mod uri;

use std::ops::Range;

pub use self::uri::UriPattern;
use crate::argument::Argument;
use crate::problem::{ProblemCode, Severity};

/// A text with slots for arguments and documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Braces {
    source: Box<str>,
    nodes: Vec<BraceNode>,
}

/// A part of a text, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BraceNode {
    /// These bytes of the source.
    Text(Range<usize>),
    /// The value of the prompt's argument with this index.
    Argument(usize),
    /// Documents.
    Documents(UriPattern),
}

/// Something wrong in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BraceError {
    pub(crate) code: ProblemCode,
    pub(crate) severity: Severity,
    /// Bytes of the text.
    pub(crate) range: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Braces {
    /// Parses a text that may use these arguments. If the mistakes include an error, the text must
    /// not be used.
    pub(crate) fn parse(source: &str, arguments: &[Argument]) -> (Self, Vec<BraceError>) {
        let (nodes, mistakes) = scan::scan(source, arguments);
        let source = source.into();
        (Self { source, nodes }, mistakes)
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    pub(crate) fn nodes(&self) -> &[BraceNode] {
        &self.nodes
    }

    /// The bytes of a text node.
    pub(crate) fn text(&self, range: &Range<usize>) -> &str {
        self.source.get(range.clone()).unwrap_or_default()
    }

    /// The patterns of the documents that it embeds.
    pub fn patterns(&self) -> impl Iterator<Item = &UriPattern> {
        self.nodes.iter().filter_map(|node| match node {
            BraceNode::Documents(pattern) => Some(pattern),
            _ => None,
        })
    }

    /// True if the argument with this index is used.
    pub(crate) fn uses(&self, argument: usize) -> bool {
        self.nodes.iter().any(|node| match node {
            BraceNode::Text(_) => false,
            BraceNode::Argument(at) => *at == argument,
            BraceNode::Documents(pattern) => pattern.uses(argument),
        })
    }
}
