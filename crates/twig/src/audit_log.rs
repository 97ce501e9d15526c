//! The log of reads: one JSON object a line for each request that read or used something, or was
//! refused. Never arguments, never contents.
//!
//! A request never waits for it: entries go through a bounded queue to a thread that appends them to
//! the file. What does not fit into the queue is counted, and the count is logged.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use twig_mcp::{ObservedOutcome, ObservedRequest};
use twig_sources::now;
use twig_sources::platform::create_with_mode;

/// Entries that may wait.
const WAITING: usize = 4_096;

/// Entries that are written at once.
const TOGETHER: usize = 512;

/// How long the end of the program waits for the last entries.
const LAST_ENTRIES: Duration = Duration::from_secs(1);

/// Pause between two attempts to put something into a full queue.
const STEP: Duration = Duration::from_millis(5);

/// The actor of a request that the server knows no person for.
pub(crate) const LOCAL: &str = "local";

/// One line; this shape is stable.
#[derive(Debug, Serialize)]
struct ReadEntry {
    time: String,
    actor: Box<str>,
    client: Option<Box<str>>,
    method: Box<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Box<str>>,
    name: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// Present if a program was run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    function: bool,
    /// `ok`, `failed` (a tool said so) or `refused`.
    outcome: &'static str,
    /// The code of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    milliseconds: f64,
}

impl ReadEntry {
    fn of(request: &ObservedRequest<'_>) -> Self {
        let (outcome, code) = match request.outcome {
            ObservedOutcome::Done => ("ok", None),
            ObservedOutcome::Failed => ("failed", None),
            ObservedOutcome::Refused(code) => ("refused", Some(code)),
        };
        let micros = u32::try_from(request.micros).unwrap_or(u32::MAX);
        Self {
            time: now().to_string(),
            actor: request.actor.unwrap_or(LOCAL).into(),
            client: request.client.map(Into::into),
            method: request.method.into(),
            tool: request.tool.map(Into::into),
            name: request.name.map(Into::into),
            version: request.version,
            function: request.is_function,
            outcome,
            code,
            milliseconds: f64::from(micros) / 1_000.0,
        }
    }
}

/// What the thread is sent.
enum LogMessage {
    Entry(ReadEntry),
    /// Answered when everything before it is written.
    Flush(Sender<()>),
}

/// The log.
#[derive(Debug)]
pub(crate) struct ReadLog {
    queue: SyncSender<LogMessage>,
    dropped: Arc<AtomicU64>,
}

impl ReadLog {
    /// Starts the thread. The file has to be writable now.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        open(path)?;
        let (queue, waiting) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut writer = ReadLogWriter {
            path: path.to_owned(),
            dropped: Arc::clone(&dropped),
            is_failing: false,
        };
        std::thread::Builder::new()
            .name("twig-audit".to_owned())
            .spawn(move || writer.run(&waiting))?;
        Ok(Self { queue, dropped })
    }

    /// Logs a request, or counts it if too many wait.
    pub(crate) fn record(&self, request: &ObservedRequest<'_>) {
        let entry = LogMessage::Entry(ReadEntry::of(request));
        if self.queue.try_send(entry).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written that was logged so far, but not for long.
    pub(crate) fn flush(&self) {
        let until = Instant::now() + LAST_ENTRIES;
        let (done, written) = channel();
        let mut message = LogMessage::Flush(done);
        while let Err(TrySendError::Full(back)) = self.queue.try_send(message) {
            if Instant::now() >= until {
                break;
            }
            message = back;
            std::thread::sleep(STEP);
        }
        let left = until.saturating_duration_since(Instant::now());
        if written.recv_timeout(left).is_err() {
            tracing::warn!("the log of reads could not be written to its end");
        }
    }
}

/// What the thread knows.
struct ReadLogWriter {
    path: PathBuf,
    dropped: Arc<AtomicU64>,
    is_failing: bool,
}

impl ReadLogWriter {
    fn run(&mut self, waiting: &Receiver<LogMessage>) {
        while let Ok(first) = waiting.recv() {
            let (mut lines, mut count, mut flushed) = (Vec::new(), 0, Vec::new());
            let more = waiting.try_iter().take(TOGETHER - 1);
            for message in [first].into_iter().chain(more) {
                match message {
                    LogMessage::Flush(done) => flushed.push(done),
                    // Strings and numbers are always JSON.
                    LogMessage::Entry(entry) => {
                        if serde_json::to_writer(&mut lines, &entry).is_ok() {
                            lines.push(b'\n');
                            count += 1;
                        }
                    }
                }
            }
            self.append(&lines, count);
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(
                    "{dropped} requests are missing in the log of reads: too many came at once, or the file could not be written"
                );
            }
            for done in flushed {
                let _ = done.send(());
            }
        }
    }

    /// Appends lines. The file is opened each time, so that it can be moved away.
    fn append(&mut self, lines: &[u8], count: u64) {
        if lines.is_empty() {
            return;
        }
        let written = open(&self.path).and_then(|mut file| file.write_all(lines));
        match written {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                self.dropped.fetch_add(count, Ordering::Relaxed);
                if !self.is_failing {
                    tracing::warn!(
                        "the log of reads {} cannot be written: {error}",
                        self.path.display()
                    );
                }
                self.is_failing = true;
            }
        }
    }
}

/// Opens the file to append whole lines; several servers may do so at once. Only its owner reads it.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    create_with_mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str) -> ObservedRequest<'_> {
        ObservedRequest {
            actor: None,
            client: Some("tests"),
            method: "prompts/get",
            tool: None,
            name: Some(name),
            is_prompt: true,
            version: Some(2),
            is_function: false,
            outcome: ObservedOutcome::Done,
            micros: 1_500,
        }
    }

    #[test]
    fn every_entry_is_written_before_a_flush_returns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.jsonl");
        let log = ReadLog::start(&path).unwrap();
        for _ in 0..1_000 {
            log.record(&request("a\n\"b"));
        }
        log.flush();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1_000);
        let entry: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(entry["name"], "a\n\"b");
        assert_eq!(entry["actor"], LOCAL);
        assert_eq!(entry["milliseconds"], 1.5);
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.jsonl");
        let (queue, waiting) = sync_channel(2);
        let log = ReadLog {
            queue,
            dropped: Arc::default(),
        };
        for _ in 0..5 {
            log.record(&request("a"));
        }
        assert_eq!(log.dropped.load(Ordering::Relaxed), 3);
        let mut writer = ReadLogWriter {
            path: path.join("no-folder"),
            dropped: Arc::default(),
            is_failing: false,
        };
        writer.append(b"{}\n", 1);
        assert_eq!(writer.dropped.load(Ordering::Relaxed), 1);
        drop(waiting);
    }
}
