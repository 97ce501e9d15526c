//! What a function may do: read its library and the system's programs, compute, and print.
//!
//! All of it is put on this very process, and everything that it starts inherits it: limits of the
//! system, Landlock for files, seccomp for the rest. What one of the last two cannot do on an older
//! kernel the other one does, or nothing runs.

#[cfg(target_os = "linux")]
mod files;
pub(super) mod limits;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod system_calls;

use std::path::Path;

/// Shuts this process in; the error says why the system cannot.
#[cfg(target_os = "linux")]
pub(super) fn enter(root: &Path) -> Result<(), String> {
    let limited = limits::set();
    let dropped = privileges::drop_all();
    // Where nothing has to be enforced, as much as can be still is.
    let files = files::restrict(root);
    let calls = system_calls::restrict(matches!(files, Ok(files::Signals::Scoped)));
    limited.and(dropped).and(files.map(|_| ())).and(calls)
}

/// Shuts this process in as far as the system can, which is not far enough.
#[cfg(not(target_os = "linux"))]
pub(super) fn enter(_root: &Path) -> Result<(), String> {
    let _ = limits::set();
    Err("only Linux can, with Landlock and seccomp".to_owned())
}
