//! What a server says at its start, to people and to the manager of services.

use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;
use twig_testkit::TestEnv;

use super::client::PATIENCE;
use super::{LIBRARY, Served};
use crate::env;

/// What it says after its address, with the port left out.
fn said(args: &[&str], variables: &[(&str, &str)]) -> String {
    let env = env(LIBRARY);
    let mut command = env.command(["serve"]);
    command.args(args).envs(variables.iter().copied());
    let mut served = Served::start(env, command);
    served.signal(Signal::TERM);
    let port = format!(":{}", served.port);
    let (status, _, talk) = served.ended();
    assert_eq!(status.code(), Some(0), "{talk}");
    talk.replace(&port, ":PORT")
}

#[test]
fn a_server_says_what_it_serves_to_whom_and_how_to_connect() {
    let token = [("TWIG_TOKEN", "a-token-of-more-than-twenty-letters")];
    insta::assert_snapshot!(said(&["--http", ":0"], &[]), @"");
    insta::assert_snapshot!(said(&["--http", ":0"], &token), @"");
    insta::assert_snapshot!(said(&["--http", "0.0.0.0:0"], &token), @"");
    let named = ["--http", "0.0.0.0:0", "--allow-host", "prompts.example.com"];
    insta::assert_snapshot!(said(&named, &token), @"");
    let proxied = ["--http", ":0", "--allow-host", "prompts.example.com"];
    insta::assert_snapshot!(said(&proxied, &token), @"");
    assert_eq!(said(&["--http", ":0", "-q"], &[]), "");
}

fn notified(name: &str, bind: impl FnOnce(&TestEnv) -> UnixDatagram) {
    let env = env(LIBRARY);
    let socket = bind(&env);
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut next = || {
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes).expect("a datagram");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let mut command = env.command(["serve", "--http", ":0"]);
    let name = name.replace("[root]", &env.root().display().to_string());
    command.env("NOTIFY_SOCKET", name);
    let mut served = Served::start(env, command);
    assert_eq!(next(), "READY=1");
    served.is_well();
    served.signal(Signal::TERM);
    assert_eq!(next(), "STOPPING=1");
    assert_eq!(served.ended().0.code(), Some(0));
}

#[test]
fn the_service_manager_is_told_by_a_socket() {
    notified("[root]/notify", |env| {
        UnixDatagram::bind(env.root().join("notify")).expect("a socket")
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_service_manager_is_told_by_a_socket_without_a_file() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    let name = format!("twig-test-{}", std::process::id());
    notified(&format!("@{name}"), |_| {
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        UnixDatagram::bind_addr(&address).expect("a socket")
    });
}

#[test]
fn a_service_manager_that_is_gone_does_not_stop_the_server() {
    let served = Served::with(&[], &[("NOTIFY_SOCKET", "/nonexistent/notify")]);
    served.is_well();
}
