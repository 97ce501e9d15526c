//! Replies on their way to the client: queued, written as far as the pipe takes them.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use twig_mcp::Outbox;

/// A buffer that has so much is not added to.
const PIECE: usize = 64 * 1024;
/// A buffer larger than this is given back once it is empty.
const KEEP: usize = 256 * 1024;

/// What the pipe to the client should hold: the most that an ordinary user may ask for.
#[cfg(target_os = "linux")]
const PIPE: usize = 1024 * 1024;

/// What is not yet written.
pub(super) struct OutputBuffer {
    queue: VecDeque<OutputPiece>,
    /// Bytes of the first piece that are written already.
    written: usize,
    pending: usize,
    /// An emptied buffer, to be filled again.
    spare: Vec<u8>,
    /// The flags that standard output came with, where they were changed.
    restore: Option<OFlags>,
}

enum OutputPiece {
    Own(Vec<u8>),
    /// A page that many replies share: it is never copied.
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
    /// Makes standard output non-blocking where that is ours to decide: a pipe or a socket.
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

    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.pending
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Writes until all is gone or the client has to read first.
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

/// A list of thousands of prompts should not be handed over 64 KiB at a time. Where the system
/// does not give more it stays as it is.
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
        // A piece is given back when all of it is written: a client that reads steadily but slowly
        // must not keep one growing.
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
            // Others may hold the same pipe.
            let _ = fcntl_setfl(rustix::stdio::stdout(), flags);
        }
    }
}
