//! Two servers on one file against a plain map: the same answers, whatever is asked, whoever is
//! killed meanwhile.

mod map;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use self::map::{Change, KINDS, Key, Known, Model, NAMES, Step, any_step};
use super::support::{Random, check_file};
use super::{PROJECT, serve, with_project};

const STEPS: usize = 600;
/// Longer than a write takes, so that some are killed before, some after.
const MICROS: usize = 6_000;

/// What is said to a tool; `None` for what only the command line does.
fn request(step: &Step) -> Option<Value> {
    let (kind, name) = step.key;
    let mut arguments = json!({"name": name});
    let verb = match &step.change {
        Change::Create { text, uri } => {
            arguments["content"] = json!(text);
            if kind == "resource" {
                arguments["uri"] = json!(uri);
            }
            "create"
        }
        Change::Update { text, description } => {
            for (key, value) in [("content", text), ("description", description)] {
                if let Some(value) = value {
                    arguments[key] = json!(value);
                }
            }
            "update"
        }
        Change::Delete => "delete",
        Change::Restore(_) => return None,
    };
    if let Some(expected) = step.expected {
        arguments["expected_version"] = json!(expected);
    }
    Some(json!({"name": format!("{verb}_{kind}"), "arguments": arguments}))
}

/// Compares an answer with what the model says.
fn judge(answer: &Value, expected: Result<(u64, bool), &'static str>, step: &Step) {
    let result = &answer["result"];
    let said = result["content"][0]["text"].as_str().unwrap_or_default();
    match expected {
        Ok((version, is_new)) => {
            assert_eq!(result["isError"], false, "{step:?}: {answer}");
            let content = &result["structuredContent"];
            assert_eq!(content["version"], version, "{step:?}: {answer}");
            assert_eq!(content["changed"], is_new, "{step:?}: {answer}");
        }
        Err(words) => {
            assert_eq!(result["isError"], true, "{step:?}: {answer}");
            assert!(said.contains(words), "{step:?}, {words}: {answer}");
        }
    }
}

/// Restores from the command line.
fn restore(env: &TestEnv, model: &mut Model, step: &Step, version: u64) {
    let (kind, name) = step.key;
    let version = version.to_string();
    let arguments = [kind, "restore", name, "--version", &version, "-p", PROJECT];
    let outcome = env.run(arguments.into_iter().chain(["--json"]));
    match model.carry_out(step) {
        Ok((version, is_new)) => {
            let done: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
            assert_eq!(done["version"], version, "{step:?}: {outcome}");
            assert_eq!(done["changed"], is_new, "{step:?}: {outcome}");
        }
        Err(words) => {
            assert_eq!(outcome.code, 1, "{step:?}: {outcome}");
            assert!(outcome.stderr.contains(words), "{step:?}: {outcome}");
        }
    }
}

/// Versions of one thing, as the command line tells them.
fn history(env: &TestEnv, (kind, name): Key) -> Vec<Value> {
    let told = env.run([kind, "history", name, "-p", PROJECT, "--json"]);
    serde_json::from_str(&told.stdout).unwrap_or_default()
}

fn check_history(env: &TestEnv, model: &Model, key: Key) {
    let nothing = Vec::new();
    let known = model.0.get(&key).unwrap_or(&nothing);
    let told = history(env, key);
    assert_eq!(told.len(), known.len(), "{key:?}: {told:?}");
    for (at, (told, known)) in told.iter().zip(known).enumerate() {
        assert_eq!(told["version"], at + 1, "{key:?}: {told}");
        assert_eq!(told["operation"], known.operation, "{key:?}: {told}");
        assert_eq!(told["from"], json!(known.from), "{key:?}: {told}");
        assert_eq!(told["uri"], json!(known.uri), "{key:?}: {told}");
        assert_eq!(told["description"], json!(known.description), "{key:?}");
        assert_eq!(told["size"], known.text.len(), "{key:?}: {told}");
    }
}

/// All that a server lists and hands out is what the model has.
fn check(server: &mut TestClient, model: &Model) {
    for kind in KINDS {
        let (list, items) = (format!("{kind}s/list"), format!("{kind}s"));
        let listed = server.request(&list, json!({}));
        let listed = listed["result"][&items].as_array().expect("a list").clone();
        let alive = |name: &&'static str| model.alive((kind, name)).map(|head| (*name, head));
        let wanted: BTreeMap<&str, &Known> = NAMES.iter().filter_map(alive).collect();
        let of = |item: &Value| item["name"].as_str().expect("a name").to_owned();
        let mut names: Vec<String> = listed.iter().map(of).collect();
        names.sort_unstable();
        assert_eq!(names, wanted.keys().copied().collect::<Vec<_>>(), "{kind}");
        for item in &listed {
            let head = wanted[item["name"].as_str().expect("a name")];
            assert_eq!(item["description"], json!(head.description), "{item}");
            let text = if kind == "prompt" {
                let got = server.request("prompts/get", json!({"name": item["name"]}));
                got["result"]["messages"][0]["content"]["text"].clone()
            } else {
                assert_eq!(item["uri"], json!(head.uri));
                let got = server.request("resources/read", json!({"uri": item["uri"]}));
                got["result"]["contents"][0]["text"].clone()
            };
            assert_eq!(text, head.text, "{item}");
        }
    }
}

/// Kills a server that was just asked for something: it is done, or it is not, and nothing else.
fn kill_in_the_middle(
    env: &TestEnv,
    server: &mut TestClient,
    model: &mut Model,
    step: &Step,
    after: Duration,
) {
    let Some(params) = request(step) else { return };
    let id = server.start_request("tools/call", &params);
    let start = Instant::now();
    while start.elapsed() < after {
        std::thread::yield_now();
    }
    server.signal(Signal::KILL);
    let killed = std::mem::replace(server, serve(env)).ended();
    let answer = killed.rest.iter().find(|message| message["id"] == id);
    let mut after = model.clone();
    let expected = after.carry_out(step);
    if let Some(answer) = answer {
        judge(answer, expected, step);
        *model = after;
    } else if history(env, step.key).len() as u64 == after.count(step.key) {
        *model = after;
    }
    check_history(env, model, step.key);
    check(server, model);
}

/// T-TOOL-07, from outside.
#[test]
fn two_servers_and_a_plain_map_give_the_same_answers() {
    let env = with_project();
    let mut random = Random::new();
    let mut servers = [serve(&env), serve(&env)];
    let mut model = Model::default();
    for _ in 0..STEPS {
        let step = any_step(&mut random, &model);
        let server = &mut servers[random.below(2)];
        match (random.below(20), &step.change) {
            (0 | 1, _) => {
                let after = Duration::from_micros(random.below(MICROS) as u64);
                kill_in_the_middle(&env, server, &mut model, &step, after);
            }
            (2, _) => {
                let ended = std::mem::replace(server, serve(&env)).close();
                assert!(ended.status.success(), "{}", ended.stderr);
            }
            (3 | 4, _) => check(server, &model),
            (5, _) => check_history(&env, &model, step.key),
            (_, Change::Restore(version)) => restore(&env, &mut model, &step, *version),
            _ => {
                let params = request(&step).expect("a tool does it");
                let answer = server.request("tools/call", params);
                judge(&answer, model.carry_out(&step), &step);
            }
        }
    }
    for server in &mut servers {
        check(server, &model);
    }
    for key in KINDS
        .into_iter()
        .flat_map(|kind| NAMES.map(|name| (kind, name)))
    {
        check_history(&env, &model, key);
    }
    for server in servers {
        server.close();
    }
    check_file(&env);
}
