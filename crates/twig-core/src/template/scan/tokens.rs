//! Cuts a template's source into tokens the way minijinja's lexer does.
//!
//! Only the insides of tags become tokens; text, comments and raw blocks are skipped. Where the
//! lexer would stop with an error this one ends or reads on, never the other way round: whatever
//! the parser can see has been seen here first.

use std::ops::Range;

/// One token and its bytes in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token<'s> {
    pub(crate) kind: Kind<'s>,
    pub(crate) range: Range<usize>,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'s> {
    /// `{{` or `{%`
    Open(Tag),
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

/// Which tag a token stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// `{{ … }}`
    Variable,
    /// `{% … %}`
    Block,
}

impl Tag {
    fn end(self) -> &'static str {
        match self {
            Self::Variable => "}}",
            Self::Block => "%}",
        }
    }
}

/// The tokens of a source, in order.
#[derive(Debug)]
pub(crate) struct Tokens<'s> {
    source: &'s str,
    at: usize,
    inside: Option<Tag>,
    /// Open brackets; a tag ends only where there are none, as in minijinja.
    balance: isize,
}

impl<'s> Tokens<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self {
            source,
            at: 0,
            inside: None,
            balance: 0,
        }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn take(&mut self, length: usize, kind: impl FnOnce(&'s str) -> Kind<'s>) -> Token<'s> {
        let range = self.at..self.at + length;
        self.at = range.end;
        Token {
            kind: kind(&self.source[range.clone()]),
            range,
        }
    }

    /// Skips text, comments and raw blocks up to the next tag.
    fn open(&mut self) -> Option<Token<'s>> {
        loop {
            let rest = self.rest();
            let start = marker(rest)?;
            let bytes = rest.as_bytes();
            let skip = 2 + usize::from(matches!(bytes.get(start + 2), Some(b'-' | b'+')));
            self.at += start;
            let inner = &rest[start + skip..];
            let tag = match bytes[start + 1] {
                b'{' => Tag::Variable,
                b'%' => match bare_tag(inner, "raw") {
                    Some(length) => {
                        self.at += skip + length;
                        self.at += raw_length(self.rest())?;
                        continue;
                    }
                    None => Tag::Block,
                },
                _ => {
                    self.at += skip + inner.find("#}")? + 2;
                    continue;
                }
            };
            self.inside = Some(tag);
            return Some(self.take(skip, |_| Kind::Open(tag)));
        }
    }

    fn close(&mut self, tag: Tag) -> Option<Token<'s>> {
        let rest = self.rest();
        let bare = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        let length = [rest, bare]
            .iter()
            .find(|text| text.starts_with(tag.end()))
            .map(|text| rest.len() - text.len() + 2)?;
        self.inside = None;
        Some(self.take(length, |_| Kind::Close))
    }

    fn inner(&mut self) -> Option<Token<'s>> {
        let rest = self.rest();
        let first = *rest.as_bytes().first()?;
        if let Some(sign) = sign(rest) {
            self.balance += match first {
                b'(' | b'[' | b'{' => 1,
                b')' | b']' | b'}' => -1,
                _ => 0,
            };
            return Some(self.take(sign, Kind::Sign));
        }
        if matches!(first, b'"' | b'\'') {
            let length = string_length(rest)?;
            return Some(self.take(length, Kind::Text));
        }
        if first.is_ascii_digit() {
            let after_dot = self.source[..self.at].ends_with('.');
            return Some(self.take(number_length(rest, after_dot), Kind::Number));
        }
        match name_length(rest) {
            0 => None,
            length => Some(self.take(length, Kind::Name)),
        }
    }
}

impl<'s> Iterator for Tokens<'s> {
    type Item = Token<'s>;

    fn next(&mut self) -> Option<Token<'s>> {
        let Some(tag) = self.inside else {
            return self.open();
        };
        let rest = self.rest();
        self.at += rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_whitespace())
                .len();
        if self.balance == 0
            && let Some(token) = self.close(tag)
        {
            return Some(token);
        }
        let token = self.inner();
        if token.is_none() {
            // The lexer stops here with an error, so nothing behind it is ever parsed.
            self.at = self.source.len();
        }
        token
    }
}

/// Where the next `{{`, `{%` or `{#` is.
fn marker(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find('{')?;
        if matches!(text.as_bytes().get(at + 1), Some(b'{' | b'%' | b'#')) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The length of a tag that is nothing but a name, from behind its marker to behind its end.
fn bare_tag(text: &str, name: &str) -> Option<usize> {
    let space = |c: char| c.is_ascii_whitespace();
    let rest = text.trim_start_matches(space).strip_prefix(name)?;
    let rest = rest.trim_start_matches(space);
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    let rest = rest.strip_prefix("%}")?;
    Some(text.len() - rest.len())
}

/// The length of a raw block's text and its end tag.
fn raw_length(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find("{%")? + 2;
        let inner = text[at..].strip_prefix(['-', '+']).unwrap_or(&text[at..]);
        if let Some(length) = bare_tag(inner, "endraw") {
            return Some(text.len() - inner.len() + length);
        }
    }
}

fn sign(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.get(..2) {
        Some(b"//" | b"**" | b"==" | b"!=" | b">=" | b"<=") => Some(2),
        _ => b"+-*/%.,:~|=><()[]{}".contains(bytes.first()?).then_some(1),
    }
}

fn string_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == bytes[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// ASCII names as the lexer has them; other letters are read on, which is the safe side.
fn name_length(text: &str) -> usize {
    text.find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len())
}

fn number_length(text: &str, after_dot: bool) -> usize {
    #[derive(Clone, Copy)]
    enum State {
        Radix,
        Integer,
        Fraction,
        Exponent,
        ExponentSign,
    }
    let bytes = text.as_bytes();
    let (mut at, mut state, hex) = match bytes.get(..2) {
        Some(b"0x" | b"0X") => (2, State::Radix, true),
        Some(b"0b" | b"0B" | b"0o" | b"0O") => (2, State::Radix, false),
        _ => (0, State::Integer, false),
    };
    at += bytes[at..]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count();
    while let Some(byte) = bytes.get(at) {
        state = match (byte, state) {
            (b'.', State::Integer) if !after_dot => {
                let exponent = matches!(bytes.get(at + 1), Some(b'e' | b'E'))
                    && matches!(bytes.get(at + 2), Some(b'+' | b'-' | b'0'..=b'9'));
                let named = bytes
                    .get(at + 1)
                    .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
                if named && !exponent {
                    break;
                }
                State::Fraction
            }
            (b'E' | b'e', State::Integer | State::Fraction) => State::Exponent,
            (b'+' | b'-' | b'0'..=b'9', State::Exponent) => State::ExponentSign,
            (b'0'..=b'9' | b'_', state) => state,
            (b'a'..=b'f' | b'A'..=b'F', State::Radix) if hex => state,
            _ => break,
        };
        at += 1;
    }
    at
}
