//! Asks on a terminal: before an action that cannot be undone, and for values that are missing.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::os::fd::AsFd;

use clap::Args;
use twig_core::Argument;
use twig_core::render::check_value;

use super::old_spelling::renamed;
use crate::command_error::CommandError;
use crate::ui::{Ui, one_line, visible};

/// An answer that is given in advance.
#[derive(Debug, Args)]
pub(crate) struct YesArgs {
    /// Do it without asking
    #[arg(short, long)]
    yes: bool,

    /// The old spelling of `--yes`.
    #[arg(short, long, hide = true)]
    force: bool,
}

impl YesArgs {
    /// Whether nothing is to be asked.
    pub(super) fn is_given(&self, ui: &mut Ui) -> bool {
        if self.force {
            renamed("--force", "--yes", ui);
        }
        self.yes || self.force
    }
}

/// Asks the user. Without a terminal it is an error that says so.
pub(super) fn ask(
    question: &str,
    unanswered: impl FnOnce() -> CommandError,
    ui: &mut Ui,
) -> Result<bool, CommandError> {
    match read_answer(&format!("{question} [y/N]"), ui)? {
        Some(answer) => Ok(matches!(&*answer, "y" | "Y" | "yes")),
        None => Err(unanswered()),
    }
}

/// The user's answer, without whitespace around it; `None` without a terminal, or at its end.
pub(super) fn read_answer(question: &str, ui: &mut Ui) -> Result<Option<String>, CommandError> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    ui.insist(question);
    let mut answer = String::new();
    let length = io::stdin().lock().read_line(&mut answer)?;
    Ok((length > 0).then(|| answer.trim().to_owned()))
}

/// Asks whether to delete something, and says what would be lost.
pub(super) fn ask_to_delete(what: &str, losing: &str, ui: &mut Ui) -> Result<bool, CommandError> {
    let unanswered = || {
        let message = format!(
            "{what} was not deleted: this is not a terminal, so you cannot be asked to confirm it ({losing})"
        );
        CommandError::fixable(message).hint("use --yes to delete it without being asked")
    };
    let is_meant = ask(&format!("delete {what}? {losing}"), unanswered, ui)?;
    if !is_meant {
        ui.say("nothing was deleted");
    }
    Ok(is_meant)
}

/// What the user answered when a value was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ValueAnswer {
    /// The value.
    Value(String),
    /// An empty answer, for an argument that does not need a value.
    Skipped,
    /// The user ended the input.
    Ended,
}

/// The terminal on which values are asked for.
pub(super) struct QuestionTerminal {
    input: BufReader<File>,
    output: File,
}

impl QuestionTerminal {
    /// Standard input and standard error, if both are terminals.
    pub(super) fn standard() -> io::Result<Option<Self>> {
        let (input, output) = (io::stdin(), io::stderr());
        if !input.is_terminal() || !output.is_terminal() {
            return Ok(None);
        }
        let input = File::from(input.as_fd().try_clone_to_owned()?);
        let output = File::from(output.as_fd().try_clone_to_owned()?);
        Ok(Some(Self::new(input, output)))
    }

    /// Any two ends of a terminal.
    pub(super) fn new(input: File, output: File) -> Self {
        Self {
            input: BufReader::new(input),
            output,
        }
    }

    /// Asks for the value of an argument until it is one that the argument takes.
    pub(super) fn ask_for_value(&mut self, argument: &Argument) -> io::Result<ValueAnswer> {
        let is_needed = argument.required && argument.default.is_none();
        let about = argument.description.as_deref().map(one_line);
        let about = about.map(|text| format!(": {text}")).unwrap_or_default();
        let empty = match (&argument.default, is_needed) {
            (_, true) => String::new(),
            (Some(default), _) => format!(" [{}]", one_line(default)),
            (None, _) => " [optional]".to_owned(),
        };
        writeln!(self.output, "{}{about}{empty}", visible(&argument.name))?;
        for (number, choice) in argument.choices.iter().enumerate() {
            writeln!(self.output, "  {}  {}", number + 1, one_line(choice))?;
        }
        loop {
            write!(self.output, "> ")?;
            self.output.flush()?;
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                writeln!(self.output)?;
                return Ok(ValueAnswer::Ended);
            }
            let text = line.trim_end_matches(['\n', '\r']);
            if text.is_empty() && !is_needed {
                return Ok(ValueAnswer::Skipped);
            }
            let value = numbered_choice(argument, text).unwrap_or(text);
            let refusal = match check_value(argument, value) {
                Ok(()) if !text.is_empty() => return Ok(ValueAnswer::Value(value.to_owned())),
                Ok(()) => format!("`{}` needs a value; Ctrl-D ends", argument.name),
                Err(error) => error.to_string(),
            };
            writeln!(self.output, "{}", visible(&refusal))?;
        }
    }
}

/// The choice of a number, unless the number is itself a choice.
fn numbered_choice<'a>(argument: &'a Argument, text: &str) -> Option<&'a str> {
    let choices = &argument.choices;
    if choices.iter().any(|choice| **choice == *text) {
        return None;
    }
    let number: usize = text.trim().parse().ok()?;
    choices.get(number.checked_sub(1)?).map(|choice| &**choice)
}
