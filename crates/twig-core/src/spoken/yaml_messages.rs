//! A prompt in a YAML file: `messages`, each with a `role` and a `content`.

use std::borrow::Cow;

use super::FileMessage;
use crate::front_matter::{FrontMatterValue, read_yaml};
use crate::model::Role;

/// The content of a file; settings of the model and tests of the prompt are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlMessages {
    /// A name for people.
    pub name: Option<String>,
    /// What it does.
    pub description: Option<String>,
    messages: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Turn {
    role: String,
    content: Option<String>,
}

/// Why a file is no prompt, and on which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoYamlMessages {
    /// The reason; follows the file's path.
    pub why: String,
    /// The line, from 1.
    pub line: Option<usize>,
}

/// The prompt in a file.
pub fn read(text: &str) -> Result<YamlMessages, NoYamlMessages> {
    let file = read_yaml(text)
        .map(FrontMatterValue::Map)
        .map_err(|fault| {
            let before = fault.offset().and_then(|offset| text.get(..offset));
            let line = before.map(|before| before.matches('\n').count() + 1);
            let why = format!("cannot be read as a prompt: it {fault}");
            NoYamlMessages { why, line }
        })?;
    let messages = file
        .get("messages")
        .map(FrontMatterValue::items)
        .unwrap_or_default();
    let prompt = YamlMessages {
        name: file.word_at("name"),
        description: file.word_at("description"),
        messages: messages.iter().map(turn).collect(),
    };
    if prompt.spoken().is_empty() {
        let why = "has no message with a text".to_owned();
        return Err(NoYamlMessages { why, line: None });
    }
    Ok(prompt)
}

fn turn(message: &FrontMatterValue) -> Turn {
    Turn {
        role: message.word_at("role").unwrap_or_default(),
        content: message.word_at("content"),
    }
}

impl YamlMessages {
    /// Its messages. The system message becomes the start of the first user message: prompts have
    /// no system role, and several clients use only the first message.
    pub fn spoken(&self) -> Vec<FileMessage<'static>> {
        let mut told: Vec<&str> = Vec::new();
        let mut spoken: Vec<FileMessage<'static>> = Vec::new();
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
            spoken.push(FileMessage {
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
            spoken.insert(0, FileMessage { role, text });
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
        let read = read(text).unwrap();
        assert_eq!(read.name.as_deref(), Some("Sum"));
        let spoken = read.spoken();
        assert_eq!(spoken[0].role, Role::User);
        assert_eq!(spoken[0].text, "Be short.\n\nSum {{text}}\n");
        assert_eq!(spoken[1].role, Role::Assistant);
        assert_eq!(spoken.len(), 2);
    }

    #[test]
    fn the_system_alone_is_the_message() {
        let spoken = read("messages: [{role: system, content: Hi}]")
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
            let error = read(text).unwrap_err();
            assert!(error.why.starts_with(why), "{text}: {}", error.why);
        }
    }
}
