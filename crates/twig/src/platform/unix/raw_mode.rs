//! A terminal that gives every key at once, and signals meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::{flag, low_level};

use crate::platform::TerminalEvent;

/// A terminal with what it was before.
pub(crate) struct RawMode {
    input: File,
    output: File,
    before: Termios,
    signals: SignalPipe,
}

impl RawMode {
    /// The terminal of standard input and standard error, or the one that controls this process;
    /// `None` if there is none. It is not raw yet.
    pub(crate) fn open() -> io::Result<Option<Self>> {
        let (Some(input), Some(output)) = (end(&io::stdin()), end(&io::stderr())) else {
            return Ok(None);
        };
        let before = tcgetattr(&input)?;
        let signals = SignalPipe::new()?;
        Ok(Some(Self {
            input,
            output,
            before,
            signals,
        }))
    }

    /// From now on every key is given at once.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        let mut raw = self.before.clone();
        raw.make_raw();
        // What was typed already is read, too.
        Ok(tcsetattr(&self.input, OptionalActions::Now, &raw)?)
    }

    /// The terminal is as it was, and so is what signals do.
    pub(crate) fn end(&mut self) {
        // The rest of a paste is not meant for the shell.
        let _ = tcsetattr(&self.input, OptionalActions::Flush, &self.before);
        self.signals.end();
    }

    /// Its columns and rows.
    pub(crate) fn size(&self) -> Option<(u16, u16)> {
        super::terminal_size(&self.output)
    }

    pub(crate) fn draw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)?;
        self.output.flush()
    }

    /// Waits for the next key, signal, or end.
    pub(crate) fn wait(&mut self) -> io::Result<TerminalEvent> {
        loop {
            let mut fds = [
                PollFd::new(&self.input, PollFlags::IN),
                PollFd::new(&self.signals.reader, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => {}
                polled => drop(polled?),
            }
            let (has_input, has_signal) =
                (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if has_signal {
                return Ok(self.signals.take());
            }
            if !has_input {
                continue;
            }
            let mut bytes = vec![0; 16 * 1024];
            match rustix::io::read(&self.input, &mut bytes) {
                Ok(0) | Err(Errno::IO) => return Ok(TerminalEvent::Ended),
                Ok(count) => {
                    bytes.truncate(count);
                    return Ok(TerminalEvent::Input(bytes));
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Ends this process as the signal would have, once the terminal is as it was.
    pub(crate) fn end_process(signal: u8) -> io::Result<()> {
        low_level::raise(i32::from(signal))
    }
}

/// A stream if it is a terminal, else the terminal that controls this process.
fn end(stream: &(impl IsTerminal + AsFd)) -> Option<File> {
    if stream.is_terminal() {
        return Some(File::from(stream.as_fd().try_clone_to_owned().ok()?));
    }
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    terminal.ok().filter(File::is_terminal)
}

/// Signals, while the terminal is raw; afterwards they do what they always do.
struct SignalPipe {
    reader: OwnedFd,
    number: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl SignalPipe {
    fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let number = Arc::new(AtomicUsize::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&is_over))?;
            let value = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&number), value)?;
            low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        low_level::pipe::register(SIGWINCH, writer)?;
        Ok(Self {
            reader,
            number,
            is_over,
        })
    }

    /// What came since the last time.
    fn take(&self) -> TerminalEvent {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.reader, &mut bytes), Ok(1..)) {}
        match u8::try_from(self.number.load(Ordering::SeqCst)) {
            Ok(0) | Err(_) => TerminalEvent::Resized,
            Ok(number) => TerminalEvent::Signal(number),
        }
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}
