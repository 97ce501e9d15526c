//! What a function may do: read its library, the system's programs and what it was granted,
//! compute, and print.
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

use super::granted::Granted;

/// A file or folder that a function was granted.
#[cfg(target_os = "linux")]
pub(super) use self::files::GrantedFile;
#[cfg(not(target_os = "linux"))]
pub(super) use std::convert::Infallible as GrantedFile;

/// Opens what a function was granted, so that it is exactly that; the error says what it is not.
#[cfg(target_os = "linux")]
pub(super) fn open_granted(granted: &Granted) -> Result<Vec<GrantedFile>, String> {
    let files = granted.read.iter().map(|path| GrantedFile::open(path));
    files.filter_map(Result::transpose).collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_granted(_granted: &Granted) -> Result<Vec<GrantedFile>, String> {
    Ok(Vec::new())
}

/// Sandboxes this process; the error says why the system cannot.
#[cfg(target_os = "linux")]
pub(super) fn enter(root: &Path, granted: Vec<GrantedFile>, network: bool) -> Result<(), String> {
    let limited = limits::set();
    let dropped = privileges::drop_all();
    // Apply as much as possible even where the sandbox is not required.
    let files = files::restrict(root, granted, network);
    let signals_are_scoped = matches!(files, Ok(files::Signals::Scoped));
    let calls = system_calls::restrict(signals_are_scoped, network);
    limited.and(dropped).and(files.map(|_| ())).and(calls)
}

/// Sandboxes this process as far as the system can, which is not far enough.
#[cfg(not(target_os = "linux"))]
pub(super) fn enter(
    _root: &Path,
    _granted: Vec<GrantedFile>,
    _network: bool,
) -> Result<(), String> {
    let _ = limits::set();
    Err("only Linux can, with Landlock and seccomp".to_owned())
}
