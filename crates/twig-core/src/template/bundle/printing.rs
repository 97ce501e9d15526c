//! Whether a template does nothing but print: then its text can be written in another syntax.

use std::sync::Arc;

use super::gather::{PromptSources, gather};
use super::{BundleError, Source};
use crate::model::{Content, Library};
use crate::render_error::RenderError;
use crate::template::TemplateFiles;
use crate::template::scan::{Kind, Tag, Token, Tokens, unquote};

/// What a template and what it includes do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printing {
    /// Names that are printed with `default("…")`, and that text.
    pub defaults: Vec<(String, String)>,
    /// What it does besides printing and including.
    pub does_more: Option<&'static str>,
    /// Whether it embeds documents.
    pub documents: bool,
}

/// Looks at a template without rendering it.
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
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for token in Tokens::new(&source.text) {
        match token.kind {
            Kind::Open(opened) => tag = Some(opened),
            Kind::Close => {
                let more = match tag.take() {
                    Some(Tag::Variable) => variable(&tokens, found),
                    Some(Tag::Block) => block(&tokens),
                    None => None,
                };
                found.does_more = found.does_more.or(more);
                tokens.clear();
            }
            _ => tokens.push(token),
        }
    }
}

fn variable(tokens: &[Token<'_>], found: &mut Printing) -> Option<&'static str> {
    let kinds: Vec<Kind<'_>> = tokens.iter().map(|token| token.kind).collect();
    match *kinds {
        [Kind::Name(_) | Kind::Text(_)] => None,
        [
            Kind::Name(name),
            Kind::Sign("|"),
            Kind::Name("default" | "d"),
            Kind::Sign("("),
            Kind::Text(quoted),
            ref end @ ..,
        ] if matches!(
            *end,
            [Kind::Sign(")")]
                | [
                    Kind::Sign(","),
                    Kind::Name("true" | "True"),
                    Kind::Sign(")")
                ]
        ) =>
        {
            found.defaults.push((name.to_owned(), unquote(quoted)));
            None
        }
        _ if kinds.contains(&Kind::Sign("|")) => Some("filters"),
        _ if kinds.contains(&Kind::Name("if")) => Some("conditions"),
        _ => Some("computed parts"),
    }
}

fn block(tokens: &[Token<'_>]) -> Option<&'static str> {
    let first = tokens.first().map(|token| token.kind);
    match first {
        Some(Kind::Name("include")) => None,
        Some(Kind::Name("if" | "elif" | "else" | "endif")) => Some("conditions"),
        Some(Kind::Name("for" | "endfor")) => Some("loops"),
        _ => Some("computed parts"),
    }
}
