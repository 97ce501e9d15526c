//! Measures depth and length before the parser sees a template.
//!
//! minijinja parses, compiles and drops expressions by recursion and folds constants while it
//! compiles, so a few kilobytes of operators end the process and a short product takes gigabytes.
//! The limits are far below what overflows a 2 MiB stack.

use crate::problem::ProblemCode;
use std::ops::Range;

use super::TemplateError;
use super::tokens::{TemplateToken, TokenKind};

/// Operators chained in one expression.
pub(crate) const OPERATORS: usize = 200;
/// Nested brackets.
pub(crate) const BRACKETS: usize = 32;
/// Nested blocks.
pub(crate) const BLOCKS: usize = 32;
/// `elif` branches of one `if`.
pub(crate) const BRANCHES: usize = 100;
/// Bytes that the constant products of one source may have.
pub(crate) const CONSTANTS: usize = 64 * 1024;

/// Refuses an expression that is too long or nests too deep.
pub(crate) fn expression(tokens: &[TemplateToken<'_>]) -> Result<(), TemplateError> {
    // One counter for each open bracket: an inner expression is nested below everything around it.
    let mut levels = vec![0];
    let mut total = 0;
    for token in tokens {
        let counted = match token.kind {
            TokenKind::Sign("," | ":" | "=") => {
                if let Some(level) = levels.last_mut() {
                    total -= std::mem::take(level);
                }
                false
            }
            TokenKind::Sign(")" | "]" | "}") => {
                if levels.len() > 1 {
                    total -= levels.pop().unwrap_or_default();
                }
                false
            }
            TokenKind::Sign(_)
            | TokenKind::Name("and" | "or" | "not" | "is" | "in" | "if" | "else") => true,
            _ => false,
        };
        if counted {
            total += 1;
            if let Some(level) = levels.last_mut() {
                *level += 1;
            }
        }
        if total > OPERATORS {
            return Err(TemplateError {
                code: ProblemCode::ExpressionTooLong,
                range: token.range.clone(),
                message: format!("more than {OPERATORS} operators hang together here"),
                help: Some("split the expression, with `{% set %}` for its parts".to_owned()),
            });
        }
        if matches!(token.kind, TokenKind::Sign("(" | "[" | "{")) {
            levels.push(0);
            if levels.len() - 1 > BRACKETS {
                return Err(too_deep(&token.range, "brackets", BRACKETS));
            }
        }
    }
    Ok(())
}

/// The blocks that are open, and how many branches each has.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    open: Vec<usize>,
    branches: usize,
}

impl Blocks {
    /// Enters a block tag.
    pub(crate) fn enter(&mut self, tokens: &[TemplateToken<'_>]) -> Result<(), TemplateError> {
        let Some(TemplateToken {
            kind: TokenKind::Name(keyword),
            range,
        }) = tokens.first()
        else {
            return Ok(());
        };
        match *keyword {
            "if" | "for" | "with" | "autoescape" | "filter" | "block" | "macro" | "call" => {
                self.open.push(0);
            }
            "set"
                if !tokens
                    .iter()
                    .any(|token| token.kind == TokenKind::Sign("=")) =>
            {
                self.open.push(0);
            }
            "elif" => {
                self.branches += 1;
                if let Some(branches) = self.open.last_mut() {
                    *branches += 1;
                    if *branches > BRANCHES {
                        return Err(TemplateError {
                            code: ProblemCode::TooManyBranches,
                            range: range.clone(),
                            message: format!("one `if` has more than {BRANCHES} `elif` branches"),
                            help: Some("split it into several `if` blocks".to_owned()),
                        });
                    }
                }
            }
            keyword if keyword.starts_with("end") => {
                self.branches -= self.open.pop().unwrap_or_default().min(self.branches);
            }
            _ => {}
        }
        // The parser also recurses for each `elif`.
        if self.open.len() > BLOCKS || self.open.len() + self.branches > BLOCKS + BRANCHES {
            return Err(too_deep(range, "blocks", BLOCKS));
        }
        Ok(())
    }
}

fn too_deep(range: &Range<usize>, what: &str, limit: usize) -> TemplateError {
    TemplateError {
        code: ProblemCode::NestingTooDeep,
        range: range.clone(),
        message: format!("{what} nest deeper than {limit}"),
        help: None,
    }
}

/// An upper bound for the bytes of the constant products in a tag when they are compiled.
///
/// `"-" * 40` is computed by the compiler, and so would be `"x" * 99999999`. Only a product of two
/// constants counts; the factors are estimated from above, from all literals of the tag.
pub(crate) fn constant_bytes(tokens: &[TemplateToken<'_>]) -> usize {
    if !multiplies_constants(tokens) {
        return 0;
    }
    let mut bytes: usize = 0;
    let mut factor: usize = 1;
    for token in tokens {
        match token.kind {
            TokenKind::Text(text) => bytes += text.len(),
            TokenKind::Sign("," | "[" | "{") => bytes += 16,
            // A quotient or a power of literals can be larger than their product.
            TokenKind::Sign("/" | "//" | "**") => factor = usize::MAX,
            TokenKind::Number(number) => factor = factor.saturating_mul(size(number).max(2)),
            _ => {}
        }
    }
    bytes.saturating_mul(factor)
}

fn size(number: &str) -> usize {
    let plain = number.replace('_', "");
    plain.parse().unwrap_or_else(|_| {
        // Only whole floats of moderate size remain; everything else counts as infinite.
        match plain.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|b| b.is_ascii_digit()) => whole
                .parse()
                .map_or(usize::MAX, |n: usize| n.saturating_add(1)),
            _ => usize::MAX,
        }
    })
}

fn multiplies_constants(tokens: &[TemplateToken<'_>]) -> bool {
    // For each open bracket, whether it can still hold only constants.
    let mut groups: Vec<bool> = Vec::new();
    let mut constant = false;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Text(_)
            | TokenKind::Number(_)
            | TokenKind::Name("true" | "True" | "false" | "False" | "none" | "None") => {
                constant = true;
            }
            TokenKind::Name("not") => {}
            TokenKind::Name(_) => {
                constant = false;
                if let Some(group) = groups.last_mut() {
                    *group = false;
                }
            }
            TokenKind::Sign("(" | "[" | "{") => {
                // After an operand it is a call or a subscript, and those are not folded.
                groups.push(match at.checked_sub(1).map(|before| tokens[before].kind) {
                    Some(TokenKind::Name("and" | "or" | "not" | "if" | "elif" | "else" | "in")) => {
                        true
                    }
                    Some(
                        TokenKind::Name(_) | TokenKind::Text(_) | TokenKind::Sign(")" | "]" | "}"),
                    ) => false,
                    _ => true,
                });
            }
            TokenKind::Sign(")" | "]" | "}") => {
                constant = groups.pop().unwrap_or(false);
                if let Some(group) = groups.last_mut() {
                    *group &= constant;
                }
            }
            TokenKind::Sign("*") if constant => {
                let next = tokens.get(at + 1).map(|token| token.kind);
                if !matches!(next, Some(TokenKind::Name(name)) if name != "not") {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}
