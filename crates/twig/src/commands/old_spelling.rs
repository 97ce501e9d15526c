//! Old spellings of flags: those that still work say what they are called now, and those that would
//! mean something else are refused.

use crate::command_error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// Says what a flag that still works is called now.
pub(super) fn renamed(old: &str, new: &str, ui: &mut Ui) {
    ui.say(format!("hint: `{old}` is now `{new}`"));
}

/// The error for a flag that means something else now; the caller adds what to write instead.
pub(super) fn changed(why: impl Into<String>) -> CommandError {
    CommandError::new(ErrorKind::Usage, why)
}
