//! MCP over HTTP: one endpoint for many clients, around the same protocol machine as stdio.
//!
//! What messages mean is `twig-mcp`'s; here are sockets, who may come in, sessions' ids and their
//! clock, and streams. Nothing here runs unless `--http` was given.

mod accept;
mod bodies;
mod door;
mod elsewhere;
mod endpoint;
mod headers;
mod sessions;
mod socket;
mod stream;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

use tokio::sync::{oneshot, watch};
use twig_core::template::JobOutcome;

use self::bodies::Bodies;
use self::door::{Door, Token};
use self::elsewhere::Whose;
use self::sessions::Sessions;
use crate::cli;
use crate::command_error::{CommandError, reason};
use crate::function::Queue;
use crate::service::Service;
use crate::ui::Ui;
use crate::worker::Pool;

/// One thread answers all requests: they take microseconds, and to hand one on to another thread
/// costs more than to answer it. What takes longer runs in processes of its own.
const THREADS: usize = 1;

/// A place to listen on, and who may come in there.
pub(crate) struct Front {
    listener: TcpListener,
    door: Door,
}

/// Starts to listen, unless that would let in anybody.
pub(crate) fn open(address: SocketAddr, options: &cli::Http) -> Result<Front, CommandError> {
    let token = Token::find(options.token_file.as_deref())?;
    if token.is_none() && !address.ip().to_canonical().is_loopback() {
        return Err(CommandError::fixable(format!(
            "without a token, {address} would serve your prompts to everyone who can reach it"
        ))
        .hint("set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1"));
    }
    let listener = TcpListener::bind(address).map_err(|error| {
        let message = format!("could not listen on {address}: {}", why(&error));
        CommandError::fixable(message).hint("use `--http :0` for a port that is free")
    })?;
    listener.set_nonblocking(true)?;
    let door = Door::new(listener.local_addr()?, options, token);
    Ok(Front { listener, door })
}

/// Serves until a signal comes.
pub(crate) fn serve(service: Service, front: Front) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("http")
        .enable_all()
        .build()?;
    let result = runtime.block_on(run(service, front));
    // Whoever did not take the last words by now is not waited for.
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS).map_err(Into::into)
}

async fn run(service: Service, front: Front) -> io::Result<()> {
    let address = front.listener.local_addr()?;
    let (changes, _) = watch::channel(());
    let (end, ending) = watch::channel(false);
    let heard = changes.clone();
    let _watch = service.live.watch(move || {
        heard.send_replace(());
    });
    let allowed = service.allowed.clone();
    let shared = Arc::new(Shared {
        service,
        functions: Queue::new(allowed, Whose::tell),
        pool: Pool::new(|waiting: oneshot::Sender<JobOutcome>, outcome| {
            let _ = waiting.send(outcome);
        }),
        bodies: Bodies::default(),
        sessions: Sessions::default(),
        changes,
        ending,
    });
    let listener = tokio::net::TcpListener::from_std(front.listener)?;
    let app = endpoint::app(Arc::clone(&shared), Arc::new(front.door));
    let signals = accept::signals()?;
    Ui::new().say(format!("http://{address}/mcp"));
    accept::run(listener, app, &shared, signals, &end).await;
    // Requests that are still under way keep `shared`; their functions do not outlive us.
    shared.functions.end(|_| true);
    Ok(())
}

/// What all requests share.
struct Shared {
    service: Service,
    pool: Pool<oneshot::Sender<JobOutcome>>,
    functions: Queue<Whose>,
    bodies: Bodies,
    sessions: Sessions,
    /// Each change is one that clients can list. Whoever is slow hears of several as one.
    changes: watch::Sender<()>,
    /// Turns true when it is over.
    ending: watch::Receiver<bool>,
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        _ => reason(error),
    }
}
