//! Text that people cannot see: titles and descriptions are refused, local texts are served and told of.

use serde_json::json;
use twig_testkit::write_fixture;

use crate::env;

#[test]
fn a_prompt_that_hides_something_in_its_title_is_not_listed() {
    let env = env(
        "//- lib/twig.toml\n[prompts.good]\n[prompts.bad]\ntitle = \"Review\u{e0069}\u{e0067}\"\n//- lib/prompts/good.md\nx\n//- lib/prompts/bad.md\ny\n",
    );
    let mut client = env.serve();
    let prompts = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let names: Vec<_> = prompts
        .as_array()
        .expect("a list")
        .iter()
        .map(|prompt| prompt["name"].clone())
        .collect();
    assert_eq!(names, ["lib:good"]);
    let answer = client.request("prompts/get", json!({"name": "lib:bad"}));
    let sentence = "Prompt `lib:bad` is refused: the title has a tag character (U+E0069) at \
                    position 7, which people do not see: remove it";
    assert_eq!(answer["error"]["message"], sentence);
    insta::assert_snapshot!(env.run(["check"]), @r#"
    error[hidden-text]: the title of prompt `lib:bad` has a tag character (U+E0069), which people do not see
     --> [data]/lib/twig.toml:3:16
      |
    3 | title = "Review<U+E0069><U+E0067>"
      |                ^^^^^^^^^
      = help: remove it
    --- stderr
    checked 2 prompts in 1 library: 1 error
    --- exit 1
    "#);
}

#[test]
fn local_texts_are_served_as_they_are_and_told_of() {
    let env = env(concat!(
        "//- lib/twig.toml\n[prompts.main]\n",
        "//- lib/prompts/main.md\nOne\n{% include \"part.md\" %}\n",
        "//- lib/prompts/part.md\n\nA zero\u{200b}width space\n",
        "//- lib/docs/guide.md\n# Guide\n\nif \u{202e}eslaf\u{202c} then\n",
        "//- service/prompts/review.json\n",
        "{\"name\": \"review\", \"messages\": [{\"role\": \"user\",\n",
        "  \"content\": {\"type\": \"text\", \"text\": \"a\\u2060b\"}}]}\n",
    ));
    write_fixture(
        &env.work(),
        "//- notes/note.md\n---\ndescription: A note\n---\nfine\nsoft\u{ad}hyphen {{input}}\n",
    );
    insta::assert_snapshot!(env.run(["check"]), @r#"
    warning[hidden-text]: the text has an invisible character (U+200B), which people do not see
     --> [data]/lib/prompts/part.md:2:7
      |
    2 | A zero<U+200B>width space
      |       ^^^^^^^^
      = help: remove it

    warning[hidden-text]: the text has a direction control (U+202E), which changes the order in which people read
     --> [data]/lib/docs/guide.md:3:4
      |
    3 | if <U+202E>eslaf<U+202C> then
      |    ^^^^^^^^
      = help: remove it, or end it on its own line, among right-to-left letters

    warning[hidden-text]: the text has an invisible character (U+2060), which people do not see
     --> [data]/service/prompts/review.json:2:41
      |
    2 |   "content": {"type": "text", "text": "a\u2060b"}}]}
      |                                         ^^^^^^
      = help: remove it
    --- stderr
    checked 2 prompts and 1 document in 2 libraries: 3 warnings
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["check", "notes"]), @"
    warning[hidden-text]: the text has an invisible character (U+00AD), which people do not see
     --> notes/note.md:5:5
      |
    5 | soft<U+00AD>hyphen {{input}}
      |     ^^^^^^^^
      = help: remove it
    --- stderr
    checked 1 prompt in 1 library: 1 warning
    --- exit 0
    ");
    let mut client = env.serve_with(["--library", "notes"]);
    let mut text = |name: &str| {
        let answer = client.request("prompts/get", json!({"name": name}));
        let text = answer["result"]["messages"][0]["content"]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert_eq!(text("lib:main"), "One\n\nA zero\u{200b}width space\n\n");
    assert_eq!(text("note"), "fine\nsoft\u{ad}hyphen \n");
    assert_eq!(text("review"), "a\u{2060}b");
}

#[test]
fn documents_with_hidden_names_are_left_off_and_hidden_titles_are_not_told() {
    let env = env(concat!(
        "//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\nx\n",
        "//- lib/docs/good.md\n# Good\n",
        "//- lib/docs/odd.md\n# Od\u{200b}d\n",
        "//- lib/docs/ba\u{202e}d.md\n# Bad\n",
    ));
    let mut client = env.serve();
    let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
    let shown: Vec<_> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|document| (document["name"].clone(), document["title"].clone()))
        .collect();
    assert_eq!(json!(shown), json!([["good", "Good"], ["odd", null]]));
}
