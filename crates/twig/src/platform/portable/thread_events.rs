//! Standard input and output with a thread for each, since not every system can wait for both at once.
//!
//! The threads and the loop share one state and one condition. What is read waits in it up to a bound;
//! what is written is given away whole, and counts as written only once the system took it.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::platform::StdioReady;

/// Bytes that are read from standard input at once, and that may wait for the loop.
const CHUNK: usize = 64 * 1024;
/// Bytes that are given to the writing thread at once.
const PIECE: usize = 1024 * 1024;

/// What the threads and the loop share.
struct SharedStreams {
    state: Mutex<StreamState>,
    changed: Condvar,
}

struct StreamState {
    /// Another thread woke the loop.
    news: bool,
    input: Vec<u8>,
    input_ended: bool,
    output: GivenOutput,
}

/// The bytes that the writing thread was given.
enum GivenOutput {
    Nothing,
    Waiting(Vec<u8>),
    Writing,
    Written(io::Result<usize>),
}

impl GivenOutput {
    fn is_under_way(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Writing)
    }
}

impl SharedStreams {
    fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something changes.
    fn wait<'l>(&self, state: MutexGuard<'l, StreamState>) -> MutexGuard<'l, StreamState> {
        let waited = self.changed.wait(state);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something holds, at most this long. Returns whether it does.
    fn wait_until(
        &self,
        patience: Duration,
        holds: impl Fn(&StreamState) -> bool,
    ) -> (MutexGuard<'_, StreamState>, bool) {
        let changed = &self.changed;
        let waited = changed.wait_timeout_while(self.lock(), patience, |state| !holds(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let does = holds(&state);
        (state, does)
    }

    /// Reads standard input to its end; what cannot be read has ended.
    fn read_input(&self) {
        let mut chunk = vec![0; CHUNK];
        let mut stdin = io::stdin().lock();
        loop {
            let length = match stdin.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.unwrap_or_default(),
            };
            let mut state = self.lock();
            while state.input.len() + length > CHUNK {
                state = self.wait(state);
            }
            state.input.extend_from_slice(&chunk[..length]);
            state.input_ended = length == 0;
            self.changed.notify_all();
            if length == 0 {
                return;
            }
        }
    }

    /// Writes what is given, for ever.
    fn write_output(&self) {
        let mut state = self.lock();
        loop {
            if !matches!(state.output, GivenOutput::Waiting(_)) {
                state = self.wait(state);
                continue;
            }
            let given = std::mem::replace(&mut state.output, GivenOutput::Writing);
            drop(state);
            let written = match given {
                GivenOutput::Waiting(bytes) => {
                    // Not locked for longer: the end of the program flushes it, too.
                    let mut stdout = io::stdout().lock();
                    let written = stdout.write_all(&bytes).and_then(|()| stdout.flush());
                    written.map(|()| bytes.len())
                }
                _ => Ok(0),
            };
            state = self.lock();
            state.output = GivenOutput::Written(written);
            self.changed.notify_all();
        }
    }
}

/// What wakes the loop.
pub(crate) struct ThreadEvents {
    streams: Arc<SharedStreams>,
}

/// Lets other threads wake the loop.
pub(crate) struct ThreadWaker {
    streams: Arc<SharedStreams>,
}

impl ThreadWaker {
    pub(crate) fn wake(&self) {
        self.streams.lock().news = true;
        self.streams.changed.notify_all();
    }
}

impl ThreadEvents {
    pub(crate) fn new() -> io::Result<(Self, ThreadWaker)> {
        let streams = Arc::new(SharedStreams {
            state: Mutex::new(StreamState {
                news: false,
                input: Vec::new(),
                input_ended: false,
                output: GivenOutput::Nothing,
            }),
            changed: Condvar::new(),
        });
        let reader = Arc::clone(&streams);
        let thread = thread::Builder::new().name("twig-input".to_owned());
        thread.spawn(move || reader.read_input())?;
        let waker = ThreadWaker {
            streams: Arc::clone(&streams),
        };
        Ok((Self { streams }, waker))
    }

    /// Waits for the next event, at most this long.
    pub(crate) fn wait(
        &self,
        wants_input: bool,
        wants_output: bool,
        patience: Duration,
    ) -> io::Result<StdioReady> {
        let has_input =
            |state: &StreamState| wants_input && (state.input_ended || !state.input.is_empty());
        let holds = |state: &StreamState| {
            state.news || has_input(state) || (wants_output && !state.output.is_under_way())
        };
        let (state, is_ready) = self.streams.wait_until(patience, holds);
        Ok(StdioReady {
            signal: false,
            news: state.news,
            input: has_input(&state),
            timed_out: !is_ready,
        })
    }

    /// Waits until standard output takes more, at most this long.
    pub(crate) fn wait_for_output(&self, patience: Duration) -> io::Result<()> {
        let is_free = |state: &StreamState| !state.output.is_under_way();
        let _ = self.streams.wait_until(patience, is_free);
        Ok(())
    }

    /// Forgets what other threads woke the loop for.
    pub(crate) fn drain_news(&self) {
        self.streams.lock().news = false;
    }

    /// Takes the bytes that were read from standard input; 0 at the end.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.streams.lock();
        if state.input.is_empty() && !state.input_ended {
            return Err(ErrorKind::WouldBlock.into());
        }
        let length = state.input.len().min(buffer.len());
        buffer[..length].copy_from_slice(&state.input[..length]);
        state.input.drain(..length);
        self.streams.changed.notify_all();
        Ok(length)
    }

    /// Whether the process that started this one has gone: its end closes standard input.
    #[allow(clippy::unused_self, reason = "other systems know the parent")]
    pub(crate) fn is_orphan(&self) -> bool {
        false
    }

    /// Standard output, for this loop alone.
    pub(crate) fn output(&self) -> io::Result<ThreadOutput> {
        let streams = Arc::clone(&self.streams);
        let thread = thread::Builder::new().name("twig-output".to_owned());
        thread.spawn(move || streams.write_output())?;
        Ok(ThreadOutput {
            streams: Arc::clone(&self.streams),
        })
    }
}

/// Standard output, written by a thread.
pub(crate) struct ThreadOutput {
    streams: Arc<SharedStreams>,
}

impl ThreadOutput {
    /// Gives bytes to the thread, and says how many it has written since; `WouldBlock` until it has.
    /// Called again with the same bytes in front, until they are written.
    pub(crate) fn write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = self.streams.lock();
        match std::mem::replace(&mut state.output, GivenOutput::Nothing) {
            GivenOutput::Written(written) => return written,
            GivenOutput::Nothing => {
                let mut bytes = Vec::new();
                for slice in slices {
                    let room = PIECE - bytes.len();
                    bytes.extend_from_slice(&slice[..slice.len().min(room)]);
                }
                state.output = GivenOutput::Waiting(bytes);
                self.streams.changed.notify_all();
            }
            under_way => state.output = under_way,
        }
        Err(ErrorKind::WouldBlock.into())
    }
}
