//! Handlebars, read in one pass. Constructs without an equivalent stay as written and are reported.

mod tags;

use self::tags::{HandlebarsTag, HandlebarsToken, tokens};
use super::logic::{DEPTH, LogicStep, LogicValue, Test};
use super::turns::Speaker;

/// Partials that one prompt may include, counting repetitions.
const PARTIALS: usize = 64;

/// Finds the text of a partial.
pub(super) type Partials<'p> = &'p dyn Fn(&str) -> Option<String>;

/// Reads a template; the error says what cannot be read.
pub(super) fn parse(
    source: &str,
    partials: Partials<'_>,
    changes: &mut Vec<String>,
) -> Result<Vec<LogicStep>, String> {
    let mut reader = HandlebarsReader {
        partials,
        changes,
        inlined: 0,
    };
    reader.template(source, &HandlebarsScope::root(), 0)
}

/// What names mean in a block.
#[derive(Clone)]
struct HandlebarsScope {
    /// The value of `this`; `None` outside of blocks that change it.
    this: Option<LogicValue>,
    /// True if a bare name is a field of `this`.
    has_fields: bool,
    /// The number of enclosing loops.
    level: usize,
    /// The enclosing scope.
    parent: Option<Box<HandlebarsScope>>,
    /// The parameters of a partial.
    given: Vec<(String, LogicValue)>,
}

impl HandlebarsScope {
    fn root() -> Self {
        Self {
            this: None,
            has_fields: false,
            level: 0,
            parent: None,
            given: Vec::new(),
        }
    }

    fn inside(&self, this: LogicValue, has_fields: bool, level: usize) -> Self {
        Self {
            this: Some(this),
            has_fields,
            level,
            parent: Some(Box::new(self.clone())),
            given: self.given.clone(),
        }
    }

    /// The value of a path; `None` if it has no counterpart.
    fn value(&self, path: &str) -> Option<LogicValue> {
        let mut scope = self;
        let mut path = path;
        while let Some(rest) = path.strip_prefix("../") {
            scope = scope.parent.as_deref().unwrap_or(scope);
            path = rest;
        }
        scope.own_value(path)
    }

    fn own_value(&self, path: &str) -> Option<LogicValue> {
        if let Some(rest) = path.strip_prefix("@root.") {
            return names(rest).map(LogicValue::Argument);
        }
        match path {
            "this" | "." => return self.this.clone(),
            "@index" if self.level > 0 => return Some(LogicValue::Loop("index0")),
            "@first" if self.level > 0 => return Some(LogicValue::Loop("first")),
            "@last" if self.level > 0 => return Some(LogicValue::Loop("last")),
            _ => {}
        }
        let (is_own, path) = match path
            .strip_prefix("this.")
            .or_else(|| path.strip_prefix("this/"))
            .or_else(|| path.strip_prefix("./"))
        {
            Some(rest) => (true, rest),
            None => (self.has_fields, path),
        };
        let names = names(path)?;
        if let Some((_, value)) = self.given.iter().find(|(name, _)| *name == names[0]) {
            let fields = names[1..].iter();
            return Some(fields.fold(value.clone(), |value, name| value.field(name)));
        }
        match &self.this {
            Some(this) if is_own => {
                let fields = names.iter();
                Some(fields.fold(this.clone(), |value, name| value.field(name)))
            }
            _ => Some(LogicValue::Argument(names)),
        }
    }
}

/// The parts of a path of plain names.
fn names(path: &str) -> Option<Vec<String>> {
    let is_name = |part: &str| {
        let first = part.chars().next();
        first.is_some_and(|c| c.is_alphabetic() || c == '_')
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    let parts: Vec<&str> = path.split(['.', '/']).take(DEPTH + 1).collect();
    if parts.len() > DEPTH {
        return None;
    }
    let is_good = parts.iter().all(|part| is_name(part));
    is_good.then(|| parts.into_iter().map(str::to_owned).collect())
}

struct HandlebarsReader<'r> {
    partials: Partials<'r>,
    changes: &'r mut Vec<String>,
    inlined: usize,
}

/// How a list of steps ended.
enum HandlebarsListEnd<'t> {
    /// With the template.
    Source,
    /// With `{{else}}`, and what follows in its tag.
    Else(&'t str),
    /// With `{{/name}}`.
    Close(&'t str),
}

impl HandlebarsReader<'_> {
    fn template(
        &mut self,
        source: &str,
        scope: &HandlebarsScope,
        depth: usize,
    ) -> Result<Vec<LogicStep>, String> {
        let tokens = tokens(source)?;
        let mut at = 0;
        let (steps, end) = self.steps(&tokens, &mut at, scope, depth)?;
        match end {
            HandlebarsListEnd::Source => Ok(steps),
            HandlebarsListEnd::Else(_) => Err("an `{{else}}` is outside of a block".to_owned()),
            HandlebarsListEnd::Close(name) => {
                Err(format!("`{{{{/{name}}}}}` has no matching start"))
            }
        }
    }

    fn steps<'t>(
        &mut self,
        tokens: &[HandlebarsToken<'t>],
        at: &mut usize,
        scope: &HandlebarsScope,
        depth: usize,
    ) -> Result<(Vec<LogicStep>, HandlebarsListEnd<'t>), String> {
        if depth > DEPTH {
            return Err("its blocks nest too deep".to_owned());
        }
        let mut steps = Vec::new();
        while let Some(token) = tokens.get(*at) {
            *at += 1;
            match token {
                HandlebarsToken::Text(text) => steps.push(LogicStep::Text((*text).to_owned())),
                HandlebarsToken::Tag(HandlebarsTag::Comment, ..) => {}
                HandlebarsToken::Tag(HandlebarsTag::Else, inner, _) => {
                    return Ok((steps, HandlebarsListEnd::Else(inner)));
                }
                HandlebarsToken::Tag(HandlebarsTag::Close, inner, _) => {
                    return Ok((steps, HandlebarsListEnd::Close(inner)));
                }
                HandlebarsToken::Tag(HandlebarsTag::Print, inner, written) => {
                    steps.push(self.print(inner, written, scope));
                }
                HandlebarsToken::Tag(HandlebarsTag::Partial, inner, written) => {
                    steps.extend(self.partial(inner, written, scope, depth)?);
                }
                HandlebarsToken::Tag(
                    tag @ (HandlebarsTag::Open | HandlebarsTag::Inverse),
                    inner,
                    _,
                ) => {
                    let is_inverse = *tag == HandlebarsTag::Inverse;
                    steps.push(self.block(inner, is_inverse, tokens, at, scope, depth)?);
                }
            }
        }
        Ok((steps, HandlebarsListEnd::Source))
    }

    fn print(&mut self, inner: &str, written: &str, scope: &HandlebarsScope) -> LogicStep {
        let words = split(inner);
        let literal = || LogicStep::Text(written.to_owned());
        match words.as_slice() {
            [path] if !is_helper(path) => match operand(path, scope) {
                Some(value) => LogicStep::Print(value, written.to_owned()),
                None => self.literal(written),
            },
            [name, role] if *name == "role" => match unquoted(role).and_then(Speaker::parse) {
                Some(speaker) => LogicStep::Role(speaker),
                None => self.literal(written),
            },
            [name, path, ..] if *name == "json" => match operand(path, scope) {
                Some(value) => {
                    let change = format!("`{written}` prints the text that is given for it");
                    self.changes.push(change);
                    LogicStep::Print(value, written.to_owned())
                }
                None => self.literal(written),
            },
            [] => literal(),
            _ => self.literal(written),
        }
    }

    /// A step without a counterpart, kept as text.
    fn literal(&mut self, written: &str) -> LogicStep {
        self.changes
            .push(format!("`{written}` has no counterpart and stays as it is"));
        LogicStep::Text(written.to_owned())
    }

    fn partial(
        &mut self,
        inner: &str,
        written: &str,
        scope: &HandlebarsScope,
        depth: usize,
    ) -> Result<Vec<LogicStep>, String> {
        let words = split(inner);
        let Some(name) = words.first() else {
            return Ok(vec![self.literal(written)]);
        };
        let name = unquoted(name).unwrap_or(name);
        let Some(source) = (self.partials)(name) else {
            self.changes.push(format!(
                "the partial of `{written}` is not there: it stays as it is"
            ));
            return Ok(vec![LogicStep::Text(written.to_owned())]);
        };
        self.inlined += 1;
        if self.inlined > PARTIALS {
            return Err(format!("it brings in more than {PARTIALS} partials"));
        }
        let mut scope = scope.clone();
        for word in &words[1..] {
            match word.split_once('=') {
                Some((key, value)) => match operand(value, &scope) {
                    Some(value) => scope.given.insert(0, (key.to_owned(), value)),
                    None => return Ok(vec![self.literal(written)]),
                },
                None => match operand(word, &scope) {
                    Some(this) => {
                        let level = scope.level;
                        scope = scope.inside(this, true, level);
                    }
                    None => return Ok(vec![self.literal(written)]),
                },
            }
        }
        self.template(&source, &scope, depth + 1)
    }

    fn block(
        &mut self,
        inner: &str,
        is_inverse: bool,
        tokens: &[HandlebarsToken<'_>],
        at: &mut usize,
        scope: &HandlebarsScope,
        depth: usize,
    ) -> Result<LogicStep, String> {
        let words = split(inner);
        let Some(helper) = words.first().copied() else {
            return Err("a block has no name".to_owned());
        };
        let value = |word: Option<&&str>| {
            let found = word.and_then(|word| operand(word, scope));
            found.ok_or_else(|| format!("`{{{{#{inner}}}}}` has no counterpart"))
        };
        let mut own = scope.clone();
        let mut list = None;
        let mut test = None;
        match (helper, is_inverse) {
            ("if", false) => test = Some(Test::Has(value(words.get(1))?)),
            ("unless", false) => test = Some(Test::Not(Box::new(Test::Has(value(words.get(1))?)))),
            ("ifEquals", false) => {
                test = Some(Test::Equal(value(words.get(1))?, value(words.get(2))?));
            }
            ("unlessEquals", false) => {
                let equal = Test::Equal(value(words.get(1))?, value(words.get(2))?);
                test = Some(Test::Not(Box::new(equal)));
            }
            ("each", false) if words.len() == 2 => {
                list = Some(value(words.get(1))?);
                let level = scope.level + 1;
                own = scope.inside(LogicValue::Item(level, Vec::new()), true, level);
            }
            ("with", false) if words.len() == 2 => {
                let this = value(words.get(1))?;
                test = Some(Test::Has(this.clone()));
                own = scope.inside(this, true, scope.level);
            }
            (path, is_inverse) if words.len() == 1 && !is_helper(path) => {
                let this = value(words.first())?;
                let has = Test::Has(this.clone());
                test = Some(if is_inverse {
                    Test::Not(Box::new(has))
                } else {
                    own = scope.inside(this, false, scope.level);
                    has
                });
            }
            _ => return Err(format!("`{{{{#{inner}}}}}` has no counterpart")),
        }
        let (body, mut end) = self.steps(tokens, at, &own, depth + 1)?;
        let mut branches = Vec::new();
        if let Some(test) = test {
            branches.push((test, body.clone()));
        }
        let mut otherwise = Vec::new();
        while let HandlebarsListEnd::Else(rest) = end {
            let rest = split(rest);
            let (steps, next) = self.steps(tokens, at, scope, depth + 1)?;
            end = next;
            match rest.as_slice() {
                [] => otherwise = steps,
                ["if", path] if list.is_none() => {
                    branches.push((Test::Has(value(Some(path))?), steps));
                }
                _ => return Err("an `{{else}}` of it has no counterpart".to_owned()),
            }
        }
        match end {
            HandlebarsListEnd::Close(name) if name == helper => {}
            HandlebarsListEnd::Close(name) => {
                return Err(format!("`{{{{/{name}}}}}` has no matching start"));
            }
            HandlebarsListEnd::Source | HandlebarsListEnd::Else(_) => {
                return Err(format!("`{{{{#{helper}}}}}` does not end"));
            }
        }
        Ok(match list {
            Some(list) => LogicStep::Each(list, body, otherwise),
            None => LogicStep::If(branches, otherwise),
        })
    }
}

/// Names that are no variables, even if they stand alone.
fn is_helper(word: &str) -> bool {
    matches!(
        word,
        "history" | "media" | "section" | "role" | "json" | "lookup" | "log" | "else"
    )
}

/// A path or a text in quotes.
fn operand(word: &str, scope: &HandlebarsScope) -> Option<LogicValue> {
    match unquoted(word) {
        Some(text) => Some(LogicValue::Text(text.to_owned())),
        None if word.parse::<f64>().is_ok() => Some(LogicValue::Text(word.to_owned())),
        None => scope.value(word),
    }
}

fn unquoted(word: &str) -> Option<&str> {
    let quotes = ['"', '\''].into_iter();
    let mut inner = quotes.filter_map(|quote| word.strip_prefix(quote)?.strip_suffix(quote));
    inner.next()
}

/// The words of a tag; quoted or bracketed text is one word.
fn split(inner: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quote = None;
    let mut brackets = 0_usize;
    for (at, c) in inner.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('(', None) => brackets += 1,
            (')', None) => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() && quote.is_none() && brackets == 0 {
            words.extend(start.take().map(|start| &inner[start..at]));
        } else if start.is_none() {
            start = Some(at);
        }
    }
    words.extend(start.map(|start| &inner[start..]));
    words
}
