//! The names in `include`, `extends`, `import` and `from`.

use crate::problem::ProblemCode;
use std::ops::Range;

use minijinja::Environment;

use super::tokens::{TemplateToken, TokenKind};
use super::{How, TemplateError, TemplateReference};

/// The references of a block tag; `None` for other tags, and for those that the parser refuses.
pub(crate) fn reference(
    tokens: &[TemplateToken<'_>],
) -> Result<Option<TemplateReference>, TemplateError> {
    let Some((keyword, rest)) = tokens.split_first() else {
        return Ok(None);
    };
    let TokenKind::Name(word) = keyword.kind else {
        return Ok(None);
    };
    let how = match word {
        "include" => How::Include,
        "extends" => How::Extends,
        "import" | "from" => How::Import,
        _ => return Ok(None),
    };
    let Some(first) = rest.first() else {
        return Ok(None);
    };
    let Some((names, after)) = names(rest, how) else {
        return Err(dynamic(word, first.range.clone()));
    };
    if let Some(token) = after.first()
        && continues(token)
    {
        return Err(dynamic(word, first.range.start..token.range.end));
    }
    let ignore_missing = after.windows(2).any(|pair| {
        pair[0].kind == TokenKind::Name("ignore") && pair[1].kind == TokenKind::Name("missing")
    });
    Ok(Some(TemplateReference {
        how,
        names,
        ignore_missing: ignore_missing && how == How::Include,
    }))
}

/// True if a token after a name makes it an expression.
fn continues(token: &TemplateToken<'_>) -> bool {
    matches!(
        token.kind,
        TokenKind::Sign(_) | TokenKind::Name("if" | "is" | "in" | "and" | "or" | "not")
    )
}

fn dynamic(word: &str, range: Range<usize>) -> TemplateError {
    TemplateError {
        code: ProblemCode::DynamicInclude,
        range,
        message: format!("`{word}` needs a quoted name here"),
        help: Some("write the name in quotes; values cannot choose files".to_owned()),
    }
}

type ReferenceName = (String, Range<usize>);

/// One name, or a list of them for `include`; then what follows.
fn names<'t, 's>(
    tokens: &'t [TemplateToken<'s>],
    how: How,
) -> Option<(Vec<ReferenceName>, &'t [TemplateToken<'s>])> {
    let opening = tokens.first()?.kind;
    let closing = match opening {
        TokenKind::Sign("[") if how == How::Include => TokenKind::Sign("]"),
        TokenKind::Sign("(") if how == How::Include => TokenKind::Sign(")"),
        _ => {
            let (name, rest) = name(tokens)?;
            return Some((vec![name], rest));
        }
    };
    let mut names = Vec::new();
    let mut rest = &tokens[1..];
    loop {
        match rest.first().map(|token| token.kind) {
            Some(kind) if kind == closing => break,
            _ => {
                let (name, after) = name(rest)?;
                names.push(name);
                rest = after;
            }
        }
        match rest.first().map(|token| token.kind) {
            Some(TokenKind::Sign(",")) => rest = &rest[1..],
            Some(kind) if kind == closing => break,
            _ => return None,
        }
    }
    // An empty list names nothing, which is surely a mistake.
    (!names.is_empty()).then(|| (names, &rest[1..]))
}

/// Adjacent strings are one name, as in Python.
fn name<'t, 's>(
    tokens: &'t [TemplateToken<'s>],
) -> Option<(ReferenceName, &'t [TemplateToken<'s>])> {
    let count = tokens
        .iter()
        .take_while(|token| matches!(token.kind, TokenKind::Text(_)))
        .count();
    let (strings, rest) = tokens.split_at(count);
    let range = strings.first()?.range.start..strings.last()?.range.end;
    let mut name = String::new();
    for token in strings {
        if let TokenKind::Text(text) = token.kind {
            name.push_str(&unquote(text));
        }
    }
    Some(((name, range), rest))
}

/// The text between quotes; minijinja resolves the escapes, so that both agree.
pub(crate) fn unquote(text: &str) -> String {
    let inner = &text[1..text.len() - 1];
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    Environment::empty()
        .compile_expression(text)
        .and_then(|expression| expression.eval(()))
        .map_or_else(|_| inner.to_owned(), |value| value.to_string())
}
