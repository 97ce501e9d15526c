//! The arguments of a tool, checked against its schema.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use twig_core::problem::shorten;
use twig_core::suggest;

use super::tool::{Parameter, Takes, Tool};
use crate::arguments::ArgumentKey;
use crate::id;

/// The longest name of an argument that a sentence repeats, in characters.
const QUOTED: usize = 64;

/// Arguments that match their tool's schema.
#[derive(Debug)]
pub(super) struct ToolArguments<'a> {
    values: Vec<(&'static str, ToolArgument<'a>)>,
}

#[derive(Debug)]
enum ToolArgument<'a> {
    Text(Cow<'a, str>),
    Number(u64),
}

/// Reads arguments; the error says which of them is invalid. `null` counts as absent.
pub(super) fn read<'a>(
    arguments: Option<&'a RawValue>,
    tool: &'static Tool,
) -> Result<ToolArguments<'a>, String> {
    let json = arguments.map_or("{}", RawValue::get);
    if !json.starts_with('{') {
        return Err("`arguments` must be an object".to_owned());
    }
    let mut json = serde_json::Deserializer::from_str(json);
    let members = json.deserialize_map(ToolArgumentsVisitor(tool));
    let members = members.map_err(|error| format!("The arguments are malformed: {error}"))?;
    if let Some(name) = members.twice {
        return Err(format!("Argument `{name}` is given twice"));
    }
    let names = || tool.parameters.iter().map(|parameter| parameter.name);
    let near = |unknown: &str| suggest::did_you_mean(unknown, names());
    if let Some(unknown) = members.unknown.as_deref().filter(|_| tool.is_strict) {
        let names: Vec<&str> = names().collect();
        let hint = near(unknown).unwrap_or_else(|| format!("there are: {}", names.join(", ")));
        return Err(format!("Unknown argument: {unknown}; {hint}"));
    }
    let missing: Vec<&str> = tool
        .parameters
        .iter()
        .zip(&members.values)
        .filter(|(parameter, value)| parameter.is_required && value.is_none())
        .map(|(parameter, _)| parameter.name)
        .collect();
    if !missing.is_empty() {
        let plural = if missing.len() == 1 { "" } else { "s" };
        let missing = missing.join(", ");
        return Err(format!("Missing required argument{plural}: {missing}"));
    }
    let mut values = Vec::with_capacity(tool.parameters.len());
    for (parameter, json) in tool.parameters.iter().zip(members.values) {
        if let Some(json) = json {
            values.push((parameter.name, parameter.read(json.get())?));
        }
    }
    Ok(ToolArguments { values })
}

impl ToolArguments<'_> {
    /// The text of an argument; empty if it was not given.
    pub(super) fn text(&self, name: &str) -> &str {
        self.maybe_text(name).unwrap_or_default()
    }

    /// The text of an argument that was given.
    pub(super) fn maybe_text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            ToolArgument::Text(text) => Some(text),
            ToolArgument::Number(_) => None,
        }
    }

    /// The number of an argument that was given.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            ToolArgument::Text(_) => None,
            ToolArgument::Number(number) => Some(*number),
        }
    }

    fn value(&self, name: &str) -> Option<&ToolArgument<'_>> {
        let mut values = self.values.iter();
        values.find(|(of, _)| *of == name).map(|(_, value)| value)
    }
}

impl Parameter {
    fn read<'a>(&self, json: &'a str) -> Result<ToolArgument<'a>, String> {
        let name = self.name;
        let text = || {
            id::decode(json).ok_or_else(|| {
                // All other mistakes in a string were found when the message was read.
                let fault = if json.starts_with('"') {
                    "has half of a surrogate pair, which is no character"
                } else {
                    "must be a string"
                };
                format!("Argument `{name}` {fault}")
            })
        };
        match self.takes {
            Takes::Text => text().map(ToolArgument::Text),
            Takes::Line(most) => {
                let text = text()?;
                if text.chars().nth(most).is_some() {
                    return Err(format!(
                        "Argument `{name}` is longer than the limit of {most} characters"
                    ));
                }
                Ok(ToolArgument::Text(text))
            }
            Takes::Number(least, most, _) => {
                let most = most.unwrap_or(u64::MAX);
                let number = whole(json).filter(|number| (least..=most).contains(number));
                number.map(ToolArgument::Number).ok_or_else(|| match most {
                    u64::MAX => format!("Argument `{name}` must be a whole number from {least} on"),
                    most => {
                        format!("Argument `{name}` must be a whole number from {least} to {most}")
                    }
                })
            }
            Takes::Choice(choices) => {
                let text = id::decode(json).filter(|text| choices.contains(&&**text));
                let choices = || choices.join(", ");
                text.map(ToolArgument::Text)
                    .ok_or_else(|| format!("Argument `{name}` must be one of: {}", choices()))
            }
        }
    }
}

/// A whole number; JSON Schema accepts `3.0` as one, too.
fn whole(json: &str) -> Option<u64> {
    let digits = match json.split_once('.') {
        Some((digits, zeros)) if zeros.bytes().all(|byte| byte == b'0') => digits,
        _ => json,
    };
    digits.parse().ok()
}

/// The members of the arguments: stores no more of them than the tool has.
struct ToolArgumentMembers<'a> {
    values: Vec<Option<&'a RawValue>>,
    twice: Option<&'static str>,
    unknown: Option<String>,
}

struct ToolArgumentsVisitor(&'static Tool);

impl<'de> Visitor<'de> for ToolArgumentsVisitor {
    type Value = ToolArgumentMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let parameters = self.0.parameters;
        let mut is_there = vec![false; parameters.len()];
        let mut members = ToolArgumentMembers {
            values: vec![None; parameters.len()],
            twice: None,
            unknown: None,
        };
        while let Some(ArgumentKey(name)) = map.next_key()? {
            let value: &RawValue = map.next_value()?;
            let Some(at) = parameters.iter().position(|it| it.name == name) else {
                members
                    .unknown
                    .get_or_insert_with(|| shorten(&name, QUOTED));
                continue;
            };
            if std::mem::replace(&mut is_there[at], true) {
                members.twice = Some(parameters[at].name);
            }
            members.values[at] = Some(value).filter(|value| value.get() != "null");
        }
        Ok(members)
    }
}
