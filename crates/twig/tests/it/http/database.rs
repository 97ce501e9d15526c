//! Servers over HTTP whose database goes away: probes, metrics and lists. Skipped, with a line that says
//! so, where PostgreSQL is not installed.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::{PgServer, TestEnv, figure, rounds};

use super::admin::ask;
use super::browse::{get, key};
use super::client::{PATIENCE, legacy};
use super::{Caller, LIBRARY, Served, people};
use crate::{TWIG, env, wait_until};

/// A database with a project, and what serves it.
fn with_project(database: &PgServer, settings: &str) -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    on_database(&env, database, settings);
    for args in [
        &["store", "migrate"][..],
        &["project", "create", "p"],
        &["prompt", "add", "hello", "-c", "Hello"],
    ] {
        let output = env.run(args.iter().copied());
        assert_eq!(output.code, 0, "{output}");
    }
    env
}

fn on_database(env: &TestEnv, database: &PgServer, settings: &str) {
    let file = env.root().join("url");
    fs::write(&file, database.url("postgres")).expect("a folder of ours");
    let file = file.display();
    env.configure(&format!("[store]\nurl_file = \"{file}\"\n{settings}"));
}

fn serve(env: TestEnv, args: &[&str]) -> (Served, u16) {
    let mut command = env.command(["serve", "--http", "127.0.0.1:0", "--admin", ":0"]);
    command.args(args);
    let mut served = Served::start(env, command);
    let port = served.admin_port();
    (served, port)
}

fn ready(port: u16) -> (u16, Value) {
    let response = ask(port, "GET /readyz");
    (response.status, response.json())
}

fn list(caller: &mut Caller) -> Value {
    caller.modern("prompts/list", json!({})).json()["result"].clone()
}

#[test]
fn a_server_says_that_its_database_is_away_and_serves_what_it_has() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let (served, port) = serve(with_project(&database, ""), &["-p", "p"]);
    let fine = (200, json!({"ready": true, "reasons": []}));
    wait_until("the database was asked", || ready(port) == fine);
    let mut caller = served.caller();
    let listed = list(&mut caller);
    assert_eq!(listed["prompts"][0]["name"], "hello");
    assert_eq!(listed["ttlMs"], 5_000);
    let stale = (200, json!({"ready": true, "reasons": ["stale"]}));
    let metrics = || String::from_utf8(ask(port, "GET /metrics").body).expect("text");
    let value = |name: &str| {
        let metrics = metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        let value = line.unwrap_or_else(|| panic!("{name}: {metrics}"));
        value.trim().parse::<f64>().expect("a number")
    };
    for _ in 0..10 {
        database.crash();
        wait_until("it is stale", || ready(port) == stale);
        let listed = list(&mut caller);
        assert_eq!(listed["prompts"][0]["name"], "hello");
        assert_eq!(listed["ttlMs"], 0);
        assert!(value("twig_store_stale_seconds ") > 0.0);
        assert!(value("twig_store_errors_total ") >= 1.0);
        assert!(value("twig_store_calls_total ") > value("twig_store_errors_total "));
        database.begin();
        let begun = Instant::now();
        wait_until("it is fresh again", || ready(port) == fine);
        figure(
            "it is not fresh after a restart",
            begun.elapsed(),
            Duration::from_secs(5),
        );
        wait_until("lists may be kept again", || {
            list(&mut caller)["ttlMs"] == 5_000
        });
        assert!(value("twig_store_stale_seconds ") < f64::EPSILON);
    }
}

/// A text that cannot be read now is not one that was removed, and a search that reads no texts says so.
#[test]
fn the_page_says_that_texts_cannot_be_read_while_the_database_is_away() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let (served, port) = serve(with_project(&database, ""), &["-p", "p"]);
    wait_until("the database was asked", || {
        ready(port).1["reasons"] == json!([])
    });
    let bearer = format!("Bearer {}", key(&served));
    let bearer = [("authorization", &*bearer)];
    let search = |words: &str| {
        let found = get(&served, &format!("/page/list?q={words}"), &bearer);
        String::from_utf8(found.body).expect("text")
    };
    database.crash();
    wait_until("it is stale", || {
        ready(port).1["reasons"] == json!(["stale"])
    });
    let source = get(&served, "/page/source?prompt=hello", &bearer);
    assert_eq!(source.status, 503, "{source:?}");
    let why = source.json()["why"]
        .as_str()
        .expect("a sentence")
        .to_owned();
    assert!(why.contains("cannot be reached"), "{why}");
    let screen = get(&served, "/page/edit?prompt=hello", &bearer);
    let screen = (screen.status, String::from_utf8(screen.body).expect("text"));
    assert!(screen.0 == 200 && screen.1.contains("cannot be reached"));
    let said = "Not everything was searched";
    let found = search("nothing");
    assert!(found.contains(said), "{found}");
    assert!(search("hello").contains("href=\"/p/hello\""));
    database.begin();
    wait_until("the text is there again", || {
        get(&served, "/page/source?prompt=hello", &bearer).status == 200
    });
    wait_until("all texts are searched again", || {
        !search("nothing").contains(said)
    });
}

/// Any server on a database answers a request of any session, and what only one of them would know is
/// not offered to older clients: subscriptions to documents, and forms.
#[test]
fn sessions_that_servers_share_are_offered_what_any_of_them_keeps() {
    let Some(database) = PgServer::start() else {
        return;
    };
    for (settings, offered) in [("", Value::Null), ("[http]\nsticky = true\n", json!(true))] {
        let env = env(LIBRARY);
        let of = if settings.is_empty() {
            "shared"
        } else {
            "sticky"
        };
        database.create(of);
        let file = env.root().join("url");
        fs::write(&file, database.url(of)).expect("a folder of ours");
        env.configure(&format!(
            "[store]\nurl_file = \"{}\"\n{settings}",
            file.display()
        ));
        assert_eq!(env.run(["store", "migrate"]).code, 0);
        let served = Served::from_env(env);
        let mut caller = served.caller();
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"},
        });
        let begun = caller.post(&[], &legacy("initialize", params));
        let capabilities = begun.json()["result"]["capabilities"].clone();
        assert_eq!(capabilities["resources"]["subscribe"], offered);
        assert_eq!(capabilities["resources"]["listChanged"], true);
        let session = begun
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        let get = legacy("prompts/get", json!({"name": "lib:hello"}));
        if offered.is_null() {
            let refused = caller.post(&[("mcp-session-id", &session)], &get).json();
            let message = refused["error"]["message"].clone();
            assert_eq!(message, "Missing required argument: name", "{refused}");
        }
    }
}

/// What a client ended on one server has ended on every other one once that was answered, also where
/// that server has answered requests of the session itself, and rests after it announced something.
#[test]
fn a_session_that_was_ended_on_one_server_has_ended_on_the_others() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let (one, _) = serve(with_project(&database, ""), &["-p", "p"]);
    let env = env(LIBRARY);
    on_database(&env, &database, "");
    let (other, _) = serve(env, &["-p", "p"]);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        // The other server announces these, and reads of these ends, while the ones below are read.
        scope.spawn(|| {
            let mut caller = one.caller();
            for number in 0.. {
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
                let arguments = json!({"name": format!("p{number}"), "content": "x"});
                let call = json!({"name": "create_prompt", "arguments": arguments});
                let created = caller.modern("tools/call", call).json();
                assert_eq!(created["result"]["isError"], false, "{created}");
                let session = caller.initialize();
                let ended = caller.send("DELETE", &[("mcp-session-id", &session)], b"");
                assert_eq!(ended.status, 204);
            }
        });
        let mut statuses = Vec::new();
        let (mut one, mut other) = (one.caller(), other.caller());
        for _ in 0..rounds(40, 1_000) {
            let session = one.initialize();
            statuses.push(other.legacy(&session, "ping", json!({})).status);
            let ended = one.send("DELETE", &[("mcp-session-id", &session)], b"");
            statuses.push(ended.status);
            statuses.push(other.legacy(&session, "ping", json!({})).status);
        }
        is_done.store(true, Ordering::Relaxed);
        let wrong: Vec<_> = statuses
            .chunks(3)
            .filter(|it| *it != [200, 204, 404])
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    });
}

/// A trigger stands for all that can keep a server from writing, such as a missing right.
#[test]
fn a_key_is_revoked_also_where_ended_sessions_cannot_be_written() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let env = with_project(&database, "");
    let key = people::key(&env, "ada", "reader", &["--workspace", "default"]);
    let (mut served, _) = serve(env, &[]);
    let mut caller = served.caller().with_key(&key);
    let session = caller.initialize();
    database.sql(
        "postgres",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN RAISE EXCEPTION ''no sessions''; END'; \
         CREATE TRIGGER refuse BEFORE INSERT ON twig.ended_session EXECUTE FUNCTION refuse()",
    );
    let ended = caller.send("DELETE", &[("mcp-session-id", &session)], b"");
    assert_eq!(ended.status, 204);
    assert_eq!(super::list(&mut caller, &[]).status, 200);
    let revoked = served.env.run(["key", "revoke", "ada"]);
    assert_eq!(revoked.code, 0, "{revoked}");
    wait_until("the key is refused", || {
        super::list(&mut caller, &[]).status == 401
    });
    served.signal(rustix::process::Signal::TERM);
    let (_, _, said) = served.ended();
    assert_eq!(said.matches("ended sessions cannot be written").count(), 1);
    assert!(!said.contains("keys and roles stay as they were"), "{said}");
}

/// An empty list would be a wrong answer.
#[test]
fn what_a_database_has_not_said_yet_is_not_listed_as_nothing() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let env = with_project(&database, "");
    let key = people::key(&env, "ada", "reader", &["--workspace", "default"]);
    let (served, _) = serve(env, &[]);
    database.crash();
    // A connection on which nobody was let in yet is closed after the answer.
    let caller = || served.caller().with_key(&key);
    assert_eq!(super::list(&mut caller(), &[]).status, 503);
    database.begin();
    let mut listed = json!(null);
    wait_until("it is listed", || {
        let answer = super::list(&mut caller(), &[]);
        listed = answer.json()["result"].clone();
        answer.status == 200
    });
    assert_eq!(listed["prompts"][0]["name"], "p:hello", "{listed}");
}

#[test]
fn after_the_stale_limit_no_clients_are_sent() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let env = with_project(&database, "stale_limit_millis = 1\n");
    let (served, port) = serve(env, &[]);
    wait_until("the database was asked", || ready(port).0 == 200);
    database.crash();
    let away = (503, json!({"ready": false, "reasons": ["stale"]}));
    wait_until("the limit is over", || ready(port) == away);
    assert_eq!(super::list(&mut served.caller(), &[]).status, 200);
    database.begin();
    wait_until("it is ready again", || ready(port).0 == 200);
}

/// Its keys are there, so without them it would not know whom to let in.
#[test]
fn a_server_that_cannot_reach_its_database_does_not_start() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let env = with_project(&database, "");
    database.crash();
    let refused = env.run(["serve", "--http", ":0"]);
    assert_eq!(refused.code, 1, "{refused}");
    let expected = "the keys cannot be read: The database of the store cannot be reached";
    assert!(refused.stderr.contains(expected), "{refused}");
    assert!(refused.stderr.contains("--wait SECONDS"), "{refused}");
    database.begin();
    // A pooler refuses for a second what has failed.
    let (_served, port) = serve(env, &["--wait", "60"]);
    wait_until("it is ready", || ready(port).0 == 200);
}

#[test]
fn a_server_waits_for_its_database_if_told_to() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let env = with_project(&database, "");
    database.crash();
    let refused = env.run(["serve", "-p", "p", "--http", ":0"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("cannot be reached"), "{refused}");
    let refused = env.run(["serve", "-p", "p", "--http", ":0", "--wait", "1"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("waiting up to 1 s"), "{refused}");
    assert_eq!(refused.stderr.matches("waiting").count(), 1, "{refused}");
    let port = std::thread::scope(|scope| {
        let starting = scope.spawn(|| serve(env, &["-p", "p", "--wait", "120"]));
        database.begin();
        let (served, port) = starting.join().expect("it starts");
        assert_eq!(list(&mut served.caller())["prompts"][0]["name"], "hello");
        drop(served);
        port
    });
    assert!(port > 0);
}

#[test]
fn behind_a_pooler_a_server_says_once_that_it_hears_nothing() {
    let Some(database) = PgServer::start() else {
        return;
    };
    if !database.pool() {
        return;
    }
    let env = with_project(&database, "");
    fs::write(env.root().join("url"), database.pooled_url("postgres")).expect("a folder of ours");
    let (mut served, port) = serve(env, &["-p", "p"]);
    while !served.next_line().contains("cannot be listened to") {}
    wait_until("the database was asked", || ready(port).0 == 200);
    served.signal(rustix::process::Signal::TERM);
    let (_, _, said) = served.ended();
    assert!(!said.contains("listened"), "{said}");
    let said = served.env.run(["doctor"]);
    assert!(
        said.stdout.contains("notifications do not arrive"),
        "{said}"
    );
    // With the address of the database itself it hears.
    let file = served.env.root().join("url").display().to_string();
    let direct = database.direct_url("postgres");
    let config = format!("[store]\nurl_file = \"{file}\"\nlisten_url = \"{direct}\"\n");
    served.env.configure(&config);
    let said = served.env.run(["doctor"]);
    assert!(said.stdout.contains("notifications arrive"), "{said}");
}

/// Stopped processes acknowledge packets and answer nothing: only deadlines notice.
#[test]
fn while_the_database_hangs_gets_go_on_and_writes_are_refused() {
    let Some(database) = PgServer::start() else {
        return;
    };
    let env = with_project(&database, "[limits]\nstore_millis = 1000\n");
    let (served, port) = serve(env, &["-p", "p"]);
    let mut caller = served.caller();
    let get = |caller: &mut Caller| {
        let got = caller
            .modern("prompts/get", json!({"name": "hello"}))
            .json();
        got["result"]["messages"][0]["content"]["text"].clone()
    };
    assert_eq!(get(&mut caller), "Hello");
    let add = |caller: &mut Caller, name: &str| {
        let arguments = json!({"name": name, "content": "x"});
        let call = json!({"name": "create_prompt", "arguments": arguments});
        caller.modern("tools/call", call).json()["result"].clone()
    };
    database.pause();
    let begun = Instant::now();
    // The first one waits for a moment. If each did, these would take minutes.
    assert_eq!(get(&mut caller), "Hello");
    let mut took = Vec::new();
    let long = Duration::from_secs(rounds(0, 30) as u64);
    while took.len() < 500 || begun.elapsed() < long {
        let asked = Instant::now();
        assert_eq!(get(&mut caller), "Hello");
        took.push(asked.elapsed());
    }
    assert!(begun.elapsed() < PATIENCE + long);
    took.sort();
    let p99 = took[took.len() * 99 / 100];
    println!("prompts/get while the database hangs: {p99:?} (p99)");
    figure(
        "gets wait for a database that hangs",
        p99,
        Duration::from_millis(1),
    );
    let asked = Instant::now();
    let refused = add(&mut caller, "late");
    figure(
        "a write waits too long",
        asked.elapsed(),
        Duration::from_millis(1_200),
    );
    let said = refused["content"][0]["text"].as_str().expect("text");
    assert_eq!(refused["isError"], true);
    assert!(said.contains("nothing was written"), "{said}");
    wait_until("it is stale", || {
        ready(port).1["reasons"] == json!(["stale"])
    });
    database.resume();
    let resumed = Instant::now();
    wait_until("it writes again", || {
        add(&mut caller, "kept")["isError"] == false
    });
    wait_until("it is fresh", || ready(port).1["reasons"] == json!([]));
    println!("fresh after {:?}", resumed.elapsed());
    figure(
        "it is not fresh again",
        resumed.elapsed(),
        Duration::from_secs(2),
    );
    let listed = list(&mut caller);
    let names = listed["prompts"].as_array().expect("a list").iter();
    let names: Vec<&str> = names.filter_map(|prompt| prompt["name"].as_str()).collect();
    // What was refused was not written later.
    assert_eq!(names, ["hello", "kept"]);
}
