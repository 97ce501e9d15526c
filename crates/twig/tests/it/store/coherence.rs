//! Several servers on one file: each sees what the others write, and hears of it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::{TestClient, figure};

use super::{PROJECT, call, done, names, prompt, serve, servers, text, update, with_project};

const PROMPTS: &str = "notifications/prompts/list_changed";

/// T-COH-01 and 02: five servers, single writes after which nothing follows. Each is announced to
/// all, legacy and modern, the writer too, and what is read then is new.
#[test]
fn every_write_is_announced_to_every_server() {
    const ROUNDS: usize = 30;
    let env = with_project();
    let mut servers = servers(&env, 5);
    for modern in &mut servers[3..] {
        modern.start_modern(
            "subscriptions/listen",
            json!({"notifications": {"promptsListChanged": true}}),
        );
        modern.notification("notifications/subscriptions/acknowledged");
    }
    let mut waits = Vec::new();
    for round in 0..ROUNDS {
        let name = format!("p{round}");
        let writer = round % 5;
        prompt(&mut servers[writer], &name, "x");
        let written = Instant::now();
        for (at, server) in servers.iter_mut().enumerate() {
            // Modern ones hear of it twice: they have initialized, too.
            for _ in 0..if at < 3 { 1 } else { 2 } {
                server.notification(PROMPTS);
            }
            waits.push(written.elapsed());
            assert!(names(server).contains(&name));
        }
    }
    for server in &mut servers {
        assert_eq!(names(server).len(), ROUNDS);
        assert_eq!(server.pending(PROMPTS), 0, "each write is announced once");
    }
    waits.sort_unstable();
    let nearly_all = waits[waits.len() * 99 / 100];
    figure("an announcement", nearly_all, Duration::from_secs(1));
}

/// T-COH-05.
#[test]
fn new_content_is_told_to_those_who_watch_it_only() {
    let env = with_project();
    let mut servers = servers(&env, 2);
    let resource = json!({"name": "doc", "uri": "x://doc", "content": "one"});
    done(&mut servers[0], "create_resource", resource);
    prompt(&mut servers[0], "p", "one");
    for server in &mut servers {
        server.notification("notifications/resources/list_changed");
        server.notification(PROMPTS);
    }
    let [writer, reader] = &mut servers[..] else {
        unreachable!()
    };
    reader.request("resources/subscribe", json!({"uri": "x://doc"}));
    update(writer, "p", "two");
    done(
        writer,
        "update_resource",
        json!({"name": "doc", "content": "two"}),
    );
    let told = reader.notification("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "x://doc");
    assert_eq!(text(reader, "p"), "two");
    let read = reader.request("resources/read", json!({"uri": "x://doc"}));
    assert_eq!(read["result"]["contents"][0]["text"], "two");
    for server in [writer, reader] {
        assert_eq!(server.pending(PROMPTS), 0);
        assert_eq!(server.pending("notifications/resources/list_changed"), 0);
    }
}

/// T-COH-06: a storm of writes is told in few words, and the last of them is among them.
#[test]
fn a_storm_is_announced_in_few_words() {
    const WRITES: usize = 1_000;
    let env = with_project();
    let mut servers = servers(&env, 2);
    let start = Instant::now();
    let ids: Vec<u64> = (0..WRITES)
        .map(|at| {
            let arguments = json!({"name": format!("p{at}"), "content": "x"});
            let params = json!({"name": "create_prompt", "arguments": arguments});
            servers[0].start_request("tools/call", &params)
        })
        .collect();
    for id in ids {
        let answer = servers[0].answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    let took = start.elapsed();
    let seconds = usize::try_from(took.as_millis().div_ceil(1_000)).expect("a short time");
    for server in &mut servers {
        let mut heard = 0;
        loop {
            server.notification(PROMPTS);
            heard += 1;
            if names(server).len() == WRITES && server.pending(PROMPTS) == 0 {
                break;
            }
        }
        assert!(
            heard <= 10 * seconds + 1,
            "{heard} announcements in {took:?}"
        );
    }
}

/// T-COH-07: nobody listens, and yet nothing old is ever served.
#[test]
fn what_one_server_wrote_the_next_one_serves_at_once() {
    let env = with_project();
    let mut writer = serve(&env);
    let mut reader = serve(&env);
    prompt(&mut writer, "p", "start");
    for round in 0..3_000 {
        let content = format!("round {round}");
        update(&mut writer, "p", &content);
        assert_eq!(text(&mut reader, "p"), content);
    }
}

/// T-TOOL-06: many agents, one prompt, and nobody's change is lost.
#[test]
fn of_those_who_read_the_same_version_one_wins() {
    const AGENTS: usize = 8;
    const EACH: usize = 125;
    let env = with_project();
    let mut first = serve(&env);
    prompt(&mut first, "sum", "0");
    let mut agents: Vec<TestClient> = (0..AGENTS).map(|_| serve(&env)).collect();
    std::thread::scope(|scope| {
        for agent in &mut agents {
            scope.spawn(move || (0..EACH).for_each(|_| add_one(agent)));
        }
    });
    assert_eq!(text(&mut first, "sum"), (AGENTS * EACH).to_string());
    let history = env.run(["prompt", "history", "sum", "-p", PROJECT, "--json"]);
    let history: Value = serde_json::from_str(&history.stdout).expect("JSON");
    assert_eq!(history.as_array().map(Vec::len), Some(AGENTS * EACH + 1));
}

/// Adds one, as often as it takes to be the one who read the last version.
fn add_one(agent: &mut TestClient) {
    let mut tries = 0;
    loop {
        let got = agent.request("prompts/get", json!({"name": "sum"}));
        let content = &got["result"]["messages"][0]["content"]["text"];
        let sum: usize = content
            .as_str()
            .and_then(|sum| sum.parse().ok())
            .expect("a number");
        let version = got["result"]["_meta"]["twig/version"].clone();
        let update =
            json!({"name": "sum", "content": (sum + 1).to_string(), "expected_version": version});
        let result = call(agent, "update_prompt", update);
        if result["isError"] == false {
            return;
        }
        let said = result["content"][0]["text"].to_string();
        assert!(said.contains("not at the expected version"), "{said}");
        tries += 1;
        assert!(tries < 10_000, "nobody ever wins");
    }
}
