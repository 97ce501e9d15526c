//! Prompts of GitHub Models: `*.prompt.yml`, with roles and `{{variables}}`.

use std::borrow::Cow;

use super::about::About;
use super::arguments::too_many;
use super::files::without_ending;
use super::{Reading, Spoken, curly, draft, refused};
use crate::front_matter::{Value, read_yaml};
use crate::limits::Limits;
use crate::model::{Argument, Dialect, Kind, Marks, Role};
use crate::name::RelativePath;
use crate::parse::library::Folder;

/// Makes a prompt of a file.
pub(super) fn read(folder: &Folder, path: &RelativePath, text: &str, limits: &Limits) -> Reading {
    let read = match prompt(text) {
        Ok(read) => read,
        Err(NoPrompt { why, line }) => {
            let lines = text.split_inclusive('\n');
            let before = lines.take(line.unwrap_or(1).saturating_sub(1));
            let at = before.map(str::len).sum();
            let help = "give it `messages`, each with a `role` and a `content`";
            return refused(Kind::Models, folder, path, text, &why, at..at, help);
        }
    };
    let id = without_ending(Kind::Models, path).replace('/', ":");
    let mut prompt = draft(Kind::Models, folder, path, &id);
    let spoken = read.spoken();
    let about = spoken.first().map(|first| About::of(&first.text));
    let said = |text: &Option<String>| text.as_deref().map(str::trim).map(str::to_owned);
    if let Some(title) = said(&read.name).filter(|name| !name.is_empty()) {
        prompt.title = Some(title.into());
    }
    let description = said(&read.description).filter(|text| !text.is_empty());
    let seen = || about.unwrap_or_default().description(&id);
    prompt.description = Some(description.unwrap_or_else(seen).into());
    let mut names: Vec<&str> = Vec::new();
    for spoken in &spoken {
        curly::variable_names(&spoken.text, limits.arguments + 1, &mut names);
    }
    let mut remarks = Vec::new();
    if names.len() > limits.arguments {
        names.truncate(limits.arguments);
        remarks.push(too_many(limits));
    }
    // What is free text comes last: several clients give it all that is left of a line.
    names.sort_by_key(|name| *name == curly::INPUT);
    prompt.dialect = Dialect::Marks(match names[..] {
        [] => Marks::None,
        _ => Marks::Variables,
    });
    let arguments = names.into_iter().map(|name| Argument {
        name: name.into(),
        ..Argument::default()
    });
    prompt.arguments = arguments.collect();
    Reading::of(folder, path, text, prompt).with(folder, path, remarks)
}

/// What a file holds; settings of the model and tests of the prompt are its author's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelPrompt {
    /// A name for people.
    pub(super) name: Option<String>,
    /// What it does.
    pub(super) description: Option<String>,
    messages: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Turn {
    role: String,
    content: Option<String>,
}

/// A file that is no prompt: why, and on which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoPrompt {
    /// Reads on after the file's path.
    pub(super) why: String,
    /// The line, from 1.
    pub(super) line: Option<usize>,
}

/// The prompt in a file.
pub(super) fn prompt(text: &str) -> Result<ModelPrompt, NoPrompt> {
    let file = read_yaml(text).map(Value::Map).map_err(|fault| {
        let before = fault.offset().and_then(|offset| text.get(..offset));
        let line = before.map(|before| before.matches('\n').count() + 1);
        let why = format!("cannot be read as a prompt: it {fault}");
        NoPrompt { why, line }
    })?;
    let messages = file.get("messages").map(Value::items).unwrap_or_default();
    let read = ModelPrompt {
        name: file.word_at("name"),
        description: file.word_at("description"),
        messages: messages.iter().map(turn).collect(),
    };
    if read.spoken().is_empty() {
        let why = "has no message with a text".to_owned();
        return Err(NoPrompt { why, line: None });
    }
    Ok(read)
}

fn turn(message: &Value) -> Turn {
    Turn {
        role: message.word_at("role").unwrap_or_default(),
        content: message.word_at("content"),
    }
}

impl ModelPrompt {
    /// Its messages. What the system is told comes first in the first message of the person: prompts
    /// know no other roles, and several clients take the first message alone.
    pub(super) fn spoken(&self) -> Vec<Spoken<'static>> {
        let mut told: Vec<&str> = Vec::new();
        let mut spoken: Vec<Spoken<'static>> = Vec::new();
        for turn in &self.messages {
            let Some(text) = turn
                .content
                .as_deref()
                .filter(|text| !text.trim().is_empty())
            else {
                continue;
            };
            let role = match &*turn.role.to_ascii_lowercase() {
                "assistant" => Role::Assistant,
                "user" => Role::User,
                _ => {
                    told.push(text);
                    continue;
                }
            };
            spoken.push(Spoken {
                role,
                text: Cow::Owned(text.to_owned()),
            });
        }
        if told.is_empty() {
            return spoken;
        }
        let mut told: Vec<&str> = told.iter().map(|text| text.trim_end()).collect();
        let role = Role::User;
        if let Some(first) = spoken.iter_mut().find(|spoken| spoken.role == role) {
            told.push(&first.text);
            let text = told.join("\n\n");
            first.text = Cow::Owned(text);
        } else {
            let text = Cow::Owned(told.join("\n\n"));
            spoken.insert(0, Spoken { role, text });
        }
        spoken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_speaks_first_in_the_persons_message() {
        let text = "name: Sum\ndescription: d\nmodel: x\nmessages:\n  - role: system\n    content: Be short.\n  - role: user\n    content: |\n      Sum {{text}}\n  - role: assistant\n    content: ok\ntestData:\n  - text: a\n";
        let read = prompt(text).unwrap();
        assert_eq!(read.name.as_deref(), Some("Sum"));
        let spoken = read.spoken();
        assert_eq!(spoken[0].role, Role::User);
        assert_eq!(spoken[0].text, "Be short.\n\nSum {{text}}\n");
        assert_eq!(spoken[1].role, Role::Assistant);
        assert_eq!(spoken.len(), 2);
    }

    #[test]
    fn the_system_alone_is_the_message() {
        let spoken = prompt("messages: [{role: system, content: Hi}]")
            .unwrap()
            .spoken();
        assert_eq!((spoken[0].role, &*spoken[0].text), (Role::User, "Hi"));
    }

    #[test]
    fn what_is_no_prompt_says_why() {
        for (text, why) in [
            ("", "has no message with a text"),
            ("messages: []", "has no message with a text"),
            ("name: x", "has no message with a text"),
            ("messages: [{role: user}]", "has no message with a text"),
            ("a: [", "cannot be read as a prompt: "),
        ] {
            let error = prompt(text).unwrap_err();
            assert!(error.why.starts_with(why), "{text}: {}", error.why);
        }
    }
}
