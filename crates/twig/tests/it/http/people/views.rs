//! What each person sees, and that nothing else can be found.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use super::super::client::Caller;
use super::super::{Response, Served};
use super::{PROJECTS, done, key, listed, team};

/// The tools that every server has.
const READING: [&str; 4] = ["expand_prompt", "list_prompts", "search", "use_prompt"];
const WRITING: [&str; 6] = [
    "create_prompt",
    "create_resource",
    "delete_prompt",
    "delete_resource",
    "update_prompt",
    "update_resource",
];

/// A team with a person for each role in `acme/garden`.
fn served_team() -> (Served, Vec<(&'static str, String)>) {
    let env = team();
    let acme = env.data().join("acme");
    env.configure(&format!(
        "[http]\nperson_requests = 100000\nperson_burst = 100000\n[[libraries]]\npath = \"{}\"\nworkspace = \"acme\"\n",
        acme.display()
    ));
    let garden = ["-p", "acme/garden"];
    let keys = vec![
        ("reader", key(&env, "reader", "reader", &garden)),
        ("writer", key(&env, "writer", "writer", &garden)),
        ("admin", key(&env, "admin", "admin", &["-w", "acme"])),
        ("other", key(&env, "other", "writer", &["-p", "lab/secret"])),
    ];
    (Served::from_env(env), keys)
}

fn address(workspace: &str, project: &str) -> String {
    format!("/mcp/{workspace}/{project}")
}

#[allow(clippy::needless_pass_by_value)]
fn tool(caller: &mut Caller, name: &str, arguments: Value) -> Response {
    caller.modern("tools/call", json!({"name": name, "arguments": arguments}))
}

/// T-VIEW-01
#[test]
fn roles_decide_what_is_listed_read_and_written() {
    let (served, keys) = served_team();
    for (role, key) in &keys {
        for (workspace, project) in PROJECTS {
            let mut caller = served.caller().with_key(key);
            caller.path = address(workspace, project);
            let (may_read, may_write) = match (*role, project) {
                ("reader", "garden") | ("admin", "kitchen") => (true, *role == "admin"),
                ("writer" | "admin", "garden") | ("other", "secret") => (true, true),
                _ => (false, false),
            };
            let what = format!("{role} {project}");
            let response = caller.modern("prompts/list", json!({}));
            assert_eq!(response.status, if may_read { 200 } else { 404 }, "{what}");
            if !may_read {
                continue;
            }
            let prompts = super::names(&response.json(), "prompts");
            let own = format!("{project}-prompt");
            assert!(prompts.contains(&own), "{what}: {prompts:?}");
            assert!(prompts.contains(&"team:review".to_owned()));
            let sees_acme = prompts.contains(&"acme:plan".to_owned());
            assert_eq!(sees_acme, *role == "admin", "{what}");
            let got = caller.modern("prompts/get", json!({"name": own})).json();
            let text = &got["result"]["messages"][0]["content"]["text"];
            assert_eq!(*text, *format!("text of {project}"), "{what}");
            let uri = format!("notes://{project}");
            let read = caller.modern("resources/read", json!({"uri": uri})).json();
            let text = &read["result"]["contents"][0]["text"];
            assert_eq!(*text, *format!("text of {project}"), "{what}");
            let tools = listed(&mut caller, "tools");
            for tool in READING {
                assert!(tools.contains(&tool.to_owned()), "{what}: {tool}");
            }
            for tool in WRITING {
                assert_eq!(
                    tools.contains(&tool.to_owned()),
                    may_write,
                    "{what}: {tool}"
                );
            }
            let name = format!("by-{role}");
            let arguments = json!({"name": name, "content": "new"});
            let written = tool(&mut caller, "create_prompt", arguments);
            let is_written = written
                .json()
                .get("result")
                .is_some_and(|result| result["isError"] != true);
            assert_eq!(is_written, may_write, "{what}: {written:?}");
            // In the legacy era, too.
            let mut legacy = served.caller().with_key(key);
            legacy.path = address(workspace, project);
            let session = legacy.initialize();
            let listed = legacy.legacy(&session, "prompts/list", json!({})).json();
            let prompts = super::names(&listed, "prompts");
            assert_eq!(prompts.contains(&name), may_write, "{what}");
            let arguments = json!({"name": "update_prompt", "arguments": {"name": own, "content": format!("text of {project}")}});
            let updated = legacy.legacy(&session, "tools/call", arguments).json();
            let is_done = updated
                .get("result")
                .is_some_and(|it| it["isError"] != true);
            assert_eq!(is_done, may_write, "{what}: {updated}");
        }
    }
}

#[test]
fn one_address_shows_all_that_a_person_may_read_and_no_tool_that_writes() {
    let (served, keys) = served_team();
    for (role, key) in &keys {
        let mut caller = served.caller().with_key(key);
        let mut expected = vec!["team:review", "tools:plain"];
        expected.extend(match *role {
            "admin" => [
                "garden:garden-prompt",
                "kitchen:kitchen-prompt",
                "acme:plan",
            ]
            .iter(),
            "other" => ["secret:secret-prompt"].iter(),
            _ => ["garden:garden-prompt"].iter(),
        });
        expected.sort_unstable();
        assert_eq!(listed(&mut caller, "prompts"), expected, "{role}");
        let tools = listed(&mut caller, "tools");
        assert!(
            !tools.iter().any(|tool| WRITING.contains(&&**tool)),
            "{tools:?}"
        );
        let name = if *role == "other" { "secret" } else { "garden" };
        let params = json!({"name": format!("{name}:{name}-prompt")});
        let got = caller.modern("prompts/get", params).json();
        let text = &got["result"]["messages"][0]["content"]["text"];
        assert_eq!(*text, *format!("text of {name}"), "{role}");
    }
}

/// Replaces every occurrence of what may not be read by what does not exist.
fn as_of_nothing(text: &[u8], hidden: &str, nothing: &str) -> String {
    String::from_utf8_lossy(text).replace(hidden, nothing)
}

/// Everything that could find something of a project.
fn asked(name: &str) -> Vec<(&'static str, Value)> {
    vec![
        (
            "prompts/get",
            json!({"name": format!("{name}:{name}-prompt")}),
        ),
        ("prompts/get", json!({"name": format!("{name}-prompt")})),
        ("resources/read", json!({"uri": format!("notes://{name}")})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": format!("{name}:{name}-prompt")}, "argument": {"name": "x", "value": ""}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": format!("notes://{name}")}, "argument": {"name": "x", "value": ""}}),
        ),
        (
            "resources/directory/read",
            json!({"uri": format!("notes://{name}")}),
        ),
        (
            "tools/call",
            json!({"name": "search", "arguments": {"query": format!("text of {name}")}}),
        ),
        (
            "tools/call",
            json!({"name": "expand_prompt", "arguments": {"prompt": format!("{name}:{name}-prompt")}}),
        ),
        (
            "tools/call",
            json!({"name": "use_prompt", "arguments": {"prompt": format!("{name}:{name}-prompt")}}),
        ),
        (
            "tools/call",
            json!({"name": "list_prompts", "arguments": {"filter": name}}),
        ),
        (
            "tools/call",
            json!({"name": "read_resource", "arguments": {"uri": format!("notes://{name}")}}),
        ),
        (
            "tools/call",
            json!({"name": "get_prompt", "arguments": {"name": format!("{name}-prompt")}}),
        ),
        (
            "tools/call",
            json!({"name": "create_prompt", "arguments": {"name": format!("{name}-prompt"), "content": "x"}}),
        ),
    ]
}

/// T-VIEW-02
#[test]
fn what_may_not_be_read_looks_like_what_does_not_exist() {
    let (served, keys) = served_team();
    let key_of = |role: &str| &keys.iter().find(|(name, _)| *name == role).unwrap().1;
    let mut caller = served.caller().with_key(key_of("reader"));
    for path in ["/mcp", "/mcp/acme/garden"] {
        path.clone_into(&mut caller.path);
        for hidden in ["secret", "kitchen"] {
            let nothing = &"zqxjvkw"[..hidden.len()];
            for ((method, one), (_, two)) in asked(hidden).into_iter().zip(asked(nothing)) {
                let found = caller.modern(method, one.clone());
                let missing = caller.modern(method, two);
                assert_eq!(found.status, missing.status, "{path} {method} {one}");
                let found = as_of_nothing(&found.body, hidden, nothing);
                let missing = String::from_utf8_lossy(&missing.body);
                assert_eq!(found, missing, "{path} {method} {one}");
                assert!(!found.contains("text of secret"), "{found}");
            }
        }
    }
    // The addresses themselves.
    for (hidden, nothing) in [
        ("lab/secret", "lab/nobody"),
        ("lab/secret", "zoo/animal"),
        ("acme/kitchen", "acme/nothing"),
    ] {
        let mut bodies = Vec::new();
        for place in [hidden, nothing] {
            caller.path = format!("/mcp/{place}");
            let response = caller.modern("prompts/list", json!({}));
            assert_eq!(response.status, 404);
            bodies.push(response.body);
        }
        assert_eq!(bodies[0], bodies[1]);
    }
    // A cursor of somebody else's list is a cursor of no list.
    let mut other = served.caller().with_key(key_of("admin"));
    let page = other.modern("prompts/list", json!({})).json();
    let cursor = page["result"]["nextCursor"]
        .as_str()
        .unwrap_or("AAAA")
        .to_owned();
    "/mcp".clone_into(&mut caller.path);
    let refused = caller.modern("prompts/list", json!({"cursor": cursor}));
    assert!(refused.json().get("error").is_some());
}

/// T-VIEW-02
#[test]
fn nothing_hidden_is_announced() {
    let (served, keys) = served_team();
    let key = &keys.iter().find(|(name, _)| *name == "reader").unwrap().1;
    let mut caller = served.caller().with_key(key);
    let listening =
        json!({"promptsListChanged": true, "resourceSubscriptions": ["notes://secret"]});
    caller.listen_for(&listening);
    caller.event();
    done(
        &served.env,
        [
            "resource",
            "update",
            "secret-notes",
            "-c",
            "changed",
            "-w",
            "lab",
            "-p",
            "secret",
        ],
    );
    done(
        &served.env,
        [
            "prompt", "add", "later", "-c", "x", "-w", "acme", "-p", "garden",
        ],
    );
    let heard = caller.event().unwrap();
    assert_eq!(heard["method"], "notifications/prompts/list_changed");
}

/// T-VIEW-04
#[test]
fn a_role_that_is_given_or_taken_away_is_announced() {
    let (served, keys) = served_team();
    let key = &keys.iter().find(|(name, _)| *name == "reader").unwrap().1;
    let mut stream = served.caller().with_key(key);
    let wanted = json!({"promptsListChanged": true, "toolsListChanged": true});
    stream.listen_for(&wanted);
    stream.event();
    done(&served.env, ["grant", "add", "reader", "reader", "lab"]);
    let heard = stream.event().unwrap();
    assert_eq!(heard["method"], "notifications/prompts/list_changed");
    let mut caller = served.caller().with_key(key);
    let secret = "secret:secret-prompt".to_owned();
    assert!(listed(&mut caller, "prompts").contains(&secret));
    stream.event();
    done(&served.env, ["grant", "remove", "reader", "reader", "lab"]);
    let heard = stream.event().unwrap();
    assert_eq!(heard["method"], "notifications/prompts/list_changed");
    assert!(!listed(&mut caller, "prompts").contains(&secret));
    // A stream of a project ends with the right to read it.
    done(
        &served.env,
        ["grant", "add", "reader", "writer", "lab/secret"],
    );
    let mut project = served.caller().with_key(key).at("/mcp/lab/secret");
    while project.modern("prompts/list", json!({})).status == 404 {
        project = served.caller().with_key(key).at("/mcp/lab/secret");
    }
    project.listen_for(&wanted);
    project.event();
    done(
        &served.env,
        ["grant", "remove", "reader", "writer", "lab/secret"],
    );
    assert_eq!(project.event(), None);
}

#[test]
fn a_write_is_announced_to_everyone_who_may_read_it() {
    let (served, keys) = served_team();
    let key_of = |role: &str| &keys.iter().find(|(name, _)| *name == role).unwrap().1;
    let mut reader = served.caller().with_key(key_of("reader"));
    reader.listen();
    reader.event();
    let mut other = served.caller().with_key(key_of("other"));
    other.listen();
    other.event();
    let mut writer = served
        .caller()
        .with_key(key_of("writer"))
        .at("/mcp/acme/garden");
    let arguments = json!({"name": "fresh", "content": "new"});
    let written = tool(&mut writer, "create_prompt", arguments);
    assert_eq!(written.status, 200);
    assert!(reader.event().is_some());
    let mut caller = served.caller().with_key(key_of("reader"));
    assert!(listed(&mut caller, "prompts").contains(&"garden:fresh".to_owned()));
    // The other one is only notified of what it may read.
    let mut lab = served
        .caller()
        .with_key(key_of("other"))
        .at("/mcp/lab/secret");
    tool(
        &mut lab,
        "create_prompt",
        json!({"name": "theirs", "content": "new"}),
    );
    assert!(other.event().is_some());
    let mut caller = served.caller().with_key(key_of("other"));
    let prompts = listed(&mut caller, "prompts");
    assert!(prompts.contains(&"secret:theirs".to_owned()));
    assert!(!prompts.contains(&"garden:fresh".to_owned()));
}

#[test]
fn a_project_that_is_deleted_is_gone_from_its_address() {
    let (served, keys) = served_team();
    let key = &keys.iter().find(|(name, _)| *name == "admin").unwrap().1;
    let mut caller = served.caller().with_key(key).at("/mcp/acme/kitchen");
    assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
    done(
        &served.env,
        ["project", "delete", "kitchen", "-w", "acme", "--yes"],
    );
    while caller.modern("prompts/list", json!({})).status == 200 {}
    assert_eq!(caller.modern("prompts/list", json!({})).status, 404);
    done(&served.env, ["project", "create", "kitchen", "-w", "acme"]);
    assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
    // The same for its workspace.
    done(&served.env, ["workspace", "delete", "acme", "--yes"]);
    while caller.modern("prompts/list", json!({})).status == 200 {}
    done(&served.env, ["workspace", "create", "acme"]);
    done(&served.env, ["project", "create", "kitchen", "-w", "acme"]);
    // Its roles went with it.
    while caller.modern("prompts/list", json!({})).status == 200 {}
    assert_eq!(caller.modern("prompts/list", json!({})).status, 404);
    done(&served.env, ["grant", "add", "admin", "admin", "acme"]);
    while caller.modern("prompts/list", json!({})).status == 404 {}
    assert_eq!(caller.modern("prompts/list", json!({})).status, 200);
}

#[test]
fn the_token_opens_what_a_server_without_keys_offers() {
    let env = team();
    let token = "0123456789abcdef0123456789abcdef";
    let variables = [("TWIG_TOKEN", token)];
    let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
    command.envs(variables);
    let served = Served::start(env, command);
    let mut caller = served.caller().with_key(token).at("/mcp/acme/garden");
    assert_eq!(caller.modern("prompts/list", json!({})).status, 404);
    served.env.configure("[store]\nserve = true\n");
    let mut command = served.env.command(["serve", "--http", "127.0.0.1:0"]);
    command.envs(variables);
    let env = TestEnv::new(crate::TWIG);
    let again = Served::start(env, command);
    let mut caller = again.caller().with_key(token).at("/mcp/acme/garden");
    let prompts = listed(&mut caller, "prompts");
    assert!(prompts.contains(&"garden-prompt".to_owned()), "{prompts:?}");
}

#[test]
fn functions_are_there_only_for_who_may_run_them() {
    let env = team();
    env.write("tools/standup", "#!/bin/sh\necho '{}'\n");
    let script = env.data().join("tools/standup");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    crate::functions::trust(&env, "tools");
    let (anna, ben) = (
        key(&env, "anna", "admin", &[]),
        key(&env, "ben", "reader", &[]),
    );
    done(&env, ["grant", "add", "ben", "run"]);
    let served = Served::from_env(env);
    for (key, may_run) in [(&anna, false), (&ben, true)] {
        let mut caller = served.caller().with_key(key);
        let prompts = listed(&mut caller, "prompts");
        assert!(prompts.contains(&"tools:plain".to_owned()));
        assert_eq!(prompts.contains(&"tools:standup".to_owned()), may_run);
        let got = caller.modern("prompts/get", json!({"name": "tools:plain"}));
        assert_eq!(got.status, 200);
    }
}

#[test]
fn the_hub_publishes_what_its_caller_may_read() {
    let env = team();
    let acme = env.data().join("acme");
    env.configure(&format!(
        "[hub]\nenable = true\n[[libraries]]\npath = \"{}\"\nworkspace = \"acme\"\n",
        acme.display()
    ));
    let inside = key(&env, "inside", "reader", &["-w", "acme"]);
    let outside = key(&env, "outside", "reader", &["-w", "lab"]);
    let served = Served::from_env(env);
    let index = |key: Option<&str>| {
        let mut caller = served.caller().at("/.well-known/agent-skills/index.json");
        caller.key = key.map(str::to_owned);
        caller.send("GET", &[], b"")
    };
    assert_eq!(index(None).status, 401);
    for (key, sees_acme) in [(&inside, true), (&outside, false)] {
        let page = index(Some(key));
        assert_eq!(page.status, 200);
        let text = String::from_utf8_lossy(&page.body).into_owned();
        assert!(text.contains("review"), "{text}");
        assert_eq!(text.contains("plan"), sees_acme, "{text}");
    }
}

/// More people with different rights than views are kept: none of them hears of what is not theirs.
#[test]
fn many_people_hear_only_of_what_they_may_read() {
    const PEOPLE: usize = 70;
    let env = team();
    env.configure("[http]\nperson_requests = 100000\nperson_burst = 100000\n");
    let keys: Vec<String> = (0..PEOPLE)
        .map(|number| {
            let place = format!("acme/only-{number}");
            key(&env, &format!("p{number}"), "reader", &["-p", &place])
        })
        .collect();
    let insider = key(&env, "insider", "reader", &["-p", "lab/secret"]);
    let served = Served::from_env(env);
    let mut streams: Vec<Caller> = keys
        .iter()
        .map(|key| {
            let mut stream = served.caller().with_key(key);
            stream.listen();
            stream.event();
            stream
        })
        .collect();
    let mut inside = served.caller().with_key(&insider);
    inside.listen();
    inside.event();
    done(
        &served.env,
        ["prompt", "add", "x", "-c", "x", "-w", "lab", "-p", "secret"],
    );
    assert!(inside.event().is_some());
    done(&served.env, ["grant", "add", "insider", "reader", "lab"]);
    // What everybody hears of next is the library, once.
    served.env.write(
        "team/twig.toml",
        "[prompts.review]\ntext = \"x\"\n[prompts.more]\ntext = \"y\"\n",
    );
    for stream in &mut streams {
        assert!(stream.event().is_some());
    }
    served
        .env
        .write("team/twig.toml", "[prompts.review]\ntext = \"x\"\n");
    for stream in &mut streams {
        assert!(stream.event().is_some());
    }
    let listed = listed(&mut served.caller().with_key(&keys[0]), "prompts");
    assert!(!listed.contains(&"team:more".to_owned()));
}
