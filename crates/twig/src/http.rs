//! MCP over HTTP: one endpoint for many clients, around the same protocol machine as stdio.
//!
//! `twig-mcp` interprets the messages. This module handles sockets, access control, session ids and
//! their expiry, and streams. Nothing here runs without `--http`.

mod accept;
mod admin;
mod bodies;
mod certificate;
mod disk;
mod door;
mod drain;
mod endpoint;
mod flags;
mod greeting;
mod headers;
mod heavy_work;
mod limits;
mod metrics;
mod notify_socket;
mod patience;
mod peers;
mod question;
mod replies;
mod request_jobs;
mod routes;
mod sessions;
mod socket;
mod stream;
mod wrong_tokens;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::watch;
use twig_core::Catalog;

use self::accept::{Acceptor, ConnectionSettings};
use self::admin::{ADMIN_CONNECTIONS, AdminRoutes};
use self::bodies::RequestBodies;
use self::certificate::ServerCertificate;
use self::disk::HttpBodies;
use self::door::{BearerToken, Door};
use self::drain::EndSignals;
pub(crate) use self::flags::{
    HttpArgs, HttpSettings, parse_address, parse_admin, parse_host, parse_origin,
};
pub(crate) use self::limits::HttpLimits;
use self::metrics::{Metrics, StreamCount};
use self::peers::Peers;
use self::replies::Replies;
use self::routes::Routes;
use self::sessions::Sessions;
use self::wrong_tokens::WrongTokens;
use crate::command_error::{CommandError, reason};
use crate::service::Service;
use crate::ui::Ui;

/// Length of the queue of connections that are not yet accepted.
const ARRIVALS: i32 = 1_024;
/// One thread answers all requests: they take microseconds, and handing one to another thread costs
/// more than answering it. Longer work runs in processes of its own, and disk waits move to another
/// thread.
const THREADS: usize = 1;

/// A listening socket, and who may connect to it.
pub(crate) struct HttpFront {
    listener: TcpListener,
    admin: Option<TcpListener>,
    certificate: Option<Arc<ServerCertificate>>,
    door: Door,
    settings: HttpSettings,
}

/// Starts to listen. Refuses to listen where other machines could connect without a token.
pub(crate) fn open(address: SocketAddr, settings: HttpSettings) -> Result<HttpFront, CommandError> {
    let token = BearerToken::find(settings.token_file.as_deref(), address)?;
    if token.is_none() && !door::is_this_machine(address) {
        return Err(CommandError::fixable(format!(
            "without a token, {address} would serve your prompts to everyone who can reach it"
        ))
        .hint("set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1"));
    }
    let certificate = match (&settings.tls_cert, &settings.tls_key) {
        (Some(cert), Some(key)) => Some(ServerCertificate::open(cert, key)?),
        (None, None) => None,
        (cert, _) => {
            let (given, missing) = match cert {
                Some(_) => ("certificate", "--tls-key"),
                None => ("private key", "--tls-cert"),
            };
            let message = format!("a {given} alone is not enough for TLS");
            let hint = format!("give the other file with `{missing} FILE`");
            return Err(CommandError::fixable(message).hint(hint));
        }
    };
    let listener = listen(address, "--http")?;
    // Clients that arrive at the same time wait in this queue; further ones would retry after a
    // second. If the system refuses the number, the previous one stays.
    let _ = rustix::net::listen(&listener, ARRIVALS);
    let admin = settings.admin.map(|address| listen(address, "--admin"));
    let admin = admin.transpose()?;
    let door = Door::new(listener.local_addr()?, &settings, token);
    Ok(HttpFront {
        listener,
        admin,
        certificate,
        door,
        settings,
    })
}

fn listen(address: SocketAddr, flag: &str) -> Result<TcpListener, CommandError> {
    let listener = TcpListener::bind(address).map_err(|error| {
        let message = format!("could not listen on {address}: {}", why(&error));
        CommandError::fixable(message).hint(format!("use `{flag} :0` for a port that is free"))
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves until a signal arrives. `offered` says what, in words.
pub(crate) fn serve(
    service: Service,
    front: HttpFront,
    limits: HttpLimits,
    offered: &str,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("http")
        // If a disk hangs, every connection may need a thread of its own to wait for it.
        .max_blocking_threads(limits.connections + THREADS + 1)
        .enable_all()
        .build()?;
    let result = runtime.block_on(run(service, front, limits, offered, ui));
    // Do not wait for clients that have not read the rest by now.
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

async fn run(
    service: Service,
    front: HttpFront,
    limits: HttpLimits,
    offered: &str,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let address = front.listener.local_addr()?;
    let metrics = front.admin.as_ref().map(|_| Metrics::new());
    let (changes, _) = watch::channel(service.live.published());
    let (end, ending) = watch::channel(false);
    let (heard, live) = (changes.clone(), Arc::clone(&service.live));
    let _watch = service.live.watch(move || {
        heard.send_replace(live.published());
    });
    let reserved = front.admin.as_ref().map_or(0, |_| ADMIN_CONNECTIONS);
    let room = accept::room(limits.connections, reserved);
    let peers = Peers::new(room, limits.share(room));
    let wait = Duration::from_millis(service.limits.queue_millis);
    let shared = Arc::new(Shared {
        disk: HttpBodies::new(Arc::clone(&service.live), wait),
        service,
        bodies: RequestBodies::new(limits.body, wait),
        replies: Arc::new(Replies::new(limits.reply_bytes, wait)),
        sessions: Sessions::new(limits.sessions, limits.session),
        wrong_tokens: WrongTokens::default(),
        limits,
        changes,
        ending,
        is_draining: AtomicBool::new(false),
        peers: Arc::clone(&peers),
        streams: Arc::default(),
        metrics: metrics.clone(),
    });
    let listener = tokio::net::TcpListener::from_std(front.listener)?;
    let has_token = front.door.has_token();
    let routes = Routes::new(Arc::clone(&shared), front.door);
    let signals = EndSignals::new()?;
    let of_peer = |peer| routes.clone().of(peer, Arc::clone(&shared));
    let settings = ConnectionSettings::new(&shared);
    let mut acceptor = Acceptor::new(listener, peers, of_peer, settings);
    acceptor.metrics.clone_from(&metrics);
    if let Some(certificate) = front.certificate {
        acceptor.tls = Some(certificate.acceptor()?);
        tokio::spawn(certificate.follow());
    }
    let admin = match (front.admin, metrics.clone()) {
        (Some(listener), Some(metrics)) => Some(serve_admin(listener, metrics, &shared)?),
        _ => None,
    };
    ui.insist(greeting::url(&address.to_string(), &front.settings));
    ui.say(greeting::greeting(
        offered,
        address,
        admin,
        &front.settings,
        has_token,
    ));
    notify_socket::ready();
    accept::run(acceptor, &shared, signals, &end).await;
    // Requests that are still running keep `shared`; their functions must not outlive the server.
    shared.service.jobs.close();
    Ok(())
}

/// Starts to answer probes and requests for metrics; returns the address. It goes on to the very end
/// of the server.
fn serve_admin(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    shared: &Arc<Shared>,
) -> io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let address = listener.local_addr()?;
    if !door::is_this_machine(address) {
        tracing::warn!(
            "the admin listener on {address} answers everyone who can reach it, without a token"
        );
    }
    let own = Arc::clone(shared);
    let routes = move |peer| AdminRoutes {
        shared: Arc::clone(&own),
        metrics: Arc::clone(&metrics),
        peer,
    };
    let (end, ending) = watch::channel(false);
    let mut settings = ConnectionSettings::new(shared);
    settings.ending = ending;
    let peers = Peers::new(ADMIN_CONNECTIONS, ADMIN_CONNECTIONS);
    let mut acceptor = Acceptor::new(listener, peers, routes, settings);
    tokio::spawn(async move {
        acceptor.serve_until(std::future::pending::<()>()).await;
        drop(end);
    });
    Ok(address)
}

/// What all requests share.
struct Shared {
    service: Service,
    disk: HttpBodies,
    limits: HttpLimits,
    bodies: RequestBodies,
    replies: Arc<Replies>,
    sessions: Sessions,
    wrong_tokens: WrongTokens,
    /// The last catalog with a change that clients are notified of. A slow client gets several
    /// changes as one.
    changes: watch::Sender<Arc<Catalog>>,
    /// Becomes true when the server ends.
    ending: watch::Receiver<bool>,
    /// True after the first signal.
    is_draining: AtomicBool,
    peers: Arc<Peers>,
    streams: Arc<StreamCount>,
    /// `None` without an admin listener.
    metrics: Option<Arc<Metrics>>,
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        _ => reason(error),
    }
}
