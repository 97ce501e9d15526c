//! Whether a template only prints: then its text can be exported in another syntax.

use std::sync::Arc;

use super::gather::{PromptSources, gather};
use super::{BundleError, Source};
use crate::model::{Content, Library};
use crate::render_error::RenderError;
use crate::template::TemplateFiles;
use crate::template::scan::{TagKind, TemplateToken, TokenKind, Tokens, unquote};

/// What a template and its includes do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printing {
    /// Names that are printed with `default("…")`, and that text.
    pub defaults: Vec<(String, String)>,
    /// What it does besides printing and including.
    pub does_more: Option<&'static str>,
    /// Whether it embeds documents.
    pub documents: bool,
}

/// Inspects a template without rendering it.
pub fn printing(
    files: TemplateFiles<'_>,
    library: &Arc<Library>,
    content: &Content,
) -> Result<Printing, RenderError> {
    let closure = gather(files, library, content, &mut PromptSources::default());
    let closure = closure.map_err(BundleError::into_render_error)?;
    let mut found = Printing {
        documents: !closure.documents.is_empty(),
        ..Printing::default()
    };
    for source in &closure.sources {
        look(source, &mut found);
    }
    Ok(found)
}

fn look(source: &Source, found: &mut Printing) {
    let mut tag = None;
    let mut tokens: Vec<TemplateToken<'_>> = Vec::new();
    for token in Tokens::new(&source.text) {
        match token.kind {
            TokenKind::Open(opened) => tag = Some(opened),
            TokenKind::Close => {
                let more = match tag.take() {
                    Some(TagKind::Variable) => variable(&tokens, found),
                    Some(TagKind::Block) => block(&tokens),
                    None => None,
                };
                found.does_more = found.does_more.or(more);
                tokens.clear();
            }
            _ => tokens.push(token),
        }
    }
}

fn variable(tokens: &[TemplateToken<'_>], found: &mut Printing) -> Option<&'static str> {
    let kinds: Vec<TokenKind<'_>> = tokens.iter().map(|token| token.kind).collect();
    match *kinds {
        [TokenKind::Name(_) | TokenKind::Text(_)] => None,
        [
            TokenKind::Name(name),
            TokenKind::Sign("|"),
            TokenKind::Name("default" | "d"),
            TokenKind::Sign("("),
            TokenKind::Text(quoted),
            ref end @ ..,
        ] if matches!(
            *end,
            [TokenKind::Sign(")")]
                | [
                    TokenKind::Sign(","),
                    TokenKind::Name("true" | "True"),
                    TokenKind::Sign(")")
                ]
        ) =>
        {
            found.defaults.push((name.to_owned(), unquote(quoted)));
            None
        }
        _ if kinds.contains(&TokenKind::Sign("|")) => Some("filters"),
        _ if kinds.contains(&TokenKind::Name("if")) => Some("conditions"),
        _ => Some("computed parts"),
    }
}

fn block(tokens: &[TemplateToken<'_>]) -> Option<&'static str> {
    let first = tokens.first().map(|token| token.kind);
    match first {
        Some(TokenKind::Name("include")) => None,
        Some(TokenKind::Name("if" | "elif" | "else" | "endif")) => Some("conditions"),
        Some(TokenKind::Name("for" | "endfor")) => Some("loops"),
        _ => Some("computed parts"),
    }
}
