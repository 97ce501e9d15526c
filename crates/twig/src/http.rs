//! MCP over HTTP: one endpoint for many clients, around the same protocol machine as stdio.
//!
//! `twig-mcp` interprets the messages. This module handles sockets, access control, session ids and
//! their expiry, and streams. Nothing here runs without `--http`.

mod accept;
mod bodies;
mod disk;
mod door;
mod endpoint;
mod flags;
mod headers;
mod heavy_work;
mod hub;
mod limits;
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
use std::time::Duration;

use tokio::sync::watch;
use twig_core::Catalog;

use self::bodies::RequestBodies;
use self::disk::HttpBodies;
use self::door::{BearerToken, Door};
pub(crate) use self::flags::HttpArgs;
use self::hub::Hub;
pub(crate) use self::hub::{HubSettings, parse_hub_url};
pub(crate) use self::limits::HttpLimits;
use self::replies::Replies;
use self::routes::Routes;
use self::sessions::Sessions;
use self::wrong_tokens::WrongTokens;
use crate::command_error::{CommandError, reason};
use crate::service::Service;
use crate::ui::{Ui, UiOptions};

/// Length of the queue of connections that are not yet accepted.
const ARRIVALS: i32 = 1_024;
/// One thread answers all requests: they take microseconds, and handing one to another thread costs
/// more than answering it. Longer work runs in processes of its own, and disk waits move to another
/// thread.
const THREADS: usize = 1;

/// A listening socket, and who may connect to it.
pub(crate) struct HttpFront {
    listener: TcpListener,
    door: Door,
}

/// Starts to listen. Refuses to listen where other machines could connect without a token.
pub(crate) fn open(address: SocketAddr, options: &HttpArgs) -> Result<HttpFront, CommandError> {
    let token = BearerToken::find(options.token_file.as_deref(), address)?;
    if token.is_none() && !door::is_this_machine(address) {
        return Err(CommandError::fixable(format!(
            "without a token, {address} would serve your prompts to everyone who can reach it"
        ))
        .hint("set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1"));
    }
    let listener = TcpListener::bind(address).map_err(|error| {
        let message = format!("could not listen on {address}: {}", why(&error));
        CommandError::fixable(message).hint("use `--http :0` for a port that is free")
    })?;
    // Clients that arrive at the same time wait in this queue; further ones would retry after a
    // second. If the system refuses the number, the previous one stays.
    let _ = rustix::net::listen(&listener, ARRIVALS);
    listener.set_nonblocking(true)?;
    let door = Door::new(listener.local_addr()?, options, token);
    Ok(HttpFront { listener, door })
}

/// Serves until a signal arrives.
pub(crate) fn serve(
    service: Service,
    front: HttpFront,
    limits: HttpLimits,
    hub: Option<HubSettings>,
) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("http")
        // If a disk hangs, every connection may need a thread of its own to wait for it.
        .max_blocking_threads(limits.connections + THREADS)
        .enable_all()
        .build()?;
    let result = runtime.block_on(run(service, front, limits, hub));
    // Do not wait for clients that have not read the rest by now.
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS).map_err(Into::into)
}

async fn run(
    service: Service,
    front: HttpFront,
    limits: HttpLimits,
    hub: Option<HubSettings>,
) -> io::Result<()> {
    let address = front.listener.local_addr()?;
    let (changes, _) = watch::channel(service.live.published());
    let (end, ending) = watch::channel(false);
    let (heard, live) = (changes.clone(), Arc::clone(&service.live));
    let _watch = service.live.watch(move || {
        heard.send_replace(live.published());
    });
    let wait = Duration::from_millis(service.limits.queue_millis);
    let shared = Arc::new(Shared {
        disk: HttpBodies::new(Arc::clone(&service.live), wait),
        service,
        bodies: RequestBodies::new(limits.body, wait),
        replies: Arc::new(Replies::new(limits.reply_bytes, wait)),
        sessions: Sessions::new(limits.sessions, limits.session),
        wrong_tokens: WrongTokens::default(),
        hub: hub.map(|settings| Hub::new(settings, wait)),
        limits,
        changes,
        ending,
    });
    let listener = tokio::net::TcpListener::from_std(front.listener)?;
    let routes = Routes::new(Arc::clone(&shared), front.door);
    let signals = accept::signals()?;
    if shared.hub.is_some() {
        tracing::info!("installers can fetch the skills of the hub from http://{address}");
    }
    Ui::new(UiOptions::default()).insist(format!("http://{address}/mcp"));
    accept::run(listener, routes, &shared, signals, &end).await;
    // Requests that are still running keep `shared`; their functions must not outlive the server.
    shared.service.jobs.close();
    Ok(())
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
    /// What other programs fetch, if the configuration says so.
    hub: Option<Hub>,
    /// The last catalog with a change that clients are notified of. A slow client gets several
    /// changes as one.
    changes: watch::Sender<Arc<Catalog>>,
    /// Becomes true when the server ends.
    ending: watch::Receiver<bool>,
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        _ => reason(error),
    }
}
