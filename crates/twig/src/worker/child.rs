//! The worker process: sets its limits, then runs one job per line until the parent goes.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use twig_core::template::{ComputedJob, run as render};

use crate::command_error::CommandError;
use crate::platform::limit_worker;

/// Address space for the whole worker, its stack included.
pub(super) const MEMORY: u64 = 400 * 1024 * 1024;
/// Deep templates recurse; a chain as long as the source limit allows fits in here.
const STACK: usize = 64 * 1024 * 1024;
/// How long after a job's time limit the worker ends itself, in case the parent is gone.
const GRACE: Duration = Duration::from_millis(500);

/// Runs the worker.
pub(crate) fn run() -> Result<ExitCode, CommandError> {
    limit_worker(MEMORY);
    let (begin, jobs) = channel();
    thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(move || watch(&jobs))?;
    let renderer = thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || work(&begin))?;
    match renderer.join() {
        Ok(result) => result
            .map(|()| ExitCode::SUCCESS)
            .map_err(CommandError::from),
        Err(_) => Ok(ExitCode::from(70)),
    }
}

enum WorkerEvent {
    Begin(Duration),
    End,
}

fn work(events: &Sender<WorkerEvent>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let job: ComputedJob = serde_json::from_slice(&line)?;
        let _ = events.send(WorkerEvent::Begin(
            Duration::from_millis(job.millis) + GRACE,
        ));
        let mut answer = serde_json::to_vec(&render(&job))?;
        answer.push(b'\n');
        let _ = events.send(WorkerEvent::End);
        output.write_all(&answer)?;
        output.flush()?;
    }
}

/// Ends the process when a job exceeds its time limit: once the parent has died, no other process
/// would.
fn watch(events: &Receiver<WorkerEvent>) {
    while let Ok(event) = events.recv() {
        let WorkerEvent::Begin(time) = event else {
            continue;
        };
        if let Err(RecvTimeoutError::Timeout) = events.recv_timeout(time) {
            std::process::abort();
        }
    }
}
