//! Labels over MCP: `name@label`, and the tool that sets them.

use serde_json::{Value, json};
use twig_testkit::TestClient;

use super::{PROJECT, call, done, prompt, serve, update, with_project};

/// What a tool that failed says.
fn failed(client: &mut TestClient, tool: &str, arguments: Value) -> String {
    let said = super::failed(client, tool, arguments);
    let said = said.strip_prefix("Error: ").map(str::to_owned);
    said.expect("an error")
}

/// The text that `prompts/get` answers with.
fn get(client: &mut TestClient, name: &str) -> Value {
    let answer = client.request("prompts/get", json!({"name": name}));
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"]["messages"][0]["content"]["text"].clone()
}

#[test]
fn clients_get_the_version_that_has_the_label() {
    let env = with_project();
    let (mut writer, mut reader) = (serve(&env), serve(&env));
    writer.initialize();
    reader.initialize();
    prompt(&mut writer, "water", "one");
    let label = |version: u64| json!({"name": "water", "label": "staging", "version": version});
    let set = call(&mut writer, "label", label(1));
    assert_eq!(
        set["structuredContent"],
        json!({"project": PROJECT, "name": "water", "label": "staging", "version": 1,
            "changed": true})
    );
    update(&mut writer, "water", "two");
    assert_eq!(get(&mut reader, "water@staging"), "one");
    assert_eq!(get(&mut reader, "water"), "two");
    // The next request after a move has the new one.
    for version in [2, 1, 2] {
        done(&mut writer, "label", label(version));
        let expected = ["one", "two"][usize::try_from(version).expect("small") - 1];
        assert_eq!(get(&mut reader, "water@staging"), expected);
    }
    done(&mut writer, "label", label(1));
    let listed = reader.request("prompts/list", json!({}));
    assert_eq!(
        listed["result"]["prompts"].as_array().map(Vec::len),
        Some(1)
    );
    let command = json!({"command": "water@staging", "input": ""});
    let expanded = call(&mut reader, "expand_prompt", command.clone());
    assert_eq!(expanded["structuredContent"]["prompt"], "one");
    let used = call(
        &mut reader,
        "use_prompt",
        json!({"command": "water@staging"}),
    );
    assert!(used.to_string().contains("one"), "{used}");
    let got = call(&mut reader, "get_prompt", json!({"name": "water@staging"}));
    let got = &got["structuredContent"];
    assert_eq!((&got["version"], &got["text"]), (&json!(1), &json!("one")));
    let history = call(&mut reader, "history", json!({"name": "water"}));
    let versions = &history["structuredContent"]["versions"];
    assert_eq!(versions[1]["labels"], json!(["staging"]));
    assert_eq!(versions[0]["labels"], Value::Null);
}

#[test]
fn an_unknown_label_is_refused_with_those_that_there_are() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    prompt(&mut client, "water", "one");
    let said = failed(&mut client, "get_prompt", json!({"name": "water@live"}));
    assert_eq!(said, "Prompt 'water' has no label 'live'; it has no labels");
    done(
        &mut client,
        "label",
        json!({"name": "water", "label": "staging"}),
    );
    let answer = client.request("prompts/get", json!({"name": "water@live"}));
    let words = "Prompt 'water' has no label 'live'; it has staging";
    assert_eq!(answer["error"]["message"], words);
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(
        answer["error"]["data"]["suggestions"],
        json!(["water@staging"])
    );
    let expand = json!({"command": "water@live", "input": ""});
    assert_eq!(failed(&mut client, "expand_prompt", expand), words);
    assert_eq!(
        failed(&mut client, "get_prompt", json!({"name": "water@live"})),
        words
    );
    let answer = client.request("prompts/get", json!({"name": "rain@live"}));
    assert_eq!(answer["error"]["message"], "Prompt not found: rain@live");
}

#[test]
fn an_agent_does_not_move_a_protected_label() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    prompt(&mut client, "water", "one");
    let set = json!({"name": "water", "label": "production"});
    done(&mut client, "label", set.clone());
    let protected = env.run(["project", "protect", "production"]);
    assert_eq!(protected.code, 0, "{protected}");
    update(&mut client, "water", "two");
    assert_eq!(
        failed(&mut client, "label", set),
        format!(
            "Label 'production' is protected in project '{PROJECT}': only an administrator moves or removes it"
        )
    );
    assert_eq!(get(&mut client, "water@production"), "one");
}

#[test]
fn a_resource_is_read_by_its_label() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let map = json!({"name": "map", "uri": "x:map", "content": "one"});
    done(&mut client, "create_resource", map);
    let label = json!({"name": "map", "label": "live", "kind": "resource"});
    done(&mut client, "label", label);
    done(
        &mut client,
        "update_resource",
        json!({"name": "map", "content": "two"}),
    );
    let read = call(
        &mut client,
        "read_resource",
        json!({"uri": "x:map", "label": "live"}),
    );
    assert_eq!(read["structuredContent"]["text"], "one");
    let unknown = json!({"uri": "x:map", "label": "prod"});
    assert_eq!(
        failed(&mut client, "read_resource", unknown),
        "Resource 'map' has no label 'prod'; it has live"
    );
}

#[test]
fn a_name_with_an_at_sign_keeps_its_meaning() {
    let env = with_project();
    let library = env.data().join("lib");
    std::fs::create_dir_all(library.join("prompts")).expect("writable");
    let manifest = "[prompts.\"water@staging\"]\ntext = \"of a file\"\n";
    std::fs::write(library.join("twig.toml"), manifest).expect("writable");
    let mut client = serve(&env);
    client.initialize();
    let listed = client.request("prompts/list", json!({}));
    let names = listed["result"]["prompts"]
        .as_array()
        .expect("a list")
        .iter();
    let names: Vec<&str> = names.filter_map(|it| it["name"].as_str()).collect();
    prompt(&mut client, "water", "one");
    done(
        &mut client,
        "label",
        json!({"name": "water", "label": "staging"}),
    );
    for name in names {
        assert_eq!(get(&mut client, name), "of a file");
    }
    assert_eq!(get(&mut client, "water@staging"), "one");
}
