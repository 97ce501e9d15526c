//! Access control: the `Host` that a client names, the `Origin` of a web page, and the token.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq;
use twig_mcp::http::HttpRefusal;

use super::flags::{HttpSettings, parse_host};
use super::headers::one;
use super::limits;
use crate::command_error::{CommandError, reason};
use crate::places;

/// The names of the local machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

const MAKE_TOKEN: &str = "make one with `openssl rand -hex 32`";

/// Whether only programs on this machine can reach an address.
pub(super) fn is_this_machine(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The checks for every request.
pub(super) struct Door {
    /// In lower case, with the port if clients would write it.
    hosts: Vec<String>,
    origins: Vec<String>,
    token: Option<BearerToken>,
    /// Hosts whose refusal was logged.
    logged: Mutex<BTreeSet<String>>,
}

/// A secret; it is compared and never shown.
pub(super) struct BearerToken(Box<[u8]>);

impl Door {
    /// The checks of a server that listens on `address`.
    pub(super) fn new(
        address: SocketAddr,
        options: &HttpSettings,
        token: Option<BearerToken>,
    ) -> Self {
        let port = address.port();
        let mut hosts: Vec<String> = LOOPBACK.map(|name| format!("{name}:{port}")).to_vec();
        let (scheme, default_port) = if options.has_tls() {
            ("https", 443)
        } else {
            ("http", 80)
        };
        if port == default_port {
            // Clients omit the default port.
            hosts.extend(LOOPBACK.map(str::to_owned));
        }
        let mut origins: Vec<String> = hosts
            .iter()
            .map(|host| format!("{scheme}://{host}"))
            .collect();
        origins.extend(options.allow_origin.iter().cloned());
        if !address.ip().is_unspecified() {
            hosts.push(address.to_string());
        }
        for host in &options.allow_host {
            hosts.push(format!("{host}:{port}"));
            hosts.push(host.clone());
        }
        Self {
            hosts,
            origins,
            token,
            logged: Mutex::default(),
        }
    }

    /// The origins whose pages may read answers.
    pub(super) fn origins(&self) -> Vec<HeaderValue> {
        let values = self.origins.iter().map(|origin| origin.parse());
        values.filter_map(Result::ok).collect()
    }

    /// Refuses pages of other sites, even if their host name resolves to this server.
    pub(super) fn check_place(&self, request: &Parts) -> Result<(), HttpRefusal> {
        let host = one(&request.headers, header::HOST);
        let target = request.uri.authority().map(Authority::as_str);
        let is_ours = |name: &str| {
            self.hosts
                .iter()
                .any(|host| host.eq_ignore_ascii_case(name))
        };
        if !host.is_some_and(is_ours) || !target.is_none_or(is_ours) {
            let mut other = [target, host].into_iter().flatten();
            let other = other.find(|name| !is_ours(name));
            let other = other.and_then(|name| parse_host(name).ok());
            self.log_host(other.as_deref());
            return Err(HttpRefusal::Host(other));
        }
        match one(&request.headers, header::ORIGIN) {
            Some(origin) if !self.has_origin(origin) => Err(HttpRefusal::Origin),
            _ => Ok(()),
        }
    }

    /// Logs the refusal of a host, once: any web page can cause any number of them.
    fn log_host(&self, host: Option<&str>) {
        let Some(host) = host else { return };
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < limits::LOGGED_HOSTS && logged.insert(host.to_owned()) {
            tracing::warn!(
                "refused a request to the host `{host}`: start the server with `--allow-host {host}` to answer to it"
            );
        }
    }

    fn has_origin(&self, origin: &str) -> bool {
        let mut known = self.origins.iter();
        known.any(|known| known.eq_ignore_ascii_case(origin))
    }

    /// Whether a token is required.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Refuses a client without the right token, if one is required.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), HttpRefusal> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let shown = one(headers, header::AUTHORIZATION);
        let shown = shown.and_then(|value| value.split_once(' '));
        match shown {
            Some((scheme, shown))
                if scheme.eq_ignore_ascii_case("bearer") && token.is(shown.trim().as_bytes()) =>
            {
                Ok(())
            }
            _ => Err(HttpRefusal::Token),
        }
    }
}

impl BearerToken {
    /// Reads the token from a file or the environment. A short one is refused if other machines can
    /// connect and guess it.
    pub(super) fn find(
        file: Option<&Path>,
        address: SocketAddr,
    ) -> Result<Option<Self>, CommandError> {
        let (token, place) = match file {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|error| {
                    let path = path.display();
                    let message = format!("could not read the token in {path}: {}", reason(&error));
                    CommandError::fixable(message)
                })?;
                (text, path.display().to_string())
            }
            None => match places::token_from_environment() {
                Some(token) => (
                    token.to_string_lossy().into_owned(),
                    "TWIG_TOKEN".to_owned(),
                ),
                None => return Ok(None),
            },
        };
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("the token in {place} has to be one word of ASCII characters");
            return Err(CommandError::fixable(message).hint(MAKE_TOKEN));
        }
        if token.len() < limits::GOOD_TOKEN {
            let (length, least, good) = (token.len(), limits::TOKEN, limits::GOOD_TOKEN);
            if length < least && !is_this_machine(address) {
                let message = format!(
                    "the token in {place} has {length} characters, and {address} needs one of at least {least}: others could guess it"
                );
                return Err(CommandError::fixable(message).hint(MAKE_TOKEN));
            }
            tracing::warn!(
                "the token in {place} has {length} characters and is easy to guess: use at least {good}; {MAKE_TOKEN}"
            );
        }
        if let Some(path) = file {
            warn_if_shared("token", path);
        }
        Ok(Some(Self(token.as_bytes().into())))
    }

    /// Compares in constant time.
    fn is(&self, shown: &[u8]) -> bool {
        bool::from(self.0.ct_eq(shown))
    }
}

/// Warns about a file whose secret every user of the machine can read.
pub(super) fn warn_if_shared(secret: &str, path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let found = fs::metadata(path);
    if found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o004 != 0) {
        let path = path.display();
        tracing::warn!(
            "every user of this machine can read the {secret} in {path}: run `chmod 600 {path}`"
        );
    }
}
