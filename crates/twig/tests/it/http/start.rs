//! What a server says at its start, to people and to the manager of services.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use rustix::process::Signal;
use twig_testkit::{TestEnv, write_fixture};

use super::client::{PATIENCE, list};
use super::{LIBRARY, Served};
use crate::{TWIG, env};

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
    insta::assert_snapshot!(said(&["--http", ":0"], &[]), @"
    serving 3 prompts of 1 library to every program on this machine
    hint: connect a client with `twig connect CLIENT --url http://127.0.0.1:PORT/mcp`
    ");
    insta::assert_snapshot!(said(&["--http", ":0"], &token), @"
    serving 3 prompts of 1 library to programs on this machine that send the token
    hint: connect a client with `twig connect CLIENT --url http://127.0.0.1:PORT/mcp --token-env TWIG_TOKEN`
    ");
    insta::assert_snapshot!(said(&["--http", "0.0.0.0:0"], &token), @"
    serving 3 prompts of 1 library to everyone who can reach it and sends the token
    hint: clients on other machines need a name for this one: start with `--allow-host NAME`
    ");
    let named = ["--http", "0.0.0.0:0", "--allow-host", "prompts.example.com"];
    insta::assert_snapshot!(said(&named, &token), @"
    serving 3 prompts of 1 library to everyone who can reach it and sends the token
    hint: connect a client with `twig connect CLIENT --url http://prompts.example.com:PORT/mcp --token-env TWIG_TOKEN`
    ");
    let proxied = ["--http", ":0", "--allow-host", "prompts.example.com"];
    insta::assert_snapshot!(said(&proxied, &token), @"
    serving 3 prompts of 1 library to programs on this machine that send the token
    hint: connect a client with `twig connect CLIENT --url https://prompts.example.com/mcp --token-env TWIG_TOKEN`
    ");
    assert_eq!(said(&["--http", ":0", "-q"], &[]), "");
}

/// The unit's variables and command line, with folders of the test.
#[test]
fn the_unit_of_systemd_starts_a_server() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/twig.service");
    let unit = fs::read_to_string(path).expect("the unit");
    let env = TestEnv::new(TWIG);
    let at = |name: &str| env.root().join(name);
    write_fixture(&at("S/twig/prompts"), LIBRARY);
    fs::create_dir_all(at("d")).expect("a folder of the test");
    let token = "a-token-of-more-than-twenty-letters";
    fs::write(at("d/token"), token).expect("a folder of the test");
    let values = |key: &str| -> Vec<String> {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(key));
        let root = format!("{}/", env.root().display());
        lines.map(|line| line.replace('%', &root)).collect()
    };
    assert_eq!(values("Type="), ["notify"]);
    let start = values("ExecStart=").concat();
    let words: Vec<&str> = start.split(' ').skip(1).collect();
    let mut command = env.command(words);
    command
        .env_remove("HOME")
        .env("TWIG_HTTP_ADDRESS", "0.0.0.0:0");
    for variable in values("Environment=") {
        let (name, value) = variable.split_once('=').expect("a variable");
        command.env(name, value);
    }
    let served = Served::start(env, command);
    assert_eq!(list(&mut served.caller(), &[]).status, 401);
    let bearer = format!("Bearer {token}");
    let listed = list(&mut served.caller(), &[("authorization", &bearer)]);
    assert!(listed.json()["result"].to_string().contains("lib:hello"));
}

#[test]
fn systemd_accepts_the_unit() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/twig.service");
    let unit = fs::read_to_string(path).expect("the unit");
    let env = env("");
    let copy = env.root().join("twig.service");
    fs::write(&copy, unit.replace("/usr/local/bin/twig", TWIG)).expect("a folder of the test");
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(copy)
        .output();
    let Ok(verified) = verified else {
        println!("skipped: there is no systemd-analyze");
        return;
    };
    assert!(verified.status.success(), "{verified:?}");
    let said = String::from_utf8_lossy(&verified.stderr);
    // It also reads the other units of the machine.
    let ours: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("twig.service"))
        .collect();
    assert!(ours.is_empty(), "{ours:?}");
}

fn notified(name: &str, bind: impl FnOnce(&TestEnv) -> UnixDatagram) {
    let env = env(LIBRARY);
    let socket = bind(&env);
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let next = || {
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
