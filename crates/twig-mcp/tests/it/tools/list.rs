//! `tools/list`: which tools there are, in which words.

use serde_json::{Value, json};
use twig_mcp::Tools;

use super::agent::Agent;
use crate::support::{Peer, error, server_meta};

/// What the contract of the prompt tools lists, byte for byte.
const PROMPT_TOOLS: &str = r#"[{"name":"list_prompts","description":"List available prompt commands with descriptions. Users invoke prompt commands in messages by writing :<command> (e.g., :research topic); this lists what commands exist.","inputSchema":{"type":"object","properties":{}}},{"name":"expand_prompt","description":"Expands a named prompt command into a full prompt. When ANY user message contains a :-prefixed command token (e.g., :research topic, :summarize this article, :critique \"draft\"), you MUST call this tool before responding. Strip the leading colon from the command name and pass any remaining text (including quotes) as the input. Do not bypass this tool or answer directly whenever a :-prefixed command is present.","inputSchema":{"type":"object","properties":{"command":{"type":"string","description":"Prompt command name (filename without extension)"},"input":{"type":"string","description":"Text to inject into the prompt template"}},"required":["command","input"]}}]"#;

/// What the contract of the tools that write lists.
const WRITE_TOOLS: &str = include_str!("write_tools.json");

const NAMES: [&str; 16] = [
    "list_prompts",
    "expand_prompt",
    "use_prompt",
    "search",
    "create_prompt",
    "update_prompt",
    "delete_prompt",
    "create_resource",
    "update_resource",
    "delete_resource",
    "list_resources",
    "read_resource",
    "get_prompt",
    "history",
    "restore",
    "label",
];

fn listed(peer: &mut Peer) -> Vec<Value> {
    let reply = peer.ask("tools/list", json!({}));
    reply["result"]["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.collect()
}

fn read_only() -> Tools {
    Tools {
        writes: false,
        ..Tools::default()
    }
}

#[test]
fn the_order_is_always_the_same() {
    let mut agent = Agent::new();
    assert_eq!(names(&listed(&mut agent.peer)), NAMES);
    let mut agent = Agent::without_project(Vec::new(), Tools::default());
    assert_eq!(names(&listed(&mut agent.peer)), NAMES[..4]);
    // Those that read a project are there for a reader, too.
    let mut agent = Agent::with(Vec::new(), read_only());
    let readers = [&NAMES[..4], &NAMES[10..14]].concat();
    assert_eq!(names(&listed(&mut agent.peer)), readers);
}

#[test]
fn both_eras_list_the_same() {
    let mut agent = Agent::new();
    let legacy = agent.peer.ask("tools/list", json!({}));
    let mut modern = agent.peer.ask_modern("tools/list", json!({}))["result"].clone();
    assert_eq!(legacy["result"]["tools"], modern["tools"]);
    assert_eq!(legacy["result"].as_object().unwrap().len(), 1);
    modern["tools"] = json!([]);
    assert_eq!(
        modern,
        json!({"tools": [], "ttlMs": 5000, "cacheScope": "private", "resultType": "complete",
            "_meta": server_meta()})
    );
}

#[test]
fn the_prompt_tools_are_worded_as_their_contract_words_them() {
    let contract: Vec<Value> = serde_json::from_str(PROMPT_TOOLS).unwrap();
    let listed = listed(&mut Peer::new());
    let begins = |text: &Value, expected: &Value| {
        let (text, expected) = (text.as_str().unwrap(), expected.as_str().unwrap());
        assert!(text.starts_with(expected), "{text}");
    };
    for (tool, expected) in listed.iter().zip(&contract) {
        assert_eq!(tool["name"], expected["name"]);
        // Sentences are added at the end.
        begins(&tool["description"], &expected["description"]);
        let (schema, wanted) = (&tool["inputSchema"], &expected["inputSchema"]);
        assert_eq!(schema["required"], wanted["required"]);
        assert_eq!(schema["additionalProperties"], Value::Null);
        for (name, property) in wanted["properties"].as_object().unwrap() {
            let listed = &schema["properties"][name];
            assert_eq!(listed["type"], property["type"]);
            begins(&listed["description"], &property["description"]);
        }
    }
    // The order of properties is a promise, too: models read schemas as text.
    let reply = Peer::new().raw(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#);
    let places = [
        "\"command\":{\"type\":\"string\",\"description\":\"Prompt command name (filename without extension)",
        "\"input\":{\"type\":\"string\",\"description\":\"Text to inject into the prompt template\"}}",
        "\"required\":[\"command\",\"input\"]}",
    ]
    .map(|part| reply.find(part).expect(part));
    assert!(places.is_sorted(), "{reply}");
}

#[test]
fn descriptions_lead_models_to_use_prompt_and_search() {
    let listed = listed(&mut Peer::new());
    let description = |at: usize| listed[at]["description"].as_str().unwrap();
    assert!(description(0).ends_with("To find a prompt for a task, use search."));
    assert!(description(1).contains(" Call use_prompt instead if you can: "));
    assert!(description(2).contains("a :-prefixed command token (e.g., :research topic"));
    assert!(description(2).contains("the name without the leading colon as the command"));
    assert!(description(3).contains("Use a prompt or skill that was found with use_prompt"));
    assert_eq!(listed[2]["inputSchema"]["required"], json!(["command"]));
    let names = |at: usize| {
        let properties = listed[at]["inputSchema"]["properties"].as_object().unwrap();
        properties.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(1), names(2));
}

#[test]
fn claude_code_keeps_the_two_main_tools_loaded() {
    let listed = listed(&mut Agent::new().peer);
    let loaded = listed
        .iter()
        .filter(|tool| tool["_meta"]["anthropic/alwaysLoad"] == true);
    let loaded: Vec<&Value> = loaded.collect();
    let loaded_names: Vec<&str> = loaded
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(loaded_names, ["use_prompt", "search"]);
    for tool in loaded {
        assert!(tool["_meta"]["anthropic/searchHint"].is_string(), "{tool}");
    }
    assert_eq!(listed[2]["_meta"]["anthropic/maxResultSizeChars"], 200_000);
}

#[test]
fn the_tools_that_write_are_worded_as_their_contract_words_them() {
    let contract: Vec<Value> = serde_json::from_str(WRITE_TOOLS).unwrap();
    let listed = listed(&mut Agent::new().peer);
    for (tool, expected) in listed[4..].iter().zip(&contract) {
        assert_eq!(tool["name"], expected["name"]);
        assert_eq!(tool["description"], expected["description"]);
        let mut schema = tool["inputSchema"].clone();
        assert_eq!(schema["additionalProperties"], false);
        schema
            .as_object_mut()
            .unwrap()
            .remove("additionalProperties");
        let properties = schema["properties"].as_object_mut().unwrap();
        let expected_version = properties.remove("expected_version");
        assert_eq!(schema, expected["inputSchema"]);
        let wanted = (!names(std::slice::from_ref(tool))[0].starts_with("create")).then(|| {
            json!({"type": "integer", "minimum": 1,
                "description": "Only if this is still the last version"})
        });
        assert_eq!(expected_version, wanted);
    }
}

#[test]
fn another_trigger_is_told_instead_of_the_colon() {
    let descriptions = |trigger: &str| {
        let tools = Tools {
            trigger: trigger.to_owned(),
            ..Tools::default()
        };
        let mut agent = Agent::without_project(Vec::new(), tools);
        let listed = listed(&mut agent.peer);
        [0, 1].map(|at: usize| listed[at]["description"].as_str().unwrap().to_owned())
    };
    let [list, expand] = descriptions("/");
    assert!(
        list.contains("by writing /<command> (e.g., /research topic)"),
        "{list}"
    );
    assert!(expand.contains("a /-prefixed command token"), "{expand}");
    assert!(expand.contains("Strip the leading `/` from"), "{expand}");
    let is_colon = |text: &str| text.contains(":research") || text.contains("colon");
    assert!(!is_colon(&list) && !is_colon(&expand), "{list} {expand}");
    assert_eq!(descriptions(""), descriptions(":"));
    let [list, _] = descriptions("{trigger word}");
    assert!(
        list.contains("by writing {trigger word}<command>"),
        "{list}"
    );
}

#[test]
fn annotations_say_what_reads_and_what_destroys() {
    let listed = listed(&mut Agent::new().peer);
    let hints = |tool: &Value| {
        [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ]
        .map(|hint| tool["annotations"][hint].as_bool().unwrap())
    };
    for tool in &listed {
        let expected = match tool["name"].as_str().unwrap() {
            "create_prompt" | "create_resource" => [false, false, false, false],
            name if ["update", "delete", "restore", "label"]
                .iter()
                .any(|it| name.starts_with(it)) =>
            {
                [false, true, true, false]
            }
            _ => [true, false, true, false],
        };
        assert_eq!(hints(tool), expected, "{tool}");
        let output = match tool["name"].as_str().unwrap() {
            "use_prompt" => Value::Null,
            _ => json!("object"),
        };
        assert_eq!(tool["outputSchema"]["type"], output);
        assert!(!tool["title"].as_str().unwrap().is_empty());
        let name = tool["name"].as_str().unwrap();
        assert!(name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    }
}

#[test]
fn there_are_no_further_pages() {
    let mut peer = Peer::new();
    for cursor in ["", "x", "0000000000000000100000001"] {
        let reply = peer.ask("tools/list", json!({"cursor": cursor}));
        assert_eq!(error(&reply).0, -32602);
    }
    assert_eq!(listed(&mut peer).len(), 4);
}

#[test]
fn a_tool_that_is_not_there_is_named_with_what_would_offer_it() {
    let mut agent = Agent::without_project(Vec::new(), Tools::default());
    let unknown = |agent: &mut Agent, name: &str| {
        let reply = agent.reply(name, json!({}));
        let suggestions = reply["error"]["data"]["suggestions"].clone();
        let (code, sentence) = error(&reply);
        assert_eq!(code, -32602);
        (sentence, suggestions)
    };
    let (sentence, suggestions) = unknown(&mut agent, "x");
    assert_eq!(sentence, "Unknown tool: x");
    assert_eq!(suggestions, json!([]));
    let (_, suggestions) = unknown(&mut agent, "list_prompt");
    assert_eq!(suggestions[0], "list_prompts");
    let (sentence, _) = unknown(&mut agent, "delete_resource");
    assert_eq!(
        sentence,
        "Unknown tool: delete_resource (it writes to a project, and none is selected: start the server with --project)"
    );

    let (sentence, _) = unknown(&mut agent, "history");
    assert_eq!(
        sentence,
        "Unknown tool: history (it reads a project, and none is selected: start the server with --project)"
    );

    let mut agent = Agent::with(Vec::new(), read_only());
    let (sentence, _) = unknown(&mut agent, "restore");
    assert_eq!(
        sentence,
        "Unknown tool: restore (it writes, and here you may only read)"
    );
    let (sentence, _) = unknown(&mut agent, "create_prompt");
    assert_eq!(
        sentence,
        "Unknown tool: create_prompt (it writes, and here you may only read)"
    );
    let mut agent = Agent::new();
    agent.is_modern = true;
    let (_, suggestions) = unknown(&mut agent, "create_promt");
    assert_eq!(suggestions[0], "create_prompt");
}
