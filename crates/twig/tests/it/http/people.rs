//! Servers for people: keys, roles, and what each person sees.

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use super::client::Caller;
use crate::env;

mod keys;
mod limits;
mod sessions;
mod views;
mod written;

/// A library that everyone may read, one of workspace `acme`, and one that runs a program.
const LIBRARIES: &str = r#"
//- team/twig.toml
[prompts.review]
description = "Review code"
text = "Review this."
//- acme/twig.toml
[prompts.plan]
text = "The plan of acme."
//- tools/twig.toml
[prompts.standup]
command = ["./standup"]
[prompts.plain]
text = "No program."
"#;

/// Runs a command that has to succeed.
#[track_caller]
fn done<const N: usize>(env: &TestEnv, args: [&str; N]) -> String {
    let output = env.run(args);
    assert_eq!(output.code, 0, "{args:?}: {output}");
    output.stdout
}

/// Makes a key and returns it.
#[track_caller]
pub(super) fn key(env: &TestEnv, name: &str, role: &str, place: &[&str]) -> String {
    let mut args = vec!["key", "create", name, "--role", role];
    args.extend_from_slice(place);
    let output = env.run(args);
    assert_eq!(output.code, 0, "{output}");
    let key = output.stdout.trim().to_owned();
    assert!(key.starts_with("twig_") && key.len() == 65, "{key}");
    key
}

/// Two workspaces with three projects, each with a prompt and a resource of its own.
const PROJECTS: [(&str, &str); 3] = [("acme", "garden"), ("acme", "kitchen"), ("lab", "secret")];

fn team() -> TestEnv {
    let env = env(LIBRARIES);
    for workspace in ["acme", "lab"] {
        done(&env, ["workspace", "create", workspace]);
    }
    for (workspace, project) in PROJECTS {
        let place = ["-w", workspace];
        done(&env, ["project", "create", project, place[0], place[1]]);
        let (prompt, text) = (format!("{project}-prompt"), format!("text of {project}"));
        done(
            &env,
            [
                "prompt", "add", &prompt, "-c", &text, "-w", workspace, "-p", project,
            ],
        );
        let (name, uri) = (format!("{project}-notes"), format!("notes://{project}"));
        done(
            &env,
            [
                "resource", "add", &name, "--uri", &uri, "-c", &text, "-w", workspace, "-p",
                project,
            ],
        );
    }
    env
}

fn names(listed: &Value, list: &str) -> Vec<String> {
    let items = listed["result"][list].as_array();
    let items = items.unwrap_or_else(|| panic!("{listed}"));
    let name = |item: &Value| item["name"].as_str().expect("a name").to_owned();
    items.iter().map(name).collect()
}

/// The names of the prompts, or of the tools, that a caller sees.
fn listed(caller: &mut Caller, list: &str) -> Vec<String> {
    let response = caller.modern(&format!("{list}/list"), json!({}));
    assert_eq!(response.status, 200, "{response:?}");
    names(&response.json(), list)
}
