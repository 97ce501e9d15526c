//! Which tags are plain: their output is bounded by their input.

use super::tokens::{TemplateToken, TokenKind};

/// Filters whose output is at most a small multiple of their input.
pub(crate) const FILTERS: [&str; 9] = [
    "capitalize",
    "count",
    "d",
    "default",
    "length",
    "lower",
    "title",
    "trim",
    "upper",
];

/// Tests that only check the type of a value.
pub(crate) const TESTS: [&str; 14] = [
    "boolean",
    "defined",
    "false",
    "float",
    "int",
    "integer",
    "iterable",
    "mapping",
    "none",
    "number",
    "sequence",
    "string",
    "true",
    "undefined",
];

/// Filters in a row on one value.
const FILTER_CHAIN: usize = 4;

/// True if a block tag is harmless; references are checked before.
pub(crate) fn is_plain_block(tokens: &[TemplateToken<'_>]) -> bool {
    let Some((first, rest)) = tokens.split_first() else {
        return true;
    };
    match first.kind {
        TokenKind::Name("if" | "elif") => is_plain_expression(rest),
        TokenKind::Name("else" | "endif" | "include") => true,
        _ => false,
    }
}

/// True if an expression is harmless. It need not be well formed: the parser checks that.
pub(crate) fn is_plain_expression(tokens: &[TemplateToken<'_>]) -> bool {
    // For each open bracket, whether it holds a filter's arguments.
    let mut brackets: Vec<bool> = Vec::new();
    let mut filters = 0;
    let mut after_operand = false;
    let mut at = 0;
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    while let Some(token) = kind(at) {
        at += 1;
        match token {
            TokenKind::Sign("|") => {
                filters += 1;
                let Some(TokenKind::Name(name)) = kind(at) else {
                    return false;
                };
                if filters > FILTER_CHAIN || !FILTERS.contains(&name) {
                    return false;
                }
                at += 1;
                if kind(at) == Some(TokenKind::Sign("(")) {
                    if !matches!(name, "default" | "d") {
                        return false;
                    }
                    brackets.push(true);
                    at += 1;
                    after_operand = false;
                } else {
                    after_operand = true;
                }
            }
            TokenKind::Name("is") => {
                at += usize::from(kind(at) == Some(TokenKind::Name("not")));
                let Some(TokenKind::Name(name)) = kind(at) else {
                    return false;
                };
                at += 1;
                // Anything else after the name would be the test's argument.
                let ends = matches!(
                    kind(at),
                    None | Some(
                        TokenKind::Name("and" | "or" | "else" | "is")
                            | TokenKind::Sign(
                                ")" | "," | "|" | "==" | "!=" | "<" | "<=" | ">" | ">="
                            )
                    )
                );
                if !ends || !TESTS.contains(&name) {
                    return false;
                }
                after_operand = true;
            }
            TokenKind::Name("and" | "or" | "not" | "if" | "else")
            | TokenKind::Sign("==" | "!=" | "<" | "<=" | ">" | ">=") => {
                filters = 0;
                after_operand = false;
            }
            TokenKind::Name("in") => return false,
            TokenKind::Name(name) if !name.is_ascii() => return false,
            TokenKind::Name(_) | TokenKind::Text(_) | TokenKind::Number(_) => after_operand = true,
            TokenKind::Sign("(") => {
                // After an operand it is a call, and an empty pair is a tuple.
                if after_operand || kind(at) == Some(TokenKind::Sign(")")) {
                    return false;
                }
                brackets.push(false);
            }
            TokenKind::Sign(")") => {
                if brackets.pop().is_none() {
                    return false;
                }
                after_operand = true;
            }
            TokenKind::Sign("," | "=") if brackets.last() == Some(&true) => {
                filters = 0;
                after_operand = false;
            }
            _ => return false,
        }
    }
    true
}

/// Filters, tests and comparisons in a tag: their time depends on the length of a value.
pub(crate) fn operations(tokens: &[TemplateToken<'_>]) -> usize {
    tokens
        .iter()
        .filter(|token| {
            matches!(
                token.kind,
                TokenKind::Name("is" | "in")
                    | TokenKind::Sign("|" | "==" | "!=" | "<" | "<=" | ">" | ">=")
            )
        })
        .count()
}
