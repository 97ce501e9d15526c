//! The database of a URL: connects, runs calls with a deadline, and remembers that it is away.
//!
//! Connections are driven by one thread, `twig-store-pg`, which starts with the first call. The only
//! user of tokio in this crate.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use twig_core::store::StoreError;

use super::pg_fault::PgFault;

/// How long one attempt to connect takes at most while the database is away.
const ATTEMPT: Duration = Duration::from_secs(2);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// What every connection is set to. A commit is durable unless the server is set to more than that.
const SESSION: &str = "SET statement_timeout = '10s'; \
    SET idle_in_transaction_session_timeout = '10s'; \
    SELECT set_config('synchronous_commit', 'on', false) \
     WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')";

/// The stream of a connection, encrypted or not.
type PgStream = <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

/// A database, and the thread that drives its connections.
#[derive(Debug)]
pub(super) struct PgDatabase {
    config: Config,
    runtime: OnceLock<Option<PgRuntime>>,
}

#[derive(Debug)]
struct PgRuntime {
    handle: Handle,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

impl PgDatabase {
    /// The database of a URL; nothing is connected yet.
    pub(super) fn new(url: &str) -> Result<Self, StoreError> {
        let wrong = |reason: String| {
            StoreError::Unavailable(format!(
                "The URL of the store is not valid: {reason}; it looks like \
                 postgres://USER:PASSWORD@HOST/DATABASE"
            ))
        };
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong("it has to start with postgres://".to_owned()));
        }
        let mut config: Config = url
            .parse()
            .map_err(|error: tokio_postgres::Error| wrong(PgFault::from(error).reason()))?;
        if config.get_application_name().is_none() {
            config.application_name("twig");
        }
        if config.get_hosts().len() > 1
            && config.get_target_session_attrs() == TargetSessionAttrs::Any
        {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(10));
        }
        Ok(Self {
            config,
            runtime: OnceLock::new(),
        })
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
        let no_thread = || PgFault::Away("its thread cannot be started".to_owned());
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

    /// Connects, and has the thread drive the connection.
    pub(super) async fn connect(&self) -> Result<Client, PgFault> {
        let (client, connection) = self.connect_raw().await?;
        self.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to PostgreSQL ended: {error}");
            }
        });
        client.batch_execute(SESSION).await?;
        Ok(client)
    }

    /// Connects; the caller drives the connection.
    pub(super) async fn connect_raw(
        &self,
    ) -> Result<(Client, Connection<Socket, PgStream>), PgFault> {
        let tls = tls(self.config.get_ssl_mode() != SslMode::Disable)?;
        Ok(self.config.connect(tls).await?)
    }
}

/// TLS with the certificates that the system trusts; the name in the certificate is checked.
fn tls(is_used: bool) -> Result<MakeRustlsConnect, PgFault> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let cannot = |error: rustls::Error| PgFault::Away(format!("TLS cannot be used: {error}"));
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

/// One connection that reconnects. While the database is away, calls fail at once and a task tries
/// to connect.
#[derive(Debug)]
pub(super) struct PgLine {
    database: Arc<PgDatabase>,
    client: Option<Client>,
    /// Why the database is away.
    away: Option<String>,
    /// The connection that the task made.
    found: Arc<Mutex<Option<Client>>>,
}

impl PgLine {
    pub(super) fn new(database: Arc<PgDatabase>) -> Self {
        Self {
            database,
            client: None,
            away: None,
            found: Arc::default(),
        }
    }

    /// Runs a call that writes nothing, or that may be repeated. A connection that was lost since
    /// the last call is replaced once.
    pub(super) fn run<T>(
        &mut self,
        until: Instant,
        call: &impl AsyncFn(&Client) -> Result<T, PgFault>,
    ) -> Result<T, PgFault> {
        let found = || {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.take()
        };
        if let Some(client) = found() {
            self.client = Some(client);
            self.away = None;
        }
        if let Some(reason) = &self.away {
            return Err(PgFault::Away(reason.clone()));
        }
        let used = self.client.take().filter(|client| !client.is_closed());
        let is_used = used.is_some();
        let mut outcome = self.attempt(until, used, call);
        let may_help = is_used
            && matches!(&outcome, Err(fault) if fault.is_lost() && !matches!(fault, PgFault::Late));
        if may_help {
            outcome = self.attempt(until, None, call);
        }
        if let Err(fault) = &outcome
            && fault.is_lost()
        {
            self.go_away(fault.reason());
        }
        outcome
    }

    /// A connection that a fault may have broken is dropped.
    fn attempt<T>(
        &mut self,
        until: Instant,
        client: Option<Client>,
        call: &impl AsyncFn(&Client) -> Result<T, PgFault>,
    ) -> Result<T, PgFault> {
        let database = Arc::clone(&self.database);
        let (client, outcome) = database.wait(until, async {
            let client = match client {
                Some(client) => client,
                None => database.connect().await?,
            };
            let outcome = call(&client).await;
            Ok((client, outcome))
        })?;
        if matches!(outcome, Ok(_) | Err(PgFault::Refused(_))) {
            self.client = Some(client);
        }
        outcome
    }

    fn go_away(&mut self, reason: String) {
        tracing::warn!("the database of the store cannot be reached: {reason}");
        self.away = Some(reason);
        let found = Arc::clone(&self.found);
        let database = Arc::downgrade(&self.database);
        self.database.spawn(async move {
            loop {
                sleep(PAUSE).await;
                // Nobody waits for it any more.
                if Arc::strong_count(&found) == 1 {
                    return;
                }
                let Some(database) = database.upgrade() else {
                    return;
                };
                let attempt = timeout_at(Instant::now() + ATTEMPT, database.connect());
                if let Ok(Ok(client)) = attempt.await {
                    tracing::info!("the database of the store can be reached again");
                    *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
                    return;
                }
            }
        });
    }
}
