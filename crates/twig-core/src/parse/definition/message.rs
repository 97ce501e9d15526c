//! The messages of a definition and their content.

use super::reader::{DefinitionFields, DefinitionReader};
use crate::argument::Argument;
use crate::body::FileRole;
use crate::braces::{Braces, UriPattern};
use crate::media::MediaKind;
use crate::model::{Content, Dialect, MessageSource, Role, TextForm};
use crate::name::RelativePath;
use crate::parse::json::{Json, Path};
use crate::problem::{ProblemCode, Severity, locate};
use crate::suggest;

const TYPES: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// The fields of a message, and of its content.
pub(super) const FIELDS: [&str; 2] = ["role", "content"];
pub(super) const CONTENT_FIELDS: [&str; 4] = ["type", "text", "file", "uri"];

impl DefinitionReader<'_> {
    /// The valid messages.
    pub(super) fn messages(
        &mut self,
        path: &Path<'_>,
        json: Option<&Json<'_>>,
        arguments: &[Argument],
        dialect: Dialect,
    ) -> Vec<MessageSource> {
        let items = match json {
            None => return Vec::new(),
            Some(Json::List(items)) if !items.is_empty() => items,
            Some(Json::List(_)) => {
                let message = "expected at least one message, found an empty list";
                self.error(ProblemCode::BadMessage, path, message, None);
                return Vec::new();
            }
            Some(other) => {
                self.wrong_type(path, "a list", other);
                return Vec::new();
            }
        };
        let limit = self.context.limits.messages;
        if items.len() > limit {
            let message = format!("{} messages exceed the limit of {limit}", items.len());
            self.error(ProblemCode::TooManyMessages, path, &message, None);
            return Vec::new();
        }
        let items = items.iter().enumerate();
        let messages =
            items.filter_map(|(at, item)| self.message(&path.index(at), item, arguments, dialect));
        messages.collect()
    }

    fn message(
        &mut self,
        path: &Path<'_>,
        json: &Json<'_>,
        arguments: &[Argument],
        dialect: Dialect,
    ) -> Option<MessageSource> {
        let fields = self.object(path, json, "a message", &FIELDS)?;
        let role = fields.required(self, "role");
        let role = self.role(&path.key("role"), role);
        let content = fields.required(self, "content")?;
        let path = path.key("content");
        if let Json::Text(_) = content {
            let message = "expected an object, found a string";
            let help = Some("write {\"type\": \"text\", \"text\": \"…\"}".to_owned());
            self.error(ProblemCode::WrongType, &path, message, help);
            return None;
        }
        let what = "the content of a message";
        let fields = self.object(&path, content, what, &CONTENT_FIELDS)?;
        let kind = fields.required(self, "type");
        let kind = self.text(&path.key("type"), kind)?;
        let content = match &*kind {
            "text" => self.words(&path, &fields, arguments, dialect),
            "image" => self.media(&path, &fields, MediaKind::Image),
            "audio" => self.media(&path, &fields, MediaKind::Audio),
            "resource" => self.document(&path, &fields, arguments, false),
            "resource_link" => self.document(&path, &fields, arguments, true),
            other => {
                let shown = crate::problem::shorten(other, 64);
                let message = format!(
                    "expected one of {}, found \"{}\"",
                    TYPES.map(|kind| format!("\"{kind}\"")).join(", "),
                    shown.escape_debug()
                );
                let help = suggest::did_you_mean(other, TYPES);
                self.error(ProblemCode::BadContent, &path.key("type"), &message, help);
                return None;
            }
        };
        Some(MessageSource {
            role: role?,
            content: content?,
        })
    }

    fn role(&mut self, path: &Path<'_>, json: Option<&Json<'_>>) -> Option<Role> {
        let text = self.text(path, json)?;
        let help = match &*text {
            "user" => return Some(Role::User),
            "assistant" => return Some(Role::Assistant),
            "system" | "developer" => Some(
                "MCP prompts have no such role: put it into the first \"user\" message".to_owned(),
            ),
            other => suggest::did_you_mean(other, ["user", "assistant"]),
        };
        let shown = crate::problem::shorten(&text, 64);
        let message = format!(
            "expected \"user\" or \"assistant\", found \"{}\"",
            shown.escape_debug()
        );
        self.error(ProblemCode::BadRole, path, &message, help);
        None
    }

    fn words(
        &mut self,
        path: &Path<'_>,
        fields: &DefinitionFields<'_, '_>,
        arguments: &[Argument],
        dialect: Dialect,
    ) -> Option<Content> {
        let text = fields.required(self, "text");
        let path = path.key("text");
        let text = self.text(&path, text)?;
        let file = self.path.clone();
        if dialect == Dialect::Jinja {
            // Finding a place means reading the file again, which is of no use for a refused
            // prompt.
            let is_served = self.refusal.is_none();
            let range = is_served.then(|| path.find(self.source)).flatten();
            return Some(Content::Text {
                text,
                line: locate(self.source, range.unwrap_or_default()).line,
                form: TextForm::Escaped,
                file: Some(file),
            });
        }
        let (text, mistakes) = Braces::parse(&text, arguments);
        for pattern in text.patterns() {
            self.optional_in(&path, pattern, arguments);
        }
        self.mistakes(&path, mistakes);
        Some(Content::Braces { text, file })
    }

    fn media(
        &mut self,
        path: &Path<'_>,
        fields: &DefinitionFields<'_, '_>,
        kind: MediaKind,
    ) -> Option<Content> {
        let text = fields.required(self, "file");
        let path = path.key("file");
        let text = self.text(&path, text)?;
        let file = match RelativePath::parse(&text) {
            Ok(file) => file,
            Err(error) => {
                let message = format!("`{}` {error}", text.escape_debug());
                self.error(ProblemCode::BadPath, &path, &message, None);
                return None;
            }
        };
        let Some(mime) = kind.mime_of(file.file_name()) else {
            let endings: Vec<&str> = kind.endings().iter().map(|(ending, _)| *ending).collect();
            let message = format!(
                "expected a file whose name ends in one of {}, found `{file}`",
                endings.join(", ")
            );
            self.error(ProblemCode::UnknownMedia, &path, &message, None);
            return None;
        };
        if let Err(error) = self.context.files.look(&file) {
            let shown = self.context.folder.shown_path_of(&file);
            let message = error.sentence(FileRole::PromptText, &shown);
            self.error(ProblemCode::MissingFile, &path, &message, None);
            return None;
        }
        let path = file;
        Some(Content::Media { kind, mime, path })
    }

    fn document(
        &mut self,
        path: &Path<'_>,
        fields: &DefinitionFields<'_, '_>,
        arguments: &[Argument],
        is_link: bool,
    ) -> Option<Content> {
        let text = fields.required(self, "uri");
        let path = path.key("uri");
        let text = self.text(&path, text)?;
        let (pattern, mistakes) = UriPattern::parse(&text, arguments);
        self.mistakes(&path, mistakes);
        let uri = pattern?;
        if uri.is_folder {
            let message = "expected the URI of one document, found a whole folder";
            let help = "embed a folder in a text: `{{resource:…/*}}`".to_owned();
            self.error(ProblemCode::BadResource, &path, message, Some(help));
            return None;
        }
        self.optional_in(&path, &uri, arguments);
        let file = self.path.clone();
        Some(Content::Document { uri, is_link, file })
    }

    /// Warns of an optional argument that a URI needs.
    fn optional_in(&mut self, path: &Path<'_>, uri: &UriPattern, arguments: &[Argument]) {
        for (at, argument) in arguments.iter().enumerate() {
            if !argument.required && uri.uses(at) {
                let message = format!(
                    "`{}` is optional, but `{}` needs it",
                    argument.name,
                    crate::problem::shorten(uri.as_str(), 100)
                );
                let help = Some("make it required".to_owned());
                self.remark(
                    ProblemCode::OptionalInUri,
                    Severity::Warning,
                    path,
                    &message,
                    help,
                );
            }
        }
    }
}
