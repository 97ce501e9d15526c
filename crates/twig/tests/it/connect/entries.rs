//! What is written, and entries that are there already.

use std::fs;
use std::os::unix::fs::symlink;

use twig_testkit::TestEnv;

use super::{backup, connect, done, json, put, text};
use crate::TWIG;
use crate::pty::answered;

#[test]
fn the_program_is_named_so_that_it_is_found() {
    let env = TestEnv::new(TWIG);
    let bin = env.root().join("bin");
    fs::create_dir(&bin).expect("own folder");
    symlink(TWIG, bin.join("twig")).expect("own folder");
    let run = |args: &[&str]| {
        let args = ["connect", "cursor", "--print", "--json"]
            .iter()
            .chain(args);
        let output = env
            .command(args.copied())
            .env("PATH", &bin)
            .output()
            .expect("it starts");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["entry"]["command"].as_str().map(str::to_owned)
    };
    // The link stays when the program that it leads to is another version's.
    assert_eq!(run(&[]), Some(bin.join("twig").display().to_string()));
    // A project's file is read by others, who have it elsewhere.
    assert_eq!(run(&["--scope=project"]).as_deref(), Some("twig"));
    // Another program of that name is not this one.
    fs::remove_file(bin.join("twig")).expect("own file");
    symlink("/bin/sh", bin.join("twig")).expect("own folder");
    assert_eq!(run(&["--scope=project"]).as_deref(), Some(TWIG));
}

#[test]
fn what_serve_is_given_has_to_hold_elsewhere() {
    let env = TestEnv::new(TWIG);
    fs::create_dir(env.work().join("lib")).expect("own folder");
    let given = |args: &[&str]| {
        let args = ["zed", "--print", "--json"].iter().chain(args);
        let args: Vec<&str> = args.copied().collect();
        json(&done(&env, &args))["entry"]["args"].clone()
    };
    assert_eq!(
        given(&["--", "--library", "lib", "--library=./lib"]),
        serde_json::json!(["serve", "--library", "[work]/lib", "--library=[work]/lib"])
    );
    assert_eq!(
        given(&["--scope=project", "--", "--library", "lib"]),
        serde_json::json!(["serve", "--library", "lib"])
    );
    for (args, code, message) in [
        (
            &["--library", "gone"][..],
            1,
            "there is nothing at [work]/gone",
        ),
        (&["--http"][..], 2, "without --http"),
        (
            &["--nope"][..],
            2,
            "`twig serve` would refuse this: unexpected argument '--nope'",
        ),
        (&["--help"][..], 2, "has to be flags of `twig serve`"),
    ] {
        let args: Vec<&str> = ["zed", "--"].iter().chain(args).copied().collect();
        let outcome = connect(&env, &args);
        assert_eq!(outcome.code, code, "{outcome}");
        assert!(outcome.stderr.contains(message), "{outcome}");
    }
    assert!(!env.home().join(".config/zed").exists());
}

#[test]
fn where_libraries_are_is_written_for_a_person_alone() {
    let env = TestEnv::new(TWIG);
    let run = |scope: &str| {
        let output = env
            .command(["connect", "cursor", scope, "--print", "--json"])
            .env("TWIG_DATA_DIR", "data")
            .env("OPENAI_API_KEY", "secret")
            .output()
            .expect("it starts");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["entry"]["env"].clone()
    };
    let data = env.work().join("data").display().to_string();
    assert_eq!(
        run("--scope=user"),
        serde_json::json!({"TWIG_DATA_DIR": data})
    );
    assert_eq!(run("--scope=project"), serde_json::Value::Null);
}

#[test]
fn an_entry_of_somebody_else_stays() {
    let env = TestEnv::new(TWIG);
    let file = "{\n  \"mcpServers\": {\n    \"twig\": { \"command\": \"node\", \"args\": [\"twig.js\"] }\n  }\n}\n";
    let path = put(&env, ".cursor/mcp.json", file);
    insta::assert_snapshot!(connect(&env, &["cursor"]), @r#"
    --- stderr
    `twig` in ~/.cursor/mcp.json differs from what Twig would write:
    "twig": { "command": "node", "args": ["twig.js"] }
    error: `twig` in ~/.cursor/mcp.json differs from what Twig would write; it was left unchanged
    hint: use --force to replace it, or --name to give Twig another name there
    --- exit 1
    "#);
    insta::assert_snapshot!(connect(&env, &["cursor", "--remove"]), @r#"
    --- stderr
    `twig` in ~/.cursor/mcp.json does not start Twig:
    "twig": { "command": "node", "args": ["twig.js"] }
    error: `twig` in ~/.cursor/mcp.json does not start Twig; it was left unchanged
    hint: use --force to remove it, or --name to say what Twig is called there
    --- exit 1
    "#);
    assert_eq!(text(&path), file);
    assert!(!backup(&path).exists());

    done(&env, &["cursor", "--name", "prompts"]);
    assert!(text(&path).contains("\"node\""));
    done(&env, &["cursor", "--name", "prompts", "--remove"]);
    assert_eq!(text(&path), file);

    let report = json(&done(&env, &["cursor", "--force", "--json"]));
    assert_eq!(report["action"], "updated");
    assert_eq!(text(&backup(&path)), file);
    done(&env, &["cursor", "--remove"]);
    assert_eq!(text(&path), file, "what was replaced comes back");
}

#[test]
fn an_entry_that_somebody_changed_stays() {
    let env = TestEnv::new(TWIG);
    done(&env, &["codex"]);
    let path = env.home().join(".codex/config.toml");
    let changed = text(&path).replace("[\"serve\"]", "[\"serve\", \"--read-only\"]");
    fs::write(&path, &changed).expect("own file");
    let outcome = connect(&env, &["codex"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stderr.contains("--read-only"), "{outcome}");
    assert_eq!(text(&path), changed);

    // The same, asked for.
    let report = json(&done(&env, &["codex", "--json", "--", "--read-only"]));
    assert_eq!(report["action"], "unchanged");

    // What clients add to an entry is theirs; a switch is the person's.
    let more = changed + "startup_timeout_sec = 20\n";
    fs::write(&path, &more).expect("own file");
    let report = json(&done(&env, &["codex", "--json", "--", "--read-only"]));
    assert_eq!(report["action"], "unchanged");
    fs::write(&path, more + "enabled = false\n").expect("own file");
    assert_eq!(connect(&env, &["codex", "--", "--read-only"]).code, 1);
}

#[test]
fn whatever_twig_is_told_there_it_is_taken_out() {
    let env = TestEnv::new(TWIG);
    for entry in [
        "{ \"command\": \"/opt/twig\", \"args\": [\"serve\", \"--read-only\"], \"cwd\": \"/\" }",
        "{ \"command\": \"twig\", \"args\": [\"-v\", \"serve\"] }",
    ] {
        let file = format!("{{\"mcpServers\": {{\"a\": {{}}, \"twig\": {entry}}}}}\n");
        let path = put(&env, ".cursor/mcp.json", &file);
        assert_eq!(connect(&env, &["cursor"]).code, 1);
        done(&env, &["cursor", "--remove"]);
        assert_eq!(text(&path), "{\"mcpServers\": {\"a\": {}}}\n");
    }
    put(
        &env,
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"twig\": {\"socket\": \"/x\"}}}\n",
    );
    assert_eq!(connect(&env, &["cursor", "--remove"]).code, 1);
    done(&env, &["cursor", "--remove", "--force"]);
}

#[test]
fn a_program_that_moved_is_written_anew() {
    let env = TestEnv::new(TWIG);
    done(&env, &["gemini"]);
    let path = env.home().join(".gemini/settings.json");
    let written = text(&path);
    fs::write(&path, written.replace(TWIG, "/nowhere/twig")).expect("own file");
    let report = json(&done(&env, &["gemini", "--json"]));
    assert_eq!(report["action"], "updated");
    assert_eq!(text(&path), written);
}

#[test]
fn what_somebody_added_to_an_entry_outlives_its_program() {
    let env = TestEnv::new(TWIG);
    let files = [
        (
            "cursor",
            ".cursor/mcp.json",
            "\u{feff}{ // mine\n\t\"mcpServers\": {\n\t\t\"twig\": {\n\t\t\t\"autoApprove\": [\"search\"], // all\n\t\t\t\"command\": \"/nowhere/twig\", /* old */\n\t\t\t\"args\": [ \"serve\" ],\n\t\t\t\"cwd\": \"/tmp\",\n\t\t},\n\t},\n}\n",
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"mcp\": {\"twig\": {\"command\": [ \"/nowhere/twig\" /* old */, \"serve\"], \"type\": \"local\", \"timeout\": 9}}}",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.twig]\r\n# mine\r\nstartup_timeout_sec = 20\r\ncommand = '/nowhere/twig' # old\r\nargs = [\"serve\"]\r\n",
        ),
    ];
    for (client, path, file) in files {
        let path = put(&env, path, file);
        let report = json(&done(&env, &[client, "--json"]));
        assert_eq!(report["action"], "updated", "{client}");
        let quoted = format!("\"{TWIG}\"");
        let file = file.replace("'/nowhere/twig'", &quoted);
        assert_eq!(text(&path), file.replace("\"/nowhere/twig\"", &quoted));
    }
}

#[test]
fn a_program_of_another_name_knows_its_own_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("prompts");
    fs::copy(TWIG, &program).expect("own folder");
    let env = TestEnv::new(program.to_str().expect("text"));
    let file = "{\"mcpServers\": {}}\n";
    let path = put(&env, ".cursor/mcp.json", file);
    done(&env, &["cursor"]);
    assert!(text(&path).contains("/prompts\""), "{}", text(&path));
    let rows = json(&done(&env, &["--json"]));
    assert_eq!(rows[3]["user"]["connected"], true);
    done(&env, &["cursor", "--remove"]);
    assert_eq!(text(&path), file);
    // Whatever it is told to do, it is ours to take out.
    let other = format!(
        "{{\"mcpServers\": {{\"twig\": {{\"command\": \"{}\", \"args\": [\"list\"]}}}}}}",
        program.display()
    );
    put(&env, ".cursor/mcp.json", &other);
    done(&env, &["cursor", "--remove"]);
    assert!(!text(&path).contains("prompts"), "{}", text(&path));
}

#[test]
fn on_a_terminal_an_entry_of_somebody_else_is_asked_about() {
    let env = TestEnv::new(TWIG);
    let file = "{\"mcpServers\": {\"twig\": {\"command\": \"node\"}}}";
    let path = put(&env, ".cursor/mcp.json", file);
    let output = answered(&env, &["connect", "cursor"], "n\n");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    let asked = "\"twig\": {\"command\": \"node\"}\nreplace it? [y/N]\nnothing was changed\n";
    assert!(said.ends_with(asked), "{said}");
    assert_eq!(text(&path), file);
    let output = answered(&env, &["connect", "cursor"], "y\n");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&path).contains(TWIG));
    assert_eq!(text(&backup(&path)), file);
}

#[test]
fn a_file_that_twig_made_does_not_make_a_client_installed() {
    for (client, file, _) in super::CLIENTS {
        let env = TestEnv::new(crate::TWIG);
        let installed = || {
            let rows = json(&done(&env, &["--json"]));
            let rows = rows.as_array().expect("a list").iter();
            let mut rows = rows.filter(|row| row["client"] == client);
            rows.next().map(|row| row["installed"].clone())
        };
        assert_eq!(installed(), Some(false.into()), "{client}");
        done(&env, &[client]);
        assert_eq!(installed(), Some(false.into()), "{client}");
        // The client itself writes more than that.
        let path = env.home().join(file);
        let more = match path.extension().and_then(|it| it.to_str()) {
            Some("toml") => format!("model = \"x\"\n{}", text(&path)),
            Some("yaml") => format!("model: x\n{}", text(&path)),
            _ => text(&path).replacen('{', "{\n  \"theme\": \"dark\",", 1),
        };
        fs::write(&path, more).expect("ours");
        assert_eq!(installed(), Some(true.into()), "{client}");
    }
}
