//! The flags of `twig serve` for HTTP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

// Serving many clients over HTTP.
#[derive(Debug, Args)]
pub(crate) struct HttpArgs {
    /// Serve over HTTP on this address instead; port 0 picks a free one
    #[arg(
        id = "http",
        long,
        value_name = "ADDR",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:7373",
        value_parser = parse_address
    )]
    pub(crate) address: Option<SocketAddr>,

    /// Also answer to this host, such as `prompts.example.com` (may be given several times)
    #[arg(long, value_name = "HOST", requires = "http", value_parser = parse_host)]
    pub(crate) allow_host: Vec<String>,

    /// Also answer to pages of this origin, such as `https://example.com` (may be given several times)
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = parse_origin)]
    pub(crate) allow_origin: Vec<String>,

    /// Ask every client for the token in this file; `TWIG_TOKEN` holds one otherwise
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
}

/// The default port.
const PORT: u16 = 7373;

/// An address with or without its port, or a port alone, which means this machine.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = text.strip_prefix("localhost").unwrap_or(text);
    if let Ok(port) = port.strip_prefix(':').unwrap_or(port).parse() {
        return Ok(SocketAddr::new(loopback, port));
    }
    if text == "localhost" {
        return Ok(SocketAddr::new(loopback, PORT));
    }
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    text.parse()
        .or_else(|_| bare.parse().map(|ip| SocketAddr::new(ip, PORT)))
        .map_err(|_| format!("it has to be an address such as 127.0.0.1:{PORT}"))
}

/// An origin as browsers write it.
fn parse_origin(text: &str) -> Result<String, String> {
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
pub(super) fn parse_host(text: &str) -> Result<String, String> {
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
