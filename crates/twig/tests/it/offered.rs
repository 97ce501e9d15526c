//! Prompts of the store beside the libraries: in the terminal, over stdio and over HTTP.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv, write_fixture};

use crate::TWIG;
use crate::http::Served;
use crate::http::client::list;

const CHANGED: &str = "notifications/prompts/list_changed";

const LIBRARY: &str = "//- lib/twig.toml\n[prompts.hello]\ndescription = \"Greet\"\n//- lib/prompts/hello.md\nHello\n";

#[track_caller]
fn done(env: &TestEnv, args: &[&str]) {
    let outcome = env.run(args.iter().copied());
    assert_eq!(outcome.code, 0, "{args:?}: {outcome}");
}

/// A library and no store.
fn plain() -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    write_fixture(&env.data(), LIBRARY);
    env
}

/// A library, and two projects of which one has a resource, too.
fn garden() -> TestEnv {
    let env = plain();
    done(&env, &["project", "create", "garden"]);
    done(&env, &["project", "create", "my-app"]);
    let water = [
        "prompt",
        "add",
        "water",
        "-p",
        "garden",
        "-d",
        "When to water",
    ];
    done(
        &env,
        &[&water[..], &["-c", "Water the {{ plants }}"]].concat(),
    );
    done(&env, &["prompt", "add", "run", "-p", "my-app", "-c", "Run"]);
    let soil = ["resource", "add", "soil", "-p", "garden", "--uri", "a:soil"];
    done(&env, &[&soil[..], &["-c", "Loam"]].concat());
    env
}

/// The tools that read and change a project reach all of it.
#[test]
fn a_part_of_a_project_has_no_tools_for_the_project() {
    let env = garden();
    let only = |only: &'static str| {
        let mut client = env.serve_with(["-p", "garden", "--only", only]);
        client.initialize();
        let listed = client.request("tools/list", json!({}));
        let got = json!({"name": "get_prompt", "arguments": {"name": "water"}});
        let got = client.request("tools/call", got);
        let count = listed["result"]["tools"].as_array().map(Vec::len);
        (count, got["error"]["code"].clone())
    };
    assert_eq!(only("garden"), (Some(16), Value::Null));
    assert_eq!(only("garden:w*"), (Some(4), json!(-32602)));
    assert_eq!(only("lib"), (Some(4), json!(-32602)));
}

fn workspaces(env: &TestEnv) -> PathBuf {
    env.home().join(".local/share/twig/workspaces")
}

fn started(env: &TestEnv) -> TestClient {
    let mut client = env.serve();
    client.initialize();
    client
}

fn names(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array().cloned();
    let prompts = prompts.unwrap_or_default();
    let names = prompts.iter().filter_map(|it| it["name"].as_str());
    names.map(str::to_owned).collect()
}

/// Waits for announcements until the list is as expected.
fn settles_on(client: &mut TestClient, expected: &[&str]) {
    while names(client) != expected {
        client.notification(CHANGED);
    }
}

#[test]
fn the_terminal_lists_shows_finds_and_renders_them() {
    let env = garden();
    insta::assert_snapshot!(env.run(["list"]), @r#"
    garden:water    When to water (project)
    lib:hello       Greet
    my-app:run      (project)
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["show", "garden:water"]), @r#"
    name         garden:water
    description  When to water
    project      garden
    version      1

    text
    Water the {{ plants }}
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["search", "water"]), @r#"
    garden:water  When to water (project)
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["render", "garden:water"]), @r#"
    Water the {{ plants }}
    --- exit 0
    "#);
    let rows: Value = serde_json::from_str(&env.run(["list", "--json"]).stdout).expect("JSON");
    assert_eq!(
        rows[0],
        json!({
            "name": "garden:water", "title": null, "description": "When to water", "arguments": [],
            "kind": "store", "project": "garden", "workspace": "default", "version": 1,
        })
    );
    // A project's documents are its own.
    assert_eq!(env.run(["list", "--documents"]).stdout, "");
    // A selected project is served as before, and alone.
    assert_eq!(
        env.run(["list", "-p", "garden"]).stdout,
        "lib:hello    Greet\nwater        When to water\n"
    );
    for command in ["check", "doctor"] {
        let outcome = env.run([command]);
        assert!(!outcome.stdout.contains("garden:water"), "{outcome}");
    }
    insta::assert_snapshot!(env.run(["doctor", "-w", "default"]), @r#"
    --- stderr
    error: `--workspace` needs `--project` here
    --- exit 2
    "#);
}

#[test]
fn a_miss_says_where_the_name_exists() {
    let env = garden();
    insta::assert_snapshot!(env.run(["show", "water"]), @r#"
    --- stderr
    error: Prompt not found: water
    hint: project `garden` has it: use `garden:water`
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["render", "run", "-p", "garden"]), @r#"
    --- stderr
    error: Prompt 'run' not found in project 'garden'
    hint: no library has it either; project `my-app` has it: add `-p my-app`
    --- exit 1
    "#);
    done(&env, &["prompt", "add", "water", "-p", "my-app", "-c", "x"]);
    insta::assert_snapshot!(env.run(["show", "water"]), @r#"
    --- stderr
    error: Prompt not found: water
    hint: several projects have it: use one of `garden:water`, `my-app:water`
    --- exit 1
    "#);
    done(&env, &["workspace", "create", "work"]);
    done(&env, &["project", "create", "plans", "-w", "work"]);
    done(
        &env,
        &["prompt", "add", "weekly", "-w", "work", "-c", "Plan"],
    );
    insta::assert_snapshot!(env.run(["show", "weekly"]), @r#"
    --- stderr
    error: Prompt not found: weekly
    hint: project `plans` of workspace `work` has it: add `-w work -p plans`
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["show", "plans:weekly"]), @r#"
    --- stderr
    error: Prompt not found: plans:weekly
    hint: project `plans` of workspace `work` has it: use `weekly -w work -p plans`
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["show", "plans:weekly", "-w", "work"]), @r#"
    name       plans:weekly
    project    plans
    workspace  work
    version    1

    text
    Plan
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["list", "-w", "nope"]), @r#"
    --- stderr
    error: Workspace 'nope' does not exist
    hint: make it with `twig workspace create nope`
    --- exit 1
    "#);
}

#[test]
fn a_library_of_the_same_name_wins() {
    let env = garden();
    env.write("garden/twig.toml", "[prompts.dig]\n");
    env.write("garden/prompts/dig.md", "Dig\n");
    insta::assert_snapshot!(env.run(["list"]), @r#"
    garden:dig
    lib:hello     Greet
    my-app:run    (project)
    --- stderr
    hint: the library `garden` hides the project of that name; add `-p garden` for its prompts
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["show", "garden:water"]), @r#"
    --- stderr
    error: Prompt not found: garden:water
    hint: project `garden` has it: use `water -p garden`
    --- exit 1
    "#);
    let mut client = started(&env);
    assert_eq!(
        names(&mut client),
        ["garden:dig", "lib:hello", "my-app:run"]
    );
    // Templates cannot include what is only offered.
    env.write("lib/prompts/hello.md", "{% include \"my-app:run\" %}");
    let answer = client.request("prompts/get", json!({"name": "lib:hello"}));
    assert!(answer["error"].is_object(), "{answer}");
}

#[test]
fn adding_a_prompt_says_how_to_serve_it() {
    let env = garden();
    insta::assert_snapshot!(env.run(["prompt", "add", "dig", "-p", "garden", "-c", "x"]), @r#"
    --- stderr
    created prompt `dig` in project `garden`
    hint: clients of `twig serve` get it as `garden:dig`; with `twig serve -p garden` as `dig`
    --- exit 0
    "#);
    env.configure("[store]\nserve = false\n");
    insta::assert_snapshot!(env.run(["prompt", "add", "weed", "-p", "garden", "-c", "x"]), @r#"
    --- stderr
    created prompt `weed` in project `garden`
    hint: serve it with `twig serve -p garden`
    --- exit 0
    "#);
}

#[test]
fn a_server_offers_them_by_their_full_name_only() {
    let env = garden();
    let mut client = started(&env);
    assert_eq!(
        names(&mut client),
        ["garden:water", "lib:hello", "my-app:run"]
    );
    let got = client.request("prompts/get", json!({"name": "garden:water"}));
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"],
        "Water the {{ plants }}"
    );
    let bare = client.request("prompts/get", json!({"name": "water"}));
    assert_eq!(bare["error"]["message"], "Prompt not found: water");
    assert_eq!(
        bare["error"]["data"]["suggestions"],
        json!(["garden:water"])
    );
    let bare = client.request("prompts/get", json!({"name": "hello"}));
    assert!(bare["result"].is_object(), "{bare}");
    let resources = client.request("resources/list", json!({}));
    assert_eq!(resources["result"]["resources"], json!([]));
    let tools = client.request("tools/list", json!({})).to_string();
    assert!(!tools.contains("create_prompt"), "{tools}");
    let found = client.request(
        "tools/call",
        json!({"name": "search", "arguments": {"query": "plants"}}),
    );
    assert!(found.to_string().contains("garden:water"), "{found}");
    // What was there from the start is not news.
    assert_eq!(client.pending(CHANGED), 0);
    let ended = client.close();
    assert_eq!(ended.stderr, "");
}

#[test]
fn writes_of_others_are_announced() {
    let env = garden();
    let mut client = started(&env);
    assert_eq!(
        names(&mut client),
        ["garden:water", "lib:hello", "my-app:run"]
    );
    done(&env, &["prompt", "add", "dig", "-p", "garden", "-c", "x"]);
    client.notification(CHANGED);
    settles_on(
        &mut client,
        &["garden:dig", "garden:water", "lib:hello", "my-app:run"],
    );
    done(
        &env,
        &["prompt", "update", "dig", "-p", "garden", "-c", "Dig deep"],
    );
    let got = client.request("prompts/get", json!({"name": "garden:dig"}));
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "Dig deep");
    done(&env, &["project", "rename", "garden", "orchard"]);
    settles_on(
        &mut client,
        &["lib:hello", "my-app:run", "orchard:dig", "orchard:water"],
    );
    done(&env, &["workspace", "delete", "default", "--force"]);
    settles_on(&mut client, &["lib:hello"]);
    done(&env, &["project", "create", "again"]);
    done(&env, &["prompt", "add", "new", "-c", "x"]);
    settles_on(&mut client, &["again:new", "lib:hello"]);
}

#[test]
fn a_store_is_never_created_and_may_appear_later() {
    let env = plain();
    let mut client = started(&env);
    assert_eq!(names(&mut client), ["lib:hello"]);
    for command in [
        &["list"][..],
        &["search", "x"],
        &["show", "lib:hello"],
        &["show", "x"],
    ] {
        env.run(command.iter().copied());
    }
    assert!(!workspaces(&env).exists());
    done(&env, &["project", "create", "garden"]);
    done(&env, &["prompt", "add", "water", "-c", "x"]);
    settles_on(&mut client, &["garden:water", "lib:hello"]);
}

#[test]
fn a_store_that_cannot_be_read_is_a_problem_and_no_more() {
    let env = garden();
    let file = workspaces(&env).join("default.db");
    // Its header says that a newer Twig wrote it.
    let opened = File::options().write(true).open(&file).expect("a store");
    opened
        .write_all_at(&99_u32.to_be_bytes(), 60)
        .expect("writable");
    insta::assert_snapshot!(env.run(["list"]), @"
    lib:hello    Greet
    --- stderr
    warning: the prompts of the store are not included: The file of workspace 'default' was written by a newer Twig (version 99 of the file; this one knows 5): update Twig
    --- exit 0
    ");
    let mut client = started(&env);
    assert_eq!(names(&mut client), ["lib:hello"]);
    let log = client.close().stderr;
    assert!(
        log.contains("the prompts of workspace `default` are not served: The file of workspace 'default' was written by a newer Twig"),
        "{log}"
    );
    assert_eq!(log.lines().count(), 1, "{log}");
    // It is read as soon as it can be.
    let mut client = started(&env);
    assert_eq!(names(&mut client), ["lib:hello"]);
    fs::write(&file, "something else").expect("writable");
    assert_eq!(names(&mut client), ["lib:hello"]);
    fs::remove_file(&file).expect("there");
    done(&env, &["project", "create", "garden"]);
    done(&env, &["prompt", "add", "water", "-c", "x"]);
    settles_on(&mut client, &["garden:water", "lib:hello"]);
}

#[test]
fn a_locked_store_is_not_waited_for() {
    let env = garden();
    let lock = workspaces(&env).join("default.lock");
    let lock = File::options()
        .read(true)
        .write(true)
        .open(lock)
        .expect("a lock");
    lock.lock().expect("free");
    let outcome = env.run(["list"]);
    assert_eq!(
        (outcome.code, &*outcome.stdout),
        (0, "lib:hello    Greet\n")
    );
    assert!(outcome.stderr.starts_with("warning: "), "{outcome}");
    let mut client = started(&env);
    assert_eq!(names(&mut client), ["lib:hello"]);
    lock.unlock().expect("ours");
    settles_on(&mut client, &["garden:water", "lib:hello", "my-app:run"]);
}

#[test]
fn the_configuration_decides_what_is_served() {
    let env = garden();
    env.configure("[store]\nserve = false\n");
    let mut client = started(&env);
    assert_eq!(names(&mut client), ["lib:hello"]);
    // The terminal is not a server.
    assert!(env.run(["list"]).stdout.contains("garden:water"));
    env.configure("[store]\nserve = 1\n");
    insta::assert_snapshot!(env.run(["list"]), @r#"
    --- stderr
    error: ~/.config/twig/config.toml:2: `serve` has to be true or false
    --- exit 1
    "#);
    env.configure("[store]\nserver = true\n");
    insta::assert_snapshot!(env.run(["list"]), @r#"
    --- stderr
    error: ~/.config/twig/config.toml:2: unknown setting `server` of [store]; did you mean `serve`?
    --- exit 1
    "#);
    env.configure("[store]\nserve = true\n");
    settles_on(&mut client, &["garden:water", "lib:hello", "my-app:run"]);
    env.configure("separator = \"/\"\n");
    settles_on(&mut client, &["garden/water", "lib/hello", "my-app/run"]);
    env.configure("separator = \"/\"\n[store]\nserve = false\n");
    settles_on(&mut client, &["lib/hello"]);
    for (config, is_served) in [("", false), ("[store]\nserve = true\n", true)] {
        let env = garden();
        env.configure(config);
        let served = Served::from_env(env);
        let prompts = list(&mut served.caller(), &[]).json().to_string();
        assert!(prompts.contains("lib:hello"), "{prompts}");
        assert_eq!(prompts.contains("garden:water"), is_served, "{prompts}");
    }
}

/// A workspace that was restored has had as many changes as the one that it replaces, of the same
/// size and of the same project.
#[test]
fn a_workspace_that_was_restored_is_read_again() {
    let env = garden();
    done(&env, &["workspace", "backup", "copy.db"]);
    let update = ["prompt", "update", "water", "-p", "garden", "-c"];
    done(&env, &[&update[..], &["lost"]].concat());
    let mut client = started(&env);
    let get = json!({"name": "garden:water"});
    let text = |answer: &Value| answer["result"]["messages"][0]["content"]["text"].clone();
    assert_eq!(text(&client.request("prompts/get", get.clone())), "lost");
    // It must not see what happens in between.
    client.signal(Signal::STOP);
    done(&env, &["workspace", "delete", "default", "--force"]);
    done(&env, &["workspace", "restore", "copy.db"]);
    done(&env, &[&update[..], &["kept"]].concat());
    client.signal(Signal::CONT);
    let answer = client.request("prompts/get", get);
    assert_eq!(text(&answer), "kept", "{answer}");
}

/// Problems of the configuration, the trust and the store are no library's, so `--only` keeps them.
#[test]
fn a_filter_keeps_the_problems_that_are_no_librarys() {
    let env = garden();
    env.write("other/twig.toml", "[prompts.x]\n");
    let file = workspaces(&env).join("default.db");
    fs::write(file, "no store").expect("writable");
    let trust = env.data().parent().expect("above").join("trust.json");
    fs::write(trust, "{").expect("writable");
    env.write("lib/run", "#!/bin/sh\n");
    env.write(
        "lib/twig.toml",
        "[prompts.hello]\n[prompts.made]\ncommand = [\"run\"]\n",
    );
    let mut command = env.command(["serve", "--only", "lib"]);
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = server.stdin.take().expect("piped");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": {}});
    writeln!(input, "{list}").expect("it reads");
    let log = BufReader::new(server.stderr.take().expect("piped"));
    let (lines, heard) = channel();
    thread::spawn(move || {
        let mut log = log.lines().map_while(Result::ok);
        log.all(|line| lines.send(line).is_ok())
    });
    let hear = |wanted: &[&str]| {
        let mut wanted = wanted.to_vec();
        while !wanted.is_empty() {
            let line = heard.recv_timeout(Duration::from_secs(20));
            let line = line.unwrap_or_else(|_| panic!("not in the log: {wanted:?}"));
            assert!(!line.contains("/other"), "{line}");
            wanted.retain(|wanted| !line.contains(wanted));
        }
    };
    hear(&[
        "trust.json",
        "the prompts of workspace `default` are not served",
    ]);
    env.configure("broken = [\n");
    hear(&["config.toml"]);
    drop(input);
    assert!(server.wait().expect("ours").success());
}
