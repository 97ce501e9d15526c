//! The user's own editor: `$VISUAL`, then `$EDITOR`, then `vi`.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::Command;

use crate::command_error::{CommandError, reason};
use crate::places;

/// The editor of a user who chose none.
const USUAL: &str = "vi";

/// Opens a file in the editor, and waits until the editor ends.
pub(super) fn edit(path: &Path) -> Result<(), CommandError> {
    let chosen = places::editor();
    if chosen.is_none() && !io::stdin().is_terminal() {
        let message = "there is no editor: $VISUAL and $EDITOR are not set";
        let hint = "set one of them, such as `export EDITOR=nano`";
        return Err(CommandError::fixable(message).hint(hint));
    }
    let editor = chosen.unwrap_or_else(|| OsString::from(USUAL));
    // The value may have arguments, such as `code --wait`, so a shell reads it, as for git.
    let mut script = editor.clone();
    script.push(" \"$@\"");
    let mut shell = Command::new("sh");
    let status = shell.arg("-c").arg(script).arg("twig").arg(path).status();
    let editor = editor.to_string_lossy();
    let failed = match status {
        Ok(status) if status.success() && path.exists() => return Ok(()),
        Ok(status) if status.success() => format!("{} is gone", path.display()),
        Ok(status) => match status.code() {
            Some(code) => format!("it ended with exit code {code}"),
            None => "it was killed".to_owned(),
        },
        Err(error) => reason(&error),
    };
    let message = format!("the editor `{editor}` failed: {failed}");
    Err(CommandError::fixable(message).hint("$VISUAL or $EDITOR names the editor"))
}
