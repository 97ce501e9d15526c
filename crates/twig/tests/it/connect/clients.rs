//! All clients: where their files are, and what an entry looks like there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use twig_testkit::TestEnv;

use super::{CLIENTS, connect, done, json, put, text};
use crate::TWIG;

#[test]
fn without_a_client_all_are_listed() {
    let env = TestEnv::new(TWIG);
    put(&env, ".cursor/other.json", "{}");
    put(&env, ".config/zed/settings.json", "{\n  oops\n}");
    done(&env, &["gemini"]);
    done(&env, &["codex", "--scope=project", "--name", "prompts"]);
    insta::assert_snapshot!(connect(&env, &[]), @"
    client          installed  has Twig  file
    claude-code     no         no        ~/.claude.json
    claude-desktop  no         no        ~/.config/Claude/claude_desktop_config.json
    vscode          no         no        ~/.config/Code/User/mcp.json
    cursor          yes        no        ~/.cursor/mcp.json
    zed             yes        user?     ~/.config/zed/settings.json
    codex           no         project   [work]/.codex/config.toml
    gemini          no         user      ~/.gemini/settings.json
    opencode        no         no        ~/.config/opencode/opencode.json
    windsurf        no         no        ~/.codeium/windsurf/mcp_config.json
    copilot-cli     no         no        ~/.copilot/mcp-config.json
    kilo            no         no        ~/.config/kilo/kilo.json
    qwen            no         no        ~/.qwen/settings.json
    goose           no         no        ~/.config/goose/config.yaml
    cline           no         no        ~/.cline/data/settings/cline_mcp_settings.json
    continue        no         no        ~/.continue/config.yaml
    --- stderr
    zed: ~/.config/zed/settings.json cannot be read: line 2, column 3: expected string for object property
    hint: run `twig connect CLIENT`, or `twig connect CLIENT --scope project` for this folder alone
    --- exit 0
    ");
    let rows = json(&done(&env, &["--json"]));
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), CLIENTS.len());
    assert_eq!(rows[3]["installed"], true);
    assert_eq!(rows[6]["user"]["connected"], true);
    assert_eq!(rows[6]["user"]["names"][0], "twig");
    assert_eq!(rows[5]["project"]["names"][0], "prompts");
    assert_eq!(rows[1]["project"], serde_json::Value::Null);
    assert_eq!(
        rows[4]["user"]["problem"],
        "line 2, column 3: expected string for object property"
    );
}

#[test]
fn a_program_on_the_path_is_a_client_that_is_installed() {
    let env = TestEnv::new(TWIG);
    let program = put(&env, "bin/opencode", "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("own file");
    let output = env
        .command(["connect", "--json"])
        .env("PATH", env.home().join("bin"))
        .output()
        .expect("it starts");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(rows[7]["installed"], true);
    assert_eq!(rows[0]["installed"], false);
}

#[test]
fn every_client_takes_twig_and_gives_it_back() {
    let env = TestEnv::new(TWIG);
    for (client, user, project) in CLIENTS {
        let files = [
            (Some(user), env.home(), "--scope=user"),
            (project, env.work(), "--scope=project"),
        ];
        for (file, base, scope) in files {
            let Some(file) = file else {
                let outcome = connect(&env, &[client, "--scope=project"]);
                assert_eq!(outcome.code, 1, "{outcome}");
                assert!(
                    outcome
                        .stderr
                        .contains("has no configuration of its own for a project")
                );
                continue;
            };
            let path = base.join(file);
            let added = json(&done(&env, &[client, scope, "--json"]));
            assert_eq!(added["action"], "added", "{client}");
            assert_eq!(
                added["file"],
                path.display()
                    .to_string()
                    .replace(&env.home().display().to_string(), "[home]")
                    .replace(&env.work().display().to_string(), "[work]")
            );
            assert_eq!(added["entry"]["command"], TWIG);
            let written = text(&path);
            assert!(written.contains(TWIG), "{client}: {written}");
            let again = json(&done(&env, &[client, scope, "--json"]));
            assert_eq!(again["action"], "unchanged");
            assert_eq!(text(&path), written);
            let removed = json(&done(&env, &[client, scope, "--remove", "--json"]));
            assert_eq!(removed["action"], "removed");
            assert!(
                !path.exists(),
                "{client}: a file that was made for it goes with it"
            );
            let absent = json(&done(&env, &[client, scope, "--remove", "--json"]));
            assert_eq!(absent["action"], "absent");
        }
    }
    let left = fs::read_dir(env.work())
        .expect("the test's own folder")
        .count();
    assert_eq!(left, 0, "folders that were made for files go with them");
}

/// The files of some clients after `twig connect`.
fn written(clients: &[(&str, &str, Option<&str>)]) -> String {
    let env = TestEnv::new(TWIG);
    let mut all = String::new();
    for (client, user, _) in clients {
        done(&env, &[client, "--", "--read-only"]);
        all += &format!("{client}\n{}", text(&env.home().join(user)));
    }
    all.replace(TWIG, "/bin/twig")
}

#[test]
fn an_entry_in_every_syntax() {
    insta::assert_snapshot!(written(&CLIENTS[..9]), @r#"
    claude-code
    {
      "mcpServers": {
        "twig": {
          "type": "stdio",
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    claude-desktop
    {
      "mcpServers": {
        "twig": {
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    vscode
    {
      "servers": {
        "twig": {
          "type": "stdio",
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    cursor
    {
      "mcpServers": {
        "twig": {
          "type": "stdio",
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    zed
    {
      "context_servers": {
        "twig": {
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    codex
    [mcp_servers.twig]
    command = "/bin/twig"
    args = ["serve", "--read-only"]
    gemini
    {
      "mcpServers": {
        "twig": {
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    opencode
    {
      "mcp": {
        "twig": {
          "type": "local",
          "command": ["/bin/twig", "serve", "--read-only"],
          "enabled": true
        }
      }
    }
    windsurf
    {
      "mcpServers": {
        "twig": {
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    "#);
}

#[test]
fn an_entry_of_the_other_clients() {
    insta::assert_snapshot!(written(&CLIENTS[9..]), @r#"
    copilot-cli
    {
      "mcpServers": {
        "twig": {
          "type": "local",
          "command": "/bin/twig",
          "args": ["serve", "--read-only"],
          "tools": ["*"]
        }
      }
    }
    kilo
    {
      "mcp": {
        "twig": {
          "type": "local",
          "command": ["/bin/twig", "serve", "--read-only"],
          "enabled": true
        }
      }
    }
    qwen
    {
      "mcpServers": {
        "twig": {
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    goose
    extensions:
      twig:
        enabled: true
        type: stdio
        name: twig
        cmd: /bin/twig
        args: ["serve", "--read-only"]
    cline
    {
      "mcpServers": {
        "twig": {
          "command": "/bin/twig",
          "args": ["serve", "--read-only"]
        }
      }
    }
    continue
    name: Local Config
    version: 1.0.0
    schema: v1
    mcpServers:
      - name: twig
        command: /bin/twig
        args: ["serve", "--read-only"]
    "#);
}

#[test]
fn folders_that_clients_are_told_to_use() {
    let env = TestEnv::new(TWIG);
    let place = |name: &str| env.root().join(name);
    let run = |client: &str| {
        let output = env
            .command(["connect", client])
            .env("XDG_CONFIG_HOME", place("xdg"))
            .env("CLAUDE_CONFIG_DIR", place("claude"))
            .env("CODEX_HOME", place("codex"))
            .env("GEMINI_CLI_HOME", place("gemini"))
            .env("COPILOT_HOME", place("copilot"))
            .env("QWEN_HOME", place("qwen"))
            .env("CLINE_DATA_DIR", place("cline"))
            .env("CONTINUE_GLOBAL_DIR", place("continue"))
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{output:?}");
    };
    for (client, file) in [
        ("claude-code", "claude/.claude.json"),
        ("codex", "codex/config.toml"),
        ("gemini", "gemini/.gemini/settings.json"),
        ("zed", "xdg/zed/settings.json"),
        ("vscode", "xdg/Code/User/mcp.json"),
        ("opencode", "xdg/opencode/opencode.json"),
        ("copilot-cli", "copilot/mcp-config.json"),
        ("kilo", "xdg/kilo/kilo.json"),
        ("qwen", "qwen/settings.json"),
        ("goose", "xdg/goose/config.yaml"),
        ("cline", "cline/settings/cline_mcp_settings.json"),
        ("continue", "continue/config.yaml"),
    ] {
        run(client);
        // Such a client may not tell its servers where the configuration is, so the entry does.
        let written = text(&place(file));
        assert!(written.contains("XDG_CONFIG_HOME"), "{client}: {written}");
    }
}

#[test]
fn the_file_that_a_client_reads_is_the_one_that_is_there() {
    let env = TestEnv::new(TWIG);
    let jsonc = put(&env, ".config/opencode/opencode.jsonc", "{\n  // mine\n}\n");
    done(&env, &["opencode"]);
    assert!(text(&jsonc).starts_with("{\n  // mine\n  \"mcp\": {\n    \"twig\": {\n"));
    assert!(!env.home().join(".config/opencode/opencode.json").exists());

    // The second opencode keeps servers one level deeper.
    let second = "{\n  \"mcp\": {\n    \"servers\": {}\n  }\n}\n";
    fs::write(&jsonc, second).expect("own file");
    done(&env, &["opencode"]);
    let written: serde_json::Value = serde_json::from_str(&text(&jsonc)).expect("JSON");
    assert_eq!(written["mcp"]["servers"]["twig"]["command"][1], "serve");
    assert_eq!(written["mcp"]["twig"], serde_json::Value::Null);
    done(&env, &["opencode", "--remove"]);
    assert_eq!(text(&jsonc), second);

    // Windsurf became Devin Desktop, which has files for projects too.
    fs::create_dir_all(env.home().join(".config/devin")).expect("own folder");
    done(&env, &["devin"]);
    assert!(env.home().join(".config/devin/mcp_config.json").exists());
    done(&env, &["windsurf", "--scope=project"]);
    assert!(env.work().join(".devin/mcp_config.json").exists());
}

#[test]
fn names_that_are_nearly_right() {
    let env = TestEnv::new(TWIG);
    for (name, hint) in [
        ("kiro", "add the server `twig serve` in its settings"),
        ("codx", "did you mean `codex`?"),
        ("curser", "did you mean `cursor`?"),
        ("emacs", "known clients: claude-code,"),
    ] {
        let outcome = connect(&env, &[name]);
        assert_eq!(outcome.code, 2, "{outcome}");
        assert!(outcome.stderr.contains(hint), "{outcome}");
    }
    for name in [
        "VS-Code",
        "gemini-cli",
        "Claude Code",
        "claude",
        "copilot",
        "Copilot-CLI",
        "Kilo Code",
        "qwen-code",
    ] {
        assert_eq!(connect(&env, &[name, "--print"]).code, 0, "{name}");
    }
    assert_eq!(connect(&env, &["--remove"]).code, 2);
    assert_eq!(connect(&env, &["zed", "--name", "a b"]).code, 2);
    let outcome = connect(&env, &["zed", "--scope=project", "-C", "nowhere"]);
    assert_eq!(
        outcome.stderr,
        "error: cannot run in `nowhere`: there is no such folder\n"
    );
}

#[test]
fn a_project_is_this_folder_or_the_one_that_is_named() {
    let env = TestEnv::new(TWIG);
    let file = |folder: &str| env.work().join(folder).join(".cursor/mcp.json").exists();
    fs::create_dir(env.work().join("inner")).expect("own folder");
    done(&env, &["cursor", "--scope", "project", "-C", "inner"]);
    assert_eq!((file("inner"), file(".")), (true, false));
    done(&env, &["--scope", "project", "cursor"]);
    assert!(file("."));
    let rows = json(&done(&env, &["-C", "inner", "--json"]));
    assert_eq!(rows[3]["project"]["file"], "[work]/inner/.cursor/mcp.json");
    assert!(!env.home().join(".cursor").exists());
}

#[test]
fn folders_that_were_there_stay() {
    let env = TestEnv::new(TWIG);
    let there = env.home().join(".config/Code/User");
    fs::create_dir_all(&there).expect("own folder");
    done(&env, &["vscode"]);
    done(&env, &["vscode", "--remove"]);
    assert!(there.is_dir());
    assert_eq!(fs::read_dir(&there).expect("a folder").count(), 0);
    done(&env, &["cursor"]);
    assert!(env.home().join(".cursor").is_dir());
    done(&env, &["cursor", "--remove"]);
    assert!(!env.home().join(".cursor").exists(), "it was made for this");
    let record = env.home().join(".local/share/twig/connected.json");
    assert!(!record.exists(), "nothing is left to remember");
    // A folder that the user made again is the user's.
    fs::create_dir(env.home().join(".cursor")).expect("own folder");
    done(&env, &["cursor"]);
    done(&env, &["cursor", "--remove"]);
    assert!(env.home().join(".cursor").is_dir());
}

#[test]
fn every_file_that_has_twig_is_shown() {
    let env = TestEnv::new(TWIG);
    done(&env, &["cursor", "--scope=project"]);
    let row = |stdout: String| {
        let mut lines = stdout.lines().filter(|line| line.starts_with("cursor "));
        lines.next().map(str::to_owned).expect("a row")
    };
    assert!(row(connect(&env, &[]).stdout).ends_with("project   [work]/.cursor/mcp.json"));
    done(&env, &["cursor"]);
    let both = "user, project  ~/.cursor/mcp.json, [work]/.cursor/mcp.json";
    assert!(row(connect(&env, &[]).stdout).ends_with(both));
}

#[test]
fn a_project_that_is_not_there_is_not_written() {
    let env = TestEnv::new(TWIG);
    let outcome = connect(&env, &["codex", "--", "--project", "nope"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    let said = "error: Project 'nope' does not exist in workspace 'default'\n";
    assert!(outcome.stderr.starts_with(said), "{outcome}");
    assert!(!env.home().join(".codex").exists());
    assert!(!env.home().join(".local/share/twig/workspaces").exists());
    assert_eq!(env.run(["project", "create", "nope"]).code, 0);
    done(&env, &["codex", "--", "--project", "nope"]);
}
