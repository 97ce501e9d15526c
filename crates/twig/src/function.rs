//! Prompt functions: programs of trusted libraries. Each runs in its own process group with limits
//! and a sandbox, and is killed with all its children at its time limit or when its request is
//! cancelled.
//!
//! The server does not start the program itself. It starts this binary a second time (`child`),
//! which checks that the program is the trusted one, applies limits and sandbox to itself, starts
//! the program, and kills it if the server dies.

pub(crate) mod child;
mod group;
mod process;
mod sandbox;
mod task;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use twig_core::{FunctionCall, FunctionOutcome};
use twig_sources::Trust;

use self::process::FunctionProcess;
pub(crate) use self::process::Stop;
use self::task::Task;

/// Where functions find programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What the user allows functions to do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    /// The record of trusted libraries.
    pub(crate) trust: Option<PathBuf>,
    /// Variables that functions get besides `PATH` and `LANG`.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether functions may run where the system has no sandbox.
    pub(crate) unsandboxed: bool,
}

impl Allowed {
    /// Runs a function until it ends, reaches its time limit, or `stop` is called.
    ///
    /// Blocks: call it from a thread that has nothing else to do.
    pub(crate) fn run(&self, call: &FunctionCall, stop: &Stop) -> FunctionOutcome {
        let root = Path::new(&*call.library.root);
        let trust = match &self.trust {
            Some(path) => Trust::read(path),
            None => Ok(Trust::default()),
        };
        let approved = trust.ok().and_then(|trust| trust.files(root).cloned());
        let Some(approved) = approved else {
            return FunctionOutcome::Refused(format!(
                "Prompt `{}` runs {}, and library `{name}` is not trusted: look at it, then run `twig library trust {name}`",
                call.prompt,
                call.function.file(),
                name = call.library.name,
            ));
        };
        let task = Task::new(call, approved, self.unsandboxed);
        match FunctionProcess::start(&task, &call.input, &self.environment, stop) {
            Ok(process) => process.finish(call, stop),
            Err(error) => FunctionOutcome::Failed(format!("could not be started: {error}")),
        }
    }
}
