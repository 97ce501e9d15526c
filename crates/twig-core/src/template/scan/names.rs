//! What the names in a template's tags are: variables, filters, tests, or names given to something.
//!
//! It reads tokens of a template that compiles and follows the parser's grammar as far as names
//! need it. Which of the variables are bound where they stand is left to whoever reads the result.

use std::borrow::Cow;
use std::ops::Range;

use super::tokens::{Kind, Tag, Token, Tokens};

/// One thing that happens to names, in the order in which a render meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event<'s> {
    /// A variable is looked up.
    Use(Use<'s>),
    /// A filter is applied.
    Filter(Cow<'s, str>, Range<usize>),
    /// A test is made.
    Test(Cow<'s, str>, Range<usize>),
    /// A name gets a value.
    Bind(&'s str, By),
    /// A block begins.
    Open(Block),
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
    /// Anything that fails where there is none.
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
    /// `for`, `with`, and what a macro takes: holds inside the block.
    Block,
    /// `set`, `macro` and imports: holds from there on.
    Statement,
}

/// What a block does to the names bound in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// They hold after it, as with `if`.
    Transparent,
    /// They end with it.
    Scope,
    /// They end with it, or at its `else`.
    Loop,
    /// They end with it; it runs later and sees what is set behind it.
    Deferred,
}

/// Reads the names of a template that compiles.
pub(crate) fn names(source: &str) -> Vec<Event<'_>> {
    let mut reader = Reader::default();
    let mut tag = Tag::Variable;
    let mut tokens = Vec::new();
    for token in Tokens::new(source) {
        match token.kind {
            Kind::Open(opened) => tag = opened,
            Kind::Close => {
                match tag {
                    Tag::Variable => reader.expression(&tokens),
                    Tag::Block => reader.block(&tokens),
                }
                tokens.clear();
            }
            _ => tokens.push(token),
        }
    }
    reader.events
}

#[derive(Default)]
struct Reader<'s> {
    events: Vec<Event<'s>>,
    /// For each open block, what happens once it has ended: `set` binds then.
    at_end: Vec<Vec<Event<'s>>>,
    extends: bool,
}

impl<'s> Reader<'s> {
    fn block(&mut self, tokens: &[Token<'s>]) {
        let Some((first, rest)) = tokens.split_first() else {
            return;
        };
        let Kind::Name(keyword) = first.kind else {
            return;
        };
        match keyword {
            "if" | "autoescape" => {
                self.expression(rest);
                self.open(Block::Transparent);
            }
            "elif" | "do" => self.expression(rest),
            "else" => self.events.push(Event::Else),
            "for" => self.for_loop(rest),
            "with" => self.with(rest),
            "set" => self.set(rest),
            "filter" => {
                let after = self.filter(rest);
                self.expression(&rest[after..]);
                self.open(Block::Transparent);
            }
            "extends" => self.extends = true,
            // Where a template extends another, its blocks run after all else in it.
            "block" if self.extends => self.open(Block::Deferred),
            "block" => self.open(Block::Scope),
            "macro" => self.macro_block(rest),
            "call" => self.call_block(rest),
            "import" => {
                let name = rest.iter().skip_while(|token| !is_name(token, "as")).nth(1);
                self.bind(name, By::Statement);
            }
            "from" => self.import_names(rest),
            keyword if keyword.starts_with("end") => {
                self.events.push(Event::Close);
                self.events.extend(self.at_end.pop().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn open(&mut self, block: Block) {
        self.events.push(Event::Open(block));
        self.at_end.push(Vec::new());
    }

    fn bind(&mut self, token: Option<&Token<'s>>, by: By) {
        if let Some(Kind::Name(name)) = token.map(|token| token.kind) {
            self.events.push(Event::Bind(name, by));
        }
    }

    fn for_loop(&mut self, tokens: &[Token<'s>]) {
        let (targets, rest) = split(tokens, |token| is_name(token, "in"));
        let (values, condition) = split(rest, |token| is_name(token, "if"));
        self.expression(values);
        self.open(Block::Loop);
        self.targets(targets, By::Block);
        self.expression(condition);
    }

    fn with(&mut self, tokens: &[Token<'s>]) {
        self.open(Block::Scope);
        let mut rest = tokens;
        while !rest.is_empty() {
            let (part, after) = split(rest, |token| is_sign(token, ","));
            let (targets, value) = split(part, |token| is_sign(token, "="));
            self.expression(value);
            self.targets(targets, By::Block);
            rest = after;
        }
    }

    fn set(&mut self, tokens: &[Token<'s>]) {
        let (targets, value) = split(tokens, |token| is_sign(token, "="));
        if value.is_empty() {
            let filters = targets.iter().position(|token| is_sign(token, "|"));
            let (targets, filters) = targets.split_at(filters.unwrap_or(targets.len()));
            self.expression(filters);
            self.open(Block::Transparent);
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

    fn macro_block(&mut self, tokens: &[Token<'s>]) {
        self.bind(tokens.first(), By::Statement);
        self.open(Block::Deferred);
        let (parameters, _) = bracketed(tokens.get(1..).unwrap_or_default());
        self.parameters(parameters);
    }

    fn call_block(&mut self, tokens: &[Token<'s>]) {
        let (parameters, call) = match tokens.first() {
            Some(token) if is_sign(token, "(") => bracketed(tokens),
            _ => (&[][..], tokens),
        };
        self.expression(call);
        self.open(Block::Deferred);
        self.parameters(parameters);
    }

    fn parameters(&mut self, tokens: &[Token<'s>]) {
        let mut rest = tokens;
        while !rest.is_empty() {
            let (part, after) = split(rest, |token| is_sign(token, ","));
            self.bind(part.first(), By::Block);
            self.expression(part.get(2..).unwrap_or_default());
            rest = after;
        }
    }

    fn import_names(&mut self, tokens: &[Token<'s>]) {
        let (_, mut rest) = split(tokens, |token| is_name(token, "import"));
        while !rest.is_empty() {
            let (part, after) = split(rest, |token| is_sign(token, ","));
            let renamed = part.get(1).is_some_and(|token| is_name(token, "as"));
            self.bind(part.get(if renamed { 2 } else { 0 }), By::Statement);
            rest = after;
        }
    }

    /// Names on the left of `=` or `in`; an attribute of a namespace is a look at the namespace.
    fn targets(&mut self, tokens: &[Token<'s>], by: By) {
        for (at, token) in tokens.iter().enumerate() {
            let follows = |step: Option<usize>| {
                step.and_then(|at| tokens.get(at))
                    .is_some_and(|token| is_sign(token, "."))
            };
            match token.kind {
                Kind::Name(_) if follows(at.checked_sub(1)) => {}
                Kind::Name(name) if follows(Some(at + 1)) => self.events.push(Event::Use(Use {
                    name,
                    range: token.range.clone(),
                    how: Manner::Read,
                })),
                _ => self.bind(Some(token), by),
            }
        }
    }

    fn expression(&mut self, tokens: &[Token<'s>]) {
        let mut after_operand = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.kind {
                Kind::Sign("|") => {
                    at += self.filter(&tokens[at..]);
                    after_operand = true;
                }
                // Behind a dot stands an attribute.
                Kind::Sign(".") => {
                    at += 1;
                    after_operand = true;
                }
                Kind::Sign(")" | "]" | "}")
                | Kind::Text(_)
                | Kind::Number(_)
                | Kind::Name("true" | "True" | "false" | "False" | "none" | "None") => {
                    after_operand = true;
                }
                Kind::Sign(_) => after_operand = false,
                Kind::Name("is") if after_operand => {
                    at += usize::from(tokens.get(at).is_some_and(|token| is_name(token, "not")));
                    at += self.test(&tokens[at..]);
                    // An operand right behind a test is the test's.
                    after_operand = !tokens.get(at).is_some_and(begins_operand);
                }
                Kind::Name("and" | "or" | "in" | "not" | "if" | "else") if after_operand => {
                    after_operand = false;
                }
                Kind::Name("not" | "in") | Kind::Open(_) | Kind::Close => {}
                // `recursive` and the like, or the name of an argument.
                Kind::Name(_)
                    if after_operand || tokens.get(at).is_some_and(|token| is_sign(token, "=")) => {
                }
                Kind::Name(name) => {
                    self.events.push(Event::Use(Use {
                        name,
                        range: token.range.clone(),
                        how: manner(&tokens[at..]),
                    }));
                    after_operand = true;
                }
            }
        }
    }

    /// Takes a filter's name; returns how many tokens it has.
    fn filter(&mut self, tokens: &[Token<'s>]) -> usize {
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
                    .extend(inner.map(|(name, range)| Event::Filter(name, range)));
            }
            "select" | "reject" | "selectattr" | "rejectattr" => {
                let at = if name.ends_with("attr") { 3 } else { 1 };
                let inner = literal(arguments, at);
                self.events
                    .extend(inner.map(|(name, range)| Event::Test(name, range)));
            }
            _ => {}
        }
        self.events.push(Event::Filter(name, range));
        length
    }

    fn test(&mut self, tokens: &[Token<'s>]) -> usize {
        let (name, range, length) = dotted(tokens);
        if length > 0 {
            self.events.push(Event::Test(name, range));
        }
        length
    }
}

/// What is done with the variable before these tokens.
fn manner(after: &[Token<'_>]) -> Manner {
    let kind = |at: usize| after.get(at).map(|token| token.kind);
    let test = 1 + usize::from(kind(1) == Some(Kind::Name("not")));
    match (kind(0), kind(1)) {
        (Some(Kind::Sign("(")), _) => Manner::Called,
        (Some(Kind::Sign("|")), Some(Kind::Name("default" | "d"))) => Manner::Defaulted,
        (Some(Kind::Name("is")), _)
            if matches!(kind(test), Some(Kind::Name("defined" | "undefined"))) =>
        {
            Manner::Tested
        }
        _ => Manner::Read,
    }
}

/// A filter's or test's name, which may have dots, its place and its number of tokens.
fn dotted<'s>(tokens: &[Token<'s>]) -> (Cow<'s, str>, Range<usize>, usize) {
    let Some(Token {
        kind: Kind::Name(first),
        range,
    }) = tokens.first()
    else {
        return (Cow::Borrowed(""), 0..0, 0);
    };
    let (mut name, mut range, mut length) = (Cow::Borrowed(*first), range.clone(), 1);
    while let [dot, segment, ..] = &tokens[length..]
        && is_sign(dot, ".")
        && let Kind::Name(text) = segment.kind
    {
        name = Cow::Owned(format!("{name}.{text}"));
        range.end = segment.range.end;
        length += 2;
    }
    (name, range, length)
}

/// The string that is a whole argument at a place behind `(`, without its quotes.
fn literal<'s>(tokens: &[Token<'s>], at: usize) -> Option<(Cow<'s, str>, Range<usize>)> {
    let is_plain_list = tokens[..at.min(tokens.len())]
        .iter()
        .zip([Some("("), None, Some(",")])
        .all(|(token, sign)| sign.is_none_or(|sign| is_sign(token, sign)));
    let ends = tokens
        .get(at + 1)
        .is_some_and(|token| is_sign(token, ",") || is_sign(token, ")"));
    match tokens.get(at)? {
        Token {
            kind: Kind::Text(text),
            range,
        } if is_plain_list && ends && !text.contains('\\') => Some((
            Cow::Borrowed(&text[1..text.len() - 1]),
            range.start + 1..range.end - 1,
        )),
        _ => None,
    }
}

fn begins_operand(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Name("and" | "or" | "else" | "is") => false,
        Kind::Name(_) | Kind::Text(_) | Kind::Number(_) => true,
        _ => false,
    }
}

fn is_name(token: &Token<'_>, name: &str) -> bool {
    token.kind == Kind::Name(name)
}

fn is_sign(token: &Token<'_>, sign: &str) -> bool {
    token.kind == Kind::Sign(sign)
}

/// What stands before and behind the first such token outside brackets.
fn split<'t, 's>(
    tokens: &'t [Token<'s>],
    is_border: impl Fn(&Token<'s>) -> bool,
) -> (&'t [Token<'s>], &'t [Token<'s>]) {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign("(" | "[" | "{") => depth += 1,
            Kind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_border(token) => return (&tokens[..at], &tokens[at + 1..]),
            _ => {}
        }
    }
    (tokens, &[])
}

/// What stands inside the brackets that open here, and behind them.
fn bracketed<'t, 's>(tokens: &'t [Token<'s>]) -> (&'t [Token<'s>], &'t [Token<'s>]) {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Sign("(" | "[" | "{") => depth += 1,
            Kind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (tokens.get(1..at).unwrap_or_default(), &tokens[at + 1..]);
        }
    }
    (&[], &[])
}
