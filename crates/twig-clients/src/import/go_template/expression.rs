//! Expressions in an action: fields, variables, texts, and the few functions that a test needs.

use crate::import::logic::{DEPTH, LogicValue, Test};

/// How deep brackets may nest.
const BRACKETS: usize = 16;

/// The value of `.`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Dot {
    /// All arguments.
    Root,
    /// One value.
    Value(LogicValue),
    /// The result of `dict`.
    Dict(Vec<(String, LogicValue)>),
}

/// What names mean in a block.
#[derive(Debug, Clone)]
pub(super) struct GoScope {
    dot: Dot,
    root: Dot,
    variables: Vec<(String, LogicValue)>,
    /// The number of enclosing loops.
    pub(super) level: usize,
}

impl GoScope {
    pub(super) fn root() -> Self {
        Self::of(Dot::Root)
    }

    /// The scope of a template that is called with this value.
    pub(super) fn of(dot: Dot) -> Self {
        Self {
            root: dot.clone(),
            dot,
            variables: Vec::new(),
            level: 0,
        }
    }

    pub(super) fn with_dot(&self, dot: Dot) -> Self {
        Self {
            dot,
            ..self.clone()
        }
    }

    pub(super) fn set(&mut self, name: &str, value: LogicValue) {
        self.variables.insert(0, (name.to_owned(), value));
    }

    /// Handles `$name := value`; returns whether it was one.
    pub(super) fn assign(&mut self, inner: &str) -> Result<bool, String> {
        if !inner.starts_with('$') {
            return Ok(false);
        }
        if let (Some(name), value) = declared(inner) {
            let value = self.operand(value);
            let value = value.ok_or_else(|| format!("`{inner}` has no counterpart"))?;
            self.set(name, value);
            return Ok(true);
        }
        match inner.split_once('=') {
            Some(_) => Err(format!("`{inner}` has no counterpart")),
            None => Ok(false),
        }
    }

    /// One value: a field, a variable or a text.
    pub(super) fn operand(&self, word: &str) -> Option<LogicValue> {
        let word = word.trim();
        if let Some(text) = unquoted(word) {
            return Some(LogicValue::Text(text));
        }
        if word.parse::<f64>().is_ok() {
            return Some(LogicValue::Text(word.to_owned()));
        }
        let (dot, path) = match word.strip_prefix('$') {
            None => (self.dot.clone(), word.strip_prefix('.')?),
            Some(rest) => {
                let (name, path) = rest.split_once('.').unwrap_or((rest, ""));
                if name.is_empty() {
                    (self.root.clone(), path)
                } else {
                    let name = format!("${name}");
                    let found = self.variables.iter().find(|(own, _)| *own == name);
                    (Dot::Value(found?.1.clone()), path)
                }
            }
        };
        let names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
        let is_name = |name: &&str| {
            name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        if names.len() > DEPTH || !names.iter().all(is_name) {
            return None;
        }
        let (first, fields) = match (&dot, names.as_slice()) {
            (Dot::Value(value), names) => (value.clone(), names),
            (Dot::Root, [first, rest @ ..]) => {
                (LogicValue::Argument(vec![(*first).to_owned()]), rest)
            }
            (Dot::Dict(entries), [first, rest @ ..]) => {
                let found = entries.iter().find(|(name, _)| name == first);
                let value = found.map(|(_, value)| value.clone());
                (value.unwrap_or(LogicValue::Text(String::new())), rest)
            }
            (Dot::Root | Dot::Dict(_), []) => return None,
        };
        Some(fields.iter().fold(first, |value, name| value.field(name)))
    }

    /// The condition of a branch.
    pub(super) fn test(&self, condition: &str) -> Result<Test, String> {
        self.test_inside(condition, BRACKETS)
    }

    fn test_inside(&self, condition: &str, depth: usize) -> Result<Test, String> {
        let words = split(condition);
        let trouble = || format!("`if {}` has no counterpart", condition.trim());
        let inner = |word: &&str| -> Result<Test, String> {
            match word.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
                Some(inner) if depth > 0 => self.test_inside(inner, depth - 1),
                Some(_) => Err("its brackets nest too deep".to_owned()),
                None => self.operand(word).map(Test::Has).ok_or_else(trouble),
            }
        };
        match words.as_slice() {
            [word] => inner(word),
            ["not", word] => Ok(Test::Not(Box::new(inner(word)?))),
            ["and", rest @ ..] if !rest.is_empty() => {
                Ok(Test::All(rest.iter().map(inner).collect::<Result<_, _>>()?))
            }
            ["or", rest @ ..] if !rest.is_empty() => {
                Ok(Test::Any(rest.iter().map(inner).collect::<Result<_, _>>()?))
            }
            [operator @ ("eq" | "ne"), one, two] => {
                let one = self.operand(one).ok_or_else(trouble)?;
                let two = self.operand(two).ok_or_else(trouble)?;
                let equal = Test::Equal(one, two);
                Ok(if *operator == "eq" {
                    equal
                } else {
                    Test::Not(Box::new(equal))
                })
            }
            _ => Err(trouble()),
        }
    }

    /// The name of a called template, and its argument.
    pub(super) fn call(&self, rest: &str) -> Result<(String, Dot), String> {
        let words = split(rest);
        let trouble = || format!("`template {}` has no counterpart", rest.trim());
        let name = words.first().and_then(|word| unquoted(word));
        let name = name.ok_or_else(trouble)?;
        let dot = match &words[1..] {
            [] => Dot::Dict(Vec::new()),
            ["."] => self.dot.clone(),
            ["$"] => self.root.clone(),
            [word] => match word.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
                Some(inner) => self.dict(&split(inner)).ok_or_else(trouble)?,
                None => Dot::Value(self.operand(word).ok_or_else(trouble)?),
            },
            words => self.dict(words).ok_or_else(trouble)?,
        };
        Ok((name, dot))
    }

    /// `dict "key" value …`
    fn dict(&self, words: &[&str]) -> Option<Dot> {
        let (first, rest) = words.split_first()?;
        if *first != "dict" || rest.len() % 2 != 0 {
            return None;
        }
        let pairs = rest.chunks(2).map(|pair| {
            let key = unquoted(pair[0])?;
            Some((key, self.operand(pair[1])?))
        });
        pairs.collect::<Option<Vec<_>>>().map(Dot::Dict)
    }
}

/// The variables of `$a, $b := rest`, and the rest.
pub(super) fn declared(text: &str) -> (Option<&str>, &str) {
    match text.split_once(":=") {
        Some((names, rest)) if names.trim_start().starts_with('$') => {
            (Some(names.trim()), rest.trim())
        }
        _ => (None, text.trim()),
    }
}

/// The content of a quoted text.
pub(super) fn unquoted(word: &str) -> Option<String> {
    if let Some(raw) = word.strip_prefix('`').and_then(|it| it.strip_suffix('`')) {
        return (!raw.contains('`')).then(|| raw.to_owned());
    }
    let inner = word.strip_prefix('"')?.strip_suffix('"')?;
    // Go's escapes and those of JSON agree in practice.
    serde_json::from_str(&format!("\"{inner}\"")).ok()
}

/// The words of an action; quoted or bracketed text is one word.
fn split(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quote = None;
    let mut is_escaped = false;
    let mut brackets = 0_usize;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (_, Some('"')) if is_escaped => is_escaped = false,
            ('\\', Some('"')) => is_escaped = true,
            (c, Some(open)) if c == open => quote = None,
            ('"' | '`', None) => quote = Some(c),
            ('(', None) => brackets += 1,
            (')', None) => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() && quote.is_none() && brackets == 0 {
            words.extend(start.take().map(|start| &text[start..at]));
        } else if start.is_none() {
            start = Some(at);
        }
    }
    words.extend(start.map(|start| &text[start..]));
    words
}
