//! Standard error, which many clients never read.
//!
//! A command writes to it directly. A server must not: a full pipe would block whichever thread
//! logs. There, lines go through a bounded queue, and one thread writes them. Lines that do not fit
//! are counted, and the count is written in their place. Standard error itself stays blocking,
//! since other processes may share it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::platform::write_stderr;

/// Bytes of lines that may wait until standard error is read.
const WAITING: usize = 64 * 1024;
/// At the end, lines are written for as long as each takes no longer than this.
const STEP: Duration = Duration::from_millis(100);
/// And for no longer than this in all.
const LONGEST_END: Duration = Duration::from_millis(500);

/// The lines that a server logs.
static LINES: LineQueue = LineQueue::new();
/// Whether lines go through the queue.
static IS_QUEUED: AtomicBool = AtomicBool::new(false);

/// From now on no write to standard error blocks. Returns whether that was possible.
pub(crate) fn never_wait() -> bool {
    let thread = std::thread::Builder::new().name("twig-log".to_owned());
    let is_started = thread.spawn(|| LINES.write_to(&mut Stderr)).is_ok();
    IS_QUEUED.store(is_started, Ordering::Release);
    is_started
}

/// Writes one or more lines in one piece, after everything written before.
pub(crate) fn write(line: String) {
    if IS_QUEUED.load(Ordering::Acquire) {
        LINES.push(line);
    } else {
        // A client may close its end; that is no reason to stop.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// Gives waiting lines some time to be written; a client that does not read does not delay the end.
pub(crate) fn finish() {
    if IS_QUEUED.load(Ordering::Acquire) {
        LINES.drain();
    }
}

/// Standard error, which blocks.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_stderr(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines waiting to be written, in order.
struct LineQueue {
    lines: Mutex<LogLines>,
    /// A line was added or written.
    changed: Condvar,
}

struct LogLines {
    waiting: VecDeque<String>,
    bytes: usize,
    /// Lines that did not fit into the queue.
    dropped: u64,
    is_writing: bool,
    /// How many were written or failed.
    done: u64,
}

impl LineQueue {
    const fn new() -> Self {
        Self {
            lines: Mutex::new(LogLines {
                waiting: VecDeque::new(),
                bytes: 0,
                dropped: 0,
                is_writing: false,
                done: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Adds a line, or counts it if the queue is full. Never blocks.
    fn push(&self, line: String) {
        let mut lines = self.lock();
        if lines.bytes + line.len() > WAITING && !lines.waiting.is_empty() {
            lines.dropped += 1;
            return;
        }
        if let Some(note) = lines.take_note() {
            lines.add(note);
        }
        lines.add(line);
        drop(lines);
        self.changed.notify_all();
    }

    /// Writes lines as they arrive, for ever.
    fn write_to(&self, output: &mut impl Write) {
        let mut failed = 0_u64;
        let mut lines = self.lock();
        loop {
            let Some(line) = lines.next() else {
                lines = unpoisoned(self.changed.wait(lines));
                continue;
            };
            lines.is_writing = true;
            drop(lines);
            match output.write_all(line.as_bytes()) {
                Err(_) => failed += 1,
                // A full disk has room again.
                Ok(()) if failed > 0 => {
                    let note =
                        format!(" WARN {failed} log lines could not be written before this\n");
                    if output.write_all(note.as_bytes()).is_ok() {
                        failed = 0;
                    }
                }
                Ok(()) => {}
            }
            lines = self.lock();
            lines.is_writing = false;
            lines.done += 1;
            self.changed.notify_all();
        }
    }

    /// Waits until every line is written, or writing makes no progress.
    fn drain(&self) {
        let latest = Instant::now() + LONGEST_END;
        let mut lines = self.lock();
        while lines.is_writing || !lines.waiting.is_empty() || lines.dropped > 0 {
            let before = lines.done;
            let (next, timeout) = unpoisoned(self.changed.wait_timeout(lines, STEP));
            lines = next;
            let is_stuck = timeout.timed_out() && lines.done == before;
            if is_stuck || Instant::now() >= latest {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LogLines> {
        unpoisoned(self.lines.lock())
    }
}

impl LogLines {
    fn add(&mut self, line: String) {
        self.bytes += line.len();
        self.waiting.push_back(line);
    }

    fn next(&mut self) -> Option<String> {
        let line = self.waiting.pop_front()?;
        self.bytes -= line.len();
        // No further line may come to carry the note.
        if self.waiting.is_empty()
            && let Some(note) = self.take_note()
        {
            self.add(note);
        }
        Some(line)
    }

    /// A line in place of the dropped ones.
    fn take_note(&mut self) -> Option<String> {
        let lines = match std::mem::take(&mut self.dropped) {
            0 => return None,
            1 => "1 log line was".to_owned(),
            dropped => format!("{dropped} log lines were"),
        };
        Some(format!(
            " WARN {lines} dropped because standard error was not read\n"
        ))
    }
}

/// The data behind the lock is consistent at every moment, so a panic elsewhere does not spoil it.
fn unpoisoned<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Writes each line only when the test allows it, and reports what it wrote.
    struct Slow {
        turns: Receiver<bool>,
        written: Sender<String>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.turns.recv().unwrap_or(true) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let _ = self
                .written
                .send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (Arc<LineQueue>, Sender<bool>, Receiver<String>) {
        let (turns, turn) = channel();
        let (sender, written) = channel();
        let queue = Arc::new(LineQueue::new());
        let writer = Arc::clone(&queue);
        std::thread::spawn(move || {
            writer.write_to(&mut Slow {
                turns: turn,
                written: sender,
            });
        });
        (queue, turns, written)
    }

    #[test]
    fn what_finds_no_room_is_counted_in_its_place() {
        let (queue, turns, written) = slow();
        let line = |number: usize| format!("{number:0>1023}\n");
        queue.push(line(0));
        // From here on the writer holds the first line and takes no other.
        while !queue.lock().waiting.is_empty() {
            std::thread::yield_now();
        }
        for number in 1..200 {
            queue.push(line(number));
        }
        let next = || {
            turns.send(true).unwrap();
            written.recv().unwrap()
        };
        let mut kept = 0;
        let note = loop {
            let text = next();
            if text.starts_with(" WARN") {
                break text;
            }
            assert_eq!(text, line(kept), "in order");
            kept += 1;
        };
        assert_eq!(kept, 65, "one is being written, 64 wait");
        let dropped = 200 - kept;
        assert_eq!(
            note,
            format!(" WARN {dropped} log lines were dropped because standard error was not read\n")
        );
        queue.push(line(200));
        assert_eq!(next(), line(200));
        queue.drain();
    }

    #[test]
    fn the_end_waits_for_nobody_who_does_not_read() {
        let (queue, turns, written) = slow();
        queue.push("one\n".to_owned());
        queue.push("two\n".to_owned());
        queue.drain();
        turns.send(true).unwrap();
        turns.send(true).unwrap();
        queue.drain();
        assert_eq!(
            [written.recv().unwrap(), written.recv().unwrap()],
            ["one\n", "two\n"]
        );
    }

    #[test]
    fn what_cannot_be_written_is_counted_too() {
        let (queue, turns, written) = slow();
        for turn in [false, false, true, true] {
            turns.send(turn).unwrap();
        }
        for line in ["one\n", "two\n", "three\n"] {
            queue.push(line.to_owned());
        }
        assert_eq!(written.recv().unwrap(), "three\n");
        let note = written.recv().unwrap();
        assert_eq!(note, " WARN 2 log lines could not be written before this\n");
    }
}
