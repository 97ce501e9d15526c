//! Scans a template's source in linear time before the parser sees it.
//!
//! The scan finds the references of the template, refuses chains and nesting that would overflow
//! the parser's stack, and separates plain templates from computed ones. It reads tokens, not
//! grammar: anything that it does not know to be harmless makes a template computed.

mod measure;
pub(crate) mod names;
mod plain;
mod reference;
mod tokens;

use crate::problem::ProblemCode;
use std::ops::Range;

use self::measure::{Blocks, CONSTANTS, constant_bytes};
#[cfg(test)]
pub(crate) use self::plain::{FILTERS as PLAIN_FILTERS, TESTS as PLAIN_TESTS};
use self::plain::{is_plain_block, is_plain_expression, operations};
use self::reference::reference;
pub(crate) use self::reference::unquote;
pub(crate) use self::tokens::unclosed_comment;
pub use self::tokens::{TagKind, TemplateToken, TokenKind, Tokens};

/// Whether a template may be rendered on the calling thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Prints, branches and includes only.
    #[default]
    Plain,
    /// Anything else.
    Computed,
}

/// How one template refers to another.
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
pub(crate) struct TemplateReference {
    /// Which tag it is.
    pub(crate) how: How,
    /// The names, as written, with their places in the source (quotes included).
    pub(crate) names: Vec<(String, Range<usize>)>,
    /// True if a missing template is no error.
    pub(crate) ignore_missing: bool,
}

/// What the scan found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TemplateScan {
    /// The class of this source alone.
    pub(crate) sort: Sort,
    /// Its references, in order.
    pub(crate) references: Vec<TemplateReference>,
    /// Filters, tests and comparisons: their time depends on the length of a value.
    pub(crate) operations: usize,
    /// Tokens in tags, which determine the size of the compiled template.
    pub(crate) tokens: usize,
    /// Named blocks, which are compiled separately.
    pub(crate) named_blocks: usize,
    /// True if it asks which of two values is larger.
    pub(crate) has_order: bool,
}

/// A mistake that the scan itself found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// The problem's code.
    pub(crate) code: ProblemCode,
    /// Where.
    pub(crate) range: Range<usize>,
    /// What.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

impl TemplateError {
    /// True if the template is well formed but would do too much.
    pub(crate) fn is_limit(&self) -> bool {
        self.code == ProblemCode::ConstantTooLarge
    }
}

/// Scans a template.
pub(crate) fn scan(source: &str) -> Result<TemplateScan, TemplateError> {
    let mut scanner = Scanner::default();
    let mut tag = None;
    let mut tokens = Vec::new();
    for token in Tokens::new(source) {
        match token.kind {
            TokenKind::Open(opened) => tag = Some(opened),
            TokenKind::Close => {
                scanner.tag(tag.take(), &tokens)?;
                tokens.clear();
            }
            _ => tokens.push(token),
        }
    }
    // The parser reads an unclosed tag, too, before it complains.
    scanner.tag(tag, &tokens)?;
    Ok(scanner.found)
}

#[derive(Default)]
struct Scanner {
    found: TemplateScan,
    blocks: Blocks,
    constants: usize,
}

impl Scanner {
    fn tag(
        &mut self,
        tag: Option<TagKind>,
        tokens: &[TemplateToken<'_>],
    ) -> Result<(), TemplateError> {
        let Some(tag) = tag else {
            return Ok(());
        };
        let is_plain = match tag {
            TagKind::Variable => {
                measure::expression(tokens)?;
                is_plain_expression(tokens)
            }
            TagKind::Block => {
                // The keyword itself is no operator, though `if` looks like one.
                measure::expression(tokens.get(1..).unwrap_or_default())?;
                self.blocks.enter(tokens)?;
                self.found.references.extend(reference(tokens)?);
                is_plain_block(tokens)
            }
        };
        self.constants = self.constants.saturating_add(constant_bytes(tokens));
        if self.constants > CONSTANTS
            && let (Some(first), Some(last)) = (tokens.first(), tokens.last())
        {
            return Err(TemplateError {
                code: ProblemCode::ConstantTooLarge,
                range: first.range.start..last.range.end,
                message: format!(
                    "repeated constants in the template exceed the limit of {CONSTANTS} bytes"
                ),
                help: Some("repeat the text in a loop, or write it out".to_owned()),
            });
        }
        if !is_plain {
            self.found.sort = Sort::Computed;
        }
        self.found.operations += operations(tokens);
        self.found.has_order |= tokens.iter().any(|token| {
            matches!(
                token.kind,
                TokenKind::Sign("<" | "<=" | ">" | ">=")
                    | TokenKind::Name("lt" | "le" | "gt" | "ge" | "lessthan" | "greaterthan")
            )
        });
        // The delimiters count: even an empty tag ends a piece of text.
        self.found.tokens += tokens.len() + 2;
        let first = tokens.first().map(|token| token.kind);
        self.found.named_blocks += usize::from(first == Some(TokenKind::Name("block")));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
