//! A prompt as a format has read it, and how it becomes a prompt that can be stored and served.

use std::collections::BTreeSet;

use super::arguments::DraftArguments;
use super::words::EscapedWords;
use super::{ImportItem, ImportedMessage, ImportedPrompt, summary};
use twig_core::check::probe;
use twig_core::hidden::{TextPlace, find};
use twig_core::limits::Limits;
use twig_core::model::Role;

/// The longest title and description, in characters.
const TITLE: usize = 256;
const DESCRIPTION: usize = 1024;
/// The longest description made from the text, in characters.
const SUMMARY: usize = 200;

/// Changes of one prompt that are reported.
const TOLD: usize = 12;
/// The longest change that is reported in full, in characters.
const CHANGE: usize = 300;

/// The change that reports that a text is no template here, and why.
fn as_it_is(why: &str) -> String {
    format!("it is taken as it is, without arguments: {why}")
}

/// A prompt that is being imported.
pub(super) struct ImportDraft {
    /// Where it was found.
    pub(super) from: String,
    /// The text that its name is made from.
    pub(super) wished: String,
    /// Distinguishes it from others with that name.
    pub(super) key: String,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) arguments: DraftArguments,
    pub(super) messages: Vec<(Role, EscapedWords)>,
    /// The original text.
    pub(super) original: String,
    /// Repairs of its file.
    pub(super) repairs: Vec<String>,
    /// True if people can read that text, including its braces.
    pub(super) is_literal: bool,
    pub(super) changes: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl ImportDraft {
    /// An empty draft.
    pub(super) fn new(from: &str, wished: &str, original: &str, limits: &Limits) -> Self {
        Self {
            from: from.to_owned(),
            wished: wished.to_owned(),
            key: from.to_owned(),
            title: None,
            description: None,
            arguments: DraftArguments::new(limits.arguments),
            messages: Vec::new(),
            original: original.to_owned(),
            repairs: Vec::new(),
            is_literal: false,
            changes: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Refuses a text that is too long for a template: then it is not parsed.
    pub(super) fn check_length(&self, limits: &Limits) -> Result<(), String> {
        let limit = limits.template_source;
        if self.original.len() > limit {
            return Err(format!("a template may have {limit} bytes"));
        }
        Ok(())
    }

    /// Keeps the text as it is instead of as a template.
    pub(super) fn keep_as_it_is(&mut self, why: &str, limits: &Limits) {
        self.changes = vec![as_it_is(why)];
        self.arguments = DraftArguments::new(limits.arguments);
        self.messages = vec![(Role::User, EscapedWords::of(&self.original))];
    }

    /// The prompt, or why it is skipped.
    pub(super) fn finish(mut self, limits: &Limits) -> ImportItem {
        let mut changes = std::mem::take(&mut self.changes);
        let mut arguments = self.arguments.finish(&mut changes);
        self.messages.retain(|(_, words)| !words.is_blank());
        let mut is_template = !self.messages.iter().all(|(_, words)| words.is_plain());
        let mut messages: Vec<ImportedMessage> = self
            .messages
            .iter()
            .map(|(role, words)| ImportedMessage {
                role: *role,
                text: if is_template {
                    words.template()
                } else {
                    words.plain()
                },
            })
            .collect();
        if is_template
            && let Some(why) = messages.iter().find_map(|message| {
                let size = message.text.len();
                if size > limits.template_source {
                    let limit = limits.template_source;
                    return Some(format!("a template may have {limit} bytes"));
                }
                probe(&message.text, &arguments, limits).err()
            })
        {
            changes = vec![as_it_is(&why)];
            is_template = false;
            arguments = Vec::new();
            messages = vec![ImportedMessage {
                role: Role::User,
                text: self.original.clone(),
            }];
        }
        changes.splice(0..0, self.repairs);
        if messages.iter().any(|message| message.text.contains('\0')) {
            changes.push("NUL characters are left out of its text".to_owned());
            for message in &mut messages {
                message.text.retain(|c| c != '\0');
            }
        }
        for message in &mut messages {
            // A reader of the file would take it for the byte order mark of the file.
            if message.text.starts_with('\u{feff}') {
                message.text.drain(..'\u{feff}'.len_utf8());
            }
        }
        let refusal = refusal(&messages, limits);
        let title = self.title.as_deref();
        let title = title.and_then(|text| label(text, TITLE, "title", &mut changes));
        let description = self.description.as_deref();
        let description = description
            .and_then(|text| label(text, DESCRIPTION, "description", &mut changes))
            .or_else(|| {
                let about = if self.is_literal {
                    summary::of_text(&self.original)
                } else {
                    about(&messages)
                };
                label(&about?, SUMMARY, "", &mut Vec::new())
            })
            .or_else(|| {
                let name = title.as_deref().unwrap_or(&self.wished);
                let text = format!("The prompt `{name}`");
                label(&text, DESCRIPTION, "", &mut Vec::new())
            });
        for argument in &mut arguments {
            let what = format!("description of `{}`", argument.name);
            let text = argument.description.take();
            let text = text.and_then(|text| label(&text, DESCRIPTION, &what, &mut changes));
            argument.description = text.map(Into::into);
        }
        for change in &mut changes {
            *change = cut_middle(change);
        }
        let mut seen = BTreeSet::new();
        changes.retain(|change| seen.insert(change.clone()));
        if changes.len() > TOLD {
            let more = changes.len() - TOLD;
            changes.truncate(TOLD);
            changes.push(format!("and {more} more like that"));
        }
        let prompt = ImportedPrompt {
            name: String::new(),
            wished: self.wished,
            key: self.key,
            title,
            description,
            arguments,
            messages,
            is_template,
            original: self.original,
        };
        ImportItem {
            from: self.from,
            prompt: refusal.map_or(Ok(prompt), Err),
            changes,
            notes: self.notes,
        }
    }
}

/// A description from the messages.
fn about(messages: &[ImportedMessage]) -> Option<String> {
    let mut texts = messages.iter().map(|message| message.text.as_str());
    texts.find_map(|text| {
        if summary::has_tags(text) {
            summary::of_template(text)
        } else {
            summary::of_text(text)
        }
    })
}

/// Why messages cannot be stored.
fn refusal(messages: &[ImportedMessage], limits: &Limits) -> Option<String> {
    if messages
        .iter()
        .all(|message| message.text.trim().is_empty())
    {
        return Some("it says nothing".to_owned());
    }
    if messages.len() > limits.messages {
        return Some(format!(
            "it has {} messages; the limit is {}",
            messages.len(),
            limits.messages
        ));
    }
    let limit = limits.verbatim;
    let is_long = |message: &ImportedMessage| message.text.len() > limit;
    messages
        .iter()
        .any(is_long)
        .then(|| format!("it is longer than the limit of {limit} bytes"))
}

/// A title or description on one line, without invisible characters; `None` if nothing remains.
fn label(text: &str, limit: usize, what: &str, changes: &mut Vec<String>) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whole = words.join(" ");
    let mut text = cut(&whole, limit);
    if text.len() < whole.len() && limit != SUMMARY {
        changes.push(format!("its {what} is cut to {limit} characters"));
    }
    let mut has_hidden = false;
    while let Some(found) = find(&text, TextPlace::Label) {
        has_hidden = true;
        text.remove(found.offset);
    }
    if has_hidden {
        changes.push(format!("invisible characters are removed from its {what}"));
    }
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A text, or as many of its words as fit and `…`.
fn cut(text: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return text.to_owned();
    };
    let (end, _) = text[..end].char_indices().next_back().unwrap_or((end, ' '));
    let kept = text[..end].trim_end();
    let word = kept.rfind(' ').filter(|at| *at > kept.len() / 2);
    format!("{}…", kept[..word.unwrap_or(kept.len())].trim_end())
}

/// A sentence; if it is too long, its beginning and its end.
fn cut_middle(text: &str) -> String {
    let length = text.chars().count();
    if length <= CHANGE {
        return text.to_owned();
    }
    let half = CHANGE / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    format!("{start}…{end}")
}
