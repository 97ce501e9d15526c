//! What the names in a template's tags are: variables, filters, tests, or names given to something.
//!
//! It reads tokens of a template that compiles and follows the parser's grammar as far as names
//! need it. The caller decides which of the variables are bound where they are used.

use std::borrow::Cow;
use std::ops::Range;

use super::tokens::{TagKind, TemplateToken, TokenKind, Tokens};

/// One event in the life of a name, in the order of a render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameEvent<'s> {
    /// A variable is looked up.
    Use(Use<'s>),
    /// A filter is applied.
    Filter(Cow<'s, str>, Range<usize>),
    /// A test is made.
    Test(Cow<'s, str>, Range<usize>),
    /// A name gets a value.
    Bind(&'s str, By),
    /// A block begins.
    Open(BlockScope),
    /// An `else`, which ends what a loop binds.
    Else,
    /// The innermost block ends.
    Close,
}

/// A variable where it is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use<'s> {
    pub(crate) name: &'s str,
    pub(crate) range: Range<usize>,
    pub(crate) how: Manner,
}

/// What is done with a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Any use that fails if the variable is undefined.
    Read,
    /// Called like a function.
    Called,
    /// Given a default right there.
    Defaulted,
    /// Asked whether it is defined.
    Tested,
}

/// How a name gets its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// `for`, `with`, and the parameters of a macro: valid inside the block.
    Block,
    /// `set`, `macro` and imports: valid from there on.
    Statement,
}

/// What a block does to the names bound in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockScope {
    /// They stay bound after it, as with `if`.
    Transparent,
    /// They end with it.
    Scope,
    /// They end with it, or at its `else`.
    Loop,
    /// They end with it; it runs later and sees names that are set after it.
    Deferred,
}

/// Reads the names of a template that compiles.
pub(crate) fn names(source: &str) -> Vec<NameEvent<'_>> {
    let mut reader = NameReader::default();
    let mut tag = TagKind::Variable;
    let mut tokens = Vec::new();
    for token in Tokens::new(source) {
        match token.kind {
            TokenKind::Open(opened) => tag = opened,
            TokenKind::Close => {
                match tag {
                    TagKind::Variable => reader.expression(&tokens),
                    TagKind::Block => reader.block(&tokens),
                }
                tokens.clear();
            }
            _ => tokens.push(token),
        }
    }
    reader.events
}

#[derive(Default)]
struct NameReader<'s> {
    events: Vec<NameEvent<'s>>,
    /// For each open block, the events after its end: `set` binds then.
    at_end: Vec<Vec<NameEvent<'s>>>,
    extends: bool,
}

impl<'s> NameReader<'s> {
    fn block(&mut self, tokens: &[TemplateToken<'s>]) {
        let Some((first, rest)) = tokens.split_first() else {
            return;
        };
        let TokenKind::Name(keyword) = first.kind else {
            return;
        };
        match keyword {
            "if" | "autoescape" => {
                self.expression(rest);
                self.open(BlockScope::Transparent);
            }
            "elif" | "do" => self.expression(rest),
            "else" => self.events.push(NameEvent::Else),
            "for" => self.for_loop(rest),
            "with" => self.with(rest),
            "set" => self.set(rest),
            "filter" => {
                let after = self.filter(rest);
                self.expression(&rest[after..]);
                self.open(BlockScope::Transparent);
            }
            "extends" => self.extends = true,
            // If a template extends another, its blocks run after everything else in it.
            "block" if self.extends => self.open(BlockScope::Deferred),
            "block" => self.open(BlockScope::Scope),
            "macro" => self.macro_block(rest),
            "call" => self.call_block(rest),
            "import" => {
                let name = rest.iter().skip_while(|token| !is_name(token, "as")).nth(1);
                self.bind(name, By::Statement);
            }
            "from" => self.import_names(rest),
            keyword if keyword.starts_with("end") => {
                self.events.push(NameEvent::Close);
                self.events.extend(self.at_end.pop().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn open(&mut self, block: BlockScope) {
        self.events.push(NameEvent::Open(block));
        self.at_end.push(Vec::new());
    }

    fn bind(&mut self, token: Option<&TemplateToken<'s>>, by: By) {
        if let Some(TokenKind::Name(name)) = token.map(|token| token.kind) {
            self.events.push(NameEvent::Bind(name, by));
        }
    }

    fn for_loop(&mut self, tokens: &[TemplateToken<'s>]) {
        let (targets, rest) = split(tokens, |token| is_name(token, "in"));
        let (values, condition) = split(rest, |token| is_name(token, "if"));
        self.expression(values);
        self.open(BlockScope::Loop);
        self.targets(targets, By::Block);
        self.expression(condition);
    }

    fn with(&mut self, tokens: &[TemplateToken<'s>]) {
        self.open(BlockScope::Scope);
        let mut rest = tokens;
        while !rest.is_empty() {
            let (part, after) = split(rest, |token| is_sign(token, ","));
            let (targets, value) = split(part, |token| is_sign(token, "="));
            self.expression(value);
            self.targets(targets, By::Block);
            rest = after;
        }
    }

    fn set(&mut self, tokens: &[TemplateToken<'s>]) {
        let (targets, value) = split(tokens, |token| is_sign(token, "="));
        if value.is_empty() {
            let filters = targets.iter().position(|token| is_sign(token, "|"));
            let (targets, filters) = targets.split_at(filters.unwrap_or(targets.len()));
            self.expression(filters);
            self.open(BlockScope::Transparent);
            let before = self.events.len();
            self.targets(targets, By::Statement);
            let bound = self.events.split_off(before);
            if let Some(at_end) = self.at_end.last_mut() {
                *at_end = bound;
            }
        } else {
            self.expression(value);
            self.targets(targets, By::Statement);
        }
    }

    fn macro_block(&mut self, tokens: &[TemplateToken<'s>]) {
        self.bind(tokens.first(), By::Statement);
        self.open(BlockScope::Deferred);
        let (parameters, _) = bracketed(tokens.get(1..).unwrap_or_default());
        self.parameters(parameters);
    }

    fn call_block(&mut self, tokens: &[TemplateToken<'s>]) {
        let (parameters, call) = match tokens.first() {
            Some(token) if is_sign(token, "(") => bracketed(tokens),
            _ => (&[][..], tokens),
        };
        self.expression(call);
        self.open(BlockScope::Deferred);
        self.parameters(parameters);
    }

    fn parameters(&mut self, tokens: &[TemplateToken<'s>]) {
        let mut rest = tokens;
        while !rest.is_empty() {
            let (part, after) = split(rest, |token| is_sign(token, ","));
            self.bind(part.first(), By::Block);
            self.expression(part.get(2..).unwrap_or_default());
            rest = after;
        }
    }

    fn import_names(&mut self, tokens: &[TemplateToken<'s>]) {
        let (_, mut rest) = split(tokens, |token| is_name(token, "import"));
        while !rest.is_empty() {
            let (part, after) = split(rest, |token| is_sign(token, ","));
            let renamed = part.get(1).is_some_and(|token| is_name(token, "as"));
            self.bind(part.get(if renamed { 2 } else { 0 }), By::Statement);
            rest = after;
        }
    }

    /// Names on the left of `=` or `in`; an attribute of a namespace is a use of the namespace.
    fn targets(&mut self, tokens: &[TemplateToken<'s>], by: By) {
        for (at, token) in tokens.iter().enumerate() {
            let follows = |step: Option<usize>| {
                step.and_then(|at| tokens.get(at))
                    .is_some_and(|token| is_sign(token, "."))
            };
            match token.kind {
                TokenKind::Name(_) if follows(at.checked_sub(1)) => {}
                TokenKind::Name(name) if follows(Some(at + 1)) => {
                    self.events.push(NameEvent::Use(Use {
                        name,
                        range: token.range.clone(),
                        how: Manner::Read,
                    }));
                }
                _ => self.bind(Some(token), by),
            }
        }
    }

    fn expression(&mut self, tokens: &[TemplateToken<'s>]) {
        let mut after_operand = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.kind {
                TokenKind::Sign("|") => {
                    at += self.filter(&tokens[at..]);
                    after_operand = true;
                }
                // After a dot comes an attribute.
                TokenKind::Sign(".") => {
                    at += 1;
                    after_operand = true;
                }
                TokenKind::Sign(")" | "]" | "}")
                | TokenKind::Text(_)
                | TokenKind::Number(_)
                | TokenKind::Name("true" | "True" | "false" | "False" | "none" | "None") => {
                    after_operand = true;
                }
                TokenKind::Sign(_) => after_operand = false,
                TokenKind::Name("is") if after_operand => {
                    at += usize::from(tokens.get(at).is_some_and(|token| is_name(token, "not")));
                    at += self.test(&tokens[at..]);
                    // An operand right after a test belongs to the test.
                    after_operand = !tokens.get(at).is_some_and(begins_operand);
                }
                TokenKind::Name("and" | "or" | "in" | "not" | "if" | "else") if after_operand => {
                    after_operand = false;
                }
                TokenKind::Name("not" | "in") | TokenKind::Open(_) | TokenKind::Close => {}
                // `recursive` and the like, or the name of an argument.
                TokenKind::Name(_)
                    if after_operand || tokens.get(at).is_some_and(|token| is_sign(token, "=")) => {
                }
                TokenKind::Name(name) => {
                    self.events.push(NameEvent::Use(Use {
                        name,
                        range: token.range.clone(),
                        how: manner(&tokens[at..]),
                    }));
                    after_operand = true;
                }
            }
        }
    }

    /// Reads a filter's name; returns how many tokens it has.
    fn filter(&mut self, tokens: &[TemplateToken<'s>]) -> usize {
        let (name, range, length) = dotted(tokens);
        if length == 0 {
            return 0;
        }
        // Some take the name of another filter, or of a test, as an argument.
        let arguments = &tokens[length..];
        match &*name {
            "map" => {
                let inner = literal(arguments, 1);
                self.events
                    .extend(inner.map(|(name, range)| NameEvent::Filter(name, range)));
            }
            "select" | "reject" | "selectattr" | "rejectattr" => {
                let at = if name.ends_with("attr") { 3 } else { 1 };
                let inner = literal(arguments, at);
                self.events
                    .extend(inner.map(|(name, range)| NameEvent::Test(name, range)));
            }
            _ => {}
        }
        self.events.push(NameEvent::Filter(name, range));
        length
    }

    fn test(&mut self, tokens: &[TemplateToken<'s>]) -> usize {
        let (name, range, length) = dotted(tokens);
        if length > 0 {
            self.events.push(NameEvent::Test(name, range));
        }
        length
    }
}

/// What is done with the variable before these tokens.
fn manner(after: &[TemplateToken<'_>]) -> Manner {
    let kind = |at: usize| after.get(at).map(|token| token.kind);
    let test = 1 + usize::from(kind(1) == Some(TokenKind::Name("not")));
    match (kind(0), kind(1)) {
        (Some(TokenKind::Sign("(")), _) => Manner::Called,
        (Some(TokenKind::Sign("|")), Some(TokenKind::Name("default" | "d"))) => Manner::Defaulted,
        (Some(TokenKind::Name("is")), _)
            if matches!(kind(test), Some(TokenKind::Name("defined" | "undefined"))) =>
        {
            Manner::Tested
        }
        _ => Manner::Read,
    }
}

/// A filter's or test's name, which may have dots, its place and its number of tokens.
fn dotted<'s>(tokens: &[TemplateToken<'s>]) -> (Cow<'s, str>, Range<usize>, usize) {
    let Some(TemplateToken {
        kind: TokenKind::Name(first),
        range,
    }) = tokens.first()
    else {
        return (Cow::Borrowed(""), 0..0, 0);
    };
    let (mut name, mut range, mut length) = (Cow::Borrowed(*first), range.clone(), 1);
    while let [dot, segment, ..] = &tokens[length..]
        && is_sign(dot, ".")
        && let TokenKind::Name(text) = segment.kind
    {
        name = Cow::Owned(format!("{name}.{text}"));
        range.end = segment.range.end;
        length += 2;
    }
    (name, range, length)
}

/// The string that is a whole argument at a place after `(`, without its quotes.
fn literal<'s>(tokens: &[TemplateToken<'s>], at: usize) -> Option<(Cow<'s, str>, Range<usize>)> {
    let is_plain_list = tokens[..at.min(tokens.len())]
        .iter()
        .zip([Some("("), None, Some(",")])
        .all(|(token, sign)| sign.is_none_or(|sign| is_sign(token, sign)));
    let ends = tokens
        .get(at + 1)
        .is_some_and(|token| is_sign(token, ",") || is_sign(token, ")"));
    match tokens.get(at)? {
        TemplateToken {
            kind: TokenKind::Text(text),
            range,
        } if is_plain_list && ends && !text.contains('\\') => Some((
            Cow::Borrowed(&text[1..text.len() - 1]),
            range.start + 1..range.end - 1,
        )),
        _ => None,
    }
}

fn begins_operand(token: &TemplateToken<'_>) -> bool {
    match token.kind {
        TokenKind::Name("and" | "or" | "else" | "is") => false,
        TokenKind::Name(_) | TokenKind::Text(_) | TokenKind::Number(_) => true,
        _ => false,
    }
}

fn is_name(token: &TemplateToken<'_>, name: &str) -> bool {
    token.kind == TokenKind::Name(name)
}

fn is_sign(token: &TemplateToken<'_>, sign: &str) -> bool {
    token.kind == TokenKind::Sign(sign)
}

/// The tokens before and after the first such token outside brackets.
fn split<'t, 's>(
    tokens: &'t [TemplateToken<'s>],
    is_border: impl Fn(&TemplateToken<'s>) -> bool,
) -> (&'t [TemplateToken<'s>], &'t [TemplateToken<'s>]) {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Sign("(" | "[" | "{") => depth += 1,
            TokenKind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_border(token) => return (&tokens[..at], &tokens[at + 1..]),
            _ => {}
        }
    }
    (tokens, &[])
}

/// The tokens inside the brackets that open here, and those after them.
fn bracketed<'t, 's>(
    tokens: &'t [TemplateToken<'s>],
) -> (&'t [TemplateToken<'s>], &'t [TemplateToken<'s>]) {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Sign("(" | "[" | "{") => depth += 1,
            TokenKind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (tokens.get(1..at).unwrap_or_default(), &tokens[at + 1..]);
        }
    }
    (&[], &[])
}
