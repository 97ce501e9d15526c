//! Prompt functions: programs of trusted libraries, each in a process group of its own, with
//! limits and a sandbox, killed with all its children when its time is up or nobody waits for it.
//!
//! Between the server and the program stands this binary started anew (`child`): it looks whether
//! the program is the one that was trusted, puts limits and sandbox on itself, starts the program
//! and goes on to end it should the server die.

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

/// What the person allows functions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    /// The record of trusted libraries.
    pub(crate) trust: Option<PathBuf>,
    /// Variables that functions get beside `PATH` and `LANG`.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether they may run where the system cannot shut them in.
    pub(crate) unsandboxed: bool,
}

impl Allowed {
    /// Runs a function to its end, which is at the latest when its time is up or `stop` is told.
    ///
    /// Waits: whoever has other things to do calls it from another thread.
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
