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
    // Once one was answered the workers are at it. Which one that is depends on the machine.
    while answered(&greedy) == 0 {
        std::thread::yield_now();
    }
    let mut other = served.caller();
    start(&mut other, "lib:count", &json!({}));
    assert_eq!(other.response().status, 200);
    // In one queue all of them would be before it; how many are depends on the machine's speed.
    let served_before = answered(&greedy);
    assert!(served_before < 60, "all were before it");
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
    assert!(served_before < 64, "all were before it");
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// An image of so many bytes.
fn image(length: usize) -> Vec<u8> {
    let mut image = PNG.to_vec();
    image.resize(length, 1);
    image
}

/// Replies with images take turns; what else takes long has a queue of its own.
#[test]
fn images_that_are_not_read_keep_no_other_prompt_waiting() {
    let env = env(BOMB);
    env.configure("[http]\nreply_bytes = 6000000\n");
    let manifest = r#"
[prompts.image]
messages = [{ role = "user", image = "i.png" }]

[prompts.checked]
arguments = [{ name = "word", pattern = "[a-z]+" }]
"#;
    env.write("images/twig.toml", manifest);
    env.write("images/prompts/checked.md", "{{ word }}");
    env.write("images/i.png", image(3 << 20));
    let served = Served::from_env(env);
    // A client that reads nothing loses its reply after a second, and then the next one is sent. A
    // machine may be so slow that this happens first.
    let is_alone = (0..20).any(|_| {
        let mut first = served.caller();
        start(&mut first, "images:image", &json!({}));
        assert_eq!(first.head().status, 200);
        // There is no memory for a second one, so one of these has its turn and waits.
        let mut waiting: Vec<Caller> = (0..5).map(|_| served.caller()).collect();
        for caller in &mut waiting {
            start(caller, "images:image", &json!({}));
        }
        served.is_well();
        let mut other = served.caller();
        // Checked where no other request waits for it.
        let word = "x".repeat(2_000);
        start(&mut other, "images:checked", &json!({"word": word}));
        let response = other.response();
        let answered = answered(&waiting);
        assert_eq!(response.status, 200);
        let text = &response.json()["result"]["messages"][0]["content"]["text"];
        assert_eq!(*text, *word);
        answered == 0
    });
    assert!(is_alone, "it waits for the images of others");
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
    env.write("images/i.png", image(3 << 20));
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
