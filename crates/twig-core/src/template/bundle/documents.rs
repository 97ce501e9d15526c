//! `resource("URI")` in a template: documents that are known before it is rendered.
//!
//! A call with a quoted URI is replaced by a variable of the same length, so that places stay the
//! same; its value is passed with the arguments. A document is then a value: it is printed once, it
//! bounds the output of a plain template, and it is sent to a worker like the arguments.

use crate::problem::ProblemCode;
use std::fmt::Write;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::braces::UriPattern;
use crate::template::scan::{TemplateError, TemplateToken, TokenKind, Tokens};

/// A document, or a folder of them, that a template embeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Embed {
    /// The variable that stands for it.
    pub(crate) variable: String,
    pub(crate) uri: UriPattern,
}

/// Different URIs in one template and what it includes: far more than may be embedded.
const MOST: usize = 256;

/// Adds the documents of an included template; the error says that there are too many.
pub(super) fn merge(known: &mut Vec<Embed>, more: &[Embed]) -> Result<(), String> {
    for embed in more {
        if known.contains(embed) {
            continue;
        }
        if known.len() == MOST {
            return Err(too_many());
        }
        known.push(embed.clone());
    }
    Ok(())
}

fn too_many() -> String {
    format!("more than {MOST} resources in one template")
}

/// The template with variables in place of its calls; `None` if it has none.
pub(super) fn take(text: &str, known: &mut Vec<Embed>) -> Result<Option<String>, TemplateError> {
    // Hardly any template embeds documents.
    if !text.contains("resource") {
        return Ok(None);
    }
    let tokens: Vec<TemplateToken<'_>> = Tokens::new(text).collect();
    let kind = |at: usize| tokens.get(at).map(|token| token.kind);
    let is_own = |pair: &[TemplateToken<'_>]| {
        matches!(
            pair[0].kind,
            TokenKind::Name("macro" | "set" | "import" | "as")
        ) && pair[1].kind == TokenKind::Name("resource")
    };
    if tokens.windows(2).any(is_own) {
        return Ok(None);
    }
    let mut taken: Vec<(Range<usize>, String)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_member = at > 0 && matches!(kind(at - 1), Some(TokenKind::Sign("." | "|")));
        if token.kind != TokenKind::Name("resource")
            || is_member
            || kind(at + 1) != Some(TokenKind::Sign("("))
            || kind(at + 3) != Some(TokenKind::Sign(")"))
        {
            continue;
        }
        let Some(TokenKind::Text(quoted)) = kind(at + 2) else {
            continue;
        };
        let range = token.range.start..tokens[at + 3].range.end;
        taken.push((range.clone(), embed(quoted, &range, known)?));
    }
    if taken.is_empty() {
        return Ok(None);
    }
    let mut rewritten = String::with_capacity(text.len());
    let mut from = 0;
    for (range, variable) in taken {
        rewritten.push_str(&text[from..range.start]);
        rewritten.push_str(&variable);
        // Keep the line ends inside the brackets, so that later lines keep their numbers. A call is
        // longer than its variable by more than its line ends.
        let lines = text[range.clone()].matches('\n').count();
        let blanks = range.len().saturating_sub(variable.len() + lines);
        rewritten.extend(std::iter::repeat_n(' ', blanks));
        rewritten.extend(std::iter::repeat_n('\n', lines));
        from = range.end;
    }
    rewritten.push_str(&text[from..]);
    Ok(Some(rewritten))
}

/// The variable for a quoted URI.
fn embed(
    quoted: &str,
    range: &Range<usize>,
    known: &mut Vec<Embed>,
) -> Result<String, TemplateError> {
    let uri = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    let (pattern, mistakes) = UriPattern::parse(uri, &[]);
    let mistake = mistakes.into_iter().next();
    let (Some(uri), None) = (pattern, &mistake) else {
        let (message, help) = mistake
            .map(|one| (one.message, one.help))
            .unwrap_or_default();
        return Err(TemplateError {
            code: ProblemCode::BadResource,
            range: range.clone(),
            message,
            help: Some(help),
        });
    };
    if let Some(embed) = known.iter().find(|embed| embed.uri == uri) {
        return Ok(embed.variable.clone());
    }
    if known.len() == MOST {
        return Err(TemplateError {
            code: ProblemCode::TooManyResources,
            range: range.clone(),
            message: too_many(),
            help: Some("name whole folders: `…/*`".to_owned()),
        });
    }
    // One name for one URI in every template, shorter than any call.
    let digest = Sha256::digest(uri.as_str().as_bytes());
    let mut variable = "_d".to_owned();
    for byte in digest.iter().take(6) {
        let _ = write!(variable, "{byte:02x}");
    }
    let embed = Embed {
        variable: variable.clone(),
        uri,
    };
    known.push(embed);
    Ok(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_variables_of_their_length() {
        let text = "a {{ resource(\"x://a/*\") }} {{ x.resource('x://b') }} {{ resource(\n'x://c') }} resource(\"x://d\")";
        let mut known = Vec::new();
        let rewritten = take(text, &mut known).unwrap().unwrap();
        let uris: Vec<&str> = known.iter().map(|embed| embed.uri.as_str()).collect();
        assert_eq!(uris, ["x://a/*", "x://c"]);
        assert_eq!(rewritten.len(), text.len());
        assert_eq!(rewritten.find("resource"), text.find("resource('x://b"));
        assert_eq!(rewritten.matches('\n').count(), 1);
        for own in [
            "{% macro resource(u) %}{% endmacro %}{{ resource('x://a') }}",
            "{% set resource = 1 %}{{ resource('x://a') }}",
            "{{ resource(u) }}",
        ] {
            assert_eq!(take(own, &mut known), Ok(None), "{own}");
        }
        assert!(take("{{ resource('no scheme://') }}", &mut known).is_err());
    }
}
