//! T-COH-08: clients that stop reading for a while.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use rustix::pipe::fcntl_getpipe_size;
use serde_json::{Value, json};
use twig_testkit::{MODERN, TestEnv, figure};

use super::{PROJECT, done, names, prompt, servers, with_project};
use crate::{memory_kib, wait_until};

const PROMPTS: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";
/// Answers of 200 KB each: more than the pipe and the server's queue hold.
const ANSWERS: usize = 20;

#[test]
fn a_client_that_does_not_read_holds_up_nobody_and_misses_nothing() {
    const ROUNDS: usize = 8;
    let env = with_project();
    let mut others = servers(&env, 2);
    prompt(&mut others[0], "big", &"x".repeat(200_000));
    let resource = json!({"name": "doc", "uri": "x://doc", "content": "start"});
    done(&mut others[0], "create_resource", resource);
    for other in &mut others {
        other.notification(PROMPTS);
    }
    let mut slow = [Slow::start(&env, false), Slow::start(&env, true)];
    for slow in &mut slow {
        slow.subscribe();
        slow.stop_reading();
    }
    let before = slow.each_ref().map(Slow::memory);
    for round in 0..ROUNDS {
        let start = Instant::now();
        prompt(&mut others[0], &format!("p{round}"), "x");
        let update = json!({"name": "doc", "content": format!("{round}")});
        done(&mut others[1], "update_resource", update);
        for other in &mut others {
            other.notification(PROMPTS);
            assert_eq!(names(other).len(), round + 2);
        }
        figure(
            "a round beside slow clients",
            start.elapsed(),
            Duration::from_secs(2),
        );
    }
    for (slow, before) in slow.iter().zip(before) {
        let now = slow.memory();
        assert!(now < before + 4 * 1024, "{before} KiB became {now}");
    }
    for slow in &mut slow {
        let heard = slow.read_on();
        let count = |method: &str| heard.iter().filter(|m| m["method"] == method).count();
        // One for all that was missed, and perhaps one that still had room in the queue.
        for method in [PROMPTS, UPDATED] {
            let count = count(method);
            assert!((1..=2).contains(&count), "{method} {count} times");
        }
        let listed = slow.ask("prompts/list", json!({}));
        let listed = listed["result"]["prompts"].as_array().map(Vec::len);
        assert_eq!(listed, Some(ROUNDS + 1));
        let read = slow.ask("resources/read", json!({"uri": "x://doc"}));
        let last = (ROUNDS - 1).to_string();
        assert_eq!(read["result"]["contents"][0]["text"], last);
    }
    // They are told of what comes next, too.
    prompt(&mut others[0], "next", "x");
    for slow in &mut slow {
        slow.until(|message| message["method"] == PROMPTS);
    }
}

/// A client that reads when it pleases.
struct Slow {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    is_modern: bool,
    next_id: usize,
}

impl Slow {
    fn start(env: &TestEnv, is_modern: bool) -> Self {
        let mut command = env.command(["serve", "-p", PROJECT]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            child,
            input,
            output,
            is_modern,
            next_id: 1,
        }
    }

    fn send(&mut self, method: &str, mut params: Value) -> usize {
        if self.is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.input, "{message}").expect("it reads");
        id
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut heard = self.until(|message| message["id"] == id);
        heard.pop().expect("an answer")
    }

    /// Reads up to a message.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut heard: Vec<Value> = Vec::new();
        while !heard.last().is_some_and(&is_it) {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).expect("text");
            assert!(length > 0, "the server ended");
            heard.push(serde_json::from_str(&line).expect("JSON"));
        }
        heard
    }

    fn subscribe(&mut self) {
        if self.is_modern {
            let wanted = json!({"promptsListChanged": true, "resourceSubscriptions": ["x://doc"]});
            self.send("subscriptions/listen", json!({"notifications": wanted}));
            let is_it = |m: &Value| m["method"] == "notifications/subscriptions/acknowledged";
            self.until(is_it);
        } else {
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "slow", "version": "0"},
            });
            self.ask("initialize", params);
            let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            writeln!(self.input, "{message}").expect("it reads");
            self.ask("resources/subscribe", json!({"uri": "x://doc"}));
        }
    }

    /// Asks for more than the pipe holds, and leaves it there.
    fn stop_reading(&mut self) {
        for _ in 0..ANSWERS {
            self.send("prompts/get", json!({"name": "big"}));
        }
        let pipe = self.output.get_ref();
        let size = fcntl_getpipe_size(pipe).expect("a pipe") as u64;
        wait_until("the pipe is full", || {
            ioctl_fionread(pipe).expect("a pipe") + 8_192 >= size
        });
    }

    /// Reads all that was asked for, and what was said meanwhile.
    fn read_on(&mut self) -> Vec<Value> {
        let last = self.next_id - 1;
        let mut heard = self.until(|message| message["id"] == last);
        let answered = heard.iter().filter(|m| m["result"]["messages"].is_array());
        assert_eq!(answered.count(), ANSWERS, "no answer is lost");
        // What is announced is announced before this is answered.
        let id = self.send("ping", json!({}));
        heard.extend(self.until(|message| message["id"] == id));
        heard
    }

    fn memory(&self) -> u64 {
        memory_kib(self.child.id(), "VmRSS")
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
