//! The arguments of a prompt in `twig.toml`.

use super::fields::ManifestFields;
use super::{Manifest, UnavailablePrompt};
use crate::argument::{Argument, Pattern};
use crate::name::check_argument_name;
use crate::parse::toml::{TomlItem, TomlValue};
use crate::problem::ProblemCode;

impl Manifest<'_> {
    /// Reads `[[prompts.NAME.arguments]]`.
    pub(super) fn arguments(
        &mut self,
        item: &TomlItem<'_>,
    ) -> Result<Vec<Argument>, UnavailablePrompt> {
        let TomlValue::List(items) = &item.value else {
            return Err(self.wrong_type("arguments", "an array of tables", item));
        };
        if items.len() > self.limits.arguments {
            let message = format!(
                "{} arguments are declared; the limit is {}",
                items.len(),
                self.limits.arguments
            );
            return Err(self.error(ProblemCode::TooManyArguments, item.span.clone(), message));
        }
        let mut arguments: Vec<Argument> = Vec::with_capacity(items.len());
        for item in items {
            let argument = self.argument(item)?;
            if arguments.iter().any(|other| other.name == argument.name) {
                let message = format!("argument `{}` is declared twice", argument.name);
                return Err(self.error(ProblemCode::DuplicateArgument, item.span.clone(), message));
            }
            arguments.push(argument);
        }
        Ok(arguments)
    }

    fn argument(&mut self, item: &TomlItem<'_>) -> Result<Argument, UnavailablePrompt> {
        let TomlValue::Table(table) = &item.value else {
            return Err(self.wrong_type("arguments", "an array of tables", item));
        };
        let mut fields = ManifestFields::new(table);
        let name = match fields.take("name") {
            Some(TomlItem {
                value: TomlValue::Text(name),
                span,
            }) => {
                if let Err(error) = check_argument_name(name) {
                    let message = format!("argument name `{}` {error}", name.escape_debug());
                    return Err(self.error(ProblemCode::BadName, span.clone(), message));
                }
                name.as_ref().into()
            }
            Some(item) => return Err(self.wrong_type("name", "a string", item)),
            None => {
                let message = "an argument needs a `name`".to_owned();
                return Err(self.error(ProblemCode::MissingName, item.span.clone(), message));
            }
        };
        let argument = Argument {
            name,
            description: self.text_field(&mut fields, "description")?,
            required: self.flag_field(&mut fields, "required")?,
            choices: self.choices(&mut fields)?,
            max_length: self.max_length(&mut fields)?,
            pattern: self.pattern(&mut fields)?,
            default: None,
        };
        for choice in &argument.choices {
            if let Err(error) = crate::argument_rules::check_value(&argument, choice) {
                let message = format!("choice `{choice}` breaks the argument's own rule: {error}");
                return Err(self.error(ProblemCode::BadChoice, item.span.clone(), message));
            }
        }
        let default = fields.take("default");
        let mut argument = Argument {
            default: self.default(&argument, default)?,
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
        Ok(argument)
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
