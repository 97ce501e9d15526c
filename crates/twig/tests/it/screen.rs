//! What a terminal sees: nothing that it would obey, nothing that it should not know.

use serde_json::json;

use crate::env;

const SEQUENCES: [&str; 7] = [
    "\u{1b}[31m",
    "\u{9b}31m",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{7}",
    "\r",
    "\u{8}",
    "\u{1b}c",
];

fn toml(text: &str) -> String {
    text.chars()
        .map(|c| format!("\\u{:04x}", c as u32))
        .collect()
}

#[test]
fn escape_sequences_are_shown_not_obeyed() {
    for sequence in SEQUENCES {
        let text = toml(sequence);
        let env = env(&format!(
            "//- lib/twig.toml\n[prompts.p]\ntitle = \"t{text}\"\ndescription = \"d{text}\"\n\"bad{text}\" = 1\n[[prompts.p.arguments]]\nname = \"a\"\ndescription = \"x{text}\"\n[prompts.\"n{text}\"]\n//- lib/prompts/p.md\n{{{{ a }}}}{sequence}{{{{ b }}}}\n"
        ));
        for args in [
            vec!["list"],
            vec!["list", "--json"],
            vec!["show", "p"],
            vec!["check"],
            vec!["check", "--json"],
            vec!["doctor"],
            vec!["search", "d"],
            vec!["render", sequence],
        ] {
            let outcome = env.run(args.iter().copied());
            let screen = format!("{}{}", outcome.stdout, outcome.stderr);
            let obeyed: Vec<char> = screen
                .chars()
                .filter(|c| c.is_control() && !matches!(c, '\n' | '\t'))
                .collect();
            assert!(
                obeyed.is_empty(),
                "{args:?} {sequence:?}: {obeyed:?} in {screen:?}"
            );
        }
        let mut client = env.serve_with(["--log-level", "trace"]);
        client.request("prompts/get", json!({"name": format!("x{sequence}")}));
        client.request(
            "prompts/get",
            json!({"name": "lib:p", "arguments": {format!("u{sequence}"): "1"}}),
        );
        let log = client.close().stderr;
        assert!(log.contains("lib"), "the log says something: {log:?}");
        assert!(!log.chars().any(|c| c.is_control() && c != '\n'), "{log:?}");
    }
}

#[test]
fn list_says_why_a_prompt_that_hides_something_is_not_there() {
    let env = env(
        "//- lib/twig.toml\n[prompts.p]\ndescription = \"a\\u001b[31mb\\u202ec\"\n//- lib/prompts/p.md\nx\n",
    );
    assert_eq!(
        env.run(["list", "--all"]).stdout,
        "lib:p    (not served: Prompt `lib:p` is refused: the description has a control \
         character (U+001B) at position 2, which terminals obey: remove it)\n"
    );
}

#[test]
fn argument_values_stay_out_of_the_log() {
    let env = env(crate::CONTRACT);
    let mut client = env.serve_with(["--log-level", "trace"]);
    let secret = "canary-5e1f";
    for name in ["code_review", "broken", "gone", "nowhere"] {
        let arguments = json!({"code_snippet": secret, "unknown": secret});
        client.request("prompts/get", json!({"name": name, "arguments": arguments}));
    }
    client.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"prompts/get\",\"params\":{{\"name\":5,\"arguments\":{{\"a\":\"{secret}\"}}}}}}"));
    let log = client.close().stderr;
    assert!(!log.contains(secret), "{log}");
}

#[test]
fn a_prompt_that_cannot_be_rendered_is_logged_once() {
    let env = env(
        "//- lib/twig.toml\n[prompts.p]\n[prompts.q]\n//- lib/prompts/p.md\n{% if\n//- lib/prompts/q.md\n{% for i in [1] %}{{ nope }}{% endfor %}\n",
    );
    let mut client = env.serve();
    for name in ["lib:p", "lib:p", "lib:q", "lib:q"] {
        client.request("prompts/get", json!({"name": name}));
    }
    let log = client.close().stderr;
    assert_eq!(
        log.matches("prompt `lib:p` could not be rendered: ")
            .count(),
        1,
        "{log}"
    );
    assert_eq!(
        log.matches("prompt `lib:q` could not be rendered: ")
            .count(),
        1,
        "{log}"
    );
}
