//! TLS: a certificate and its key from two files that are read again when they change.
//!
//! New files that cannot be used change nothing: the server keeps the certificate that it has and
//! logs why.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use twig_sources::platform::facts;

use super::bearer_token::warn_if_shared;
use crate::command_error::{CommandError, reason};

/// The largest file that is read, in bytes. A chain of certificates has a few thousand.
const LONGEST: u64 = 1024 * 1024;
/// How often to look at the files.
const LOOK: Duration = Duration::from_secs(2);
/// After so many looks, the files are read even if they look the same.
const READ_EVERY: u32 = 30;

/// The certificate that clients are shown.
pub(super) struct ServerCertificate {
    cert: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
    /// How the files looked before they were first read.
    at_start: FileLooks,
}

/// The certificate's file and the key's.
type FileLooks = [Option<FileLook>; 2];

/// Tells whether a file is another one than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileLook {
    length: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl ServerCertificate {
    /// Reads the two files.
    pub(super) fn open(cert: &Path, key: &Path) -> Result<Arc<Self>, CommandError> {
        let at_start = look(cert, key);
        let current = read(cert, key).map_err(CommandError::fixable)?;
        warn_if_shared("private key", key);
        Ok(Arc::new(Self {
            cert: cert.to_owned(),
            key: key.to_owned(),
            current: RwLock::new(Arc::new(current)),
            at_start,
        }))
    }

    /// Starts TLS on accepted connections.
    pub(super) fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, CommandError> {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| CommandError::fixable(format!("TLS cannot be used: {error}")))?;
        let resolver = Arc::clone(self);
        let mut config = config
            .with_no_client_auth()
            .with_cert_resolver(resolver as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Follows the files for as long as the server runs.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut interval = tokio::time::interval(LOOK);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut known = self.at_start;
        let mut logged = None;
        let mut unread = 0;
        loop {
            interval.tick().await;
            unread += 1;
            let own = Arc::clone(&self);
            let before = known;
            let must_read = unread >= READ_EVERY;
            // A disk may be slow, and clients wait for this thread.
            let looked = tokio::task::spawn_blocking(move || own.refresh(before, must_read));
            let Ok((look, result)) = looked.await else {
                continue;
            };
            known = look;
            let Some(result) = result else { continue };
            unread = 0;
            let failed = result.err();
            if let Some(message) = failed.as_ref().filter(|it| logged.as_ref() != Some(*it)) {
                tracing::warn!("{message}; the previous certificate stays in use");
            }
            logged = failed;
        }
    }

    /// Reads the files if they changed or must be read; `None` if they were not read.
    fn refresh(
        &self,
        before: FileLooks,
        must_read: bool,
    ) -> (FileLooks, Option<Result<(), String>>) {
        let look = look(&self.cert, &self.key);
        if look == before && !must_read {
            return (look, None);
        }
        (look, Some(self.replace()))
    }

    fn replace(&self) -> Result<(), String> {
        let new = read(&self.cert, &self.key)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.cert != new.cert {
            tracing::info!("the certificate in {} was read again", self.cert.display());
        }
        *current = Arc::new(new);
        Ok(())
    }
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current))
    }
}

/// Nothing of the key.
impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate")
            .field("cert", &self.cert)
            .finish_non_exhaustive()
    }
}

impl FileLook {
    fn new(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            length: found.len(),
            modified: found.modified().ok(),
            inode: facts(&found).inode,
        })
    }
}

fn look(cert: &Path, key: &Path) -> FileLooks {
    [cert, key].map(|path| FileLook::new(path).ok())
}

/// Reads a certificate and its key, and compares them.
fn read(cert: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let (shown_cert, shown_key) = (cert.display(), key.display());
    let chain = read_file("certificate", cert)?;
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&chain).collect();
    let chain = chain.map_err(|error| format!("{shown_cert} is not valid PEM: {error}"))?;
    if chain.is_empty() {
        return Err(format!(
            "{shown_cert} contains no certificate: it has to be PEM, with a line `-----BEGIN CERTIFICATE-----`"
        ));
    }
    let text = read_file("private key", key)?;
    let found = PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => format!(
            "{shown_key} contains no private key: it has to be PEM, with a line `-----BEGIN PRIVATE KEY-----`"
        ),
        error => format!("{shown_key} is not valid PEM: {error}"),
    })?;
    CertifiedKey::from_der(chain, found, &ring::default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            format!("the certificate in {shown_cert} does not belong to the key in {shown_key}")
        }
        rustls::Error::InvalidCertificate(_) => {
            format!("the certificate in {shown_cert} cannot be read: {error}")
        }
        error => format!("the private key in {shown_key} cannot be used: {error}"),
    })
}

fn read_file(what: &str, path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let failed = |why: String| format!("could not read the {what} in {shown}: {why}");
    let file = File::open(path).map_err(|error| failed(reason(&error)))?;
    let mut bytes = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(reason(&error)))?;
    if bytes.len() as u64 > LONGEST {
        return Err(failed(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(bytes)
}
