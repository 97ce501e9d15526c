//! Accepts connections within limits, and ends all of them at shutdown.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::drain::is_over;
use super::metrics::Metrics;
use super::patience::ConnectionPatience;
use super::peers::{Admitted, HttpPeer, Peers};
use super::replies::Replies;
use super::socket::Socket;
use super::{HttpLimits, Shared};
use crate::platform::{EndSignals, allow_open_files, waiting_connections};

/// Files that may be open besides connections: with room to spare, and where the limit is low.
const FILES: usize = 128;
const FEW_FILES: usize = 32;
/// Limits for a request's head: bytes, and number of headers.
const HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;
/// Pause after a connection that could not be accepted: files or memory may be used up.
const RECOVER: Duration = Duration::from_millis(100);
/// How long a server that drained waits for the first request of a connection.
const FIRST_REQUEST: Duration = Duration::from_secs(1);
/// The reply to a connection over the limit.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A listening socket and its connections. `R` makes the routes for a peer.
pub(super) struct Acceptor<R> {
    listener: TcpListener,
    peers: Arc<Peers>,
    pub(super) tls: Option<TlsAcceptor>,
    routes: R,
    settings: ConnectionSettings,
    pub(super) metrics: Option<Arc<Metrics>>,
    connections: JoinSet<()>,
    is_failing: bool,
}

/// What every connection needs.
#[derive(Clone)]
pub(super) struct ConnectionSettings {
    limits: HttpLimits,
    pub(super) ending: watch::Receiver<bool>,
    replies: Arc<Replies>,
}

impl ConnectionSettings {
    pub(super) fn new(shared: &Shared) -> Self {
        Self {
            limits: shared.limits.clone(),
            ending: shared.ending.clone(),
            replies: Arc::clone(&shared.replies),
        }
    }
}

impl<R, S> Acceptor<R>
where
    R: Fn(Arc<HttpPeer>) -> S,
    S: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    pub(super) fn new(
        listener: TcpListener,
        peers: Arc<Peers>,
        routes: R,
        settings: ConnectionSettings,
    ) -> Self {
        Self {
            listener,
            peers,
            tls: None,
            routes,
            settings,
            metrics: None,
            connections: JoinSet::new(),
            is_failing: false,
        }
    }

    /// Accepts connections until something else is done.
    pub(super) async fn serve_until<T>(&mut self, done: impl Future<Output = T>) -> T {
        let mut done = pin!(done);
        loop {
            tokio::select! {
                done = done.as_mut() => return done,
                Some(_) = self.connections.join_next() => {}
                accepted = self.listener.accept() => self.take(accepted).await,
            }
        }
    }

    /// Accepts the connections that wait already: closing the listener would reset them, and with them
    /// requests that balancers must not send again.
    async fn take_waiting(&mut self) {
        let Some(listener) = waiting_connections(&self.listener) else {
            return;
        };
        while let Ok((stream, address)) = listener.accept() {
            let stream = stream.set_nonblocking(true).map(|()| stream);
            let stream = stream.and_then(TcpStream::from_std);
            self.take(stream.map(|stream| (stream, address))).await;
        }
    }

    async fn take(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // A failure repeats until some resource is freed; log it once.
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!("connections cannot be accepted: {error}");
                }
                sleep(RECOVER).await;
                return;
            }
        };
        let Some(admitted) = self.peers.admit(address.ip()).await else {
            self.metrics.as_ref().inspect(|it| it.refuse_connection());
            if self.tls.is_none() {
                // A new socket accepts a few bytes without blocking.
                let _ = stream.try_write(FULL);
            }
            return;
        };
        self.is_failing = false;
        let routes = (self.routes)(Arc::clone(&admitted.peer));
        let settings = self.settings.clone();
        // Without this, a small reply waits for the client to acknowledge the previous one.
        let _ = stream.set_nodelay(true);
        match self.tls.clone() {
            None => {
                self.connections.spawn(async move {
                    serve(stream, &admitted.peer, routes, settings).await;
                    drop(admitted);
                });
            }
            Some(tls) => {
                self.connections.spawn(async move {
                    if let Some(stream) = handshake(stream, &tls, &admitted, &settings).await {
                        serve(stream, &admitted.peer, routes, settings).await;
                    }
                    drop(admitted);
                });
            }
        }
    }
}

/// Serves until a signal arrives, then completes every stream.
pub(super) async fn run<R, S>(
    mut acceptor: Acceptor<R>,
    shared: &Shared,
    mut signals: EndSignals,
    end: &watch::Sender<bool>,
) where
    R: Fn(Arc<HttpPeer>) -> S,
    S: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let mut sweep = tokio::time::interval(shared.sessions.sweep());
    let signalled = async {
        loop {
            tokio::select! {
                () = signals.next() => return,
                _ = sweep.tick() => shared.sessions.expire(),
            }
        }
    };
    acceptor.serve_until(signalled).await;
    shared.start_drain();
    let drain = shared.limits.drain;
    if !drain.is_zero() {
        let drained = async {
            tokio::select! {
                () = signals.next() => true,
                () = sleep(drain) => false,
            }
        };
        let is_hurried = acceptor.serve_until(drained).await;
        if is_hurried {
            return;
        }
    }
    acceptor.take_waiting().await;
    let Acceptor {
        listener,
        mut connections,
        ..
    } = acceptor;
    drop(listener);
    end.send_replace(true);
    tokio::select! {
        () = async { while connections.join_next().await.is_some() {} } => {}
        () = signals.next() => {}
        () = sleep(shared.last_writes()) => {}
    }
}

/// How many connections fit into the number of files that a process may open. Some are reserved for
/// the admin listener (`reserved`), and for the prompts themselves: a server that cannot open a prompt
/// is of no use.
pub(super) fn room(limit: usize, reserved: usize) -> usize {
    let wanted = limit + reserved + FILES;
    let files = allow_open_files(wanted as u64);
    let files = files.and_then(|files| usize::try_from(files).ok());
    let files = files.unwrap_or(wanted);
    let room = limit.min(files.saturating_sub(FEW_FILES + reserved)).max(1);
    if room < limit {
        tracing::warn!(
            "the system allows {files} open files, so {room} clients can be connected at once; `ulimit -n` raises it"
        );
    }
    room
}

/// Starts TLS, in the time that a connection has until its first request.
async fn handshake(
    stream: TcpStream,
    tls: &TlsAcceptor,
    admitted: &Admitted,
    settings: &ConnectionSettings,
) -> Option<tokio_rustls::server::TlsStream<TcpStream>> {
    let mut ending = settings.ending.clone();
    let end = admitted.peer.since() + settings.limits.head;
    let begun = tokio::select! {
        begun = timeout_at(end, tls.accept(stream)) => begun,
        () = admitted.peer.closed() => return None,
        () = is_over(&mut ending) => return None,
    };
    match begun {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!("a TLS handshake failed: {error}");
            None
        }
        Err(_) => {
            tracing::debug!("a TLS handshake took too long");
            None
        }
    }
}

async fn serve<T, S>(stream: T, peer: &Arc<HttpPeer>, routes: S, settings: ConnectionSettings)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<hyper::Request<Incoming>, Response = Response, Error = Infallible>,
{
    let ConnectionSettings {
        limits,
        mut ending,
        replies,
    } = settings;
    let patience = ConnectionPatience::new(&limits, Arc::clone(peer));
    let socket = Socket::new(
        stream,
        patience.clone(),
        limits.stall,
        replies,
        ending.clone(),
    );
    let connection = http1::Builder::new()
        .timer(patience)
        .header_read_timeout(limits.idle)
        .max_header_size(HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(socket), routes);
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = peer.closed() => {
            tracing::debug!("an idle connection was closed to make room for another");
            return;
        }
        () = is_over(&mut ending) => {
            // The first request of a connection that was just made may be on its way.
            let is_new = !limits.drain.is_zero() && !peer.is_known();
            let first = is_new.then(|| timeout(FIRST_REQUEST, connection.as_mut()));
            let served = match first {
                Some(first) => first.await.ok(),
                None => None,
            };
            if let Some(served) = served {
                served
            } else {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}
