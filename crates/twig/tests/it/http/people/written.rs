//! What people write: who is its author, which labels they may move, and what the log says.

use serde_json::{Value, json};

use super::super::Served;
use super::super::client::Caller;
use super::{done, key, team};

fn tool(caller: &mut Caller, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    let answer = caller.modern("tools/call", params).json();
    answer["result"].clone()
}

#[test]
fn a_version_names_the_person_and_the_client() {
    let env = team();
    let anna = key(&env, "anna", "writer", &["-w", "acme"]);
    let served = Served::from_env(env);
    let mut caller = served.caller().with_key(&anna).at("/mcp/acme/garden");
    let session = caller.initialize();
    let arguments =
        json!({"name": "create_prompt", "arguments": {"name": "fresh", "content": "new"}});
    let written = caller.legacy(&session, "tools/call", arguments).json();
    assert_ne!(written["result"]["isError"], true, "{written}");
    let history = ["prompt", "history", "fresh", "-w", "acme", "-p", "garden"];
    let history = done(&served.env, history);
    assert!(history.contains("test (mcp, anna)"), "{history}");
    let log = done(&served.env, ["audit", "show", "-w", "acme", "--json"]);
    let log: Value = serde_json::from_str(&log).unwrap();
    let log = log.as_array().unwrap();
    let change = log.iter().find(|it| it["name"] == "fresh").unwrap();
    assert_eq!(
        (&change["actor"], &change["client"]),
        (&json!("anna"), &json!("test"))
    );
    // Keys and roles are in the same list, and never a secret.
    let made = log.iter().find(|it| it["kind"] == "key").unwrap();
    assert_eq!(
        (&made["action"], &made["actor"]),
        (&json!("create"), &json!("local"))
    );
    assert!(!log.iter().any(|it| it.to_string().contains(&anna[16..])));
    let verified = done(&served.env, ["audit", "verify", "-w", "acme"]);
    assert!(verified.contains("keys and roles"), "{verified}");
}

#[test]
fn only_an_admin_moves_a_protected_label() {
    let env = team();
    let writer = key(&env, "writer", "writer", &["-w", "acme"]);
    let admin = key(&env, "admin", "admin", &["-w", "acme"]);
    done(
        &env,
        [
            "project",
            "protect",
            "production",
            "-w",
            "acme",
            "-p",
            "garden",
        ],
    );
    let served = Served::from_env(env);
    let arguments = json!({"name": "garden-prompt", "label": "production"});
    for (key, may) in [(&writer, false), (&admin, true)] {
        let mut caller = served.caller().with_key(key).at("/mcp/acme/garden");
        let labelled = tool(&mut caller, "label", &arguments);
        assert_eq!(labelled["isError"] != true, may, "{labelled}");
    }
    // Moving one is announced.
    let mut stream = served.caller().with_key(&writer);
    stream.listen();
    stream.event();
    let mut caller = served.caller().with_key(&writer).at("/mcp/acme/garden");
    let staging = json!({"name": "garden-prompt", "label": "staging"});
    assert_ne!(tool(&mut caller, "label", &staging)["isError"], true);
    let heard = stream.event().unwrap();
    assert_eq!(heard["method"], "notifications/prompts/list_changed");
    // A label is served at the address of the project, and where all projects are.
    done(
        &served.env,
        [
            "prompt",
            "update",
            "garden-prompt",
            "-c",
            "newer",
            "-w",
            "acme",
            "-p",
            "garden",
        ],
    );
    for (path, name) in [
        ("/mcp/acme/garden", "garden-prompt"),
        ("/mcp", "garden:garden-prompt"),
    ] {
        let mut caller = served.caller().with_key(&writer).at(path);
        for (name, text) in [
            (name.to_owned(), "newer"),
            (format!("{name}@production"), "text of garden"),
        ] {
            let got = caller.modern("prompts/get", json!({"name": name})).json();
            let got = &got["result"]["messages"][0]["content"]["text"];
            assert_eq!(*got, *text, "{path} {name}");
        }
    }
}

#[test]
fn a_change_of_the_log_of_keys_shows() {
    let env = team();
    key(&env, "anna", "writer", &["-w", "acme"]);
    done(&env, ["grant", "add", "anna", "run"]);
    let file = env.home().join(".local/share/twig/access.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let other = text.replace("anna: run everywhere", "anna: run in workspace `lab`");
    assert_ne!(text, other);
    std::fs::write(&file, other).unwrap();
    let output = env.run(["audit", "verify", "-w", "acme"]);
    assert_eq!(output.code, 1);
    assert!(
        output
            .stderr
            .contains("the log of keys and roles was changed: change 2"),
        "{output}"
    );
}

/// T-AUD-01
#[test]
fn a_killed_server_leaves_a_change_with_its_row_or_neither() {
    for round in 0..5 {
        let env = team();
        let anna = key(&env, "anna", "writer", &["-w", "acme"]);
        let mut served = Served::from_env(env);
        let mut caller = served.caller().with_key(&anna).at("/mcp/acme/garden");
        for at in 0..=round {
            let arguments = json!({"name": format!("p{at}"), "content": "x"});
            let params = json!({"name": "create_prompt", "arguments": arguments});
            caller.start_modern("tools/call", params);
            if at < round {
                assert_eq!(caller.response().status, 200);
            }
        }
        served.signal(rustix::process::Signal::KILL);
        served.ended();
        let listed = done(
            &served.env,
            ["prompt", "list", "-w", "acme", "-p", "garden", "--json"],
        );
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let log = done(
            &served.env,
            ["audit", "show", "-w", "acme", "-p", "garden", "--json"],
        );
        let log: Value = serde_json::from_str(&log).unwrap();
        let created = |name: &Value| {
            let mut log = log.as_array().unwrap().iter();
            log.any(|it| it["name"] == *name && it["kind"] == "prompt")
        };
        let names: Vec<&Value> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["name"])
            .collect();
        assert!(
            names.len() > usize::try_from(round).unwrap(),
            "acknowledged ones are there"
        );
        assert!(names.iter().all(|name| created(name)), "{log}");
        let changes = log.as_array().unwrap().iter();
        let changes = changes.filter(|it| it["kind"] == "prompt" && it["action"] == "create");
        assert_eq!(changes.count(), names.len());
        done(&served.env, ["audit", "verify", "-w", "acme"]);
    }
}
