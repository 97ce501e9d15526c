//! Several clients at once, and what to type in each.

use std::fs;

use twig_testkit::TestEnv;

use super::{CLIENTS, connect, done, json, put, text};
use crate::TWIG;

const LIBRARY: &str = "//- lib/twig.toml
[prompts.fix-issue]
arguments = [\"issue\"]
[prompts.other]
arguments = [\"a\", \"b\"]
//- lib/prompts/fix-issue.md
Fix {{ issue }}
//- lib/prompts/other.md
{{ a }} {{ b }}
";

#[test]
fn several_clients_in_one_command() {
    let env = TestEnv::new(TWIG);
    let outcome = done(&env, &["codex", "zed", "codex"]);
    assert_eq!(
        outcome.stdout,
        "[home]/.codex/config.toml\n[home]/.config/zed/settings.json\n"
    );
    let rows = json(&done(&env, &["zed", "goose", "--json"]));
    assert_eq!(rows[0]["action"], "unchanged");
    assert_eq!(rows[1]["action"], "added");
    // A mistake in one name changes nothing.
    assert_eq!(connect(&env, &["cursor", "emacs"]).code, 2);
    assert!(!env.home().join(".cursor").exists());
}

#[test]
fn one_file_that_cannot_be_edited_does_not_stop_the_others() {
    let env = TestEnv::new(TWIG);
    put(&env, ".config/goose/config.yaml", "extensions: {a: {}}\n");
    insta::assert_snapshot!(connect(&env, &["goose", "qwen"]), @"
    [home]/.qwen/settings.json
    --- stderr
    error: ~/.config/goose/config.yaml cannot be edited: line 1, column 13: the servers of `extensions` have to be lines below it
    hint: the file stays as it is; write each server below `extensions:`, as `NAME:`, then try again
    added `twig` in the servers of Qwen Code; restart Qwen Code, then type `/NAME`
    --- exit 1
    ");
    assert!(env.home().join(".qwen/settings.json").exists());
}

#[test]
fn all_means_those_that_are_installed_and_those_that_have_twig() {
    let env = TestEnv::new(TWIG);
    insta::assert_snapshot!(connect(&env, &["--all"]), @"
    --- stderr
    error: no client was found here
    hint: run `twig connect` to see which there are
    --- exit 1
    ");
    fs::create_dir_all(env.home().join(".cursor")).expect("own folder");
    let goose = put(
        &env,
        ".config/goose/config.yaml",
        "# mine\nGOOSE_MODEL: x\n",
    );
    let outcome = done(&env, &["--all"]);
    assert_eq!(
        outcome.stdout,
        "[home]/.cursor/mcp.json\n[home]/.config/goose/config.yaml\n"
    );
    assert!(text(&goose).starts_with("# mine\nGOOSE_MODEL: x\nextensions:\n  twig:\n"));
    // A client that Twig alone has files of is not installed, but can lose them.
    done(&env, &["codex"]);
    assert_eq!(
        json(&done(&env, &["--all", "--json"]))
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let removed = json(&done(&env, &["--all", "--remove", "--json"]));
    let clients: Vec<&str> = removed
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["client"].as_str())
        .collect();
    assert_eq!(clients, ["cursor", "codex", "goose"]);
    assert_eq!(text(&goose), "# mine\nGOOSE_MODEL: x\n");
    insta::assert_snapshot!(connect(&env, &["--all", "--remove"]), @"
    --- stderr
    error: no client has `twig`
    hint: run `twig connect` to see which there are
    --- exit 1
    ");
    assert_eq!(connect(&env, &["codex", "--all"]).code, 2);
}

#[test]
fn each_client_ends_with_what_to_type_there() {
    let env = TestEnv::with(TWIG, LIBRARY);
    let mut said = String::new();
    for (client, ..) in CLIENTS {
        said += &done(&env, &[client]).stderr;
    }
    insta::assert_snapshot!(said, @r#"
    added `twig` in the servers of Claude Code; restart Claude Code, then type `/mcp__twig__lib:fix-issue ISSUE`
    Claude Code takes one word for each argument of an MCP prompt; `twig export --to claude` writes commands that keep whole sentences, of prompts without conditions
    added `twig` in the servers of Claude Desktop; quit Claude Desktop and start it again, then choose `lib:fix-issue` in the + menu
    added `twig` in the servers of VS Code; VS Code asks once whether to trust it; then type `/mcp.twig.lib_fix-issue` in chat
    added `twig` in the servers of Cursor; switch it on in Cursor's settings if Cursor asks, then type `/lib:fix-issue ISSUE`
    added `twig` in the servers of Zed; Zed has it at once: type `/lib:fix-issue ISSUE` (it lists prompts with at most one argument)
    added `twig` in the servers of Codex; restart Codex, then write `:fix-issue ISSUE` in a message (Codex has no MCP prompts, so Twig offers tools)
    added `twig` in the servers of Gemini CLI; restart Gemini CLI in a folder that it trusts, then type `/lib:fix-issue --issue="ISSUE"`
    added `twig` in the servers of opencode; restart opencode, then type `/twig:lib_fix-issue ISSUE`
    added `twig` in the servers of Windsurf; reload the MCP servers in its settings, then write `:fix-issue ISSUE` in a message
    added `twig` in the servers of Copilot CLI; restart Copilot CLI, then write `:fix-issue ISSUE` in a message (Copilot CLI has no MCP prompts, so Twig offers tools)
    added `twig` in the servers of Kilo; restart Kilo, then type `/twig:lib_fix-issue ISSUE`
    added `twig` in the servers of Qwen Code; restart Qwen Code, then type `/lib:fix-issue --issue="ISSUE"`
    added `twig` in the servers of goose; restart goose, then type `/prompt lib:fix-issue issue="ISSUE"`
    added `twig` in the servers of Cline; restart Cline, then write `:fix-issue ISSUE` in a message (Cline has no MCP prompts, so Twig offers tools)
    added `twig` in the servers of Continue; restart Continue, then write `:fix-issue ISSUE` in a message (Continue CLI offers no MCP prompts, so Twig offers tools)
    "#);
    // Without a prompt it is a pattern.
    let none = TestEnv::new(TWIG);
    let outcome = done(&none, &["opencode"]);
    assert!(
        outcome.stderr.ends_with("then type `/twig:NAME`\n"),
        "{outcome}"
    );
    // The trigger is the user's.
    fs::create_dir_all(env.home().join(".config/twig")).expect("own folder");
    fs::write(
        env.home().join(".config/twig/config.toml"),
        "trigger = \";;\"\n",
    )
    .expect("own file");
    let outcome = done(&env, &["codex", "--name", "other"]);
    assert!(
        outcome.stderr.contains("write `;;fix-issue ISSUE`"),
        "{outcome}"
    );
}
