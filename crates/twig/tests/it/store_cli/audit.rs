//! `twig audit`: who changed what, and whether the log is as it was written.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{done, garden, json, refused, timeless};

#[test]
fn changes_are_shown_with_who_made_them() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    let mut client = env.serve_with(["-p", "garden"]);
    client.initialize();
    let update = json!({"name": "update_prompt", "arguments": {"name": "water", "content": "two"}});
    let answer = client.request("tools/call", update);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    drop(client);
    done(&env, &["prompt", "label", "water", "production"]);
    done(&env, &["prompt", "restore", "water", "--version", "1"]);
    done(&env, &["prompt", "rename", "water", "rain"]);
    done(&env, &["project", "delete", "garden", "--yes"]);
    let shown = timeless(&done(&env, &["audit", "show"]));
    insta::assert_snapshot!(shown, @"
    [time]  garden  create   project garden                         local
    [time]  garden  create   prompt water version 1                 local
    [time]  garden  update   prompt water version 2                 local  testkit
    [time]  garden  label    prompt water version 2 production      local
    [time]  garden  restore  prompt water version 3 from version 1  local
    [time]  garden  rename   prompt water version 3 to rain         local
    [time]  garden  renamed  prompt rain version 3 from water       local
    [time]  garden  delete   project garden                         local
    ");
    let changes = json(
        &env,
        &["audit", "show", "-p", "garden", "--since", "1h", "--json"],
    );
    let changes = changes.as_array().expect("a list");
    let mut update = changes[2].clone();
    for key in ["time", "digest"] {
        assert!(update[key].take().is_string(), "{update}");
    }
    assert_eq!(
        update,
        json!({"time": null, "workspace": "default", "project": "garden", "revision": 3,
            "actor": "local", "client": "testkit", "action": "update", "kind": "prompt",
            "name": "water", "version": 2, "detail": null, "digest": null})
    );
    assert_eq!(
        json(&env, &["audit", "show", "-p", "park", "--json"]),
        json!([])
    );
    let wrong = env.run(["audit", "show", "--since", "yesterday"]);
    assert_eq!(wrong.code, 2, "{wrong}");
}

#[test]
fn an_altered_log_is_noticed() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    done(&env, &["prompt", "update", "water", "-c", "two"]);
    done(&env, &["project", "create", "park"]);
    let chains = json(&env, &["audit", "verify", "--json"]);
    let last = chains[0]["last"].as_str().expect("a digest").to_owned();
    let shown = done(&env, &["audit", "verify"]);
    assert!(
        shown.contains("garden  3 changes  intact") && shown.contains(&last),
        "{shown}"
    );
    let file = env.home().join(".local/share/twig/workspaces/default.db");
    let connection = Connection::open(file).expect("the file");
    let alter = "DROP TRIGGER change_is_final; UPDATE change SET actor = 'anna' WHERE rev = 2";
    connection.execute_batch(alter).expect("altered");
    drop(connection);
    let outcome = env.run(["audit", "verify"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    insta::assert_snapshot!(outcome.stderr, @"
    error: the log of project `garden` in workspace `default` was changed: change 2 is not as it was written
    hint: compare it with a backup: `twig workspace restore` makes a workspace of one
    ");
    let outcome = env.run(["audit", "verify", "--json"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    let chains: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(
        (&chains[0]["broken_at"], &chains[0]["changes"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(chains[1]["broken_at"], Value::Null);
}

#[test]
fn without_a_workspace_there_is_no_log() {
    let env = twig_testkit::TestEnv::in_memory(crate::TWIG);
    assert_eq!(json(&env, &["audit", "show", "--json"]), json!([]));
    assert_eq!(json(&env, &["audit", "verify", "--json"]), json!([]));
    let said = refused(&env, &["audit", "show", "-w", "work"]);
    assert!(said.contains("Workspace 'work' does not exist"), "{said}");
}
