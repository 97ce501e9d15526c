//! Tells a service manager such as systemd what the server does: one datagram for each state.

use crate::{places, platform};

/// Says that the server listens.
pub(super) fn ready() {
    notify("READY=1");
}

/// Says that the server is ending.
pub(super) fn stopping() {
    notify("STOPPING=1");
}

fn notify(state: &str) {
    let Some(name) = places::notify_socket() else {
        return;
    };
    if let Err(error) = platform::send_datagram(&name, state.as_bytes()) {
        let name = name.display();
        tracing::warn!("the service manager at {name} was not told {state}: {error}");
    }
}
