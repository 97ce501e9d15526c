//! Edits of documents while a server runs.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::TestClient;

use super::{DOCUMENTS, read, started, uris};
use crate::env;

const LISTS: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";
const PROMPTS: &str = "notifications/prompts/list_changed";
const ID: &str = "io.modelcontextprotocol/subscriptionId";
const OVERVIEW: &str = "twig://lib/overview";

fn subscribe(client: &mut TestClient, uri: &str) {
    let answer = client.request("resources/subscribe", json!({"uri": uri}));
    assert_eq!(answer["result"], json!({}));
}

fn listen(client: &mut TestClient, notifications: &Value) -> (u64, Value) {
    let params = json!({"notifications": notifications});
    let id = client.start_modern("subscriptions/listen", params);
    let told = client.notification("notifications/subscriptions/acknowledged");
    (id, told["params"]["notifications"].clone())
}

/// Waits until the documents are as expected; each change comes with an announcement.
fn settles_on(client: &mut TestClient, holds: impl Fn(&[String]) -> bool) {
    while !holds(&uris(client)) {
        client.notification(LISTS);
    }
}

#[test]
fn an_edit_is_told_to_those_who_watch_the_document_and_to_nobody_else() {
    let env = env(DOCUMENTS);
    let mut client = started(&env);
    subscribe(&mut client, OVERVIEW);
    let wanted = json!({"resourcesListChanged": true, "promptsListChanged": true,
        "resourceSubscriptions": [OVERVIEW, "twig://lib/none", OVERVIEW, "twig://lib/adr/001"]});
    let (id, honoured) = listen(&mut client, &wanted);
    assert_eq!(
        honoured["resourceSubscriptions"],
        json!([OVERVIEW, "twig://lib/adr/001"])
    );
    env.write("lib/docs/overview.md", "# The overview\n\nEdited.\n");
    let legacy = client.wait_for(|m| m["method"] == UPDATED && m["params"].get("_meta").is_none());
    assert_eq!(legacy["params"], json!({"uri": OVERVIEW}));
    let modern = client.wait_for(|m| m["method"] == UPDATED && m["params"]["_meta"][ID] == id);
    assert_eq!(modern["params"]["uri"], OVERVIEW);
    assert_eq!(
        read(&mut client, OVERVIEW)["text"],
        "# The overview\n\nEdited.\n"
    );
    // A prompt's text is no document; the next announcement is that of the decision.
    env.write("lib/prompts/p.md", "edited\n");
    env.write("lib/docs/data/hosts.json", "[]");
    env.write(
        "lib/docs/adr/001-microservices-architecture.md",
        "# Use microservices\n\nNo.\n",
    );
    let modern = client.wait_for(|m| m["method"] == UPDATED && m["params"]["_meta"][ID] == id);
    assert_eq!(modern["params"]["uri"], "twig://lib/adr/001");
    for method in [UPDATED, LISTS, PROMPTS] {
        assert_eq!(client.pending(method), 0, "{method}");
    }
}

#[test]
fn documents_that_come_go_and_get_another_title_change_the_list() {
    let env = env(DOCUMENTS);
    let mut client = started(&env);
    let (id, _) = listen(&mut client, &json!({"resourcesListChanged": true}));
    subscribe(&mut client, OVERVIEW);
    let heard = |client: &mut TestClient| {
        client.wait_for(|m| m["method"] == LISTS && m["params"]["_meta"][ID] == id);
        client.wait_for(|m| m["method"] == LISTS && m.get("params").is_none());
    };
    env.write("lib/docs/new/deeper/note.txt", "note");
    heard(&mut client);
    settles_on(&mut client, |uris| {
        uris.contains(&"twig://lib/new/deeper/note.txt".to_owned())
    });
    client.forget();
    env.write("lib/docs/overview.md", "# Another title\n");
    heard(&mut client);
    client.notification(UPDATED);
    assert_eq!(super::list(&mut client)[3]["title"], "Another title");
    fs::remove_file(env.data().join("lib/docs/overview.md")).expect("ours");
    heard(&mut client);
    assert_eq!(client.notification(UPDATED)["params"]["uri"], OVERVIEW);
    assert_eq!(read(&mut client, OVERVIEW)["code"], -32602);
    env.write("lib/docs/overview.md", "# Back\n");
    heard(&mut client);
    client.notification(UPDATED);
    client.request("resources/unsubscribe", json!({"uri": OVERVIEW}));
    // A new file may be seen before it was written to; what was told until now does not count.
    client.forget();
    fs::remove_dir_all(env.data().join("lib/docs")).expect("ours");
    settles_on(&mut client, <[String]>::is_empty);
    assert_eq!(client.pending(UPDATED), 0);
    assert_eq!(client.pending(PROMPTS), 0);
}

#[test]
fn a_documents_folder_may_come_later_and_be_another_one() {
    let env = env("//- lib/twig.toml\n[library]\n");
    let mut client = started(&env);
    assert_eq!(uris(&mut client), [] as [&str; 0]);
    env.write("lib/mcp/resources/a.md", "# A\n");
    settles_on(&mut client, |uris| uris == ["twig://lib/a"]);
    env.write("lib/docs/b.md", "# B\n");
    settles_on(&mut client, |uris| uris == ["twig://lib/b"]);
    env.write("lib/elsewhere/c.md", "# C\n");
    env.write(
        "lib/twig.toml",
        "[documents]\nfolder = \"elsewhere\"\nscheme = \"team\"\n",
    );
    settles_on(&mut client, |uris| uris == ["team://c"]);
    // A manifest that cannot be read leaves what was good, and documents go on being followed.
    env.write("lib/twig.toml", "[documents\n");
    env.write("lib/elsewhere/d.md", "# D\n");
    settles_on(&mut client, |uris| uris == ["team://c", "team://d"]);
}

#[test]
fn a_listing_under_way_goes_on_across_a_reload() {
    let env = env(DOCUMENTS);
    fs::create_dir_all(env.home().join(".config/twig")).expect("ours");
    let config = env.home().join(".config/twig/config.toml");
    fs::write(config, "[limits]\npage = 2\n").expect("ours");
    let mut client = started(&env);
    let first = client.request("resources/list", json!({}))["result"].clone();
    let cursor = first["nextCursor"].clone();
    // An edit leaves the cursor as it is; a new document leaves the pages that were begun.
    env.write("lib/docs/overview.md", "# The overview\n\nLonger text.\n");
    env.write("lib/docs/a-new-one.md", "# New\n");
    client.notification(LISTS);
    let second = client.request("resources/list", json!({"cursor": cursor}))["result"].clone();
    assert_eq!(second["resources"][0]["uri"], OVERVIEW);
    let cursor = second["nextCursor"].clone();
    let third = client.request("resources/list", json!({"cursor": cursor}))["result"].clone();
    assert_eq!(third["resources"].as_array().map(Vec::len), Some(1));
    assert_eq!(third.get("nextCursor"), None);
    let wrong = client.request("prompts/list", json!({"cursor": cursor}));
    assert_eq!(wrong["error"]["code"], -32602);
}

#[test]
fn what_is_read_is_never_older_than_the_file() {
    let env = env(DOCUMENTS);
    let mut client = started(&env);
    for round in 0..50 {
        let text = format!("# The overview\n\nRound {round}\n");
        env.write("lib/docs/overview.md", &text);
        assert_eq!(read(&mut client, OVERVIEW)["text"], text);
    }
}
