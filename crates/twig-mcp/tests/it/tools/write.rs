//! The six tools that write, by the examples of their contract and past them.

use serde_json::{Value, json};
use twig_core::Limits;
use twig_core::store::{ItemKind, Noun, StoreError, StoreName};
use twig_mcp::{Tools, Work, WorkOutcome};

use super::agent::{Agent, text};
use crate::support::{error, request, server_meta, values};

const CANCELLED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;

fn create(agent: &mut Agent, name: &str) -> Value {
    agent.call("create_prompt", json!({"name": name, "content": "Text"}))
}

#[test]
fn a_prompt_is_created_updated_and_deleted_in_the_words_of_the_contract() {
    let mut agent = Agent::new();
    let arguments = json!({"name": "test-prompt", "content": "This is a test prompt",
        "description": "A test prompt for demonstration"});
    let result = agent.call("create_prompt", arguments.clone());
    let said = |text: &str, version: u64, changed: bool| {
        json!({"content": [{"type": "text", "text": text}], "isError": false,
            "structuredContent": {"project": "auth-module", "name": "test-prompt",
                "version": version, "changed": changed}})
    };
    let created = "Created prompt 'test-prompt' in project 'auth-module'";
    assert_eq!(result, said(created, 1, true));
    let reply = agent
        .peer
        .ask("prompts/get", json!({"name": "test-prompt"}));
    let message = &reply["result"]["messages"][0]["content"]["text"];
    assert_eq!(message, "This is a test prompt");

    assert_eq!(
        agent.fails("create_prompt", arguments),
        "Error: Prompt 'test-prompt' already exists in project 'auth-module'"
    );
    let arguments = json!({"name": "test-prompt", "content": "Updated prompt content"});
    let updated = "Updated prompt 'test-prompt' in project 'auth-module'";
    assert_eq!(
        agent.call("update_prompt", arguments.clone()),
        said(updated, 2, true)
    );
    assert_eq!(
        agent.call("update_prompt", arguments),
        said(updated, 2, false)
    );
    let deleted = "Deleted prompt 'test-prompt' from project 'auth-module'";
    assert_eq!(
        agent.call("delete_prompt", json!({"name": "test-prompt"})),
        said(deleted, 3, true)
    );
    assert_eq!(
        agent.fails(
            "update_prompt",
            json!({"name": "test-prompt", "content": "x"})
        ),
        "Error: Prompt 'test-prompt' does not exist in project 'auth-module'"
    );
}

#[test]
fn a_resource_is_created_updated_and_deleted_in_the_words_of_the_contract() {
    let mut agent = Agent::new();
    let result = agent.call(
        "create_resource",
        json!({"name": "test-doc", "uri": "file:///test.md",
            "content": "# Test Document\n\nThis is a test.", "mime_type": "text/markdown",
            "description": "Test documentation"}),
    );
    let created = "Created resource 'test-doc' in project 'auth-module'";
    assert_eq!(
        result,
        json!({"content": [{"type": "text", "text": created}], "isError": false,
            "structuredContent": {"project": "auth-module", "name": "test-doc",
                "uri": "file:///test.md", "mimeType": "text/markdown",
                "version": 1, "changed": true}})
    );
    let reply = agent.peer.ask("resources/list", json!({}));
    assert_eq!(reply["result"]["resources"][0]["uri"], "file:///test.md");
    let result = agent.call(
        "update_resource",
        json!({"name": "test-doc", "content": "# Updated Test Document\n\nContent has changed.",
            "description": "Updated documentation"}),
    );
    assert_eq!(
        text(&result),
        "Updated resource 'test-doc' in project 'auth-module'"
    );
    assert_eq!(result["structuredContent"]["version"], 2);
    assert_eq!(
        agent.says("delete_resource", json!({"name": "test-doc"})),
        "Deleted resource 'test-doc' from project 'auth-module'"
    );
}

#[test]
fn what_a_name_may_be_is_said() {
    let mut agent = Agent::new();
    for (name, sentence) in [
        (
            "test prompt",
            "Prompt name 'test prompt' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
        ),
        ("", "Prompt name is empty"),
        ("..", "Prompt name '..' means a folder; choose another"),
        (
            "a\nb",
            "Prompt name 'a\nb' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
        ),
        (
            &*"n".repeat(256),
            "Prompt name is 256 characters long; the limit is 255",
        ),
    ] {
        let arguments = json!({"name": name, "content": "c"});
        let said = agent.fails("create_prompt", arguments);
        assert_eq!(said, format!("Error: {sentence}"));
    }
    create(&mut agent, &"n".repeat(255));
    let said = agent.fails("delete_resource", json!({"name": "a/b"}));
    assert!(
        said.starts_with("Error: Resource name 'a/b' contains"),
        "{said}"
    );
}

#[test]
fn a_name_that_is_not_there_brings_near_ones() {
    let mut agent = Agent::new();
    create(&mut agent, "code-review");
    agent.says(
        "create_resource",
        json!({"name": "schema", "uri": "file:///schema.sql", "content": "x"}),
    );
    assert_eq!(
        agent.fails("delete_prompt", json!({"name": "code-reveiw"})),
        "Error: Prompt 'code-reveiw' does not exist in project 'auth-module'; did you mean `code-review`?"
    );
    assert_eq!(
        agent.fails("update_resource", json!({"name": "shema", "content": "x"})),
        "Error: Resource 'shema' does not exist in project 'auth-module'; did you mean `schema`?"
    );
    assert_eq!(
        agent.fails("delete_resource", json!({"name": "code-review"})),
        "Error: Resource 'code-review' does not exist in project 'auth-module'"
    );
}

#[test]
fn only_the_version_that_was_read_is_changed() {
    let mut agent = Agent::new();
    create(&mut agent, "p");
    let update = |version: u64, content: &str| json!({"name": "p", "content": content, "expected_version": version});
    agent.says("update_prompt", update(1, "two"));
    let stale = "Error: Prompt 'p' is at version 2, not at the expected version 1: read it again, then repeat the change";
    assert_eq!(agent.fails("update_prompt", update(1, "other")), stale);
    let delete = |version: u64| json!({"name": "p", "expected_version": version});
    assert_eq!(agent.fails("delete_prompt", delete(1)), stale);
    agent.says("delete_prompt", delete(2));
}

#[test]
fn binary_content_is_base64_or_refused() {
    let mut agent = Agent::new();
    let resource = |name: &str, content: &str| {
        json!({"name": name, "uri": format!("file:///{name}"), "content": content,
            "mime_type": "image/png"})
    };
    agent.says("create_resource", resource("good.png", "iVBORw0KGgo="));
    let said = agent.fails("create_resource", resource("bad.png", "not base64!"));
    assert!(
        said.starts_with("Error: Content of type 'image/png' is binary and has to be valid base64"),
        "{said}"
    );
}

#[test]
fn the_author_is_the_client_that_said_its_name() {
    let author = |agent: &Agent, name: &str| {
        let history = agent.store.history(ItemKind::Prompt, name);
        history[0].author.to_string()
    };
    let mut agent = Agent::new();
    create(&mut agent, "nobody");
    assert_eq!(author(&agent, "nobody"), "unknown (mcp)");
    agent.peer.initialize_as("claude-desktop");
    create(&mut agent, "legacy");
    assert_eq!(author(&agent, "legacy"), "claude-desktop (mcp)");

    // No name makes a client the person, who is `twig` in every listing.
    let mut agent = Agent::new();
    agent.peer.initialize_as("twig");
    create(&mut agent, "forged");
    assert_eq!(author(&agent, "forged"), "twig (mcp)");

    let mut agent = Agent::new();
    agent.is_modern = true;
    create(&mut agent, "nobody");
    assert_eq!(author(&agent, "nobody"), "unknown (mcp)");
    let mut params = crate::support::modern(
        json!({"name": "create_prompt", "arguments": {"name": "modern", "content": "c"}}),
        json!({}),
    );
    params["_meta"]["io.modelcontextprotocol/clientInfo"] =
        json!({"name": "claude-code", "version": "2"});
    let (job, _) = agent.peer.start(request(1, "tools/call", params));
    agent.run(job.unwrap()).unwrap();
    assert_eq!(author(&agent, "modern"), "claude-code (mcp)");
}

#[test]
fn a_modern_answer_is_sealed_like_every_other() {
    let mut agent = Agent::new();
    agent.is_modern = true;
    let result = create(&mut agent, "p");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"], server_meta());
    let result = create(&mut agent, "p");
    assert_eq!(result["isError"], true);
    assert_eq!(result["resultType"], "complete");
}

#[test]
fn a_cancelled_write_is_carried_out_and_counts_until_it_is_done() {
    let limits = Limits {
        in_flight: 1,
        ..Limits::default()
    };
    let mut agent = Agent::new();
    let libraries: Vec<_> = agent.peer.catalog.libraries().to_vec();
    let libraries = libraries.iter().map(|it| twig_core::Library::clone(it));
    let tools = super::agent::for_project(twig_mcp::Tools::default());
    agent.peer = crate::support::Peer::with_tools(libraries.collect(), limits, tools);
    let arguments = json!({"name": "p", "content": "c"});
    let (job, _) = agent.start("create_prompt", arguments.clone());
    let job = job.unwrap();
    agent.peer.raw(CANCELLED);
    assert!(!agent.peer.connection.wants(job.ticket));

    let reply = agent.reply("create_prompt", arguments.clone());
    let busy = "The limit of 1 requests under way at once is reached: ask again in a moment";
    assert_eq!(error(&reply), (-32603, busy.to_owned()));
    assert_eq!(agent.run(job), None);
    assert_eq!(agent.peer.connection.in_flight(), 0);
    assert_eq!(
        agent.fails("create_prompt", arguments),
        "Error: Prompt 'p' already exists in project 'auth-module'"
    );
}

#[test]
fn whoever_waits_for_a_write_when_the_server_ends_is_told_to_look() {
    let mut agent = Agent::new();
    let arguments = json!({"name": "p", "content": "c"});
    agent.start("create_prompt", arguments.clone()).0.unwrap();
    let told = agent.peer.close();
    assert_eq!(
        error(&told[0]).1,
        "The server is ending, and whether the change was made is not known: look before you repeat it"
    );
    agent.start("create_prompt", arguments).0.unwrap();
    agent.peer.raw(CANCELLED);
    assert_eq!(agent.peer.close(), [] as [Value; 0]);
}

#[test]
fn what_the_store_says_is_what_the_agent_reads() {
    let mut agent = Agent::new();
    for failure in [
        StoreError::DiskFull,
        StoreError::Busy {
            workspace: StoreName::parse(Noun::Workspace, "main").unwrap(),
            seconds: 10,
            is_write: true,
        },
        StoreError::Unavailable("The store could not be opened".to_owned()),
    ] {
        let arguments = json!({"name": "p", "content": "c"});
        let job = agent.start("create_prompt", arguments).0.unwrap();
        let mut out = Vec::new();
        let done = WorkOutcome::Write(Err(failure.clone()));
        agent.peer.connection.finish(job.ticket, done, &mut out);
        let reply = &values(&String::from_utf8(out).unwrap())[0]["result"];
        assert_eq!(reply["isError"], true);
        assert_eq!(text(reply), format!("Error: {failure}"));
    }
}

#[test]
fn a_job_that_came_back_as_another_is_not_believed() {
    let mut agent = Agent::new();
    let arguments = json!({"name": "p", "content": "c"});
    let job = agent.start("create_prompt", arguments).0.unwrap();
    assert!(matches!(job.work, Work::Write(_)));
    let mut out = Vec::new();
    let done = WorkOutcome::Search(Ok(Vec::new()));
    agent.peer.connection.finish(job.ticket, done, &mut out);
    let reply = &values(&String::from_utf8(out).unwrap())[0];
    assert_eq!(error(reply).0, -32603);
}

#[test]
fn nothing_is_written_without_a_project_or_where_writing_is_off() {
    let read_only = Tools {
        writes: false,
        ..Tools::default()
    };
    for mut agent in [
        Agent::without_project(Vec::new(), Tools::default()),
        Agent::with(Vec::new(), read_only),
    ] {
        let reply = agent.reply("create_prompt", json!({"name": "p", "content": "c"}));
        assert_eq!(error(&reply).0, -32602);
        assert_eq!(agent.peer.connection.in_flight(), 0);
    }
}
