//! What scripts and CI rely on: exit codes, formats and errors that programs read.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use crate::TWIG;

/// A library in the working folder with an error, a warning and nothing else.
fn checked() -> TestEnv {
    let env = TestEnv::in_memory(TWIG);
    let folder = env.work().join("team");
    fs::create_dir_all(folder.join("prompts")).expect("ours");
    let manifest = "[prompts.hello]\ndescripton = \"x\"\n\n[prompts.bye]\n";
    fs::write(folder.join("twig.toml"), manifest).expect("ours");
    fs::write(folder.join("prompts/hello.md"), "Hello {{ nmae }}\n").expect("ours");
    fs::write(folder.join("prompts/bye.md"), "Bye\n").expect("ours");
    env
}

#[test]
fn check_prints_for_people_and_for_programs() {
    let env = checked();
    insta::assert_snapshot!(env.run(["check", "team"]), @r#"
    warning[unknown-field]: unknown field `descripton` in a prompt is ignored
     --> team/twig.toml:2:1
      |
    2 | descripton = "x"
      | ^^^^^^^^^^
      = help: did you mean `description`?

    error[unknown-variable]: `nmae` is used but not declared
     --> team/prompts/hello.md:1:10
      |
    1 | Hello {{ nmae }}
      |          ^^^^
      = help: declare it in [[prompts.hello.arguments]]
    --- stderr
    checked 2 prompts in 1 library: 1 error, 1 warning
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["check", "team", "--format", "github"]), @"
    ::warning file=team/twig.toml,line=2,col=1,title=unknown-field::unknown field `descripton` in a prompt is ignored%0Ahelp: did you mean `description`?
    ::error file=team/prompts/hello.md,line=1,col=10,title=unknown-variable::`nmae` is used but not declared%0Ahelp: declare it in [[prompts.hello.arguments]]
    --- stderr
    checked 2 prompts in 1 library: 1 error, 1 warning
    --- exit 1
    ");
}

#[test]
fn check_prints_sarif() {
    let env = checked();
    insta::assert_snapshot!(env.run(["check", "team", "--format", "sarif"]), @r#"
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        {
          "tool": {
            "driver": {
              "name": "twig",
              "version": "0.1.0",
              "rules": [
                {
                  "id": "unknown-field"
                },
                {
                  "id": "unknown-variable"
                }
              ]
            }
          },
          "results": [
            {
              "ruleId": "unknown-field",
              "level": "warning",
              "message": {
                "text": "unknown field `descripton` in a prompt is ignored; help: did you mean `description`?"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "team/twig.toml"
                    },
                    "region": {
                      "startLine": 2,
                      "startColumn": 1,
                      "snippet": {
                        "text": "descripton = \"x\""
                      }
                    }
                  }
                }
              ]
            },
            {
              "ruleId": "unknown-variable",
              "level": "error",
              "message": {
                "text": "`nmae` is used but not declared; help: declare it in [[prompts.hello.arguments]]"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "team/prompts/hello.md"
                    },
                    "region": {
                      "startLine": 1,
                      "startColumn": 10,
                      "snippet": {
                        "text": "Hello {{ nmae }}"
                      }
                    }
                  }
                }
              ]
            }
          ]
        }
      ]
    }
    --- exit 1
    "#);
}

#[test]
fn paths_are_relative_to_the_working_folder() {
    let env = checked();
    let rows = env.run(["check", "team", "--format", "json"]);
    assert_eq!(rows.stdout, env.run(["check", "team", "--json"]).stdout);
    let rows: Value = serde_json::from_str(&rows.stdout).expect("JSON");
    assert_eq!(rows[0]["path"], "team/twig.toml");
    // Elsewhere the same files have their whole path.
    let mut command = env.command(["check", "../work/team", "--json"]);
    command.current_dir(env.home());
    let rows: Value = serde_json::from_str(&env.outcome(&mut command).stdout).expect("JSON");
    assert_eq!(rows[0]["path"], "[work]/team/twig.toml");
}

#[test]
fn warnings_fail_where_they_are_meant_to() {
    let env = checked();
    let good = env.work().join("team/prompts/hello.md");
    fs::write(good, "Hello\n").expect("ours");
    assert_eq!(env.run(["check", "team"]).code, 0);
    assert_eq!(env.run(["check", "team", "--strict"]).code, 1);
    let manifest = env.work().join("team/twig.toml");
    fs::write(manifest, "[prompts.hello]\n\n[prompts.bye]\n").expect("ours");
    assert_eq!(env.run(["check", "team", "--strict"]).code, 0);
}

#[test]
fn a_search_without_a_match_fails() {
    let env = checked();
    let search = |args: &[&str]| env.run([&["search", "--library", "team"], args].concat());
    assert_eq!(search(&["hello"]).code, 0);
    insta::assert_snapshot!(search(&["nowhere"]), @"
    --- stderr
    no match for `nowhere`
    --- exit 1
    ");
    let none = search(&["nowhere", "--json"]);
    assert_eq!((none.code, &*none.stdout), (1, "[]\n"));
}

#[test]
fn an_error_is_json_where_json_was_asked_for() {
    let env = checked();
    let error = |args: &[&str]| -> (i32, Value) {
        let outcome = env.run(args.iter().copied());
        assert_eq!(outcome.stdout, "", "{outcome}");
        let last = outcome.stderr.lines().last().expect("an error");
        (outcome.code, serde_json::from_str(last).expect("JSON"))
    };
    let (code, row) = error(&["show", "helo", "--library", "team", "--json"]);
    assert_eq!(code, 1);
    assert_eq!(
        row,
        json!({"error": {"kind": "failed", "message": "Prompt not found: helo",
            "hints": ["did you mean `team:hello`?"]}})
    );
    let (code, row) = error(&["list", "--jsn", "--json"]);
    assert_eq!((code, &row["error"]["kind"]), (2, &"usage".into()));
    assert_eq!(row["error"]["message"], "unexpected argument '--jsn' found");
    let (code, row) = error(&["check", "./nothing", "--format", "sarif"]);
    assert_eq!((code, &row["error"]["kind"]), (1, &"failed".into()));
    // Help is no error.
    assert!(
        env.run(["list", "--json", "--help"])
            .stdout
            .contains("Usage")
    );
    // Without it, people read the same.
    let outcome = env.run(["show", "helo", "--library", "team"]);
    assert!(
        outcome
            .stderr
            .starts_with("error: Prompt not found: helo\nhint: "),
        "{outcome}"
    );
}

#[test]
fn names_of_exported_files_depend_only_on_what_is_exported() {
    let env = checked();
    let good = env.work().join("team/prompts/hello.md");
    fs::write(good, "Hello\n").expect("ours");
    let export = ["export", "--to", "claude", "--library", "team", "team:*"];
    assert_eq!(env.run(export).code, 0);
    let hello = env.work().join(".claude/commands/hello.md");
    assert!(hello.exists());
    // A colleague has a prompt of the same name.
    env.write("own/twig.toml", "[prompts.hello]\n");
    env.write("own/prompts/hello.md", "Mine\n");
    let check = env.run([&export[..], &["--check"]].concat());
    assert_eq!(check.code, 0, "{check}");
}

/// The fields that `docs/json.md` lists for a command, as `(name, type, may be missing)`, and
/// whether it prints a list.
fn documented(command: &str) -> (bool, Vec<(String, String, bool)>) {
    let page = include_str!("../../../../docs/json.md");
    let wanted = format!("`twig {command}`");
    let row = page.lines().find(|line| {
        let mut cells = line.split('|');
        cells.nth(1).is_some_and(|cell| {
            let mut names = cell.split(',');
            names.any(|name| name.trim() == wanted)
        })
    });
    let row = row.unwrap_or_else(|| panic!("docs/json.md has no row for {wanted}"));
    let mut cells = row.split('|').skip(2);
    let is_list = cells.next().expect("what it prints").trim() == "list";
    let fields = cells.next().expect("fields");
    let fields = fields.split('`').filter_map(|part| part.split_once(": "));
    let fields = fields.map(|(name, kind)| {
        let optional = kind.strip_suffix('?');
        let kind = optional.unwrap_or(kind);
        (name.to_owned(), kind.to_owned(), optional.is_some())
    });
    (is_list, fields.collect())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

#[test]
fn json_has_the_documented_shapes() {
    let env = checked();
    // Each command with its documented name, in an order in which they work.
    for (command, args) in [
        ("check", "team"),
        ("list", "--library team"),
        ("show", "team:bye --library team"),
        ("render", "team:bye --library team"),
        ("search", "bye --library team"),
        ("export", "--to claude --library team --dry-run"),
        ("library list", "--library team"),
        ("connect", ""),
        ("doctor", ""),
        ("project create", "garden"),
        ("project list", ""),
        ("prompt add", "water -c one"),
        ("prompt update", "water -c two -d Daily"),
        ("prompt list", ""),
        ("prompt history", "water"),
        ("prompt show", "water"),
        ("prompt diff", "water"),
        ("prompt rename", "water sprinkle"),
        ("prompt delete", "sprinkle -f"),
        ("prompt restore", "sprinkle"),
        ("project export", "garden out"),
        ("project import", "out --name park"),
        ("project import --update", "out"),
        ("project rename", "park lawn"),
        ("project delete", "lawn -f"),
        ("workspace list", ""),
        ("workspace create", "team"),
        ("workspace backup", "copy.db"),
        ("workspace restore", "copy.db back"),
        ("workspace compact", "--keep 1 --yes"),
        ("workspace delete", "team -f"),
    ] {
        let words = command.split(' ').chain(args.split_whitespace());
        let outcome = env.run(words.chain(["--json"]));
        let value: Value = serde_json::from_str(&outcome.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {outcome}"));
        let (is_list, fields) = documented(command);
        assert_eq!(value.is_array(), is_list, "{command}: {value}");
        let rows = match &value {
            Value::Array(rows) => rows.as_slice(),
            row => std::slice::from_ref(row),
        };
        for row in rows {
            let row = row.as_object().expect("an object");
            for (name, expected, is_optional) in &fields {
                // `snippet` is only in the results of a search.
                if command == "list" && name == "snippet" {
                    continue;
                }
                let found = row.get(name).map_or("null", kind);
                let fits = found == expected || (*is_optional && found == "null");
                assert!(fits, "{command}: `{name}` is {found}, not {expected}");
            }
            let known = |name: &String| fields.iter().any(|(known, ..)| known == name);
            let unknown: Vec<&String> = row.keys().filter(|name| !known(name)).collect();
            assert!(
                unknown.is_empty(),
                "{command}: docs/json.md lacks {unknown:?}"
            );
        }
    }
}
