//! Accepts connections within limits, and ends all of them at shutdown.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, sleep, timeout};

use super::patience::ConnectionPatience;
use super::peers::{HttpPeer, Peers};
use super::replies::Replies;
use super::routes::Routes;
use super::socket::Socket;
use super::{HttpLimits, Shared};

/// Files that may be open besides connections: with room to spare, and where the limit is low.
const FILES: usize = 128;
const FEW_FILES: usize = 32;
/// Limits for a request's head: bytes, and number of headers.
const HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;
/// How long clients may take to read the last replies at shutdown.
const LAST_WRITES: Duration = Duration::from_millis(500);
/// Pause after a connection that could not be accepted: files or memory may be used up.
const RECOVER: Duration = Duration::from_millis(100);
/// How often to look at the keys, and at the stores of workspaces: a change has to be effective
/// within a second.
const LOOK: Duration = Duration::from_millis(250);
/// The reply to a connection over the limit.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// The signals that end a server.
pub(super) fn signals() -> io::Result<[Signal; 2]> {
    Ok([
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    ])
}

/// Serves until a signal arrives, then completes every stream.
pub(super) async fn run(
    listener: TcpListener,
    routes: Routes,
    shared: &Shared,
    [mut interrupt, mut terminate]: [Signal; 2],
    end: &watch::Sender<bool>,
) {
    let room = room(shared.limits.connections);
    let peers = Peers::new(room, shared.limits.share(room));
    let mut is_failing = false;
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(shared.sessions.sweep());
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
            _ = sweep.tick() => shared.sessions.expire(),
            _ = look.tick() => shared.look_around(),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => match peers.admit(address.ip()).await {
                    Some(admitted) => {
                        is_failing = false;
                        let (routes, limits) = (routes.clone(), shared.limits.clone());
                        let ending = shared.ending.clone();
                        let replies = Arc::clone(&shared.replies);
                        connections.spawn(async move {
                            let end = (ending, replies);
                            serve(stream, &admitted.peer, routes, &limits, end).await;
                            drop(admitted);
                        });
                    }
                    // A new socket accepts a few bytes without blocking.
                    None => { let _ = stream.try_write(FULL); }
                },
                Err(error) => {
                    // A failure repeats until some resource is freed; log it once.
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!("connections cannot be accepted: {error}");
                    }
                    sleep(RECOVER).await;
                }
            },
        }
    }
    tracing::debug!("ending on a signal");
    drop(listener);
    end.send_replace(true);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(LAST_WRITES, all).await;
}

/// How many connections fit into the number of files that a process may open. Some are reserved for
/// the prompts themselves: a server that cannot open a prompt is of no use.
fn room(limit: usize) -> usize {
    let wanted = limit + FILES;
    let files = rlimit::increase_nofile_limit(wanted as u64).ok();
    let files = files.and_then(|files| usize::try_from(files).ok());
    let files = files.unwrap_or(wanted);
    let room = limit.min(files.saturating_sub(FEW_FILES)).max(1);
    if room < limit {
        tracing::warn!(
            "the system allows {files} open files, so {room} clients can be connected at once; `ulimit -n` raises it"
        );
    }
    room
}

async fn serve(
    stream: TcpStream,
    peer: &Arc<HttpPeer>,
    routes: Routes,
    limits: &HttpLimits,
    (mut ending, replies): (watch::Receiver<bool>, Arc<Replies>),
) {
    // Without this, a small reply waits for the client to acknowledge the previous one.
    let _ = stream.set_nodelay(true);
    let patience = ConnectionPatience::new(limits, Arc::clone(peer));
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
        .serve_connection(TokioIo::new(socket), routes.of(Arc::clone(peer)));
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = peer.closed() => {
            tracing::debug!("an idle connection was closed to make room for another");
            return;
        }
        () = is_over(&mut ending) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}

/// Waits until a signal has arrived.
pub(super) async fn is_over(ending: &mut watch::Receiver<bool>) {
    // Without a sender there is no server either.
    let _ = ending.wait_for(|is_over| *is_over).await;
}
