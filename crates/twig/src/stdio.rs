//! MCP over standard input and output: one thread, one loop, no locks.
//!
//! The loop waits for input, for signals and for messages from other threads, and hands lines to
//! the protocol machine. When a client stops reading, replies are queued up to one limit and
//! requests are read up to another, so that a client may write all its requests before it reads the
//! first reply.

mod batch;
mod ending;
mod input;
mod output;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getppid};
use signal_hook::consts::{SIGINT, SIGTERM};
use twig_core::{Latest, World};
use twig_mcp::{Connection, Job, Ticket, WorkKind, WorkOutcome};

use self::batch::StampBatch;
use self::input::{InputLine, LineReader};
use self::output::OutputBuffer;
use crate::command_error::CommandError;
use crate::fair_queue::Lane;
use crate::jobs::RunningJob;
use crate::service::Service;

/// With more reply bytes queued than this, the loop stops answering until some are written.
const OUTPUT_HIGH: usize = 256 * 1024;
/// How often to check that the parent process is still there.
const PARENT_CHECK: Duration = Duration::from_secs(2);
/// How long requests wait for a write or a read of versions that came before them, so that a client
/// that sends requests without waiting gets answers in that order: a read sees the writes before it
/// and none after it. After this time they no longer wait.
const TURN: Duration = Duration::from_millis(200);

/// Serves one client until it disconnects or a signal arrives.
pub(crate) fn serve(service: &Service) -> Result<ExitCode, CommandError> {
    let (news, news_writer) = wake_pipe()?;
    let (signals, signal_writer) = wake_pipe()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, signal_writer.try_clone()?)?;
    }
    let wake = Arc::new(Wake {
        writer: news_writer,
        changed: AtomicBool::new(false),
    });
    let watch_wake = Arc::clone(&wake);
    let _watch = service.live.watch(move || {
        watch_wake.changed.store(true, Ordering::Release);
        watch_wake.up();
    });
    let (finished, outcomes) = channel();
    let mut session = StdioSession {
        service,
        connection: Connection::new(Arc::clone(&service.server)).asking_for_roots(),
        input: LineReader::new(service.limits.message),
        output: OutputBuffer::new()?,
        outcomes,
        finished,
        running: BTreeMap::new(),
        questions: BTreeMap::new(),
        ordered: None,
        wake,
        parent: getppid(),
    };
    let result = session.run(&WakePipes { news, signals });
    match result {
        // The client is gone: there is nothing left to send.
        Err(Errno::PIPE) => Ok(ExitCode::SUCCESS),
        result => result
            .map(|()| ExitCode::SUCCESS)
            .map_err(CommandError::from),
    }
}

/// Lets other threads wake the loop.
struct Wake {
    writer: OwnedFd,
    changed: AtomicBool,
}

impl Wake {
    fn up(&self) {
        // A full pipe wakes the loop just as well.
        let _ = rustix::io::write(&self.writer, &[1]);
    }
}

/// What wakes the loop besides input and output.
struct WakePipes {
    news: OwnedFd,
    signals: OwnedFd,
}

fn wake_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

struct StdioSession<'s> {
    service: &'s Service,
    connection: Connection,
    input: LineReader,
    output: OutputBuffer,
    outcomes: Receiver<(Ticket, WorkOutcome)>,
    /// Where jobs send their outcomes.
    finished: Sender<(Ticket, WorkOutcome)>,
    /// Jobs that are still wanted, and unfinished writes.
    running: BTreeMap<Ticket, RunningJob>,
    /// Questions to the client, and when the time for an answer is over.
    questions: BTreeMap<Ticket, Instant>,
    /// The last job of the store, and when it was started.
    ordered: Option<(Ticket, Instant)>,
    wake: Arc<Wake>,
    parent: Option<Pid>,
}

impl StdioSession<'_> {
    fn run(&mut self, pipes: &WakePipes) -> Result<(), Errno> {
        let stdin = rustix::stdio::stdin();
        let mut input_ended = false;
        while !input_ended {
            let ready = self.wait(Some(stdin.as_fd()), pipes, PARENT_CHECK)?;
            if ready.signal {
                tracing::debug!("ending on a signal");
                return self.end();
            }
            if ready.news {
                drain(&pipes.news);
                self.take_news();
            }
            if ready.input {
                input_ended = self.input.fill(stdin)? == 0;
                if input_ended {
                    self.input.end();
                }
            }
            self.end_questions(Instant::now());
            self.pump()?;
            self.announce()?;
            if ready.timed_out && getppid() != self.parent {
                tracing::debug!("ending because the process that started this one has gone");
                return self.end();
            }
        }
        self.finish(pipes)?;
        self.end()
    }

    /// Waits for the next event, at most this long.
    fn wait(
        &self,
        stdin: Option<BorrowedFd<'_>>,
        pipes: &WakePipes,
        patience: Duration,
    ) -> Result<ReadyFiles, Errno> {
        let stdout = rustix::stdio::stdout();
        let mut fds = vec![
            PollFd::new(&pipes.signals, PollFlags::IN),
            PollFd::new(&pipes.news, PollFlags::IN),
        ];
        let stdin = stdin.filter(|_| self.input.has_room());
        fds.extend(stdin.map(|stdin| PollFd::from_borrowed_fd(stdin, PollFlags::IN)));
        if !self.output.is_empty() {
            fds.push(PollFd::from_borrowed_fd(stdout, PollFlags::OUT));
        }
        let question = self.questions.values().min();
        let question = question.map(|end| end.saturating_duration_since(Instant::now()));
        let patience = question.map_or(patience, |left| left.min(patience));
        let turn = self.turn_left().filter(|turn| *turn < patience);
        let count = retry(|| poll(&mut fds, Some(&timespec(turn.unwrap_or(patience)))))?;
        let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        Ok(ReadyFiles {
            signal: is_ready(0),
            news: is_ready(1),
            input: stdin.is_some() && is_ready(2),
            timed_out: count == 0 && turn.is_none(),
        })
    }

    /// Answers and writes until no line is left or the client has to read first.
    fn pump(&mut self) -> Result<(), Errno> {
        loop {
            self.answer();
            self.end_cancelled();
            self.output.flush()?;
            if !self.output.is_empty() || !self.may_answer() || !self.input.has_line() {
                return Ok(());
            }
        }
    }

    fn may_answer(&self) -> bool {
        self.output.len() < OUTPUT_HIGH
            && self.connection.in_flight() < self.service.limits.in_flight
            && self.turn_left().is_none()
    }

    /// How much longer requests wait for the last job of the store, if they do.
    fn turn_left(&self) -> Option<Duration> {
        let (_, began) = self
            .ordered
            .filter(|(ticket, _)| self.connection.wants(*ticket))?;
        TURN.checked_sub(began.elapsed())
            .filter(|left| !left.is_zero())
    }

    /// Answers the lines that have arrived, as long as the client reads its replies.
    fn answer(&mut self) {
        let service = self.service;
        let look = || service.live.snapshot();
        let published = || service.live.published();
        let mut catalog = Latest::new(&look);
        if service.place.store.is_none() {
            // A client that connects need not wait for a store that it may never ask for.
            catalog = catalog.or_published(&published);
        }
        let bodies = StampBatch::new(&*service.live);
        let world = World {
            catalog: &catalog,
            bodies: &bodies,
            templates: &service.templates,
        };
        while self.may_answer() {
            let job = match self.input.next_line() {
                None => return,
                Some(InputLine::TooLong) => {
                    self.connection.oversized(&mut self.output);
                    continue;
                }
                Some(InputLine::Whole(line)) => {
                    self.connection.receive(line, world, &mut self.output)
                }
            };
            if let Some(roots) = self.connection.take_roots() {
                let roots = roots.into_iter().map(Into::into);
                service.live.follow_roots(roots.collect());
            }
            if let Some(job) = job {
                self.start(job);
            }
        }
    }

    fn start(&mut self, job: Job) {
        // A request cancelled by the previous line makes room.
        self.end_cancelled();
        let ticket = job.ticket;
        match job.work.kind() {
            WorkKind::Question => {
                let time = Duration::from_millis(self.service.limits.answer_millis);
                self.questions.insert(ticket, Instant::now() + time);
                return;
            }
            WorkKind::Write | WorkKind::Versions => {
                self.ordered = Some((ticket, Instant::now()));
            }
            _ => {}
        }
        let (finished, wake) = (self.finished.clone(), Arc::clone(&self.wake));
        let (jobs, place) = (&self.service.jobs, &self.service.place);
        let running = jobs.start(job.work, place, Lane::default(), move |outcome| {
            let _ = finished.send((ticket, outcome));
            wake.up();
        });
        self.running.insert(ticket, running);
    }

    /// Takes the finished jobs from other threads. Returns whether there were any.
    fn take_news(&mut self) -> bool {
        let mut any = false;
        while let Ok(outcome) = self.outcomes.try_recv() {
            self.take(outcome);
            any = true;
        }
        any
    }

    fn take(&mut self, (ticket, done): (Ticket, WorkOutcome)) {
        self.running.remove(&ticket);
        self.connection.finish(ticket, done, &mut self.output);
    }

    /// Announces changes to the client. One announcement is enough for a client that has not read
    /// the last one, so this waits until it reads.
    fn announce(&mut self) -> Result<(), Errno> {
        if self.output.len() < OUTPUT_HIGH && self.wake.changed.swap(false, Ordering::AcqRel) {
            let catalog = self.service.live.published();
            self.connection.catch_up(&catalog, &mut self.output);
            self.output.flush()?;
        }
        Ok(())
    }

    /// Gives up the questions whose time is over.
    fn end_questions(&mut self, now: Instant) {
        let (connection, output) = (&mut self.connection, &mut self.output);
        self.questions.retain(|ticket, end| {
            let is_over = *end <= now;
            if is_over {
                connection.finish(*ticket, WorkOutcome::Unanswered, output);
            }
            !is_over
        });
    }

    fn end_cancelled(&mut self) {
        let connection = &self.connection;
        self.questions.retain(|ticket, _| connection.wants(*ticket));
        self.running
            .retain(|ticket, job| job.kind() == WorkKind::Write || connection.wants(*ticket));
    }
}

#[allow(
    clippy::struct_excessive_bools,
    reason = "one for each thing that is waited for"
)]
struct ReadyFiles {
    signal: bool,
    news: bool,
    input: bool,
    timed_out: bool,
}

fn drain(news: &OwnedFd) {
    let mut bytes = [0; 64];
    while rustix::io::read(news, &mut bytes[..]).is_ok_and(|length| length == bytes.len()) {}
}

/// Signals end a wait early; the loop learns of the ones it handles through their pipe.
fn retry(mut wait: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match wait() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    })
}
