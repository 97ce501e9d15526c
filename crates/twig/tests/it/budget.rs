//! How much of names and descriptions clients can hold.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use twig_testkit::TestEnv;

use crate::TWIG;

/// A home with two libraries: one of 50 prompts with 200 characters each, and one of a prompt.
fn home() -> TestEnv {
    let mut files = String::from("//- big/twig.toml\n");
    for number in 0..50 {
        let description = "x".repeat(200 - "big:p00".len());
        writeln!(
            files,
            "[prompts.p{number:02}]\ndescription = \"{description}\""
        )
        .expect("a string");
    }
    for number in 0..50 {
        write!(files, "//- big/prompts/p{number:02}.md\nText\n").expect("a string");
    }
    files +=
        "//- small/twig.toml\n[prompts.one]\ntitle = \"Grüße\"\n//- small/prompts/one.md\nText\n";
    TestEnv::with(TWIG, &files)
}

#[test]
fn clients_that_have_twig_are_shown_with_what_they_cut() {
    let env = home();
    insta::assert_snapshot!(env.run(["budget"]), @"
    --- stderr
    no client has Twig yet
    hint: run `twig connect CLIENT`, or name a client with --client
    --- exit 0
    ");
    env.run(["connect", "gemini"]);
    env.run(["connect", "claude-code"]);
    insta::assert_snapshot!(env.run(["budget"]), @"
    claude-code
      51 prompts, 10014 characters of names and descriptions; Claude Code shows its model 8000 of them and drops the descriptions past that: 11 prompts are past it
      library  prompts  characters  cut
      big      50       10000       10
      small    1        14          1

    gemini
      51 prompts, 10014 characters of names and descriptions; no limit of Gemini CLI is known
      library  prompts  characters  cut
      big      50       10000       0
      small    1        14          0
    --- stderr
    hint: shorten descriptions, or leave prompts out of lists with `hide` in config.toml (`twig help library`)
    --- exit 0
    ");
}

#[test]
fn a_client_that_is_named_need_not_have_twig() {
    let env = home();
    let outcome = env.run(["budget", "--client", "codex", "--json"]);
    let rows: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(rows[0]["limit"], 20_000);
    assert_eq!(rows[0]["characters"], 10_014);
    assert_eq!(rows[0]["cut"], 0);
    assert_eq!(rows[0]["libraries"][0]["name"], "big");
    assert_eq!(rows[0]["libraries"][1]["characters"], 14);
    let outcome = env.run(["budget", "--client", "claud-code"]);
    assert_eq!(outcome.code, 2, "{outcome}");
    assert!(
        outcome.stderr.contains("did you mean `claude-code` or"),
        "{outcome}"
    );
}

#[test]
fn hidden_prompts_do_not_count_and_pinned_ones_come_first() {
    let env = home();
    let config = env.home().join(".config/twig/config.toml");
    fs::create_dir_all(config.parent().expect("a folder")).expect("own folder");
    let row = |settings: &str| -> Value {
        fs::write(&config, settings).expect("own file");
        let outcome = env.run(["budget", "--client", "claude-code", "--json"]);
        let rows: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
        rows[0].clone()
    };
    assert_eq!(row("")["cut"], 11);
    assert_eq!(row("pin = [\"small\"]\n")["libraries"][1]["cut"], 0);
    let less = row("hide = [\"big:p4*\"]\n");
    assert_eq!((&less["prompts"], &less["cut"]), (&41.into(), &1.into()));
    assert_eq!(row("hide = [\"big\"]\n")["characters"], 14);
}

#[test]
fn files_that_a_client_loads_itself_count() {
    let env = home();
    let commands = env.home().join(".claude/commands");
    fs::create_dir_all(&commands).expect("own folder");
    fs::write(
        commands.join("ship.md"),
        "---\ndescription: Ship it\n---\nShip.\n",
    )
    .expect("own");
    let added = env.run(["library", "add", &commands.display().to_string()]);
    assert_eq!(added.code, 0, "{added}");
    let outcome = env.run(["budget", "--client", "claude-code", "--json"]);
    let rows: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let libraries = rows[0]["libraries"].as_array().expect("a list").iter();
    let names: Vec<&str> = libraries.filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"claude"), "{rows}");
}
