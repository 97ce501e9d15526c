//! Templates that are rendered elsewhere: the job goes out, the answer follows.

use serde_json::{Value, json};
use twig_core::template::JobOutcome;
use twig_core::{Limits, Role};
use twig_mcp::Job;

use crate::support::{Peer, argument, error, jinja, library, modern, request, server_meta};

fn peer(in_flight: usize) -> Peer {
    let limits = Limits {
        in_flight,
        ..Limits::default()
    };
    let who = || vec![argument("who")];
    let prompts = vec![
        jinja("loop", "{% for c in who %}<{{ c }}>{% endfor %}", who()),
        jinja("plain", "Hello {{ who }}", who()),
        jinja(
            "wrong",
            "one\n{% for c in who %}{{ c.x.y }}{% endfor %}",
            who(),
        ),
    ];
    Peer::with(vec![library("l", 1, prompts)], limits)
}

fn get(id: &str, name: &str) -> String {
    request(
        id,
        "prompts/get",
        json!({"name": name, "arguments": {"who": "ab"}}),
    )
}

fn started(peer: &mut Peer, message: String) -> Job {
    let (job, heard) = peer.start(message);
    assert_eq!(heard, "");
    job.unwrap()
}

fn messages(text: &str) -> Value {
    json!([{"role": "user", "content": {"type": "text", "text": text}}])
}

#[test]
fn a_plain_template_is_answered_in_place() {
    let reply = peer(0).one(get("a", "l:plain"));
    assert_eq!(reply["result"], json!({"messages": messages("Hello ab")}));
}

#[test]
fn a_computed_template_is_answered_when_its_job_is_done() {
    let mut peer = peer(2);
    let params = json!({"name": "l:loop", "arguments": {"who": "x"}});
    let message = request("m", "prompts/get", modern(params, json!({})));
    let modern = started(&mut peer, message);
    let legacy = started(&mut peer, get("a", "loop"));
    assert_eq!(peer.connection.in_flight(), 2);

    // Others need not wait.
    assert_eq!(peer.ask("ping", json!({}))["result"], json!({}));

    let expected = json!({"jsonrpc": "2.0", "id": "a", "result": {"messages": messages("<a><b>")}});
    assert_eq!(peer.run(&legacy), [expected]);
    let expected = json!({"messages": messages("<x>"), "resultType": "complete",
        "_meta": server_meta()});
    assert_eq!(peer.run(&modern)[0]["result"], expected);
    assert_eq!(peer.connection.in_flight(), 0);
}

#[test]
fn two_requests_with_one_id_in_flight_are_both_answered() {
    let mut peer = peer(2);
    let jobs = [(); 2].map(|()| started(&mut peer, get("a", "l:loop")));
    for job in jobs.iter().rev() {
        assert_eq!(peer.run(job)[0]["id"], "a");
    }
}

#[test]
fn a_cancelled_request_is_not_answered() {
    let mut peer = peer(1);
    let job = started(&mut peer, get("a", "l:loop"));
    assert!(peer.connection.wants(job.ticket));
    peer.raw(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#);
    assert!(!peer.connection.wants(job.ticket));
    assert_eq!(peer.connection.in_flight(), 0);

    // Its place is free at once, whether its job is ever finished or not.
    let next = started(&mut peer, get("a", "l:loop"));
    assert_eq!(peer.run(&job), [] as [Value; 0]);
    assert_eq!(peer.run(&next)[0]["id"], "a");
}

#[test]
fn requests_in_flight_are_limited() {
    let mut peer = peer(1);
    let first = started(&mut peer, get("a", "l:loop"));
    let reply = peer.one(get("b", "l:loop"));
    assert_eq!(reply["id"], "b");
    let sentence = "The limit of 1 requests under way at once is reached: ask again in a moment";
    assert_eq!(error(&reply), (-32603, sentence.to_owned()));
    assert_eq!(peer.run(&first).len(), 1);
    started(&mut peer, get("b", "l:loop"));
}

#[test]
fn a_job_that_ran_into_a_limit_is_not_the_callers_mistake() {
    let mut peer = peer(1);
    let job = started(&mut peer, get("a", "l:loop"));
    let mut out = Vec::new();
    let outcome = JobOutcome::limit("Rendering took longer than 1 s");
    peer.connection.finish(job.ticket, outcome, &mut out);
    let reply: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(
        error(&reply),
        (-32603, "Rendering took longer than 1 s".to_owned())
    );

    // A job is answered once, whatever comes later.
    assert_eq!(peer.run(&job), [] as [Value; 0]);
}

#[test]
fn each_text_is_said_by_who_should_say_it() {
    let mut pair = jinja("pair", "{% set a = 1 %}ask", Vec::new());
    let mut answer = pair.messages[0].clone();
    answer.role = Role::Assistant;
    pair.messages.push(answer);
    pair.description = Some("Two voices".into());
    let mut peer = Peer::with(vec![library("l", 1, vec![pair])], Limits::default());
    let job = started(&mut peer, get("a", "pair"));
    let result = &peer.run(&job)[0]["result"];
    assert_eq!(result["description"], "Two voices");
    assert_eq!(result["messages"][0]["role"], "user");
    assert_eq!(result["messages"][1]["role"], "assistant");
}

#[test]
fn a_connection_may_move_between_threads() {
    fn check<T: Send>() {}
    check::<twig_mcp::Connection>();
    check::<std::sync::Arc<twig_mcp::Server>>();
    check::<Job>();
}

#[test]
fn a_template_that_fails_says_where() {
    let mut peer = peer(1);
    let job = started(&mut peer, get("a", "l:wrong"));
    let (code, message) = error(&peer.run(&job)[0]);
    assert_eq!(code, -32602);
    assert!(
        message.starts_with("Error rendering prompt template at line 2: "),
        "{message}"
    );
}
