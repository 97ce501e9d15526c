//! Realistic files, with our entry added and removed again.

mod any;

use super::{depth, entries, remove, set};
use crate::connect::launch::{ClientLaunch, Form};
use crate::connect::node::ConfigNode;

fn entry() -> ConfigNode {
    let launch = ClientLaunch {
        program: "/bin/twig".to_owned(),
        args: vec!["serve".to_owned()],
        env: [].into(),
    };
    launch.entry(Form::Plain, "twig")
}

/// Adding our entry gives the expected text, and removing it restores the original.
#[track_caller]
fn check(before: &str, keys: &[&str], after: &str) {
    let edited = set(before, keys, "twig", &entry()).expect("a file that can be edited");
    assert_eq!(edited, after);
    let again = set(&edited, keys, "twig", &entry()).expect("a file that can be edited");
    assert_eq!(again, after, "a second time changes nothing");
    let kept = depth(before, keys);
    let restored = remove(&edited, keys, "twig", kept).expect("a file that can be edited");
    assert_eq!(restored, before);
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = set(text, &["mcpServers"], "twig", &entry()).expect_err("a wrong file");
    assert_eq!(error.to_string(), message);
}

const ONE: &[&str] = &["mcpServers"];

#[test]
fn after_other_servers() {
    check(
        r#"{
  "theme": "dark",
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "files"]
    }
  },
  "last": 1.50
}
"#,
        ONE,
        r#"{
  "theme": "dark",
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "files"]
    },
    "twig": {
      "command": "/bin/twig",
      "args": ["serve"]
    }
  },
  "last": 1.50
}
"#,
    );
}

#[test]
fn comments_at_every_place() {
    check(
        "// top\n{ // open\n\t/* before */ \"a\": 1, // after a\n\t\"mcpServers\": { // servers\n\t\t// first\n\t\t\"x\": { \"url\": \"http://x\" } // about x\n\t\t/* , \"y\": {} */\n\t} // end\n\t// last\n}\n// bottom",
        ONE,
        "// top\n{ // open\n\t/* before */ \"a\": 1, // after a\n\t\"mcpServers\": { // servers\n\t\t// first\n\t\t\"x\": { \"url\": \"http://x\" }, // about x\n\t\t\"twig\": {\n\t\t  \"command\": \"/bin/twig\",\n\t\t  \"args\": [\"serve\"]\n\t\t}\n\t\t/* , \"y\": {} */\n\t} // end\n\t// last\n}\n// bottom"
            .replace("\t\t  ", "\t\t\t").as_str(),
    );
}

#[test]
fn trailing_commas_are_kept_as_a_habit() {
    check(
        "{\n    \"mcpServers\": {\n        \"x\": {},\n    },\n}",
        ONE,
        "{\n    \"mcpServers\": {\n        \"x\": {},\n        \"twig\": {\n            \"command\": \"/bin/twig\",\n            \"args\": [\"serve\"]\n        },\n    },\n}",
    );
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    check(
        "\u{feff}{\r\n  \"a\": 1\r\n}\r\n",
        ONE,
        "\u{feff}{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"twig\": {\r\n      \"command\": \"/bin/twig\",\r\n      \"args\": [\"serve\"]\r\n    }\r\n  }\r\n}\r\n",
    );
}

#[test]
fn an_object_that_is_there_and_empty() {
    check(
        "{\n\t\"mcpServers\": {},\n\t\"a\": 1\n}",
        ONE,
        "{\n\t\"mcpServers\": {\n\t\t\"twig\": {\n\t\t\t\"command\": \"/bin/twig\",\n\t\t\t\"args\": [\"serve\"]\n\t\t}\n\t},\n\t\"a\": 1\n}",
    );
    check(
        "{\n  \"mcpServers\": {\n    // none yet\n  }\n}",
        ONE,
        "{\n  \"mcpServers\": {\n    // none yet\n    \"twig\": {\n      \"command\": \"/bin/twig\",\n      \"args\": [\"serve\"]\n    }\n  }\n}",
    );
}

#[test]
fn a_file_in_one_line_stays_in_one() {
    check(
        r#"{"a":1,"mcpServers":{"x":{}}}"#,
        ONE,
        r#"{"a":1,"mcpServers":{"x":{},"twig":{"command":"/bin/twig","args":["serve"]}}}"#,
    );
    check(
        r#"{ "mcpServers": { "x": {} } }"#,
        ONE,
        r#"{ "mcpServers": { "x": {}, "twig": {"command": "/bin/twig", "args": ["serve"]} } }"#,
    );
    check(
        r#"{"a": [1], "mcpServers": {}}"#,
        ONE,
        r#"{"a": [1], "mcpServers": {"twig": {"command": "/bin/twig", "args": ["serve"]}}}"#,
    );
    check(
        "{\n  \"mcpServers\": {\"x\": {},},\n}",
        ONE,
        "{\n  \"mcpServers\": {\"x\": {}, \"twig\": {\"command\": \"/bin/twig\", \"args\": [\"serve\"]},},\n}",
    );
}

#[test]
fn two_keys_deep() {
    check(
        "{\n  \"mcp\": {\n    \"timeout\": 5\n  }\n}",
        &["mcp", "servers"],
        "{\n  \"mcp\": {\n    \"timeout\": 5,\n    \"servers\": {\n      \"twig\": {\n        \"command\": \"/bin/twig\",\n        \"args\": [\"serve\"]\n      }\n    }\n  }\n}",
    );
}

#[test]
fn nothing_yet() {
    let made = "{\n  \"mcpServers\": {\n    \"twig\": {\n      \"command\": \"/bin/twig\",\n      \"args\": [\"serve\"]\n    }\n  }\n}";
    check("{}", ONE, made);
    check("{}\n", ONE, &format!("{made}\n"));
    for (empty, expected) in [
        ("", format!("{made}\n")),
        ("\u{feff}", format!("\u{feff}{made}\n")),
        (" \n\n", format!("{made}\n")),
        ("// mine\n", format!("// mine\n{made}\n")),
    ] {
        assert_eq!(set(empty, ONE, "twig", &entry()), Ok(expected));
    }
}

#[test]
fn of_a_key_that_is_there_twice_the_last_one_counts() {
    check(
        "{\n  \"mcpServers\": {\"a\": {}},\n  \"mcpServers\": {\"b\": {}}\n}",
        ONE,
        "{\n  \"mcpServers\": {\"a\": {}},\n  \"mcpServers\": {\"b\": {}, \"twig\": {\"command\": \"/bin/twig\", \"args\": [\"serve\"]}}\n}",
    );
    let twice = "{\"mcpServers\": {\"twig\": 1, \"x\": 2, \"twig\": 3}}";
    let expected = "{\"mcpServers\": {\"x\": 2}}";
    assert_eq!(remove(twice, ONE, "twig", 1), Ok(expected.to_owned()));
}

#[test]
fn an_entry_that_is_there_is_replaced_where_it_is() {
    let before = "{\n  \"mcpServers\": {\n    // ours\n    \"twig\": { \"command\": \"old\" }, // why\n    \"x\": {}\n  }\n}";
    let after = "{\n  \"mcpServers\": {\n    // ours\n    \"twig\": {\n      \"command\": \"/bin/twig\",\n      \"args\": [\"serve\"]\n    }, // why\n    \"x\": {}\n  }\n}";
    assert_eq!(set(before, ONE, "twig", &entry()), Ok(after.to_owned()));
}

#[test]
fn taking_out_never_lets_a_comment_swallow_what_follows() {
    let check = |before: &str, after: &str| {
        assert_eq!(remove(before, ONE, "twig", 1), Ok(after.to_owned()));
    };
    check(
        "{\"mcpServers\": { // c\n \"twig\": {}, \"x\": 1 }}",
        "{\"mcpServers\": { // c\n \"x\": 1 }}",
    );
    check(
        "{\"mcpServers\": { \"x\": 1, // c\n \"twig\": {} }}",
        "{\"mcpServers\": { \"x\": 1 // c\n  }}",
    );
    check(
        "{\"mcpServers\": {\"twig\": {}, // c\n}}",
        "{\"mcpServers\": {// c\n}}",
    );
    check(
        "{\"mcpServers\": {\"x\": 1}}",
        "{\"mcpServers\": {\"x\": 1}}",
    );
}

#[test]
fn an_object_with_a_comment_is_kept() {
    let before = "{\n  \"mcpServers\": {\n    // mine\n    \"twig\": {}\n  }\n}";
    let after = "{\n  \"mcpServers\": {\n    // mine\n  }\n}";
    assert_eq!(remove(before, ONE, "twig", 0), Ok(after.to_owned()));
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_place() {
    refused(
        "{\n  \"a\": 1\n  \"b\": 2\n}",
        "line 2, column 9: expected comma",
    );
    refused(
        "{\n  \"a\": ",
        "line 2, column 8: expected value after colon in object property",
    );
    refused(
        "[1]",
        "line 1, column 1: the file has to hold an object, `{ … }`",
    );
    refused(
        "{\n  \"mcpServers\": []\n}",
        "line 2, column 17: `mcpServers` has to be an object, `{ … }`",
    );
    refused(
        "{'a': 1}",
        "line 1, column 2: single-quoted strings are not allowed",
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(set(&deep, ONE, "twig", &entry()).is_err());
}

#[test]
fn entries_are_read_with_their_text() {
    let text = "{\"servers\": {\"a\": {\"command\": \"x\", \"n\": 1}, \"b\": null}}";
    let listed = entries(text, &["servers"]).expect("a right file");
    let shown: Vec<_> = listed
        .iter()
        .map(|(name, _, raw)| (name.as_str(), raw.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("a", "\"a\": {\"command\": \"x\", \"n\": 1}"),
            ("b", "\"b\": null")
        ]
    );
    assert_eq!(listed[0].1["command"], "x");
    assert_eq!(entries("{}", &["servers"]), Ok(Vec::new()));
}
