//! What opencode does with a prompt's text, made harmless.
//!
//! opencode asks for every prompt with `$1`, `$2` and so on as values, and takes the texts of all
//! messages as the template of a command. When a person runs that command it puts their words in for
//! each `$` with a number and for `$ARGUMENTS`, runs each `` !`command` `` in a shell, and attaches the file
//! of each `@path`. Nothing that an author wrote, and no value that is data, is meant for that: a blank
//! parts what it looks for. Files of the project itself are attached, as in every client.
//! Only the marks that it gave as values stay as they are, so that it finds them again.

use std::borrow::Cow;

use twig_core::render::stand_in::{number, stand_in, stood_for};
use twig_core::render::{Block, Message, RenderError};
use twig_core::{Dialect, Prompt};

use crate::client;
use crate::dispatch::Call;

/// What opencode calls itself.
const NAME: &str = "opencode";

/// The other mark that it puts a person's words in for.
const ARGUMENTS: &str = "ARGUMENTS";

/// How the marks that were given as values are told from what an author wrote.
#[derive(Debug)]
pub(crate) enum Guard {
    /// The values were rendered as their stand-ins.
    StandIns,
    /// The values went to a program as they are: the marks with these numbers are theirs.
    Numbers(Vec<u32>),
}

impl Guard {
    /// The guard of a request, if it is opencode's. The values that are marks may come back as their
    /// stand-ins.
    pub(crate) fn of(
        call: &Call<'_>,
        prompt: &Prompt,
        given: &mut [(Cow<'_, str>, Cow<'_, str>)],
    ) -> Option<Self> {
        let said = client::name(call.meta.client_info());
        let name = said.as_deref().or(call.client)?;
        if !name.eq_ignore_ascii_case(NAME) {
            return None;
        }
        // A program is told what was given, and nothing made up.
        if prompt.dialect == Dialect::Function {
            let numbers = given.iter().filter_map(|(_, value)| number(value));
            return Some(Self::Numbers(numbers.collect()));
        }
        for (_, value) in given {
            if let Some(stands) = stand_in(value) {
                *value = Cow::Owned(stands.to_string());
            }
        }
        Some(Self::StandIns)
    }

    /// Makes the texts of messages harmless.
    pub(crate) fn messages(&self, messages: &mut [Message]) {
        for message in messages {
            if let Block::Text(text) = &mut message.block
                && let Cow::Owned(harmless) = self.text(text)
            {
                *text = harmless;
            }
        }
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let is_special = |character: char| {
            matches!(character, '!' | '$' | '@') || stood_for(character).is_some()
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

    /// What a text that begins with something special begins with, whether a blank has to follow, and
    /// the rest.
    fn piece<'t>(&self, text: &'t str) -> (Cow<'t, str>, bool, &'t str) {
        let mut characters = text.chars();
        let first = characters.next();
        let rest = characters.as_str();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Some(number) = first.and_then(stood_for) {
            return (format!("${number}").into(), touches(rest, digits), rest);
        }
        let one = &text[..text.len() - rest.len()];
        if first == Some('@') {
            return (one.into(), is_far(rest), rest);
        }
        if first == Some('!') {
            // A person's words may begin with a command in quotes, and mean no more than that.
            let is_command = |next: char| matches!(next, '`' | '$') || stood_for(next).is_some();
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

/// Whether a path after an `@`, whose file opencode attaches, leads out of the project: to home, to the
/// root, to a folder above.
fn is_far(rest: &str) -> bool {
    rest.starts_with(['/', '~', '\\']) || rest.starts_with("..")
}

/// Whether a mark and what follows would be read as one: a longer number, or, where a person's words
/// end in `!` or `$`, a command or the other mark.
fn touches(rest: &str, digits: usize) -> bool {
    digits > 0 || rest.starts_with('`') || rest.starts_with(ARGUMENTS)
}

/// An error as it would be without stand-ins, where a guard put some in.
pub(crate) fn error(guard: Option<&Guard>, error: RenderError) -> RenderError {
    let sentence = error.to_string();
    if guard.is_none() || !sentence.contains(|character| stood_for(character).is_some()) {
        return error;
    }
    match error {
        RenderError::MissingDocument { uri } => RenderError::MissingDocument {
            uri: restored(&uri),
        },
        _ => RenderError::Unavailable(restored(&sentence).into()),
    }
}

/// A text with the marks that stand-ins stood for.
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
    fn what_it_would_run_or_replace_is_parted() {
        for (text, expected) in [
            ("Look: !`ls`", "Look: ! `ls`"),
            ("!`a` and !`b", "! `a` and ! `b"),
            ("costs $5, $0.50 or $1", "costs $ 5, $ 0.50 or $ 1"),
            ("$ARGUMENTS and $ARGUMENT", "$ ARGUMENTS and $ARGUMENT"),
            ("$HOME ${1} $ 5 $x !! ! `x`", "$HOME ${1} $ 5 $x !! ! `x`"),
            ("`!` means `not`", "`! ` means `not`"),
            ("{a} then {b}", "$1 then $2"),
            ("{a} costs $1", "$1 costs $ 1"),
            // What a person writes is put in later, and may end in `!` or begin with a quote.
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
            assert_eq!(Guard::StandIns.text(&stood(text)), expected, "{text}");
        }
    }

    #[test]
    fn of_a_program_the_marks_that_were_given_stay() {
        let guard = Guard::Numbers(vec![1, 12]);
        for (text, expected) in [
            ("$1 $2 $12 $120", "$1 $ 2 $12 $ 120"),
            ("!$1`ls` $1`x` !`x`", "! $1 `ls` $1 `x` ! `x`"),
        ] {
            assert_eq!(guard.text(text), expected, "{text}");
        }
    }

    #[test]
    fn an_error_says_the_mark_that_was_given() {
        let guard = Some(&Guard::StandIns);
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

    /// What opencode makes of a template: the text that it would look for commands in.
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
            let harmless = Guard::StandIns.text(&stood(&text)).into_owned();
            let run = filled(&harmless, &[&one, "two"]);
            prop_assert!(!run.contains("!`"), "{harmless:?} {run:?}");
            let marks = |text: &str, mark: &str| text.matches(mark).count();
            prop_assert_eq!(marks(&run, "two"), marks(&text, "{b}"));
            // Only blanks were added.
            let bare = |text: &str| text.replace(' ', "");
            let expected = text.replace("{a}", "$1").replace("{b}", "$2");
            prop_assert_eq!(bare(&harmless), bare(&expected));
        }
    }
}
