//! Streams, signals, processes and sockets of Unix.

mod poll_events;
mod raw_mode;
mod worker_pipes;

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;

use rlimit::{Resource, setrlimit};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGABRT, SIGINT, SIGXFSZ};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use self::poll_events::{
    PollEvents as StdioEvents, PollOutput as StdioOutput, PollWaker as StdioWaker,
};
pub(crate) use self::raw_mode::RawMode as Terminal;
pub(crate) use self::worker_pipes::PollPipes as WorkerPipes;
pub(crate) use UnixEndSignals as EndSignals;

/// What was open when this program was started is nothing to those that it starts.
pub(crate) fn keep_descriptors() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// A file that grows past what this shell allows is an error like a full disk, not the end.
pub(crate) fn survive_large_files() {
    // Whoever hears the signal survives it; that it came is of no interest.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Leaves Ctrl-C to the program that this one waits for.
pub(crate) fn leave_interrupt() {
    let _ = signal_hook::flag::register(SIGINT, Arc::default());
}

/// Writes to standard error, also where another process made it non-blocking: standard output may be
/// the same pipe.
pub(crate) fn write_stderr(bytes: &[u8]) -> io::Result<usize> {
    let stderr = rustix::stdio::stderr();
    loop {
        match rustix::io::write(stderr, bytes) {
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], None)?;
            }
            written => return Ok(written?),
        }
    }
}

/// The columns and rows of a terminal, if it says.
pub(crate) fn terminal_size(terminal: &impl AsFd) -> Option<(u16, u16)> {
    let size = tcgetwinsize(terminal).ok()?;
    Some((size.ws_col, size.ws_row))
}

/// Limits what this process, a render worker, may use. Where a limit cannot be set (macOS ignores
/// address space), the parent's timeout still applies.
pub(crate) fn limit_worker(memory: u64) {
    let _ = setrlimit(Resource::AS, memory, memory);
    let _ = setrlimit(Resource::CORE, 0, 0);
    let _ = setrlimit(Resource::NOFILE, 16, 16);
}

/// Whether a process ended by itself, as it does when it runs out of memory or stack.
pub(crate) fn has_aborted(status: ExitStatus) -> bool {
    status.signal() == Some(SIGABRT)
}

/// Raises the number of files that may be open to this many, if possible; says how many may be.
pub(crate) fn allow_open_files(wanted: u64) -> Option<u64> {
    rlimit::increase_nofile_limit(wanted).ok()
}

/// Has this many connections wait until they are accepted. If the system refuses the number, the
/// previous one stays.
pub(crate) fn listen_queue(listener: &TcpListener, connections: i32) {
    let _ = rustix::net::listen(listener, connections);
}

/// Accepts what waits already, without the runtime, which may not know of it yet.
pub(crate) fn waiting_connections(listener: &tokio::net::TcpListener) -> Option<TcpListener> {
    let listener = listener.as_fd().try_clone_to_owned().ok()?;
    Some(TcpListener::from(listener))
}

/// Sends one datagram to a socket of this machine, by its path or, after an `@`, a name that is not in
/// the file system.
pub(crate) fn send_datagram(name: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    // A manager that does not read must not stop the server.
    socket.set_nonblocking(true)?;
    socket.send_to_addr(bytes, &address(name.as_bytes())?)?;
    Ok(())
}

fn address(name: &[u8]) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        return SocketAddr::from_abstract_name(name);
    }
    SocketAddr::from_pathname(OsStr::from_bytes(name))
}

/// The signals that end a server over HTTP.
pub(crate) struct UnixEndSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl UnixEndSignals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
