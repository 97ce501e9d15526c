//! The arguments of a filter or method, by position or by name, as Python passes them.

use minijinja::value::{Kwargs, from_args};
use minijinja::{Error, ErrorKind, Value};

use super::failure::fault;

/// Arguments that can be written in order, by name, or partly each.
pub(crate) struct Parameters {
    names: &'static [&'static str],
    values: Vec<Option<Value>>,
}

impl Parameters {
    /// Sorts what was given under the names of the parameters.
    pub(crate) fn read(names: &'static [&'static str], given: &[Value]) -> Result<Self, Error> {
        let (positional, keywords): (&[Value], Kwargs) = from_args(given)?;
        if positional.len() > names.len() {
            return Err(Error::from(ErrorKind::TooManyArguments));
        }
        let mut values = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            let value = match positional.get(at) {
                Some(value) => Some(value.clone()),
                None if keywords.has(name) => Some(keywords.get::<Value>(name)?),
                None => None,
            };
            values.push(value);
        }
        keywords.assert_all_used()?;
        Ok(Self { names, values })
    }

    /// A value, unless it was left out or is `none`.
    pub(crate) fn value(&self, at: usize) -> Option<&Value> {
        self.values
            .get(at)?
            .as_ref()
            .filter(|value| !value.is_none())
    }

    /// True if the value is given and true.
    pub(crate) fn flag(&self, at: usize) -> Option<bool> {
        self.value(at).map(Value::is_true)
    }

    /// A whole number.
    pub(crate) fn number(&self, at: usize) -> Result<Option<i64>, Error> {
        let Some(value) = self.value(at) else {
            return Ok(None);
        };
        match i64::try_from(value.clone()) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(self.wrong(at, "a whole number")),
        }
    }

    /// A length: a whole number that is not negative. A number past all limits counts as one.
    pub(crate) fn length(&self, at: usize) -> Result<Option<usize>, Error> {
        let number = match self.number(at) {
            // Such as `10**20`, which is larger than any width.
            Err(_) if self.value(at).is_some_and(Value::is_integer) => Some(i64::MAX),
            number => number?,
        };
        let Some(number) = number else {
            return Ok(None);
        };
        let Ok(length) = usize::try_from(number) else {
            return Err(self.wrong(at, "a number of at least 0"));
        };
        Ok(Some(length))
    }

    /// A text.
    pub(crate) fn text(&self, at: usize) -> Result<Option<&str>, Error> {
        let Some(value) = self.value(at) else {
            return Ok(None);
        };
        let text = value.as_str();
        text.map(Some).ok_or_else(|| self.wrong(at, "a text"))
    }

    /// A text that has to be there.
    pub(crate) fn required_text(&self, at: usize) -> Result<&str, Error> {
        self.text(at)?.ok_or_else(|| self.missing(at))
    }

    /// A value that has to be there.
    pub(crate) fn required(&self, at: usize) -> Result<&Value, Error> {
        let value = self.values.get(at).and_then(Option::as_ref);
        value.ok_or_else(|| self.missing(at))
    }

    fn missing(&self, at: usize) -> Error {
        let name = self.names.get(at).copied().unwrap_or_default();
        fault(format!("the parameter `{name}` has no value here"))
    }

    fn wrong(&self, at: usize, wanted: &str) -> Error {
        let name = self.names.get(at).copied().unwrap_or_default();
        fault(format!("the parameter `{name}` has to be {wanted}"))
    }
}
