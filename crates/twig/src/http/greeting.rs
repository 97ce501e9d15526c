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
    asked: AskedCredentials,
) -> String {
    let mut lines = vec![format!("serving {offered} to {}", audience(address, asked))];
    if asked.keys.is_some() {
        lines.push(
            "a key also opens the projects that its person may read, as PROJECT:NAME here and at /mcp/WORKSPACE/PROJECT"
                .to_owned(),
        );
    }
    if let Some(admin) = admin {
        lines.push(format!(
            "probes and metrics at http://{admin}: /livez, /readyz, /metrics"
        ));
    }
    lines.push(how_to_connect(address, settings, asked));
    lines.join("\n")
}

/// What requests are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct AskedCredentials {
    pub(super) has_token: bool,
    /// How many people have a key, if keys are asked for.
    pub(super) keys: Option<usize>,
}

/// Who can use the server.
fn audience(address: SocketAddr, asked: AskedCredentials) -> String {
    let people = asked.keys.map(|count| match count {
        1 => "1 person with a key".to_owned(),
        count => format!("{count} people with keys"),
    });
    match (people, is_this_machine(address), asked.has_token) {
        (Some(people), _, false) => people,
        (Some(people), _, true) => format!("{people}, and to everyone who sends the token"),
        (None, true, false) => "every program on this machine".to_owned(),
        (None, true, true) => "programs on this machine that send the token".to_owned(),
        // A server that asks for nothing does not listen elsewhere.
        (None, false, _) => "everyone who can reach it and sends the token".to_owned(),
    }
}

/// The address of the endpoint.
pub(super) fn url(host: &str, settings: &HttpSettings) -> String {
    let scheme = if settings.has_tls() { "https" } else { "http" };
    format!("{scheme}://{host}/mcp")
}

fn how_to_connect(address: SocketAddr, settings: &HttpSettings, asked: AskedCredentials) -> String {
    let url = match settings.allow_host.first() {
        // Others get here through a proxy.
        Some(host) if is_this_machine(address) && !settings.has_tls() => {
            format!("https://{host}/mcp")
        }
        Some(host) if has_port(host) => url(host, settings),
        Some(host) => url(&format!("{host}:{}", address.port()), settings),
        None if address.ip().is_unspecified() => {
            return "hint: clients on other machines need a name for this one: start with \
                    `--allow-host NAME`"
                .to_owned();
        }
        None => url(&address.to_string(), settings),
    };
    let token = if asked.has_token || asked.keys.is_some() {
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
