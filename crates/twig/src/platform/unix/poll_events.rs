//! Standard input and output with `poll`: one thread waits for both, for signals and for other threads.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getppid};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::platform::StdioReady;

/// The capacity to ask for the pipe to the client: the most that an unprivileged user may set.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;

/// What wakes the loop.
pub(crate) struct PollEvents {
    news: OwnedFd,
    signals: OwnedFd,
    parent: Option<Pid>,
}

/// Lets other threads wake the loop.
pub(crate) struct PollWaker {
    writer: OwnedFd,
}

impl PollWaker {
    pub(crate) fn wake(&self) {
        // A full pipe wakes the loop just as well.
        let _ = rustix::io::write(&self.writer, &[1]);
    }
}

impl PollEvents {
    pub(crate) fn new() -> io::Result<(Self, PollWaker)> {
        let (news, writer) = wake_pipe()?;
        let (signals, signal_writer) = wake_pipe()?;
        for signal in [SIGINT, SIGTERM] {
            signal_hook::low_level::pipe::register(signal, signal_writer.try_clone()?)?;
        }
        let events = Self {
            news,
            signals,
            parent: getppid(),
        };
        Ok((events, PollWaker { writer }))
    }

    /// Waits for the next event, at most this long.
    pub(crate) fn wait(
        &self,
        wants_input: bool,
        wants_output: bool,
        patience: Duration,
    ) -> io::Result<StdioReady> {
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        let mut fds = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.news, PollFlags::IN),
        ];
        if wants_input {
            fds.push(PollFd::from_borrowed_fd(stdin, PollFlags::IN));
        }
        if wants_output {
            fds.push(PollFd::from_borrowed_fd(stdout, PollFlags::OUT));
        }
        let count = retry(|| poll(&mut fds, Some(&timespec(patience))))?;
        let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        Ok(StdioReady {
            signal: is_ready(0),
            news: is_ready(1),
            input: wants_input && is_ready(2),
            timed_out: count == 0,
        })
    }

    /// Waits until standard output takes more, at most this long.
    #[expect(clippy::unused_self, reason = "its twin of threads has state")]
    pub(crate) fn wait_for_output(&self, patience: Duration) -> io::Result<()> {
        let stdout = rustix::stdio::stdout();
        let mut fds = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::OUT)];
        retry(|| poll(&mut fds, Some(&timespec(patience))))?;
        Ok(())
    }

    /// Forgets what other threads woke the loop for.
    pub(crate) fn drain_news(&self) {
        let mut bytes = [0; 64];
        let mut read = || rustix::io::read(&self.news, &mut bytes[..]);
        while read().is_ok_and(|length| length == 64) {}
    }

    /// Reads the available bytes of standard input; 0 at the end. `WouldBlock` if another process made
    /// it non-blocking and there was nothing to read after all.
    #[expect(clippy::unused_self, reason = "its twin of threads has state")]
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = rustix::stdio::stdin();
        Ok(retry(|| rustix::io::read(stdin, &mut *buffer))?)
    }

    /// Whether the process that started this one has gone.
    pub(crate) fn is_orphan(&self) -> bool {
        getppid() != self.parent
    }

    /// Standard output, for this loop alone.
    #[expect(clippy::unused_self, reason = "its twin of threads has state")]
    pub(crate) fn output(&self) -> io::Result<PollOutput> {
        PollOutput::new()
    }
}

/// Standard output, non-blocking if it is a pipe or a socket.
pub(crate) struct PollOutput {
    /// The original flags of standard output, if they were changed.
    restore: Option<OFlags>,
}

impl PollOutput {
    fn new() -> io::Result<Self> {
        let stdout = rustix::stdio::stdout();
        let kind = FileType::from_raw_mode(fstat(stdout)?.st_mode);
        let restore = if matches!(kind, FileType::Fifo | FileType::Socket) {
            let flags = fcntl_getfl(stdout)?;
            fcntl_setfl(stdout, flags | OFlags::NONBLOCK)?;
            enlarge(kind);
            Some(flags)
        } else {
            None
        };
        Ok(Self { restore })
    }

    /// Writes as much as the client takes; `WouldBlock` if it has to read first.
    #[allow(clippy::unused_self, reason = "it is non-blocking while this is there")]
    pub(crate) fn write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let stdout = rustix::stdio::stdout();
        Ok(retry(|| rustix::io::writev(stdout, slices))?)
    }
}

impl Drop for PollOutput {
    fn drop(&mut self) {
        if let Some(flags) = self.restore {
            // Other processes may use the same pipe.
            let _ = fcntl_setfl(rustix::stdio::stdout(), flags);
        }
    }
}

/// Enlarges the pipe, so that a list of thousands of prompts is not transferred 64 KiB at a time.
/// If the system refuses, the pipe stays as it is.
#[cfg(target_os = "linux")]
fn enlarge(kind: FileType) {
    if kind == FileType::Fifo {
        let _ = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdout(), PIPE);
    }
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_: FileType) {}

fn wake_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?)
}

/// Signals end a call early; the loop learns of the ones it handles through their pipe.
fn retry(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    })
}
