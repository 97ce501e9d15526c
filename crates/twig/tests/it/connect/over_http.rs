//! A server over HTTP in clients' files.

use serde_json::Value;
use twig_testkit::TestEnv;

use super::{CLIENTS, connect, done, json, put, text};
use crate::TWIG;

const URL: &str = "http://127.0.0.1:8000/mcp";

/// The files of some clients, or why they have none.
fn written(clients: &[(&str, &str, Option<&str>)]) -> String {
    let env = TestEnv::new(TWIG);
    let mut all = String::new();
    for (client, user, _) in clients {
        let outcome = connect(&env, &[client, "--url", URL, "--token-env", "TWIG_TOKEN"]);
        let path = env.home().join(user);
        if outcome.code == 0 {
            all += &format!("{client}\n{}", text(&path));
            let again = ["--url", URL, "--token-env", "TWIG_TOKEN", "--json"];
            let again: Vec<&str> = [*client].into_iter().chain(again).collect();
            assert_eq!(json(&done(&env, &again))["action"], "unchanged", "{client}");
            done(&env, &[client, "--remove"]);
            assert!(!path.exists(), "{client}");
        } else {
            all += &format!("{client}\n{}", outcome.stderr);
        }
    }
    all
}

#[test]
fn each_client_writes_an_address_and_a_token_in_its_own_way() {
    insta::assert_snapshot!(written(&CLIENTS[..9]), @r#"
    claude-code
    {
      "mcpServers": {
        "twig": {
          "type": "http",
          "url": "http://127.0.0.1:8000/mcp",
          "headers": {
            "Authorization": "Bearer ${TWIG_TOKEN}"
          }
        }
      }
    }
    claude-desktop
    error: the file of Claude Desktop has no servers over HTTP: add the address in its settings
    vscode
    {
      "servers": {
        "twig": {
          "type": "http",
          "url": "http://127.0.0.1:8000/mcp",
          "headers": {
            "Authorization": "Bearer ${env:TWIG_TOKEN}"
          }
        }
      }
    }
    cursor
    {
      "mcpServers": {
        "twig": {
          "url": "http://127.0.0.1:8000/mcp",
          "headers": {
            "Authorization": "Bearer ${env:TWIG_TOKEN}"
          }
        }
      }
    }
    zed
    error: Zed cannot take a token from a variable: connect it without --token-env, then write the header `Authorization` into its file yourself
    codex
    [mcp_servers.twig]
    url = "http://127.0.0.1:8000/mcp"
    bearer_token_env_var = "TWIG_TOKEN"
    gemini
    {
      "mcpServers": {
        "twig": {
          "httpUrl": "http://127.0.0.1:8000/mcp",
          "headers": {
            "Authorization": "Bearer ${TWIG_TOKEN}"
          }
        }
      }
    }
    opencode
    {
      "mcp": {
        "twig": {
          "type": "remote",
          "url": "http://127.0.0.1:8000/mcp",
          "enabled": true,
          "headers": {
            "Authorization": "Bearer {env:TWIG_TOKEN}"
          }
        }
      }
    }
    windsurf
    {
      "mcpServers": {
        "twig": {
          "serverUrl": "http://127.0.0.1:8000/mcp",
          "headers": {
            "Authorization": "Bearer ${env:TWIG_TOKEN}"
          }
        }
      }
    }
    "#);
}

#[test]
fn so_do_the_other_clients() {
    insta::assert_snapshot!(written(&CLIENTS[9..]), @r#"
    copilot-cli
    {
      "mcpServers": {
        "twig": {
          "type": "http",
          "url": "http://127.0.0.1:8000/mcp",
          "headers": {
            "Authorization": "Bearer ${TWIG_TOKEN}"
          },
          "tools": ["*"]
        }
      }
    }
    kilo
    {
      "mcp": {
        "twig": {
          "type": "remote",
          "url": "http://127.0.0.1:8000/mcp",
          "enabled": true,
          "headers": {
            "Authorization": "Bearer {env:TWIG_TOKEN}"
          }
        }
      }
    }
    qwen
    {
      "mcpServers": {
        "twig": {
          "httpUrl": "http://127.0.0.1:8000/mcp",
          "headers": {
            "Authorization": "Bearer ${TWIG_TOKEN}"
          }
        }
      }
    }
    goose
    extensions:
      twig:
        enabled: true
        type: streamable_http
        name: twig
        uri: "http://127.0.0.1:8000/mcp"
        headers:
          Authorization: "Bearer ${TWIG_TOKEN}"
        env_keys: ["TWIG_TOKEN"]
    cline
    error: Cline cannot take a token from a variable: connect it without --token-env, then write the header `Authorization` into its file yourself
    continue
    name: Local Config
    version: 1.0.0
    schema: v1
    mcpServers:
      - name: twig
        type: streamable-http
        url: "http://127.0.0.1:8000/mcp"
        apiKey: "${{ secrets.TWIG_TOKEN }}"
    "#);
}

#[test]
fn an_address_without_a_token() {
    let env = TestEnv::new(TWIG);
    let row = json(&done(&env, &["zed", "--url", URL, "--json"]));
    assert_eq!(row["entry"], serde_json::json!({"url": URL}));
    // The other server takes the place of the program only if that is meant.
    done(&env, &["cursor"]);
    assert_eq!(connect(&env, &["cursor", "--url", URL]).code, 1);
    done(&env, &["cursor", "--url", URL, "--force"]);
    let file: Value =
        serde_json::from_str(&text(&env.home().join(".cursor/mcp.json"))).expect("JSON");
    assert_eq!(file["mcpServers"]["twig"], serde_json::json!({"url": URL}));
}

#[test]
fn what_is_no_address_or_no_variable_is_refused() {
    let env = TestEnv::new(TWIG);
    for (args, message) in [
        (
            &["--url", "localhost:8000"][..],
            "it has to be an address such as",
        ),
        (
            &["--url", "http://me:secret@host/mcp"][..],
            "use --token-env",
        ),
        (
            &["--url", "http://host/${HOME}"][..],
            "it has to be an address such as",
        ),
        (
            &["--url", URL, "--token-env", "abc-123"][..],
            "the name of a variable",
        ),
        (&["--token-env", "TOKEN"][..], "--url"),
        (&["--url", URL, "--", "--read-only"][..], "--url"),
        (&["--url", URL, "--remove"][..], "--url"),
    ] {
        let args: Vec<&str> = ["cursor"].iter().chain(args).copied().collect();
        let outcome = connect(&env, &args);
        assert_eq!(outcome.code, 2, "{outcome}");
        assert!(outcome.stderr.contains(message), "{outcome}");
    }
    assert_eq!(connect(&env, &["--url", URL]).code, 2);
}

#[test]
fn all_leaves_out_who_cannot() {
    let env = TestEnv::new(TWIG);
    put(&env, ".config/Claude/other.json", "{}");
    put(&env, ".cursor/other.json", "{}");
    let outcome = done(&env, &["--all", "--url", URL]);
    assert_eq!(outcome.stdout, "[home]/.cursor/mcp.json\n");
    assert!(
        outcome.stderr.contains("Claude Desktop is left out: "),
        "{outcome}"
    );
}

#[test]
fn an_address_called_twig_is_twig() {
    let env = TestEnv::new(TWIG);
    // As `claude mcp add --transport http twig URL` writes it.
    let file = serde_json::json!({"mcpServers": {"twig": {
        "type": "http", "url": URL, "headers": {"Authorization": "Bearer secret"}
    }}});
    put(&env, ".claude.json", &file.to_string());
    let rows = json(&done(&env, &["--json"]));
    assert_eq!(rows[0]["user"]["connected"], true);
    let report = env.run(["doctor", "--json"]);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    assert_eq!(report["clients"][0]["state"], "skipped");
    assert_eq!(
        report["clients"][0]["problem"],
        "it is the server at http://127.0.0.1:8000/mcp, which is not asked from here"
    );
    // A token that was written out is the user's.
    assert_eq!(connect(&env, &["claude-code", "--url", URL]).code, 1);
    done(&env, &["claude-code", "--remove"]);
    let file: Value = serde_json::from_str(&text(&env.home().join(".claude.json"))).expect("JSON");
    assert_eq!(file, serde_json::json!({}));
}
