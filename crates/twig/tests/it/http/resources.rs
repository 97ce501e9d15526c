//! Documents over HTTP: read by requests that stand alone, watched on streams.

use std::fs;

use serde_json::{Value, json};

use super::Served;
use super::client::{ACCEPT, Caller};

const LISTS: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";
const NOTE: &str = "twig://lib/notes/a";

fn served() -> Served {
    let served = Served::new();
    let mut caller = served.caller();
    caller.listen_for(&json!({"resourcesListChanged": true}));
    caller.event();
    served.env.write("lib/docs/notes/a.md", "# A\n");
    assert_eq!(next(&mut caller), LISTS);
    served
}

fn next(caller: &mut Caller) -> String {
    let event = caller.event().expect("an announcement");
    event["method"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_stream_tells_of_documents_that_are_edited_come_and_go() {
    let served = served();
    let mut caller = served.caller();
    let read = caller.modern("resources/read", json!({"uri": NOTE}));
    assert_eq!(read.status, 200);
    assert_eq!(read.json()["result"]["contents"][0]["text"], "# A\n");
    let unknown = caller.modern("resources/read", json!({"uri": "twig://lib/none"}));
    assert_eq!((unknown.status, unknown.code()), (200, -32602));
    let mut stream = served.caller();
    let wish =
        json!({"resourcesListChanged": true, "resourceSubscriptions": [NOTE, "twig://lib/none"]});
    assert_eq!(stream.listen_for(&wish).status, 200);
    let first = stream.event().expect("the acknowledgement");
    assert_eq!(
        first["params"]["notifications"],
        json!({"resourcesListChanged": true, "resourceSubscriptions": [NOTE]})
    );
    served.env.write("lib/docs/notes/a.md", "# A\n\nEdited.\n");
    let told = stream.event().expect("an announcement");
    let id = json!({"io.modelcontextprotocol/subscriptionId": 1});
    assert_eq!(told["method"], UPDATED);
    assert_eq!(told["params"], json!({"uri": NOTE, "_meta": id}));
    served.env.write("lib/docs/notes/b.md", "# B\n");
    assert_eq!(next(&mut stream), LISTS);
    fs::remove_file(served.env.data().join("lib/docs/notes/a.md")).expect("ours");
    assert_eq!([next(&mut stream), next(&mut stream)], [LISTS, UPDATED]);
    let listed = caller.modern("resources/list", json!({})).json();
    let uris: Vec<&Value> = listed["result"]["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| &it["uri"])
        .collect();
    assert_eq!(uris, ["twig://lib/notes/b"]);
}

#[test]
fn a_session_hears_of_what_it_subscribed_to_even_if_it_was_away() {
    let served = served();
    let mut caller = served.caller();
    let session = caller.initialize();
    let subscribed = caller.legacy(&session, "resources/subscribe", json!({"uri": NOTE}));
    assert_eq!(subscribed.json()["result"], json!({}));
    let get = [("mcp-session-id", &*session), ("accept", ACCEPT)];
    let mut other = served.caller();
    other.listen_for(&json!({"resourceSubscriptions": [NOTE]}));
    other.event();
    served.env.write("lib/docs/notes/a.md", "# A\n\nEdited.\n");
    assert_eq!(next(&mut other), UPDATED);
    let mut stream = served.caller();
    stream.start("GET", &get, b"");
    assert_eq!(stream.head().status, 200);
    let told = stream.event();
    assert_eq!(
        told,
        Some(json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": NOTE}}))
    );
    // Whoever comes back hears of nothing twice.
    let mut again = served.caller();
    again.start("GET", &get, b"");
    assert_eq!(again.head().status, 200);
    served.env.write("lib/docs/notes/a.md", "# Another title\n");
    assert_eq!([next(&mut again), next(&mut again)], [LISTS, UPDATED]);
}
