//! The tokens inside a template's tags, from minijinja's own lexer: the scan and the parser cannot
//! disagree about them.
//!
//! Text, comments and raw blocks are skipped. The tokens end where the lexer finds a mistake, because
//! the parser stops there, too. This is the only use of the engine's unstable API, which is why its
//! version is pinned.

use std::ops::Range;

use minijinja::machinery::{Token as EngineToken, Tokenizer};
use minijinja::syntax::SyntaxConfig;

/// One token and its bytes in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateToken<'s> {
    /// What it is.
    pub kind: TokenKind<'s>,
    /// Where it is.
    pub range: Range<usize>,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind<'s> {
    /// `{{` or `{%`
    Open(TagKind),
    /// The end of either.
    Close,
    /// A name or keyword.
    Name(&'s str),
    /// A string, quotes included.
    Text(&'s str),
    /// A number.
    Number(&'s str),
    /// Any other sign, such as `==` or `(`.
    Sign(&'s str),
}

/// Which tag a token is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagKind {
    /// `{{ … }}`
    Variable,
    /// `{% … %}`
    Block,
}

/// The tokens of a source, in order.
pub struct Tokens<'s> {
    source: &'s str,
    lexer: Tokenizer<'s>,
}

impl<'s> Tokens<'s> {
    /// The tokens of a template's source.
    pub fn new(source: &'s str) -> Self {
        Self {
            source,
            lexer: Tokenizer::new(source, "", false, SyntaxConfig::default()),
        }
    }
}

/// The start of the comment that has no end, if a template has one.
pub(crate) fn unclosed_comment(source: &str) -> Option<Range<usize>> {
    let mut lexer = Tokens::new(source).lexer;
    let mut read = 0;
    while let Ok(Some((_, span))) = lexer.next_token() {
        read = span.end_offset as usize;
    }
    // Comments before it are no tokens, and nothing after it ends one.
    let closed = source.rfind("#}").map_or(0, |at| at + 2);
    let from = read.max(closed);
    let at = from + source.get(from..)?.find("{#")?;
    Some(at..at + 2)
}

impl<'s> Iterator for Tokens<'s> {
    type Item = TemplateToken<'s>;

    fn next(&mut self) -> Option<TemplateToken<'s>> {
        loop {
            let (token, span) = self.lexer.next_token().ok()??;
            let range = span.start_offset as usize..span.end_offset as usize;
            let text = self.source.get(range.clone())?;
            let kind = match token {
                EngineToken::TemplateData(_) => continue,
                EngineToken::VariableStart => TokenKind::Open(TagKind::Variable),
                EngineToken::BlockStart => TokenKind::Open(TagKind::Block),
                EngineToken::VariableEnd | EngineToken::BlockEnd => TokenKind::Close,
                EngineToken::Ident(name) => TokenKind::Name(name),
                EngineToken::Str(_) | EngineToken::String(_) => TokenKind::Text(text),
                EngineToken::Int(_) | EngineToken::Int128(_) | EngineToken::Float(_) => {
                    TokenKind::Number(text)
                }
                _ => TokenKind::Sign(text),
            };
            return Some(TemplateToken { kind, range });
        }
    }
}
