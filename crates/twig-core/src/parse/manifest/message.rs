//! The messages of a prompt: a template, and images, audio and documents with it.

use std::ops::Range;

use super::fields::{FirstMistake, ManifestFields};
use super::{Manifest, UnavailablePrompt};
use crate::argument::Argument;
use crate::body::{BodyError, FileRole};
use crate::braces::UriPattern;
use crate::media::MediaKind;
use crate::model::{Content, MessageSource, Role, TextForm};
use crate::name::{NameError, RelativePath};
use crate::parse::library::MANIFEST;
use crate::parse::toml::{TomlItem, TomlValue};
use crate::problem::ProblemCode;
use crate::suggest;

/// The keys for the content of a message.
const SAID: [&str; 6] = [
    "file",
    "text",
    "image",
    "audio",
    "resource",
    "resource_link",
];

impl Manifest<'_> {
    pub(super) fn messages(
        &mut self,
        item: &TomlItem<'_>,
        arguments: &[Argument],
    ) -> Result<Vec<MessageSource>, UnavailablePrompt> {
        let TomlValue::List(items) = &item.value else {
            return Err(self.wrong_type("messages", "an array of tables", item));
        };
        if items.is_empty() {
            return Err(self.error(
                ProblemCode::NoMessages,
                item.span.clone(),
                "`messages` is empty".to_owned(),
            ));
        }
        if items.len() > self.limits.messages {
            let message = format!(
                "{} messages are declared; the limit is {}",
                items.len(),
                self.limits.messages
            );
            return Err(self.error(ProblemCode::TooManyMessages, item.span.clone(), message));
        }
        let mut messages = Vec::with_capacity(items.len());
        let mut mistake = FirstMistake::default();
        for item in items {
            messages.extend(self.message(item, arguments, &mut mistake));
        }
        mistake.or(messages)
    }

    fn message(
        &mut self,
        item: &TomlItem<'_>,
        arguments: &[Argument],
        mistake: &mut FirstMistake,
    ) -> Option<MessageSource> {
        let TomlValue::Table(table) = &item.value else {
            mistake.note(self.wrong_type("messages", "an array of tables", item));
            return None;
        };
        let mut fields = ManifestFields::new(table);
        let role = match fields.take("role") {
            None => Role::User,
            Some(TomlItem {
                value: TomlValue::Text(text),
                ..
            }) if text == "user" => Role::User,
            Some(TomlItem {
                value: TomlValue::Text(text),
                ..
            }) if text == "assistant" => Role::Assistant,
            Some(item) => {
                let message = "`role` is \"user\" or \"assistant\"".to_owned();
                let refusal = self.error(ProblemCode::BadRole, item.span.clone(), message);
                self.help("say what a model should keep to in the first user message".to_owned());
                mistake.note(refusal);
                Role::User
            }
        };
        let said = SAID.map(|key| (key, fields.take(key)));
        let mut said = said
            .into_iter()
            .filter_map(|(key, item)| Some((key, item?)));
        let message = if let (Some((key, what)), None) = (said.next(), said.next()) {
            self.said_as(role, key, what, arguments)
        } else {
            let message = format!("a message has just one of: {}", SAID.join(", "));
            Err(self.error(ProblemCode::BadMessage, item.span.clone(), message))
        };
        let message = mistake.keep(message);
        self.unknown(&fields, "a message");
        message
    }

    /// The message that one of the keys in [`SAID`] gives.
    fn said_as(
        &mut self,
        role: Role,
        key: &str,
        what: &TomlItem<'_>,
        arguments: &[Argument],
    ) -> Result<MessageSource, UnavailablePrompt> {
        match key {
            "text" => self.text_message(role, what),
            "image" => self.media_message(role, MediaKind::Image, what),
            "audio" => self.media_message(role, MediaKind::Audio, what),
            "resource" | "resource_link" => self.document_message(role, key, what, arguments),
            _ => {
                let path = self.path_field(key, what)?;
                self.file_message(role, path, what.span.clone())
            }
        }
    }

    pub(super) fn text_message(
        &mut self,
        role: Role,
        item: &TomlItem<'_>,
    ) -> Result<MessageSource, UnavailablePrompt> {
        let TomlValue::Text(text) = &item.value else {
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

    /// A message that is a document, or a link to it.
    fn document_message(
        &mut self,
        role: Role,
        key: &str,
        item: &TomlItem<'_>,
        arguments: &[Argument],
    ) -> Result<MessageSource, UnavailablePrompt> {
        let TomlValue::Text(text) = &item.value else {
            return Err(self.wrong_type(key, "a string", item));
        };
        let (uri, mistakes) = UriPattern::parse(text, arguments);
        let mut refusal = None;
        for mistake in mistakes {
            let sentence = self.error(mistake.code, item.span.clone(), mistake.message);
            // TOML declares arguments differently than JSON.
            self.help(match mistake.code {
                ProblemCode::BadResource => mistake.help,
                _ => "declare it in the prompt's `arguments`".to_owned(),
            });
            refusal = refusal.or(Some(sentence));
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let uri = uri.filter(|uri| !uri.is_folder);
        let (Some(uri), Ok(file)) = (uri, RelativePath::parse(MANIFEST)) else {
            let message = format!("`{key}` takes the URI of one document, not of a whole folder");
            return Err(self.error(ProblemCode::BadResource, item.span.clone(), message));
        };
        let is_link = key == "resource_link";
        Ok(MessageSource {
            role,
            content: Content::Document { uri, is_link, file },
        })
    }

    fn media_message(
        &mut self,
        role: Role,
        kind: MediaKind,
        item: &TomlItem<'_>,
    ) -> Result<MessageSource, UnavailablePrompt> {
        let path = self.path_field(kind.as_str(), item)?;
        let Some(mime) = kind.mime_of(path.file_name()) else {
            let endings: Vec<&str> = kind.endings().iter().map(|(ending, _)| *ending).collect();
            let message = format!(
                "`{}` takes a file whose name ends in one of: {}",
                kind.as_str(),
                endings.join(", ")
            );
            return Err(self.error(ProblemCode::UnknownMedia, item.span.clone(), message));
        };
        self.look(kind.as_str(), &path, item.span.clone())?;
        Ok(MessageSource {
            role,
            content: Content::Media { kind, mime, path },
        })
    }

    /// The line on which a string's text starts: TOML drops a newline after three quotes.
    fn place_of_text(&self, item: &TomlItem<'_>) -> (u32, TextForm) {
        let raw = &self.text[item.span.clone()];
        let line = self.problems.line(item.span.start);
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
        item: &TomlItem<'_>,
    ) -> Result<RelativePath, UnavailablePrompt> {
        let TomlValue::Text(text) = &item.value else {
            return Err(self.wrong_type(key, "a string", item));
        };
        RelativePath::parse(text).map_err(|error| {
            let message = match error {
                NameError::Empty => format!("`{key}` is empty"),
                error => format!("`{}` {error}", text.escape_debug()),
            };
            let code = match error {
                NameError::Absolute | NameError::Outside => ProblemCode::OutsideLibrary,
                _ => ProblemCode::BadPath,
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
    ) -> Result<MessageSource, UnavailablePrompt> {
        self.look("file", &path, span)?;
        Ok(MessageSource {
            role,
            content: Content::File(path),
        })
    }

    /// Refuses a file that cannot be read; `key` is the field that names it.
    fn look(
        &mut self,
        key: &str,
        path: &RelativePath,
        span: Range<usize>,
    ) -> Result<(), UnavailablePrompt> {
        let Err(error) = self.files.look(path) else {
            return Ok(());
        };
        let shown = self.folder.shown_path_of(path);
        let mut problem = error.problem(FileRole::PromptText, self.path, &shown);
        if error == BodyError::NotFound {
            problem.help = Some(match self.neighbour(path) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("create the file, or name another with `{key}`"),
            });
        }
        let sentence = problem.message.clone();
        self.problems.add_found(problem, span);
        Err(sentence.into())
    }

    /// The file in the same folder whose name is most like that of a missing one.
    fn neighbour(&self, path: &RelativePath) -> Option<String> {
        // Endings and folders are the same for most files, and say nothing.
        let stem = |path: &str| {
            path.rsplit('/')
                .next()
                .and_then(|it| it.split('.').next())
                .map(str::to_owned)
        };
        let beside = self.files.beside(path);
        let stems: Vec<String> = beside.iter().filter_map(|path| stem(path)).collect();
        let wanted = stem(path.as_str())?;
        let near = suggest::near(&wanted, stems.iter().map(String::as_str));
        let near = near.first()?;
        beside
            .iter()
            .find(|path| stem(path).as_ref() == Some(near))
            .cloned()
    }
}
