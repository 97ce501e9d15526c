//! A terminal in raw mode, for the finder and for questions. However its use ends, the terminal is
//! as it was.

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
use unicode_width::UnicodeWidthStr;

use crate::command_error::CommandError;
use crate::ui::{ScreenSize, screen_size};

/// The second screen, and back.
const ENTER: &[u8] = b"\x1b[?1049h";
const LEAVE: &[u8] = b"\x1b[?1049l";

/// Pasted texts are marked as such, and no longer.
const MARK_PASTES: &[u8] = b"\x1b[?2004h";
const UNMARK_PASTES: &[u8] = b"\x1b[?2004l";

/// What happened on the terminal.
pub(super) enum Event {
    Input(Vec<u8>),
    Resized,
    /// Nothing more will come.
    Ended,
    /// The number of the signal that ends the program.
    Signal(u8),
}

/// A terminal that gives every key at once.
pub(super) struct RawTerminal {
    input: File,
    output: File,
    before: Termios,
    signals: SignalPipe,
    has_screen: bool,
    is_restored: bool,
}

impl RawTerminal {
    /// The terminal of standard input and standard error, or the one that controls this process;
    /// `None` if there is none.
    pub(super) fn open() -> Result<Option<Self>, CommandError> {
        match (end(&io::stdin()), end(&io::stderr())) {
            (Some(input), Some(output)) => Self::on(input, output).map(Some),
            _ => Ok(None),
        }
    }

    /// Standard input and standard error, if both are terminals.
    pub(super) fn standard() -> Result<Option<Self>, CommandError> {
        let has_both = io::stdin().is_terminal() && io::stderr().is_terminal();
        if has_both { Self::open() } else { Ok(None) }
    }

    fn on(input: File, output: File) -> Result<Self, CommandError> {
        let before = tcgetattr(&input)?;
        let signals = SignalPipe::new()?;
        let mut raw = before.clone();
        raw.make_raw();
        let mut terminal = Self {
            input,
            output,
            before,
            signals,
            has_screen: false,
            is_restored: false,
        };
        // What was typed already is read, too.
        tcsetattr(&terminal.input, OptionalActions::Now, &raw)?;
        terminal.draw_bytes(MARK_PASTES)?;
        Ok(terminal)
    }

    /// Draws on the second screen from now on.
    pub(super) fn enter_screen(&mut self) -> io::Result<()> {
        self.has_screen = true;
        self.draw_bytes(ENTER)
    }

    /// Draws below the command again.
    pub(super) fn leave_screen(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_screen) {
            self.draw_bytes(LEAVE)?;
        }
        Ok(())
    }

    pub(super) fn size(&self) -> ScreenSize {
        screen_size(&self.output)
    }

    pub(super) fn draw(&mut self, frame: &str) -> io::Result<()> {
        self.draw_bytes(frame.as_bytes())
    }

    fn draw_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)?;
        self.output.flush()
    }

    /// Waits for the next key, signal, or end.
    pub(super) fn wait(&mut self) -> Result<Event, CommandError> {
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
                Ok(0) | Err(Errno::IO) => return Ok(Event::Ended),
                Ok(count) => {
                    bytes.truncate(count);
                    return Ok(Event::Input(bytes));
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Restores the terminal, and ends this process as the signal would have.
    pub(super) fn end_by(mut self, signal: u8) -> Result<(), CommandError> {
        self.restore();
        low_level::raise(i32::from(signal))?;
        Ok(())
    }

    fn restore(&mut self) {
        if !std::mem::replace(&mut self.is_restored, true) {
            let _ = self.leave_screen();
            let _ = self.draw_bytes(UNMARK_PASTES);
            // The rest of a paste is not meant for the shell.
            let _ = tcsetattr(&self.input, OptionalActions::Flush, &self.before);
            self.signals.end();
        }
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        self.restore();
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
    fn take(&self) -> Event {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.reader, &mut bytes), Ok(1..)) {}
        match u8::try_from(self.number.load(Ordering::SeqCst)) {
            Ok(0) | Err(_) => Event::Resized,
            Ok(number) => Event::Signal(number),
        }
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// The columns of a text.
pub(super) fn width(text: &str) -> usize {
    text.width()
}
