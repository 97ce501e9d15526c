//! Webhooks: hints of git hosts.

use std::fs;
use std::time::Instant;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{FollowTest, Following};
use crate::http::Response;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A server that looks once a day, unless a webhook comes.
fn started() -> Following {
    let test = FollowTest::new();
    let secret = test.env.root().join("hook-secret");
    fs::write(&secret, format!("{SECRET}\n")).expect("a file");
    let rest = format!("[http]\nhook_secret_file = \"{}\"", secret.display());
    test.configure_every(86_400, &rest);
    let mut server = test.serve();
    server.wait_for("one");
    server
}

fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(body);
    let bytes = mac.finalize().into_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

fn send(server: &Following, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let caller = server.replica.served.caller().at("/hooks/git");
    { caller }.send("POST", headers, body)
}

#[test]
fn a_webhook_of_either_host_is_followed_at_once() {
    let mut server = started();
    server.push("two");
    let body = br#"{"ref": "refs/heads/main"}"#;
    let signed = signature(SECRET, body);
    let response = send(&server, &[("x-hub-signature-256", &signed)], body);
    assert_eq!((response.status, &*response.body), (202, &b""[..]));
    server.wait_for("two");
    server.push("three");
    let response = send(&server, &[("x-gitlab-token", SECRET)], b"{}");
    assert_eq!(response.status, 202);
    server.wait_for("three");
}

#[test]
fn webhooks_that_are_wrong_too_long_or_for_nobody_do_nothing() {
    let server = started();
    let before = server.git.request_count();
    let body = b"{}";
    let (signed, other) = (signature(SECRET, body), signature("x", body));
    let upper = signed.to_uppercase();
    let cases: [&[(&str, &str)]; 8] = [
        &[],
        &[("x-hub-signature-256", &other)],
        &[("x-hub-signature-256", &signed[..70])],
        &[("x-hub-signature-256", "sha256=")],
        &[("x-hub-signature-256", &upper)],
        &[("x-gitlab-token", "0123456789abcdef0123456789abcdee")],
        &[("x-gitlab-token", "")],
        // One that is wrong is not made good by another one.
        &[("x-hub-signature-256", &other), ("x-gitlab-token", SECRET)],
    ];
    for headers in cases {
        let response = send(&server, headers, body);
        assert_eq!(
            (response.status, &*response.body),
            (401, &b""[..]),
            "{headers:?}"
        );
    }
    let changed = send(&server, &[("x-hub-signature-256", &signed)], b"{ }");
    assert_eq!(changed.status, 401);
    let long = vec![b'x'; 64 * 1024 + 1];
    let long_signed = signature(SECRET, &long);
    let long = send(&server, &[("x-hub-signature-256", &long_signed)], &long);
    assert_eq!(long.status, 413);
    let page = [
        ("origin", "http://evil.example"),
        ("x-gitlab-token", SECRET),
    ];
    assert_eq!(send(&server, &page, body).status, 403);
    let host = [("host", "evil.example"), ("x-gitlab-token", SECRET)];
    assert_ne!(send(&server, &host, body).status, 202);
    let mut caller = server.replica.served.caller().at("/hooks/git");
    assert_eq!(caller.send("GET", &[], b"").status, 405);
    assert_eq!(server.git.request_count(), before);
}

#[test]
fn many_webhooks_are_a_few_looks() {
    let mut server = started();
    let count = |server: &Following| {
        let requests = server.git.requests();
        requests
            .iter()
            .filter(|it| it.contains("info/refs"))
            .count()
    };
    let (before, start) = (count(&server), Instant::now());
    for _ in 0..50 {
        assert_eq!(
            send(&server, &[("x-gitlab-token", SECRET)], b"{}").status,
            202
        );
    }
    let looks = count(&server) - before;
    let seconds = usize::try_from(start.elapsed().as_secs()).unwrap();
    assert!(looks <= seconds + 2, "{looks} looks in {seconds} s");
    // None is lost.
    server.push("two");
    assert_eq!(
        send(&server, &[("x-gitlab-token", SECRET)], b"{}").status,
        202
    );
    server.wait_for("two");
}

#[test]
fn without_a_secret_there_is_no_such_address() {
    let mut server = FollowTest::new().serve();
    server.wait_for("one");
    assert_eq!(
        send(&server, &[("x-gitlab-token", SECRET)], b"{}").status,
        404
    );
}
