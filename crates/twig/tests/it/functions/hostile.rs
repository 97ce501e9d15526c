//! Functions that misbehave: each request is told how, in time, and nothing is left.

use std::time::{Duration, Instant};
use twig_testkit::figure;

use super::{HELLO, error, get, is_running, limit, text, trusted};
use crate::memory_kib;

#[test]
fn who_does_not_end_is_ended() {
    let millis = 600;
    let cases = [
        (
            "spin",
            "#!/bin/sh\nexec sh -c 'while :; do :; done' 72001@@\n",
            "took longer than the limit of 600 ms",
        ),
        ("hang", "#!/bin/sh\nsleep 72002@@\n", "took longer"),
        (
            "ignore",
            "#!/bin/sh\nexec sleep 72003@@ <&-\n",
            "took longer",
        ),
        (
            "deaf",
            "#!/bin/sh\ntrap '' TERM INT HUP\nsleep 72004@@ & wait; sleep 72004@@\n",
            "took longer",
        ),
        (
            "quiet",
            "#!/bin/sh\nexec >&- 2>&-\nsleep 72005@@\n",
            "took longer",
        ),
        (
            "scream",
            "#!/bin/sh\nexec cat /dev/zero >&2\n",
            "took longer",
        ),
        (
            "forks",
            "#!/bin/sh\ni=0; while [ $i -lt 1000 ]; do sleep 72006@@ & i=$((i+1)); done; wait\n",
            "",
        ),
    ];
    let scripts: Vec<(&str, &str)> = cases
        .iter()
        .map(|(name, script, _)| (*name, *script))
        .collect();
    let others = [
        ("hello", HELLO),
        ("flood", "#!/bin/sh\nexec cat /dev/zero\n"),
    ];
    let env = trusted(&[scripts.as_slice(), &others].concat());
    limit(&env, &format!("[limits]\nfunction_millis = {millis}\n"));
    let mut client = env.serve();
    for (name, _, expected) in cases {
        let start = Instant::now();
        let answer = get(&mut client, name, "");
        let took = start.elapsed();
        figure(name, took, Duration::from_millis(millis + 500));
        assert!(error(&answer).contains(expected), "{name}: {answer}");
        assert!(error(&answer).starts_with(&format!("The function of prompt `f:{name}` ")));
    }
    for word in ["72001", "72002", "72003", "72004", "72005", "72006"] {
        super::wait_until(false, word, Duration::from_secs(1));
    }
    assert_eq!(
        text(&get(&mut client, "hello", "")),
        "hello",
        "places are free again"
    );
    assert!(memory_kib(client.pid(), "VmHWM") < 64 * 1024);
    // Time enough for a megabyte on a busy machine.
    limit(&env, "[limits]\nfunction_millis = 20000\n");
    let mut client = env.serve();
    let answer = get(&mut client, "flood", "");
    let expected = "printed more than the limit of 1048576 bytes";
    assert!(error(&answer).contains(expected), "{answer}");
    assert!(memory_kib(client.pid(), "VmHWM") < 64 * 1024);
}

#[test]
fn who_leaves_children_behind_leaves_none() {
    let daemon = format!("{HELLO}(sleep 72010@@ &)\nsleep 72010@@ >/dev/null 2>&1 &\n");
    let env = trusted(&[("daemon", &daemon)]);
    let mut client = env.serve();
    // Children that hold the output are not waited for: these sleep for hours.
    assert_eq!(text(&get(&mut client, "daemon", "")), "hello");
    super::wait_until(false, "72010", Duration::from_secs(1));
}

#[test]
fn who_fails_is_told_of_with_its_own_words() {
    let cases = [
        (
            "code",
            "#!/bin/sh\necho 'first' >&2\nprintf 'no \\033[31mluck\\n' >&2\nexit 3\n",
            "ended with exit code 3:\nfirst\nno <U+001B>[31mluck",
        ),
        ("silent", "#!/bin/sh\nexit 1\n", "ended with exit code 1"),
        ("dies", "#!/bin/sh\nkill -9 $$\n", "was ended by signal 9"),
        (
            "kills",
            "#!/bin/sh\nkill -9 $PPID\nsleep 72020@@\n",
            "was ended from outside",
        ),
        ("nothing", "#!/bin/sh\n", "printed nothing"),
        (
            "early",
            "#!/bin/sh\nexec >&-\necho gone >&2\n",
            "printed nothing",
        ),
        ("lines", "#!/bin/sh\necho hello\n", "printed invalid JSON"),
        (
            "twice",
            &format!("{HELLO}{}", &HELLO[10..]),
            "printed something after its JSON object",
        ),
        (
            "role",
            &HELLO.replace("user", "system"),
            "`messages[0].role` has to be",
        ),
        (
            "extra",
            &HELLO.replace("\"role\"", "\"more\":1,\"role\""),
            "`messages[0].more` is not known",
        ),
        (
            "ansi",
            &HELLO.replace("hello", "\\\\u001b[31mhello"),
            "U+001B",
        ),
        (
            "tags",
            &HELLO.replace("hello", "\\\\udb40\\\\udc41"),
            "U+E0041",
        ),
        (
            "binary",
            "#!/bin/sh\nhead -c 100 /dev/urandom | tr -d '\\n '\n",
            "printed",
        ),
        (
            "nobody",
            "#!/no/such/program\n",
            "could not be started: bin/nobody",
        ),
        (
            "empty",
            "",
            "a script without a first line such as `#!/bin/sh`",
        ),
        (
            "memory",
            "#!/bin/sh\nexec awk 'BEGIN { s = \"x\"; while (1) s = s s }'\n",
            "ended with exit code 2",
        ),
        (
            "writes",
            "#!/bin/sh\necho x > out\n",
            "ended with exit code 2",
        ),
    ];
    let scripts: Vec<(&str, &str)> = cases
        .iter()
        .map(|(name, script, _)| (*name, *script))
        .collect();
    let env = trusted(&scripts);
    let mut client = env.serve();
    for (name, _, expected) in &cases {
        let answer = get(&mut client, name, "");
        assert!(error(&answer).contains(expected), "{name}: {answer}");
    }
    assert!(!is_running("72020"));
    let log = client.close().stderr;
    assert!(
        log.contains("f:code") && log.contains("exit code 3"),
        "{log}"
    );
}

#[test]
fn the_limit_of_what_is_printed_holds_to_the_byte() {
    let script = r#"#!/bin/sh
printf '{"messages":[{"role":"user","content":{"type":"text","text":"'
head -c "$(sed 's/.*"x":"\([0-9]*\)".*/\1/')" /dev/zero | tr '\0' a
printf '"}}]}'
"#;
    let env = trusted(&[("fill", script)]);
    limit(&env, "[limits]\nfunction_output = 200000\n");
    let mut client = env.serve();
    let around = r#"{"messages":[{"role":"user","content":{"type":"text","text":""}}]}"#.len();
    let edge = get(&mut client, "fill", &(200_000 - around).to_string());
    assert_eq!(text(&edge).len(), 200_000 - around);
    let past = get(&mut client, "fill", &(200_001 - around).to_string());
    assert!(
        error(&past).contains("printed more than the limit of 200000 bytes"),
        "{past}"
    );
}

#[test]
fn sixty_five_messages_are_one_too_many() {
    let script = r#"#!/bin/sh
one='{"role":"user","content":{"type":"text","text":""}}'
count=$(sed 's/.*"x":"\([0-9]*\)".*/\1/')
printf '{"messages":[%s' "$one"
i=1; while [ $i -lt "$count" ]; do printf ',%s' "$one"; i=$((i+1)); done
printf ']}'
"#;
    let env = trusted(&[("many", script)]);
    let mut client = env.serve();
    let answer = get(&mut client, "many", "64");
    assert_eq!(
        answer["result"]["messages"].as_array().map(Vec::len),
        Some(64)
    );
    assert!(error(&get(&mut client, "many", "65")).contains("the limit is 64"));
}

#[test]
fn all_processes_together_are_held_to_one_limit() {
    // Each of them keeps what it has read until nothing more can come.
    let memory = r"#!/bin/sh
hold() { (head -c 200000000 /dev/zero; exec sleep 72030@@) | tail -c 200000000 >/dev/null; }
hold & hold & hold & hold & wait
";
    // A copy of a large process shares almost all of it.
    let shared = r#"#!/usr/bin/env perl
my $text = 'x' x 100_000_000;
for (1 .. 9) { fork // die or do { select(undef, undef, undef, 0.3); exit } }
1 while wait != -1;
print '{"messages":[{"role":"user","content":{"type":"text","text":"shared"}}]}';
"#;
    let bomb = "#!/bin/sh\nbomb() { bomb & bomb & exec sleep 72031@@; }\nbomb\n";
    let env = trusted(&[
        ("memory", memory),
        ("shared", shared),
        ("bomb", bomb),
        ("hello", HELLO),
    ]);
    // A busy machine needs its time to fill the memory.
    limit(&env, "[limits]\nfunction_millis = 60000\n");
    let mut client = env.serve();
    let answer = get(&mut client, "memory", "");
    let expected =
        "needed more memory than the limit of 512 MiB for all its processes together and was ended";
    assert!(error(&answer).contains(expected), "{answer}");
    super::wait_until(false, "72030", Duration::from_secs(1));
    if super::has("perl") {
        assert_eq!(text(&get(&mut client, "shared", "")), "shared");
    }
    // The system keeps everybody but root to the limit, and shells then try again and again.
    let is_root = rustix::process::getuid().is_root();
    let millis = if is_root { 60_000 } else { 2_000 };
    limit(&env, &format!("[limits]\nfunction_millis = {millis}\n"));
    let mut client = env.serve();
    let answer = get(&mut client, "bomb", "");
    if is_root {
        let expected = "started more processes and threads than the limit of 128 and was ended";
        assert!(error(&answer).contains(expected), "{answer}");
    } else {
        error(&answer);
    }
    super::wait_until(false, "72031", Duration::from_secs(1));
    assert_eq!(text(&get(&mut client, "hello", "")), "hello");
}
