//! Asks before an action that cannot be undone, or that should not happen by mistake.

use std::io::{self, BufRead, IsTerminal};

use clap::Args;

use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct ForceArgs {
    /// Delete without asking
    #[arg(short, long)]
    pub(super) force: bool,
}

/// Asks the user. Without a terminal it is an error that says so.
pub(super) fn ask(
    question: &str,
    unanswered: impl FnOnce() -> CommandError,
    ui: &mut Ui,
) -> Result<bool, CommandError> {
    if !io::stdin().is_terminal() {
        return Err(unanswered());
    }
    ui.say(format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Asks whether to delete something, and says what would be lost.
pub(super) fn ask_to_delete(what: &str, losing: &str, ui: &mut Ui) -> Result<bool, CommandError> {
    let unanswered = || {
        let message = format!(
            "{what} was not deleted: this is not a terminal, so you cannot be asked to confirm it ({losing})"
        );
        CommandError::fixable(message).hint("use --force to delete it without being asked")
    };
    let is_meant = ask(&format!("delete {what}? {losing}"), unanswered, ui)?;
    if !is_meant {
        ui.say("nothing was deleted");
    }
    Ok(is_meant)
}
