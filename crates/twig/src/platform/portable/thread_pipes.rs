//! The pipes to a worker process, with a thread for each: no call waits past its deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Instant;

use crate::platform::WORKER_CHUNK;

/// Both pipes.
#[derive(Debug)]
pub(crate) struct ThreadPipes {
    input: Sender<Vec<u8>>,
    output: Receiver<io::Result<Vec<u8>>>,
}

impl ThreadPipes {
    pub(crate) fn new(mut input: ChildStdin, output: ChildStdout) -> io::Result<Self> {
        let (lines, waiting) = channel::<Vec<u8>>();
        let writer = thread::Builder::new().name("twig-to-worker".to_owned());
        writer.spawn(move || {
            // A worker that cannot be written to has ended, which its output says.
            while let Ok(line) = waiting.recv() {
                if input.write_all(&line).is_err() {
                    return;
                }
            }
        })?;
        let (chunks, read) = sync_channel(1);
        let reader = thread::Builder::new().name("twig-from-worker".to_owned());
        reader.spawn(move || read_to_end(output, &chunks))?;
        Ok(Self {
            input: lines,
            output: read,
        })
    }

    /// Gives all bytes to the thread that writes; the deadline is that of the answer.
    #[allow(clippy::needless_pass_by_ref_mut, reason = "other systems write here")]
    pub(crate) fn write(&mut self, bytes: &[u8], _deadline: Instant) -> io::Result<()> {
        let sent = self.input.send(bytes.to_vec());
        sent.map_err(|_| ErrorKind::BrokenPipe.into())
    }

    /// Reads the available bytes, 0 at the end; `TimedOut` after the deadline. There is room for a
    /// whole chunk.
    #[allow(clippy::needless_pass_by_ref_mut, reason = "other systems read here")]
    pub(crate) fn read(&mut self, chunk: &mut [u8], deadline: Instant) -> io::Result<usize> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(left) {
            Ok(read) => {
                let read = read?;
                let room = chunk.get_mut(..read.len());
                room.ok_or(ErrorKind::InvalidInput)?.copy_from_slice(&read);
                Ok(read.len())
            }
            Err(RecvTimeoutError::Timeout) => Err(ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => Ok(0),
        }
    }
}

/// Hands on what a worker prints, until it ends or nobody reads it.
fn read_to_end(mut output: ChildStdout, chunks: &SyncSender<io::Result<Vec<u8>>>) {
    let mut chunk = vec![0; WORKER_CHUNK];
    loop {
        let read = match output.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) => return,
            read => read.map(|length| chunk[..length].to_vec()),
        };
        if chunks.send(read).is_err() {
            return;
        }
    }
}
