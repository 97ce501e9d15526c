//! One definition: a JSON file that is a prompt. Each mistake is a problem with its JSON path.

mod argument;
mod message;
mod reader;

use self::reader::DefinitionReader;
use super::json::{self, Json, Path};
use super::library::{Files, LibraryRoot};
use crate::body::{BodyError, FileRole};
use crate::limits::Limits;
use crate::model::{Content, Dialect, MessageSource, Prompt, Role};
use crate::name::{PromptName, RelativePath};
use crate::problem::{Problem, ProblemCode, Severity};
use crate::suggest;

/// The JSON Schema of the file. It says what this module reads; a test compares the two.
pub const DEFINITION_SCHEMA: &str = include_str!("definition/schema.json");

/// A file and its text, or why it has none.
pub type DefinitionFile<'f> = (&'f RelativePath, Result<&'f str, &'f BodyError>);

/// The context for reading all definitions of a folder.
#[derive(Clone, Copy)]
pub(super) struct DefinitionContext<'c> {
    pub(super) folder: &'c LibraryRoot,
    pub(super) files: &'c dyn Files,
    pub(super) limits: &'c Limits,
}

const FIELDS: [&str; 7] = [
    "name",
    "title",
    "description",
    "arguments",
    "messages",
    "template",
    "$schema",
];

/// Reads one file and adds its problems; a prompt that cannot be served says why.
pub(super) fn read(
    context: DefinitionContext<'_>,
    (path, text): &DefinitionFile<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Prompt> {
    let file = context.folder.path_of(path);
    let text = match text {
        Ok(text) => *text,
        Err(error) => {
            let shown = context.folder.shown_path_of(path);
            let sentence = format!("The definition {path} {error}");
            problems.push(error.problem(FileRole::Definition, &file, &shown));
            return refused(path, &sentence);
        }
    };
    let root = match json::read(text) {
        Ok(root) => root,
        Err(error) => {
            let message = format!("{path} is not valid JSON: {}", error.message);
            let span = error.at..error.at + 1;
            let problem = Problem::at(
                ProblemCode::DefinitionSyntax,
                Severity::Error,
                &file,
                text,
                span,
                message,
            );
            let line = problem.line.unwrap_or(1);
            let sentence = format!(
                "The definition {path} is not valid JSON: {} (line {line})",
                error.message
            );
            problems.push(problem);
            return refused(path, &sentence);
        }
    };
    let mut reader = DefinitionReader::new(context, path, file, text);
    let prompt = reader.prompt(&root);
    let refusal = reader.refusal.take();
    problems.append(&mut reader.problems);
    match (prompt, refusal) {
        (Some(prompt), None) => Some(prompt),
        (prompt, refusal) => {
            let why = refusal.unwrap_or_else(|| "it has no name".to_owned());
            let sentence = format!("The definition {path} is refused: {why}");
            let Some(mut prompt) = prompt else {
                return refused(path, &sentence);
            };
            prompt.unavailable = Some(sentence.into());
            prompt.messages = vec![whole(path)];
            Some(prompt)
        }
    }
}

/// A prompt of which only the file's name is known.
fn refused(path: &RelativePath, sentence: &str) -> Option<Prompt> {
    let name = PromptName::of_definition(stem(path)).ok()?;
    Some(Prompt {
        full_name: name.as_str().into(),
        name,
        title: None,
        description: None,
        arguments: Vec::new().into(),
        messages: vec![whole(path)],
        dialect: Dialect::Braces,
        unavailable: Some(sentence.into()),
        written: None,
    })
}

/// The message source of a prompt that is not served: it shows people the file.
fn whole(path: &RelativePath) -> MessageSource {
    MessageSource {
        role: Role::User,
        content: Content::File(path.clone()),
    }
}

fn stem(path: &RelativePath) -> &str {
    let file = path.file_name();
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

impl DefinitionReader<'_> {
    /// The prompt, if it has a name; `refusal` says whether it may be served.
    fn prompt(&mut self, root: &Json<'_>) -> Option<Prompt> {
        let path = Path::Root;
        let fields = self.object(&path, root, "a definition", &FIELDS)?;
        let name = fields.required(self, "name");
        let name = self.name(&path, name);
        let title = self.text(&path.key("title"), fields.get("title"));
        let description = self.text(&path.key("description"), fields.get("description"));
        let dialect = self.dialect(&path.key("template"), fields.get("template"));
        let arguments = self.arguments(&path.key("arguments"), fields.get("arguments"), dialect);
        let messages = fields.required(self, "messages");
        let messages = self.messages(&path.key("messages"), messages, &arguments, dialect);
        let name = name.or_else(|| PromptName::of_definition(stem(self.path)).ok())?;
        Some(Prompt {
            full_name: name.as_str().into(),
            name,
            title,
            description,
            arguments: arguments.into(),
            messages,
            dialect,
            unavailable: None,
            written: None,
        })
    }

    fn name(&mut self, root: &Path<'_>, json: Option<&Json<'_>>) -> Option<PromptName> {
        let path = root.key("name");
        let text = self.text(&path, json)?;
        match PromptName::of_definition(&text) {
            Ok(name) => {
                let stem = stem(self.path);
                if *text != *stem {
                    let message = format!("the file is called `{stem}`, its prompt `{text}`");
                    let help = format!("rename the file to {text}.json");
                    self.remark(
                        ProblemCode::NameMismatch,
                        Severity::Note,
                        &path,
                        &message,
                        Some(help),
                    );
                }
                Some(name)
            }
            Err(error) => {
                let shown = crate::problem::shorten(&text, 64);
                let message = format!(
                    "expected lower-case letters a to z, digits and `-`, found `{}`, which {error}",
                    shown.escape_debug()
                );
                let help = Some("such as `review-code`".to_owned());
                self.error(ProblemCode::BadName, &path, &message, help);
                None
            }
        }
    }

    fn dialect(&mut self, path: &Path<'_>, json: Option<&Json<'_>>) -> Dialect {
        match self.text(path, json).as_deref() {
            None | Some("braces") => Dialect::Braces,
            Some("jinja") => Dialect::Jinja,
            Some(other) => {
                let message = format!("expected \"jinja\", found \"{}\"", other.escape_debug());
                let help = suggest::did_you_mean(other, ["jinja"]);
                let help = help.unwrap_or_else(|| "leave it off for `{{name}}`".to_owned());
                self.error(ProblemCode::BadTemplate, path, &message, Some(help));
                Dialect::Braces
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn the_schema_has_every_field_that_is_read() {
        let schema: Value = serde_json::from_str(DEFINITION_SCHEMA).unwrap();
        for (at, fields) in [
            ("", &FIELDS[..]),
            ("/properties/arguments/items", &argument::FIELDS),
            ("/properties/messages/items", &message::FIELDS),
            ("/definitions/content", &message::CONTENT_FIELDS),
        ] {
            let known = schema.pointer(&format!("{at}/properties")).unwrap();
            let known = known.as_object().unwrap().keys().map(String::as_str);
            let fields: BTreeSet<&str> = fields.iter().copied().collect();
            assert_eq!(known.collect::<BTreeSet<_>>(), fields, "{at}");
        }
    }
}
