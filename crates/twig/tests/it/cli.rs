//! Commands: what they print, where, and how they end.

use std::fs;

use serde_json::Value;

use crate::{CONTRACT, TWIG, env};
use twig_testkit::TestEnv;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn list_is_a_table_for_people() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["list"]), @"");
}

#[test]
fn list_is_an_array_for_scripts() {
    let env = env(CONTRACT);
    let outcome = env.run(["list", "--json"]);
    let rows = json(&outcome.stdout);
    let row = &rows[1];
    assert_eq!(row["name"], "my_coding_lib:code_review");
    assert_eq!(row["title"], Value::Null);
    assert_eq!(row["library"], "my_coding_lib");
    assert_eq!(row["kind"], "twig");
    assert_eq!(row["path"], "[data]/My-Coding Lib/prompts/code_review.md");
    assert_eq!(row["arguments"][0]["name"], "code_snippet");
    assert_eq!(row["arguments"][0]["required"], true);
    assert_eq!(outcome.code, 0);
}

#[test]
fn list_all_shows_what_is_not_served() {
    let env = env(CONTRACT);
    env.write("my_coding_lib/twig.toml", "[prompts.other]\n");
    env.write("my_coding_lib/prompts/other.md", "x");
    insta::assert_snapshot!(env.run(["list", "--all"]), @"");
}

#[test]
fn show_says_what_a_prompt_takes_and_says() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["show", "code_review"]), @"");
}

#[test]
fn render_prints_the_text_and_nothing_else() {
    let env = env(CONTRACT);
    fs::write(env.work().join("code.rs"), "fn main() {}\n").expect("writable");
    let outcome = env.run([
        "render",
        "code_review",
        "code_snippet=@code.rs",
        "language=rust",
    ]);
    assert_eq!(
        outcome.stdout,
        "Please review the following rust code:\n\n```rust\nfn main() {}\n\n```\n"
    );
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    let outcome = env.run(["render", "code_review", "code_snippet=@@here", "--json"]);
    let text = json(&outcome.stdout)["messages"][0]["text"].clone();
    assert_eq!(
        text,
        "Please review the following code:\n\n```\n@here\n```\n"
    );
}

#[test]
fn mistakes_on_the_command_line_say_what_to_do() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["render", "code_revue"]), @"");
    insta::assert_snapshot!(env.run(["render", "code_review"]), @"");
    insta::assert_snapshot!(env.run(["render", "code_review", "code_snippet"]), @"");
    insta::assert_snapshot!(env.run(["render", "code_review", "code_snippet=@nowhere.txt"]), @"");
    insta::assert_snapshot!(env.run(["render", "code_review", "code_snippet=1", "langauge=go"]), @"");
    insta::assert_snapshot!(env.run(["list", "--library", "x", "--kind", "markdwn"]), @"");
    insta::assert_snapshot!(env.run(["lits"]), @"");
}

#[test]
fn check_points_at_the_mistake() {
    let env = env(r#"
//- lib/twig.toml
[prompts.review]
descripton = "typo in a field"

[[prompts.review.arguments]]
name = "language"

[prompts.gone]
file = "prompts/nowhere.md"

[prompts.out]
file = "../../secret.md"
//- lib/prompts/review.md
# Review

Review this {{ langauge }} code.
"#);
    insta::assert_snapshot!(env.run(["check"]), @"");
    let rows = json(&env.run(["check", "--json"]).stdout);
    let typo = rows
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["code"] == "unknown-variable"));
    assert_eq!(
        typo,
        Some(&serde_json::json!({
            "code": "unknown-variable", "severity": "error", "path": "[data]/lib/prompts/review.md",
            "line": 3, "column": 16, "message": "`langauge` is used but not declared",
            "help": "did you mean `language`?",
        }))
    );
}

#[test]
fn check_of_a_good_library_says_so() {
    let env = env("//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\nhello\n");
    insta::assert_snapshot!(env.run(["check"]), @"");
    assert_eq!(env.run(["check", "--json"]).stdout, "[]\n");
    insta::assert_snapshot!(env.run(["check", "nowhere"]), @"");
}

#[test]
fn a_library_may_be_anywhere() {
    let env = env("");
    twig_testkit::write_fixture(
        &env.work(),
        "//- mine/twig.toml\n[prompts.p]\n//- mine/prompts/p.md\nhello\n",
    );
    assert_eq!(env.run(["list", "--library", "mine"]).stdout, "mine:p\n");
    assert_eq!(
        env.run(["render", "mine:p", "--library", "mine"]).stdout,
        "hello\n"
    );
    assert_eq!(env.run(["check", "mine"]).code, 0);
    assert_eq!(
        env.run(["check", "--library", "mine", "--kind", "twig"])
            .code,
        0
    );
    twig_testkit::write_fixture(
        &env.work(),
        "//- notes/research.md\n---\ndescription: Research a topic\n---\nTopic: {{input}}\n",
    );
    assert_eq!(
        env.run(["list", "--library", "notes", "--kind", "markdown"])
            .stdout,
        "research  [input]  Research a topic\n"
    );
    let outcome = env.run([
        "render",
        "research",
        "input=bees",
        "--library",
        "notes",
        "--kind",
        "markdown",
    ]);
    assert_eq!(outcome.stdout, "Topic: bees\n");
}

#[test]
fn a_new_library_works_and_nothing_is_overwritten() {
    let env = TestEnv::new(TWIG);
    insta::assert_snapshot!(env.run(["list"]), @"");
    insta::assert_snapshot!(env.run(["new", "library", "my_prompts"]), @"");
    assert_eq!(
        env.run(["render", "my_prompts:hello", "name=Ada"]).stdout,
        "Greet Ada in a friendly tone and ask what to work on today.\n"
    );
    insta::assert_snapshot!(env.run(["new", "library", "my_prompts"]), @"");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_prompts:review", "--description", "Say \"hi\""]), @"");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_prompts:review"]), @"");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_promts:x"]), @"");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_prompts:../x"]), @"");
    insta::assert_snapshot!(env.run(["new", "library", "../x"]), @"");
    assert_eq!(env.run(["check"]).code, 0);
    assert_eq!(
        env.run(["list"]).stdout,
        "my_prompts:hello   name [tone]  Greet somebody and offer help\nmy_prompts:review               Say \"hi\"\n"
    );
}

#[test]
fn search_wants_every_word_and_puts_names_first() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["search", "code"]), @"");
    assert_eq!(
        env.run(["search", "document", "this"]).stdout,
        "my_coding_lib:documentation  Generate documentation from code\n"
    );
    insta::assert_snapshot!(env.run(["search", "nothing like it"]), @"");
    assert_eq!(
        json(&env.run(["search", "code", "--json"]).stdout)[0]["name"],
        "my_coding_lib:code_review"
    );
}

#[test]
fn doctor_tells_where_things_are() {
    let env = env(CONTRACT);
    env.write("no-manifest/readme.txt", "x");
    let outcome = env.run(["doctor"]);
    let text = outcome.to_string().replace(TWIG, "[twig]");
    insta::assert_snapshot!(text, @"");
    let report = json(&env.run(["doctor", "--json"]).stdout);
    assert_eq!(report["libraries"][0]["name"], "my_coding_lib");
}

#[test]
fn the_configuration_is_heard_and_its_mistakes_are_told() {
    let env = env(CONTRACT);
    let folder = env.home().join(".config/twig");
    fs::create_dir_all(&folder).expect("writable");
    fs::write(
        folder.join("config.toml"),
        "separator = \"_\"\n[limits]\npage = 1\n",
    )
    .expect("writable");
    assert!(
        env.run(["list"])
            .stdout
            .contains("my_coding_lib_code_review")
    );
    fs::write(folder.join("config.toml"), "separator = 5\n").expect("writable");
    insta::assert_snapshot!(env.run(["list"]), @"");
    fs::write(folder.join("config.toml"), "[limits]\npag = 1\n").expect("writable");
    insta::assert_snapshot!(env.run(["list"]), @"");
}

#[test]
fn completions_and_man_page_come_out() {
    let env = TestEnv::new(TWIG);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = env.run(["completions", shell]);
        assert!(
            outcome.stdout.contains("twig") && outcome.code == 0,
            "{shell}"
        );
    }
    assert!(env.run(["man"]).stdout.starts_with(".ie"));
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let env = env(CONTRACT);
    let script = format!("{TWIG} list | true; {TWIG} man | head -c 1 >/dev/null");
    let output = std::process::Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", "/usr/bin:/bin")
        .output()
        .expect("a shell starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
