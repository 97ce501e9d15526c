//! Access control: the `Host` that a client names, and the `Origin` of a web page.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "page")]
use axum::http::HeaderName;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, header};
use twig_mcp::http::HttpRefusal;

use super::flags::{HttpSettings, parse_host};
use super::headers::one;
use super::limits;

/// The names of the local machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Whether only programs on this machine can reach an address.
pub(super) fn is_this_machine(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// The checks for every request.
pub(super) struct Door {
    /// In lower case, with the port if clients would write it.
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Hosts whose refusal was logged.
    logged: Mutex<BTreeSet<String>>,
}

impl Door {
    /// The checks of a server that listens on `address`.
    pub(super) fn new(address: SocketAddr, options: &HttpSettings) -> Self {
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
        self.check_host(request)?;
        match one(&request.headers, header::ORIGIN) {
            Some(origin) if !self.has_origin(origin) => Err(HttpRefusal::Origin),
            _ => Ok(()),
        }
    }

    /// The same for the page, which nothing but itself may ask, from no other port either. A person
    /// may come from anywhere to a `public` address.
    #[cfg(feature = "page")]
    pub(super) fn check_page(&self, request: &Parts, is_public: bool) -> Result<(), HttpRefusal> {
        self.check_host(request)?;
        let headers = &request.headers;
        let host = one(headers, header::HOST).unwrap_or_default();
        // A proxy in front may speak https where this server does not.
        let is_own = |origin: &str| {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        let sent = |name| one(headers, HeaderName::from_static(name));
        let site = sent("sec-fetch-site");
        let is_same = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        let is_visit = sent("sec-fetch-mode") == Some("navigate")
            && sent("sec-fetch-dest") == Some("document");
        let comes_from = one(headers, header::ORIGIN);
        if comes_from.is_none_or(is_own) && (is_same || (is_public && is_visit)) {
            return Ok(());
        }
        Err(HttpRefusal::Origin)
    }

    fn check_host(&self, request: &Parts) -> Result<(), HttpRefusal> {
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
        Ok(())
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
}
