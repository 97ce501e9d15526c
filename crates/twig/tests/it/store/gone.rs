//! A project that is deleted, renamed and made again while servers have it open.

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use super::{PROJECT, done, failed, names, prompt, serve, text, with_project};

const LISTS: [&str; 3] = [
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/tools/list_changed",
];

/// A legacy and a modern client, who both hear of all lists.
struct Pair {
    legacy: TestClient,
    modern: TestClient,
}

impl Pair {
    fn start(env: &TestEnv) -> Self {
        let (mut legacy, mut modern) = (serve(env), serve(env));
        legacy.initialize();
        let all = json!({
            "promptsListChanged": true, "resourcesListChanged": true, "toolsListChanged": true,
        });
        modern.start_modern("subscriptions/listen", json!({"notifications": all}));
        modern.notification("notifications/subscriptions/acknowledged");
        Self { legacy, modern }
    }

    fn each(&mut self) -> [&mut TestClient; 2] {
        [&mut self.legacy, &mut self.modern]
    }

    /// Both hear of these lists, once, and of no others.
    fn hear(&mut self, wanted: &[&str]) {
        for client in self.each() {
            for list in wanted {
                client.notification(list);
            }
            for list in LISTS {
                assert_eq!(client.pending(list), 0, "{list}");
            }
        }
    }

    /// What both see: how many tools, prompts, resources.
    fn see(&mut self, tools: usize, prompts: &[&str], uris: &[&str]) {
        let listed = self.legacy.request("tools/list", json!({}));
        let modern = self.modern.modern("tools/list", json!({}));
        assert_eq!(listed["result"]["tools"], modern["result"]["tools"]);
        let count = listed["result"]["tools"].as_array().map(Vec::len);
        assert_eq!(count, Some(tools), "{listed}");
        assert_eq!(names(&mut self.legacy), prompts);
        let of = |answer: &Value, list: &str, key: &str| -> Vec<String> {
            let items = answer["result"][list].as_array().expect("a list");
            let text = |item: &Value| item[key].as_str().expect("a text").to_owned();
            items.iter().map(text).collect()
        };
        let listed = self.modern.modern("prompts/list", json!({}));
        assert_eq!(of(&listed, "prompts", "name"), prompts);
        let listed = self.legacy.request("resources/list", json!({}));
        assert_eq!(of(&listed, "resources", "uri"), uris);
        let listed = self.modern.modern("resources/list", json!({}));
        assert_eq!(of(&listed, "resources", "uri"), uris);
    }

    /// What is said while the project is not there.
    fn miss(&mut self) {
        let create = json!({"name": "q", "content": "x"});
        let said = failed(&mut self.legacy, "create_prompt", create.clone());
        assert_eq!(said, MISSING);
        let params = json!({"name": "create_prompt", "arguments": create});
        let refused = self.modern.modern("tools/call", params);
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert_eq!(refused["result"]["content"][0]["text"], MISSING);
        let got = self.legacy.request("prompts/get", json!({"name": "p"}));
        assert_eq!(got["error"]["code"], -32602, "{got}");
        assert_eq!(got["error"]["message"], "Prompt not found: p");
        let read = json!({"uri": "x://doc"});
        let read = self.modern.modern("resources/read", read);
        assert_eq!(read["error"]["code"], -32602, "{read}");
        assert_eq!(read["error"]["message"], "Resource not found: x://doc");
    }
}

const MISSING: &str = "Error: Project 'auth-module' does not exist in workspace 'default'";

fn twig(env: &TestEnv, arguments: &[&str]) {
    let outcome = env.run(arguments.iter().copied());
    assert_eq!(outcome.code, 0, "{outcome}");
}

fn fill(pair: &mut Pair) {
    prompt(&mut pair.legacy, "p", "one");
    let resource = json!({"name": "doc", "uri": "x://doc", "content": "one"});
    done(&mut pair.legacy, "create_resource", resource);
    pair.hear(&LISTS[..2]);
    pair.see(16, &["p"], &["x://doc"]);
}

#[test]
fn a_project_that_is_deleted_is_gone_until_it_is_made_again() {
    let env = with_project();
    let mut pair = Pair::start(&env);
    pair.see(16, &[], &[]);
    for _ in 0..3 {
        fill(&mut pair);
        twig(&env, &["project", "delete", PROJECT, "--force"]);
        pair.hear(&LISTS);
        pair.see(4, &[], &[]);
        pair.miss();
        twig(&env, &["project", "create", PROJECT]);
        // It is empty, as before: only the tools are back.
        pair.hear(&LISTS[2..]);
        pair.see(16, &[], &[]);
    }
    fill(&mut pair);
    for client in [pair.legacy, pair.modern] {
        let ended = client.close();
        assert!(ended.status.success(), "{}", ended.stderr);
        let told = ended.stderr.matches("does not exist").count();
        assert_eq!(told, 3, "each time is told once: {}", ended.stderr);
    }
}

#[test]
fn a_project_that_is_renamed_is_gone_until_its_name_is_back() {
    let env = with_project();
    let mut pair = Pair::start(&env);
    fill(&mut pair);
    twig(&env, &["project", "rename", PROJECT, "other"]);
    pair.hear(&LISTS);
    pair.see(4, &[], &[]);
    pair.miss();
    let refused = serve(&env).ended();
    assert_eq!(refused.status.code(), Some(1), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .starts_with("error: Project 'auth-module' does not exist in workspace 'default'"),
        "{}",
        refused.stderr
    );
    let mut other = env.serve_with(["--project", "other"]);
    assert_eq!(text(&mut other, "p"), "one");
    twig(&env, &["project", "rename", "other", PROJECT]);
    pair.hear(&LISTS);
    pair.see(16, &["p"], &["x://doc"]);
    assert_eq!(text(&mut pair.legacy, "p"), "one");
    let update = json!({"name": "p", "content": "two", "expected_version": 1});
    done(&mut pair.legacy, "update_prompt", update);
    let said = failed(&mut other, "delete_prompt", json!({"name": "p"}));
    assert_eq!(
        said,
        "Error: Project 'other' does not exist in workspace 'default'"
    );
    // Another one takes the name at once: what it holds is what is served.
    twig(&env, &["project", "rename", PROJECT, "old"]);
    twig(&env, &["project", "create", PROJECT]);
    pair.legacy.notification(LISTS[0]);
    pair.see(16, &[], &[]);
}
