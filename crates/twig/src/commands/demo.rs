//! `twig demo`: a real server and a client talking to it, with a sample library.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::ProbeClient;
use crate::command_error::{CommandError, reason};
use crate::ui::Ui;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let folder = tempfile::Builder::new()
        .prefix("twig-demo-")
        .tempdir()
        .map_err(|error| {
            let parent = std::env::temp_dir();
            CommandError::fixable(format!(
                "no folder can be made in {}: {}",
                parent.display(),
                reason(&error)
            ))
            .hint("set TMPDIR to a folder that can be written to")
        })?;
    let library = folder.path().join("garden");
    fs::create_dir_all(library.join("prompts"))?;
    fs::write(library.join("twig.toml"), MANIFEST)?;
    fs::write(library.join("prompts/review.md"), REVIEW)?;
    fs::write(library.join("prompts/standup.md"), STANDUP)?;

    ui.line("A library is a folder with a twig.toml and Markdown files. This one is `garden`.")?;
    ui.line("A server reads it, and a client talks MCP to the server, as your AI client would.")?;
    let mut client = ProbeClient::start(server(folder.path())?, PATIENCE)?;
    let result = converse(&mut client, &library, ui);
    // The server must end before its folder is removed, whatever happened.
    let ended = client.end();
    folder.close()?;
    result?;
    ended?;
    ui.line("\nThe server has ended and its folder is gone. To keep prompts of your own:")?;
    ui.line("  twig new library my_prompts")?;
    ui.line("  twig connect                    (which clients can have them)")?;
    Ok(ExitCode::SUCCESS)
}

/// This binary as a server on a folder of libraries.
fn server(data: &Path) -> Result<Command, CommandError> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["serve", "--log-level", "error"])
        .env("TWIG_DATA_DIR", data)
        .env("XDG_CONFIG_HOME", data);
    Ok(command)
}

fn converse(client: &mut ProbeClient, library: &Path, ui: &mut Ui) -> Result<(), CommandError> {
    heading("Who is there?", ui)?;
    let discovered = call(client, "server/discover", json!({}), ui)?;
    let server = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
    let versions = discovered["supportedVersions"]
        .as_array()
        .map_or(0, Vec::len);
    reply(
        format!(
            "{} {}, {versions} protocol versions",
            word(&server["title"]),
            word(&server["version"])
        ),
        ui,
    )?;

    heading("Which prompts are there?", ui)?;
    list(client, ui)?;

    heading("Fill one in.", ui)?;
    let arguments =
        json!({"name": "garden:review", "arguments": {"code": "let x = 1;", "language": "rust"}});
    let rendered = call(client, "prompts/get", arguments, ui)?;
    for line in word(&rendered["messages"][0]["content"]["text"]).lines() {
        reply(line, ui)?;
    }

    heading("A file changes, and every client is notified.", ui)?;
    call(
        client,
        "subscriptions/listen",
        json!({"notifications": {"promptsListChanged": true}}),
        ui,
    )?;
    fs::write(
        library.join("prompts/explain.md"),
        "Explain {{ topic }} to a newcomer.\n",
    )?;
    let manifest = format!("{MANIFEST}{EXPLAIN}");
    let saved = Instant::now();
    fs::write(library.join("twig.toml"), manifest)?;
    ui.line("  (garden/twig.toml is saved with one prompt more)")?;
    client.notification("notifications/prompts/list_changed")?;
    let took = saved.elapsed().as_millis();
    reply(
        format!("notifications/prompts/list_changed, {took} ms after the save"),
        ui,
    )?;
    list(client, ui)
}

fn list(client: &mut ProbeClient, ui: &mut Ui) -> Result<(), CommandError> {
    let listed = call(client, "prompts/list", json!({}), ui)?;
    for prompt in listed["prompts"].as_array().into_iter().flatten() {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let arguments: Vec<&str> = arguments.map(|argument| word(&argument["name"])).collect();
        let name = format!("{}({})", word(&prompt["name"]), arguments.join(", "));
        reply(format!("{name:<32} {}", word(&prompt["description"])), ui)?;
    }
    Ok(())
}

fn heading(text: &str, ui: &mut Ui) -> Result<(), CommandError> {
    Ok(ui.line(format!("\n{text}"))?)
}

fn call(
    client: &mut ProbeClient,
    method: &str,
    params: Value,
    ui: &mut Ui,
) -> Result<Value, CommandError> {
    let shown = if params.as_object().is_some_and(serde_json::Map::is_empty) {
        String::new()
    } else {
        format!(" {params}")
    };
    ui.line(format!("  → {method}{shown}"))?;
    Ok(client.call(method, params)?)
}

fn reply(text: impl AsRef<str>, ui: &mut Ui) -> Result<(), CommandError> {
    Ok(ui.line(format!("  ← {}", text.as_ref()).trim_end())?)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

const MANIFEST: &str = r#"[prompts.review]
title = "Code review"
description = "Review code for clarity"

[[prompts.review.arguments]]
name = "code"
description = "The code to review"
required = true

[[prompts.review.arguments]]
name = "language"
description = "Its language"

[prompts.standup]
description = "Write a stand-up note"
"#;

const EXPLAIN: &str = r#"
[prompts.explain]
description = "Explain something to a newcomer"

[[prompts.explain.arguments]]
name = "topic"
required = true
"#;

const REVIEW: &str =
    "Please review this{% if language %} {{ language }}{% endif %} code:\n\n{{ code }}\n";

const STANDUP: &str =
    "Write a stand-up note: what I did yesterday, what I do today, what blocks me.\n";
