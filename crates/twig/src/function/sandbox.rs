//! What a function may do: read its library and the system's programs, compute, and print.
//!
//! This process applies all of it to itself, and every process that it starts inherits it: resource
//! limits, Landlock for files, seccomp for the rest. On older kernels Landlock and seccomp make up
//! for each other; where they cannot, nothing runs.

#[cfg(target_os = "linux")]
mod files;
pub(super) mod limits;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod system_calls;

use std::path::Path;

/// Sandboxes this process; the error says why the system cannot.
#[cfg(target_os = "linux")]
pub(super) fn enter(root: &Path) -> Result<(), String> {
    let limited = limits::set();
    let dropped = privileges::drop_all();
    // Apply as much as possible even where the sandbox is not required.
    let files = files::restrict(root);
    let calls = system_calls::restrict(matches!(files, Ok(files::Signals::Scoped)));
    limited.and(dropped).and(files.map(|_| ())).and(calls)
}

/// Sandboxes this process as far as the system can, which is not far enough.
#[cfg(not(target_os = "linux"))]
pub(super) fn enter(_root: &Path) -> Result<(), String> {
    let _ = limits::set();
    Err("only Linux can, with Landlock and seccomp".to_owned())
}
