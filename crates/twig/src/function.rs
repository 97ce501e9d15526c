//! Prompt functions: programs of trusted libraries. Each runs in its own process group with limits
//! and a sandbox, and is killed with all its children at its time limit or when its request is
//! cancelled.
//!
//! The server does not start the program itself. It starts this binary a second time (`child`),
//! which checks that the program is the trusted one, applies limits and sandbox to itself, starts
//! the program, and kills it if the server dies.
//!
//! All of this is made of calls of Unix, and the sandbox of calls of Linux. On other systems
//! `no_sandbox` takes the place of it: every function is refused.

#[cfg(all(unix, not(twig_portable)))]
mod cause;
#[cfg(all(unix, not(twig_portable)))]
mod child;
#[cfg_attr(
    any(not(unix), twig_portable),
    allow(dead_code, reason = "grants are only checked where nothing runs")
)]
pub(crate) mod granted;
#[cfg(all(unix, not(twig_portable)))]
mod group;
#[cfg(any(not(unix), twig_portable))]
mod no_sandbox;
#[cfg(all(unix, not(twig_portable)))]
mod process;
mod repository;
#[cfg(all(unix, not(twig_portable)))]
mod sandbox;
#[cfg(all(unix, not(twig_portable)))]
mod sandboxed;
#[cfg(all(unix, not(twig_portable)))]
mod task;

use std::ffi::OsString;

#[cfg(all(unix, not(twig_portable)))]
pub(crate) use self::child::run as run_child;
#[cfg(any(not(unix), twig_portable))]
pub(crate) use self::no_sandbox::{NoStop as Stop, run_child};
#[cfg(all(unix, not(twig_portable)))]
pub(crate) use self::process::Stop;
use crate::places::Places;

/// What the user allows functions to do.
#[cfg_attr(
    any(not(unix), twig_portable),
    allow(dead_code, reason = "nothing runs")
)]
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    /// The user's folders, with the record of trusted libraries.
    pub(crate) places: Option<Places>,
    /// Variables that all functions get besides `PATH` and `LANG`.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether functions may run where the system has no sandbox.
    pub(crate) unsandboxed: bool,
    /// Whether callers are on other machines, perhaps: the working folder is not theirs.
    pub(crate) is_remote: bool,
}
