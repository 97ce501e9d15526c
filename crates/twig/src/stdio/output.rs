//! Replies on their way to the client: queued, and written as far as the pipe accepts them.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use twig_mcp::Outbox;

/// A buffer of this size is not added to.
const PIECE: usize = 64 * 1024;
/// A buffer larger than this is freed once it is empty.
const KEEP: usize = 256 * 1024;

/// The capacity to ask for the pipe to the client: the most that an unprivileged user may set.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;

/// The bytes that are not yet written.
pub(super) struct OutputBuffer {
    queue: VecDeque<OutputPiece>,
    /// Bytes of the first piece that are already written.
    written: usize,
    pending: usize,
    /// An emptied buffer, for reuse.
    spare: Vec<u8>,
    /// The original flags of standard output, if they were changed.
    restore: Option<OFlags>,
}

enum OutputPiece {
    Own(Vec<u8>),
    /// A page that many replies share; it is never copied.
    Shared(Arc<Vec<u8>>),
}

impl OutputPiece {
    fn bytes(&self) -> &[u8] {
        match self {
            OutputPiece::Own(bytes) => bytes,
            OutputPiece::Shared(bytes) => bytes,
        }
    }
}

impl OutputBuffer {
    /// Makes standard output non-blocking if it is a pipe or a socket.
    pub(super) fn new() -> Result<Self, Errno> {
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
        Ok(Self {
            queue: VecDeque::new(),
            written: 0,
            pending: 0,
            spare: Vec::new(),
            restore,
        })
    }

    /// Queued bytes.
    pub(super) fn len(&self) -> usize {
        self.pending
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Writes until the queue is empty or the client has to read first.
    pub(super) fn flush(&mut self) -> Result<(), Errno> {
        let stdout = rustix::stdio::stdout();
        while self.pending > 0 {
            let mut slices = Vec::with_capacity(self.queue.len().min(64));
            for (at, piece) in self.queue.iter().take(64).enumerate() {
                let from = if at == 0 { self.written } else { 0 };
                slices.push(IoSlice::new(&piece.bytes()[from..]));
            }
            match rustix::io::writev(stdout, &slices) {
                Ok(length) => self.advance(length),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn advance(&mut self, length: usize) {
        self.pending -= length;
        self.written += length;
        while let Some(first) = self.queue.front() {
            let size = first.bytes().len();
            if self.written < size {
                return;
            }
            self.written -= size;
            if let Some(OutputPiece::Own(mut buffer)) = self.queue.pop_front()
                && buffer.capacity() <= KEEP
            {
                buffer.clear();
                self.spare = buffer;
            }
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

impl Outbox for OutputBuffer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.pending += bytes.len();
        // A piece is freed when all of it is written: a client that reads steadily but slowly must
        // not keep one growing.
        if let Some(OutputPiece::Own(buffer)) = self.queue.back_mut()
            && buffer.len() < PIECE
        {
            buffer.extend_from_slice(bytes);
            return;
        }
        let mut buffer = std::mem::take(&mut self.spare);
        buffer.extend_from_slice(bytes);
        self.queue.push_back(OutputPiece::Own(buffer));
    }

    fn shared(&mut self, page: &Arc<Vec<u8>>) {
        self.pending += page.len();
        self.queue.push_back(OutputPiece::Shared(Arc::clone(page)));
    }

    fn message_end(&mut self) {
        self.bytes(b"\n");
    }
}

impl Drop for OutputBuffer {
    fn drop(&mut self) {
        if let Some(flags) = self.restore {
            // Other processes may use the same pipe.
            let _ = fcntl_setfl(rustix::stdio::stdout(), flags);
        }
    }
}
