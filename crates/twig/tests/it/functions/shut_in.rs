//! What a function cannot do, and what happens where it could not be kept from it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use serde_json::json;

use super::{HELLO, get, has, is_running, library, program, text, trust, trusted};
use crate::env;

/// Tries to get out in every way and says which ones worked. `$1` and so on are the author's.
const ESCAPES: &str = r#"#!/usr/bin/env bash
IFS=' ' read -r secret server tcp udp unix datagram < <(sed 's/.*"x":"\([^"]*\)".*/\1/')
out=""
try() { local name=$1; shift; if "$@" >/dev/null 2>&1; then out="$out $name"; fi; }
try shadow head -c1 /etc/shadow
try passwd head -c1 /etc/passwd
try secret head -c1 "$secret"
try home ls "$(dirname "$secret")"
try link head -c1 ./link
try own-folder bash -c 'echo x > ./written'
try own-program bash -c 'echo x >> ./bin/escape'
try tmp bash -c 'echo x > /tmp/twig-escape-$$'
try truncate truncate -s0 "$secret"
try chmod chmod 777 "$secret"
try touch touch "$secret"
try remove rm -f "$secret"
try mkdir mkdir ./made
try tcp bash -c "echo > /dev/tcp/127.0.0.1/$tcp"
try udp bash -c "echo > /dev/udp/127.0.0.1/$udp"
try dns getent hosts localhost
try environ head -c1 "/proc/$server/environ"
try memory head -c1 "/proc/$server/mem"
try signal kill -0 "$server"
try limits prlimit --pid "$server" --nofile=100:100
try renice renice -n 5 -p "$server"
try namespace unshare -U true
try session setsid true
try shm bash -c 'echo x > /dev/shm/twig-escape'
try tty bash -c 'echo x > /dev/tty'
if command -v python3 >/dev/null; then
  try unix python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('$unix')"
  try ptrace python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).ptrace(16, $server, 0, 0) != 0)"
  try shmget python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).shmget(0, 4096, 0o1600) < 0)"
  try msgget python3 -c "import ctypes,sys; sys.exit(ctypes.CDLL(None).msgget(0, 0o1600) < 0)"
  try own-session python3 -c "import os; pid = os.fork(); pid or os.setsid(); os._exit(os.waitpid(pid, 0)[1] != 0 if pid else 0)"
fi
if command -v perl >/dev/null; then
  try datagram perl -MSocket -e "socketpair(A, B, AF_UNIX, SOCK_DGRAM, 0) && send(A, 'x', 0, pack_sockaddr_un('$datagram')) or exit 1"
  try packets perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_SEQPACKET, 0) or exit 1'
  try renice-all perl -e 'setpriority(2, 0, getpriority(0, 0)) or exit 1'
  try renice-group perl -e 'setpriority(1, 0, getpriority(0, 0)) or exit 1'
  try owner perl -e "fcntl(STDIN, 8, $server) or exit 1"
  try owner-by-ioctl perl -e "ioctl(STDIN, 0x8901, pack('i', $server)) or exit 1"
  try signal-number perl -e 'fcntl(STDIN, 10, 9) or exit 1'
  try lease perl -e 'open(F, "<", "./twig.toml") && fcntl(F, 1024, 0) or exit 1'
  try hear perl -e 'open(F, "<", ".") && fcntl(F, 1026, 2) or exit 1'
  try file-flags perl -e 'open(F, "<", "./twig.toml") && ioctl(F, 0x40086602, pack("l!", 64)) or exit 1'
fi
setsid sleep 73001@@ >/dev/null 2>&1 &
(setsid sleep 73001@@ >/dev/null 2>&1 &)
printf '{"messages":[{"role":"user","content":{"type":"text","text":"worked:%s"}}]}' "$out"
"#;

#[test]
fn there_is_no_way_out() {
    if has("bash") {
        assert_eq!(escaped(""), "worked:");
    }
}

#[test]
fn a_granted_network_opens_nothing_else() {
    if has("bash") {
        let worked = escaped("network = true\n");
        // Not every machine knows its own name.
        assert_eq!(worked.replace(" dns", ""), "worked: tcp udp");
    }
}

/// The ways out that worked for a function with these grants.
fn escaped(grants: &str) -> String {
    let env = library(&[("escape", ESCAPES)]);
    let manifest = fs::read_to_string(env.data().join("f/twig.toml")).expect("readable");
    let manifest = manifest.replace("[[prompts", &format!("{grants}[[prompts"));
    env.write("f/twig.toml", manifest);
    let secret = env.home().join(".ssh/id");
    fs::create_dir_all(env.home().join(".ssh")).expect("the test's own folder");
    fs::write(&secret, "secret").expect("the test's own folder");
    symlink(&secret, env.data().join("f/link")).expect("the test's own folder");
    trust(&env, "f");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let unix = env.root().join("socket");
    let _unix = UnixListener::bind(&unix).expect("a socket");
    let datagram = env.root().join("datagram");
    let listener = UnixDatagram::bind(&datagram).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    let mut client = env.serve();
    let told = format!(
        "{} {} {} {} {} {}",
        secret.display(),
        client.pid(),
        tcp.local_addr().expect("an address").port(),
        udp.local_addr().expect("an address").port(),
        unix.display(),
        datagram.display()
    );
    let worked = text(&get(&mut client, "escape", &told)).to_owned();
    assert!(listener.recv(&mut [0]).is_err(), "nothing came");
    super::wait_until(false, "73001", Duration::from_secs(1));
    assert_eq!(fs::read(&secret).ok().as_deref(), Some(&b"secret"[..]));
    let mode = fs::metadata(&secret)
        .expect("it is there")
        .permissions()
        .mode();
    assert_ne!(mode & 0o777, 0o777);
    worked
}

#[test]
fn what_a_function_needs_is_there() {
    let script = r#"#!/bin/sh
set -e
data=$(cat ./data.txt; ./bin/helper; date +%Z >/dev/null; echo piped | sed s/piped/through/ | tr -d '\n')
printf '{"messages":[{"role":"user","content":{"type":"text","text":"%s"}}]}' "$data"
"#;
    let env = library(&[("needs", script)]);
    env.write("f/data.txt", "data ");
    program(&env, "f/bin/helper", "#!/bin/sh\nprintf 'helper '\n");
    trust(&env, "f");
    let mut client = env.serve();
    assert_eq!(text(&get(&mut client, "needs", "")), "data helper through");
}

/// Pairs of streams, locks and threads are what languages do their own work with.
#[test]
fn what_languages_need_is_there() {
    let perl = r#"#!/usr/bin/env perl
use Socket; use Fcntl ':flock';
socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; syswrite(A, "one\n"); my $one = <B>; chomp $one;
open(F, '<', './twig.toml') or die; flock(F, LOCK_SH) or die;
my $pid = open(P, '-|', 'echo two') or die; my $two = <P>; chomp $two; setpriority(0, 0, 19) or die;
print qq({"messages":[{"role":"user","content":{"type":"text","text":"$one $two"}}]});
"#;
    let python = r#"#!/usr/bin/env python3
import asyncio, json, subprocess, threading
async def main():
    process = await asyncio.create_subprocess_exec("echo", "one", stdout=subprocess.PIPE)
    return (await process.communicate())[0].decode().strip()
said = [asyncio.run(main())]
thread = threading.Thread(target=lambda: said.append(subprocess.check_output(["echo", "two"], text=True).strip()))
thread.start(); thread.join()
print(json.dumps({"messages": [{"role": "user", "content": {"type": "text", "text": " ".join(said)}}]}))
"#;
    let env = trusted(&[("perl", perl), ("python3", python)]);
    let mut client = env.serve();
    for name in ["perl", "python3"] {
        if has(name) {
            assert_eq!(text(&get(&mut client, name, "")), "one two");
        }
    }
}

#[test]
fn what_was_open_when_the_server_started_is_not_handed_on() {
    if !has("bash") {
        return;
    }
    let script = r#"#!/usr/bin/env bash
fd=$(sed 's/.*"x":"\([0-9]*\)".*/\1/')
text=$(cat <&"$fd" 2>/dev/null || echo closed)
printf '{"messages":[{"role":"user","content":{"type":"text","text":"%s"}}]}' "$text"
"#;
    let env = trusted(&[("read", script)]);
    env.write("f/prompts/computed.md", "{{ range(3)|length }}");
    let manifest = fs::read_to_string(env.data().join("f/twig.toml")).expect("readable");
    env.write("f/twig.toml", format!("{manifest}[prompts.computed]\n"));
    trust(&env, "f");
    let secret = env.root().join("secret");
    fs::write(&secret, "secret").expect("the test's own folder");
    let file = fs::File::open(&secret).expect("the test's own file");
    let open = rustix::io::fcntl_dupfd_cloexec(&file, 40).expect("a descriptor");
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).expect("a descriptor");
    let mut client = env.serve();
    let number = open.as_raw_fd().to_string();
    assert_eq!(text(&get(&mut client, "read", &number)), "closed");
    assert_eq!(text(&get(&mut client, "computed", "")), "3");
    for worker in crate::children(client.pid()) {
        let descriptors = fs::read_dir(format!("/proc/{worker}/fd")).expect("ours");
        let open = descriptors
            .flatten()
            .filter_map(|fd| fs::read_link(fd.path()).ok());
        let open: Vec<_> = open.collect();
        assert!(!open.contains(&secret), "{open:?}");
    }
}

/// Processes without parents become children of the first one, which has to wait for them.
#[test]
fn the_first_process_of_a_container_keeps_no_dead_ones() {
    let orphan = format!("{HELLO}(sleep 73003@@ &)\nsleep 73003@@ >/dev/null 2>&1 &\n");
    let env = trusted(&[("orphan", &orphan)]);
    let container = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ];
    let can = std::process::Command::new("unshare")
        .args(container)
        .arg("true")
        .output();
    if !can.is_ok_and(|output| output.status.success()) {
        // Not every system lets people make one.
        return;
    }
    let twig = env.command(["serve"]);
    let mut command = std::process::Command::new("unshare");
    command.args(container).arg(twig.get_program()).arg("serve");
    command.env_clear().env("HOME", env.home());
    let mut client = twig_testkit::TestClient::start(command);
    for _ in 0..3 {
        assert_eq!(text(&get(&mut client, "orphan", "")), "hello");
    }
    let server = crate::children(client.pid());
    assert_eq!(server.len(), 1, "unshare waits for the server");
    assert_eq!(crate::children(server[0]), [0; 0]);
}

#[test]
fn where_the_system_cannot_shut_it_in_nothing_runs_without_leave() {
    let env = trusted(&[("hello", HELLO)]);
    // A filter holds for the thread that takes it on and for what it starts: here a system on
    // which Landlock is not there.
    let (refused, allowed, served) = std::thread::spawn(move || {
        let rules = BTreeMap::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
        let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
        let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known machine");
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, arch);
        let filter = BpfProgram::try_from(filter.expect("a filter")).expect("a filter");
        apply_filter(&filter).expect("seccomp");
        let refused = env.run(["render", "f:hello"]);
        let allowed = env.run(["render", "f:hello", "--allow-unsandboxed-functions"]);
        let mut client = env.serve_with(["--allow-unsandboxed-functions"]);
        let served = get(&mut client, "hello", "");
        let mut client = env.serve();
        let params = json!({"name": "f:hello"});
        (
            refused,
            allowed,
            [served, client.request("prompts/get", params)],
        )
    })
    .join()
    .expect("the thread ends well");
    assert_eq!(refused.code, 1, "{refused}");
    assert!(
        refused.stderr.contains("--allow-unsandboxed-functions"),
        "{refused}"
    );
    assert!(refused.stderr.contains("Landlock"), "{refused}");
    assert_eq!(allowed.stdout, "hello\n", "{allowed}");
    assert_eq!(text(&served[0]), "hello");
    assert!(super::error(&served[1]).contains("--allow-unsandboxed-functions"));
}

#[test]
fn nobody_runs_a_function_by_asking_for_it_on_the_command_line() {
    let env = env("");
    let outcome = env.run(["run-function"]);
    assert_ne!(outcome.code, 0);
    assert!(!is_running("73002"));
}
