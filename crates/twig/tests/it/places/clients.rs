//! What differs by client: files that it loads itself, `hide` and `pin`.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::{TestEnv, write_fixture};

use super::{initialize, modern, names};
use crate::TWIG;

/// A home and a repository with commands of Claude Code and shared skills, all of them served.
fn machine(config: &str) -> TestEnv {
    let env = TestEnv::with(
        TWIG,
        "//- team/twig.toml\n[prompts.ship]\ntext = \"Ship.\"\n",
    );
    write_fixture(&env.home(), "//- .claude/commands/commit.md\nCommit.\n");
    write_fixture(
        &env.work(),
        "//- .git/HEAD\nref\n\
         //- .claude/commands/fix.md\nFix.\n\
         //- .agents/skills/pdf/SKILL.md\n---\nname: pdf\ndescription: About PDF\n---\nRead.\n",
    );
    let libraries =
        "[[libraries]]\npath = \"~/.claude/commands\"\n\n[[libraries]]\npath = \"WORK\"\n";
    let work = env.work().display().to_string();
    env.configure(&format!("{config}\n{}", libraries.replace("WORK", &work)));
    env
}

const ALL: [&str; 4] = [
    "claude:commit",
    "skills:pdf",
    "team:ship",
    "work_claude:fix",
];

/// The list of a client, which is the same in both eras, however often it asks.
fn listed(env: &TestEnv, name: &str) -> Vec<String> {
    let mut client = env.serve();
    let answer = modern(&mut client, name, "prompts/list", json!({}));
    assert_eq!(answer["result"]["cacheScope"], "private", "{answer}");
    initialize(&mut client, name, &json!({}));
    let legacy = client.request("prompts/list", json!({}));
    assert_eq!(names(&legacy), names(&answer));
    // What was said before does not count for a modern request.
    let other = modern(&mut client, "somebody", "prompts/list", json!({}));
    let again = modern(&mut client, name, "prompts/list", json!({}));
    assert_eq!(names(&again), names(&answer));
    assert_eq!(names(&other).len(), ALL.len());
    names(&answer).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_client_is_not_offered_its_own_files_a_second_time() {
    let env = machine("");
    assert_eq!(listed(&env, "claude-code"), ["skills:pdf", "team:ship"]);
    assert_eq!(
        listed(&env, "codex-mcp-client"),
        ["claude:commit", "team:ship", "work_claude:fix"]
    );
    assert_eq!(listed(&env, "somebody-else"), ALL);
    let mut client = env.serve();
    initialize(&mut client, "claude-code", &json!({}));
    let found = client.request("prompts/get", json!({"name": "claude:commit"}));
    assert!(found.get("result").is_some(), "{found}");
    let call = json!({"name": "search", "arguments": {"query": "commit"}});
    let found = client.request("tools/call", call);
    assert!(found.to_string().contains("claude:commit"), "{found}");
}

#[test]
fn files_elsewhere_are_offered() {
    let env = machine("");
    let elsewhere = env.root().join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("writable");
    let mut client = twig_testkit::TestClient::start({
        let mut command = env.command(["serve"]);
        command.current_dir(&elsewhere);
        command
    });
    // The home's are loaded everywhere, the repository's only in it.
    let answer = modern(&mut client, "claude-code", "prompts/list", json!({}));
    assert_eq!(
        names(&answer),
        ["skills:pdf", "team:ship", "work_claude:fix"]
    );
}

#[test]
fn a_person_may_want_them_all_the_same() {
    let env = machine("serve_own = true\n");
    assert_eq!(listed(&env, "claude-code"), ALL);
    let env = machine("[clients.claude]\nserve_own = true\n");
    assert_eq!(listed(&env, "claude-code"), ALL);
    assert_eq!(listed(&env, "codex-mcp-client").len(), 3);
    let env = machine("serve_own = true\n[clients.codex]\nserve_own = false\n");
    assert_eq!(listed(&env, "claude-code"), ALL);
    assert_eq!(listed(&env, "codex-mcp-client").len(), 3);
}

#[test]
fn a_client_has_rules_of_its_own() {
    let env = machine(
        "serve_own = true\nhide = [\"team\"]\n\n\
         [clients.gemini]\npin = [\"work_claude:fix\", \"team\"]\nhide = [\"claude\"]\n\n\
         [clients.acme]\nhide = [\"*\"]\n",
    );
    let mut client = env.serve();
    let mut list = |name: &str| {
        let answer = modern(&mut client, name, "prompts/list", json!({}));
        names(&answer)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        list("gemini-cli-mcp-client"),
        ["team:ship", "work_claude:fix", "skills:pdf"]
    );
    assert!(list("Acme").is_empty());
    assert_eq!(
        list("other"),
        ["claude:commit", "skills:pdf", "work_claude:fix"]
    );
}

#[test]
fn a_running_server_follows_the_rules_of_clients() {
    let env = machine("");
    let mut client = env.serve();
    initialize(&mut client, "claude-code", &json!({}));
    assert_eq!(names(&client.request("prompts/list", json!({}))).len(), 2);
    let config = fs::read_to_string(env.home().join(".config/twig/config.toml")).expect("there");
    env.configure(&format!(
        "{config}\n[clients.claude-code]\nhide = [\"skills\"]\n"
    ));
    client.notification("notifications/prompts/list_changed");
    let answer = client.request("prompts/list", json!({}));
    assert_eq!(names(&answer), ["team:ship"]);
}

#[test]
fn pages_of_a_client_follow_one_another() {
    let env = machine("[limits]\npage = 1\n");
    let mut client = env.serve();
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = match &cursor {
            Value::Null => json!({}),
            cursor => json!({"cursor": cursor}),
        };
        let answer = modern(&mut client, "claude-code", "prompts/list", params);
        seen.extend(names(&answer).into_iter().map(str::to_owned));
        cursor = answer["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen, ["skills:pdf", "team:ship"]);
}

#[test]
fn mistakes_in_the_settings_of_a_client_are_told_with_their_line() {
    let env = TestEnv::new(TWIG);
    for (config, message) in [
        (
            "[clients.claude-code]\nhid = []\n",
            "unknown setting `hid` of a client; did you mean `hide`?",
        ),
        (
            "[clients.cluade-code]\nhide = []\n",
            "unknown client `cluade-code`; did you mean `claude-code`?",
        ),
        (
            "[clients.claude-code]\nhide = \"x\"\n",
            "`hide` is a list of names of prompts",
        ),
        (
            "[clients.claude-code]\nserve_own = 1\n",
            "`serve_own` has to be true or false",
        ),
        (
            "[clients.claude]\n\n[clients.claude-code]\n",
            "client `claude-code` has two tables in [clients]",
        ),
        (
            "[clients]\nclaude = true\n",
            "unknown setting `claude` of [clients]",
        ),
        (
            "serve_own = \"yes\"\n",
            "`serve_own` has to be true or false",
        ),
        (
            "[serve]\nonly = \"team\"\n",
            "`only` is a list of names of libraries and prompts",
        ),
        (
            "[serve]\nonyl = []\n",
            "unknown setting `onyl` of [serve]; did you mean `only`?",
        ),
        ("serve = true\n", "`serve` has to be a table: [serve]"),
    ] {
        env.configure(config);
        let outcome = env.run(["list"]);
        assert_eq!(outcome.code, 1, "{config}: {outcome}");
        assert!(outcome.stderr.contains(message), "{config}: {outcome}");
        assert!(
            outcome.stderr.contains("config.toml:"),
            "{config}: {outcome}"
        );
    }
}

#[test]
fn a_server_of_a_team_offers_the_teams_library_alone() {
    let env = machine("[serve]\nonly = [\"team\"]\n");
    let mut client = env.serve();
    let answer = client.modern("prompts/list", json!({}));
    assert_eq!(names(&answer), ["team:ship"]);
    let refused = client.modern("prompts/get", json!({"name": "claude:commit"}));
    assert!(refused.get("error").is_some(), "{refused}");
    // The flag says otherwise for one run, and commands see everything.
    let mut client = env.serve_with(["--only", "claude"]);
    let answer = client.modern("prompts/list", json!({}));
    assert_eq!(names(&answer), ["claude:commit"]);
    let list = env.run(["list", "--names"]);
    assert_eq!(list.stdout.lines().collect::<Vec<_>>(), ALL, "{list}");
    let env = machine("[serve]\nonly = [\"gone\"]\n");
    let ended = env.serve().close();
    assert!(
        ended
            .stderr
            .contains("nothing matches `gone` in `only` of [serve] yet"),
        "{}",
        ended.stderr
    );
}

#[test]
fn doctor_says_what_a_client_loads_itself() {
    let env = machine("");
    let connect = env.run(["connect", "claude-code"]);
    assert_eq!(connect.code, 0, "{connect}");
    let doctor = env.run(["doctor"]);
    let line = "claude-code (user): 2 prompts; its list leaves out claude, work_claude, which it loads itself (`serve_own = true` lists them)";
    assert!(doctor.stdout.contains(line), "{doctor}");
    let doctor = env.run(["doctor", "--json"]);
    let report: Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    assert_eq!(
        report["clients"][0]["left_out"],
        json!(["claude", "work_claude"])
    );
}
