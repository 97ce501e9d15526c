//! Many clients at once: nobody gets what another asked for, and who is slow slows nobody else.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::{MODERN, figure};

use super::Served;
use super::client::{Caller, initialize, list};
use crate::memory_kib;

/// What to do next, the same in every run: `SplitMix64`.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// One of the crowd: modern, or with a session of its own.
struct Client<'s> {
    served: &'s Served,
    number: u64,
    caller: Caller,
    session: Option<String>,
    dice: Dice,
}

impl<'s> Client<'s> {
    fn new(served: &'s Served, number: u64) -> Self {
        let mut caller = served.caller();
        let session = number.is_multiple_of(2).then(|| caller.initialize());
        Self {
            served,
            number,
            caller,
            session,
            dice: Dice(number),
        }
    }

    /// Starts a request; its id and its argument are nobody else's.
    fn start(&mut self, call: u64, method: &str, mut params: Value) -> String {
        let id = format!("{}-{call}", self.number);
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![("content-type", "application/json")];
        if let Some(session) = &self.session {
            headers.push(("mcp-session-id", session));
        } else {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            headers.extend([("mcp-protocol-version", MODERN), ("mcp-method", method)]);
            if !name.is_empty() {
                headers.push(("mcp-name", &name));
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.caller
            .start("POST", &headers, body.to_string().as_bytes());
        id
    }

    /// One call of any kind; says whether it was answered.
    fn call(&mut self, call: u64) -> bool {
        let who = format!("{}/{call}", self.number);
        let arguments = json!({"name": who});
        let (method, params) = match self.dice.roll(4) {
            0 => ("prompts/list", json!({})),
            1 => ("prompts/get", json!({"name": "lib:count"})),
            2 => ("prompts/get", json!({"name": format!("lib:{who}")})),
            _ => (
                "prompts/get",
                json!({"name": "lib:hello", "arguments": arguments}),
            ),
        };
        let id = self.start(call, method, params.clone());
        if self.dice.roll(5) == 0 {
            // Goes away before the answer, and comes back; a session survives that.
            self.caller = self.served.caller();
            return false;
        }
        let response = self.caller.response();
        let answer = response.json();
        assert_eq!(answer["id"], id.as_str(), "{answer}");
        let text = &answer["result"]["messages"][0]["content"]["text"];
        match params["name"].as_str() {
            None => assert!(answer["result"]["prompts"].is_array(), "{answer}"),
            Some("lib:hello") => assert_eq!(*text, format!("Hello {who}!\n")),
            Some("lib:count") => assert_eq!(*text, "012\n"),
            Some(_) => {
                assert_eq!(answer["error"]["code"], -32602);
                let message = answer["error"]["message"].to_string();
                assert!(message.contains(&who), "{message}");
            }
        }
        true
    }
}

/// T-HTTP-08
#[test]
fn everyone_gets_their_own_answers() {
    const CLIENTS: u64 = 50;
    const CALLS: u64 = 100;
    let served = Served::new();
    let answered: u64 = thread::scope(|scope| {
        let served = &served;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn(move || {
                    let mut client = Client::new(served, number);
                    (0..CALLS).filter(|call| client.call(*call)).count() as u64
                })
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("nothing crossed"))
            .sum()
    });
    assert!(answered > CLIENTS * CALLS / 2, "{answered}");
}

/// T-HTTP-07
#[test]
fn a_thousand_sessions_are_neither_kept_nor_paid_for() {
    let served = Served::new();
    let mut caller = served.caller();
    let [first, unused] = [(); 2].map(|()| caller.initialize());
    assert_eq!(caller.legacy(&first, "ping", json!({})).status, 200);
    let before = memory_kib(served.child.id(), "VmRSS");
    let started = (1..1_000)
        .filter(|_| caller.post(&[], &initialize()).status == 200)
        .count();
    // Sessions of clients that never came back made room for them, and still go on.
    assert_eq!(started, 999);
    let after = memory_kib(served.child.id(), "VmRSS");
    assert!(after < before + 20 * 1024, "{before} KiB to {after} KiB");
    assert_eq!(caller.legacy(&first, "ping", json!({})).status, 200);
    assert_eq!(caller.legacy(&unused, "ping", json!({})).status, 200);
    // Clients without sessions are served as before.
    assert_eq!(list(&mut caller, &[]).status, 200);
}

/// T-HTTP-07
#[test]
fn sessions_that_nobody_uses_make_room() {
    let served = Served::configured("[http]\nkeep_alive_millis = 100\nsession_millis = 50\n");
    let mut clock = served.caller();
    clock.listen();
    clock.event();
    let mut caller = served.caller();
    for _ in 0..3 {
        let started = (0..300)
            .filter(|_| caller.post(&[], &initialize()).status == 200)
            .count();
        // Some may be forgotten before the last one comes.
        assert!(started >= 256, "{started}");
        clock.chunk();
        clock.chunk();
    }
}

/// T-DOS-04
#[test]
fn slow_clients_do_not_slow_the_others() {
    let served = Served::new();
    let mut slow: Vec<Caller> = (0..400).map(|_| served.caller()).collect();
    let half_a_body = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost:{}\r\ncontent-type: application/json\r\n\
         content-length: 1000\r\n\r\n{{",
        served.port
    );
    for (number, caller) in slow.iter_mut().enumerate() {
        match number % 3 {
            0 => caller.raw("POST /mcp HTTP/1.1\r\nhost: local"),
            1 => caller.raw(&half_a_body),
            _ => {
                caller.listen();
            }
        }
    }
    let mut good = served.caller();
    let params = json!({"name": "lib:hello", "arguments": {"name": "Ada"}});
    let mut times: Vec<Duration> = (0..100)
        .map(|round| {
            // Some go on, byte by byte.
            slow[round * 3].raw("h");
            slow[round * 3 + 1].raw(" ");
            let start = Instant::now();
            assert_eq!(good.modern("prompts/get", params.clone()).status, 200);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    figure(
        "a get beside slow clients",
        times[98],
        Duration::from_millis(200),
    );
}

/// Prompts that take as much memory as limits allow, asked for at once.
#[test]
fn heavy_prompts_are_compiled_one_after_another() {
    const PROMPTS: usize = 8;
    let env = crate::bombs::heavy(PROMPTS, 2, 4, 100 * 1024);
    let mut served = Served::from_env(env);
    let before = memory_kib(served.child.id(), "VmHWM");
    let mut callers: Vec<Caller> = (0..PROMPTS).map(|_| served.caller()).collect();
    for (at, caller) in callers.iter_mut().enumerate() {
        let params = json!({"name": format!("b:p{at}"), "arguments": {"x": ""}});
        caller.start_modern("prompts/get", params);
    }
    for caller in &mut callers {
        let answer = caller.response().json();
        assert!(answer.get("result").is_some(), "{answer}");
    }
    let after = memory_kib(served.child.id(), "VmHWM");
    assert!(after < before + 64 * 1024, "{before} → {after}");
    served.signal(rustix::process::Signal::TERM);
    served.ended();
}
