//! A terminal in raw mode, for the finder and for questions. However its use ends, the terminal is
//! as it was.

use std::io::{self, IsTerminal};

use unicode_width::UnicodeWidthStr;

use crate::command_error::CommandError;
use crate::platform::Terminal;
pub(super) use crate::platform::TerminalEvent as Event;
use crate::ui::{ScreenSize, screen_size};

/// The second screen, and back.
const ENTER: &[u8] = b"\x1b[?1049h";
const LEAVE: &[u8] = b"\x1b[?1049l";

/// Pasted texts are marked as such, and no longer.
const MARK_PASTES: &[u8] = b"\x1b[?2004h";
const UNMARK_PASTES: &[u8] = b"\x1b[?2004l";

/// A terminal that gives every key at once.
pub(super) struct RawTerminal {
    terminal: Terminal,
    has_screen: bool,
    is_restored: bool,
}

impl RawTerminal {
    /// The terminal of standard input and standard error, or the one that controls this process;
    /// `None` if there is none.
    pub(super) fn open() -> Result<Option<Self>, CommandError> {
        Terminal::open()?.map(Self::on).transpose()
    }

    /// Standard input and standard error, if both are terminals.
    pub(super) fn standard() -> Result<Option<Self>, CommandError> {
        let has_both = io::stdin().is_terminal() && io::stderr().is_terminal();
        if has_both { Self::open() } else { Ok(None) }
    }

    fn on(terminal: Terminal) -> Result<Self, CommandError> {
        let mut terminal = Self {
            terminal,
            has_screen: false,
            is_restored: false,
        };
        terminal.terminal.begin()?;
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
        screen_size(self.terminal.size())
    }

    pub(super) fn draw(&mut self, frame: &str) -> io::Result<()> {
        self.draw_bytes(frame.as_bytes())
    }

    fn draw_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.terminal.draw(bytes)
    }

    /// Waits for the next key, signal, or end.
    pub(super) fn wait(&mut self) -> Result<Event, CommandError> {
        Ok(self.terminal.wait()?)
    }

    /// Restores the terminal, and ends this process as the signal would have.
    pub(super) fn end_by(mut self, signal: u8) -> Result<(), CommandError> {
        self.restore();
        Ok(Terminal::end_process(signal)?)
    }

    fn restore(&mut self) {
        if !std::mem::replace(&mut self.is_restored, true) {
            let _ = self.leave_screen();
            let _ = self.draw_bytes(UNMARK_PASTES);
            self.terminal.end();
        }
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        self.restore();
    }
}

/// The columns of a text.
pub(super) fn width(text: &str) -> usize {
    text.width()
}
