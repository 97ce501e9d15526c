//! One client with many requests: others take turns with it and do not wait for all of them.

use serde_json::{Value, json};

use super::Served;
use super::client::{Caller, get, modern};
use crate::{env, memory_kib};

/// A prompt that takes all the memory that a worker may have, beside the others.
const BOMB: &str = r#"
//- lib/twig.toml
[prompts.bomb]
[[prompts.bomb.arguments]]
name = "junk"

[prompts.count]

[prompts.hello]
[[prompts.hello.arguments]]
name = "name"
//- lib/prompts/bomb.md
{% set l = range(100000)|list %}{% for i in range(9999) %}{% set l = l|sort %}{% endfor %}{{ junk }}
//- lib/prompts/count.md
{% for i in range(3) %}{{ i }}{% endfor %}
//- lib/prompts/hello.md
Hello {{ name }}!
"#;

fn served(config: &str) -> Served {
    let env = env(BOMB);
    env.configure(config);
    Served::from_env(env)
}

fn start(caller: &mut Caller, name: &str, arguments: &Value) {
    let params = json!({"name": name, "arguments": arguments});
    let body = modern("prompts/get", params).to_string();
    caller.start("POST", &get(name), body.as_bytes());
}

/// How many of these callers have been answered.
fn answered(callers: &[Caller]) -> usize {
    let is_answered = |caller: &&Caller| {
        let stream = caller.stream.get_ref();
        stream.set_nonblocking(true).expect("a socket");
        let is_answered = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).expect("a socket");
        is_answered
    };
    callers.iter().filter(is_answered).count()
}

#[test]
fn a_render_does_not_wait_for_all_that_another_client_asked_for() {
    let served = served("[limits]\nrender_millis = 200\n");
    let mut greedy: Vec<Caller> = (0..60).map(|_| served.caller()).collect();
    for caller in &mut greedy {
        start(caller, "lib:bomb", &json!({}));
    }
    // Once one was answered the workers are at it.
    greedy[0].response();
    let mut other = served.caller();
    start(&mut other, "lib:count", &json!({}));
    assert_eq!(other.response().status, 200);
    let served_before = answered(&greedy[1..]);
    assert!(served_before < 30, "{served_before} of 59 were before it");
}

#[test]
fn a_full_queue_takes_the_request_of_another_client() {
    let served = served("[http]\nrenders = 4\n[limits]\nrender_millis = 1000\n");
    let mut greedy: Vec<Caller> = (0..12).map(|_| served.caller()).collect();
    for caller in &mut greedy {
        start(caller, "lib:bomb", &json!({}));
    }
    let mut told: Vec<String> = Vec::new();
    // The last ones find no place; the queue is full.
    told.push(greedy.pop().expect("many").response().json()["error"]["message"].to_string());
    let mut other = served.caller();
    start(&mut other, "lib:count", &json!({}));
    let answer = other.response().json();
    assert!(answer["error"].is_null(), "{answer}");
    for mut caller in greedy {
        told.push(caller.response().json()["error"]["message"].to_string());
    }
    let refused = told
        .iter()
        .filter(|told| told.contains("Too many requests are waiting: ask again in a moment"));
    assert!(refused.count() >= 4, "{told:?}");
}

#[test]
fn a_render_that_waits_too_long_is_refused() {
    let served = served("[limits]\nrender_millis = 300\nqueue_millis = 100\n");
    let mut callers: Vec<Caller> = (0..8).map(|_| served.caller()).collect();
    for caller in &mut callers {
        start(caller, "lib:bomb", &json!({}));
    }
    let told: Vec<String> = callers
        .iter_mut()
        .map(|caller| caller.response().json()["error"]["message"].to_string())
        .collect();
    let refused = told
        .iter()
        .filter(|told| told.contains("Too many requests are waiting"));
    // Two workers run one each; which of the others got a turn is the machine's business.
    assert!(refused.count() >= 4, "{told:?}");
}

#[test]
fn long_bodies_that_stop_keep_nobody_waiting() {
    let served = served("");
    let mut stopped: Vec<Caller> = (0..64).map(|_| served.caller()).collect();
    for caller in &mut stopped {
        let port = served.port;
        caller.raw(format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\ncontent-length: 4000000\r\n\r\n"
        ));
        caller.raw(vec![b' '; 70_000]);
    }
    let mut other = served.caller();
    start(
        &mut other,
        "lib:hello",
        &json!({"name": "x".repeat(100_000)}),
    );
    assert_eq!(other.response().status, 200);
    // None of them was given up for it.
    assert_eq!(answered(&stopped), 0);
}

#[test]
fn a_long_request_gives_its_room_back_once_it_was_read() {
    let served = served("[limits]\nrender_millis = 300\n");
    let junk = json!({"junk": "x".repeat(70_000)});
    let mut greedy: Vec<Caller> = (0..64).map(|_| served.caller()).collect();
    for caller in &mut greedy {
        start(caller, "lib:bomb", &junk);
    }
    let mut other = served.caller();
    start(
        &mut other,
        "lib:hello",
        &json!({"name": "x".repeat(70_000)}),
    );
    assert_eq!(other.response().status, 200);
    let served_before = answered(&greedy);
    assert!(served_before < 32, "{served_before} of 64 were before it");
}

/// A render that waits has the images of its prompt in memory.
#[test]
fn renders_that_wait_hold_a_bounded_amount_of_memory() {
    let env = env(BOMB);
    env.configure("[limits]\nrender_millis = 300\n");
    let manifest = "[prompts.image]\nmessages = [{ role = \"user\", image = \"i.png\" }, { role = \"user\", file = \"prompts/bomb.md\" }]\n";
    env.write("images/twig.toml", manifest);
    let bomb = "{% set l = range(100000)|list %}{% for i in range(9999) %}{% set l = l|sort %}{% endfor %}";
    env.write("images/prompts/bomb.md", bomb);
    let mut image = b"\x89PNG\r\n\x1a\n".to_vec();
    image.resize(3 << 20, 1);
    env.write("images/i.png", image);
    let served = Served::from_env(env);
    let mut callers: Vec<Caller> = (0..100).map(|_| served.caller()).collect();
    for caller in &mut callers {
        start(caller, "images:image", &json!({}));
    }
    // Each is refused at once, or waits for a worker and ends with the time of its render: how many
    // is a matter of the machine's speed.
    for caller in &mut callers {
        let refused = caller.response();
        let answer = (refused.status, refused.code());
        assert!(matches!(answer, (503 | 200, -32603)), "{answer:?}");
    }
    served.is_well();
    let memory = memory_kib(served.child.id(), "VmHWM");
    // 48 MiB of images at once, the program, and what the allocator keeps; all images are 300 MiB.
    assert!(memory < 200 * 1024, "{memory} KiB");
}
