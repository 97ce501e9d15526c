//! Front matter: where it ends, what it says, what is mended, and files that want to do harm.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use twig_core::front_matter::{FrontMatter, FrontMatterValue, read, split};
use twig_core::{Limits, Severity};
use twig_testkit::{assert_linear, cpu_time};

fn cut(text: &str) -> (Option<&str>, &str) {
    let split = split(text);
    assert_eq!(
        &text[split.body_start..split.body_start + split.body.len()],
        split.body
    );
    (split.front.map(|front| &text[front]), split.body)
}

fn front(text: &str) -> FrontMatter<'_> {
    read(text, &Limits::default())
}

/// The description of a file whose front matter is this.
fn description(front: &str) -> Option<String> {
    let text = format!("---\n{front}\n---\nbody");
    let read = read(&text, &Limits::default());
    assert_eq!(read.body, "body", "{front}");
    read.fields.text("description").map(str::to_owned)
}

fn said(text: &str) -> Vec<String> {
    let repairs = front(text).repairs.into_iter();
    repairs.map(|repair| repair.message).collect()
}

#[test]
fn fences_are_found_in_every_form() {
    assert_eq!(cut("---\na: 1\n---\nbody"), (Some("a: 1\n"), "body"));
    assert_eq!(cut("--- \na: 1\n---\t\nbody"), (Some("a: 1\n"), "body"));
    assert_eq!(
        cut("---\r\na: 1\r\n---\r\nbody\r\n"),
        (Some("a: 1\r\n"), "body\r\n")
    );
    assert_eq!(cut("---\na: 1\n...\nbody"), (Some("a: 1\n"), "body"));
    assert_eq!(cut("---\n---\n"), (Some(""), ""));
    assert_eq!(cut("---\na: 1\n---"), (Some("a: 1\n"), ""));
    assert_eq!(
        cut("---\na: 1\n---\none\n---\ntwo"),
        (Some("a: 1\n"), "one\n---\ntwo")
    );
    assert_eq!(cut("----\na\n----\n"), (None, "----\na\n----\n"));
    assert_eq!(
        cut("text\n---\na: 1\n---\n"),
        (None, "text\n---\na: 1\n---\n")
    );
    assert_eq!(cut(""), (None, ""));
    assert_eq!(
        cut("\u{feff}---\na: 1\n---\nbody"),
        (Some("a: 1\n"), "body")
    );
    assert_eq!(cut("\u{feff}body"), (None, "body"));
    let long = format!("---\na: 1\n---\n{}", "x".repeat(3 << 20));
    assert_eq!(cut(&long).1.len(), 3 << 20);
}

#[test]
fn lines_before_it_are_left_off_and_told() {
    for text in [
        "\n\n---\na: 1\n---\nbody",
        "# Copyright\n#\n# Licence\n\n---\na: 1\nb:\n  - c\n---\nbody",
    ] {
        assert_eq!(cut(text).1, "body");
        assert_eq!(said(text), ["lines before the front matter were ignored"]);
    }
    // A heading and a rule are no comment and no fence.
    for text in [
        "# Title\n\n---\n\nSome words: these.\n\n---\nmore",
        "# Title\n---\nNote: this\n---\nmore",
        "# Title\n---\nmore",
        "# Title\n\n---\n",
    ] {
        assert_eq!(cut(text), (None, text));
        assert!(said(text).is_empty(), "{text:?}");
    }
}

#[test]
fn what_is_no_front_matter_stays_in_the_body() {
    let text = "---\ndescription: x\n";
    assert_eq!(cut(text), (None, text));
    assert_eq!(
        said(text),
        ["the front matter has no closing `---` line: the whole file is its body"]
    );
    let text = "---\n\nA quotation, and a rule above it.\n\n---\nmore\n";
    assert_eq!(cut(text), (None, text));
    assert_eq!(
        said(text),
        ["there is no `key: value` between the `---` lines: the whole file is its body"]
    );
}

#[test]
fn a_fence_around_all_is_taken_off() {
    let inside = "---\na: 1\n---\n\n# Title\n\n```json\n{}\n```\nend\n";
    for (open, close) in [
        ("````prompt", "````"),
        ("```markdown", "```"),
        ("````", "````\n\n"),
        ("`````md", "``````"),
    ] {
        let text = format!("{open}\n{inside}{close}");
        let (front, body) = cut(&text);
        assert_eq!(front, Some("a: 1\n"), "{open}");
        assert_eq!(body, &inside[13..], "{open}");
        assert_eq!(
            said(&text),
            ["the whole file is in a code fence, which was removed"]
        );
    }
    for text in [
        "```yaml\n---\na: 1\n---\n```\nSee:\n```\ncode\n```\n".to_owned(),
        format!("````prompt\n{inside}"),
        "````prompt\nbody\n````".to_owned(),
        "````prompt\n---\nprose\n---\n````".to_owned(),
    ] {
        assert_eq!(cut(&text), (None, &*text));
    }
}

#[test]
fn values_stay_as_their_author_wrote_them() {
    for word in [
        "no",
        "on",
        "yes",
        "Off",
        "017",
        "1_000",
        "12:30",
        "2026-11-15",
        "0x1F",
        "1e3",
        ".5",
        "1.10",
        "null-ish",
        "[message]",
        "[a, b]",
        "[a] | [b]",
        "**/*",
        "Fix #12 bug",
        "Use this: it helps",
        "{{NAME}}",
        "@scope/name",
        "100% `sure`",
        "it's \"fine\"",
        "true",
        "- dash",
        "a\\b",
    ] {
        let found = description(&format!("description: {word}\nother: x"));
        assert_eq!(found.as_deref(), Some(word), "{word}");
        let found = description(&format!("broken: [\ndescription: {word}  "));
        assert_eq!(found.as_deref(), Some(word), "{word}");
    }
    for (written, meant) in [
        ("\"a\\tb\"", "a\tb"),
        ("'it''s'", "it's"),
        (">\n  a\n  b", "a b"),
        ("|\n  a\n   b", "a\n b"),
        (">-\n  a\n\n  b", "a\nb"),
        ("a\n  b", "a b"),
        ("\n  a: b", ""),
        ("\n  a: b\n c: d", "a: b c: d"),
        ("\"a\" and \"b\"", "\"a\" and \"b\""),
        ("\"say \"hi\" to\"", "say \"hi\" to"),
        ("'it's'", "it's"),
        ("'a': b", "'a': b"),
        ("a: b\n  c: d", "a: b c: d"),
        ("", ""),
        ("~", ""),
        ("# nothing", ""),
    ] {
        let found = description(&format!("description: {written}"));
        assert_eq!(found.unwrap_or_default(), meant, "{written}");
    }
    assert_eq!(description("other: [1, {a: b}]\n"), None);
    assert_eq!(description("\n"), None);
    assert_eq!(description("Description: x").as_deref(), Some("x"));
    assert_eq!(description("description:x").as_deref(), Some("x"));
    assert_eq!(description("\"description\": x").as_deref(), Some("x"));
}

#[test]
fn broken_front_matter_is_read_line_by_line() {
    let text = "---\nname: x\nglobs: **/*\nargument-hint: [a] | [b]\nallowed-tools:\n  - Read\n  - \"Bash(git *)\"\n- Write\nmeta:\n  deep: [1, 2]\ntext: one\ntwo\n  three\nname: twice\n---\nbody";
    let read = front(text);
    assert_eq!(read.body, "body");
    assert_eq!(read.fields.text("globs"), Some("**/*"));
    assert_eq!(read.fields.text("argument-hint"), Some("[a] | [b]"));
    assert_eq!(read.fields.text("text"), Some("one two three"));
    assert_eq!(read.fields.text("name"), Some("x"));
    let json: serde_json::Value = serde_json::from_str(&read.fields.to_json()).unwrap();
    assert_eq!(
        json["allowed-tools"],
        json!(["Read", "Bash(git *)", "Write"])
    );
    assert_eq!(json["meta"], json!({"deep": [1, 2]}));
    let [repair] = &read.repairs[..] else {
        panic!("{:?}", read.repairs)
    };
    assert!(
        repair.message.ends_with(": it was read line by line"),
        "{}",
        repair.message
    );
    assert_eq!(repair.severity, Severity::Note);
    assert!(repair.at.start > 4 && repair.at.end < text.len());
}

#[test]
fn flags_are_read_however_they_are_written() {
    for (word, flag) in [
        ("true", Some(true)),
        ("Yes", Some(true)),
        ("on", Some(true)),
        ("1", Some(true)),
        ("\"no\"", Some(false)),
        ("off", Some(false)),
        ("0", Some(false)),
        ("false # for now", Some(false)),
        ("maybe", None),
        ("", None),
    ] {
        let text = format!("---\nuser-invocable: {word}\n---\n");
        assert_eq!(front(&text).fields.flag("user-invocable"), flag, "{word}");
    }
}

/// What the `yaml` package of npm makes of the same text.
#[test]
fn as_json_it_is_what_others_read() {
    let text = "---\nname: pdf\ndate: 2026-11-15\nnumber: 017\nhex: 0x1F\noctal: 0o17\nfloat: 1.10\nexp: 1e3\nbig: 12345678901234567890123\nunder: 1_000\non: on\ntrue: True\nnothing:\ntilde: ~\nquoted: \"017\"\nlist: [a, 1, 'b', {c: d}]\nmap:\n  x: 1\n  1: y\nblock: |\n  two\n  lines\nfolded: >-\n  one\n  line\n<<: 5\ntime: 12:30\nsigned: -5\ncomment: a # b\ninf: .inf\nplain: a\n  b\n---\n";
    let read = front(text);
    assert_eq!(read.repairs, []);
    let json: serde_json::Value = serde_json::from_str(&read.fields.to_json()).unwrap();
    let expected = json!({
        "name": "pdf", "date": "2026-11-15", "number": 17, "hex": 31, "octal": 15, "float": 1.1,
        "exp": 1000.0, "big": 1.234_567_890_123_456_8e22, "under": "1_000", "on": "on",
        "true": true, "nothing": null, "tilde": null, "quoted": "017",
        "list": ["a", 1, "b", {"c": "d"}], "map": {"x": 1, "1": "y"},
        "block": "two\nlines\n", "folded": "one line", "<<": 5, "time": "12:30", "signed": -5,
        "comment": "a", "inf": ".inf", "plain": "a b",
    });
    assert_eq!(json, expected);
    let keys: Vec<&str> = read.fields.iter().map(|(key, _)| key).collect();
    assert_eq!(keys[..3], ["name", "date", "number"]);
    assert_eq!(keys.last(), Some(&"plain"));
}

#[test]
fn hostile_files_cost_little() {
    let laughs = {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for at in 1..12 {
            let last = at - 1;
            text += &format!(
                "a{at}: &a{at} [*a{last},*a{last},*a{last},*a{last},*a{last},*a{last},*a{last},*a{last}]\n"
            );
        }
        text
    };
    let quadratic = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(20_000),
        "*a,".repeat(10_000)
    );
    let deep = (0..2_000).fold(String::new(), |text, at| {
        text + &" ".repeat(at % 64) + "a:\n"
    });
    let long_number = format!("description: [{}]\n", "9".repeat(60_000));
    let blocks = [
        ("laughs", laughs),
        ("quadratic", quadratic),
        ("brackets", "[".repeat(60_000)),
        ("deep map", deep),
        ("merge", "a: &a {x: 1}\nb: {<<: *a}\n".to_owned()),
        ("self alias", "a: &a [*a]\n".to_owned()),
        ("flow", "{".repeat(60_000)),
        ("long key", format!("{}: 1\n", "k".repeat(60_000))),
        ("long number", long_number),
        ("escape", "description: \"\\q\"\n".to_owned()),
        (
            "tag",
            "description: !!python/object:os.system [x]\n".to_owned(),
        ),
        ("keys", "a:\n".repeat(20_000)),
        (
            "other keys",
            (0..9_000).map(|at| format!("a{at}:\n")).collect(),
        ),
        (
            "broken keys",
            (0..9_000).map(|at| format!("a{at}: [\n")).collect(),
        ),
        ("items", format!("a:\n{}", "- \n".repeat(20_000))),
        ("quotes", "\"".repeat(60_000)),
    ];
    let block = |(name, text): (&'static str, String)| (name, format!("---\n{text}---\nbody"));
    let whole = |name, line: &str| (name, line.repeat((1 << 20) / line.len()));
    let files = blocks.into_iter().map(block).chain([
        whole("rules", "---\n"),
        whole("comments", "#\n"),
        whole("fences", "```\n"),
        whole("blank", "\n"),
        whole("fenced rules", "````x\n---\n"),
        whole("ticks", "`"),
        ("open", format!("---\n{}", "a: b\n".repeat(200_000))),
        (
            "comments first",
            format!("{}---\na\n", "#\n".repeat(500_000)),
        ),
    ]);
    for (name, text) in files {
        let read = front(&text);
        assert!(read.body.len() <= text.len());
        let took = cpu_time(|| drop(front(&text)));
        assert!(took < Duration::from_secs(1), "{name}: {took:?}");
        for repair in &read.repairs {
            assert!(!repair.message.contains('\n'), "{name}: {}", repair.message);
        }
    }
}

#[test]
fn aliases_are_not_followed() {
    let read = front("---\na: &a x\nb: *a\n---\n");
    assert_eq!(
        read.fields.value("b"),
        Some(&FrontMatterValue::Text("*a".into()))
    );
    assert_eq!(read.repairs.len(), 1);
}

#[test]
fn the_limit_is_the_last_length_that_is_read() {
    let text = |length: usize| format!("---\ndescription: {}\n---\nbody", "x".repeat(length - 14));
    let text_at = text(64 * 1024);
    let at = front(&text_at);
    assert!(at.repairs.is_empty() && at.fields.text("description").is_some());
    let text_past = text(64 * 1024 + 1);
    let past = front(&text_past);
    assert_eq!((past.body, past.fields.is_empty()), ("body", true));
    let [repair] = &past.repairs[..] else {
        panic!("{:?}", past.repairs)
    };
    assert_eq!(
        repair.message,
        "the front matter is 65537 bytes long and was not read; the limit is 65536"
    );
    assert_eq!(repair.severity, Severity::Warning);
}

/// Front matter as people write it, now and then broken.
fn any_front() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-c][a-c-]{0,3}: [a-z \\[\\]#&*\"'|>{}:-]{0,12}",
        "[a-c]{1,2}:",
        "  ?- [a-z]{0,4}",
        " {0,3}[a-z\\[\"': -]{0,8}",
        "# [a-z]{0,5}",
    ];
    proptest::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

/// What may follow a key and its colon.
fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        " [a-z0-9 .\\[\\],#\"'{}:-]{0,12}",
        " [a-z]{1,5}(\n  [a-z #]{1,5}){0,2}",
        " [|>][-+]?(\n   ?[a-z #-]{0,5}){0,3}",
        "(\n ? ?- [a-z: ]{0,5}){0,3}",
        "(\n  [a-c]: [a-z0-9]{0,5}){0,2}",
    ]
}

proptest! {
    #[test]
    fn every_byte_is_accounted_for(
        lead in "(\u{feff})?(````[a-z]{0,3}\n)?(#[a-z ]{0,3}\n|\n){0,2}",
        front in any_front(),
        body in "([a-z`# -]{0,8}\r?\n){0,4}.{0,12}",
        close in "(---|\\.\\.\\.)?",
        end in "(\n````\n?)?",
    ) {
        let text = format!("{lead}---\n{front}\n{close}\n{body}{end}");
        let split = split(&text);
        let body_end = split.body_start + split.body.len();
        prop_assert_eq!(&text[split.body_start..body_end], split.body);
        let after = text[body_end..].trim();
        prop_assert!(after.bytes().all(|byte| byte == b'`'), "{after:?}");
        let before = match split.front.clone() {
            None => &text[..split.body_start],
            Some(front) => {
                let fence = text[front.end..split.body_start].trim_end();
                prop_assert!(matches!(fence, "---" | "..."), "{fence:?}");
                let before = text[..front.start].trim_end();
                prop_assert!(before.ends_with("---"));
                &text[..before.len() - 3]
            }
        };
        for line in before.trim_start_matches('\u{feff}').lines() {
            prop_assert!(line.is_empty() || line.starts_with('#') || line.starts_with("```"), "{line:?}");
        }
        prop_assert_eq!(read(&text, &Limits::default()).body, split.body);
    }

    /// What YAML reads, the line reader reads as well: a broken last line changes nothing else.
    #[test]
    fn both_readers_agree(values in proptest::collection::vec(any_value(), 0..6)) {
        let lines = values.iter().enumerate().map(|(at, value)| format!("k{at}:{value}\n"));
        let front: String = lines.collect();
        let text = format!("---\n{front}---\n");
        let strict = read(&text, &Limits::default());
        if strict.repairs.is_empty() {
            let text = format!("---\n{front}zz: [\n---\n");
            let loose = read(&text, &Limits::default());
            prop_assert_eq!(loose.repairs.len(), 1);
            for (key, value) in strict.fields.iter() {
                prop_assert_eq!(loose.fields.value(key), Some(value), "{}", key);
                prop_assert_eq!(loose.fields.text(key), strict.fields.text(key), "{}", key);
            }
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>(), front in any::<String>()) {
        let _ = read(&text, &Limits::default());
        let _ = read(&format!("---\n{front}\n---\n{text}"), &Limits::default());
    }
}

#[test]
fn words_without_a_space_between_them_take_linear_time() {
    let text = |count| format!("---\nb: [{}] # \n---\n", vec!["x"; count].join(","));
    assert_linear("words", 5_000, text, |text| {
        let front = read(text, &Limits::default());
        let Some(FrontMatterValue::List(items)) = front.fields.value("b") else {
            panic!("{front:?}");
        };
        assert_eq!(items.len(), text.matches('x').count());
    });
}
