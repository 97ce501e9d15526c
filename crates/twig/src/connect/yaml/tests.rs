//! Realistic files, with our entry added and removed again.

mod any;

use super::{YamlPlace, entries, has_container, remove, set, set_program};
use crate::connect::launch::{ClientLaunch, Form};
use crate::connect::node::ConfigNode;

const MAP: YamlPlace = YamlPlace {
    key: "extensions",
    is_list: false,
};

const LIST: YamlPlace = YamlPlace {
    key: "mcpServers",
    is_list: true,
};

fn entry(place: YamlPlace) -> ConfigNode {
    let launch = ClientLaunch {
        program: "/bin/twig".to_owned(),
        args: vec!["serve".to_owned(), "--only=a b".to_owned()],
        env: [("A".to_owned(), "yes".to_owned())].into(),
    };
    let form = if place.is_list {
        Form::Named
    } else {
        Form::Extension
    };
    launch.entry(form, "twig")
}

/// Adds the entry, adds it again, and removes it: everything is as before.
#[track_caller]
fn check(place: YamlPlace, before: &str, after: &str) {
    let edited = set(before, place, "twig", &entry(place)).expect("a file that can be edited");
    assert_eq!(edited, after);
    assert_eq!(
        set(&edited, place, "twig", &entry(place)),
        Ok(edited.clone())
    );
    let kept = has_container(before, place);
    let removed = remove(&edited, place, "twig", kept).expect("a file that can be edited");
    assert_eq!(removed, before);
}

#[test]
fn an_entry_joins_the_others() {
    check(
        MAP,
        "# mine\nGOOSE_MODEL: x # why\nextensions:\n    dev: # builtin\n        type: builtin\n    # the end\n\n# below\nlast: 1\n",
        "# mine\nGOOSE_MODEL: x # why\nextensions:\n    dev: # builtin\n        type: builtin\n    # the end\n    twig:\n      enabled: true\n      type: stdio\n      name: twig\n      cmd: /bin/twig\n      args: [\"serve\", \"--only=a b\"]\n      envs:\n        A: \"yes\"\n\n# below\nlast: 1\n",
    );
    check(
        LIST,
        "name: a\nmcpServers:\n- name: files\n  command: 'x: # y'\n",
        "name: a\nmcpServers:\n- name: files\n  command: 'x: # y'\n- name: twig\n  command: /bin/twig\n  args: [\"serve\", \"--only=a b\"]\n  env:\n    A: \"yes\"\n",
    );
}

#[test]
fn an_empty_file_and_an_empty_key() {
    check(
        LIST,
        "\u{feff}# only this\r\n",
        "\u{feff}# only this\r\nmcpServers:\r\n  - name: twig\r\n    command: /bin/twig\r\n    args: [\"serve\", \"--only=a b\"]\r\n    env:\r\n      A: \"yes\"\r\n",
    );
    check(
        LIST,
        "mcpServers: [] # none\nlast: 1\n",
        "mcpServers: # none\n  - name: twig\n    command: /bin/twig\n    args: [\"serve\", \"--only=a b\"]\n    env:\n      A: \"yes\"\nlast: 1\n",
    );
    let null = "extensions:\nlast: 1\n";
    let edited = set(null, MAP, "twig", &entry(MAP)).expect("a file that can be edited");
    assert!(edited.starts_with("extensions:\n  twig:\n    enabled: true\n"));
    let removed = remove(&edited, MAP, "twig", true);
    assert_eq!(removed.as_deref(), Ok("extensions: {}\nlast: 1\n"));
    let removed = remove(&edited, MAP, "twig", false);
    assert_eq!(removed.as_deref(), Ok("last: 1\n"));
}

#[test]
fn an_entry_is_replaced_in_its_place() {
    let text =
        "extensions:\n  a: {type: builtin}\n  twig:\n    cmd: old\n\n    # about it\n  b: {}\n";
    let edited = set(text, MAP, "twig", &entry(MAP)).expect("a file that can be edited");
    assert!(edited.starts_with("extensions:\n  a: {type: builtin}\n  twig:\n    enabled: true\n"));
    assert!(edited.ends_with("\n      A: \"yes\"\n  b: {}\n"));
    let moved = set_program(text, MAP, "twig", "/new/twig");
    assert_eq!(moved, Ok(Some(text.replace("old", "\"/new/twig\""))));
}

#[test]
fn another_entry_of_the_same_name_stays() {
    let other = "mcpServers:\n- name: twig\n  command: node\n";
    let text = format!("{other}- name: twig\n  command: /bin/twig\n");
    assert_eq!(remove(&text, LIST, "twig", true), Ok(other.to_owned()));
}

#[test]
fn entries_are_read() {
    let text = "mcpServers:\n  - name: a\n    command: twig\n    args:\n      - serve\n    env: {N: \"1\"}\n  - url: http://x/mcp\n    name: b\n    disabled: true\n";
    let listed = entries(text, LIST).expect("a file that can be read");
    let names: Vec<&str> = listed.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(listed[0].1["args"][0], "serve");
    assert_eq!(listed[0].1["env"]["N"], "1");
    assert_eq!(listed[1].1["disabled"], true);
    assert_eq!(
        listed[1].2,
        "- url: http://x/mcp\n  name: b\n  disabled: true"
    );
}

#[test]
fn other_forms_are_refused() {
    for (text, place, message) in [
        (
            "extensions: {a: {}}\n",
            MAP,
            "line 1, column 13: the servers of `extensions` have to be lines below it",
        ),
        (
            "extensions:\n  - name: a\n",
            MAP,
            "line 2, column 3: the servers of `extensions` have to be lines below it",
        ),
        (
            "extensions: &x\n  a: {}\n",
            MAP,
            "line 1, column 1: `extensions` is written in a form that Twig does not edit",
        ),
        (
            "{extensions: {}}\n",
            MAP,
            "line 1, column 1: the file has to hold lines of `key: value`",
        ),
        (
            "- a\n",
            MAP,
            "line 1, column 1: the file has to hold lines of `key: value`",
        ),
        (
            "a: 1\n---\nb: 2\n",
            MAP,
            "line 2, column 1: the file has several documents",
        ),
        (
            "mcpServers:\n  -\n    name: a\n",
            LIST,
            "line 3, column 5: a server has to begin a line of its own",
        ),
        (
            "a: 1\n...\n",
            MAP,
            "line 1, column 1: this file is written in a way that cannot be edited safely",
        ),
        ("a: |+\n  text\n\n\n", MAP, ""),
    ] {
        match set(text, place, "twig", &entry(place)) {
            Ok(edited) => {
                assert_eq!(message, "", "{edited}");
                assert_eq!(remove(&edited, place, "twig", false).as_deref(), Ok(text));
            }
            Err(error) => {
                assert_eq!(error.to_string(), message);
                assert!(error.advice.is_some(), "{text}");
            }
        }
    }
    let broken = set("a: [1\nb: 2\n", MAP, "twig", &entry(MAP));
    assert!(broken.is_err_and(|error| error.advice.is_none() && error.line > 0));
    let deep = format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(set(&deep, MAP, "twig", &entry(MAP)).is_err());
}
