//! Asks hosts for files over https, within the limits of a fetch. The only user of ureq and rustls.
//!
//! The system decides which certificates are good. Redirects are followed here and not by ureq, so
//! that each one is checked.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use twig_packages::skills_index::redirect_url;
use ureq::http::Response;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body, Proxy, Timeout};

use super::super::git_program::{FetchLimits, GitEnvironment};
use super::super::package_error::PackageError;

/// Redirects that are followed for one file.
const REDIRECTS: usize = 5;

/// The longest head of an answer, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// What the standard library says about the name of a host that nobody knows.
const NO_HOST: &str = "failed to lookup address information";

/// How much is read at once.
const PART: usize = 64 * 1024;

/// Asks hosts for files, for one fetch of a package.
pub(super) struct WebClient<'w> {
    agent: Agent,
    source: &'w str,
    limits: &'w FetchLimits,
    /// When all of the fetch has to be done.
    deadline: Instant,
    /// The bytes of all answers so far.
    received: AtomicU64,
}

/// A file that a host sent.
#[derive(Debug)]
pub(super) struct WebAnswer {
    /// Where it came from, after all redirects.
    pub(super) url: String,
    pub(super) bytes: Vec<u8>,
}

impl<'w> WebClient<'w> {
    pub(super) fn new(
        source: &'w str,
        limits: &'w FetchLimits,
        environment: &GitEnvironment,
    ) -> Result<Self, PackageError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(provider);
        let stall = Some(limits.stall);
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .proxy(proxy(environment)?)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(LONGEST_HEAD)
            .user_agent(concat!("twig/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(stall)
            .timeout_connect(stall)
            .timeout_per_read(stall)
            .timeout_per_write(stall);
        Ok(Self {
            agent: config.build().new_agent(),
            source,
            limits,
            deadline: Instant::now() + limits.total,
            received: AtomicU64::new(0),
        })
    }

    /// Asks for a file, and reads no more than its first `longest` bytes; `what` is its name in
    /// messages.
    pub(super) fn get(
        &self,
        what: &str,
        url: &str,
        longest: u64,
    ) -> Result<WebAnswer, PackageError> {
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS {
            let response = self.ask(what, &url)?;
            match response.status().as_u16() {
                200 => {
                    let bytes = self.read(what, response, longest)?;
                    return Ok(WebAnswer { url, bytes });
                }
                301 | 302 | 303 | 307 | 308 => {
                    let location = response.headers().get("location");
                    let location = location.and_then(|it| it.to_str().ok());
                    let next = redirect_url(&url, location.unwrap_or_default());
                    url = next.map_err(|error| self.redirect(what, error.to_string()))?;
                }
                status => return Err(self.status(what, status)),
            }
        }
        let detail = format!("there are more than {REDIRECTS} of them");
        Err(self.redirect(what, detail))
    }

    /// Ends all requests of other threads; later ones fail.
    pub(super) fn stop(&self) {
        self.agent.clone().shutdown();
    }

    pub(super) fn too_large(&self) -> PackageError {
        PackageError::TooLarge {
            source_text: self.source.to_owned(),
            limit: self.limits.bytes,
        }
    }

    fn ask(&self, what: &str, url: &str) -> Result<Response<Body>, PackageError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.too_long());
        }
        let request = self.agent.get(url).config().timeout_global(Some(left));
        let answer = request.build().call();
        answer.map_err(|error| self.failure(what, error))
    }

    fn read(
        &self,
        what: &str,
        response: Response<Body>,
        longest: u64,
    ) -> Result<Vec<u8>, PackageError> {
        let mut body = response.into_body().into_reader().take(longest);
        let (mut bytes, mut part) = (Vec::new(), vec![0; PART]);
        loop {
            let count = match body.read(&mut part) {
                Ok(0) => return Ok(bytes),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failure(what, error.into())),
            };
            let before = self.received.fetch_add(count as u64, Ordering::Relaxed);
            if before + count as u64 > self.limits.bytes {
                return Err(self.too_large());
            }
            if Instant::now() > self.deadline {
                return Err(self.too_long());
            }
            bytes.extend_from_slice(&part[..count]);
        }
    }

    fn too_long(&self) -> PackageError {
        PackageError::TooLong {
            source_text: self.source.to_owned(),
            limit: self.limits.total,
        }
    }

    fn redirect(&self, what: &str, detail: String) -> PackageError {
        PackageError::Redirect {
            source_text: self.source.to_owned(),
            what: what.to_owned(),
            detail,
        }
    }

    fn status(&self, what: &str, status: u16) -> PackageError {
        let (source_text, what) = (self.source.to_owned(), what.to_owned());
        match status {
            401 | 403 | 407 => PackageError::Forbidden {
                source_text,
                what,
                status,
            },
            _ => PackageError::Status {
                source_text,
                what,
                status,
            },
        }
    }

    /// What a failed request means.
    fn failure(&self, what: &str, error: ureq::Error) -> PackageError {
        let (source_text, what) = (self.source.to_owned(), what.to_owned());
        let unreachable = |detail: String| PackageError::Unreachable {
            source_text: self.source.to_owned(),
            detail,
        };
        match error {
            ureq::Error::HostNotFound => PackageError::NoHost { source_text },
            ureq::Error::Timeout(_) if Instant::now() >= self.deadline => self.too_long(),
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                let seconds = self.limits.stall.as_secs();
                unreachable(format!("no connection within {seconds} seconds"))
            }
            ureq::Error::Timeout(_) => PackageError::Stalled {
                source_text,
                limit: self.limits.stall,
            },
            ureq::Error::Rustls(error) => PackageError::Certificate {
                source_text,
                detail: one_line(&error.to_string()),
            },
            ureq::Error::Io(error) => match error.kind() {
                // What rustls says during the handshake comes as this.
                io::ErrorKind::InvalidData => PackageError::Certificate {
                    source_text,
                    detail: one_line(&error.to_string()),
                },
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::NotConnected => PackageError::CutOff { source_text, what },
                // The standard library has no kind for this.
                _ if error.to_string().starts_with(NO_HOST) => PackageError::NoHost { source_text },
                _ => unreachable(one_line(&error.to_string())),
            },
            error @ (ureq::Error::ConnectProxyFailed(_) | ureq::Error::ConnectionFailed) => {
                unreachable(one_line(&error.to_string()))
            }
            error => PackageError::NotHttp {
                source_text,
                what,
                detail: one_line(&error.to_string()),
            },
        }
    }
}

/// The first part of a text that may hold what a host sent.
fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(200).map(plain).collect()
}

/// The proxy of the environment, which is never asked for this machine's own addresses.
fn proxy(environment: &GitEnvironment) -> Result<Option<Proxy>, PackageError> {
    let text = environment.proxy.as_deref().map(str::trim);
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let bad = |_| PackageError::BadProxy;
    let named = Proxy::new(text).map_err(bad)?;
    let mut proxy = Proxy::builder(named.protocol())
        .host(named.host())
        .port(named.port());
    if let Some(name) = named.username() {
        proxy = proxy.username(name);
    }
    if let Some(password) = named.password() {
        proxy = proxy.password(password);
    }
    let around = environment.no_proxy.as_deref().unwrap_or_default();
    let hosts = around.split(',').map(str::trim);
    for host in hosts.chain(["localhost", "127.0.0.1", "[::1]"]) {
        // As for git and curl, a host stands for those below it, too.
        if !host.is_empty() {
            proxy = proxy.no_proxy(host);
        }
        if !host.is_empty() && !host.starts_with(['.', '*']) {
            proxy = proxy.no_proxy(&format!(".{host}"));
        }
    }
    proxy.build().map(Some).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(proxy: &str, no_proxy: &str) -> GitEnvironment {
        GitEnvironment {
            proxy: Some(proxy.to_owned()),
            no_proxy: Some(no_proxy.to_owned()),
            ..GitEnvironment::default()
        }
    }

    #[test]
    fn hosts_without_the_proxy_are_those_of_the_environment() {
        let environment = environment("http://user:pass@proxy.example.com:3128", "a.com, .b.com");
        let proxy = proxy(&environment).unwrap().unwrap();
        assert_eq!(
            (proxy.host(), proxy.port(), proxy.username()),
            ("proxy.example.com", 3128, Some("user"))
        );
        let is_direct = |url: &str| proxy.is_no_proxy(&url.parse().unwrap());
        for url in [
            "https://a.com",
            "https://x.a.com/y",
            "https://x.b.com",
            "http://127.0.0.1:8080/x",
            "http://localhost:1",
            "http://[::1]:1",
        ] {
            assert!(is_direct(url), "{url}");
        }
        for url in ["https://b.com", "https://aa.com", "https://c.com"] {
            assert!(!is_direct(url), "{url}");
        }
    }

    #[test]
    fn a_proxy_that_is_none_is_an_error() {
        assert!(proxy(&environment("::::", "")).is_err());
        assert!(proxy(&environment(" ", "")).unwrap().is_none());
    }
}
