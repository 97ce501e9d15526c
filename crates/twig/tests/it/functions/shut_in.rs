//! What a function cannot do, and what happens where it could not be kept from it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use serde_json::json;

use super::{HELLO, get, has, is_running, library, program, text, trust, trusted};
use crate::env;

/// Tries to get out in every way and says which ones worked. `$1` and so on are the author's.
const ESCAPES: &str = r#"#!/usr/bin/env bash
IFS=' ' read -r secret server tcp udp unix < <(sed 's/.*"x":"\([^"]*\)".*/\1/')
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
setsid sleep 73001@@ >/dev/null 2>&1 &
(setsid sleep 73001@@ >/dev/null 2>&1 &)
printf '{"messages":[{"role":"user","content":{"type":"text","text":"worked:%s"}}]}' "$out"
"#;

#[test]
fn there_is_no_way_out() {
    if !has("bash") {
        return;
    }
    let env = library(&[("escape", ESCAPES)]);
    let secret = env.home().join(".ssh/id");
    fs::create_dir_all(env.home().join(".ssh")).expect("the test's own folder");
    fs::write(&secret, "secret").expect("the test's own folder");
    symlink(&secret, env.data().join("f/link")).expect("the test's own folder");
    trust(&env, "f");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let unix = env.root().join("socket");
    let _unix = UnixListener::bind(&unix).expect("a socket");
    let mut client = env.serve();
    let told = format!(
        "{} {} {} {} {}",
        secret.display(),
        client.pid(),
        tcp.local_addr().expect("an address").port(),
        udp.local_addr().expect("an address").port(),
        unix.display()
    );
    assert_eq!(text(&get(&mut client, "escape", &told)), "worked:");
    super::wait_until(false, "73001", Duration::from_secs(1));
    assert_eq!(fs::read(&secret).ok().as_deref(), Some(&b"secret"[..]));
    let mode = fs::metadata(&secret)
        .expect("it is there")
        .permissions()
        .mode();
    assert_ne!(mode & 0o777, 0o777);
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
