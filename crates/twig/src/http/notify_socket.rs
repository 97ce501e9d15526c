//! Tells a service manager such as systemd what the server does: one datagram for each state.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::places;

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
    if let Err(error) = send(&name, state) {
        let name = name.display();
        tracing::warn!("the service manager at {name} was not told {state}: {error}");
    }
}

fn send(name: &OsStr, state: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    // A manager that does not read must not stop the server.
    socket.set_nonblocking(true)?;
    socket.send_to_addr(state.as_bytes(), &address(name.as_bytes())?)?;
    Ok(())
}

/// A path or, after an `@`, a name that is not in the file system.
fn address(name: &[u8]) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        return SocketAddr::from_abstract_name(name);
    }
    SocketAddr::from_pathname(OsStr::from_bytes(name))
}
