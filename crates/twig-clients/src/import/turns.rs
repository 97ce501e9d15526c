//! Roles of messages. MCP has users and assistants; system text goes first in the user's message.

use super::words::EscapedWords;
use twig_core::model::Role;

/// The role of a speaker in other formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
}

impl Speaker {
    /// Parses a role.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "system" | "developer" => Some(Self::System),
            "user" | "human" => Some(Self::User),
            "assistant" | "model" | "ai" => Some(Self::Assistant),
            _ => None,
        }
    }
}

/// Turns turns into messages. Blank ones are dropped.
pub(super) fn fold(
    turns: Vec<(Speaker, EscapedWords)>,
    changes: &mut Vec<String>,
) -> Vec<(Role, EscapedWords)> {
    let mut messages: Vec<(Role, EscapedWords)> = Vec::new();
    let mut system: Option<EscapedWords> = None;
    let mut is_moved = false;
    for (speaker, words) in turns {
        if words.is_blank() {
            continue;
        }
        match speaker {
            Speaker::System if messages.is_empty() => {
                system = Some(joined(system.take(), words));
            }
            Speaker::System => {
                is_moved = true;
                messages.push((Role::User, words));
            }
            Speaker::User => match system.take() {
                Some(first) => {
                    is_moved = true;
                    messages.push((Role::User, joined(Some(first), words)));
                }
                None => messages.push((Role::User, words)),
            },
            Speaker::Assistant => {
                if let Some(first) = system.take() {
                    is_moved = true;
                    messages.push((Role::User, first));
                }
                messages.push((Role::Assistant, words));
            }
        }
    }
    if let Some(first) = system {
        is_moved = true;
        messages.push((Role::User, first));
    }
    if is_moved {
        changes.push(
            "its system text becomes part of the user's message, as MCP has no system role"
                .to_owned(),
        );
    }
    messages
}

fn joined(first: Option<EscapedWords>, second: EscapedWords) -> EscapedWords {
    match first {
        None => second,
        Some(mut words) => {
            words.trim_end(char::is_whitespace);
            words.text("\n\n");
            words.append(second);
            words
        }
    }
}
