//! The user's pager, for text that is longer than the terminal.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::{places, platform};

/// Shows text in `$PAGER`, or in `less`. False if there is no pager, or it could not be started.
pub(super) fn show(text: &[u8]) -> bool {
    let named = places::variable("PAGER");
    let named = named.as_deref().map(std::ffi::OsStr::to_string_lossy);
    let program = match named.as_deref().map(str::trim) {
        None => "less -R",
        Some("" | "cat") => return false,
        Some(program) => program,
    };
    // As git does: the shell splits the flags of `PAGER`.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", program]).stdin(Stdio::piped());
    if places::variable("LESS").is_none() {
        // Colours, no second screen for what fits after all.
        command.env("LESS", "FRX");
    }
    // Ctrl-C belongs to the pager, which needs its input to the end.
    platform::leave_interrupt();
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // A user who quits early has seen enough.
        let _ = input.write_all(text);
    }
    // The shell ends with 127 if there is no such program; then nothing was shown.
    let status = child.wait();
    !status.is_ok_and(|status| status.code() == Some(127))
}
