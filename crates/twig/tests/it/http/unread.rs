//! Replies that are asked for and not read: they cost little, and others are served meanwhile.

use serde_json::json;

use super::client::Caller;
use super::{LIBRARY, Served};
use crate::{env, memory_kib};

/// Clients that do not read, and bytes of the document that they ask for; more of both where
/// `TWIG_TEST_UNREAD` says how many clients.
fn sizes() -> (usize, usize) {
    let readers = std::env::var("TWIG_TEST_UNREAD").ok();
    match readers.and_then(|readers| readers.parse().ok()) {
        Some(readers) => (readers, 16 << 20),
        None => (20, 6 << 20),
    }
}

/// A server of three documents of so many bytes.
fn served(length: usize, config: &str) -> Served {
    let env = env(LIBRARY);
    env.configure(config);
    env.write(
        "lib/docs/text.txt",
        "hello, this is a long text with few line ends...............\n\n\n\n".repeat(length / 64),
    );
    env.write("lib/docs/other.bin", [1, 0].repeat(length / 2));
    env.write("lib/docs/bytes.bin", vec![0; length]);
    Served::from_env(env)
}

const BYTES: &str = "twig://lib/bytes.bin";
const OTHER: &str = "twig://lib/other.bin";
const TEXT: &str = "twig://lib/text.txt";

/// Asks for a document, and reads no more than the head of the reply.
fn ask(served: &Served, uri: &str) -> (Caller, u16) {
    let mut caller = served.caller();
    caller.start_modern("resources/read", json!({"uri": uri}));
    let head = caller.head();
    (caller, head.status)
}

#[test]
fn a_document_that_many_do_not_read_is_held_once() {
    let (readers, length) = sizes();
    let served = served(length, "");
    let mut unread = Vec::new();
    for reader in 0..readers {
        let (caller, status) = ask(&served, if reader % 2 == 0 { BYTES } else { TEXT });
        assert_eq!(status, 200);
        unread.push(caller);
    }
    let memory = memory_kib(served.child.id(), "VmHWM");
    assert!(memory < 100 * 1024, "{memory} KiB");
    served.is_well();
    // Another client gets the whole of it.
    let read = served
        .caller()
        .modern("resources/read", json!({"uri": TEXT}));
    let text = &read.json()["result"]["contents"][0]["text"];
    assert_eq!(text.as_str().map(str::len), Some(length));
    let read = served
        .caller()
        .modern("resources/read", json!({"uri": BYTES}));
    let blob = &read.json()["result"]["contents"][0]["blob"];
    assert_eq!(blob.as_str().map(str::len), Some(length.div_ceil(3) * 4));
}

#[test]
fn a_document_that_changes_is_sent_as_it_is_now() {
    let served = served(1 << 20, "");
    let (_unread, status) = ask(&served, TEXT);
    assert_eq!(status, 200);
    served
        .env
        .write("lib/docs/text.txt", "other!\n\n".repeat(1 << 17));
    let read = served
        .caller()
        .modern("resources/read", json!({"uri": TEXT}));
    let text = read.json()["result"]["contents"][0]["text"].clone();
    assert!(text.as_str().is_some_and(|text| text.starts_with("other!")));
}

#[test]
fn waiting_for_room_has_an_end() {
    let config = "[http]\nreply_bytes = 6000000\n[limits]\nqueue_millis = 100\n";
    let served = served(6 << 20, config);
    // On a machine that is slow enough the first one makes room before the other has waited.
    let busy = (0..100).find_map(|_| {
        let (_first, status) = ask(&served, BYTES);
        assert_eq!(status, 200);
        let other = served
            .caller()
            .modern("resources/read", json!({"uri": OTHER}));
        // What takes no room does not wait.
        served.is_well();
        (other.status != 200).then_some(other)
    });
    let busy = busy.expect("one that waited in vain");
    assert_eq!((busy.status, busy.code()), (503, -32603));
    let answer = busy.json();
    assert_eq!(
        answer["error"]["message"],
        "Too many requests are waiting: ask again in a moment"
    );
    assert_eq!(answer["id"], 1);
}

#[test]
fn who_takes_nothing_makes_room_for_who_waits() {
    let served = served(6 << 20, "[http]\nreply_bytes = 6000000\n");
    let (mut first, status) = ask(&served, BYTES);
    assert_eq!(status, 200);
    let read = served
        .caller()
        .modern("resources/read", json!({"uri": OTHER}));
    assert_eq!(read.status, 200);
    let rest = first.rest();
    assert!(rest.len() < 6 << 20, "{}", rest.len());
}
