//! `docs/http.md` does what it says.

use std::fs;

use twig_testkit::TestEnv;

use super::Served;
use super::client::Caller;
use crate::TWIG;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md");
    fs::read_to_string(path).expect("the page is there")
}

/// Sends what a `curl` command would send.
fn curl(caller: &mut Caller, command: &str, session: &str) -> super::client::Response {
    let command = command.replace("$session", session);
    let quoted = |flag: &str| -> Vec<String> {
        let mut values = Vec::new();
        for after in command.split(flag).skip(1) {
            let quote = after.chars().next().expect("a value");
            let value = after[1..].split(quote).next().unwrap_or_default();
            values.push(value.to_owned());
        }
        values
    };
    let (headers, body) = (quoted("-H "), quoted("-d ").concat());
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|header| header.split_once(": "))
        .collect();
    caller.send("POST", &headers, body.as_bytes())
}

#[test]
fn its_requests_are_answered() {
    let env = TestEnv::new(TWIG);
    assert_eq!(env.run(["new", "library", "my_prompts"]).code, 0);
    let command = env.command(["serve", "--http", "127.0.0.1:0"]);
    let served = Served::start(env, command);
    let page = page();
    let commands: Vec<&str> = page.split("curl -s").skip(1).collect();
    let [get, initialize, list] = commands[..] else {
        panic!("{commands:?}");
    };
    let mut caller = served.caller();
    let got = curl(&mut caller, get, "").json();
    let text = got["result"]["messages"][0]["content"]["text"].to_string();
    assert!(text.contains("Ada"), "{got}");
    // Its pipe has a `-d` of its own.
    let initialize = initialize.split(" |\n").next().unwrap_or_default();
    let started = curl(&mut caller, initialize, "");
    let session = started.header("mcp-session-id").expect("a session");
    let list = list.split("```").next().unwrap_or_default();
    let listed = curl(&mut caller, list, session).json();
    assert_eq!(listed["result"]["prompts"][0]["name"], "my_prompts:hello");
}

#[test]
fn its_limits_can_be_set() {
    let page = page();
    let (_, limits) = page.split_once("## Limits").expect("a section");
    let names = limits.lines().filter_map(|line| {
        let (_, name) = line.strip_suffix("` |")?.rsplit_once('`')?;
        Some(format!("{name} = 1\n"))
    });
    let names: Vec<String> = names.collect();
    assert_eq!(names.len(), 15);
    let env = TestEnv::new(TWIG);
    env.configure(&format!("[http]\n{}", names.concat()));
    assert_eq!(env.run(["list"]).code, 0);
    let example = limits.split("```toml").nth(1).expect("an example");
    env.configure(example.split("```").next().unwrap_or_default());
    assert_eq!(env.run(["list"]).code, 0);
}
