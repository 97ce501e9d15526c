//! The flags of `twig serve` for HTTP, and the settings that take their place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use crate::places;

// Serving many clients over HTTP.
#[derive(Debug, Default, Args)]
pub(crate) struct HttpArgs {
    /// Serve over HTTP on this address instead; port 0 picks a free one
    #[allow(
        clippy::option_option,
        reason = "clap's form of a flag with or without a value"
    )]
    #[arg(id = "http", long, value_name = "ADDR", num_args = 0..=1, value_parser = parse_address)]
    pub(crate) address: Option<Option<SocketAddr>>,

    /// Also answer to this host, such as `prompts.example.com` (may be given several times)
    #[arg(long, value_name = "HOST", requires = "http", value_parser = parse_host)]
    pub(crate) allow_host: Vec<String>,

    /// Also answer to pages of this origin, such as `https://example.com` (may be given several times)
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = parse_origin)]
    pub(crate) allow_origin: Vec<String>,

    /// Ask every client for the token in this file; `TWIG_TOKEN` holds one otherwise
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Serve https with the certificates in this PEM file; it is read again when it changes
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Answer /livez, /readyz and /metrics on this address, to everyone who can reach it
    #[arg(long, value_name = "ADDR", requires = "http", value_parser = parse_admin)]
    pub(crate) admin: Option<SocketAddr>,

    /// Serve no page for browsers
    #[arg(long, requires = "http")]
    pub(crate) no_page: bool,

    /// Let people with keys edit on the page what their roles let them write
    #[arg(long, requires = "http", conflicts_with = "no_page")]
    pub(crate) page_edit: bool,
}

/// How to serve over HTTP: the settings of `[http]` that are not limits, and the flags over them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HttpSettings {
    pub(crate) address: Option<SocketAddr>,
    pub(crate) allow_host: Vec<String>,
    pub(crate) allow_origin: Vec<String>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) admin: Option<SocketAddr>,
    /// The file with the secret that git hosts sign webhooks with; only the configuration names it.
    pub(crate) hook_secret_file: Option<PathBuf>,
    pub(crate) no_page: bool,
    /// True if people with keys may edit on the page.
    pub(crate) page_edit: bool,
    /// True if a balancer sends each session to one server; only the configuration says so.
    pub(crate) sticky: bool,
}

impl HttpArgs {
    /// The address if HTTP is wanted; `--http` without one takes that of the settings.
    pub(crate) fn address(&self, settings: &HttpSettings) -> Option<SocketAddr> {
        let default = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT);
        let given = self.address?;
        Some(given.or(settings.address).unwrap_or(default))
    }

    /// The settings with the flags over them. A token in the environment comes before a file that no
    /// flag names.
    pub(crate) fn over(&self, settings: &HttpSettings) -> HttpSettings {
        let list = |given: &[String], set: &[String]| match given {
            [] => set.to_vec(),
            given => given.to_vec(),
        };
        let token_file = match places::token_from_environment() {
            Some(_) => None,
            None => settings.token_file.clone(),
        };
        HttpSettings {
            address: self.address(settings),
            allow_host: list(&self.allow_host, &settings.allow_host),
            allow_origin: list(&self.allow_origin, &settings.allow_origin),
            token_file: self.token_file.clone().or(token_file),
            tls_cert: self.tls_cert.clone().or_else(|| settings.tls_cert.clone()),
            tls_key: self.tls_key.clone().or_else(|| settings.tls_key.clone()),
            admin: self.admin.or(settings.admin),
            hook_secret_file: settings.hook_secret_file.clone(),
            no_page: self.no_page || settings.no_page,
            page_edit: self.page_edit || settings.page_edit,
            sticky: settings.sticky,
        }
    }
}

impl HttpSettings {
    /// True if clients connect with https.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls_cert.is_some()
    }
}

/// The default ports.
const PORT: u16 = 7373;
const ADMIN_PORT: u16 = 9373;

/// An address with or without its port, or a port alone, which means this machine.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    parse_address_or(text, PORT)
}

/// The same for the admin listener.
pub(crate) fn parse_admin(text: &str) -> Result<SocketAddr, String> {
    parse_address_or(text, ADMIN_PORT)
}

fn parse_address_or(text: &str, default_port: u16) -> Result<SocketAddr, String> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = text.strip_prefix("localhost").unwrap_or(text);
    if let Ok(port) = port.strip_prefix(':').unwrap_or(port).parse() {
        return Ok(SocketAddr::new(loopback, port));
    }
    if text == "localhost" {
        return Ok(SocketAddr::new(loopback, default_port));
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    text.parse()
        .or_else(|_| bare.parse().map(|ip| SocketAddr::new(ip, default_port)))
        .map_err(|_| format!("it has to be an address such as 127.0.0.1:{default_port}"))
}

/// An origin as browsers write it.
pub(crate) fn parse_origin(text: &str) -> Result<String, String> {
    let origin = text.to_ascii_lowercase();
    // Browsers omit the default port.
    let schemes = [("http://", ":80"), ("https://", ":443")];
    let host = schemes.iter().find_map(|(scheme, port)| {
        let host = parse_host(origin.strip_prefix(scheme)?).ok()?;
        Some(format!(
            "{scheme}{}",
            host.strip_suffix(port).unwrap_or(&host)
        ))
    });
    host.ok_or_else(|| {
        "write an origin such as https://example.com, without a path, once for each origin"
            .to_owned()
    })
}

/// A host as clients write it: a name or an address, with or without a port.
pub(crate) fn parse_host(text: &str) -> Result<String, String> {
    let host = text.to_ascii_lowercase();
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Ok(format!("[{address}]"));
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (&*host, None),
    };
    let is_name = |name: &str| {
        let is_part = |part: &str| {
            let mut bytes = part.bytes();
            !part.is_empty()
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        name.split('.').all(is_part)
    };
    let bracketed = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let is_host = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => is_name(name),
    };
    if is_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Ok(host);
    }
    Err(
        "write a host such as prompts.example.com or prompts.example.com:8080, once for each host"
            .to_owned(),
    )
}
