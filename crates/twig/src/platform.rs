//! What operating systems do differently with standard streams, terminals, signals, child processes
//! and sockets. Nothing else in this crate calls them past the standard library, but functions
//! (`function.rs`), which exist on Unix only.
//!
//! There are two twins with the same functions: `platform/unix.rs`, and `platform/portable.rs` for
//! every other system, which has nothing but the standard library, threads and channels. A port is a
//! third. The twin of other systems is built and tested on Unix with `--cfg twig_portable`. What files
//! do differently is in `platform.rs` of `twig-sources`.

#[cfg(any(not(unix), twig_portable))]
mod portable;
#[cfg(all(unix, not(twig_portable)))]
mod unix;

#[cfg(any(not(unix), twig_portable))]
use self::portable as system;
#[cfg(all(unix, not(twig_portable)))]
use self::unix as system;

pub(crate) use self::system::{
    EndSignals, StdioEvents, StdioOutput, StdioWaker, Terminal, WorkerPipes, allow_open_files,
    has_aborted, keep_descriptors, leave_interrupt, limit_worker, listen_queue, send_datagram,
    survive_large_files, terminal_size, waiting_connections, write_stderr,
};

/// Why the stdio loop woke up.
#[allow(
    clippy::struct_excessive_bools,
    reason = "one for each thing that is waited for"
)]
pub(crate) struct StdioReady {
    pub(crate) signal: bool,
    pub(crate) news: bool,
    pub(crate) input: bool,
    pub(crate) timed_out: bool,
}

/// What happened on the terminal.
#[cfg_attr(
    any(not(unix), twig_portable),
    allow(dead_code, reason = "there is no raw terminal")
)]
pub(crate) enum TerminalEvent {
    Input(Vec<u8>),
    Resized,
    /// Nothing more will come.
    Ended,
    /// The number of the signal that ends the program.
    Signal(u8),
}

/// Bytes that are read from a worker at once.
pub(crate) const WORKER_CHUNK: usize = 64 * 1024;
