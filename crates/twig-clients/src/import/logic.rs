//! What templates of other tools do, independent of their syntax: print, branch, repeat.
//!
//! Handlebars and Go templates are parsed into [`LogicStep`]s; this module turns these into Jinja.
//! Arguments are texts, so a list takes one item per line, and a list whose items have fields
//! becomes one text.

use std::collections::BTreeSet;

use super::arguments::DraftArguments;
use super::turns::Speaker;
use super::words::{EscapedWords, quote};

/// How deep blocks may nest; the template engine has the same limit.
pub(super) const DEPTH: usize = 30;

/// One step of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LogicStep {
    /// Prints a text.
    Text(String),
    /// Prints a value; if it has no name, the original text is printed.
    Print(LogicValue, String),
    /// Another role speaks from here on.
    Role(Speaker),
    /// The first branch whose test holds, else the last steps.
    If(Vec<(Test, Vec<LogicStep>)>, Vec<LogicStep>),
    /// Once for each item of a list, or the last steps if it is empty.
    Each(LogicValue, Vec<LogicStep>, Vec<LogicStep>),
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LogicValue {
    /// An argument, or a field of one.
    Argument(Vec<String>),
    /// A field of the item of a loop, or the item itself; loops are counted from the outermost.
    Item(usize, Vec<String>),
    /// A property of a loop: the engine's word for it.
    Loop(&'static str),
    /// A text.
    Text(String),
}

impl LogicValue {
    /// A field of it.
    pub(super) fn field(&self, name: &str) -> Self {
        let with = |path: &[String]| path.iter().cloned().chain([name.to_owned()]).collect();
        match self {
            Self::Argument(path) => Self::Argument(with(path)),
            Self::Item(level, path) => Self::Item(*level, with(path)),
            Self::Loop(_) | Self::Text(_) => Self::Text(String::new()),
        }
    }
}

/// The condition of a branch.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    Has(LogicValue),
    Equal(LogicValue, LogicValue),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
}

/// Turns steps into messages with roles; the error says what has no counterpart.
pub(super) fn write(
    steps: &[LogicStep],
    first: Speaker,
    arguments: &mut DraftArguments,
    changes: &mut Vec<String>,
) -> Result<Vec<(Speaker, EscapedWords)>, String> {
    let mut turns = vec![(first, EscapedWords::default())];
    let mut printed = BTreeSet::new();
    collect(steps, &mut printed);
    let mut writer = JinjaWriter {
        arguments,
        changes,
        printed,
    };
    let has_roles = steps.iter().any(|step| matches!(step, LogicStep::Role(_)));
    for step in steps {
        if let LogicStep::Role(speaker) = step {
            turns.push((*speaker, EscapedWords::default()));
        } else if let Some((_, words)) = turns.last_mut() {
            writer.step(step, 0, words)?;
        }
    }
    if has_roles {
        for (_, words) in &mut turns {
            words.trim_lines();
        }
    }
    Ok(turns)
}

struct JinjaWriter<'w> {
    arguments: &'w mut DraftArguments,
    changes: &'w mut Vec<String>,
    /// The arguments and fields that the text uses.
    printed: BTreeSet<Vec<String>>,
}

/// Collects every argument and field that is printed or iterated over.
fn collect(steps: &[LogicStep], printed: &mut BTreeSet<Vec<String>>) {
    for step in steps {
        match step {
            LogicStep::Print(LogicValue::Argument(path), _) => drop(printed.insert(path.clone())),
            LogicStep::If(branches, otherwise) => {
                for (_, steps) in branches {
                    collect(steps, printed);
                }
                collect(otherwise, printed);
            }
            LogicStep::Each(list, body, otherwise) => {
                if let LogicValue::Argument(path) = list {
                    printed.insert(path.clone());
                }
                collect(body, printed);
                collect(otherwise, printed);
            }
            LogicStep::Print(..) | LogicStep::Text(_) | LogicStep::Role(_) => {}
        }
    }
}

impl JinjaWriter<'_> {
    fn steps(
        &mut self,
        steps: &[LogicStep],
        level: usize,
        words: &mut EscapedWords,
    ) -> Result<(), String> {
        steps
            .iter()
            .try_for_each(|step| self.step(step, level, words))
    }

    fn step(
        &mut self,
        step: &LogicStep,
        level: usize,
        words: &mut EscapedWords,
    ) -> Result<(), String> {
        match step {
            LogicStep::Text(text) | LogicStep::Print(LogicValue::Text(text), _) => words.text(text),
            LogicStep::Role(_) => return Err("a role depends on a condition".to_owned()),
            LogicStep::Print(value, written) => match self.expression(value) {
                Some(code) => words.value(&code),
                None => words.text(written),
            },
            LogicStep::If(branches, otherwise) => {
                for (at, (test, steps)) in branches.iter().enumerate() {
                    let keyword = if at == 0 { "if" } else { "elif" };
                    let test = self.test(test)?;
                    words.code(format!("{{% {keyword} {test} %}}"));
                    self.steps(steps, level, words)?;
                }
                if !otherwise.is_empty() {
                    words.code("{% else %}");
                    self.steps(otherwise, level, words)?;
                }
                words.code("{% endif %}");
            }
            LogicStep::Each(list, body, otherwise) => {
                self.each(list, body, otherwise, level, words)?;
            }
        }
        Ok(())
    }

    fn each(
        &mut self,
        list: &LogicValue,
        body: &[LogicStep],
        otherwise: &[LogicStep],
        level: usize,
        words: &mut EscapedWords,
    ) -> Result<(), String> {
        let LogicValue::Argument(path) = list else {
            return Err("a loop iterates over something that is not an argument".to_owned());
        };
        let written = path.join(".");
        let name = self.name(path).ok_or("it has too many placeholders")?;
        if needs_fields(body, level + 1) {
            self.changes.push(format!(
                "the loop over `{written}` prints it as one text, since its items have fields"
            ));
            words.code(format!("{{% if {name} %}}"));
            words.value(&name);
        } else {
            let about = "One item a line";
            self.changes
                .push(format!("`{written}` is a list: it takes one item per line"));
            self.arguments.describe(&written, about);
            let item = item_name(level + 1);
            words.code(format!("{{% for {item} in {name}.splitlines() %}}"));
            self.steps(body, level + 1, words)?;
        }
        if !otherwise.is_empty() {
            words.code("{% else %}");
            self.steps(otherwise, level, words)?;
        }
        words.code(if needs_fields(body, level + 1) {
            "{% endif %}"
        } else {
            "{% endfor %}"
        });
        Ok(())
    }

    fn name(&mut self, path: &[String]) -> Option<String> {
        self.arguments.used(&path.join("."))
    }

    fn expression(&mut self, value: &LogicValue) -> Option<String> {
        match value {
            LogicValue::Argument(path) => self.name(path),
            LogicValue::Item(level, path) if path.is_empty() => Some(item_name(*level)),
            LogicValue::Item(..) => None,
            LogicValue::Loop(word) => Some(format!("loop.{word}")),
            LogicValue::Text(text) => Some(quote(text)),
        }
    }

    fn test(&mut self, test: &Test) -> Result<String, String> {
        let name = |value: Option<String>| value.ok_or("it has too many placeholders".to_owned());
        Ok(match test {
            Test::Has(LogicValue::Argument(path)) => match self.fields(path).as_slice() {
                [] => name(self.name(path))?,
                // An object that is only used through its fields exists if one of them does.
                fields => {
                    let fields = fields.iter().map(|path| self.name(path));
                    fields
                        .collect::<Option<Vec<_>>>()
                        .map(|it| it.join(" or "))
                        .ok_or("it has too many placeholders")?
                }
            },
            Test::Has(value) => name(self.expression(value))?,
            Test::Equal(one, two) => {
                let (one, two) = (self.expression(one), self.expression(two));
                format!("{} == {}", name(one)?, name(two)?)
            }
            Test::Not(inner) => format!("not ({})", self.test(inner)?),
            Test::All(tests) => self.joined(tests, " and ")?,
            Test::Any(tests) => self.joined(tests, " or ")?,
        })
    }

    /// The fields of an argument that is never used itself.
    fn fields(&self, path: &[String]) -> Vec<Vec<String>> {
        if self.printed.contains(path) {
            return Vec::new();
        }
        let is_field = |other: &&Vec<String>| other.len() > path.len() && other.starts_with(path);
        self.printed.iter().filter(is_field).cloned().collect()
    }

    fn joined(&mut self, tests: &[Test], word: &str) -> Result<String, String> {
        let tests: Result<Vec<String>, String> = tests
            .iter()
            .map(|test| Ok(format!("({})", self.test(test)?)))
            .collect();
        Ok(tests?.join(word))
    }
}

fn item_name(level: usize) -> String {
    format!("_item{level}")
}

/// True if steps use a field of the item of that loop, or iterate over the item itself.
fn needs_fields(steps: &[LogicStep], level: usize) -> bool {
    let asks = |value: &LogicValue| matches!(value, LogicValue::Item(at, path) if *at == level && !path.is_empty());
    steps.iter().any(|step| match step {
        LogicStep::Text(_) | LogicStep::Role(_) => false,
        LogicStep::Print(value, _) => asks(value),
        LogicStep::If(branches, otherwise) => {
            needs_fields(otherwise, level)
                || branches
                    .iter()
                    .any(|(test, steps)| in_test(test, &asks) || needs_fields(steps, level))
        }
        LogicStep::Each(list, body, otherwise) => {
            matches!(list, LogicValue::Item(..))
                || needs_fields(body, level)
                || needs_fields(otherwise, level)
        }
    })
}

fn in_test(test: &Test, asks: &dyn Fn(&LogicValue) -> bool) -> bool {
    match test {
        Test::Has(value) => asks(value),
        Test::Equal(one, two) => asks(one) || asks(two),
        Test::Not(inner) => in_test(inner, asks),
        Test::All(tests) | Test::Any(tests) => tests.iter().any(|test| in_test(test, asks)),
    }
}
