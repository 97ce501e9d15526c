//! Functions on systems for which Twig has no sandbox: none runs.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use twig_core::{FunctionCall, FunctionOutcome};

use super::Allowed;
use crate::command_error::CommandError;

/// Why nothing runs; continues a sentence.
const WHY: &str = "Twig has no sandbox for programs on this system; it has one on Linux";

/// Says that a request was cancelled; there is nothing to end.
#[derive(Debug, Default)]
pub(crate) struct NoStop {
    is_stopped: AtomicBool,
}

impl NoStop {
    pub(crate) fn now(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

impl Allowed {
    /// Refuses a function, also where functions may run without a sandbox: nothing here would end its
    /// processes in time.
    #[allow(clippy::unused_self, reason = "other systems ask it")]
    pub(crate) fn run(&self, call: &FunctionCall, _stop: &NoStop) -> FunctionOutcome {
        FunctionOutcome::Refused(format!("Prompt `{}` was not run: {WHY}", call.prompt))
    }
}

/// Runs no function.
pub(crate) fn run_child() -> Result<ExitCode, CommandError> {
    Err(CommandError::fixable(format!("no function was run: {WHY}")))
}
