//! Replies on their way to the client: queued, and written as far as the pipe accepts them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::Arc;

use twig_mcp::Outbox;

use crate::platform::StdioOutput;

/// The size of a buffer, unless a message needs more. It never grows: that would copy it.
const PIECE: usize = 64 * 1024;
/// A buffer larger than this is freed once it is empty.
const KEEP: usize = 256 * 1024;

/// The bytes that are not yet written.
pub(super) struct OutputBuffer {
    queue: VecDeque<OutputPiece>,
    /// Bytes of the first piece that are already written.
    written: usize,
    pending: usize,
    /// An emptied buffer, for reuse.
    spare: Vec<u8>,
    stdout: StdioOutput,
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
    pub(super) fn new(stdout: StdioOutput) -> Self {
        Self {
            queue: VecDeque::new(),
            written: 0,
            pending: 0,
            spare: Vec::new(),
            stdout,
        }
    }

    /// Queued bytes.
    pub(super) fn len(&self) -> usize {
        self.pending
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Writes until the queue is empty or the client has to read first.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        while self.pending > 0 {
            let mut slices = Vec::with_capacity(self.queue.len().min(64));
            for (at, piece) in self.queue.iter().take(64).enumerate() {
                let from = if at == 0 { self.written } else { 0 };
                slices.push(IoSlice::new(&piece.bytes()[from..]));
            }
            match self.stdout.write(&slices) {
                Ok(length) => self.advance(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
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

impl Outbox for OutputBuffer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.pending += bytes.len();
        // A piece is freed when all of it is written: a client that reads steadily but slowly must
        // not keep one growing.
        if let Some(OutputPiece::Own(buffer)) = self.queue.back_mut()
            && buffer.capacity() - buffer.len() >= bytes.len()
        {
            buffer.extend_from_slice(bytes);
            return;
        }
        let mut buffer = std::mem::take(&mut self.spare);
        buffer.reserve(bytes.len().max(PIECE));
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
