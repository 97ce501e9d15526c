//! `twig doctor` starts what clients would start, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use super::{CLIENTS, connect, done, put, text};
use crate::TWIG;

const LIBRARY: &str = "//- lib/twig.toml\n[prompts.a]\n[prompts.b]\n//- lib/prompts/a.md\nA\n//- lib/prompts/b.md\nB\n";

/// What the doctor says of clients.
fn clients(env: &TestEnv) -> (i32, Vec<Value>) {
    let outcome = env.run(["doctor", "--json"]);
    let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let clients = report["clients"].as_array().expect("rows").clone();
    (outcome.code, clients)
}

/// A program that leaves a trace when it is started.
fn trap(env: &TestEnv, path: &str) -> String {
    let program = put(
        env,
        path,
        "#!/bin/sh\ntouch \"$(dirname \"$0\")/started\"\nexec cat\n",
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("own file");
    program.display().to_string()
}

#[test]
fn every_client_reaches_the_prompts() {
    let env = TestEnv::with(TWIG, LIBRARY);
    assert_eq!(clients(&env), (0, Vec::new()));
    for (client, _, project) in CLIENTS {
        done(&env, &[client]);
        if project.is_some() {
            done(&env, &[client, "--scope=project"]);
        }
    }
    let (code, rows) = clients(&env);
    assert_eq!((code, rows.len()), (0, 24));
    for row in rows {
        assert_eq!(row["state"], "reached", "{row}");
        assert_eq!(row["prompts"], 2, "{row}");
    }
    let outcome = env.run(["doctor"]);
    let lines: Vec<&str> = outcome.stdout.lines().map(str::trim).collect();
    for line in [
        "claude-code (user): 2 prompts",
        "codex (project): 2 prompts",
    ] {
        assert!(lines.contains(&line), "{outcome}");
    }
}

#[test]
fn the_entry_says_where_libraries_are_even_to_a_client_that_passes_nothing_on() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let data = env.root().join("elsewhere");
    fs::create_dir_all(data.join("one/prompts")).expect("own folder");
    fs::write(data.join("one/twig.toml"), "[prompts.a]\n").expect("own file");
    fs::write(data.join("one/prompts/a.md"), "A").expect("own file");
    let connected = env
        .command(["connect", "codex"])
        .env("TWIG_DATA_DIR", &data)
        .output();
    assert!(connected.expect("it starts").status.success());
    assert_eq!(clients(&env).1[0]["prompts"], 1);
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let env = TestEnv::new(TWIG);
    done(&env, &["cursor", "--name", "prompts"]);
    let path = env.home().join(".cursor/mcp.json");
    let written = text(&path);
    let said = |file: &str| {
        fs::write(&path, file).expect("own file");
        let (code, rows) = clients(&env);
        let problem = rows[0]["problem"].as_str().unwrap_or_default().to_owned();
        (
            code,
            rows[0]["state"].as_str().unwrap_or_default().to_owned(),
            problem,
        )
    };
    let broken = |problem: &str| (1, "broken".to_owned(), problem.to_owned());
    let skipped = |problem: &str| (0, "skipped".to_owned(), problem.to_owned());
    assert_eq!(
        said(&written.replace(TWIG, "/nowhere/twig")),
        broken("the program /nowhere/twig is not there: run `twig connect cursor --name prompts`")
    );
    // Nobody has to guess why the exit code is what it is.
    let outcome = env.run(["doctor"]);
    let problems = "\nproblems\n  1 client does not reach Twig: see clients above\n\n";
    assert!(outcome.stdout.contains(problems), "{outcome}");
    let listed = connect(&env, &[]);
    assert!(
        listed.stdout.contains("  user (program missing)  "),
        "{listed}"
    );
    assert_eq!(
        said(&written.replace("\"serve\"", "\"serve\", \"--project\", \"gone\"")),
        broken("it ended at once: Project 'gone' does not exist in workspace 'default'")
    );
    assert_eq!(
        said(&written.replace("\"serve\"", "\"serve\", \"--http\"")),
        broken("a client cannot talk to it: take `--http` out of its arguments")
    );
    assert_eq!(
        said(&written.replace("\"args\"", "\"disabled\": true, \"args\"")),
        skipped("it is switched off there")
    );
    assert_eq!(
        said("{ oops"),
        broken(
            "~/.cursor/mcp.json cannot be read: line 1, column 3: expected string for object property"
        )
    );
}

#[test]
fn another_program_is_not_started() {
    let env = TestEnv::new(TWIG);
    let other = trap(&env, "bin/other");
    let file = json!({"mcpServers": {"twig": {"command": other, "args": ["serve"]}}});
    put(&env, ".cursor/mcp.json", &file.to_string());
    let (code, rows) = clients(&env);
    assert_eq!((code, &rows[0]["state"]), (0, &json!("skipped")));
    // Which program this is depends on the folder that one happens to be in.
    let file = json!({"mcpServers": {"twig": {"command": "./bin/twig", "args": ["serve"]}}});
    put(&env, ".cursor/mcp.json", &file.to_string());
    assert_eq!(clients(&env).1[0]["state"], "skipped");
    // Twig itself, but not to serve.
    let file = json!({"mcpServers": {"twig": {"command": TWIG, "args": ["new", "library", "x"]}}});
    put(&env, ".cursor/mcp.json", &file.to_string());
    assert_eq!(clients(&env).1[0]["state"], "skipped");
    assert!(!env.home().join("bin/started").exists());
    assert!(!env.data().join("x").exists());
}

#[test]
fn a_server_that_never_answers_is_ended() {
    let env = TestEnv::new(TWIG);
    let twig = trap(&env, "bin/twig");
    let file = json!({"mcpServers": {"twig": {"command": twig, "args": ["serve"]}}});
    put(&env, ".cursor/mcp.json", &file.to_string());
    // It says back what it hears, which is no answer.
    let (code, rows) = clients(&env);
    assert_eq!(code, 1);
    assert_eq!(rows[0]["problem"], "it did not answer within 5 s");
    assert!(
        env.home().join("bin/started").exists(),
        "a person's own file is believed"
    );
}

#[test]
fn from_a_project_nothing_is_started_but_this_program_to_serve() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let twig = trap(&env, "bin/twig");
    let path = env.work().join(".mcp.json");
    let data = env.root().join("data").display().to_string();
    for entry in [
        json!({"command": twig, "args": ["serve"]}),
        json!({"command": TWIG, "args": ["serve"], "env": {"LD_PRELOAD": "./evil.so"}}),
        json!({"command": TWIG, "args": ["serve"], "cwd": "/"}),
        json!({"command": TWIG, "args": ["serve", "--nope"]}),
        json!({"command": TWIG, "args": ["new", "library", "x", "--in", data]}),
    ] {
        fs::write(&path, json!({"mcpServers": {"twig": entry}}).to_string()).expect("own file");
        let (code, rows) = clients(&env);
        assert_eq!((code, &rows[0]["state"]), (0, &json!("skipped")), "{entry}");
    }
    assert!(!env.home().join("bin/started").exists());
    assert!(!env.root().join("data").exists());
}
