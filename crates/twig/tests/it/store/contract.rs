//! The contract of projects, word for word.

use serde_json::{Value, json};
use twig_testkit::{TestEnv, write_fixture};

use super::{done, prompt, serve, text, update, with_project};

fn without_hints(answer: &Value) -> Value {
    let error = &answer["error"];
    json!({"code": error["code"], "message": error["message"]})
}

#[test]
fn prompts_are_listed_and_read_as_they_were_written() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let content = "\u{feff}Review {{ code }} and {% this %}\r\n- Input validation\n\n";
    let arguments = json!({"name": "code-review", "content": content, "description": "Review authentication code for security issues"});
    let said = done(&mut client, "create_prompt", arguments);
    assert_eq!(
        said,
        "Created prompt 'code-review' in project 'auth-module'"
    );
    let said = prompt(&mut client, "refactor-guide", "Guide");
    assert_eq!(
        said,
        "Created prompt 'refactor-guide' in project 'auth-module'"
    );
    let listed = client.request("prompts/list", json!({}));
    let prompts = &listed["result"]["prompts"];
    assert_eq!(prompts[0]["name"], "code-review");
    assert_eq!(
        prompts[0]["description"],
        "Review authentication code for security issues"
    );
    assert_eq!(prompts[1]["name"], "refactor-guide");
    assert_eq!(prompts[1].get("description"), None);
    let got = client.request("prompts/get", json!({"name": "code-review"}));
    assert_eq!(
        got["result"],
        json!({
            "description": "Review authentication code for security issues",
            "messages": [{"role": "user", "content": {"type": "text", "text": content}}],
            "_meta": {"twig/version": 1},
        })
    );
    let missing = client.request("prompts/get", json!({"name": "code-revie"}));
    assert_eq!(
        without_hints(&missing),
        json!({"code": -32602, "message": "Prompt 'code-revie' not found in project 'auth-module'"})
    );
    assert_eq!(
        missing["error"]["data"]["suggestions"],
        json!(["code-review"])
    );
}

#[test]
fn resources_are_listed_and_read_as_they_were_written() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let api = json!({
        "name": "api-docs", "uri": "file:///docs/api.md", "content": "# API Documentation\n",
        "mime_type": "text/markdown", "description": "REST API documentation",
    });
    let said = done(&mut client, "create_resource", api);
    assert_eq!(said, "Created resource 'api-docs' in project 'auth-module'");
    let image = json!({"name": "image", "uri": "file:///image.png", "content": "iVBORw0KGgo=", "mime_type": "image/png"});
    done(&mut client, "create_resource", image);
    let listed = client.request("resources/list", json!({}));
    let first = &listed["result"]["resources"][0];
    assert_eq!(first["uri"], "file:///docs/api.md");
    assert_eq!(first["name"], "api-docs");
    assert_eq!(first["description"], "REST API documentation");
    assert_eq!(first["mimeType"], "text/markdown");
    let read = client.request("resources/read", json!({"uri": "file:///docs/api.md"}));
    assert_eq!(
        read["result"]["contents"],
        json!([{"uri": "file:///docs/api.md", "mimeType": "text/markdown", "text": "# API Documentation\n"}])
    );
    let read = client.request("resources/read", json!({"uri": "file:///image.png"}));
    assert_eq!(
        read["result"]["contents"],
        json!([{"uri": "file:///image.png", "mimeType": "image/png", "blob": "iVBORw0KGgo="}])
    );
    let missing = client.request("resources/read", json!({"uri": "file:///docs/apy.md"}));
    assert_eq!(
        without_hints(&missing),
        json!({"code": -32602, "message": "Resource 'file:///docs/apy.md' not found in project 'auth-module'"})
    );
}

#[test]
fn a_client_that_does_not_wait_sees_what_it_wrote() {
    let env = with_project();
    let mut client = serve(&env);
    let create =
        |name: &str| json!({"name": "create_prompt", "arguments": {"name": name, "content": "x"}});
    client.start_request("tools/call", &create("a"));
    client.start_request("tools/call", &create("b"));
    let list = client.start_request("prompts/list", &json!({}));
    let listed = client.answer(list);
    assert_eq!(
        listed["result"]["prompts"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn the_project_comes_before_libraries_and_writes_only_where_allowed() {
    let env = with_project();
    write_fixture(
        &env.work(),
        "//- notes/research.md\n---\ndescription: of the library\n---\nlibrary\n",
    );
    let mut client = env.serve_with(["--project", super::PROJECT, "--library", "notes"]);
    client.initialize();
    assert_eq!(text(&mut client, "research"), "library\n");
    prompt(&mut client, "research", "project");
    assert_eq!(text(&mut client, "research"), "project");
    let tools = |client: &mut twig_testkit::TestClient| -> Vec<String> {
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("a list");
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let all = tools(&mut client);
    assert_eq!(all.len(), 16, "{all:?}");
    let mut reader = env.serve_with(["--project", super::PROJECT, "--read-only"]);
    reader.initialize();
    let readers = [
        "list_prompts",
        "expand_prompt",
        "use_prompt",
        "search",
        "list_resources",
        "read_resource",
        "get_prompt",
        "history",
    ];
    assert_eq!(tools(&mut reader), readers);
    assert_eq!(text(&mut reader, "research"), "project");
    let refused = reader.request(
        "tools/call",
        json!({"name": "delete_prompt", "arguments": {"name": "research"}}),
    );
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let plain: TestEnv = TestEnv::new(crate::TWIG);
    let mut without = plain.serve();
    without.initialize();
    assert_eq!(
        tools(&mut without),
        ["list_prompts", "expand_prompt", "use_prompt", "search"]
    );
}

/// T-FS-06: a URI is a key, never a path.
#[test]
fn a_uri_of_a_file_leads_to_what_was_stored() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    done(
        &mut client,
        "create_resource",
        json!({"name": "passwd", "uri": "file:///etc/passwd", "content": "stored"}),
    );
    let read = client.request("resources/read", json!({"uri": "file:///etc/passwd"}));
    assert_eq!(read["result"]["contents"][0]["text"], "stored");
    let read = client.request("resources/read", json!({"uri": "file:///etc/hostname"}));
    assert_eq!(read["error"]["code"], -32602);
}

/// The same bytes as another type are another thing.
#[test]
fn a_type_that_changes_changes_how_it_is_read() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let create = json!({"name": "x", "uri": "x://x", "content": "hello"});
    done(&mut client, "create_resource", create);
    let mut read = |content: &str, mime: &str| {
        let update = json!({"name": "x", "content": content, "mime_type": mime});
        done(&mut client, "update_resource", update);
        let read = client.request("resources/read", json!({"uri": "x://x"}));
        read["result"]["contents"][0].clone()
    };
    let binary = "application/octet-stream";
    for _ in 0..2 {
        assert_eq!(read("hello", "text/markdown")["text"], "hello");
        assert_eq!(read("aGVsbG8=", binary)["blob"], "aGVsbG8=");
    }
}

/// Whoever reads something learns which version it is, and may change just that.
#[test]
fn what_is_read_says_which_version_it_is() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    prompt(&mut client, "p", "one");
    update(&mut client, "p", "two");
    let create = json!({"name": "r", "uri": "x://r", "content": "one"});
    done(&mut client, "create_resource", create);
    let version = |answer: &Value| answer["_meta"]["twig/version"].clone();
    let listed = client.request("prompts/list", json!({}));
    assert_eq!(version(&listed["result"]["prompts"][0]), 2);
    let got = client.request("prompts/get", json!({"name": "p"}));
    assert_eq!(version(&got["result"]), 2);
    let got = client.modern("prompts/get", json!({"name": "p"}));
    assert_eq!(version(&got["result"]), 2);
    let listed = client.request("resources/list", json!({}));
    assert_eq!(version(&listed["result"]["resources"][0]), 1);
    let read = client.request("resources/read", json!({"uri": "x://r"}));
    assert_eq!(version(&read["result"]), 1);
}
