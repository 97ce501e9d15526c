//! What a server says at its start, after its address: what it serves, to whom, and how to connect.

use std::net::SocketAddr;

use super::door::is_this_machine;
use super::flags::HttpSettings;

/// The lines after the address.
pub(super) fn greeting(
    offered: &str,
    address: SocketAddr,
    admin: Option<SocketAddr>,
    settings: &HttpSettings,
    has_token: bool,
) -> String {
    let mut lines = vec![format!(
        "serving {offered} to {}",
        audience(address, has_token)
    )];
    if let Some(admin) = admin {
        lines.push(format!(
            "probes and metrics at http://{admin}: /livez, /readyz, /metrics"
        ));
    }
    lines.push(how_to_connect(address, settings, has_token));
    lines.join("\n")
}

/// Who can use the server.
fn audience(address: SocketAddr, has_token: bool) -> String {
    let who = match (is_this_machine(address), has_token) {
        (true, false) => "every program on this machine",
        (true, true) => "programs on this machine that send the token",
        // A server without a token does not listen elsewhere.
        (false, _) => "everyone who can reach it and sends the token",
    };
    who.to_owned()
}

/// The address of the endpoint.
pub(super) fn url(host: &str, settings: &HttpSettings) -> String {
    let scheme = if settings.has_tls() { "https" } else { "http" };
    format!("{scheme}://{host}/mcp")
}

fn how_to_connect(address: SocketAddr, settings: &HttpSettings, has_token: bool) -> String {
    let url = match settings.allow_host.first() {
        // Others get here through a proxy.
        Some(host) if is_this_machine(address) => format!("https://{host}/mcp"),
        Some(host) if has_port(host) => url(host, settings),
        Some(host) => url(&format!("{host}:{}", address.port()), settings),
        None if address.ip().is_unspecified() => {
            return "hint: clients on other machines need a name for this one: start with \
                    `--allow-host NAME`"
                .to_owned();
        }
        None => url(&address.to_string(), settings),
    };
    let token = if has_token {
        " --token-env TWIG_TOKEN"
    } else {
        ""
    };
    format!("hint: connect a client with `twig connect CLIENT --url {url}{token}`")
}

fn has_port(host: &str) -> bool {
    let port = host.rsplit_once(':');
    port.is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}
