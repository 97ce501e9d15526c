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
use std::io::{self, ErrorKind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use twig_core::{Latest, World};
use twig_mcp::{Connection, Job, Ticket, WorkKind, WorkOutcome};

use self::batch::StampBatch;
use self::input::{InputLine, LineReader};
use self::output::OutputBuffer;
use crate::command_error::CommandError;
use crate::fair_queue::Lane;
use crate::jobs::RunningJob;
use crate::platform::{StdioEvents, StdioReady, StdioWaker};
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
    let (events, waker) = StdioEvents::new()?;
    let wake = Arc::new(Wake {
        waker,
        changed: AtomicBool::new(false),
    });
    let watch_wake = Arc::clone(&wake);
    let _watch = service.live.watch(move || {
        watch_wake.changed.store(true, Ordering::Release);
        watch_wake.waker.wake();
    });
    let (finished, outcomes) = channel();
    let mut session = StdioSession {
        service,
        connection: Connection::new(Arc::clone(&service.server)).asking_for_roots(),
        input: LineReader::new(service.limits.message),
        output: OutputBuffer::new(events.output()?),
        events,
        outcomes,
        finished,
        running: BTreeMap::new(),
        questions: BTreeMap::new(),
        ordered: None,
        wake,
    };
    match session.run() {
        // The client is gone: there is nothing left to send.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        result => result
            .map(|()| ExitCode::SUCCESS)
            .map_err(CommandError::from),
    }
}

/// Lets other threads wake the loop.
struct Wake {
    waker: StdioWaker,
    changed: AtomicBool,
}

struct StdioSession<'s> {
    service: &'s Service,
    /// What wakes the loop.
    events: StdioEvents,
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
}

impl StdioSession<'_> {
    fn run(&mut self) -> io::Result<()> {
        let mut input_ended = false;
        while !input_ended {
            let ready = self.wait(true, PARENT_CHECK)?;
            if ready.signal {
                tracing::debug!("ending on a signal");
                return self.end();
            }
            if ready.news {
                self.events.drain_news();
                self.take_news();
            }
            if ready.input {
                input_ended = self.input.fill(|bytes| self.events.read(bytes))? == 0;
                if input_ended {
                    self.input.end();
                }
            }
            self.end_questions(Instant::now());
            self.pump()?;
            self.announce()?;
            if ready.timed_out && self.events.is_orphan() {
                tracing::debug!("ending because the process that started this one has gone");
                return self.end();
            }
        }
        self.finish()?;
        self.end()
    }

    /// Waits for the next event, at most this long; for input only if it is open.
    fn wait(&self, is_open: bool, patience: Duration) -> io::Result<StdioReady> {
        let question = self.questions.values().min();
        let question = question.map(|end| end.saturating_duration_since(Instant::now()));
        let patience = question.map_or(patience, |left| left.min(patience));
        let turn = self.turn_left().filter(|turn| *turn < patience);
        let mut ready = self.events.wait(
            is_open && self.input.has_room(),
            !self.output.is_empty(),
            turn.unwrap_or(patience),
        )?;
        ready.timed_out &= turn.is_none();
        Ok(ready)
    }

    /// Answers and writes until no line is left or the client has to read first.
    fn pump(&mut self) -> io::Result<()> {
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
            wake.waker.wake();
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
    fn announce(&mut self) -> io::Result<()> {
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
