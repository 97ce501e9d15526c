//! Whatever comes in, each line that goes out is JSON-RPC.

use proptest::prelude::*;
use serde_json::{Value, json};
use twig_mcp::Tools;

use crate::support::{self, sample};
use crate::tools::agent::Agent;

/// Fails unless a line is a reply or a notification.
fn check(line: &str) {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    let members = message.as_object().unwrap_or_else(|| panic!("{line}"));
    assert_eq!(members.get("jsonrpc"), Some(&json!("2.0")), "{line}");
    let kinds = ["result", "error", "method"];
    let count = kinds
        .iter()
        .filter(|kind| members.contains_key(**kind))
        .count();
    assert_eq!(count, 1, "{line}");
    if let Some(error) = members.get("error") {
        assert!(
            error["code"].is_i64() && error["message"].is_string(),
            "{line}"
        );
    }
}

/// JSON that looks a little like what clients send.
fn json_like() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "lib:(echo|review|gone|broken)|2026-07-28|ref/prompt|accept|decline|input|\\PC{0,8}\
            |(list|expand|create|update|delete)_prompts?|search|(create|update|delete)_resource"
            .prop_map(Value::from),
    ];
    let keys = "name|arguments|cursor|uri|ref|type|argument|value|notifications|_meta|input\
        |inputResponses|action|content|protocolVersion|requestId|promptsListChanged\
        |io.modelcontextprotocol/protocolVersion|io.modelcontextprotocol/clientCapabilities\
        |elicitation|resourceSubscriptions|command|query|limit|kind|description|mime_type\
        |expected_version|io.modelcontextprotocol/clientInfo|\\PC{0,4}";
    leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let methods = "initialize|ping|server/discover|prompts/(list|get)|completion/complete\
        |resources/(list|read|subscribe|unsubscribe|templates/list)|tools/(list|call)\
        |subscriptions/listen|notifications/cancelled|\\PC{0,6}";
    let whole = any::<u8>().prop_map(Value::from);
    let id = prop::option::of(prop_oneof![whole, json_like()]);
    let params = prop_oneof![json_like(), json_like().prop_map(modern)];
    (id, methods, params).prop_map(|(id, method, params)| {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if let Some(id) = id {
            message["id"] = id;
        }
        message.to_string().into_bytes()
    })
}

/// A tool that is there, called with nearly the right arguments.
fn tool_call() -> impl Strategy<Value = Vec<u8>> {
    let tool = "(list|expand)_prompts?|search|(create|update|delete)_(prompt|resource)";
    let key = "name|content|description|uri|mime_type|expected_version|command|input|query|limit";
    let value = prop_oneof![
        4 => "lib:(echo|review)|:?(echo|p)|a:b|text/plain|(input|short)=\"?\\PC{0,8}".prop_map(Value::from),
        1 => (0_u64..4).prop_map(Value::from),
        1 => json_like(),
    ];
    let arguments = prop::collection::btree_map(key, value, 0..6);
    (tool, arguments, any::<bool>()).prop_map(|(tool, arguments, is_modern)| {
        let mut params = json!({"name": tool, "arguments": arguments});
        if is_modern {
            params = support::modern(params, json!({}));
        }
        support::request(1, "tools/call", params).into_bytes()
    })
}

/// The same params, from a modern client.
fn modern(params: Value) -> Value {
    if params.is_object() {
        return support::modern(params, json!({"elicitation": {}}));
    }
    support::modern(json!({"name": params}), json!({}))
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let index = any::<prop::sample::Index>();
    let damaged = (request(), index, any::<u8>()).prop_map(|(mut bytes, at, byte)| {
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes
    });
    prop_oneof![
        4 => request(),
        3 => tool_call(),
        2 => damaged,
        1 => prop::collection::vec(any::<u8>(), 0..64),
        1 => json_like().prop_map(|json| json.to_string().into_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_line_out_is_json_rpc(messages in prop::collection::vec(message(), 1..12)) {
        let mut agent = Agent::with(vec![sample()], Tools::default());
        for message in messages {
            let (job, heard) = agent.peer.start(&message);
            heard.lines().for_each(check);
            if let Some(answer) = job.and_then(|job| agent.run(job)) {
                check(&answer.to_string());
            }
        }
        let mut peer = agent.peer;
        for value in peer.prompts_changed().into_iter().chain(peer.close()) {
            check(&value.to_string());
        }
        let alive = peer.ask("ping", json!({}));
        prop_assert_eq!(&alive["result"], &json!({}));
    }
}
