//! The messages of a prompt: a template, or a picture or sound beside it.

use std::ops::Range;

use super::fields::Fields;
use super::{Manifest, Refusal};
use crate::media::MediaKind;
use crate::model::{Content, MessageSource, Role, TextForm};
use crate::name::{NameError, RelativePath};
use crate::parse::toml::{Item, Value};
use crate::problem::{Problem, Severity, locate};
use crate::render::body_sentence;
use crate::template::body_problem;

impl Manifest<'_> {
    pub(super) fn messages(&mut self, item: &Item<'_>) -> Result<Vec<MessageSource>, Refusal> {
        let Value::List(items) = &item.value else {
            return Err(self.wrong_type("messages", "an array of tables", item));
        };
        if items.is_empty() {
            return Err(self.error(
                "no-messages",
                item.span.clone(),
                "`messages` is empty".to_owned(),
            ));
        }
        items.iter().map(|item| self.message(item)).collect()
    }

    fn message(&mut self, item: &Item<'_>) -> Result<MessageSource, Refusal> {
        let Value::Table(table) = &item.value else {
            return Err(self.wrong_type("messages", "an array of tables", item));
        };
        let mut fields = Fields::new(table);
        let role = match fields.take("role") {
            None => Role::User,
            Some(Item {
                value: Value::Text(text),
                ..
            }) if text == "user" => Role::User,
            Some(Item {
                value: Value::Text(text),
                ..
            }) if text == "assistant" => Role::Assistant,
            Some(item) => {
                let message = "`role` is \"user\" or \"assistant\"".to_owned();
                return Err(self.error("bad-role", item.span.clone(), message));
            }
        };
        if let Some((key, span)) = fields.take_unsupported(&["resource"]) {
            return Err(self.unsupported(key, span));
        }
        let said = ["file", "text", "image", "audio"].map(|key| (key, fields.take(key)));
        let mut said = said
            .into_iter()
            .filter_map(|(key, item)| Some((key, item?)));
        let (Some((key, what)), None) = (said.next(), said.next()) else {
            let message = "a message has one of `file`, `text`, `image` and `audio`".to_owned();
            return Err(self.error("bad-message", item.span.clone(), message));
        };
        let message = match key {
            "text" => self.text_message(role, what)?,
            "image" => self.media_message(role, MediaKind::Image, what)?,
            "audio" => self.media_message(role, MediaKind::Audio, what)?,
            _ => {
                let path = self.path_field(key, what)?;
                self.file_message(role, path, what.span.clone())?
            }
        };
        self.unknown(&fields, "a message");
        Ok(message)
    }

    fn text_message(&mut self, role: Role, item: &Item<'_>) -> Result<MessageSource, Refusal> {
        let Value::Text(text) = &item.value else {
            return Err(self.wrong_type("text", "a string", item));
        };
        let (line, form) = self.place_of_text(item);
        let text = text.as_ref().into();
        Ok(MessageSource {
            role,
            content: Content::Text {
                text,
                line,
                form,
                file: None,
            },
        })
    }

    fn media_message(
        &mut self,
        role: Role,
        kind: MediaKind,
        item: &Item<'_>,
    ) -> Result<MessageSource, Refusal> {
        let path = self.path_field(kind.as_str(), item)?;
        let Some(mime) = kind.mime_of(path.file_name()) else {
            let endings: Vec<&str> = kind.endings().iter().map(|(ending, _)| *ending).collect();
            let message = format!(
                "`{}` takes a file whose name ends in one of: {}",
                kind.as_str(),
                endings.join(", ")
            );
            return Err(self.error("unknown-media", item.span.clone(), message));
        };
        self.look(&path, item.span.clone())?;
        Ok(MessageSource {
            role,
            content: Content::Media { kind, mime, path },
        })
    }

    /// The line on which a string's text starts: TOML drops a newline behind three quotes.
    fn place_of_text(&self, item: &Item<'_>) -> (u32, TextForm) {
        let raw = &self.text[item.span.clone()];
        let line = locate(self.text, item.span.clone()).line;
        let is_long = raw.starts_with("\"\"\"") || raw.starts_with("'''");
        let has_own_lines = is_long && raw[3..].starts_with(['\n', '\r']);
        match (raw.starts_with('"') && raw.contains('\\'), has_own_lines) {
            (true, _) => (line, TextForm::Escaped),
            (false, true) => (line + 1, TextForm::Lines),
            (false, false) => (line, TextForm::Inline),
        }
    }

    pub(super) fn path_field(
        &mut self,
        key: &str,
        item: &Item<'_>,
    ) -> Result<RelativePath, Refusal> {
        let Value::Text(text) = &item.value else {
            return Err(self.wrong_type(key, "a string", item));
        };
        RelativePath::parse(text).map_err(|error| {
            let message = match error {
                NameError::Empty => format!("`{key}` is empty"),
                error => format!("`{}` {error}", text.escape_debug()),
            };
            let code = match error {
                NameError::Absolute | NameError::Outside => "outside-library",
                _ => "bad-path",
            };
            self.error(code, item.span.clone(), message)
        })
    }

    /// A message from a template in a file.
    pub(super) fn file_message(
        &mut self,
        role: Role,
        path: RelativePath,
        span: Range<usize>,
    ) -> Result<MessageSource, Refusal> {
        self.look(&path, span)?;
        Ok(MessageSource {
            role,
            content: Content::File(path),
        })
    }

    /// Refuses a file that is not there to be read.
    fn look(&mut self, path: &RelativePath, span: Range<usize>) -> Result<(), Refusal> {
        let Err(error) = self.files.look(path) else {
            return Ok(());
        };
        let shown = format!("{}/{path}", self.folder.shown_root);
        let help = body_problem(self.path, &shown, &error);
        let sentence = body_sentence(&shown, &error);
        let problem = Problem::at(
            help.code,
            Severity::Error,
            self.path,
            self.text,
            span,
            sentence.as_str(),
        );
        self.problems.push(Problem {
            help: help.help,
            ..problem
        });
        Err(sentence.into())
    }
}
