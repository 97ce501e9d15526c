//! Writes prompts as text of `twig.toml`. New prompts are appended to a manifest, so that comments
//! and everything else stay as they were.

use std::fmt::Write;

use crate::argument::{Argument, Pattern};
use crate::model::Role;
use crate::name::PromptName;

/// A prompt as it is written.
#[derive(Debug, Clone)]
pub struct PromptTable<'a> {
    /// Its name.
    pub name: &'a PromptName,
    /// A name for people.
    pub title: Option<&'a str>,
    /// What it does.
    pub description: Option<&'a str>,
    /// True if its text is a Jinja template.
    pub is_template: bool,
    /// Its text, if that is in the manifest itself.
    pub text: Option<&'a str>,
    /// The role and file of each message; empty for `prompts/NAME.md`.
    pub messages: &'a [(Role, String)],
    /// What it takes.
    pub arguments: &'a [Argument],
    /// True to write arguments by name only, as in `arguments = ["code", "language?"]`, if there is
    /// nothing else to say about them.
    pub may_be_short: bool,
}

/// A manifest with more prompts, with its own line ends.
pub fn with_prompts(manifest: &str, prompts: &[PromptTable<'_>]) -> String {
    let tables: Vec<String> = prompts.iter().map(table).collect();
    append(manifest, &tables.join("\n"))
}

/// A manifest with the text of more tables, with its own line ends.
pub fn append(manifest: &str, tables: &str) -> String {
    if tables.is_empty() {
        return manifest.to_owned();
    }
    let is_crlf = manifest.contains("\r\n");
    let end = if is_crlf { "\r\n" } else { "\n" };
    let gap = match manifest {
        "" => String::new(),
        manifest if manifest.ends_with('\n') => end.to_owned(),
        _ => end.repeat(2),
    };
    // Each value is on one line, so every line end here is ours.
    format!("{manifest}{gap}{}", tables.replace('\n', end))
}

/// The tables of one prompt.
pub fn table(prompt: &PromptTable<'_>) -> String {
    let mut text = String::new();
    write(prompt, &mut text);
    text
}

fn write(prompt: &PromptTable<'_>, text: &mut String) {
    let key = prompt.name.as_toml_key();
    let _ = writeln!(text, "[prompts.{key}]");
    field(text, "title", prompt.title);
    field(text, "description", prompt.description);
    if !prompt.is_template {
        text.push_str("template = \"none\"\n");
    }
    let short: Option<Vec<String>> = prompt.arguments.iter().map(Argument::as_short).collect();
    let short = short.filter(|short| prompt.may_be_short && !short.is_empty());
    if let Some(short) = &short {
        let names: Vec<String> = short.iter().map(|name| basic_string(name)).collect();
        let _ = writeln!(text, "arguments = [{}]", names.join(", "));
    }
    field(text, "text", prompt.text);
    match prompt.messages {
        [] => {}
        [(Role::User, file)] => field(text, "file", Some(file)),
        messages => {
            for (role, file) in messages {
                let _ = writeln!(text, "\n[[prompts.{key}.messages]]");
                field(text, "role", Some(role.as_str()));
                field(text, "file", Some(file));
            }
        }
    }
    let arguments = prompt.arguments.iter();
    for argument in arguments.filter(|_| short.is_none()) {
        let _ = writeln!(text, "\n[[prompts.{key}.arguments]]");
        field(text, "name", Some(&argument.name));
        field(text, "description", argument.description.as_deref());
        if argument.required {
            text.push_str("required = true\n");
        }
        field(text, "default", argument.default.as_deref());
        if !argument.choices.is_empty() {
            let choices = argument.choices.iter().map(|choice| basic_string(choice));
            let choices: Vec<String> = choices.collect();
            let _ = writeln!(text, "choices = [{}]", choices.join(", "));
        }
        if let Some(length) = argument.max_length {
            let _ = writeln!(text, "max_length = {length}");
        }
        let pattern = argument.pattern.as_ref();
        field(text, "pattern", pattern.map(Pattern::as_str));
    }
}

fn field(text: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        let _ = writeln!(text, "{key} = {}", basic_string(value));
    }
}

fn basic_string(text: &str) -> String {
    // JSON's escapes are a subset of TOML's.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}
