//! Searches from the outside: sentences, skills, what they are marked with, and how well they answer.

use std::path::Path;

use serde_json::{Value, json};
use twig_testkit::{CommandOutput, TestEnv};

use crate::{TWIG, env};

const LIBRARY: &str = r#"//- garden/twig.toml
[prompts.water]
description = "Water the plants of a balcony"
[prompts.prune]
description = "Prune roses in spring"
[prompts.soil]
description = "Choose soil for pots"
//- garden/prompts/water.md
Look at the leaves, then water.
//- garden/prompts/prune.md
Cut above a bud.
//- garden/prompts/soil.md
Mix sand and compost.
//- tides/skills/tides/SKILL.md
---
name: tides
description: Predict tides for a harbour
---
Use the tables.
//- tides/skills/tides/references/stations.md
# Stations

Each gauge reports every hour.
//- tides/skills/tides/evals/evals.json
[{"question": "When may the zanzibar sail?", "expected_skill": "tides"}]
//- tides/skills/tides/skill.oms.sig
zanzibar
"#;

fn rows(outcome: &CommandOutput) -> Vec<Value> {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

fn found(outcome: &CommandOutput) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = rows(outcome);
    let rows = rows.iter();
    rows.map(|row| (text(&row["name"]), text(&row["matched"])))
        .collect()
}

fn call(client: &mut twig_testkit::TestClient, arguments: &Value) -> Vec<Value> {
    let params = json!({"name": "search", "arguments": arguments});
    let reply = client.request("tools/call", params);
    let results = &reply["result"]["structuredContent"]["results"];
    results
        .as_array()
        .unwrap_or_else(|| panic!("{reply}"))
        .clone()
}

#[test]
fn a_sentence_finds_a_prompt_and_says_how() {
    let env = env(LIBRARY);
    let question = ["search", "how often should I water my balcony plants?"];
    insta::assert_snapshot!(env.run(question), @"
    garden:water  (some words) Water the plants of a balcony
                  Look at the leaves, then water.
    --- stderr
    these have some of the words, the best first
    --- exit 0
    ");
    let marked = |words: &str| found(&env.run(["search", words, "--json"]));
    let pair = |name: &str, matched: &str| (name.to_owned(), matched.to_owned());
    assert_eq!(marked("water plants"), [pair("garden:water", "all")]);
    assert_eq!(
        marked("choose soil for roses"),
        [pair("garden:soil", "some"), pair("garden:prune", "some")]
    );
    // For all words, the beginnings of words are enough; for some, words count.
    insta::assert_snapshot!(env.run(["search", "prune", "ros", "water"]), @"
    garden:prune  (some words) Prune roses in spring
    garden:water  (some words) Water the plants of a balcony
                  Look at the leaves, then water.
    --- stderr
    these have some of the words, the best first
    --- exit 0
    ");
    assert_eq!(marked("pru ros"), [pair("garden:prune", "all")]);
    // The name is first, even if other prompts have the word.
    assert_eq!(marked("soil")[0], pair("garden:soil", "all"));
    assert_eq!(env.run(["search", "what", "about", "unicorns"]).code, 1);
}

#[test]
fn the_tool_answers_the_same() {
    let env = env(LIBRARY);
    let mut client = env.serve();
    client.initialize();
    let question = json!({"query": "Please tell me how to choose the soil"});
    let results = call(&mut client, &question);
    assert_eq!(
        results,
        [
            json!({"type": "prompt", "name": "garden:soil", "description": "Choose soil for pots",
            "snippet": "Choose soil for pots", "matched": "some"})
        ]
    );
    let results = call(&mut client, &json!({"query": "soil pots"}));
    assert_eq!(results[0]["matched"], "all");
}

#[test]
fn a_skill_is_one_result_whose_files_count() {
    let env = env(LIBRARY);
    let mut client = env.serve();
    client.initialize();
    let results = call(&mut client, &json!({"query": "gauge"}));
    assert_eq!(
        results,
        [
            json!({"type": "skill", "name": "tides:tides", "title": "tides", "description": "Predict tides for a harbour",
            "snippet": "Stations Each gauge reports every hour.", "matched": "all"})
        ]
    );
    // Questions, signatures and the like would be found instead of what answers them.
    assert_eq!(
        call(&mut client, &json!({"query": "zanzibar"})),
        [] as [Value; 0]
    );
    let files = call(&mut client, &json!({"query": "gauge", "kind": "resource"}));
    assert_eq!(
        files[0]["uri"],
        "skill://tides/skills/tides/references/stations.md"
    );
    insta::assert_snapshot!(env.run(["search", "gauge"]), @"
    tides:tides  Predict tides for a harbour
                 Stations Each gauge reports every hour.
    --- exit 0
    ");
}

#[test]
fn many_documents_leave_room_for_prompts() {
    let mut library = LIBRARY.to_owned();
    for at in 0..1_100 {
        library += &format!("//- garden/docs/d{at}.md\nA frost, a frost, a frost.\n");
    }
    library += "//- garden/prompts/zz.md\nBefore a frost, and when it is late, carry pots in.\n";
    let library = library.replace("[prompts.prune]", "[prompts.zz]\n[prompts.prune]");
    let env = env(&library);
    let mut client = env.serve();
    client.initialize();
    let arguments = json!({"query": "frost blankets", "kind": "prompt"});
    let results = call(&mut client, &arguments);
    assert_eq!(results[0]["name"], "garden:zz", "{results:?}");
}

#[test]
fn many_prompts_are_searched_before_they_are_listed() {
    let env = env("");
    let advice = "This server has more than 50 prompts";
    let descriptions = |count: usize| {
        let manifest: String = (0..count).map(|at| format!("[prompts.p{at}]\n")).collect();
        for at in 0..count {
            env.write(&format!("lib/prompts/p{at}.md"), "x");
        }
        env.write("lib/twig.toml", manifest);
        let mut client = env.serve();
        client.initialize();
        let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
        [0, 3].map(|at: usize| tools[at]["description"].as_str().expect("text").to_owned())
    };
    let (few, many) = (descriptions(50), descriptions(51));
    for (few, many) in few.iter().zip(&many) {
        assert!(!few.contains(advice), "{few}");
        let rest = many.strip_prefix(few.as_str()).expect("the same beginning");
        assert!(rest.contains(advice) && rest.contains(" first"), "{many}");
    }
    assert!(few[0].ends_with("To find a prompt for a task, use search."));
}

#[test]
fn a_growing_library_changes_the_tools_once() {
    let env = env("");
    let write = |count: usize| {
        let prompt = |at| {
            format!("[prompts.p{at}]\n[[prompts.p{at}.messages]]\nrole = \"user\"\ntext = \"x\"\n")
        };
        let manifest: String = (0..count).map(prompt).collect();
        env.write("lib/twig.toml", manifest);
    };
    write(50);
    let mut client = env.serve();
    client.initialize();
    client.request("tools/list", json!({}));
    write(51);
    client.notification("notifications/tools/list_changed");
}

/// The skills and questions of this repository.
fn evals() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/evals/skills");
    folder.to_str().expect("UTF-8").to_owned()
}

#[test]
fn questions_are_answered() {
    let env = TestEnv::new(TWIG);
    let folder = evals();
    let bench = ["bench", "search", "--evals", &folder, "--library", &folder];
    let outcome = env.run([&bench[..], &["--json"]].concat());
    let score: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let count = |name: &str| {
        score[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {score}"))
    };
    let questions = count("questions");
    assert_eq!(
        (questions, count("without_skill"), count("unknown_skill")),
        (56, 3, 0)
    );
    let misses = env.run([&bench[..], &["--misses"]].concat());
    assert!(count("hit_at_5") * 100 >= questions * 93, "{misses}");
    assert!(count("hit_at_1") * 100 >= questions * 80, "{misses}");
    assert_eq!(count("empty"), 0, "{misses}");
    let names: Vec<&str> = misses
        .stdout
        .lines()
        .filter_map(|line| line.split("  ").next())
        .collect();
    let table = &names[names.len() - 7..];
    assert_eq!(
        table,
        [
            "questions",
            "hit@1",
            "hit@5",
            "empty",
            "first search",
            "median",
            "slowest"
        ]
    );
    assert_eq!(misses.stderr, "3 questions left out: 3 expect no skill\n");
}

#[test]
fn evals_that_cannot_be_used_are_named() {
    let env = env(LIBRARY);
    env.write("../evals/other.json", r#"{"name": 1}"#);
    env.write("../evals/broken.json", "[{");
    let folder = env.data().parent().expect("a parent").join("evals");
    let folder = folder.to_str().expect("UTF-8");
    insta::assert_snapshot!(env.run(["bench", "search", "--evals", folder]), @r#"
    --- stderr
    error: [home]/.local/share/twig/evals has no evals with questions about skills
    hint: a file holds `{"skill_name": …, "evals": [{"prompt": …}]}` or `[{"question": …, "expected_skill": …}]`
    --- exit 1
    "#);
    env.write(
        "../evals/other.json",
        r#"{"skill_name": "kites", "evals": [{"prompt": "fly"}]}"#,
    );
    insta::assert_snapshot!(env.run(["bench", "search", "--evals", folder]), @"
    --- stderr
    error: no question is about a skill or prompt that is here
    hint: name the folder of the skills with `--library PATH`
    --- exit 1
    ");
    env.write(
        "../evals/more.json",
        r#"[{"question": "Which soil?", "expected_skill": "soil"}]"#,
    );
    let outcome = env.run(["bench", "search", "--evals", folder]);
    assert_eq!(
        outcome.stderr,
        "1 question left out: 1 is about a skill that is not here\n"
    );
    assert!(
        outcome.stdout.contains("hit@1         100.0 % (1)\n"),
        "{outcome}"
    );
    insta::assert_snapshot!(env.run(["bench", "search", "--evals", "nowhere"]), @"
    --- stderr
    error: nowhere: there is nothing there
    --- exit 1
    ");
}
