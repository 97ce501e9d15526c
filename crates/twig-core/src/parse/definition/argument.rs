//! The arguments of a definition.

use super::reader::DefinitionReader;
use crate::argument::Argument;
use crate::model::Dialect;
use crate::name::{NameError, check_argument_name};
use crate::parse::json::{Json, Path};
use crate::problem::{ProblemCode, Severity};

pub(super) const FIELDS: [&str; 4] = ["name", "description", "required", "maxLength"];

impl DefinitionReader<'_> {
    pub(super) fn arguments(
        &mut self,
        path: &Path<'_>,
        json: Option<&Json<'_>>,
        dialect: Dialect,
    ) -> Vec<Argument> {
        let items = match json {
            None => return Vec::new(),
            Some(Json::List(items)) => items,
            Some(other) => {
                self.wrong_type(path, "a list", other);
                return Vec::new();
            }
        };
        let limit = self.context.limits.arguments;
        if items.len() > limit {
            let message = format!("{} arguments exceed the limit of {limit}", items.len());
            self.error(ProblemCode::TooManyArguments, path, &message, None);
            return Vec::new();
        }
        let mut arguments: Vec<Argument> = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let path = path.index(at);
            let Some(argument) = self.argument(&path, item, dialect) else {
                continue;
            };
            if arguments.iter().any(|other| other.name == argument.name) {
                let message = format!("argument `{}` is declared twice", argument.name);
                self.error(
                    ProblemCode::DuplicateArgument,
                    &path.key("name"),
                    &message,
                    None,
                );
            }
            arguments.push(argument);
        }
        arguments
    }

    fn argument(&mut self, path: &Path<'_>, json: &Json<'_>, dialect: Dialect) -> Option<Argument> {
        let fields = self.object(path, json, "an argument", &FIELDS)?;
        let name = fields.required(self, "name");
        let name = self.text(&path.key("name"), name);
        let description = self.text(&path.key("description"), fields.get("description"));
        let required = self.required(path, fields.get("required"));
        let max_length = self.max_length(&path.key("maxLength"), fields.get("maxLength"));
        let name = name?;
        match check_argument_name(&name) {
            // Only templates have reserved words.
            Err(NameError::Reserved) if dialect == Dialect::Braces => {}
            Ok(()) => {}
            Err(error) => {
                let shown = crate::problem::shorten(&name, 64);
                let message = format!("`{}` {error}", shown.escape_debug());
                self.error(
                    ProblemCode::BadArgumentName,
                    &path.key("name"),
                    &message,
                    None,
                );
                return None;
            }
        }
        Some(Argument {
            name,
            description,
            required,
            max_length,
            ..Argument::default()
        })
    }

    /// An argument without `required` is optional: refusing the prompt would help no one.
    fn required(&mut self, path: &Path<'_>, json: Option<&Json<'_>>) -> bool {
        match json {
            Some(Json::Bool(required)) => *required,
            Some(other) => {
                self.wrong_type(&path.key("required"), "true or false", other);
                false
            }
            None => {
                let message = "expected a field `required`, found none: the argument is optional";
                let help = Some("write \"required\": true or false".to_owned());
                self.remark(
                    ProblemCode::MissingField,
                    Severity::Warning,
                    path,
                    message,
                    help,
                );
                false
            }
        }
    }

    fn max_length(&mut self, path: &Path<'_>, json: Option<&Json<'_>>) -> Option<u32> {
        match json? {
            // Other limits keep values shorter anyway.
            Json::Whole(length @ 1..) => Some(u32::try_from(*length).unwrap_or(u32::MAX)),
            Json::Whole(_) | Json::Number => {
                let message = "expected a whole number of 1 or more, found another number";
                self.error(ProblemCode::WrongType, path, message, None);
                None
            }
            other => {
                self.wrong_type(path, "a whole number of 1 or more", other);
                None
            }
        }
    }
}
