//! Colour: whether a stream gets any, and which meaning has which.

use std::borrow::Cow;
use std::ffi::OsStr;

use clap::ValueEnum;

use crate::places;

/// When output has colour: on a terminal, always, or never.
//
// Doc comments on the variants would turn every `--help` into the long form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorWhen {
    /// Whether a stream gets colour, as `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR` and `TERM` ask for
    /// where the flag does not.
    pub(crate) fn is_on(self, is_terminal: bool) -> bool {
        let set = |name| places::variable(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if set("NO_COLOR").is_some() => false,
            Self::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Self::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => false,
            Self::Auto => is_terminal && set("TERM").as_deref() != Some(OsStr::new("dumb")),
        }
    }

    /// The same for help and for mistakes on the command line, which clap prints.
    pub(crate) fn for_clap(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }
}

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Error,
    Warning,
    Note,
    Hint,
    Heading,
    Name,
    /// Where something is, and the frame around an excerpt.
    Place,
    Faint,
    Added,
    Removed,
}

impl Meaning {
    fn codes(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Warning => "1;33",
            Self::Note | Self::Heading => "1",
            Self::Hint => "1;36",
            Self::Name => "36",
            Self::Place => "1;34",
            Self::Faint => "2",
            Self::Added => "32",
            Self::Removed => "31",
        }
    }
}

/// Paints text for one stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    /// The text, painted if this stream has colour. It must have no control characters.
    pub(crate) fn paint(self, meaning: Meaning, text: &str) -> Cow<'_, str> {
        if !self.is_on || text.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("\u{1b}[{}m{text}\u{1b}[0m", meaning.codes()))
    }

    /// Lines that start with a word such as `error:`, with that word painted.
    pub(crate) fn message(self, text: &str) -> Cow<'_, str> {
        const WORDS: [(&str, Meaning); 4] = [
            ("error:", Meaning::Error),
            ("warning:", Meaning::Warning),
            ("note:", Meaning::Note),
            ("hint:", Meaning::Hint),
        ];
        if !self.is_on {
            return Cow::Borrowed(text);
        }
        let lines = text.split('\n').map(|line| {
            let mut words = WORDS.iter();
            match words.find(|(word, _)| line.starts_with(word)) {
                Some((word, meaning)) => {
                    let word = self.paint(*meaning, word);
                    Cow::Owned(format!(
                        "{word}{}",
                        &line[line.find(':').map_or(0, |at| at + 1)..]
                    ))
                }
                None => Cow::Borrowed(line),
            }
        });
        Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
    }
}
