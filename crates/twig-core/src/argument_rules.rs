//! The rules of an argument that its author set, and whether a value meets them.

use crate::argument::{Argument, PATTERN_VALUE};
use crate::render_error::RenderError;

/// Refuses a value that an argument does not take.
pub fn check_value(argument: &Argument, value: &str) -> Result<(), RenderError> {
    if let Some(limit) = argument.max_length {
        let length = value.chars().count();
        if length > limit as usize {
            return Err(RenderError::TooLong {
                argument: argument.name.clone(),
                length,
                limit,
            });
        }
    }
    if !argument.choices.is_empty() && !argument.choices.iter().any(|choice| **choice == *value) {
        return Err(RenderError::NotAChoice {
            argument: argument.name.clone(),
            choices: argument.choices.clone(),
        });
    }
    if argument.pattern.is_some() && value.len() > PATTERN_VALUE {
        let what = format!("Argument `{}`, which has a pattern,", argument.name);
        return Err(RenderError::ValueTooLarge {
            what,
            limit: PATTERN_VALUE,
        });
    }
    if let Some(pattern) = &argument.pattern
        && !pattern.is_match(value)
    {
        return Err(RenderError::NoMatch {
            argument: argument.name.clone(),
            pattern: pattern.as_str().into(),
        });
    }
    Ok(())
}
