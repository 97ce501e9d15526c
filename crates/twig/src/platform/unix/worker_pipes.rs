//! The pipes to a worker process, with `poll`: no call waits past its deadline.

use std::io::{self, ErrorKind, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Both pipes.
#[derive(Debug)]
pub(crate) struct PollPipes {
    /// Non-blocking.
    input: ChildStdin,
    output: ChildStdout,
}

impl PollPipes {
    pub(crate) fn new(input: ChildStdin, output: ChildStdout) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&input, true)?;
        Ok(Self { input, output })
    }

    /// Writes all bytes; `TimedOut` after the deadline.
    pub(crate) fn write(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.input.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    wait(PollFd::new(&self.input, PollFlags::OUT), deadline)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads the available bytes, 0 at the end; `TimedOut` after the deadline.
    pub(crate) fn read(&mut self, chunk: &mut [u8], deadline: Instant) -> io::Result<usize> {
        wait(PollFd::new(&self.output, PollFlags::IN), deadline)?;
        Ok(rustix::io::read(&self.output, chunk)?)
    }
}

/// Waits until one end of a pipe is ready.
fn wait(fd: PollFd<'_>, deadline: Instant) -> io::Result<()> {
    let mut fds = [fd];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(0) => return Err(ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    })
}
