//! A disk that is slow holds up who asks for it, and nobody else.

use std::io::ErrorKind::WouldBlock;

use serde_json::json;

use super::Served;
use super::client::{Caller, get, modern};

/// Whether nothing has come back yet.
fn still_waits(caller: &Caller) -> bool {
    let stream = caller.stream.get_ref();
    stream.set_nonblocking(true).expect("a socket");
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).expect("a socket");
    peeked.is_err_and(|error| error.kind() == WouldBlock)
}

#[test]
fn a_save_under_way_holds_up_its_readers_only() {
    let served = Served::new();
    // More of them than there are threads.
    let mut readers: Vec<Caller> = (0..8).map(|_| served.caller()).collect();
    let mut other = served.caller();
    let mut session = served.caller();
    let id = session.initialize();
    let params = json!({"name": "lib:hello", "arguments": {"name": "Ada"}});
    let body = modern("prompts/get", params).to_string();
    // On a busy machine the wait may be over too soon to tell.
    let told = (0..4).any(|_| {
        // An editor that writes anew begins with an empty file, which is waited for.
        served.env.write("lib/prompts/hello.md", "");
        for reader in &mut readers {
            reader.start("POST", &get("lib:hello"), body.as_bytes());
        }
        assert_eq!(other.modern("prompts/list", json!({})).status, 200);
        assert_eq!(session.legacy(&id, "ping", json!({})).status, 200);
        let told = readers.iter().all(still_waits);
        for reader in &mut readers {
            assert_eq!(reader.response().status, 200);
        }
        told
    });
    assert!(told, "everybody waits");
}

/// A pattern that is as slow as patterns can be, and values that it looks at to their ends.
#[test]
fn a_slow_pattern_holds_up_who_asks_for_it_only() {
    let env = crate::env(
        "//- lib/prompts/p.md\n{{ a }}\n//- lib/twig.toml\n[prompts.p]\n[[prompts.p.arguments]]\nname = \"a\"\npattern = '(?:.?){130}!$'\n[[prompts.p.arguments]]\nname = \"b\"\npattern = '(?:.?){130}!$'\n",
    );
    let served = Served::from_env(env);
    let mut other = served.caller();
    let mut asking = served.caller();
    let value = |bytes: usize| "a".repeat(bytes - 1) + "!";
    let ask = |a: usize, b: usize| {
        let arguments = json!({"a": value(a), "b": value(b)});
        modern(
            "prompts/get",
            json!({"name": "lib:p", "arguments": arguments}),
        )
        .to_string()
    };
    // On a busy machine the wait may be over too soon to tell.
    let told = (0..4).any(|_| {
        let body = ask(32 * 1024, 32 * 1024);
        asking.start("POST", &get("lib:p"), body.as_bytes());
        assert_eq!(other.modern("prompts/list", json!({})).status, 200);
        let told = still_waits(&asking);
        let answer = asking.response().json();
        assert!(answer.get("result").is_some(), "{answer}");
        told
    });
    assert!(told, "somebody else is answered first");
    asking.start("POST", &get("lib:p"), ask(32 * 1024, 33 * 1024).as_bytes());
    let answer = asking.response().json();
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(
        message,
        "The text of all arguments that have a pattern exceeds the limit of 65536 bytes"
    );
}
