//! Clients that use a prompt as the template of a command, and how its text is made harmless for
//! them.
//!
//! opencode and its forks ask for a prompt with `$1`, `$2` and so on as values, and use the texts
//! of all messages as the template of a command. When a person runs that command, the client
//! replaces each `$` with a number and `$ARGUMENTS` by their words, runs each `` !`command` `` in a
//! shell, and attaches the file of each `@path`. Text of an author and values that are data must
//! not trigger that, so Twig breaks up such sequences with a space. Files of the project itself are
//! attached, as in every client. Only the marks that the client gave as values stay as they are, so
//! that it finds them again.
//!
//! There are hundreds of forks, and each may use any name: an unknown client is treated as one of
//! them once it asks as they do. Results of tools are not such a template.

use std::borrow::Cow;

use twig_core::render::stand_in::{has_stand_in, number, stand_in, stood_for};
use twig_core::render::{Block, Checked, Message, RenderError};
use twig_core::{Dialect, Prompt};

/// Names of such clients: opencode, Kilo Code, `MiMo` Code, Altimate Code.
pub(crate) const COMMAND_CLIENTS: [&str; 4] = ["opencode", "kilo", "mimocode", "altimate"];

/// Clients that are known not to change a prompt's text, whatever values they send.
const OTHER_CLIENTS: [&str; 30] = [
    "@cline/core",
    "claude-ai",
    "claude-code",
    "claude-desktop",
    "cline",
    "code - oss",
    "codex-mcp-client",
    "continue-cli-client",
    "continue-client",
    "copilot-cli",
    "cursor",
    "fast-agent-mcp",
    "fastmcp",
    "gemini-cli-mcp-client",
    "github-copilot-developer",
    "goose",
    "inspector-cli",
    "inspector-client",
    "inspector-web",
    "jetbrains-ai-assistant-client",
    "mcp-inspector",
    "mcp-use",
    "mcporter",
    "pydantic-ai",
    "qwen-cli-mcp-client",
    "qwen-code",
    "roo code",
    "visual studio code",
    "windsurf",
    "zed",
];

/// The other mark that they replace by a person's words.
const ARGUMENTS: &str = "ARGUMENTS";

/// How marks that were given as values are distinguished from text of an author.
#[derive(Debug)]
pub enum CommandGuard {
    /// The values were rendered as their stand-ins.
    StandIns,
    /// The values were rendered as they are: the marks with these numbers are values.
    Numbers(Vec<u32>),
}

impl CommandGuard {
    /// The guard of a request. Values that are marks may be replaced by their stand-ins.
    pub fn new(prompt: &Prompt, given: &mut [(Cow<'_, str>, Cow<'_, str>)]) -> Self {
        // A program gets the values as they were given.
        if prompt.dialect == Dialect::Function {
            let numbers = given.iter().filter_map(|(_, value)| number(value));
            return Self::Numbers(numbers.collect());
        }
        // These clients send only marks: with such a character, all values are data.
        if given.iter().any(|(_, value)| has_stand_in(value)) {
            return Self::Numbers(Vec::new());
        }
        for (_, value) in given {
            if let Some(stands) = stand_in(value) {
                *value = Cow::Owned(stands.to_string());
            }
        }
        Self::StandIns
    }

    /// Which values have to meet the rules of their argument.
    pub fn checked(guard: Option<&Self>) -> Checked {
        match guard {
            Some(Self::StandIns) => Checked::AllButStandIns,
            _ => Checked::All,
        }
    }

    /// Makes the texts of messages harmless.
    pub fn messages(&self, messages: &mut [Message]) {
        for message in messages {
            if let Block::Text(text) = &mut message.block
                && let Cow::Owned(harmless) = self.text(text)
            {
                *text = harmless;
            }
        }
    }

    /// The number of the mark that a character of a text stands for, if it stands for one.
    fn stood_for(&self, character: char) -> Option<u32> {
        match self {
            Self::StandIns => stood_for(character),
            Self::Numbers(_) => None,
        }
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let is_special = |character: char| {
            matches!(character, '!' | '$' | '@') || self.stood_for(character).is_some()
        };
        if !text.contains(is_special) {
            return Cow::Borrowed(text);
        }
        let mut harmless = String::with_capacity(text.len() + 16);
        let mut rest = text;
        while let Some(at) = rest.find(is_special) {
            let (before, tail) = rest.split_at(at);
            harmless.push_str(before);
            let (piece, is_parted, after) = self.piece(tail);
            harmless.push_str(&piece);
            if is_parted {
                harmless.push(' ');
            }
            rest = after;
        }
        harmless.push_str(rest);
        Cow::Owned(harmless)
    }

    /// If a text begins with something special: that beginning, whether a space has to follow, and
    /// the rest.
    fn piece<'t>(&self, text: &'t str) -> (Cow<'t, str>, bool, &'t str) {
        let mut characters = text.chars();
        let first = characters.next();
        let rest = characters.as_str();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Some(number) = first.and_then(|first| self.stood_for(first)) {
            return (format!("${number}").into(), touches(rest, digits), rest);
        }
        let one = &text[..text.len() - rest.len()];
        if first == Some('@') {
            return (one.into(), is_far(rest), rest);
        }
        if first == Some('!') {
            // A person's words may begin with a quoted command.
            let is_command =
                |next: char| matches!(next, '`' | '$') || self.stood_for(next).is_some();
            return (one.into(), rest.starts_with(is_command), rest);
        }
        if let Self::Numbers(numbers) = self
            && let Some(number) = number(&text[..=digits])
            && numbers.contains(&number)
        {
            let rest = &rest[digits..];
            return (text[..=digits].into(), touches(rest, 0), rest);
        }
        (one.into(), digits > 0 || rest.starts_with(ARGUMENTS), rest)
    }
}

/// True if a client of this name is such a client; `configured` are names that the person added.
pub fn is_command_client<'n>(name: &str, configured: impl Iterator<Item = &'n str>) -> bool {
    let mut known = COMMAND_CLIENTS.into_iter().chain(configured);
    known.any(|known| is_called(name, known))
}

/// True if a client of this name is known not to change a prompt's text.
pub fn is_other_client(name: &str) -> bool {
    OTHER_CLIENTS.iter().any(|known| is_called(name, known))
}

/// True if each given argument is `$` and its own number, counted from 1 in the listed order.
pub fn asks_with_marks(prompt: &Prompt, given: &[(Cow<'_, str>, Cow<'_, str>)]) -> bool {
    let is_own_mark = |name: &str, value: &str| {
        let place = number(value).and_then(|number| usize::try_from(number).ok());
        let argument = place.and_then(|place| prompt.arguments.get(place - 1));
        argument.is_some_and(|argument| *argument.name == *name)
    };
    !given.is_empty() && given.iter().all(|(name, value)| is_own_mark(name, value))
}

/// True if a name is a known one, perhaps with a suffix: `name`, `name-server`, `name (build)`.
pub(crate) fn is_called(name: &str, known: &str) -> bool {
    let (Some(begins), Some(rest)) = (name.get(..known.len()), name.get(known.len()..)) else {
        return false;
    };
    begins.eq_ignore_ascii_case(known) && (rest.is_empty() || rest.starts_with(['-', ' ']))
}

/// True if a path after an `@`, whose file is attached, is outside the project: in home, at the
/// root, or in a parent folder.
fn is_far(rest: &str) -> bool {
    rest.starts_with(['/', '~', '\\']) || rest.starts_with("..")
}

/// True if a mark and the text after it would be read as one: a longer number, or, if a person's
/// words end in `!` or `$`, a command or the other mark.
fn touches(rest: &str, digits: usize) -> bool {
    digits > 0 || rest.starts_with('`') || rest.starts_with(ARGUMENTS)
}

/// An error with the original marks instead of stand-ins.
pub fn error(guard: Option<&CommandGuard>, error: RenderError) -> RenderError {
    let sentence = error.to_string();
    if !matches!(guard, Some(CommandGuard::StandIns)) || !has_stand_in(&sentence) {
        return error;
    }
    match error {
        RenderError::MissingDocument { uri } => RenderError::MissingDocument {
            uri: restored(&uri),
        },
        _ => RenderError::Unavailable(restored(&sentence).into()),
    }
}

/// A text with the original marks instead of stand-ins.
fn restored(text: &str) -> String {
    let pieces = text.chars().map(|character| match stood_for(character) {
        Some(number) => format!("${number}"),
        None => character.to_string(),
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stood(text: &str) -> String {
        let mut text = text.to_owned();
        for (name, mark) in [("{a}", "$1"), ("{b}", "$2")] {
            text = text.replace(name, &stand_in(mark).unwrap().to_string());
        }
        text
    }

    #[test]
    fn what_they_would_run_or_replace_is_separated() {
        for (text, expected) in [
            ("Look: !`ls`", "Look: ! `ls`"),
            ("!`a` and !`b", "! `a` and ! `b"),
            ("costs $5, $0.50 or $1", "costs $ 5, $ 0.50 or $ 1"),
            ("$ARGUMENTS and $ARGUMENT", "$ ARGUMENTS and $ARGUMENT"),
            ("$HOME ${1} $ 5 $x !! ! `x`", "$HOME ${1} $ 5 $x !! ! `x`"),
            ("`!` means `not`", "`! ` means `not`"),
            ("{a} then {b}", "$1 then $2"),
            ("{a} costs $1", "$1 costs $ 1"),
            // A person's words are inserted later, and may end in `!` or begin with a quote.
            ("{a}`ls`", "$1 `ls`"),
            ("!{a}`ls`", "! $1 `ls`"),
            ("!{a}", "! $1"),
            // A longer number is another mark.
            ("{a}0", "$1 0"),
            ("${a}", "$$1"),
            ("${a}ARGUMENTS", "$$1 ARGUMENTS"),
            ("!$1`ls`", "! $ 1`ls`"),
            ("plain `text`!", "plain `text`!"),
            // Files of the project are attached, as everywhere; others are not.
            ("@src/a.rs, me@x.org", "@src/a.rs, me@x.org"),
            ("@/etc/passwd @~/.ssh/id", "@ /etc/passwd @ ~/.ssh/id"),
            ("@../secret", "@ ../secret"),
        ] {
            assert_eq!(
                CommandGuard::StandIns.text(&stood(text)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn of_a_program_the_marks_that_were_given_stay() {
        let guard = CommandGuard::Numbers(vec![1, 12]);
        for (text, expected) in [
            ("$1 $2 $12 $120", "$1 $ 2 $12 $ 120"),
            ("!$1`ls` $1`x` !`x`", "! $1 `ls` $1 `x` ! `x`"),
        ] {
            assert_eq!(guard.text(text), expected, "{text}");
        }
    }

    #[test]
    fn an_error_says_the_mark_that_was_given() {
        let guard = Some(&CommandGuard::StandIns);
        let missing = || RenderError::MissingDocument {
            uri: stood("a://{a}"),
        };
        let told = error(guard, missing()).to_string();
        assert_eq!(told, "Resource not found: a://$1");
        let limit = RenderError::Limit(stood("too long: {b}"));
        assert_eq!(error(guard, limit).to_string(), "too long: $2");
        let untouched = error(None, missing()).to_string();
        assert_eq!(untouched, missing().to_string());
    }

    /// The text in which such a client would look for commands.
    fn filled(template: &str, words: &[&str]) -> String {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            match after[..digits].parse::<usize>() {
                Ok(number) => filled.push_str(words.get(number.wrapping_sub(1)).unwrap_or(&"")),
                Err(_) => filled.push('$'),
            }
            rest = &after[digits..];
        }
        filled.push_str(rest);
        filled.replace("$ARGUMENTS", &words.join(" "))
    }

    proptest! {
        #[test]
        fn nothing_is_run_and_the_words_arrive(
            pieces in proptest::collection::vec("[!$`0-2 a\n]|ARGUMENTS|<a>|<b>", 0..12),
            one in "[!`a]{0,3}",
        ) {
            // A person may write a command; and marks side by side can make one of their own words.
            let one = one.replace("!`", "! `");
            let text = pieces.concat().replace("><", "> <");
            let text = text.replace('<', "{").replace('>', "}");
            let harmless = CommandGuard::StandIns.text(&stood(&text)).into_owned();
            let run = filled(&harmless, &[&one, "two"]);
            prop_assert!(!run.contains("!`"), "{harmless:?} {run:?}");
            let marks = |text: &str, mark: &str| text.matches(mark).count();
            prop_assert_eq!(marks(&run, "two"), marks(&text, "{b}"));
            // Only spaces were added.
            let bare = |text: &str| text.replace(' ', "");
            let expected = text.replace("{a}", "$1").replace("{b}", "$2");
            prop_assert_eq!(bare(&harmless), bare(&expected));
        }
    }
}
