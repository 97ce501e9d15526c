//! Arguments of prompts, their short form, and the patterns that their values have to match.

use std::sync::LazyLock;

use crate::name::{NameError, check_argument_name};

/// The name of the argument for everything that is typed after a command.
pub const ALL: &str = "arguments";

/// The one argument of a command or skill whose author says nothing about arguments. Thousands of
/// prompts share it.
pub fn implied_arguments() -> &'static [Argument] {
    static IMPLIED: LazyLock<[Argument; 1]> = LazyLock::new(|| {
        [Argument {
            name: ALL.into(),
            description: Some("What follows the command".into()),
            ..Argument::default()
        }]
    });
    &*IMPLIED
}

/// A named string that a prompt takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Argument {
    /// Its name, which templates use.
    pub name: Box<str>,
    /// What to put there.
    pub description: Option<Box<str>>,
    /// Whether a value has to be given.
    pub required: bool,
    /// The value where none is given.
    pub default: Option<Box<str>>,
    /// The only values it takes, if there are any.
    pub choices: Vec<Box<str>>,
    /// The longest value, in characters.
    pub max_length: Option<u32>,
    /// What a value has to match.
    pub pattern: Option<Pattern>,
}

/// Why the short form of an argument was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShortArgumentError {
    /// The name is not one that a template can use.
    #[error("argument name `{}` {why}", name.escape_debug())]
    Name {
        /// The name as it was written.
        name: Box<str>,
        /// What is wrong with it.
        why: NameError,
    },
    /// One value after `=`: a default, or a choice that is none.
    #[error(
        "`{argument}` has one choice only; write at least two with a comma between them, or set `default` in twig.toml"
    )]
    OneChoice {
        /// The argument as it was written.
        argument: Box<str>,
    },
    /// A choice without a character.
    #[error("`{argument}` has an empty choice; write the choices with one comma between them")]
    EmptyChoice {
        /// The argument as it was written.
        argument: Box<str>,
    },
}

impl Argument {
    /// Reads the short form: `code` is required, `code?` is optional, and `language?=rust,go` has
    /// choices.
    pub fn from_short(text: &str) -> Result<Self, ShortArgumentError> {
        let (head, choices) = match text.split_once('=') {
            Some((head, choices)) => (head, Some(choices)),
            None => (text, None),
        };
        let name = head.strip_suffix('?').unwrap_or(head);
        check_argument_name(name).map_err(|why| ShortArgumentError::Name {
            name: name.into(),
            why,
        })?;
        let choices: Vec<Box<str>> = match choices {
            None => Vec::new(),
            Some(choices) => choices.split(',').map(|it| it.trim().into()).collect(),
        };
        let argument = || text.escape_debug().to_string().into();
        if choices.iter().any(|choice| choice.is_empty()) {
            return Err(ShortArgumentError::EmptyChoice {
                argument: argument(),
            });
        }
        if choices.len() == 1 {
            return Err(ShortArgumentError::OneChoice {
                argument: argument(),
            });
        }
        Ok(Self {
            name: name.into(),
            required: !head.ends_with('?'),
            choices,
            ..Self::default()
        })
    }

    /// The short form, if that says everything there is to say.
    pub fn as_short(&self) -> Option<String> {
        let plain = Self {
            name: self.name.clone(),
            required: self.required,
            ..Self::default()
        };
        let mark = if self.required { "" } else { "?" };
        (*self == plain).then(|| format!("{}{mark}", self.name))
    }
}

/// Bytes that a compiled pattern may take. Matching costs its size times the value's length, and
/// nobody can stop it.
const PATTERN_SIZE: usize = 16 * 1024;

/// Bytes of the values of one request, together, that are held against patterns. The worst pattern
/// takes three microseconds for each.
pub const PATTERN_VALUE: usize = 64 * 1024;

/// Bytes of them that are matched at once, wherever that is.
pub(crate) const PATTERN_AT_ONCE: usize = 1024;

/// A regular expression that values have to match, compiled once.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Box<str>,
    regex: regex_lite::Regex,
}

impl Pattern {
    /// Compiles a pattern; the error says what is wrong with it.
    pub fn parse(source: &str) -> Result<Self, String> {
        match regex_lite::RegexBuilder::new(source)
            .size_limit(PATTERN_SIZE)
            .build()
        {
            Ok(regex) => Ok(Self {
                source: source.into(),
                regex,
            }),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether it occurs in a value.
    pub fn is_match(&self, value: &str) -> bool {
        self.regex.is_match(value)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_says_name_need_and_choices() {
        let read = |text: &str| Argument::from_short(text).map_err(|error| error.to_string());
        let argument = read("language?=rust, go");
        let argument = argument.expect("it is well formed");
        assert_eq!(&*argument.name, "language");
        assert!(!argument.required);
        assert_eq!(argument.choices, ["rust".into(), "go".into()]);
        assert_eq!(argument.as_short(), None);
        for text in ["code", "code?"] {
            let argument = Argument::from_short(text).expect("it is well formed");
            assert_eq!(argument.required, text == "code");
            assert_eq!(argument.as_short().as_deref(), Some(text));
        }
        for (text, part) in [
            ("", "argument name `` is empty"),
            ("my arg", "argument name `my arg` may contain"),
            ("code!", "argument name `code!` may contain"),
            ("if?", "is a word of the template language"),
            ("tone=friendly", "has one choice only"),
            ("tone=", "has an empty choice"),
            ("tone=a,,b", "has an empty choice"),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(part), "{message}");
        }
    }
}
