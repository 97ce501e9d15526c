//! MCP over HTTP: one endpoint for many clients, around the same protocol machine as stdio.
//!
//! `twig-mcp` interprets the messages. This module handles sockets, access control, session ids and
//! their expiry, and streams. Nothing here runs without `--http`.

mod accept;
mod admin;
mod allowance;
mod bearer_token;
mod bodies;
mod caller;
mod certificate;
mod disk;
mod door;
mod doorkeeper;
mod drain;
mod ended_sessions;
mod endpoint;
mod flags;
mod greeting;
mod headers;
mod heavy_work;
mod hook;
mod hub;
mod limits;
mod metrics;
mod notify_socket;
#[cfg(feature = "page")]
mod page;
mod patience;
mod peers;
mod question;
mod replies;
mod request_jobs;
mod routes;
mod sealed_id;
mod served_database;
mod sessions;
mod socket;
mod stream;
mod views;
mod wrong_tokens;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::block_in_place;
use tokio::time::MissedTickBehavior;
use twig_core::access::AccessRecord;
use twig_core::store::StoreError;
use twig_sources::{
    AccessFollowing, AccessHolder, AccessStore, AccessStoreError, CatalogViews, CatalogWatch,
    FollowedAccess, access_marker,
};

use self::accept::{Acceptor, ConnectionSettings};
use self::admin::{ADMIN_CONNECTIONS, AdminRoutes};
use self::bearer_token::{BearerToken, warn_if_shared};
use self::bodies::RequestBodies;
use self::certificate::ServerCertificate;
use self::disk::HttpBodies;
use self::door::Door;
use self::doorkeeper::Doorkeeper;
use self::ended_sessions::EndedSessions;
pub(crate) use self::flags::{
    HttpArgs, HttpSettings, parse_address, parse_admin, parse_host, parse_origin,
};
use self::hook::{GitHook, HookSecret};
use self::hub::Hub;
pub(crate) use self::hub::{HubSettings, parse_hub_url};
pub(crate) use self::limits::HttpLimits;
use self::metrics::{Metrics, StreamCount};
#[cfg(feature = "page")]
use self::page::{PageRules, PageState, address_here};
#[cfg(feature = "page")]
pub(crate) use self::page::{forget_keys, new_code, redirect_file, running};
use self::peers::Peers;
use self::replies::Replies;
use self::routes::Routes;
use self::sealed_id::SessionSealer;
pub(crate) use self::served_database::ServedDatabase;
use self::sessions::Sessions;
use self::views::Views;
use self::wrong_tokens::WrongTokens;
use crate::command_error::{CommandError, reason};
use crate::follow_signals::FollowSignals;
use crate::places;
use crate::platform;
use crate::service::Service;
use crate::ui::Ui;

/// Length of the queue of connections that are not yet accepted.
const ARRIVALS: i32 = 1_024;
/// One thread answers all requests: they take microseconds, and handing one to another thread costs
/// more than answering it. Longer work runs in processes of its own, and disk waits move to another
/// thread.
const THREADS: usize = 1;

/// What to do about keys that a database has lost.
pub(crate) const LOST_ROW: &str = "restore the table from a backup; to start over without these keys, let the owner of the \
     table run `INSERT INTO twig.access DEFAULT VALUES`";

/// What to do if the table of keys and roles is gone.
pub(crate) const LOST_TABLE: &str =
    "restore the table from a backup: without it nobody is let in with a key";

/// The file with the key that session ids are sealed with, where servers do not share one.
const SESSION_KEY_FILE: &str = "session.key";

/// The shortest key that session ids are sealed with, in characters.
const SESSION_KEY: usize = 32;

/// A listening socket, and who may connect to it.
pub(crate) struct HttpFront {
    listener: TcpListener,
    admin: Option<TcpListener>,
    certificate: Option<Arc<ServerCertificate>>,
    door: Door,
    token: Option<BearerToken>,
    access: Option<(FollowedAccess, AccessRecord)>,
    /// Other servers have changed keys, roles or sessions.
    news: Arc<Notify>,
    hook: Option<HookSecret>,
    settings: HttpSettings,
}

/// What callers see besides the libraries, and where the server keeps what it needs again.
#[derive(Default)]
pub(crate) struct TeamSettings {
    /// The projects of all workspaces.
    pub(crate) views: Option<Arc<CatalogViews>>,
    /// The database that they are in, if they are in one.
    pub(crate) database: Option<ServedDatabase>,
    /// Whether callers without a key may select a project.
    pub(crate) serves_store: bool,
    /// The folder for the server's own files.
    pub(crate) state: Option<PathBuf>,
    /// The folder for versions of files that the page replaces.
    #[cfg(feature = "page")]
    pub(crate) replaced: Option<PathBuf>,
    /// What other programs fetch, if there is a hub.
    pub(crate) hub: Option<HubSettings>,
    /// Wakes the thread that follows packages.
    pub(crate) follow: Arc<FollowSignals>,
}

/// Starts to listen. Refuses to listen where other machines could connect without a key or a token.
pub(crate) fn open(
    address: SocketAddr,
    settings: HttpSettings,
    access: Option<&AccessStore>,
    state: Option<&Path>,
) -> Result<HttpFront, CommandError> {
    let token = BearerToken::find(settings.token_file.as_deref(), address)?;
    let news = Arc::new(Notify::new());
    let access = access.map(|access| follow(access, state, &news));
    let access = access.transpose()?;
    let has_keys = access.as_ref().is_some_and(|(_, it)| it.asks_for_keys());
    if token.is_none() && !has_keys && !door::is_this_machine(address) {
        return Err(CommandError::fixable(format!(
            "without a key or a token, {address} would serve your prompts to everyone who can reach it"
        ))
        .hint("make a key with `twig key create NAME --role reader`, set TWIG_TOKEN or use --token-file, or listen on 127.0.0.1"));
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
    let hook = settings.hook_secret_file.as_deref().map(HookSecret::read);
    let hook = hook.transpose()?;
    let listener = listen(address, "--http")?;
    // Clients that arrive at the same time wait in this queue; further ones would retry after a
    // second.
    platform::listen_queue(&listener, ARRIVALS);
    let admin = settings.admin.map(|address| listen(address, "--admin"));
    let admin = admin.transpose()?;
    let door = Door::new(listener.local_addr()?, &settings);
    Ok(HttpFront {
        listener,
        admin,
        certificate,
        door,
        token,
        access,
        news,
        hook,
        settings,
    })
}

/// Reads the keys, and follows them.
fn follow(
    access: &AccessStore,
    state: Option<&Path>,
    news: &Arc<Notify>,
) -> Result<(FollowedAccess, AccessRecord), CommandError> {
    let heard = Arc::clone(news);
    let kept = state.map(|state| state.join(SESSION_KEY_FILE));
    let session_key = sealed_id::offered_key(kept.as_deref());
    let followed = access.follow(AccessFollowing {
        on_news: Box::new(move || heard.notify_one()),
        session_key: session_key.ok_or_else(no_randomness)?,
    });
    let (followed, record) = followed.map_err(|error| unreadable_keys(access, &error))?;
    if followed.holder() == AccessHolder::File {
        let file = access.file();
        file.inspect(|path| warn_if_shared("keys", path));
        if access.is_database() && record.asks_for_keys() {
            tracing::warn!(
                "the keys in {} are those of this server alone: `twig key import` moves them to the \
                 database for all servers",
                followed.shown()
            );
        }
    }
    if access.is_database() && followed.sessions().is_none() {
        tracing::warn!(
            "the tables of the database are of an earlier version: keys, roles and sessions are those \
             of this server alone until `twig store migrate` brings them up to date and it is restarted"
        );
    }
    Ok((followed, record))
}

fn unreadable_keys(access: &AccessStore, error: &AccessStoreError) -> CommandError {
    let path = access.file().unwrap_or(Path::new(""));
    let of_file = |why: &str| {
        CommandError::fixable(format!(
            "the keys in {} cannot be read: {why}",
            path.display()
        ))
    };
    match error {
        AccessStoreError::Unreadable(error) => of_file(&reason(error)),
        AccessStoreError::Lost => of_file(&error.to_string()).hint(format!(
            "restore the file from a backup; to serve without keys, remove {}",
            access_marker(path).display()
        )),
        AccessStoreError::LostRow => {
            let message = format!("the keys cannot be read: {error}");
            CommandError::fixable(message).hint(LOST_ROW)
        }
        AccessStoreError::LostTable => {
            let message = format!("the keys cannot be read: {error}");
            CommandError::fixable(message).hint(LOST_TABLE)
        }
        AccessStoreError::Database(StoreError::Offline { .. } | StoreError::NoDatabase { .. }) => {
            CommandError::fixable(format!("the keys cannot be read: {error}"))
                .hint("`--wait SECONDS` waits for a database that is not up yet")
        }
        error => CommandError::fixable(format!("the keys cannot be read: {error}")),
    }
}

fn no_randomness() -> io::Error {
    io::Error::other("the system has no random numbers")
}

/// The folder of what the page keeps, beneath that of the server.
#[cfg(feature = "page")]
pub(crate) const PAGE_FOLDER: &str = "page";

#[cfg(feature = "page")]
fn own_address(address: SocketAddr, settings: &HttpSettings) -> String {
    let host = settings.allow_host.first().map(String::as_str);
    address_here(address, host, settings.has_tls())
}

#[cfg(feature = "page")]
impl HttpFront {
    /// The address of its page for a browser on this machine; `None` if it has none.
    pub(crate) fn page_address(&self) -> Option<String> {
        let address = self.listener.local_addr().ok()?;
        (!self.settings.no_page).then(|| own_address(address, &self.settings))
    }
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
    team: TeamSettings,
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
    let result = runtime.block_on(run(service, front, team, limits, offered, ui));
    // Do not wait for clients that have not read the rest by now.
    runtime.shutdown_background();
    result.map(|()| ExitCode::SUCCESS)
}

async fn run(
    service: Service,
    front: HttpFront,
    team: TeamSettings,
    limits: HttpLimits,
    offered: &str,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let address = front.listener.local_addr()?;
    let metrics = front.admin.as_ref().map(|_| Metrics::new());
    let (changes, _) = watch::channel(0);
    let (end, ending) = watch::channel(false);
    let _watch = watch_catalog(&service, &front.settings, changes.clone());
    let reserved = front.admin.as_ref().map_or(0, |_| ADMIN_CONNECTIONS);
    let room = accept::room(limits.connections, reserved);
    let peers = Peers::new(room, limits.share(room));
    let wait = Duration::from_millis(service.limits.queue_millis);
    let kept = |name: &str| team.state.as_ref().map(|state| state.join(name));
    let named = places::session_key();
    if named.as_ref().is_some_and(|key| key.len() < SESSION_KEY) {
        let message = format!("TWIG_SESSION_KEY has to have at least {SESSION_KEY} characters");
        return Err(CommandError::fixable(message).hint("make one with `openssl rand -hex 32`"));
    }
    let sessions = front
        .access
        .as_ref()
        .and_then(|(access, _)| access.sessions());
    let shared_key = sessions.as_ref().map(|sessions| sessions.key());
    let sealer = SessionSealer::open(
        named.as_deref(),
        shared_key,
        kept(SESSION_KEY_FILE).as_deref(),
    );
    let sealer = sealer.ok_or_else(no_randomness)?;
    let ended = match sessions {
        Some(sessions) => EndedSessions::shared(sessions),
        None => EndedSessions::open(kept("ended-sessions").as_deref()),
    };
    #[cfg(feature = "page")]
    let page = page_of(&front.settings, address, &team, &service);
    let shared = Arc::new(Shared {
        disk: HttpBodies::new(wait),
        doorkeeper: Doorkeeper::new(front.token, front.access, limits.person.clone()),
        views: Views::new(&service, team.views, team.serves_store),
        database: team.database,
        service,
        bodies: RequestBodies::new(limits.body, wait),
        replies: Arc::new(Replies::new(limits.reply_bytes, wait)),
        sessions: Sessions::new(limits.sessions, limits.session, sealer, ended),
        wrong_tokens: WrongTokens::default(),
        hook: front.hook.map(|secret| GitHook {
            secret,
            signals: Arc::clone(&team.follow),
        }),
        follow: team.follow,
        hub: team.hub.map(|settings| Hub::new(settings, wait)),
        #[cfg(feature = "page")]
        page,
        limits,
        changes,
        ending,
        is_draining: AtomicBool::new(false),
        peers: Arc::clone(&peers),
        streams: Arc::default(),
        metrics: metrics.clone(),
    });
    let listener = tokio::net::TcpListener::from_std(front.listener)?;
    let routes = Routes::new(Arc::clone(&shared), front.door);
    if shared.hub.is_some() {
        let url = greeting::url(&address.to_string(), &front.settings);
        let url = url.trim_end_matches("/mcp");
        tracing::info!("installers can fetch the skills of the hub from {url}");
    }
    let signals = platform::EndSignals::new()?;
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
        shared.doorkeeper.asked(),
    ));
    notify_socket::ready();
    let looking = tokio::spawn(look_around(Arc::clone(&shared), front.news));
    let probing = tokio::spawn(probe_database(Arc::clone(&shared)));
    accept::run(acceptor, &shared, signals, &end).await;
    looking.abort();
    probing.abort();
    // What clients have ended a moment ago is ended on other servers, too.
    shared.doorkeeper.share_ends();
    // Requests that are still running keep `shared`; their functions must not outlive the server.
    shared.service.jobs.close();
    shared.views.close();
    Ok(())
}

/// The page of a server at this address, unless the configuration says no.
#[cfg(feature = "page")]
fn page_of(
    settings: &HttpSettings,
    address: SocketAddr,
    team: &TeamSettings,
    service: &Service,
) -> Option<PageState> {
    let rules = PageRules {
        is_read_only: service.servers.is_read_only,
        people_edit: settings.page_edit,
    };
    let folder = team.state.as_ref().map(|state| state.join(PAGE_FOLDER));
    let address = own_address(address, settings);
    let replaced = team.replaced.clone();
    (!settings.no_page).then(|| PageState::new(folder, replaced, address, rules, &service.limits))
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
    doorkeeper: Doorkeeper,
    views: Views,
    /// The database of the workspaces, if they are in one.
    database: Option<ServedDatabase>,
    /// What other programs fetch, if the configuration says so.
    hub: Option<Hub>,
    /// What takes the news of git hosts, if the configuration says so.
    hook: Option<GitHook>,
    /// What is known of packages that are followed.
    follow: Arc<FollowSignals>,
    /// The page in the browser, unless the configuration says no.
    #[cfg(feature = "page")]
    page: Option<PageState>,
    /// Counts what clients may have to be notified of. A slow client gets several changes as one.
    changes: watch::Sender<u64>,
    /// Becomes true when the server ends.
    ending: watch::Receiver<bool>,
    /// True after the first signal.
    is_draining: AtomicBool,
    peers: Arc<Peers>,
    streams: Arc<StreamCount>,
    /// `None` without an admin listener.
    metrics: Option<Arc<Metrics>>,
}

/// How often to look at what changes without an event: a change of keys or roles has to be effective
/// within a second.
const LOOK: Duration = Duration::from_millis(250);

/// The shortest time between two looks. One write is announced at once, many are combined.
const PACE: Duration = Duration::from_millis(100);

/// Looks at the keys and their time, at sessions, and at the stores of workspaces, until the server ends.
async fn look_around(shared: Arc<Shared>, news: Arc<Notify>) {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let heard = Arc::clone(&news);
    shared.views.watch(move || heard.notify_one());
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = news.notified() => {}
        }
        let is_changed = block_in_place(|| {
            shared.sessions.refresh();
            let is_other = shared.doorkeeper.refresh();
            shared.views.refresh() || is_other
        });
        if is_changed {
            shared.announce();
        }
        // The timer of a runtime that ends panics.
        if *shared.ending.borrow() {
            return;
        }
        if is_changed {
            tokio::time::sleep(PACE).await;
        }
    }
}

/// Asks the database once a second whether it answers, if probes want to know.
async fn probe_database(shared: Arc<Shared>) {
    if shared.metrics.is_none() || shared.database.is_none() {
        return;
    }
    let mut probe = tokio::time::interval(served_database::PROBE);
    probe.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        probe.tick().await;
        let own = Arc::clone(&shared);
        let asked = tokio::task::spawn_blocking(move || {
            if let Some(database) = &own.database {
                database.probe();
            }
        });
        if asked.await.is_err() {
            return;
        }
    }
}

impl Shared {
    /// Lets every stream look whether there is news for its client.
    fn announce(&self) {
        announce(&self.changes);
    }
}

/// Follows the disk. Lists of clients have no texts; the page shows them.
fn watch_catalog(
    service: &Service,
    settings: &HttpSettings,
    changes: watch::Sender<u64>,
) -> CatalogWatch {
    let on_change = move || announce(&changes);
    if cfg!(feature = "page") && !settings.no_page {
        service.live.watch_texts(on_change)
    } else {
        service.live.watch(on_change)
    }
}

fn announce(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count += 1);
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        _ => reason(error),
    }
}
