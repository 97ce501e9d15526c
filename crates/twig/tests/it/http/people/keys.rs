//! Keys: who is let in, and until when.

use std::fs;

use serde_json::json;
use twig_testkit::MODERN;

use super::super::client::modern;
use super::super::{LIBRARY, Served};
use super::{done, key};
use crate::env;

/// T-KEY-01
#[test]
fn only_a_key_that_works_opens_the_door() {
    let env = env(LIBRARY);
    let good = key(&env, "anna", "reader", &[]);
    let gone = key(&env, "bob", "reader", &[]);
    done(&env, ["key", "revoke", "bob"]);
    let served = Served::from_env(env);
    let ping = |headers: &[(&str, &str)], path: &str| {
        let mut caller = served.caller().at(path);
        let mut all = vec![
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "prompts/list"),
        ];
        all.extend_from_slice(headers);
        caller.post(&all, &modern("prompts/list", json!({})))
    };
    let bearer = |key: &str| format!("Bearer {key}");
    let right = bearer(&good);
    assert_eq!(ping(&[("authorization", &right)], "/mcp").status, 200);
    let lower = right.replace("Bearer", "bearer");
    assert_eq!(ping(&[("authorization", &lower)], "/mcp").status, 200);
    let mut other = good.clone();
    other.replace_range(6..7, if &good[6..7] == "A" { "B" } else { "A" });
    let wrong = [
        bearer(&gone),
        bearer(&other),
        bearer(&good[..good.len() - 1]),
        bearer(&format!("{good}0")),
        bearer(""),
        bearer("twig_"),
        bearer(&good.to_uppercase()),
        format!("Basic {good}"),
        good.clone(),
    ];
    let refusal = ping(&[], "/mcp");
    assert_eq!(refusal.status, 401);
    assert_eq!(
        refusal.header("www-authenticate"),
        Some("Bearer realm=\"twig\"")
    );
    for wrong in &wrong {
        let refused = ping(&[("authorization", wrong)], "/mcp");
        assert_eq!(refused.status, 401, "{wrong}");
        assert_eq!(refused.body, refusal.body, "{wrong}");
    }
    let twice = [("authorization", &*right), ("authorization", &*right)];
    assert_eq!(ping(&twice, "/mcp").status, 401);
    let query = format!("/mcp?key={good}&access_token={good}");
    assert_eq!(ping(&[], &query).status, 401);
}

/// T-KEY-02
#[test]
fn a_revoked_key_closes_its_streams_and_a_new_one_works_without_a_restart() {
    let env = env(LIBRARY);
    let anna = key(&env, "anna", "reader", &[]);
    let bob = key(&env, "bob", "reader", &[]);
    let served = Served::from_env(env);
    let mut stream = served.caller().with_key(&anna);
    assert_eq!(stream.listen().status, 200);
    stream.event();
    let mut legacy = served.caller().with_key(&anna);
    let session = legacy.initialize();
    let get = [
        ("mcp-session-id", &*session),
        ("accept", "text/event-stream"),
    ];
    let mut heard = served.caller().with_key(&anna);
    heard.start("GET", &get, b"");
    assert_eq!(heard.head().status, 200);
    let mut other = served.caller().with_key(&bob);
    other.listen();
    other.event();
    done(&served.env, ["key", "revoke", "anna"]);
    assert_eq!(stream.event(), None, "the stream ends");
    assert_eq!(heard.event(), None, "and so does that of the session");
    let refused = legacy.legacy(&session, "ping", json!({}));
    assert_eq!(refused.status, 401);
    // The other one is still notified.
    served
        .env
        .write("more/twig.toml", "[prompts.p]\ntext = \"x\"\n");
    assert!(other.event().is_some());
    let carl = key(&served.env, "carl", "reader", &[]);
    let mut again = served.caller().with_key(&carl);
    while again.modern("prompts/list", json!({})).status == 401 {
        again = served.caller().with_key(&carl);
    }
}

#[test]
fn the_first_key_closes_a_server_that_asked_for_nothing() {
    let served = Served::new();
    let mut stream = served.caller();
    stream.listen();
    stream.event();
    let mut caller = served.caller();
    assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
    let anna = key(&served.env, "anna", "reader", &[]);
    assert_eq!(stream.event(), None, "who has no key hears nothing more");
    assert_eq!(
        served.caller().modern("prompts/list", json!({})).status,
        401
    );
    let mut caller = served.caller().with_key(&anna);
    assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
    // It stays closed when the last key is revoked, and when the file is lost.
    done(&served.env, ["key", "revoke", "anna"]);
    let file = served.env.home().join(".local/share/twig/access.json");
    assert!(file.exists());
    fs::remove_file(&file).unwrap();
    let mut after = served.caller().with_key(&anna);
    while after.modern("prompts/list", json!({})).status != 401 {
        after = served.caller().with_key(&anna);
    }
    assert_eq!(
        served.caller().modern("prompts/list", json!({})).status,
        401
    );
}

/// T-KEY-03
#[test]
fn a_rotated_key_works_beside_the_old_one_during_the_grace() {
    let env = env(LIBRARY);
    let old = key(&env, "anna", "reader", &[]);
    let served = Served::from_env(env);
    let opens = |key: &str| {
        let mut caller = served.caller().with_key(key);
        caller.modern("prompts/list", json!({})).status == 200
    };
    let rotated = done(&served.env, ["key", "rotate", "anna", "--grace", "1h"]);
    let new = rotated.trim();
    while !opens(new) {}
    assert!(opens(&old));
    let last = done(&served.env, ["key", "rotate", "anna"]);
    while !opens(last.trim()) {}
    assert!(!opens(new) && !opens(&old));
}

#[test]
fn the_token_works_beside_keys() {
    let env = env(LIBRARY);
    let anna = key(&env, "anna", "reader", &[]);
    env.write("token", "0123456789abcdef0123456789abcdef");
    let token = env.data().join("token");
    let args = [
        "serve",
        "--http",
        "127.0.0.1:0",
        "--token-file",
        token.to_str().unwrap(),
    ];
    let command = env.command(args);
    let served = Served::start(env, command);
    for (key, status) in [
        (&*anna, 200),
        ("0123456789abcdef0123456789abcdef", 200),
        ("0123456789abcdef0123456789abcdee", 401),
    ] {
        let mut caller = served.caller().with_key(key);
        assert_eq!(caller.modern("prompts/list", json!({})).status, status);
    }
}

/// T-KEY-04
#[test]
fn no_secret_is_stored_or_logged() {
    let env = env(LIBRARY);
    let mut secrets = Vec::new();
    for number in 0..20 {
        secrets.push(key(&env, &format!("p{number}"), "writer", &[]));
    }
    let command = env.command(["--log-level", "trace", "serve", "--http", "127.0.0.1:0"]);
    let mut served = Served::start(env, command);
    for secret in &secrets {
        let mut caller = served.caller().with_key(secret);
        assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
        let mut wrong = served.caller().with_key(&format!("{secret}x"));
        assert_eq!(wrong.modern("prompts/list", json!({})).status, 401);
    }
    done(&served.env, ["key", "rotate", "p0"]);
    done(&served.env, ["key", "revoke", "p1"]);
    let shown = done(&served.env, ["key", "list", "--all", "--json"]);
    served.signal(rustix::process::Signal::TERM);
    let (_, _, log) = served.ended();
    let record = served.env.home().join(".local/share/twig/access.json");
    let record = fs::read_to_string(record).unwrap();
    for secret in &secrets {
        let part = &secret[16..40];
        for (what, text) in [("log", &log), ("record", &record), ("list", &shown)] {
            assert!(!text.contains(part), "{what}");
        }
    }
}

#[test]
fn a_list_of_keys_that_cannot_be_read_stops_the_start() {
    let env = env(LIBRARY);
    key(&env, "anna", "reader", &[]);
    let file = env.home().join(".local/share/twig/access.json");
    fs::write(&file, "{\"form\": 1, \"keys\": 7}").unwrap();
    let output = env.run(["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("access.json cannot be read"),
        "{output}"
    );
    let output = env.run(["key", "create", "bob", "--role", "reader"]);
    assert_eq!(output.code, 1, "{output}");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "{\"form\": 1, \"keys\": 7}"
    );
}

#[test]
fn a_server_whose_keys_are_lost_does_not_start() {
    let env = env(LIBRARY);
    key(&env, "anna", "reader", &[]);
    let file = env.home().join(".local/share/twig/access.json");
    fs::remove_file(&file).unwrap();
    let output = env.run(["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(output.code, 1);
    assert!(
        output
            .stderr
            .contains("the file is gone, though keys were made"),
        "{output}"
    );
    assert!(output.stderr.contains("access.expected"), "{output}");
    for args in [
        ["key", "list"].as_slice(),
        &["key", "create", "ben", "--role", "reader"],
    ] {
        let output = env.run(args.iter().copied());
        assert_eq!(output.code, 1, "{output}");
    }
    assert!(!file.exists());
    fs::remove_file(file.with_extension("expected")).unwrap();
    assert_eq!(env.run(["key", "list"]).code, 0);
}

#[test]
fn a_body_that_comes_after_the_key_was_revoked_is_refused() {
    let env = super::team();
    let anna = key(&env, "anna", "writer", &["-w", "acme"]);
    let served = Served::from_env(env);
    let mut slow = served.caller().with_key(&anna).at("/mcp/acme/garden");
    let arguments = json!({"name": "late", "content": "x"});
    let params = json!({"name": "create_prompt", "arguments": arguments});
    let body = modern("tools/call", params).to_string();
    let (first, rest) = body.split_at(10);
    slow.raw(format!(
        "POST {} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {anna}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: {MODERN}\r\nmcp-method: tools/call\r\nmcp-name: create_prompt\r\n\
         content-length: {}\r\n\r\n{first}",
        slow.path,
        slow.port,
        body.len()
    ));
    let mut other = served.caller().with_key(&anna);
    assert_eq!(other.modern("prompts/list", json!({})).status, 200);
    done(&served.env, ["key", "revoke", "anna"]);
    while other.modern("prompts/list", json!({})).status != 401 {
        other = served.caller().with_key(&anna);
    }
    slow.raw(rest);
    assert_eq!(slow.response().status, 401);
    let listed = done(
        &served.env,
        ["prompt", "list", "-w", "acme", "-p", "garden"],
    );
    assert!(!listed.contains("late"), "{listed}");
}

#[test]
fn a_key_is_neither_a_token_of_the_server_nor_the_name_of_a_variable() {
    let env = env(LIBRARY);
    let anna = key(&env, "anna", "reader", &[]);
    let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
    command.env("TWIG_TOKEN", &anna);
    let output = env.outcome(&mut command);
    assert_eq!(output.code, 1, "{output}");
    assert!(output.stderr.contains("the key of a person"), "{output}");
    let url = "http://127.0.0.1:1/mcp";
    let output = env.run(["connect", "claude-code", "--url", url, "--token-env", &anna]);
    assert_eq!(output.code, 2, "{output}");
    assert!(!output.stderr.contains(&anna[16..]), "{output}");
}

#[test]
fn a_role_ends_with_its_project_and_moves_with_it() {
    let env = super::team();
    key(&env, "anna", "writer", &["-p", "acme/garden"]);
    done(
        &env,
        ["project", "rename", "garden", "orchard", "-w", "acme"],
    );
    assert!(done(&env, ["grant", "list"]).contains("acme/orchard"));
    done(
        &env,
        ["project", "delete", "orchard", "-w", "acme", "--yes"],
    );
    assert_eq!(done(&env, ["grant", "list"]), "");
    let twice = env.run(["grant", "add", "anna", "writer", ""]);
    assert_eq!(twice.code, 2, "{twice}");
    let typo = env.run(["grant", "add", "anna", "writer", "acmee"]);
    assert!(typo.stderr.contains("did you mean `acme`?"), "{typo}");
    done(&env, ["audit", "verify"]);
}
