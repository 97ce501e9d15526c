//! Streams, processes and sockets of any system, with the standard library, threads and channels.
//!
//! Signals end the process as the system has it, terminals have no raw mode, and nothing limits what
//! a worker uses but the time that its parent gives it.

mod thread_events;
mod thread_pipes;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::future::pending;
use std::io::{self, ErrorKind, Write};
use std::net::TcpListener;
use std::process::ExitStatus;

pub(crate) use self::CtrlC as EndSignals;
pub(crate) use self::NoRawMode as Terminal;
pub(crate) use self::thread_events::{
    ThreadEvents as StdioEvents, ThreadOutput as StdioOutput, ThreadWaker as StdioWaker,
};
pub(crate) use self::thread_pipes::ThreadPipes as WorkerPipes;
use super::TerminalEvent;

/// Files that were open when this program was started are not handed on, as far as the system does so.
pub(crate) fn keep_descriptors() {}

/// A file that grows too large is an error in any case.
pub(crate) fn survive_large_files() {}

/// Ctrl-C ends this program, too.
pub(crate) fn leave_interrupt() {}

/// Writes to standard error.
pub(crate) fn write_stderr(bytes: &[u8]) -> io::Result<usize> {
    io::stderr().write(bytes)
}

/// The columns and rows of a terminal, if it says.
pub(crate) fn terminal_size<T>(_terminal: &T) -> Option<(u16, u16)> {
    None
}

/// Nothing limits what this process, a render worker, may use but its parent's timeout.
pub(crate) fn limit_worker(_memory: u64) {}

/// Whether a process ended because of its limits: there are none.
pub(crate) fn has_aborted(_status: ExitStatus) -> bool {
    false
}

/// Raises the number of files that may be open to this many, if possible; says how many may be.
pub(crate) fn allow_open_files(_wanted: u64) -> Option<u64> {
    None
}

/// Has this many connections wait until they are accepted; the previous number stays.
pub(crate) fn listen_queue(_listener: &TcpListener, _connections: i32) {}

/// Accepts what waits already, without the runtime.
pub(crate) fn waiting_connections(_listener: &tokio::net::TcpListener) -> Option<TcpListener> {
    None
}

/// Sends one datagram to a socket of this machine.
pub(crate) fn send_datagram(_name: &OsStr, _bytes: &[u8]) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Ctrl-C, which ends a server over HTTP.
pub(crate) struct CtrlC;

impl CtrlC {
    #[allow(clippy::unnecessary_wraps, reason = "signals may be refused")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    }
}

/// There is no raw mode: nobody has one of these.
pub(crate) struct NoRawMode(Infallible);

impl NoRawMode {
    #[allow(clippy::unnecessary_wraps, reason = "terminals may fail")]
    pub(crate) fn open() -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(crate) fn begin(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn end(&mut self) {
        match self.0 {}
    }

    pub(crate) fn size(&self) -> Option<(u16, u16)> {
        match self.0 {}
    }

    pub(crate) fn draw(&mut self, _bytes: &[u8]) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn wait(&mut self) -> io::Result<TerminalEvent> {
        match self.0 {}
    }

    pub(crate) fn end_process(_signal: u8) -> io::Result<()> {
        Ok(())
    }
}
