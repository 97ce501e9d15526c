//! Asks on a terminal: before an action that cannot be undone, and for values that are missing.

use std::collections::VecDeque;
use std::io::{self, BufRead, IsTerminal};

use clap::Args;
use twig_core::Argument;
use twig_core::render::check_value;

use super::keys::{Key, KeyReader};
use super::line_editor::LineEditor;
use super::old_spelling::renamed;
use super::raw_terminal::{Event, RawTerminal};
use crate::command_error::CommandError;
use crate::ui::{Ui, one_line, visible};

/// The number of the signal that Ctrl-C sends.
const INTERRUPT: u8 = 2;

// An answer that is given in advance.
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
    /// The number of the signal that ends the program.
    Signal(u8),
}

/// The terminal on which values are asked for.
pub(super) struct QuestionTerminal {
    terminal: RawTerminal,
    keys: KeyReader,
    /// Keys that were pressed before they were asked for.
    pressed: VecDeque<Key>,
}

impl QuestionTerminal {
    /// Standard input and standard error, if both are terminals.
    pub(super) fn standard() -> Result<Option<Self>, CommandError> {
        Ok(RawTerminal::standard()?.map(Self::new))
    }

    pub(super) fn new(terminal: RawTerminal) -> Self {
        Self {
            terminal,
            keys: KeyReader::default(),
            pressed: VecDeque::new(),
        }
    }

    /// Asks for the value of an argument until it is one that the argument takes.
    pub(super) fn ask_for_value(
        &mut self,
        argument: &Argument,
    ) -> Result<ValueAnswer, CommandError> {
        let is_needed = argument.required && argument.default.is_none();
        let about = argument.description.as_deref().map(one_line);
        let about = about.map(|text| format!(": {text}")).unwrap_or_default();
        let empty = match (&argument.default, is_needed) {
            (_, true) => String::new(),
            (Some(default), _) => format!(" [{}]", one_line(default)),
            (None, _) => " [optional]".to_owned(),
        };
        self.print(&format!("{}{about}{empty}", visible(&argument.name)))?;
        for (number, choice) in argument.choices.iter().enumerate() {
            self.print(&format!("  {}  {}", number + 1, one_line(choice)))?;
        }
        loop {
            let text = match self.read_line()? {
                LineEnd::Text(text) => text,
                LineEnd::Ended => return Ok(ValueAnswer::Ended),
                LineEnd::Signal(number) => return Ok(ValueAnswer::Signal(number)),
            };
            if text.is_empty() && !is_needed {
                return Ok(ValueAnswer::Skipped);
            }
            let value = numbered_choice(argument, &text).unwrap_or(&text);
            let refusal = match check_value(argument, value) {
                Ok(()) if !text.is_empty() => return Ok(ValueAnswer::Value(value.to_owned())),
                Ok(()) => format!("`{}` needs a value; Ctrl-D ends", argument.name),
                Err(error) => error.to_string(),
            };
            self.print(&visible(&refusal))?;
        }
    }

    /// Restores the terminal, and ends this process as the signal would have.
    pub(super) fn end_by(self, signal: u8) -> Result<(), CommandError> {
        self.terminal.end_by(signal)
    }

    /// Prints a line; a terminal in raw mode goes back to the first column only if told.
    fn print(&mut self, line: &str) -> io::Result<()> {
        self.terminal.draw(&format!("{line}\r\n"))
    }

    /// Lets the user type and edit a line, until Enter.
    fn read_line(&mut self) -> Result<LineEnd, CommandError> {
        let mut line = LineEditor::default();
        loop {
            while let Some(key) = self.pressed.pop_front() {
                let end = match key {
                    Key::Enter => LineEnd::Text(line.text()),
                    Key::EndOfInput if !line.is_empty() => {
                        line.press(Key::Delete);
                        continue;
                    }
                    Key::EndOfInput | Key::Leave => LineEnd::Ended,
                    Key::Interrupt => LineEnd::Signal(INTERRUPT),
                    key => {
                        line.press(key);
                        continue;
                    }
                };
                line.press(Key::End);
                self.draw(&line)?;
                self.print("")?;
                return Ok(end);
            }
            self.draw(&line)?;
            match self.terminal.wait()? {
                Event::Input(bytes) => self.pressed.extend(self.keys.read(&bytes)),
                Event::Resized => {}
                Event::Ended => return Ok(LineEnd::Ended),
                Event::Signal(number) => return Ok(LineEnd::Signal(number)),
            }
        }
    }

    fn draw(&mut self, line: &LineEditor) -> io::Result<()> {
        let row = line.row(self.terminal.size().columns);
        self.terminal.draw(&row)
    }
}

/// How a line that the user types ends.
enum LineEnd {
    Text(String),
    /// Ctrl-D, Escape, or no terminal any more.
    Ended,
    /// The number of the signal that ends the program.
    Signal(u8),
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
