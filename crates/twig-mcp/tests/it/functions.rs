//! Prompts that a program makes: the call goes out, the answer follows.

use serde_json::{Value, json};
use twig_core::template::JobOutcome;
use twig_core::{
    Content, Dialect, Function, FunctionOutcome, Limits, MessageSource, Prompt, RelativePath, Role,
};
use twig_mcp::{Job, Work, WorkOutcome};

use crate::support::{Peer, argument, error, library, prompt, request};

fn function(name: &str) -> Prompt {
    let program = RelativePath::parse("bin/run").unwrap();
    Prompt {
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::Function(Function::command(program, Vec::new())),
        }],
        dialect: Dialect::Function,
        description: Some("Of the list".into()),
        ..prompt(name, vec![argument("who")])
    }
}

fn peer() -> Peer {
    Peer::with(
        vec![library("l", 1, vec![function("run")])],
        Limits::default(),
    )
}

fn start(peer: &mut Peer, id: &str) -> Job {
    let params = json!({"name": "l:run", "arguments": {"who": "ab"}});
    let (job, heard) = peer.start(request(id, "prompts/get", params));
    assert_eq!(heard, "");
    job.unwrap()
}

fn finish(peer: &mut Peer, job: &Job, done: impl Into<WorkOutcome>) -> Option<Value> {
    let mut out = Vec::new();
    peer.connection.finish(job.ticket, done, &mut out);
    serde_json::from_slice(&out).ok()
}

fn printed(text: &str) -> FunctionOutcome {
    FunctionOutcome::Printed(text.as_bytes().to_vec())
}

const HELLO: &str = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}"#;

#[test]
fn a_function_is_told_what_was_asked_and_answered_when_it_is_done() {
    let mut peer = peer();
    let job = start(&mut peer, "a");
    let Work::Function(call) = &job.work else {
        panic!("no function: {job:?}");
    };
    assert_eq!(
        call.input,
        "{\"name\":\"run\",\"arguments\":{\"who\":\"ab\"}}\n"
    );
    assert_eq!(peer.connection.in_flight(), 1);
    let reply = finish(&mut peer, &job, printed(HELLO)).unwrap();
    let messages = json!([{"role": "user", "content": {"type": "text", "text": "hello"}}]);
    assert_eq!(
        reply["result"],
        json!({"description": "Of the list", "messages": messages})
    );
    let job = start(&mut peer, "b");
    let own = HELLO.replacen('{', "{\"description\":\"Its own\",", 1);
    let reply = finish(&mut peer, &job, printed(&own)).unwrap();
    assert_eq!(reply["result"]["description"], "Its own");
}

#[test]
fn what_goes_wrong_is_not_the_callers_mistake() {
    let mut peer = peer();
    let cases: [(WorkOutcome, &str); 4] = [
        (
            printed("{x").into(),
            "The function of prompt `l:run` printed invalid JSON: key must be a string at line 1 column 2",
        ),
        (
            FunctionOutcome::Failed("took too long".to_owned()).into(),
            "The function of prompt `l:run` took too long",
        ),
        (
            FunctionOutcome::Refused("Not today".to_owned()).into(),
            "Not today",
        ),
        (
            JobOutcome::limit("another").into(),
            "The job came back as another",
        ),
    ];
    for (done, sentence) in cases {
        let job = start(&mut peer, "a");
        let reply = finish(&mut peer, &job, done).unwrap();
        assert_eq!(error(&reply), (-32603, sentence.to_owned()));
    }
}

#[test]
fn a_cancelled_call_is_not_wanted_any_more() {
    let mut peer = peer();
    let (one, two) = (start(&mut peer, "a"), start(&mut peer, "b"));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}});
    assert!(peer.say(cancel.to_string()).is_empty());
    assert!(!peer.connection.wants(one.ticket) && peer.connection.wants(two.ticket));
    assert_eq!(finish(&mut peer, &one, printed(HELLO)), None);
    peer.connection.abandon_all();
    assert!(!peer.connection.wants(two.ticket));
    assert_eq!(finish(&mut peer, &two, printed(HELLO)), None);
}

#[test]
fn the_list_says_what_runs() {
    let mut peer = peer();
    let reply = peer.one(request("a", "prompts/list", json!({})));
    assert_eq!(
        reply["result"]["prompts"][0]["_meta"],
        json!({"twig/runs": "bin/run"})
    );
}
