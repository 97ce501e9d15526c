//! The values that were given: which are missing, which are unknown, which break a rule.

use super::stand_in::is_stand_in;
use super::{Checked, GivenArguments, RenderError};
use crate::argument::{Argument, PATTERN_VALUE};
use crate::argument_rules::check_value;
use crate::limits::Limits;
use crate::problem::shorten;
use crate::suggest;

/// The required arguments that have neither a value nor a default.
pub fn missing(arguments: &[Argument], given: &GivenArguments<'_>) -> Vec<Argument> {
    arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| argument.required && argument.default.is_none())
        .filter(|(at, argument)| value_at(given, *at, argument).is_none())
        .map(|(_, argument)| argument.clone())
        .collect()
}

/// Given names that are no arguments of the prompt.
pub fn unknown<'a>(arguments: &[Argument], given: &'a GivenArguments<'_>) -> Vec<&'a str> {
    given
        .iter()
        .map(|(name, _)| &**name)
        .filter(|name| !arguments.iter().any(|argument| *argument.name == **name))
        .collect()
}

/// Refuses unknown arguments, and suggests similar names.
pub fn refuse_unknown(
    arguments: &[Argument],
    given: &GivenArguments<'_>,
) -> Result<(), RenderError> {
    let unknown = unknown(arguments, given);
    let Some(first) = unknown.first() else {
        return Ok(());
    };
    let names = arguments.iter().map(|argument| &*argument.name);
    let near = suggest::did_you_mean(first, names);
    // A request may have thousands of names; a few are enough to act on.
    let names = unknown.iter().take(16).map(|name| shorten(name, 64));
    let names = names.collect();
    Err(RenderError::UnknownArguments { names, near })
}

/// The value that was given for an argument. Clients send arguments in the listed order: try the same
/// index first.
///
/// Many clients send an empty text for what the user left out, so an empty value is none where it
/// would replace a default or break a rule of an argument that may be left out.
pub(super) fn value_at<'a>(
    given: &'a GivenArguments<'_>,
    at: usize,
    argument: &Argument,
) -> Option<&'a str> {
    let value = match given.get(at) {
        Some((key, value)) if **key == *argument.name => &**value,
        _ => value_of(given, &argument.name)?,
    };
    let is_left_out = value.is_empty()
        && (argument.default.is_some()
            || !argument.required && check_value(argument, value).is_err());
    (!is_left_out).then_some(value)
}

pub(super) fn value_of<'a>(given: &'a GivenArguments<'_>, name: &str) -> Option<&'a str> {
    given
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| &**value)
}

impl Checked {
    fn includes(self, value: &str) -> bool {
        match self {
            Self::All => true,
            Self::AllButStandIns => !is_stand_in(value),
            Self::None => false,
        }
    }
}

/// Bytes of the values that have to match a pattern.
pub(super) fn pattern_bytes(arguments: &[Argument], given: &GivenArguments<'_>) -> usize {
    let arguments = arguments.iter().enumerate();
    let matched = arguments.filter(|(_, argument)| argument.pattern.is_some());
    let values = matched.filter_map(|(at, argument)| value_at(given, at, argument));
    values.map(str::len).sum()
}

/// Checks the values; `matched` is their [`pattern_bytes`].
pub(super) fn check_values(
    arguments: &[Argument],
    given: &GivenArguments<'_>,
    matched: usize,
    limits: &Limits,
    checked: Checked,
) -> Result<(), RenderError> {
    let mut total = 0;
    for (name, value) in given {
        total += value.len();
        if value.len() > limits.argument_value {
            return Err(RenderError::ValueTooLarge {
                what: format!("Argument `{}`", shorten(name, 64)),
                limit: limits.argument_value,
            });
        }
    }
    if total > limits.argument_values {
        return Err(RenderError::ValueTooLarge {
            what: "The text of all arguments".to_owned(),
            limit: limits.argument_values,
        });
    }
    if matched > PATTERN_VALUE {
        return Err(RenderError::ValueTooLarge {
            what: "The text of all arguments that have a pattern".to_owned(),
            limit: PATTERN_VALUE,
        });
    }
    for (at, argument) in arguments.iter().enumerate() {
        if let Some(value) = value_at(given, at, argument)
            && checked.includes(value)
        {
            check_value(argument, value)?;
        }
    }
    Ok(())
}
