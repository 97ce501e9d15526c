//! `twig lsp`, driven as an editor drives it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use crate::env;

const LIBRARY: &str = "\
//- garden/twig.toml
[prompts.water]
title = \"Water the plants\"
description = \"How much water\"

[[prompts.water.arguments]]
name = \"plant\"
description = \"Which plant\"
choices = [\"rose\", \"fern\"]

[[prompts.water.arguments]]
name = \"litres\"
default = \"2\"

[prompts.prune]
arguments = [\"tool?\"]
//- garden/prompts/water.md
{% include \"parts/greeting.md\" %}
Give {{ litres }} l to the {{ plant }}.
//- garden/prompts/prune.md
Prune with {{ tool }}.
//- garden/prompts/parts/greeting.md
Hello!
//- garden/docs/soil.md
# Soil

All about it.
";

/// A running server and what an editor keeps of it.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: i64,
    /// The problems of each file, as they were last published.
    problems: std::collections::BTreeMap<String, Value>,
}

impl Editor {
    fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            input: child.stdin.take(),
            output,
            child,
            last: 0,
            problems: std::collections::BTreeMap::new(),
        }
    }

    fn at(env: &TestEnv) -> Self {
        let mut editor = Self::start(env.command(["lsp"]));
        let capabilities = editor.ask("initialize", &json!({ "capabilities": {} }));
        assert_eq!(capabilities["serverInfo"]["name"], "twig");
        editor.tell("initialized", &json!({}));
        editor
    }

    fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).expect("it reads");
    }

    fn write(&mut self, message: &Value) {
        let text = message.to_string();
        self.send(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("it writes");
            let line = line.trim_end();
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.parse().expect("a number");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("it writes");
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        if message["method"] == "textDocument/publishDiagnostics" {
            let params = &message["params"];
            let uri = params["uri"].as_str().expect("a URI").to_owned();
            self.problems.insert(uri, params["diagnostics"].clone());
        }
        message
    }

    fn answer(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.read();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn open(&mut self, path: &Path, text: &str) -> String {
        let uri = format!("file://{}", path.display());
        let document = json!({ "uri": uri, "languageId": "x", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        uri
    }

    fn change(&mut self, uri: &str, text: &str) {
        let params = json!({
            "textDocument": { "uri": uri, "version": 2 },
            "contentChanges": [{ "text": text }],
        });
        self.tell("textDocument/didChange", &params);
    }

    /// Waits until the messages of a file's problems are these.
    fn await_problems(&mut self, uri: &str, expected: &[&str]) -> Vec<Value> {
        loop {
            let rows = self.problems.get(uri).and_then(Value::as_array);
            let rows = rows.cloned().unwrap_or_default();
            let messages: Vec<&str> = rows
                .iter()
                .filter_map(|it| it["message"].as_str())
                .collect();
            let fit = |(found, part): (&&str, &&str)| found.contains(*part);
            let is_known = self.problems.contains_key(uri) || expected.is_empty();
            if is_known
                && messages.len() == expected.len()
                && messages.iter().zip(expected).all(fit)
            {
                return rows;
            }
            self.read();
        }
    }

    /// What could be typed after the last `part` of the first line with it, sorted.
    fn completed(&mut self, uri: &str, line: usize, character: usize) -> Vec<String> {
        let params = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": character },
        });
        let list = self.ask("textDocument/completion", &params);
        let items = list["items"].as_array().expect("items").iter();
        let labels = items.filter_map(|item| item["label"].as_str());
        labels.map(str::to_owned).collect()
    }

    fn at_place(&mut self, method: &str, uri: &str, line: usize, character: usize) -> Value {
        let params = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": character },
        });
        self.ask(method, &params)
    }

    fn leave(mut self) -> ExitStatus {
        self.ask("shutdown", &Value::Null);
        self.tell("exit", &Value::Null);
        self.child.wait().expect("it ends")
    }
}

#[test]
fn problems_are_those_of_check_while_a_text_is_typed() {
    let env = env(LIBRARY);
    let mut editor = Editor::at(&env);
    let path = env.data().join("garden/prompts/water.md");
    let text = std::fs::read_to_string(&path).expect("there");
    let uri = editor.open(&path, &text.replace("{{ plant }}", "\u{1f331} {{ plnat }}"));
    let rows = editor.await_problems(
        &uri,
        &[
            "`plnat` is used but not declared\nhelp: did you mean `plant`?",
            "argument `plant`",
        ],
    );
    let range = &rows[0]["range"];
    assert_eq!(range["start"], json!({ "line": 1, "character": 33 }));
    assert_eq!(range["end"], json!({ "line": 1, "character": 38 }));
    assert_eq!(rows[0]["code"], "unknown-variable");
    // Nothing was saved, so nothing is wrong on disk.
    assert_eq!(env.run(["check"]).code, 0);
    editor.change(&uri, "Give {{ litres }} l to the {{ plant }}. {% if %}");
    let rows = editor.await_problems(&uri, &["unexpected"]);
    assert_eq!(rows[0]["severity"], 1);
    editor.change(&uri, &text);
    editor.await_problems(&uri, &[]);
    assert!(editor.leave().success());
}

#[test]
fn a_manifest_that_is_not_saved_decides_what_its_prompts_take() {
    let env = env(LIBRARY);
    let mut editor = Editor::at(&env);
    let folder = env.data().join("garden");
    let manifest = std::fs::read_to_string(folder.join("twig.toml")).expect("there");
    let prune = "Prune with {{ tool }} and {{ care }}.";
    let uri = editor.open(&folder.join("prompts/prune.md"), prune);
    editor.await_problems(&uri, &["`care` is used but not declared"]);
    let toml = editor.open(
        &folder.join("twig.toml"),
        &manifest.replace("[\"tool?\"]", "[\"tool?\", \"care\"]"),
    );
    editor.await_problems(&uri, &[]);
    // A mistake is shown where it is, and the prompts stay as they were meanwhile.
    editor.change(
        &toml,
        &manifest.replace("[prompts.prune]", "[prompts.prune"),
    );
    let rows = editor.await_problems(&toml, &[""]);
    assert_eq!(rows[0]["range"]["start"]["line"], 13);
    editor.tell(
        "textDocument/didClose",
        &json!({ "textDocument": { "uri": toml } }),
    );
    editor.await_problems(&uri, &["`care` is used but not declared"]);
    assert!(editor.leave().success());
}

#[test]
fn a_change_on_disk_is_noticed() {
    let env = env(LIBRARY);
    let mut editor = Editor::at(&env);
    let path = env.data().join("garden/prompts/prune.md");
    let uri = editor.open(&path, "Prune with {{ tool }} and {{ care }}.");
    editor.await_problems(&uri, &["`care`"]);
    let manifest = std::fs::read_to_string(env.data().join("garden/twig.toml")).expect("there");
    env.write(
        "garden/twig.toml",
        manifest.replace("[\"tool?\"]", "[\"tool?\", \"care\"]"),
    );
    editor.await_problems(&uri, &[]);
    assert!(editor.leave().success());
}

#[test]
fn names_are_completed() {
    let env = env(LIBRARY);
    let mut editor = Editor::at(&env);
    let path = env.data().join("garden/prompts/water.md");
    let uri = editor.open(&path, "{{ pl");
    assert_eq!(
        editor.completed(&uri, 0, 5),
        ["litres", "plant", "resource"]
    );
    editor.change(&uri, "{% include \"parts/");
    assert_eq!(editor.completed(&uri, 0, 18), ["parts/greeting.md"]);
    editor.change(&uri, "{% include \"pru");
    assert_eq!(editor.completed(&uri, 0, 15), ["prune", "prune.md"]);
    editor.change(&uri, "{% inc");
    assert!(editor.completed(&uri, 0, 6).contains(&"include".to_owned()));
    editor.change(&uri, "{{ resource(\"twig://");
    assert_eq!(editor.completed(&uri, 0, 20), ["twig://garden/soil"]);
    editor.change(&uri, "plain words");
    assert!(editor.completed(&uri, 0, 5).is_empty());
    assert!(editor.leave().success());
}

#[test]
fn hover_explains_and_definition_leads_there() {
    let env = env(LIBRARY);
    let mut editor = Editor::at(&env);
    let folder = env.data().join("garden");
    let text = std::fs::read_to_string(folder.join("prompts/water.md")).expect("there");
    let uri = editor.open(&folder.join("prompts/water.md"), &text);
    let hover = editor.at_place("textDocument/hover", &uri, 1, 30);
    let about = hover["contents"]["value"].as_str().expect("a text");
    for part in ["argument of garden:water", "Which plant", "`rose`, `fern`"] {
        assert!(about.contains(part), "{about}");
    }
    let declared = editor.at_place("textDocument/definition", &uri, 1, 30);
    let manifest = format!("file://{}", folder.join("twig.toml").display());
    assert_eq!(declared["uri"], *manifest);
    assert_eq!(declared["range"]["start"]["line"], 5);
    let included = editor.at_place("textDocument/definition", &uri, 0, 20);
    let greeting = format!(
        "file://{}",
        folder.join("prompts/parts/greeting.md").display()
    );
    assert_eq!(included["uri"], *greeting);
    assert_eq!(
        editor.at_place("textDocument/hover", &uri, 1, 1),
        Value::Null
    );
    assert!(editor.leave().success());
}

#[test]
fn a_library_that_nothing_names_is_served_while_its_files_are_open() {
    let env = env("");
    let folder = env.work().join("elsewhere/lib");
    std::fs::create_dir_all(folder.join("prompts")).expect("writable");
    std::fs::write(
        folder.join("twig.toml"),
        "[prompts.a]\narguments = [\"x\"]\n",
    )
    .expect("writable");
    std::fs::write(folder.join("prompts/a.md"), "{{ x }}").expect("writable");
    let mut editor = Editor::at(&env);
    let uri = editor.open(&folder.join("prompts/a.md"), "{{ x }} {{ y }}");
    editor.await_problems(&uri, &["`y` is used but not declared"]);
    assert!(editor.leave().success());
}

#[test]
fn mistakes_of_an_editor_end_nothing() {
    let env = env(LIBRARY);
    let mut editor = Editor::start(env.command(["lsp", "--stdio"]));
    let early = editor.answer("textDocument/hover", &json!({}));
    assert_eq!(early["error"]["code"], -32_002);
    editor.ask("initialize", &json!({ "rootUri": 3 }));
    editor.send(b"Content-Length: 3\r\n\r\n{,}");
    assert_eq!(editor.read()["error"]["code"], -32_700);
    assert_eq!(editor.answer("x/y", &json!({}))["error"]["code"], -32_601);
    let bad = editor.answer("textDocument/hover", &json!({ "textDocument": 1 }));
    assert_eq!(bad["error"]["code"], -32_602);
    editor.tell("textDocument/didOpen", &json!({}));
    editor.tell("$/setTrace", &json!({}));
    let nowhere = json!({
        "textDocument": { "uri": "untitled:1" },
        "position": { "line": 9_999_999, "character": 7 },
    });
    assert_eq!(editor.ask("textDocument/definition", &nowhere), Value::Null);
    // A header that cannot be understood ends the session with a sentence.
    editor.send(b"nonsense\r\n\r\n");
    assert_eq!(editor.child.wait().expect("it ends").code(), Some(1));
}

#[test]
fn an_editor_that_is_gone_is_the_end() {
    let env = env(LIBRARY);
    let mut editor = Editor::at(&env);
    drop(editor.input.take());
    assert!(editor.child.wait().expect("it ends").success());
}
