//! The arguments of a prompt in `twig.toml`.

use super::fields::{FirstMistake, ManifestFields};
use super::{Manifest, UnavailablePrompt};
use crate::argument::{Argument, Pattern, ShortArgumentError};
use crate::name::check_argument_name;
use crate::parse::toml::{TomlItem, TomlValue};
use crate::problem::ProblemCode;

impl Manifest<'_> {
    /// Reads `[[prompts.NAME.arguments]]`, or the short form `arguments = ["code", "language?"]`.
    pub(super) fn arguments(
        &mut self,
        item: &TomlItem<'_>,
        mistake: &mut FirstMistake,
    ) -> Vec<Argument> {
        let TomlValue::List(items) = &item.value else {
            mistake.note(self.wrong_type("arguments", "an array of names or tables", item));
            return Vec::new();
        };
        if items.len() > self.limits.arguments {
            let message = format!(
                "{} arguments are declared; the limit is {}",
                items.len(),
                self.limits.arguments
            );
            let code = ProblemCode::TooManyArguments;
            mistake.note(self.error(code, item.span.clone(), message));
            return Vec::new();
        }
        let mut arguments: Vec<Argument> = Vec::with_capacity(items.len());
        for item in items {
            let argument = match &item.value {
                TomlValue::Text(text) => mistake.keep(self.short_argument(text, item)),
                _ => self.argument(item, mistake),
            };
            let Some(argument) = argument else { continue };
            if arguments.iter().any(|other| other.name == argument.name) {
                let message = format!("argument `{}` is declared twice", argument.name);
                let code = ProblemCode::DuplicateArgument;
                mistake.note(self.error(code, item.span.clone(), message));
                continue;
            }
            arguments.push(argument);
        }
        arguments
    }

    /// Reads `"code"` or `"language?"`.
    fn short_argument(
        &mut self,
        text: &str,
        item: &TomlItem<'_>,
    ) -> Result<Argument, UnavailablePrompt> {
        Argument::from_short(text).map_err(|error| {
            let code = match error {
                ShortArgumentError::Name { .. } => ProblemCode::BadName,
                _ => ProblemCode::BadChoice,
            };
            self.error(code, item.span.clone(), error.to_string())
        })
    }

    /// An argument with a name that can be used, whatever else is wrong with it.
    fn argument(&mut self, item: &TomlItem<'_>, mistake: &mut FirstMistake) -> Option<Argument> {
        let TomlValue::Table(table) = &item.value else {
            mistake.note(self.wrong_type("arguments", "an array of names or tables", item));
            return None;
        };
        let mut fields = ManifestFields::new(table);
        let name = mistake.keep(self.argument_name(&mut fields, item));
        let is_named = name.is_some();
        let argument = Argument {
            name: name.unwrap_or_default(),
            description: mistake.keep_field(self.text_field(&mut fields, "description")),
            required: mistake.keep_field(self.flag_field(&mut fields, "required")),
            choices: mistake.keep_field(self.choices(&mut fields)),
            max_length: mistake.keep_field(self.max_length(&mut fields)),
            pattern: mistake.keep_field(self.pattern(&mut fields)),
            default: None,
        };
        for choice in &argument.choices {
            if let Err(error) = crate::argument_rules::check_value(&argument, choice) {
                let message = format!("choice `{choice}` breaks the argument's own rule: {error}");
                mistake.note(self.error(ProblemCode::BadChoice, item.span.clone(), message));
            }
        }
        let default = fields.take("default");
        let mut argument = Argument {
            default: mistake.keep_field(self.default(&argument, default)),
            ..argument
        };
        if let (true, Some(item)) = (argument.required, default) {
            let message = format!(
                "argument `{}` has a default, so it is not required",
                argument.name
            );
            self.warning(ProblemCode::RequiredWithDefault, item.span.clone(), message);
            argument.required = false;
        }
        self.unknown(&fields, "an argument");
        is_named.then_some(argument)
    }

    fn argument_name(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
        argument: &TomlItem<'_>,
    ) -> Result<Box<str>, UnavailablePrompt> {
        match fields.take("name") {
            Some(TomlItem {
                value: TomlValue::Text(name),
                span,
            }) => match check_argument_name(name) {
                Ok(()) => Ok(name.as_ref().into()),
                Err(error) => {
                    let message = format!("argument name `{}` {error}", name.escape_debug());
                    Err(self.error(ProblemCode::BadName, span.clone(), message))
                }
            },
            Some(item) => Err(self.wrong_type("name", "a string", item)),
            None => {
                let message = "an argument needs a `name`".to_owned();
                Err(self.error(ProblemCode::MissingName, argument.span.clone(), message))
            }
        }
    }

    fn choices(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
    ) -> Result<Vec<Box<str>>, UnavailablePrompt> {
        let Some(item) = fields.take("choices") else {
            return Ok(Vec::new());
        };
        let expected = "an array of strings";
        match &item.value {
            TomlValue::List(items) if items.is_empty() => {
                let message = "`choices` is empty: no value could be given".to_owned();
                Err(self.error(ProblemCode::NoChoices, item.span.clone(), message))
            }
            TomlValue::List(items) => {
                let texts = items.iter().map(|item| scalar(&item.value));
                match texts.collect::<Option<Vec<_>>>() {
                    Some(texts) => Ok(texts),
                    None => Err(self.wrong_type("choices", expected, item)),
                }
            }
            _ => Err(self.wrong_type("choices", expected, item)),
        }
    }

    fn max_length(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
    ) -> Result<Option<u32>, UnavailablePrompt> {
        match fields.take("max_length") {
            None => Ok(None),
            Some(item) => match item.value {
                TomlValue::Integer(number) if number > 0 => {
                    Ok(Some(number.try_into().unwrap_or(u32::MAX)))
                }
                TomlValue::Integer(_) => {
                    let message = "`max_length` has to be above zero".to_owned();
                    Err(self.error(ProblemCode::BadLength, item.span.clone(), message))
                }
                _ => Err(self.wrong_type("max_length", "a number of characters", item)),
            },
        }
    }

    fn pattern(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
    ) -> Result<Option<Pattern>, UnavailablePrompt> {
        match fields.take("pattern") {
            None => Ok(None),
            Some(TomlItem {
                value: TomlValue::Text(text),
                span,
            }) => match Pattern::parse(text) {
                Ok(pattern) => Ok(Some(pattern)),
                Err(error) => {
                    let message = format!("`pattern` is not a regular expression: {error}");
                    Err(self.error(ProblemCode::BadPattern, span.clone(), message))
                }
            },
            Some(item) => Err(self.wrong_type("pattern", "a string", item)),
        }
    }

    fn default(
        &mut self,
        argument: &Argument,
        item: Option<&TomlItem<'_>>,
    ) -> Result<Option<Box<str>>, UnavailablePrompt> {
        let Some(item) = item else { return Ok(None) };
        let Some(text) = scalar(&item.value) else {
            return Err(self.wrong_type("default", "a string", item));
        };
        if let Err(error) = crate::argument_rules::check_value(argument, &text) {
            let message = format!("the default breaks the argument's own rule: {error}");
            return Err(self.error(ProblemCode::BadDefault, item.span.clone(), message));
        }
        Ok(Some(text))
    }
}

/// Values are strings; a bare number or boolean becomes text.
fn scalar(value: &TomlValue<'_>) -> Option<Box<str>> {
    match value {
        TomlValue::Text(text) => Some(text.as_ref().into()),
        TomlValue::Integer(number) => Some(number.to_string().into()),
        TomlValue::Bool(flag) => Some(flag.to_string().into()),
        _ => None,
    }
}
