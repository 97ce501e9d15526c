//! The values of a prompt's arguments on the command line: in argument order, by name, from a file
//! or from standard input; and asked for where one is missing.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use clap::Args;
use twig_core::{Argument, Limits, Prompt, RenderError, render};

use super::content::{Spelled, read_file, read_stdin, spelled};
use super::question::{QuestionTerminal, ValueAnswer};
use crate::command_error::{CommandError, ErrorKind, reason};
use crate::ui::Ui;

/// An argument's name and its value.
pub(super) type GivenPair = (Cow<'static, str>, Cow<'static, str>);

#[derive(Debug, Args)]
pub(crate) struct ValueArgs {
    /// Values in argument order, or KEY=VALUE; `-` reads standard input, `@FILE` a file, and
    /// `@@TEXT` is a text that starts with an @
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    values: Vec<String>,

    /// Values in argument order, exactly as they are
    #[arg(value_name = "TEXT", last = true)]
    verbatim: Vec<String>,
}

/// Assigns the values of the command line to the arguments of a prompt.
pub(super) fn given(
    prompt: &Prompt,
    options: &ValueArgs,
    limits: &Limits,
    ui: &mut Ui,
) -> Result<Vec<GivenPair>, CommandError> {
    let arguments = &prompt.arguments;
    let mut reader = ValueReader {
        limits,
        is_stdin_read: false,
    };
    let mut given: Vec<GivenPair> = Vec::new();
    let mut in_order: Vec<&str> = Vec::new();
    let mut unknown: Vec<GivenPair> = Vec::new();
    for text in &options.values {
        match text.split_once('=') {
            Some((key, value)) if arguments.iter().any(|it| *it.name == *key) => {
                if given.iter().any(|(other, _)| other == key) {
                    return Err(CommandError::new(
                        ErrorKind::Usage,
                        format!("`{key}` is given twice"),
                    ));
                }
                let value = reader.read(key, value, ui)?;
                given.push((Cow::Owned(key.to_owned()), Cow::Owned(value)));
            }
            Some((key, value)) if is_identifier(key) => {
                unknown.push((Cow::Owned(key.to_owned()), Cow::Owned(value.to_owned())));
            }
            _ => in_order.push(text),
        }
    }
    if let Some((key, value)) = unknown.first() {
        let mut error = match render::refuse_unknown(arguments, &unknown) {
            Err(error) => CommandError::from(error),
            Ok(()) => CommandError::fixable(format!("Unknown argument: {key}")),
        };
        if !arguments.is_empty() {
            error = error.hint(format!(
                "put a value that contains = after `--`: -- '{key}={value}'"
            ));
        }
        return Err(error);
    }
    let free: Vec<&Argument> = arguments
        .iter()
        .filter(|argument| given.iter().all(|(key, _)| **key != *argument.name))
        .collect();
    let count = in_order.len() + options.verbatim.len();
    if count > 0 && free.is_empty() {
        return Err(no_room(prompt, in_order.first().copied(), options));
    }
    let mut values = Vec::with_capacity(count);
    for (at, text) in in_order.into_iter().enumerate() {
        let argument = free.get(at).or(free.last());
        let name = argument.map_or("", |argument| &*argument.name);
        values.push(reader.read(name, text, ui)?);
    }
    values.extend(options.verbatim.iter().cloned());
    let mut values = values.into_iter();
    for (at, argument) in free.iter().enumerate() {
        let Some(mut value) = values.next() else {
            break;
        };
        if at + 1 == free.len() {
            for rest in values.by_ref() {
                value.push(' ');
                value.push_str(&rest);
            }
        }
        given.push((Cow::Owned(argument.name.to_string()), Cow::Owned(value)));
    }
    Ok(given)
}

/// Asks for the required values that are missing, if there is a terminal. Without one, rendering
/// names them.
pub(super) fn ask_for_missing(
    prompt: &Prompt,
    given: &mut Vec<GivenPair>,
) -> Result<(), CommandError> {
    let missing = render::missing(&prompt.arguments, given);
    if missing.is_empty() {
        return Ok(());
    }
    let Some(terminal) = QuestionTerminal::standard()? else {
        return Ok(());
    };
    ask(terminal, &missing, given)
}

/// Asks for the values of arguments, one after the other, until the user ends the input.
pub(super) fn ask(
    mut terminal: QuestionTerminal,
    arguments: &[Argument],
    given: &mut Vec<GivenPair>,
) -> Result<(), CommandError> {
    for argument in arguments {
        match terminal.ask_for_value(argument)? {
            ValueAnswer::Value(value) => {
                given.push((Cow::Owned(argument.name.to_string()), Cow::Owned(value)));
            }
            ValueAnswer::Skipped => {}
            ValueAnswer::Ended => break,
            ValueAnswer::Signal(number) => return terminal.end_by(number),
        }
    }
    Ok(())
}

/// The error of a render; a missing argument is named with the command that would give it.
pub(super) fn explain(error: RenderError, prompt: &Prompt) -> CommandError {
    let hint = match &error {
        RenderError::ValueTooLarge { what, .. } if what.starts_with("Argument") => {
            Some("the limit is `argument_value`, in bytes, in `[limits]` of config.toml".to_owned())
        }
        error => error.missing_arguments().map(|missing| {
            let pairs: Vec<String> = missing
                .iter()
                .map(|argument| format!("{}=…", argument.name))
                .collect();
            format!("twig render {} {}", prompt.full_name, pairs.join(" "))
        }),
    };
    hint.into_iter().fold(error.into(), CommandError::hint)
}

/// Reads values; standard input only once.
struct ValueReader<'l> {
    limits: &'l Limits,
    is_stdin_read: bool,
}

impl ValueReader<'_> {
    fn read(&mut self, key: &str, value: &str, ui: &mut Ui) -> Result<String, CommandError> {
        let limit = self.limits.argument_value;
        let (what, bytes) = match spelled(value) {
            Spelled::Text(text) => return Ok(text.to_owned()),
            Spelled::Stdin => {
                if self.is_stdin_read {
                    let message = "standard input can be the value of one argument only";
                    let error = CommandError::new(ErrorKind::Usage, message);
                    return Err(error.hint(format!("give `{key}` as a text or as {key}=@FILE")));
                }
                self.is_stdin_read = true;
                if io::stdin().is_terminal() {
                    ui.say(format!(
                        "type the value of `{key}`; Ctrl-D on a new line ends it"
                    ));
                }
                ("standard input".to_owned(), read_stdin(limit))
            }
            Spelled::File(path) => (format!("the file `{path}`"), read_file(path, limit)),
        };
        let cannot = |why: &str| {
            let error = CommandError::fixable(format!("{what} for `{key}` cannot be read: {why}"));
            match spelled(value) {
                Spelled::File(_) => {
                    error.hint(format!("write {key}=@@… for a value that starts with an @"))
                }
                _ => error,
            }
        };
        let bytes = bytes.map_err(|error| cannot(&reason(&error)))?;
        if bytes.len() > limit {
            let error = RenderError::ValueTooLarge {
                what: format!("Argument `{key}`"),
                limit,
            };
            let hint = "the limit is `argument_value`, in bytes, in `[limits]` of config.toml";
            return Err(CommandError::from(error).hint(hint));
        }
        String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8 text"))
    }
}

/// The error for a value that no argument can take.
fn no_room(prompt: &Prompt, first: Option<&str>, options: &ValueArgs) -> CommandError {
    let value = first.or(options.verbatim.first().map(String::as_str));
    let value = value.unwrap_or_default();
    let name = &prompt.full_name;
    let message = if prompt.arguments.is_empty() {
        format!("prompt `{name}` takes no arguments, so it has no use for `{value}`")
    } else {
        format!("every argument of prompt `{name}` has its value, so it has no use for `{value}`")
    };
    CommandError::new(ErrorKind::Usage, message)
}

/// Whether a text could be the name of an argument, so that a mistyped name is not taken for a
/// value.
fn is_identifier(key: &str) -> bool {
    let mut letters = key.chars();
    letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
}
