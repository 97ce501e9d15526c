//! Render workers: computed templates run in their own process. It is this binary, started a second
//! time with little memory, and killed when it takes too long.

pub(crate) mod child;

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use twig_core::template::{ComputedJob, JobOutcome};

use crate::platform::{WORKER_CHUNK, WorkerPipes, has_aborted};

/// The longest answer that is read: rendered text, with room for JSON's overhead.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// One worker process, started when first needed and replaced when it misbehaves.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    process: Option<WorkerProcess>,
}

impl Worker {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Renders a job within its time limit, or not at all.
    pub(crate) fn run(&mut self, job: &ComputedJob) -> JobOutcome {
        let deadline = Instant::now() + Duration::from_millis(job.millis);
        // The worker may have been killed from outside while it was idle or busy, so a second one
        // gets the rest of the time. A template that kills its worker kills both.
        let mut aborted = false;
        for _ in 0..2 {
            match self.attempt(job, deadline) {
                Ok(outcome) => return outcome,
                Err(WorkerError::TimeIsUp) => {
                    self.stop();
                    return JobOutcome::limit(format!(
                        "the template took longer than the limit of {} ms",
                        job.millis
                    ));
                }
                Err(WorkerError::NoStart(error)) => {
                    return JobOutcome::limit(format!(
                        "no render worker could be started: {error}"
                    ));
                }
                Err(WorkerError::Died(error)) => {
                    tracing::debug!("a render worker ended early: {error}");
                    aborted = self.process.take().is_some_and(WorkerProcess::has_aborted);
                }
            }
        }
        if !aborted {
            return JobOutcome::limit("the render worker was ended from outside; ask again");
        }
        let memory = child::MEMORY / (1024 * 1024);
        JobOutcome::limit(format!(
            "the template needs more memory than the limit of {memory} MiB"
        ))
    }

    /// Ends the process; the next job starts another.
    pub(crate) fn stop(&mut self) {
        self.process = None;
    }

    fn attempt(&mut self, job: &ComputedJob, deadline: Instant) -> Result<JobOutcome, WorkerError> {
        let process = match &mut self.process {
            Some(process) => process,
            empty => empty.insert(WorkerProcess::start().map_err(WorkerError::NoStart)?),
        };
        let mut line = serde_json::to_vec(job).map_err(io::Error::from)?;
        line.push(b'\n');
        process.send(&line, deadline)?;
        let answer = process.answer(deadline)?;
        Ok(serde_json::from_slice(&answer).map_err(io::Error::from)?)
    }
}

enum WorkerError {
    NoStart(io::Error),
    TimeIsUp,
    Died(io::Error),
}

impl From<io::Error> for WorkerError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::TimeIsUp,
            _ => Self::Died(error),
        }
    }
}

/// The running program, even if an upgrade replaced its file meanwhile.
pub(crate) fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe()
}

#[derive(Debug)]
struct WorkerProcess {
    child: Child,
    pipes: WorkerPipes,
}

impl WorkerProcess {
    fn start() -> io::Result<Self> {
        let mut child = Command::new(own_binary()?)
            .arg("render-worker")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the worker has no pipes"));
        };
        match WorkerPipes::new(input, output) {
            Ok(pipes) => Ok(Self { child, pipes }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Sends a job. A worker reads the whole line before it renders, so this does not wait for a
    /// template; the deadline is for a worker that hangs.
    fn send(&mut self, line: &[u8], deadline: Instant) -> Result<(), WorkerError> {
        Ok(self.pipes.write(line, deadline)?)
    }

    fn answer(&mut self, deadline: Instant) -> Result<Vec<u8>, WorkerError> {
        let mut answer = Vec::new();
        let mut chunk = vec![0; WORKER_CHUNK];
        loop {
            let length = self.pipes.read(&mut chunk, deadline)?;
            if length == 0 || answer.len() + length > ANSWER_LIMIT {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            answer.extend_from_slice(&chunk[..length]);
            if answer.last() == Some(&b'\n') {
                answer.pop();
                return Ok(answer);
            }
        }
    }
}

impl WorkerProcess {
    /// Whether it ended by itself, as it does when it runs out of memory or stack.
    fn has_aborted(mut self) -> bool {
        let _ = self.child.kill();
        self.child.wait().is_ok_and(has_aborted)
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // It may be deep in a template, so it must be killed. Waiting leaves no zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
