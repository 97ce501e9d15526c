//! A prompt in a TOML file: its text is the value of `prompt`.

use std::borrow::Cow;
use std::ops::Range;

use crate::parse::{TomlValue, read_toml};

/// The content of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlPrompt<'t> {
    /// The text of the prompt.
    pub prompt: Cow<'t, str>,
    /// What it does, if the file says so.
    pub description: Option<Cow<'t, str>>,
}

/// Why a file holds no prompt, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoTomlPrompt {
    /// The reason; follows the file's path.
    pub why: String,
    /// Where in the file.
    pub at: Range<usize>,
    /// What to do about it.
    pub help: &'static str,
}

/// The prompt in a file; other keys are ignored.
pub fn read(text: &str) -> Result<TomlPrompt<'_>, NoTomlPrompt> {
    let table = read_toml(text).map_err(|error| NoTomlPrompt {
        why: format!("is not valid TOML: {}", error.message),
        at: error.span.unwrap_or(0..0),
        help: "fix the line that is shown",
    })?;
    let prompt = match table.get("prompt").map(|item| (&item.value, &item.span)) {
        Some((TomlValue::Text(prompt), _)) => prompt.clone(),
        Some((other, span)) => {
            return Err(NoTomlPrompt {
                why: format!(
                    "has {} as its `prompt`, which has to be a string",
                    other.type_name()
                ),
                at: span.clone(),
                help: "write prompt = \"\"\"…\"\"\"",
            });
        }
        None => {
            return Err(NoTomlPrompt {
                why: "has no `prompt`".to_owned(),
                at: 0..0,
                help: "write prompt = \"\"\"…\"\"\"",
            });
        }
    };
    let description = match table.get("description").map(|item| &item.value) {
        Some(TomlValue::Text(text)) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    };
    Ok(TomlPrompt {
        prompt,
        description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_its_prompt() {
        let command = super::read(
            "description = \"Plan\"\nprompt = \"\"\"\nDo {{args}}\n!{ls}\n\"\"\"\nx = 1\n",
        );
        let command = command.unwrap();
        assert_eq!(command.prompt, "Do {{args}}\n!{ls}\n");
        assert_eq!(command.description.as_deref(), Some("Plan"));
        assert_eq!(
            super::read("prompt = 'x'\ndescription = ' '")
                .unwrap()
                .description,
            None
        );
    }

    #[test]
    fn what_is_no_command_says_why() {
        for (text, why) in [
            ("", "has no `prompt`"),
            (
                "prompt = 1",
                "has a number as its `prompt`, which has to be a string",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().why, why);
        }
        let wrong = read("prompt = \"\"\"\nnever closed").unwrap_err();
        assert!(
            wrong.why.starts_with("is not valid TOML: "),
            "{}",
            wrong.why
        );
    }
}
