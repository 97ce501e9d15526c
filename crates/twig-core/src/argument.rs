//! Arguments of prompts, and the patterns that their values have to match.

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
