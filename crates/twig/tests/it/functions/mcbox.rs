//! `prompts.json` and `prompts.bash`.

use serde_json::json;
use twig_testkit::TestClient;

use super::{error, has, text, trust};
use crate::env;

const BOX: &str = r#"
//- box/prompts.json
{"prompts": [
  {"name": "code-review", "title": "Code review", "description": "Review code",
   "arguments": [{"name": "file-path", "description": "What to review", "required": true}, {"name": "style"}]},
  {"name": "input"},
  {"name": "nowhere"},
  {"name": "fails"}
]}
//- box/prompts.bash
read -r -t 1 stolen
. ./helpers.sh
prompt_code_review() {
  said "$(printf '%s' "$1" | sed 's/"/Q/g')"
}
prompt_input() {
  local line; read -r line
  [ "$line" = "$1" ] && said "the same twice $stolen"
}
own_input() { said "another prefix"; }
prompt_fails() { echo "no luck" >&2; return 4; }
//- box/helpers.sh
said() {
  printf '{"messages":[{"role":"user","content":{"type":"text","text":"%s"}}]}' "$1"
}
"#;

fn get(client: &mut TestClient, name: &str, arguments: &serde_json::Value) -> serde_json::Value {
    client.request("prompts/get", json!({"name": name, "arguments": arguments}))
}

#[test]
fn a_pair_of_list_and_script_is_a_library() {
    if !has("bash") {
        return;
    }
    let env = env(BOX);
    let mut client = env.serve();
    client.initialize();
    assert_eq!(
        super::names(&client.request("prompts/list", json!({}))),
        [""; 0]
    );
    trust(&env, "box");
    client.notification("notifications/prompts/list_changed");
    let list = client.request("prompts/list", json!({}));
    assert_eq!(
        super::names(&list),
        ["code-review", "fails", "input", "nowhere"]
    );
    assert_eq!(
        list["result"]["prompts"][0]["arguments"][0],
        json!({"name": "file-path", "description": "What to review", "required": true})
    );
    assert_eq!(
        list["result"]["prompts"][0]["_meta"],
        json!({"twig/runs": "prompts.bash"})
    );
    let answer = get(
        &mut client,
        "code-review",
        &json!({"file-path": "a b;$(id)"}),
    );
    assert_eq!(
        text(&answer),
        "{QnameQ:Qcode-reviewQ,QargumentsQ:{Qfile-pathQ:Qa b;$(id)Q}}"
    );
    assert_eq!(
        text(&get(&mut client, "input", &json!({}))),
        "the same twice "
    );
    assert!(
        error(&get(&mut client, "nowhere", &json!({})))
            .contains("there is no function prompt_nowhere")
    );
    assert!(
        error(&get(&mut client, "fails", &json!({}))).ends_with("ended with exit code 4: no luck")
    );
    let wrong = [
        (
            "code-review",
            json!({}),
            "Missing required argument: file-path",
        ),
        (
            "code-review",
            json!({"file-path": "x", "a": "1", "b": "2"}),
            "Unknown arguments: a, b",
        ),
        ("gone", json!({}), "Prompt not found: gone"),
    ];
    for (name, arguments, sentence) in wrong {
        let answer = get(&mut client, name, &arguments);
        assert_eq!(answer["error"]["message"], sentence);
        assert_eq!(answer["error"]["code"], -32602);
    }
    env.write("box/helpers.sh", "said() { :; }\n");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(
        super::names(&client.request("prompts/list", json!({}))),
        [""; 0]
    );
}

#[test]
fn the_prefix_of_functions_can_be_another() {
    if !has("bash") {
        return;
    }
    let env = env(BOX);
    trust(&env, "box");
    let mut command = env.command(["render", "input"]);
    command.env("MCBOX_PROMPTS_FUNCTION_NAME_PREFIX", "own_");
    let output = command.output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "another prefix\n");
    let mut command = env.command(["render", "input"]);
    command.env("MCBOX_PROMPTS_FUNCTION_NAME_PREFIX", "a; id #");
    let output = command.output().expect("it starts");
    assert!(String::from_utf8_lossy(&output.stderr).contains("is ignored"));
}

#[test]
fn large_input_reaches_a_bash_function_whole() {
    if !has("bash") {
        return;
    }
    let env = env(r#"
//- box/prompts.json
[{"name": "count", "arguments": [{"name": "a"}, {"name": "b"}]}]
//- box/prompts.bash
prompt_count() { printf '{"messages":[{"role":"user","content":{"type":"text","text":"%s %s"}}]}' "${#1}" "$(wc -c | tr -d ' ')"; }
"#);
    trust(&env, "box");
    let mut client = env.serve();
    let large = "x".repeat(256 * 1024);
    let answer = get(&mut client, "count", &json!({"a": large, "b": large}));
    let length = json!({"name": "count", "arguments": {"a": large, "b": large}})
        .to_string()
        .len();
    assert_eq!(text(&answer), format!("{length} {}", length + 1));
}

#[test]
fn check_reports_what_is_wrong_with_the_pair() {
    let env =
        env("//- box/prompts.json\n[{\"name\": \"one\"}, {\"nam\": 1}]\n//- box/prompts.bash\n");
    let check = env.run(["check"]);
    assert_eq!(check.code, 1);
    assert!(check.stdout.contains("`[1].name` is missing"), "{check}");
    assert!(
        check
            .stdout
            .contains("does not have the function `prompt_one`"),
        "{check}"
    );
    let lone = env.work().join("lone");
    std::fs::create_dir_all(&lone).expect("the test's own folder");
    let check = env.run(["check", "lone", "--kind", "functions"]);
    assert!(
        check.code == 1 && check.stdout.contains("prompts.json not found"),
        "{check}"
    );
}
