//! JSON values that know their path, so that a problem can name it.

use serde_json::{Map, Value};

use crate::problem::shorten;

/// The longest part of a value that a sentence repeats, in characters.
const QUOTED: usize = 60;

/// A value and its path, such as `messages[0].role`.
#[derive(Debug, Clone)]
pub(crate) struct At<'v> {
    pub(crate) value: &'v Value,
    path: String,
}

/// A mistake in a value: where, what was expected, what is there instead.
pub(crate) type LocatedError = String;

impl<'v> At<'v> {
    /// The whole document.
    pub(crate) fn root(value: &'v Value) -> Self {
        Self {
            value,
            path: String::new(),
        }
    }

    /// The value's path; for the document itself, `name`.
    pub(crate) fn path_or<'a>(&'a self, name: &'a str) -> &'a str {
        if self.path.is_empty() {
            name
        } else {
            &self.path
        }
    }

    /// The mistake of having another type.
    pub(crate) fn expected(&self, what: &str) -> LocatedError {
        let path = self.path_or("the document");
        format!("`{path}` has to be {what}, not {}", shown(self.value))
    }

    /// The members of an object.
    pub(crate) fn object(&self) -> Result<LocatedMembers<'v>, LocatedError> {
        match self.value {
            Value::Object(map) => Ok(LocatedMembers {
                map,
                path: self.path.clone(),
            }),
            _ => Err(self.expected("an object")),
        }
    }

    /// The entries of a list.
    pub(crate) fn list(&self) -> Result<Vec<At<'v>>, LocatedError> {
        let Value::Array(items) = self.value else {
            return Err(self.expected("a list"));
        };
        let entry = |(at, value)| At {
            value,
            path: format!("{}[{at}]", self.path),
        };
        Ok(items.iter().enumerate().map(entry).collect())
    }

    /// A text.
    pub(crate) fn text(&self) -> Result<&'v str, LocatedError> {
        self.value.as_str().ok_or_else(|| self.expected("a string"))
    }
}

/// The members of an object.
#[derive(Debug, Clone)]
pub(crate) struct LocatedMembers<'v> {
    map: &'v Map<String, Value>,
    path: String,
}

impl<'v> LocatedMembers<'v> {
    /// A member that may be absent; `null` counts as absent.
    pub(crate) fn maybe(&self, key: &str) -> Option<At<'v>> {
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        Some(At {
            value,
            path: self.path_of(key),
        })
    }

    /// A member that has to exist.
    pub(crate) fn need(&self, key: &str) -> Result<At<'v>, LocatedError> {
        self.maybe(key)
            .ok_or_else(|| format!("`{}` is missing", self.path_of(key)))
    }

    /// A text that may be absent.
    pub(crate) fn maybe_text(&self, key: &str) -> Result<Option<&'v str>, LocatedError> {
        self.maybe(key).map(|at| at.text()).transpose()
    }

    /// Paths of the unknown members.
    pub(crate) fn others(&self, known: &[&str]) -> Vec<String> {
        let keys = self.map.keys().filter(|key| !known.contains(&key.as_str()));
        keys.map(|key| self.path_of(&shorten(key, QUOTED)))
            .collect()
    }

    /// The path of a member.
    pub(crate) fn path_of(&self, key: &str) -> String {
        let key = key.escape_debug();
        match self.path.as_str() {
            "" => key.to_string(),
            path => format!("{path}.{key}"),
        }
    }
}

/// A value in a sentence that says what was found.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("\"{}\"", shorten(text, QUOTED).escape_debug()),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
