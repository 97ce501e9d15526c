//! The `markdown` kind: front matter, the file's stem as name, the body trimmed, `{{input}}`.

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv, write_fixture};

use crate::TWIG;

const AGENTS: &str = "\
//- agents/research.md
---
description: Research a topic and provide a concise summary with key sources.
---

You are a focused researcher. Investigate the topic below and return:
- A 3-5 sentence summary
- 3 key findings
- Source names or links if mentioned in provided context

Topic:
{{input}}

//- agents/summarize.md
---
description: Summarize provided text into a tight digest with bullets.
---
Summarize the text that follows.

- One line first
- Then bullets

";

fn agents(more: &str) -> TestEnv {
    let env = TestEnv::new(TWIG);
    write_fixture(&env.work(), AGENTS);
    write_fixture(&env.work(), more);
    env
}

fn serve(env: &TestEnv) -> TestClient {
    env.serve_with(["--library", "agents"])
}

fn get(client: &mut TestClient, name: &str, input: &str) -> String {
    let params = json!({"name": name, "arguments": {"input": input}});
    let answer = client.request("prompts/get", params);
    let messages = answer["result"]["messages"].as_array();
    let [message] = &messages.unwrap_or_else(|| panic!("{answer}"))[..] else {
        panic!("one message: {answer}");
    };
    assert_eq!(message["role"], "user");
    let text = message["content"]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn names(list: &Value) -> Vec<String> {
    let prompts = list["result"]["prompts"].as_array().expect("a list");
    let name = |prompt: &Value| prompt["name"].as_str().unwrap_or_default().to_owned();
    prompts.iter().map(name).collect()
}

#[test]
fn the_list_has_the_stem_the_description_and_the_input() {
    let env = agents("");
    let mut client = serve(&env);
    let mut list = client.request("prompts/list", json!({}));
    let prompts = list["result"]["prompts"].as_array_mut().expect("a list");
    for prompt in prompts.iter_mut() {
        prompt
            .as_object_mut()
            .expect("a prompt")
            .remove("inputSchema");
    }
    let input = json!([{
        "name": "input", "description": "Text to inject into the prompt template", "required": false,
    }]);
    assert_eq!(
        json!(prompts),
        json!([
            {"name": "research", "arguments": input,
             "description": "Research a topic and provide a concise summary with key sources."},
            {"name": "summarize", "arguments": input,
             "description": "Summarize provided text into a tight digest with bullets."},
        ])
    );
}

#[test]
fn the_example_of_the_contract_comes_out_byte_for_byte() {
    let env = agents("");
    let mut client = serve(&env);
    let answer = client.request(
        "prompts/get",
        json!({"name": "research", "arguments": {"input": "Example topic"}}),
    );
    let text = "You are a focused researcher. Investigate the topic below and return:\n\
        - A 3-5 sentence summary\n\
        - 3 key findings\n\
        - Source names or links if mentioned in provided context\n\
        \n\
        Topic:\n\
        Example topic";
    assert_eq!(
        answer["result"],
        json!({
            "description": "Research a topic and provide a concise summary with key sources.",
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        })
    );
    let input = ["render", "research", "input=Example topic"];
    let library = ["--library", "agents"];
    let outcome = env.run(input.into_iter().chain(library));
    assert_eq!(outcome.stdout, format!("{text}\n"));
}

#[test]
fn without_a_placeholder_the_input_follows_after_a_blank_line() {
    let env = agents("");
    let mut client = serve(&env);
    let body = "Summarize the text that follows.\n\n- One line first\n- Then bullets";
    assert_eq!(
        get(&mut client, "summarize", "Some text.\nMore."),
        format!("{body}\n\nSome text.\nMore.")
    );
    assert_eq!(get(&mut client, "summarize", ""), body);
    let answer = client.request("prompts/get", json!({"name": "summarize"}));
    let whole = format!("{body}\n\n");
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], whole);
}

#[test]
fn every_placeholder_is_replaced_once_and_everything_else_is_text() {
    let env = agents(
        "//- agents/twice.md\n---\ndescription: Twice\n---\n\n\n{{input}} and {{input}}; {{ input }}, {{other}}, {% if x %}\n\n\n",
    );
    let mut client = serve(&env);
    assert_eq!(
        get(&mut client, "twice", "{{input}}$1\\"),
        "{{input}}$1\\ and {{input}}$1\\; {{ input }}, {{other}}, {% if x %}"
    );
    let arguments = json!({"input": "a", "colour": "blue"});
    let params = json!({"name": "twice", "arguments": arguments});
    let answer = client.request("prompts/get", params);
    assert!(answer.get("error").is_none(), "{answer}");
}

#[test]
fn files_with_broken_front_matter_or_none_are_served_and_told_of() {
    let env = agents(
        "//- agents/README.md\n# About these files\n//- agents/open.md\n---\ndescription: x\n\ntext\n//- agents/broken.md\n---\ndescription: [a\n---\ntext\n//- agents/bare.md\n# Bare\n\nNo front matter here.\n//- agents/deep/Down Here.md\nDeep.\n",
    );
    let mut client = serve(&env);
    let list = client.request("prompts/list", json!({}));
    let all = [
        "bare",
        "broken",
        "deep-down-here",
        "open",
        "research",
        "summarize",
    ];
    assert_eq!(names(&list), all);
    let prompts = &list["result"]["prompts"];
    assert_eq!(prompts[0]["title"], "Bare");
    assert_eq!(prompts[0]["description"], "No front matter here.");
    assert_eq!(prompts[1]["description"], "[a");
    assert_eq!(prompts[2]["title"], "deep/Down Here");
    let bare = "# Bare\n\nNo front matter here.";
    assert_eq!(get(&mut client, "bare", "x"), format!("{bare}\n\nx"));
    insta::assert_snapshot!(env.run(["check", "-v", "agents"]), @"
    note[not-a-prompt]: README.md describes its folder, so it is no prompt
    --> agents/README.md
     = help: rename or move it if it is meant to be one

    note[front-matter]: the front matter is not valid YAML (unclosed bracket '['): it was read line by line
     --> agents/broken.md:2:14
      |
    2 | description: [a
      |              ^

    note[front-matter]: the front matter has no closing `---` line: the whole file is its body
     --> agents/open.md:1:1
      |
    1 | ---
      | ^^^
    --- stderr
    checked 6 prompts in 1 library: no problems, 3 notes
    --- exit 0
    ");
}

#[test]
fn files_of_other_systems_and_editors_read_the_same() {
    let env = agents("");
    let text = "\u{feff}---\r\ntitle: Títle\r\ndescription: >\r\n  two\r\n  lines\r\n---\r\n\r\nHello {{input}}\r\n";
    std::fs::write(env.work().join("agents/Windows.MD"), text).expect("writable");
    let mut client = serve(&env);
    let list = client.request("prompts/list", json!({}));
    assert_eq!(names(&list), ["research", "summarize", "windows"]);
    let prompt = &list["result"]["prompts"][2];
    assert_eq!(prompt["title"], "Títle");
    assert_eq!(prompt["description"], "two lines");
    assert_eq!(get(&mut client, "windows", "you"), "Hello you");
}

#[test]
fn an_edit_is_served_at_once_and_a_new_file_is_announced() {
    let env = agents("");
    let mut client = serve(&env);
    client.initialize();
    assert!(get(&mut client, "research", "x").ends_with("Topic:\nx"));
    write_fixture(
        &env.work(),
        "//- agents/research.md\n---\ndescription: New\n---\nNew: {{input}}\n//- agents/critique.md\n---\ndescription: C\n---\nCritique\n",
    );
    assert_eq!(get(&mut client, "research", "x"), "New: x");
    client.notification("notifications/prompts/list_changed");
    let list = client.request("prompts/list", json!({}));
    assert_eq!(names(&list), ["critique", "research", "summarize"]);
}
