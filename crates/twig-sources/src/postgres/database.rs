//! The database of a URL: connects, runs calls with a deadline, and remembers that it is away.
//!
//! Connections are driven by one thread, `twig-store-pg`, which starts with the first call. The only
//! user of tokio in this crate.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use twig_core::store::StoreError;

use super::pg_client::PgClient;
use super::pg_fault::{AwayReason, PgFault};
use super::pg_hints::PgHints;
use crate::database_address::DatabaseAddress;
use crate::store_health::StoreHealth;

/// How long one attempt to connect takes at most while the database is away.
const ATTEMPT: Duration = Duration::from_secs(2);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// The pause after a database has refused the role, its password or the name of the database: at
/// first, and at most. Many wrong passwords may lock an account.
const REFUSED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The stream of a connection, encrypted or not.
type PgStream = <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

/// A database, and the thread that drives its connections.
#[derive(Debug)]
pub(super) struct PgDatabase {
    address: PgAddress,
    /// The address to listen at, if it is another one: poolers do not deliver notifications.
    listening: Option<PgAddress>,
    runtime: OnceLock<Option<PgRuntime>>,
    health: Mutex<PgHealth>,
    /// True once it was logged that notifications do not arrive; false again when they do.
    pub(super) is_polling: AtomicBool,
    /// True once it was logged that the database is away; false again when it is back.
    is_said_away: AtomicBool,
    /// True once notifications arrived at the address of calls: a connection there stays the same.
    prepares: Arc<AtomicBool>,
    pub(super) hints: Arc<PgHints>,
}

/// An address, and whether it has refused who we are.
#[derive(Debug)]
struct PgAddress {
    config: Config,
    /// The settings of each host, in the order in which they are tried.
    each: Vec<Config>,
    refused: Mutex<Option<PgRefusal>>,
}

/// Until when an address is not asked again.
#[derive(Debug)]
struct PgRefusal {
    reason: AwayReason,
    until: Instant,
    pause: Duration,
}

/// What came of the calls so far.
#[derive(Debug, Default)]
struct PgHealth {
    is_confirmed: bool,
    /// When the first call failed since the last one that did not.
    failing: Option<Instant>,
    calls: u64,
    errors: u64,
}

#[derive(Debug)]
struct PgRuntime {
    handle: Handle,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl PgDatabase {
    /// The database of a URL; nothing is connected yet.
    pub(super) fn new(address: &DatabaseAddress) -> Result<Self, StoreError> {
        let listening = address.listen_url.as_deref().map(PgAddress::new);
        Ok(Self {
            address: PgAddress::new(&address.url)?,
            listening: listening.transpose()?,
            runtime: OnceLock::new(),
            health: Mutex::default(),
            is_polling: AtomicBool::default(),
            is_said_away: AtomicBool::default(),
            prepares: Arc::default(),
            hints: Arc::default(),
        })
    }

    /// Where it is, for a person on this machine.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    /// True if notifications come from another address.
    pub(super) fn listens_elsewhere(&self) -> bool {
        self.listening.is_some()
    }

    /// What came of the calls so far.
    pub(super) fn health(&self) -> StoreHealth {
        let health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        StoreHealth {
            is_confirmed: health.is_confirmed,
            stale: health.failing.map(|since| since.elapsed()),
            calls: health.calls,
            errors: health.errors,
        }
    }

    /// Counts a call. A refusal is an answer, too.
    pub(super) fn record<T>(&self, outcome: &Result<T, PgFault>) {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        health.calls += 1;
        match outcome {
            Ok(_) | Err(PgFault::Refused(_)) => {
                health.is_confirmed = true;
                health.failing = None;
            }
            Err(fault) => {
                health.errors += 1;
                // A full disk or a long lock says nothing of what can be read.
                if fault.is_absence() {
                    health.failing.get_or_insert_with(Instant::now);
                }
            }
        }
    }

    fn handle(&self) -> Result<&Handle, PgFault> {
        let runtime = self.runtime.get_or_init(|| {
            let runtime = Builder::new_current_thread().enable_all().build().ok()?;
            let handle = runtime.handle().clone();
            let (stop, stopped) = oneshot::channel::<()>();
            let thread = std::thread::Builder::new().name("twig-store-pg".to_owned());
            let started = thread.spawn(move || runtime.block_on(stopped).ok());
            started.ok()?;
            Some(PgRuntime {
                handle,
                _stop: stop,
            })
        });
        let no_thread = || PgFault::Away("its thread cannot be started".into());
        runtime
            .as_ref()
            .map(|runtime| &runtime.handle)
            .ok_or_else(no_thread)
    }

    /// Starts work on the thread of connections.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Ok(handle) = self.handle() {
            handle.spawn(work);
        }
    }

    /// Blocks until a call is done, or until its time is over.
    pub(super) fn wait<T>(
        &self,
        until: Instant,
        call: impl Future<Output = Result<T, PgFault>>,
    ) -> Result<T, PgFault> {
        let handle = self.handle()?;
        let timed = async { timeout_at(until, call).await.unwrap_or(Err(PgFault::Late)) };
        match Handle::try_current() {
            Ok(_) => tokio::task::block_in_place(|| handle.block_on(timed)),
            Err(_) => handle.block_on(timed),
        }
    }

    /// Records that notifications arrive.
    pub(super) fn is_heard(&self) {
        self.is_polling.store(false, Ordering::Release);
        if !self.listens_elsewhere() {
            self.prepares.store(true, Ordering::Release);
        }
    }

    /// Connects, and has the thread drive the connection.
    pub(super) async fn connect(&self) -> Result<PgClient, PgFault> {
        let (client, connection) = self.address.connect().await?;
        self.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to PostgreSQL ended: {error}");
            }
        });
        Ok(PgClient::new(client, Arc::clone(&self.prepares)))
    }

    /// Connects to listen; the caller drives the connection.
    pub(super) async fn connect_to_listen(
        &self,
    ) -> Result<(Client, Connection<Socket, PgStream>), PgFault> {
        let address = self.listening.as_ref().unwrap_or(&self.address);
        address.connect().await
    }
}

impl PgAddress {
    fn new(url: &str) -> Result<Self, StoreError> {
        let config = read_url(url)?;
        Ok(Self {
            each: each_host(&config),
            config,
            refused: Mutex::default(),
        })
    }

    /// Connects. For a while after a refusal, the refusal is the answer.
    async fn connect(&self) -> Result<(Client, Connection<Socket, PgStream>), PgFault> {
        if let Some(refused) = &*self.refused()
            && Instant::now() < refused.until
        {
            return Err(PgFault::Away(refused.reason.clone()));
        }
        let tls = tls(self.config.get_ssl_mode() != SslMode::Disable)?;
        let mut faults = Vec::new();
        for config in &self.each {
            match config.connect(tls.clone()).await {
                Ok(connected) => {
                    *self.refused() = None;
                    return Ok(connected);
                }
                Err(error) => faults.push(PgFault::from(error)),
            }
        }
        let is_refused = faults.last().is_some_and(PgFault::is_refused);
        let fault = if faults.len() == 1 {
            faults.remove(0)
        } else {
            let reasons: Vec<_> = faults.iter().map(PgFault::away_reason).collect();
            PgFault::Away(AwayReason::of_each(&reasons))
        };
        if is_refused {
            let mut refused = self.refused();
            let last = refused.as_ref().map(|refused| refused.pause * 2);
            let pause = last.unwrap_or(REFUSED.0).min(REFUSED.1);
            *refused = Some(PgRefusal {
                reason: fault.away_reason(),
                until: Instant::now() + pause,
                pause,
            });
        }
        Err(fault)
    }

    fn refused(&self) -> MutexGuard<'_, Option<PgRefusal>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the database is, for a person: without the password.
impl fmt::Display for PgAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        let names = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => Cow::from(name),
            Host::Unix(folder) => folder.to_string_lossy(),
        });
        let addresses = config
            .get_hostaddrs()
            .iter()
            .map(|it| it.to_string().into());
        let hosts: Vec<Cow<'_, str>> = if config.get_hosts().is_empty() {
            addresses.collect()
        } else {
            names.collect()
        };
        for (number, host) in hosts.iter().enumerate() {
            let ports = config.get_ports();
            let port = ports.get(number).or(ports.first()).unwrap_or(&5432);
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{host}:{port}")?;
        }
        let user = config.get_user();
        for (what, name) in [("database", config.get_dbname().or(user)), ("role", user)] {
            if let Some(name) = name {
                write!(f, ", {what} `{name}`")?;
            }
        }
        Ok(())
    }
}

/// The settings of a URL, with what every connection has.
fn read_url(url: &str) -> Result<Config, StoreError> {
    let wrong = |reason: String| {
        StoreError::Unavailable(format!(
            "The URL of the store is not valid: {reason}; it looks like \
             postgres://USER:PASSWORD@HOST/DATABASE; in a password, write %40 for @, %3F for ? and %25 \
             for %"
        ))
    };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(wrong("it has to start with postgres://".to_owned()));
    }
    let (before, options) = url.split_once('?').unwrap_or((url, ""));
    let place = before.split_once("://").map_or(before, |(_, place)| place);
    if place.matches('@').count() > 1 {
        return Err(wrong("it has more than one @".to_owned()));
    }
    // With TLS, the name is always checked.
    let options = options.split('&').map(|option| match option {
        "sslmode=verify-full" | "sslmode=verify-ca" => "sslmode=require",
        option => option,
    });
    let options = options.collect::<Vec<_>>().join("&");
    let mut config: Config = format!("{before}?{options}")
        .parse()
        .map_err(|error: tokio_postgres::Error| wrong(PgFault::from(error).reason()))?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(wrong("it names no host".to_owned()));
    }
    if config.get_application_name().is_none() {
        config.application_name("twig");
    }
    if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any
    {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(10));
    }
    Ok(config)
}

/// The settings of each host, in the order in which they are tried. Where that is none, the library
/// chooses, or says what is wrong.
fn each_host(all: &Config) -> Vec<Config> {
    let (hosts, addresses) = (all.get_hosts().len(), all.get_hostaddrs().len());
    let (count, ports) = (hosts.max(addresses), all.get_ports().len());
    let fits = |number: usize| number == 0 || number == count;
    if count > 1
        && fits(hosts)
        && fits(addresses)
        && (ports == 1 || fits(ports))
        && all.get_load_balance_hosts() == LoadBalanceHosts::Disable
    {
        return (0..count).map(|number| one_host(all, number)).collect();
    }
    vec![all.clone()]
}

/// The same settings with only one of the hosts.
fn one_host(all: &Config, number: usize) -> Config {
    let mut config = Config::new();
    if let Some(host) = all.get_hosts().get(number) {
        match host {
            Host::Tcp(name) => config.host(name),
            Host::Unix(folder) => config.host_path(folder),
        };
    }
    if let Some(address) = all.get_hostaddrs().get(number) {
        config.hostaddr(*address);
    }
    let ports = all.get_ports();
    if let Some(port) = ports.get(number).or(ports.first()) {
        config.port(*port);
    }
    if let Some(user) = all.get_user() {
        config.user(user);
    }
    if let Some(password) = all.get_password() {
        config.password(password);
    }
    if let Some(database) = all.get_dbname() {
        config.dbname(database);
    }
    if let Some(options) = all.get_options() {
        config.options(options);
    }
    if let Some(name) = all.get_application_name() {
        config.application_name(name);
    }
    if let Some(timeout) = all.get_connect_timeout() {
        config.connect_timeout(*timeout);
    }
    if let Some(timeout) = all.get_tcp_user_timeout() {
        config.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        config.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        config.keepalives_retries(retries);
    }
    config
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .target_session_attrs(all.get_target_session_attrs())
        .channel_binding(all.get_channel_binding());
    config
}

/// TLS with the certificates that the system trusts; the name in the certificate is checked.
fn tls(is_used: bool) -> Result<MakeRustlsConnect, PgFault> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let cannot =
        |error: rustls::Error| PgFault::Away(format!("TLS cannot be used: {error}").into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(cannot)?;
    let config = if is_used {
        builder.with_platform_verifier().map_err(cannot)?
    } else {
        builder.with_root_certificates(rustls::RootCertStore::empty())
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// Whether a database is away. If so, calls fail at once and a task tries to connect.
#[derive(Debug, Default)]
pub(super) struct PgAbsence {
    /// Why it is away.
    reason: Option<AwayReason>,
    /// The connection that the task made.
    found: Arc<Mutex<Option<PgClient>>>,
}

impl PgAbsence {
    /// The connection that ends an absence, or why there is none yet; neither if it is not away.
    pub(super) fn look(&mut self) -> Result<Option<PgClient>, PgFault> {
        let found = self
            .found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if found.is_some() {
            self.reason = None;
        }
        match &self.reason {
            Some(reason) => Err(PgFault::Away(reason.clone())),
            // It may have been lost since.
            None => Ok(found.filter(|client| !client.is_closed())),
        }
    }

    /// Why it is away, if nothing has connected since.
    fn reason(&self) -> Option<&AwayReason> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = self.reason.as_ref();
        reason.filter(|_| found.is_none())
    }

    /// Begins an absence, which is logged if the first attempt to connect again fails: a command that
    /// fails says so itself.
    pub(super) fn begin(&mut self, database: &Arc<PgDatabase>, reason: AwayReason) {
        self.reason = Some(reason.clone());
        let found = Arc::clone(&self.found);
        let weak = Arc::downgrade(database);
        database.spawn(async move {
            let mut unsaid = Some(reason);
            loop {
                sleep(PAUSE).await;
                // Nothing waits for it any more.
                if Arc::strong_count(&found) == 1 {
                    return;
                }
                let Some(database) = weak.upgrade() else {
                    return;
                };
                let attempt = timeout_at(Instant::now() + ATTEMPT, async {
                    let client = database.connect().await?;
                    // A pooler accepts connections while the database is away.
                    client.batch_execute("SELECT 1").await?;
                    Ok::<_, PgFault>(client)
                });
                if let Ok(Ok(client)) = attempt.await {
                    if database.is_said_away.swap(false, Ordering::AcqRel) {
                        // The level of the message that it was away, so that a log has both.
                        tracing::warn!("the database of the store can be reached again");
                    }
                    *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
                    return;
                }
                // Once, however many connections are missing.
                if let Some(reason) = unsaid.take()
                    && !database.is_said_away.swap(true, Ordering::AcqRel)
                {
                    let address = &database.address;
                    let sentence = reason.sentence();
                    tracing::warn!("the database of the store ({address}) {sentence}");
                }
            }
        });
    }
}

/// One connection that reconnects.
#[derive(Debug)]
pub(super) struct PgLine {
    database: Arc<PgDatabase>,
    client: Option<PgClient>,
    absence: PgAbsence,
}

impl PgLine {
    pub(super) fn new(database: Arc<PgDatabase>) -> Self {
        Self {
            database,
            client: None,
            absence: PgAbsence::default(),
        }
    }

    /// Fails if the database was away when it was last asked here.
    pub(super) fn check(&self) -> Result<(), PgFault> {
        let reason = self.absence.reason();
        reason.map_or(Ok(()), |reason| Err(PgFault::Away(reason.clone())))
    }

    /// Runs a call that writes nothing, or that may be repeated. A connection that was lost since
    /// the last call is replaced once.
    pub(super) fn run<T>(
        &mut self,
        until: Instant,
        call: &impl AsyncFn(&PgClient) -> Result<T, PgFault>,
    ) -> Result<T, PgFault> {
        if let Some(client) = self.absence.look()? {
            self.client = Some(client);
        }
        let used = self.client.take().filter(|client| !client.is_closed());
        let is_used = used.is_some();
        let mut outcome = self.attempt(until, used, call);
        let may_help = is_used
            && matches!(&outcome, Err(fault) if fault.is_lost() && !matches!(fault, PgFault::Late));
        if may_help {
            outcome = self.attempt(until, None, call);
        }
        self.database.record(&outcome);
        if let Err(fault) = &outcome
            && fault.is_lost()
        {
            self.absence.begin(&self.database, fault.away_reason());
        }
        outcome
    }

    /// A connection that a fault may have broken is dropped.
    fn attempt<T>(
        &mut self,
        until: Instant,
        client: Option<PgClient>,
        call: &impl AsyncFn(&PgClient) -> Result<T, PgFault>,
    ) -> Result<T, PgFault> {
        let database = Arc::clone(&self.database);
        let (client, outcome) = database.wait(until, async {
            let client = match client {
                Some(client) => client,
                None => database.connect().await?,
            };
            let outcome = match client.prepare().await {
                Ok(()) => call(&client).await,
                Err(fault) => Err(fault),
            };
            Ok((client, outcome))
        })?;
        if matches!(outcome, Ok(_) | Err(PgFault::Refused(_))) {
            self.client = Some(client);
        }
        outcome
    }
}
