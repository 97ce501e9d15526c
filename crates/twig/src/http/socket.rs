//! A socket that closes on clients that stop reading, and that keeps reading for a moment from
//! clients that are still sending, so that they receive a refusal.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

use super::limits::BRIEF_STALL;
use super::patience::ConnectionPatience;
use super::replies::Replies;

/// How long to discard the bytes of a client that goes on sending.
const LINGER: Duration = Duration::from_secs(1);
/// How many of these bytes are read at a time.
const WASTE: usize = 16 * 1024;

/// `S` is a TCP connection, or TLS on one.
pub(super) struct Socket<S> {
    stream: S,
    patience: ConnectionPatience,
    /// How long one write may block.
    stall: Duration,
    /// Runs while a write is blocked; and since when it is.
    stalled: Option<(Pin<Box<Sleep>>, Instant)>,
    /// Knows whether another reply waits for memory.
    replies: Arc<Replies>,
    /// Becomes true when the server ends; from then on it waits for no client.
    ending: watch::Receiver<bool>,
    /// Runs once everything is written.
    lingering: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    /// A socket on which one write may block for `stall`, and which reports reads to `patience`.
    pub(super) fn new(
        stream: S,
        patience: ConnectionPatience,
        stall: Duration,
        replies: Arc<Replies>,
        ending: watch::Receiver<bool>,
    ) -> Self {
        Self {
            stream,
            patience,
            stall,
            stalled: None,
            replies,
            ending,
            lingering: None,
        }
    }

    fn stream(&mut self) -> Pin<&mut S> {
        Pin::new(&mut self.stream)
    }

    fn timed<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall = self.stall;
        let step = stall.min(BRIEF_STALL);
        let (timer, since) = self
            .stalled
            .get_or_insert_with(|| (Box::pin(sleep(step)), Instant::now()));
        while timer.as_mut().poll(context).is_ready() {
            // Others wait for the memory that its reply uses.
            let makes_room = self.replies.is_waited_for();
            if makes_room || since.elapsed() >= stall {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            let next = (Instant::now() + step).min(*since + stall);
            timer.as_mut().reset(next);
        }
        Poll::Pending
    }

    /// Discards incoming bytes. Waits for the client to close, but not for long.
    fn linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Check the timer first: a client that sends without a pause gets no more time than others.
        let lingering = self
            .lingering
            .get_or_insert_with(|| Box::pin(sleep(LINGER)));
        if lingering.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut waste = [0; WASTE];
        loop {
            let mut waste = ReadBuf::new(&mut waste);
            match self.stream().poll_read(context, &mut waste) {
                Poll::Ready(Ok(())) if !waste.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.stream().poll_read(context, buffer);
        if read.is_ready() {
            self.patience.hear();
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write(context, bytes);
        self.timed(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write_vectored(context, pieces);
        self.timed(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TLS holds bytes back until it is flushed.
        let flushed = self.stream().poll_flush(context);
        self.timed(context, flushed)
    }

    /// Closing a socket while bytes arrive resets it, and a reset can overtake the last reply: a
    /// client in the middle of its body would not learn why it was refused.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            let shut = self.stream().poll_shutdown(context);
            ready!(self.timed(context, shut))?;
        }
        if !*self.ending.borrow() {
            ready!(self.linger(context));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::{Read, Write};

    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::HttpLimits;
    use crate::http::peers::HttpPeer;

    /// The two ends of a connection; the server's end waits for 20 ms at most.
    async fn pair() -> (Socket<TcpStream>, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(address).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let peer = Arc::new(HttpPeer::new(0, None));
        let patience = ConnectionPatience::new(&HttpLimits::default(), peer);
        let (_, ending) = watch::channel(false);
        let stall = Duration::from_millis(20);
        let replies = Arc::new(Replies::new(1, stall));
        (
            Socket::new(stream, patience, stall, replies, ending),
            client,
        )
    }

    fn block_on(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    #[test]
    fn who_does_not_read_is_let_go() {
        block_on(async {
            let (mut socket, _client) = pair().await;
            let bytes = vec![0; 64 * 1024];
            let error = loop {
                let written =
                    poll_fn(|context| Pin::new(&mut socket).poll_write(context, &bytes)).await;
                if let Err(error) = written {
                    break error;
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn who_is_still_talking_hears_the_last_words() {
        block_on(async {
            let (mut socket, mut client) = pair().await;
            let talk = std::thread::spawn(move || {
                client.write_all(&vec![0; 20 * 1024 * 1024]).unwrap();
                let mut heard = String::new();
                client.read_to_string(&mut heard).unwrap();
                heard
            });
            poll_fn(|context| Pin::new(&mut socket).poll_write(context, b"no"))
                .await
                .unwrap();
            poll_fn(|context| Pin::new(&mut socket).poll_shutdown(context))
                .await
                .unwrap();
            drop(socket);
            assert_eq!(talk.join().unwrap(), "no");
        });
    }
}
