//! The screens of the page: versions, clients, the palette, completion and images.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use super::browse::{get, key, post};
use super::client::{Caller, Response};
use super::{LIBRARY, Served};
use crate::env;

/// What a page is answered.
fn ask(served: &Served, key: &str, path: &str) -> Response {
    let bearer = format!("Bearer {key}");
    get(served, path, &[("authorization", &bearer)])
}

/// The HTML of a screen that is there.
fn html(served: &Served, key: &str, path: &str) -> String {
    let answer = ask(served, key, path);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    String::from_utf8(answer.body).expect("HTML is text")
}

fn say(served: &Served, key: &str, path: &str, body: &Value) -> Response {
    post(served.caller().with_key(key), path, &[], body)
}

/// An environment with a project that has a prompt in two versions.
fn garden() -> TestEnv {
    let env = env(LIBRARY);
    for args in [
        &["project", "create", "garden"][..],
        &[
            "prompt",
            "add",
            "water",
            "-p",
            "garden",
            "-c",
            "Water the beds.\nTwice.\n",
            "-d",
            "<b>What</b>",
        ],
    ] {
        assert_eq!(env.run(args.iter().copied()).code, 0, "{args:?}");
    }
    let mut client = env.serve_with(["-p", "garden"]);
    client.initialize();
    let update = json!({ "name": "water", "content": "Water the raised beds.\nTwice.\n" });
    let update = json!({ "name": "update_prompt", "arguments": update });
    let answer = client.request("tools/call", update);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    drop(client);
    env
}

#[test]
fn the_owner_sees_versions_of_projects_and_what_changed() {
    let served = Served::from_env(garden());
    let key = key(&served);
    assert!(html(&served, &key, "/page/list").contains("/p/garden:water"));
    let listed = html(&served, &key, "/page/history?name=garden:water");
    for part in [
        "value=\"2\"",
        "created",
        "changed",
        "&lt;b&gt;What&lt;/b&gt;",
        "data-newest=\"2\"",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let path = "/page/history?name=garden:water&from=1&to=2";
    let compared = html(&served, &key, path);
    assert!(compared.contains("<ins>raised </ins>"), "{compared}");
    // A version that is not there is a sentence, not an error.
    let path = "/page/history?name=garden:water&from=2&to=9";
    assert!(html(&served, &key, path).contains("Version 9 is not kept."));
    assert_eq!(
        ask(&served, &key, "/page/history?name=garden:none").status,
        404
    );
    assert_eq!(ask(&served, &key, "/page/history").status, 400);
    // Twig keeps no versions of a file; whose machine it is gets a command.
    let file = html(&served, &key, "/page/history?name=lib:hello");
    assert!(
        file.contains("log --follow -p -- prompts/hello.md"),
        "{file}"
    );
}

/// The stream of a page, after its first event.
fn events(served: &Served, key: &str) -> Caller {
    let mut caller = served.caller().at("/page/events").with_key(key);
    caller.start("GET", &[], b"");
    assert_eq!(caller.head().status, 200);
    caller.event().expect("the numbers as they are");
    caller
}

#[test]
fn a_page_is_notified_of_a_text_that_no_list_shows() {
    let served = Served::new();
    let key = key(&served);
    let mut events = events(&served, &key);
    let path = "/page/prompt?name=lib:hello";
    assert!(html(&served, &key, path).contains("Hello "));
    let file = served.env.data().join("lib/prompts/hello.md");
    fs::write(&file, "Good morning {{ name }}!\n").unwrap();
    let news = events.event().expect("news");
    assert!(html(&served, &key, path).contains("Good morning "));
    // A save that replaces the file, as editors do.
    let beside = file.with_file_name(".hello.md.new");
    fs::write(&beside, "Good night {{ name }}!\n").unwrap();
    fs::rename(&beside, &file).unwrap();
    let later = events.event().expect("news");
    assert!(later["texts"].as_u64() > news["texts"].as_u64(), "{later}");
    assert!(html(&served, &key, path).contains("Good night "));
}

#[test]
fn a_page_is_notified_of_a_new_version_of_the_selected_project() {
    let env = garden();
    let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
    command.args(["-p", "garden"]);
    let served = Served::start(env, command);
    let key = key(&served);
    let mut events = events(&served, &key);
    let path = "/page/prompt?name=water";
    assert!(html(&served, &key, path).contains("the raised beds"));
    let new = ["prompt", "update", "water", "-p", "garden", "-c", "Wait.\n"];
    let outcome = served.env.run(new);
    assert_eq!(outcome.code, 0, "{outcome}");
    events.event().expect("news");
    assert!(html(&served, &key, path).contains("Wait."));
}

#[test]
fn a_version_is_restored_unless_something_was_written_meanwhile() {
    let served = Served::from_env(garden());
    let key = key(&served);
    let restore = |expected: u64| {
        let body = json!({ "name": "garden:water", "version": 1, "expected": expected });
        say(&served, &key, "/page/restore", &body)
    };
    let stale = restore(1);
    assert_eq!(stale.status, 412);
    assert!(
        stale.json()["why"]
            .as_str()
            .unwrap_or_default()
            .contains("meantime")
    );
    let done = restore(2);
    assert_eq!((done.status, &done.json()["version"]), (200, &json!(3)));
    let shown = served.env.run(["prompt", "show", "water", "-p", "garden"]);
    assert_eq!(shown.stdout, "Water the beds.\nTwice.\n");
    let body = json!({ "name": "lib:hello", "version": 1, "expected": 1 });
    assert_eq!(say(&served, &key, "/page/restore", &body).status, 404);
    let body =
        json!({ "name": "garden:water", "version": 1, "expected": 3, "path": "/etc/passwd" });
    assert_eq!(say(&served, &key, "/page/restore", &body).status, 400);
}

#[test]
fn what_a_save_replaced_is_compared_with_the_file_of_now() {
    let served = Served::from_env(env(LIBRARY));
    let key = key(&served);
    let bearer = format!("Bearer {key}");
    let path = "/page/source?prompt=lib:hello";
    let digest = ask(&served, &key, path).json()["digest"].to_string();
    let headers = [
        ("authorization", &*bearer),
        ("content-type", "application/json"),
        ("if-match", &*digest),
    ];
    let body = json!({ "text": "Hello dear {{ name }}!\n" }).to_string();
    let mut caller = served.caller().at(path);
    let saved = caller.send("PUT", &headers, body.as_bytes());
    assert_eq!(saved.status, 200, "{saved:?}");
    let listed = html(&served, &key, "/page/history?name=lib:hello");
    let (_, rest) = listed.split_once("?replaced=").expect("a version");
    let (replaced, _) = rest.split_once('"').expect("an end");
    let path = format!("/page/history?name=lib:hello&replaced={replaced}");
    let compared = html(&served, &key, &path);
    assert!(compared.contains("<ins>dear </ins>"), "{compared}");
    let none = format!("{}0", &path[..path.len() - 1]);
    let other = format!("{}1", &path[..path.len() - 1]);
    let none = if none == path { other } else { none };
    assert!(html(&served, &key, &none).contains("not kept any more"));
}

#[test]
fn a_reader_sees_versions_and_restores_nothing() {
    let env = garden();
    let made = env.run(["key", "create", "ada", "--role", "reader"]);
    assert_eq!(made.code, 0, "{made}");
    let secret = made.stdout.trim().to_owned();
    let mut command = env.command(["serve", "--http", "127.0.0.1:0", "--page-edit"]);
    command.env("RUST_BACKTRACE", "0");
    let served = Served::start(env, command);
    let entered = post(
        served.caller(),
        "/page/enter",
        &[],
        &json!({ "secret": secret }),
    );
    let key = entered.json()["key"].as_str().expect("a key").to_owned();
    let path = "/page/history?name=garden:water&from=2&to=1";
    assert!(!html(&served, &key, path).contains("data-restore"));
    let body = json!({ "name": "garden:water", "version": 1, "expected": 2 });
    assert_eq!(say(&served, &key, "/page/restore", &body).status, 403);
    // Nothing tells of the machine of the server, and no command of it is run.
    let connect = html(&served, &key, "/page/connect");
    let root = served.env.home().display().to_string();
    assert!(
        connect.contains("Authorization: Bearer YOUR_KEY"),
        "{connect}"
    );
    assert!(
        !connect.contains(&root) && !connect.contains(&secret),
        "{connect}"
    );
    assert!(connect.contains(&format!("http://127.0.0.1:{}/mcp", served.port)));
    let secure = html(&served, &key, "/page/connect?scheme=https");
    assert!(secure.contains("https://127.0.0.1:"), "{secure}");
    for word in ["reach", "updates", "verify"] {
        let answer = say(&served, &key, &format!("/page/{word}"), &json!({}));
        assert_eq!(answer.status, 404, "{word}");
    }
    let file = html(&served, &key, "/page/history?name=lib:hello");
    assert!(!file.contains("git -C"), "{file}");
}

#[test]
fn the_owner_sees_which_clients_have_twig() {
    let env = env(LIBRARY);
    let cursor = env.home().join(".cursor");
    fs::create_dir_all(cursor.join("extensions")).expect("a folder");
    assert_eq!(env.run(["connect", "cursor"]).code, 0);
    fs::create_dir_all(env.home().join(".claude")).expect("a folder");
    let served = Served::from_env(env);
    let key = key(&served);
    let shown = html(&served, &key, "/page/connect");
    assert!(
        shown.contains("2 clients found on this machine, 1 with Twig."),
        "{shown}"
    );
    assert!(shown.contains("twig connect claude-code"), "{shown}");
    assert!(shown.contains("href=\"vscode:mcp/install?%7B"), "{shown}");
    let reached = say(&served, &key, "/page/reach", &json!({}));
    let reached = String::from_utf8(reached.body).expect("text");
    assert!(
        reached.contains("cursor") && reached.contains("reaches Twig"),
        "{reached}"
    );
    let updates = say(&served, &key, "/page/updates", &json!({}));
    let updates = String::from_utf8(updates.body).expect("text");
    assert!(updates.contains("newest version"), "{updates}");
}

#[test]
fn values_are_completed_and_the_palette_finds() {
    let library = r#"
//- lib/twig.toml
[prompts.pick]
[[prompts.pick.arguments]]
name = "size"
choices = ["small", "Small too", "large"]
//- lib/prompts/pick.md
{{ size }}
"#;
    let served = Served::from_env(env(library));
    let key = key(&served);
    let complete = |name: &str, value: &str| {
        let body = json!({ "name": name, "argument": "size", "value": value });
        say(&served, &key, "/page/complete", &body)
    };
    let found = complete("lib:pick", "SM").json();
    assert_eq!(found["values"], json!(["small", "Small too"]));
    assert_eq!(complete("lib:none", "").status, 404);
    let found = html(&served, &key, "/page/palette?q=pick");
    assert!(found.contains("data-address=\"/p/lib:pick\""), "{found}");
    assert_eq!(html(&served, &key, "/page/palette?q="), "");
    assert!(html(&served, &key, "/page/peek?name=lib:pick").contains("{{ size }}"));
}

#[test]
fn images_are_bytes_of_no_type_and_svg_is_none() {
    let env = env(
        "//- lib/docs/a.md\n# A\n//- lib/twig.toml\n[library]\ndescription = \"Images\"\n//- lib/docs/leaf.svg\n<svg/>\n",
    );
    env.write("lib/docs/dot.png", b"\x89PNG\r\n\x1a\n....");
    let served = Served::from_env(env);
    let key = key(&served);
    let image = ask(&served, &key, "/page/media?uri=twig://lib/dot.png");
    assert_eq!((image.status, &image.body[..4]), (200, &b"\x89PNG"[..]));
    assert_eq!(
        image.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(image.header("x-content-type-options"), Some("nosniff"));
    for path in [
        "/page/media?uri=twig://lib/leaf.svg",
        "/page/media?uri=twig://lib/a",
        "/page/media?uri=twig://lib/none",
        "/page/media?prompt=lib:none&message=0",
        "/page/media",
    ] {
        assert_eq!(ask(&served, &key, path).status, 404, "{path}");
    }
}
