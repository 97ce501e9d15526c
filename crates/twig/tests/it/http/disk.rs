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
