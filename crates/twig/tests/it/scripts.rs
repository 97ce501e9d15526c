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

/// A field of `docs/json.md`.
struct DocumentedField {
    name: String,
    /// A JSON type, or a part with fields of its own.
    kind: String,
    is_list: bool,
    is_optional: bool,
}

/// The cells of the row of `docs/json.md` whose first cell names this.
fn documented_row(wanted: &str) -> Option<Vec<&'static str>> {
    let page = include_str!("../../../../docs/json.md");
    let rows = page.lines().map(|line| line.split('|').map(str::trim));
    let rows = rows.map(|cells| cells.skip(1).collect::<Vec<_>>());
    let wanted = format!("`{wanted}`");
    rows.into_iter().find(|cells| {
        let mut names = cells.first().into_iter().flat_map(|cell| cell.split(", "));
        names.any(|name| name == wanted)
    })
}

/// The fields in a cell; `the fields of` other commands are among them.
fn documented_fields(cell: &str) -> Vec<DocumentedField> {
    let mut fields = Vec::new();
    for part in cell.split('`') {
        if part.starts_with("twig ") {
            let row = documented_row(part).unwrap_or_else(|| panic!("no row for {part}"));
            // A row of a search is one or the other.
            let is_either = cell.contains(" or of ");
            fields.extend(
                documented_fields(row[2])
                    .into_iter()
                    .map(|field| DocumentedField {
                        is_optional: field.is_optional || is_either,
                        ..field
                    }),
            );
        } else if let Some((name, kind)) = part.split_once(": ") {
            let (kind, is_optional) = match kind.strip_suffix('?') {
                Some(kind) => (kind, true),
                None => (kind, false),
            };
            let (kind, is_list) = match kind.strip_suffix("[]") {
                Some(kind) => (kind, true),
                None => (kind, false),
            };
            fields.push(DocumentedField {
                name: name.to_owned(),
                kind: kind.to_owned(),
                is_list,
                is_optional,
            });
        }
    }
    fields
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Compares an object with its fields, and the objects in it with theirs.
fn compare(place: &str, value: &Value, fields: &[DocumentedField]) {
    let row = value
        .as_object()
        .unwrap_or_else(|| panic!("{place}: {value}"));
    for field in fields {
        let place = format!("{place}.{}", field.name);
        match row.get(&field.name) {
            None | Some(Value::Null) => assert!(field.is_optional, "{place} is missing"),
            Some(Value::Array(items)) if field.is_list => {
                for item in items {
                    compare_value(&place, item, &field.kind);
                }
            }
            Some(value) => {
                assert!(!field.is_list, "{place} is no list");
                compare_value(&place, value, &field.kind);
            }
        }
    }
    let is_known = |name: &&String| fields.iter().any(|field| field.name == **name);
    let unknown: Vec<&String> = row.keys().filter(|name| !is_known(name)).collect();
    assert!(
        unknown.is_empty(),
        "{place}: docs/json.md lacks {unknown:?}"
    );
}

fn compare_value(place: &str, value: &Value, kind: &str) {
    match kind {
        "any" => {}
        "string" | "number" | "boolean" => assert_eq!(json_type(value), kind, "{place}"),
        part => {
            let row = documented_row(part).unwrap_or_else(|| panic!("{place}: no part {part}"));
            compare(place, value, &documented_fields(row[1]));
        }
    }
}

#[test]
fn json_has_the_documented_shapes() {
    let env = checked();
    let script = "#!/bin/sh\ncat > \"$1\" <<'EOF'\nBye {{ nmae }}\nEOF\n";
    env.write("../editor.sh", script);
    env.write(
        "tools/twig.toml",
        "[prompts.now]\ncommand = [\"now.sh\"]\nread = [\"repository\"]\n",
    );
    env.write("tools/now.sh", "#!/bin/sh\necho '{}'\n");
    make_executable(&env.data().join("tools/now.sh"));
    make_executable(&env.data().join("../editor.sh"));
    fs::create_dir_all(env.work().join("team/docs")).expect("ours");
    fs::write(env.work().join("team/docs/bye.md"), "# Bye\n").expect("ours");
    fs::create_dir_all(env.work().join("notes")).expect("ours");
    fs::write(env.work().join("notes/a.md"), "A {{ x }}\n").expect("ours");
    fs::write(
        env.work().join("prompts.csv"),
        "\"act\",\"prompt\"\n\"Poet\",\"Write about ${topic}\"\n",
    )
    .expect("ours");
    let evals = env.work().join("evals");
    fs::create_dir(&evals).expect("ours");
    let question = r#"[{"question": "How do I say bye?", "expected_skill": "bye"}]"#;
    fs::write(evals.join("questions.json"), question).expect("ours");
    // Each command with its documented name, in an order in which they work.
    for (command, args) in [
        ("check", "team"),
        ("list", "--library team --all"),
        ("list --documents", "--library team"),
        ("show", "team:bye --library team"),
        ("show URI", "twig://team/bye --library team"),
        ("render", "team:bye --library team"),
        ("search", "bye --library team"),
        ("path", "team:bye --library team"),
        ("export --to", "claude --library team --dry-run"),
        ("bench search", "--evals evals --library team"),
        ("library list", "--library team"),
        ("library add", "notes --kind markdown"),
        ("library remove", "notes"),
        ("library trust", "tools --yes"),
        ("library distrust", "tools"),
        ("init", ""),
        ("new library", "mine"),
        ("new prompt", "mine:plan --arg topic --arg when?=now,later"),
        ("list", ""),
        ("edit", "mine:plan"),
        ("mv", "mine:plan mine:plans"),
        ("rm", "mine:plans --yes"),
        ("import", "prompts.csv"),
        ("connect CLIENT", "cursor"),
        ("connect", ""),
        ("doctor", ""),
        ("project create", "garden"),
        ("project list", ""),
        ("project show", "garden"),
        ("prompt add", "water -c one"),
        ("prompt update", "water -c two -d Daily"),
        ("prompt list", ""),
        ("prompt history", "water"),
        ("prompt show", "water"),
        ("prompt diff", "water"),
        ("prompt rename", "water sprinkle"),
        ("prompt delete", "sprinkle -f"),
        ("prompt restore", "sprinkle"),
        ("budget", "--client codex -p garden"),
        ("doctor", "-p garden"),
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
        let words = command
            .split(' ')
            .filter(|word| *word != "URI" && *word != "CLIENT");
        let words = words.chain(args.split_whitespace()).chain(["--json"]);
        let mut run = env.command(words);
        run.env("EDITOR", env.data().join("../editor.sh"));
        let outcome = env.outcome(&mut run);
        let value: Value = serde_json::from_str(&outcome.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {outcome}"));
        let row = documented_row(&format!("twig {command}"));
        let row = row.unwrap_or_else(|| panic!("docs/json.md has no row for `twig {command}`"));
        assert_eq!(value.is_array(), row[1] == "list", "{command}: {value}");
        let fields = documented_fields(row[2]);
        let rows = match &value {
            Value::Array(rows) => rows.as_slice(),
            row => std::slice::from_ref(row),
        };
        for row in rows {
            compare(command, row, &fields);
        }
    }
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
}

#[test]
fn what_is_created_and_changed_is_json_where_it_was_asked_for() {
    let env = TestEnv::in_memory(TWIG);
    let run = |words: &str| -> Value {
        let outcome = env.run(words.split(' ').chain(["--json"]));
        assert_eq!(outcome.code, 0, "{outcome}");
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{words}: {outcome}"))
    };
    assert_eq!(
        run("new library mine"),
        json!({"name": "mine", "path": "[data]/mine"})
    );
    let plan = json!({"name": "mine:plan", "path": "[data]/mine/prompts/plan.md", "problems": []});
    assert_eq!(run("new prompt mine:plan"), plan);
    let moved = json!({"old_name": "mine:plan", "name": "mine:later"});
    assert_eq!(run("mv mine:plan later"), moved);
    let gone = json!({"name": "mine:later", "changed": true,
        "path": "[data]/mine/prompts/later.md"});
    assert_eq!(run("rm mine:later --yes"), gone);
    let made = run("init");
    assert_eq!(made["folder"], "[work]/.twig");
    let first = made["written"][0].as_str().expect("a file");
    assert!(first.starts_with("[work]/.twig/"), "{made}");
    assert_eq!(run("init")["written"], json!([]));
    fs::create_dir(env.work().join("notes")).expect("ours");
    fs::write(env.work().join("notes/a.md"), "A\n").expect("ours");
    run("library add notes --kind markdown");
    assert_eq!(run("library remove notes"), json!({"path": "[work]/notes"}));
    // Nothing is asked for where nothing could be shown.
    let trust = env.run(["library", "trust", "mine", "--json"]);
    assert_eq!(trust.code, 2, "{trust}");
}
