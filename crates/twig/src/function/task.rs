//! The task that the server sends to the process that runs a function, and the refusal that the
//! process prints if it does not run it.

use std::io;

use serde::{Deserialize, Serialize};
use twig_core::{Function, FunctionCall};
use twig_sources::{CodeFiles, function_sources};

use super::granted::Granted;

/// The exit code of a child that did not start the program; its output says why.
pub(super) const REFUSED: i32 = 125;

/// Digits of the length in front of a task.
const LENGTH: usize = 8;
/// No task is longer.
const LONGEST: usize = 16 * 1024 * 1024;

/// Everything that the child needs, sent before the function's own input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// The server's process id: once another process is the parent, the server is gone.
    pub(super) parent: i32,
    /// The library's folder.
    pub(super) root: String,
    pub(super) program: FunctionProgram,
    /// The files that may run.
    pub(super) approved: ApprovedFiles,
    /// The files that this task was read from, as they were then.
    pub(super) sources: CodeFiles,
    /// What it gets beyond its library.
    #[serde(default)]
    pub(super) granted: Granted,
    /// Whether to continue where the sandbox is not available.
    pub(super) unsandboxed: bool,
}

/// Which files of a library may run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ApprovedFiles {
    /// These, as they were trusted.
    Trusted(CodeFiles),
    /// Those that are there, as long as they are the user's own and in this data folder.
    Own { data: Option<String> },
}

/// What to start.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FunctionProgram {
    Command {
        file: String,
        arguments: Vec<String>,
    },
    Bash {
        file: String,
        function: String,
    },
}

/// Why the program was not started.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum StartRefusal {
    /// These files differ from the trusted ones.
    Changed(Vec<String>),
    /// The library was trusted as the user's own and is not.
    NotOwn(String),
    /// A granted path is not what it was.
    Grant(String),
    /// The library cannot be read.
    Unreadable(String),
    /// The system cannot sandbox the program.
    NoSandbox(String),
    /// The system could not start it.
    NotStarted(String),
}

impl Task {
    pub(super) fn new(
        call: &FunctionCall,
        approved: ApprovedFiles,
        granted: Granted,
        unsandboxed: bool,
    ) -> Self {
        let program = match &call.function {
            Function::Command {
                program, arguments, ..
            } => FunctionProgram::Command {
                file: program.as_str().to_owned(),
                arguments: arguments.iter().map(ToString::to_string).collect(),
            },
            Function::Bash { script, function } => FunctionProgram::Bash {
                file: script.as_str().to_owned(),
                function: function.to_string(),
            },
        };
        Self {
            parent: rustix::process::getpid().as_raw_nonzero().get(),
            root: call.library.root.to_string(),
            program,
            approved,
            sources: function_sources(&call.library),
            granted,
            unsandboxed,
        }
    }

    /// As it is sent: its length, then JSON.
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let mut bytes = format!("{:0width$}", json.len(), width = LENGTH).into_bytes();
        bytes.extend_from_slice(&json);
        Ok(bytes)
    }

    /// Reads exactly one task from standard input and leaves the rest for the program.
    pub(super) fn receive() -> io::Result<Self> {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let length = read_exactly(LENGTH)?;
        let length = String::from_utf8(length).map_err(|_| bad())?;
        let length: usize = length.parse().map_err(|_| bad())?;
        if length > LONGEST {
            return Err(bad());
        }
        Ok(serde_json::from_slice(&read_exactly(length)?)?)
    }
}

impl FunctionProgram {
    pub(super) fn file(&self) -> &str {
        match self {
            Self::Command { file, .. } | Self::Bash { file, .. } => file,
        }
    }
}

/// Unbuffered: a buffer would read the program's input, too.
fn read_exactly(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match rustix::io::read(rustix::stdio::stdin(), &mut bytes[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}
