//! Commands of the Gemini command line: a TOML file each, with `prompt` and `description`.

use std::borrow::Cow;
use std::ops::Range;

use super::about::About;
use super::curly::ARGS;
use super::files::without_ending;
use super::{Reading, draft, refused};
use crate::model::{Argument, Dialect, Kind, Marks};
use crate::name::RelativePath;
use crate::parse::library::Folder;
use crate::parse::{Value, read_toml};

/// Makes a prompt of a command's file.
pub(super) fn read(folder: &Folder, path: &RelativePath, text: &str) -> Reading {
    let command = match command(text) {
        Ok(command) => command,
        Err(NoCommand { why, at, help }) => {
            return refused(Kind::Gemini, folder, path, text, &why, at, help);
        }
    };
    let id = without_ending(Kind::Gemini, path).replace('/', ":");
    let mut prompt = draft(Kind::Gemini, folder, path, &id);
    let about = About::of(&command.prompt);
    if id == prompt.name.as_str() {
        prompt.title = about.title().map(Into::into).or(prompt.title);
    }
    prompt.description = Some(match command.description {
        Some(said) => said.trim().into(),
        None => about.description(&id).into(),
    });
    prompt.dialect = Dialect::Marks(Marks::None);
    if command.prompt.contains("{{args}}") {
        prompt.dialect = Dialect::Marks(Marks::Args);
        prompt.arguments.push(Argument {
            name: ARGS.into(),
            description: Some("What follows the command".into()),
            ..Argument::default()
        });
    }
    Reading::of(folder, path, text, prompt)
}

/// What a command's file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command<'t> {
    /// What is said.
    pub(super) prompt: Cow<'t, str>,
    /// What it does, where the file says so.
    pub(super) description: Option<Cow<'t, str>>,
}

/// A file that is no command: why, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoCommand {
    /// Reads on after the file's path.
    pub(super) why: String,
    /// Where in the file.
    pub(super) at: Range<usize>,
    /// What to do about it.
    pub(super) help: &'static str,
}

/// The command in a file; keys that Gemini does not know are passed over as it does.
pub(super) fn command(text: &str) -> Result<Command<'_>, NoCommand> {
    let table = read_toml(text).map_err(|error| NoCommand {
        why: format!("is not valid TOML: {}", error.message),
        at: error.span.unwrap_or(0..0),
        help: "mend the line that is shown",
    })?;
    let prompt = match table.get("prompt").map(|item| (&item.value, &item.span)) {
        Some((Value::Text(prompt), _)) => prompt.clone(),
        Some((other, span)) => {
            return Err(NoCommand {
                why: format!(
                    "has {} as its `prompt`, which has to be a string",
                    other.type_name()
                ),
                at: span.clone(),
                help: "write prompt = \"\"\"…\"\"\"",
            });
        }
        None => {
            return Err(NoCommand {
                why: "has no `prompt`".to_owned(),
                at: 0..0,
                help: "write prompt = \"\"\"…\"\"\"",
            });
        }
    };
    let description = match table.get("description").map(|item| &item.value) {
        Some(Value::Text(text)) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    };
    Ok(Command {
        prompt,
        description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_its_prompt() {
        let command = super::command(
            "description = \"Plan\"\nprompt = \"\"\"\nDo {{args}}\n!{ls}\n\"\"\"\nx = 1\n",
        );
        let command = command.unwrap();
        assert_eq!(command.prompt, "Do {{args}}\n!{ls}\n");
        assert_eq!(command.description.as_deref(), Some("Plan"));
        assert_eq!(
            super::command("prompt = 'x'\ndescription = ' '")
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
            assert_eq!(command(text).unwrap_err().why, why);
        }
        let wrong = command("prompt = \"\"\"\nnever closed").unwrap_err();
        assert!(
            wrong.why.starts_with("is not valid TOML: "),
            "{}",
            wrong.why
        );
    }
}
