//! Templates that want to take the server down.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv, figure};

use crate::env;

fn library(templates: &[(String, String)]) -> TestEnv {
    let env = env("");
    let manifest: String = templates
        .iter()
        .map(|(name, _)| format!("[prompts.{name}]\n[[prompts.{name}.arguments]]\nname = \"x\"\n"))
        .collect();
    env.write("b/twig.toml", manifest);
    for (name, template) in templates {
        env.write(&format!("b/prompts/{name}.md"), template);
    }
    env
}

fn get(client: &mut TestClient, name: &str) -> (Value, Duration) {
    let start = Instant::now();
    let answer = client.request(
        "prompts/get",
        json!({"name": format!("b:{name}"), "arguments": {"x": "1"}}),
    );
    (answer, start.elapsed())
}

fn resident_kib(client: &TestClient) -> u64 {
    crate::memory_kib(client.pid(), "VmRSS")
}

#[test]
fn chains_at_the_source_limit_leave_the_server_standing() {
    const CAP: usize = 128 * 1024;
    let fill = |start: &str, link: &str, end: &str| {
        let count = (CAP - start.len() - end.len()) / link.len();
        format!("{start}{}{end}", link.repeat(count))
    };
    let shapes = [
        fill("{{ ", "-", "1 }}"),
        fill("{{ ", "not ", "1 }}"),
        fill("{{ ", "1+", "1 }}"),
        fill("{{ ", "1~", "1 }}"),
        fill("{{ ", "1 and ", "1 }}"),
        fill("{{ ", "1**", "1 }}"),
        fill("{{ x", "|e", " }}"),
        fill("{{ x", ".a", " }}"),
        fill("{{ x", "[0]", " }}"),
        fill("{{ x", "()", " }}"),
        fill("{{ x", " is odd", " }}"),
        fill("{% if x %}", "{% elif x %}", "{% endif %}"),
        fill("{{ ", "1 if x else ", "1 }}"),
    ];
    let templates: Vec<(String, String)> = shapes
        .into_iter()
        .enumerate()
        .map(|(at, text)| (format!("chain{at}"), text))
        .collect();
    let env = library(&templates);
    let mut client = env.serve();
    for (name, _) in &templates {
        let (answer, _) = get(&mut client, name);
        assert!(
            answer.get("error").is_some() || answer.get("result").is_some(),
            "{name}"
        );
        let start = Instant::now();
        assert_eq!(
            client.request("ping", json!({}))["result"],
            json!({}),
            "{name}"
        );
        figure(name, start.elapsed(), Duration::from_millis(500));
    }
}

#[test]
fn a_template_over_the_source_limit_is_refused_by_its_size() {
    let text = "a".repeat(128 * 1024);
    let env = library(&[
        ("edge".to_owned(), text.clone()),
        ("past".to_owned(), format!("{text}a")),
    ]);
    let mut client = env.serve();
    assert!(get(&mut client, "edge").0.get("result").is_some());
    let (answer, _) = get(&mut client, "past");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("131073") && message.contains("131072"),
        "{message}"
    );
}

#[test]
fn bombs_end_at_a_limit() {
    let doubling = "{% set a = 'xxxxxxxxxxxxxxxx' %}".to_owned()
        + &"{% set a = a ~ a %}".repeat(40)
        + "{{ a }}";
    let lists = "{% set l = [1] %}".to_owned() + &"{% set l = [l, l] %}".repeat(50);
    let bombs: Vec<(&str, String)> = vec![
        ("repeat", "{{ 'x' * 99999999 }}".repeat(20)),
        ("doubling", doubling),
        ("replace", "{% set a = 'x' * 100000 %}{{ a|replace('x', a)|replace('x', a) }}".to_owned()),
        ("indent", "{% set a = 'x\n' * 100000 %}{{ a|indent(999999) }}".to_owned()),
        ("slice", "{{ range(100000)|slice(99999999)|list|length }}".to_owned()),
        ("batch", "{{ range(10)|batch(999999999, 'x')|list|length }}".to_owned()),
        ("format", "{{ '%999999999d'|format(1) }}".to_owned()),
        ("tojson", "{% set a = 'x' * 99999999 %}{{ a|tojson|tojson }}".to_owned()),
        ("nested", "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}".to_owned()),
        ("lists", format!("{lists}{{{{ l }}}}")),
        ("joined", format!("{lists}{{{{ l ~ '' }}}}")),
        ("macros", "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}".to_owned()),
        ("recursive", "{% for a in [1,2] recursive %}{{ loop([1,2]) }}{% endfor %}".to_owned()),
        ("self", "{% include 'prompts/self.md' %}{% include 'prompts/self.md' %}".to_owned()),
    ];
    let templates: Vec<(String, String)> = bombs
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text))
        .collect();
    let env = library(&templates);
    let mut client = env.serve();
    client.request("ping", json!({}));
    let before = resident_kib(&client);
    for (name, _) in &templates {
        let (answer, took) = get(&mut client, name);
        assert!(
            answer.get("error").is_some() || name == "slice" || name == "batch",
            "{name}: {answer}"
        );
        // Generous for a machine that is busy with other tests; the limit itself is one second.
        assert!(took < Duration::from_millis(2_500), "{name}: {took:?}");
    }
    assert!(
        resident_kib(&client) < before + 10 * 1024,
        "{} KiB",
        resident_kib(&client) - before
    );
}

#[test]
fn other_requests_go_on_while_a_bomb_burns() {
    let text =
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ a * b }}{% endfor %}{% endfor %}";
    let lists = "{% set l = [1] %}".to_owned()
        + &"{% set l = [l, l] %}".repeat(50)
        + "{{ l|string|length }}";
    let env = library(&[
        ("slow".to_owned(), lists),
        ("wide".to_owned(), text.to_owned()),
    ]);
    let mut client = env.serve();
    client.request("ping", json!({}));
    let bombs: Vec<u64> = (0..8)
        .map(|_| client.start_request("prompts/get", &json!({"name": "b:slow"})))
        .collect();
    let start = Instant::now();
    for _ in 0..100 {
        client.request("prompts/list", json!({}));
    }
    figure(
        "a hundred lists beside bombs",
        start.elapsed(),
        Duration::from_secs(3),
    );
    for id in bombs {
        let answer = client.answer(id);
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
    }
}

#[test]
fn a_cancelled_render_is_not_answered() {
    let text = "{% set l = [1] %}".to_owned()
        + &"{% set l = [l, l] %}".repeat(50)
        + "{{ l|string|length }}";
    let env = library(&[("slow".to_owned(), text)]);
    let mut client = env.serve();
    let id = client.start_request("prompts/get", &json!({"name": "b:slow"}));
    client.send(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            .to_string(),
    );
    let ended = client.close();
    assert!(
        ended.rest.iter().all(|message| message["id"] != id),
        "{:?}",
        ended.rest
    );
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn a_killed_worker_is_replaced() {
    let env = library(&[(
        "loop".to_owned(),
        "{% for i in range(3) %}{{ i }}{% endfor %}".to_owned(),
    )]);
    let mut client = env.serve();
    for _ in 0..50 {
        let (answer, _) = get(&mut client, "loop");
        assert_eq!(
            answer["result"]["messages"][0]["content"]["text"], "012",
            "{answer}"
        );
        kill_children(client.pid());
    }
}

fn kill_children(pid: u32) {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let mut children = std::fs::read_to_string(path).unwrap_or_default();
    // A worker is the child of the thread that started it.
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        children.push(' ');
        children += &std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
    }
    for child in children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
    {
        if let Some(pid) = rustix::process::Pid::from_raw(child) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

#[test]
fn an_upgrade_of_the_binary_does_not_end_computed_prompts() {
    let env = library(&[(
        "loop".to_owned(),
        "{% for i in range(3) %}{{ i }}{% endfor %}".to_owned(),
    )]);
    let copy = env.root().join("twig");
    std::fs::copy(crate::TWIG, &copy).expect("copied");
    let mut command = std::process::Command::new(&copy);
    command.arg("serve").env_clear().env("HOME", env.home());
    let mut client = TestClient::start(command);
    client.request("ping", json!({}));
    std::fs::remove_file(&copy).expect("ours");
    let (answer, _) = get(&mut client, "loop");
    assert_eq!(
        answer["result"]["messages"][0]["content"]["text"], "012",
        "{answer}"
    );
}

#[test]
fn a_prompt_may_mix_plain_and_computed_messages() {
    let env = env(
        "//- lib/twig.toml\n[[prompts.p.messages]]\ntext = \"plain {{ x }}\"\n[[prompts.p.messages]]\nrole = \"assistant\"\ntext = \"{% for i in range(2) %}{{ i }}{{ x }}{% endfor %}\"\n[[prompts.p.arguments]]\nname = \"x\"\n",
    );
    let outcome = env.run(["render", "lib:p", "x=!"]);
    assert_eq!(
        outcome.stdout, "[user]\nplain !\n[assistant]\n0!1!\n",
        "{outcome}"
    );
}

#[test]
fn a_worker_that_stands_still_is_replaced() {
    use rustix::process::{Pid, Signal, kill_process};
    let template = "{{ x|length + range(1)|length }}".to_owned();
    let env = library(&[("count".to_owned(), template)]);
    let mut client = env.serve();
    assert!(get(&mut client, "count").0.get("result").is_some());
    let workers = crate::children(client.pid());
    assert_eq!(workers.len(), 1, "one worker for one at a time");
    let pid = Pid::from_raw(workers[0].cast_signed()).expect("a process");
    kill_process(pid, Signal::STOP).expect("ours");
    // More than a pipe holds: a worker that does not read leaves the rest with us.
    let arguments = json!({"x": "x".repeat(200_000)});
    let params = json!({"name": "b:count", "arguments": arguments});
    let answer = client.request("prompts/get", params.clone());
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("took longer than the limit of 1000 ms"),
        "{answer}"
    );
    let answer = client.request("prompts/get", params);
    assert_eq!(
        answer["result"]["messages"][0]["content"]["text"], "200001",
        "{answer}"
    );
    assert_ne!(crate::children(client.pid()), workers);
}

/// Files that take most memory for their length when they are compiled, and prompts whose messages
/// include all of their own.
pub(crate) fn heavy(prompts: usize, messages: usize, files: usize, bytes: usize) -> TestEnv {
    let env = env("");
    let mut manifest = String::new();
    for prompt in 0..prompts {
        manifest +=
            &format!("[prompts.p{prompt}]\n[[prompts.p{prompt}.arguments]]\nname = \"x\"\n");
        let mut includes = String::new();
        for file in 0..files {
            let path = format!("part{prompt}_{file}.md");
            includes += &format!("{{% include '{path}' %}}");
            // What is not printed takes no steps.
            let prints = "{{x}}".repeat(bytes / 5);
            let text = format!("{{% if x %}}{prints}{{% endif %}}");
            env.write(&format!("b/prompts/{path}"), text);
        }
        for message in 0..messages {
            let path = format!("prompts/main{prompt}_{message}.md");
            env.write(&format!("b/{path}"), &includes);
            manifest +=
                &format!("[[prompts.p{prompt}.messages]]\nrole = \"user\"\nfile = \"{path}\"\n");
        }
    }
    env.write("b/twig.toml", manifest);
    env
}

#[test]
fn templates_of_a_prompt_have_a_limit_together() {
    // 64 files of 128 KiB keep every other limit.
    let env = heavy(1, 8, 64, 127 * 1024);
    let mut client = env.serve();
    client.request("ping", json!({}));
    let before = crate::memory_kib(client.pid(), "VmHWM");
    let (answer, _) = get(&mut client, "p0");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("`template_sources` of 1048576 bytes"),
        "{answer}"
    );
    let after = crate::memory_kib(client.pid(), "VmHWM");
    assert!(after < before + 64 * 1024, "{before} → {after}");
    let checked = env.run(["check"]);
    assert_eq!(checked.code, 1, "{checked}");
    let told = checked.stdout.matches("error[templates-too-large]").count();
    assert_eq!(told, 1, "once for all messages: {checked}");
}

#[test]
fn a_file_is_compiled_once_for_all_messages_of_a_prompt() {
    // As much as the limit takes, in 64 messages that include all of it.
    let env = heavy(1, 64, 8, 100 * 1024);
    let mut client = env.serve();
    client.request("ping", json!({}));
    let before = crate::memory_kib(client.pid(), "VmHWM");
    let name = json!({"name": "b:p0", "arguments": {"x": ""}});
    let answer = client.request("prompts/get", name);
    let messages = answer["result"]["messages"].as_array().map(Vec::len);
    assert_eq!(messages, Some(64), "{answer}");
    let after = crate::memory_kib(client.pid(), "VmHWM");
    assert!(after < before + 64 * 1024, "{before} → {after}");
}

/// Templates of one prompt are compiled together; texts of the manifest may share a line, and files
/// a message.
#[test]
fn messages_of_one_line_stay_apart() {
    let env = env("");
    let texts = [
        "one {{ x }}",
        "two {% include 'part.md' %}",
        "three {% include 'part.md' %}",
        "{% for i in [1, 2] %}{{ i }}{% endfor %}",
        "{% for i in [3] %}{{ i }}{% include 'part.md' %}{% endfor %}",
    ];
    let messages: Vec<String> = texts
        .iter()
        .map(|text| format!("{{ role = \"user\", text = \"{text}\" }}"))
        .collect();
    let manifest = format!(
        "[prompts.p]\nmessages = [{}]\n[[prompts.p.arguments]]\nname = \"x\"\n",
        messages.join(", ")
    );
    env.write("b/twig.toml", manifest);
    env.write("b/part.md", "<{{ x }}>");
    let mut client = env.serve();
    for _ in 0..2 {
        let (answer, _) = get(&mut client, "p");
        let messages = answer["result"]["messages"].as_array().expect("messages");
        let said: Vec<&str> = messages
            .iter()
            .filter_map(|message| message["content"]["text"].as_str())
            .collect();
        assert_eq!(said, ["one 1", "two <1>", "three <1>", "12", "3<1>"]);
    }
}
