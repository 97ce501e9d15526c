//! The page edits: who may, what, and what becomes of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use twig_testkit::TestEnv;

use super::browse::{get, key, post};
use super::client::Response;
use super::{LIBRARY, Served};
use crate::env;

/// A server and somebody who edits there.
struct Editor {
    served: Served,
    bearer: String,
}

impl Editor {
    /// The user whose server it is.
    fn owner(served: Served) -> Self {
        let bearer = format!("Bearer {}", key(&served));
        Self { served, bearer }
    }

    /// Whoever has this key of a person.
    fn person(served: Served, secret: &str) -> Self {
        let entered = enter(&served, secret);
        let bearer = format!("Bearer {}", entered["key"].as_str().expect("a key"));
        Self { served, bearer }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.served.env.data().join(file)
    }

    fn send(&self, method: &str, what: &str, given: &[(&str, &str)], body: &Value) -> Response {
        let own = [
            ("authorization", &*self.bearer),
            ("content-type", "application/json"),
        ];
        let headers = [&own, given].concat();
        let mut caller = self.served.caller().at(&format!("/page/{what}"));
        caller.send(method, &headers, body.to_string().as_bytes())
    }

    fn source(&self, item: &str) -> Value {
        let answer = self.send("GET", &format!("source?{item}"), &[], &json!(null));
        assert_eq!(answer.status, 200, "{item}: {answer:?}");
        answer.json()
    }

    fn save(&self, item: &str, digest: &str, body: &Value) -> (u16, Value) {
        let tag = format!("\"{digest}\"");
        let given = [("if-match", &*tag)];
        let answer = self.send("PUT", &format!("source?{item}"), &given, body);
        (answer.status, answer.json())
    }

    /// Reads a text and saves another one.
    fn change(&self, item: &str, text: &str) -> (u16, Value) {
        let source = self.source(item);
        let digest = source["digest"].as_str().expect("a digest").to_owned();
        self.save(item, &digest, &json!({ "text": text }))
    }
}

fn digest_of(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", digits.collect::<String>())
}

/// Exchanges a key of a person, or the token, for a page key.
fn enter(served: &Served, secret: &str) -> Value {
    let body = json!({ "secret": secret });
    let answer = post(served.caller(), "/page/enter", &[], &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// A server of this environment, with further arguments.
fn served_with(env: TestEnv, args: &[&str]) -> Served {
    let mut command = env.command(["serve", "--http", "127.0.0.1:0"]);
    command.args(args);
    Served::start(env, command)
}

/// What the page says to the holder of a page key, and what becomes of a save with it.
fn visitor(served: &Served, key: &str) -> (Value, u16, Value) {
    let bearer = [("authorization", &*format!("Bearer {key}"))];
    let visitor = get(served, "/page/visitor", &bearer).json();
    let path = "/page/source?prompt=lib:hello";
    let body = json!({ "text": "New." });
    let headers = [
        bearer[0],
        ("content-type", "application/json"),
        ("if-match", "\"sha256:0\""),
    ];
    let mut caller = served.caller().at(path);
    let saved = caller.send("PUT", &headers, body.to_string().as_bytes());
    (visitor, saved.status, saved.json())
}

#[test]
fn a_typed_text_is_compared_with_what_it_was_and_what_is_there_now() {
    let editor = Editor::owner(Served::new());
    let now = "Hello {{ name }}!\nFrom another editor.\n";
    fs::write(editor.path("lib/prompts/hello.md"), now).unwrap();
    let item = json!({ "prompt": "lib:hello" });
    let asked = json!({ "item": item, "base": "Hello {{ name }}!\r\n", "text": "Good day!\n" });
    let answer = editor.send("POST", "compare", &[], &asked);
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["text"], now);
    assert_eq!(answer["digest"], digest_of(now.as_bytes()));
    let counts = ["theirs", "mine", "both"].map(|key| answer[key].as_u64());
    assert_eq!(counts, [Some(0), Some(0), Some(1)], "{answer}");
    let html = answer["html"].as_str().expect("HTML");
    assert!(html.contains("From another editor."), "{html}");
}

#[test]
fn the_link_of_the_owner_edits_unless_the_server_only_reads() {
    let served = Served::new();
    let (told, status, _) = visitor(&served, &key(&served));
    assert_eq!(
        (&told["scope"], &told["why"]),
        (&json!("edit"), &json!(null))
    );
    assert_ne!(status, 403);
    let served = Served::with(&["--read-only"], &[]);
    let (told, status, said) = visitor(&served, &key(&served));
    assert_eq!((&told["scope"], status), (&json!("read"), 403));
    assert!(
        said["why"].as_str().unwrap().contains("--read-only"),
        "{said}"
    );
    assert_eq!(told["why"], said["why"]);
}

#[test]
fn the_token_only_reads() {
    let token = "a-token-that-is-long-enough";
    let served = Served::with(&["--page-edit"], &[("TWIG_TOKEN", token)]);
    let entered = enter(&served, token);
    assert_eq!(entered["scope"], "read");
    let (_, status, said) = visitor(&served, entered["key"].as_str().unwrap());
    assert_eq!(status, 403);
    assert!(said["why"].as_str().unwrap().contains("token"), "{said}");
}

#[test]
fn people_edit_only_where_the_server_and_a_role_let_them() {
    for (args, role, scope, why) in [
        (&[][..], "writer", "read", "--page-edit"),
        (&["--page-edit"], "reader", "read", "roles"),
        (&["--page-edit"], "writer", "edit", ""),
        (
            &["--page-edit", "--read-only"],
            "writer",
            "read",
            "--read-only",
        ),
    ] {
        let env = env(LIBRARY);
        let made = env.run(["key", "create", "ada", "--role", role]);
        assert_eq!(made.code, 0, "{made}");
        let served = served_with(env, args);
        let entered = enter(&served, made.stdout.trim());
        assert_eq!(
            (&entered["scope"], &entered["name"]),
            (&json!(scope), &json!("ada")),
            "{args:?} {role}"
        );
        let (told, status, said) = visitor(&served, entered["key"].as_str().unwrap());
        assert_eq!(told["scope"], scope, "{args:?} {role}");
        // Files are the owner's, whatever the role.
        assert_eq!(status, 403, "{args:?} {role}");
        let told = told["why"].as_str().unwrap_or_default();
        let is_told = why.is_empty() || said["why"] == told;
        assert!(told.contains(why) && is_told, "{told} {said}");
    }
}

#[test]
fn a_setting_lets_people_edit_as_the_flag_does() {
    let env = env(LIBRARY);
    env.configure("[http]\npage_edit = true\n");
    let made = env.run(["key", "create", "ada", "--role", "writer"]);
    let served = served_with(env, &[]);
    assert_eq!(enter(&served, made.stdout.trim())["scope"], "edit");
}

const HELLO: &str = "prompt=lib:hello";

#[test]
fn a_prompt_is_changed_in_one_step_and_the_change_undone() {
    let editor = Editor::owner(Served::new());
    let path = editor.path("lib/prompts/hello.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::read(&path).unwrap();
    let source = editor.source(HELLO);
    assert_eq!(source["text"].as_str().unwrap().as_bytes(), before);
    assert_eq!(source["digest"], digest_of(&before));
    assert_eq!(
        (&source["editable"], &source["place"]),
        (&json!(true), &json!("lib/prompts/hello.md"))
    );
    let (status, saved) = editor.change(HELLO, "Good day {{ name }}!\n");
    assert_eq!(status, 200, "{saved}");
    assert_eq!(fs::read(&path).unwrap(), b"Good day {{ name }}!\n");
    assert_eq!(saved["digest"], digest_of(b"Good day {{ name }}!\n"));
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let body = json!({ "name": "lib:hello", "arguments": { "name": "Ada" } });
    let rendered = editor.send("POST", "render", &[], &body).json();
    assert_eq!(rendered["text"], "Good day Ada!\n");
    // Nothing else is left in the folder.
    let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(names, 3);
    let replaced = saved["replaced"].as_str().unwrap();
    assert_eq!(replaced, digest_of(&before));
    let listed = editor.source(HELLO)["replaced"].clone();
    assert_eq!(listed[0]["digest"], replaced);
    let undo = json!({ "replaced": replaced });
    let digest = saved["digest"].as_str().unwrap();
    let (status, undone) = editor.save(HELLO, digest, &undo);
    assert_eq!(status, 200, "{undone}");
    assert_eq!(fs::read(&path).unwrap(), before);
    let kept = editor.served.env.home().join(".local/state/twig/replaced");
    assert_eq!(
        fs::metadata(kept).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn what_changed_meanwhile_is_answered_and_not_overwritten() {
    let editor = Editor::owner(Served::new());
    let path = editor.path("lib/prompts/hello.md");
    let digest = editor.source(HELLO)["digest"].as_str().unwrap().to_owned();
    fs::write(&path, "Theirs").unwrap();
    let mine = json!({ "text": "Mine" });
    let (status, theirs) = editor.save(HELLO, &digest, &mine);
    assert_eq!(
        (status, &theirs["text"]),
        (412, &json!("Theirs")),
        "{theirs}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"Theirs");
    let theirs = theirs["digest"].as_str().unwrap();
    assert_eq!(editor.save(HELLO, theirs, &mine).0, 200);
    assert_eq!(fs::read(&path).unwrap(), b"Mine");
    let none = editor.send("PUT", &format!("source?{HELLO}"), &[], &mine);
    assert_eq!(none.status, 428);
    let known = [("if-none-match", &*format!("\"{}\"", digest_of(b"Mine")))];
    let same = editor.send("GET", &format!("source?{HELLO}"), &known, &json!(null));
    assert_eq!(same.status, 304);
}

#[test]
fn line_ends_and_the_mark_of_a_file_stay() {
    let editor = Editor::owner(Served::new());
    let path = editor.path("lib/prompts/hello.md");
    let check = |before: &str, text: &str, expected: &str| {
        fs::write(&path, before).unwrap();
        let (status, saved) = editor.change(HELLO, text);
        assert_eq!(status, 200, "{saved}");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{before:?}");
    };
    check("one\r\ntwo\r\n", "one\n2\n", "one\r\n2\r\n");
    check("\u{feff}one\r\n", "one\ntwo\n", "\u{feff}one\r\ntwo\r\n");
    check("a\r\nb\nc\r\n", "a\nb\nc\nd\n", "a\r\nb\nc\r\nd\r\n");
    let source = editor.source(HELLO);
    assert!(!source["text"].as_str().unwrap().contains('\u{feff}'));
}

#[test]
fn what_is_no_text_of_the_library_is_refused_in_words() {
    let env = env(r#"
//- lib/twig.toml
[prompts.linked]
[prompts.within]
file = "way/within.md"
[prompts.hidden]
file = ".hidden/hidden.md"
[prompts.template]
file = "prompts/template.j2"
[prompts.program]
command = ["./run"]
[prompts.executable]
[prompts.gone]
[prompts.binary]
//- lib/prompts/target.md
Target
//- lib/real/within.md
Within
//- lib/.hidden/hidden.md
Hidden
//- lib/prompts/template.j2
Template
//- lib/prompts/executable.md
Executable
//- lib/prompts/gone.md
Gone
//- lib/prompts/binary.md
Text
//- lib/run
#!/bin/sh
"#);
    let root = env.data().join("lib");
    symlink("target.md", root.join("prompts/linked.md")).unwrap();
    symlink("real", root.join("way")).unwrap();
    let mode = fs::Permissions::from_mode(0o755);
    for program in ["prompts/executable.md", "run"] {
        fs::set_permissions(root.join(program), mode.clone()).unwrap();
    }
    let editor = Editor::owner(Served::from_env(env));
    let text = json!({ "text": "New" });
    let files = || {
        let names = ["prompts/target.md", "real/within.md", ".hidden/hidden.md"];
        names.map(|name| fs::read_to_string(root.join(name)).unwrap())
    };
    let before = files();
    for (name, word) in [
        ("linked", "symlink"),
        ("within", "symlink"),
        ("hidden", "hidden"),
        ("template", "program"),
        ("program", "programs are not edited"),
        ("executable", "program"),
    ] {
        let item = format!("prompt=lib:{name}");
        let (status, said) = editor.save(&item, &digest_of(b""), &text);
        let why = said["why"].as_str().unwrap_or_default();
        assert!(
            status == 403 && why.contains(word),
            "{name}: {status} {said}"
        );
    }
    assert_eq!(files(), before);
    // What becomes one after it was read.
    let digest = editor.source("prompt=lib:gone")["digest"].clone();
    let gone = root.join("prompts/gone.md");
    fs::remove_file(&gone).unwrap();
    symlink("/etc/passwd", &gone).unwrap();
    let (status, said) = editor.save("prompt=lib:gone", digest.as_str().unwrap(), &text);
    assert_eq!(status, 403, "{said}");
    assert!(gone.is_symlink());
    // Names are looked up, and no path is made of them.
    for item in [
        "prompt=lib:../../etc/passwd",
        "prompt=..%2F..%2Fx",
        "document=file:///etc/passwd",
        "document=twig://lib/../twig.toml",
        "manifest=..",
        "manifest=lib/../lib",
    ] {
        let (status, said) = editor.save(item, &digest_of(b""), &text);
        assert_eq!(status, 404, "{item}: {said}");
    }
    let (status, _) = editor.save("prompt=lib:gone&manifest=lib", &digest_of(b""), &text);
    assert_eq!(status, 400);
    let binary = root.join("prompts/binary.md");
    for bad in ["a\0b".to_owned(), "x".repeat(1024 * 1024 + 1)] {
        let (status, said) = editor.change("prompt=lib:binary", &bad);
        assert!(matches!(status, 403 | 413), "{status} {said}");
    }
    // A body of more than 2 MiB is not read.
    let long = json!({ "text": "x".repeat(2 * 1024 * 1024) });
    let (tag, item) = (
        format!("\"{}\"", digest_of(b"")),
        "source?prompt=lib:binary",
    );
    let answer = editor.send("PUT", item, &[("if-match", &tag)], &long);
    assert_eq!(answer.status, 413);
    assert_eq!(fs::read_to_string(binary).unwrap().trim(), "Text");
}

#[test]
fn a_disk_that_refuses_says_so_and_nothing_is_lost() {
    let editor = Editor::owner(Served::new());
    let path = editor.path("lib/prompts/hello.md");
    let before = fs::read(&path).unwrap();
    // Where what is replaced would be kept, there is a file.
    let state = editor.served.env.home().join(".local/state");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("twig"), "").unwrap();
    let (status, said) = editor.change(HELLO, "New");
    let why = said["why"].as_str().unwrap();
    assert!(
        status == 403 && why.contains("cannot be kept"),
        "{status} {said}"
    );
    fs::remove_file(state.join("twig")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    // The user who runs tests may write everywhere if that is root.
    let folder = path.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.join("probe"), "").is_err() {
        let (status, said) = editor.change(HELLO, "New");
        assert_eq!(status, 403, "{said}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_draft_is_checked_as_the_command_checks_and_rendered_without_a_save() {
    let editor = Editor::owner(Served::new());
    let path = editor.path("lib/prompts/hello.md");
    let before = fs::read(&path).unwrap();
    let manifest = fs::read_to_string(editor.path("lib/twig.toml")).unwrap();
    let drafts = [
        (
            json!({"prompt": "lib:hello"}),
            "prompts/hello.md",
            "Hello {{ nmae }}\n{% if x %}".to_owned(),
        ),
        (
            json!({"prompt": "lib:hello"}),
            "prompts/hello.md",
            "\u{1f331} {{ nmae }}\u{200b}\n".to_owned(),
        ),
        (
            json!({"prompt": "lib:hello"}),
            "prompts/hello.md",
            String::new(),
        ),
        (
            json!({"manifest": "lib"}),
            "twig.toml",
            format!("{manifest}\n[prompts.none]\nx = 1\n"),
        ),
        (
            json!({"manifest": "lib"}),
            "twig.toml",
            "[prompts".to_owned(),
        ),
    ];
    for (item, file, text) in drafts {
        let body = json!({ "item": item, "text": text });
        let found = editor.send("POST", "check", &[], &body).json();
        let kept = fs::read(editor.path("lib").join(file)).unwrap();
        fs::write(editor.path("lib").join(file), &text).unwrap();
        let checked = editor.served.env.run(["check", "--json"]);
        let rows: Value = serde_json::from_str(&checked.stdout).unwrap();
        let rows = rows.as_array().unwrap().iter();
        let rows = rows.filter(|row| row["path"].as_str().unwrap().ends_with(file));
        let mut expected: Vec<Value> = rows.cloned().collect();
        fs::write(editor.path("lib").join(file), kept).unwrap();
        let mut found: Vec<Value> = found.as_array().unwrap().clone();
        assert!(found.iter().all(|row| row["width"].as_u64().unwrap() > 0));
        for row in found.iter_mut().chain(&mut expected) {
            let row = row.as_object_mut().unwrap();
            row.remove("path");
            row.remove("width");
            // A server goes on with what was good, and says so.
            if row["code"] == "manifest-syntax" {
                row.remove("help");
            }
        }
        let sorted = |mut rows: Vec<Value>| {
            rows.sort_by_key(ToString::to_string);
            rows
        };
        assert!(!found.is_empty(), "{text:?}");
        assert_eq!(sorted(found), sorted(expected), "{text:?}");
    }
    let draft = json!({ "item": {"prompt": "lib:hello"}, "text": "Draft for {{ name }}" });
    let asked = json!({ "name": "lib:hello", "arguments": {"name": "Ada"}, "draft": draft });
    let rendered = editor.send("POST", "render", &[], &asked).json();
    assert_eq!(rendered["text"], "Draft for Ada");
    let broken = json!({ "item": {"prompt": "lib:hello"}, "text": "{{ name" });
    let asked = json!({ "name": "lib:hello", "arguments": {}, "draft": broken });
    assert_eq!(editor.send("POST", "render", &[], &asked).status, 200);
    let diff = editor.send("POST", "diff", &[], &draft).json();
    assert_eq!((&diff["added"], &diff["removed"]), (&json!(1), &json!(1)));
    assert_eq!(fs::read(&path).unwrap(), before);
    let asked = json!({ "name": "lib:hello", "arguments": {"name": "Ada"} });
    let rendered = editor.send("POST", "render", &[], &asked).json();
    assert_eq!(rendered["text"], "Hello Ada!\n");
}

#[test]
fn a_trusted_manifest_says_what_a_change_means_and_an_own_one_is_not_changed() {
    let library = r#"
//- lib/twig.toml
[prompts.run]
command = ["./run"]
//- lib/run
#!/bin/sh
echo '{"messages":[]}'
"#;
    let env = env(library);
    let run = env.data().join("lib/run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    let trusted = env.run(["library", "trust", "lib", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted}");
    let editor = Editor::owner(Served::from_env(env));
    let source = editor.source("manifest=lib");
    assert!(
        source["note"]
            .as_str()
            .unwrap()
            .contains("twig library trust"),
        "{source}"
    );
    let text = format!("{}# changed\n", source["text"].as_str().unwrap());
    let (status, saved) = editor.change("manifest=lib", &text);
    assert_eq!(status, 200, "{saved}");
    assert!(
        saved["note"]
            .as_str()
            .unwrap()
            .contains("twig library trust"),
        "{saved}"
    );
    let listed = editor.served.env.run(["list"]);
    assert!(!listed.stdout.contains("lib:run"), "{listed}");
    let trusted = editor
        .served
        .env
        .run(["library", "trust", "lib", "--mine", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted}");
    let source = editor.source("manifest=lib");
    assert_eq!(source["editable"], false);
    let (status, said) = editor.change("manifest=lib", "[prompts.run]\ncommand = [\"sh\"]\n");
    assert!(
        status == 403 && said["why"].as_str().unwrap().contains("as your own"),
        "{said}"
    );
}

/// A workspace with a project that has a prompt.
fn with_project() -> TestEnv {
    let env = env(LIBRARY);
    for args in [
        &["workspace", "create", "acme"][..],
        &["project", "create", "garden", "-w", "acme"],
        &[
            "prompt",
            "add",
            "water",
            "-c",
            "Water {{it}}.",
            "-w",
            "acme",
            "-p",
            "garden",
        ],
        &[
            "prompt",
            "label",
            "water",
            "production",
            "-w",
            "acme",
            "-p",
            "garden",
        ],
    ] {
        let outcome = env.run(args.iter().copied());
        assert_eq!(outcome.code, 0, "{args:?}: {outcome}");
    }
    env
}

fn person(env: &TestEnv, name: &str, role: &str, place: &[&str]) -> String {
    let args = ["key", "create", name, "--role", role];
    let made = env.run(args.iter().chain(place).copied());
    assert_eq!(made.code, 0, "{made}");
    made.stdout.trim().to_owned()
}

const WATER: &str = "prompt=garden:water";

#[test]
fn a_person_edits_prompts_of_projects_and_never_files() {
    let env = with_project();
    let ada = person(&env, "ada", "writer", &["-w", "acme"]);
    let served = served_with(env, &["--page-edit"]);
    let editor = Editor::person(served, &ada);
    let source = editor.source(WATER);
    assert_eq!(
        (&source["text"], &source["version"], &source["editable"]),
        (&json!("Water {{it}}."), &json!(1), &json!(true))
    );
    let (status, saved) = editor.change(WATER, "Water it well.");
    assert_eq!((status, &saved["version"]), (200, &json!(2)), "{saved}");
    let history = ["prompt", "history", "water", "-w", "acme", "-p", "garden"];
    let history = editor.served.env.run(history);
    assert!(history.stdout.contains("ada (person)"), "{history}");
    // From a text that is not the newest any more.
    let old = source["digest"].as_str().unwrap();
    let (status, theirs) = editor.save(WATER, old, &json!({ "text": "Mine" }));
    assert_eq!((status, &theirs["text"]), (412, &json!("Water it well.")));
    // A version that a label names does not change, and files are the owner's.
    let (status, said) = editor.save("prompt=water@production", old, &json!({ "text": "x" }));
    assert_ne!(status, 200, "{said}");
    let (status, said) = editor.change(HELLO, "Changed");
    assert!(
        status == 403 && said["why"].as_str().unwrap().contains("Files"),
        "{said}"
    );
    let answer = editor.send("GET", "source?manifest=lib", &[], &json!(null));
    assert_eq!(answer.status, 404);
    let draft = json!({ "item": {"prompt": "lib:hello"}, "text": "x" });
    assert_eq!(editor.send("POST", "check", &[], &draft).status, 403);
    let draft = json!({ "item": {"prompt": "garden:water"}, "text": "A draft" });
    let found = editor.send("POST", "check", &[], &draft);
    assert_eq!((found.status, found.json()), (200, json!([])));
    let (status, said) = editor.change(WATER, "Hidden \u{202e}text");
    assert_eq!(status, 409, "{said}");
    let asked = json!({ "name": "garden:water", "draft": {"item": {"prompt": "garden:water"}, "text": "New {{x}}"} });
    let rendered = editor.send("POST", "render", &[], &asked).json();
    assert_eq!(rendered["text"], "New {{x}}");
}

#[test]
fn a_role_that_ended_or_a_project_that_is_gone_is_noticed_by_the_save() {
    let env = with_project();
    let ada = person(&env, "ada", "reader", &["-w", "acme"]);
    let granted = env.run(["grant", "add", "ada", "writer", "acme/garden"]);
    assert_eq!(granted.code, 0, "{granted}");
    let editor = Editor::person(served_with(env, &["--page-edit"]), &ada);
    let (status, saved) = editor.change(WATER, "Two");
    assert_eq!(status, 200, "{saved}");
    let digest = saved["digest"].as_str().unwrap();
    let removed = editor
        .served
        .env
        .run(["grant", "remove", "ada", "writer", "acme/garden"]);
    assert_eq!(removed.code, 0, "{removed}");
    let (mut number, mut digest) = (0, digest.to_owned());
    crate::wait_until("the role has ended", || {
        number += 1;
        let text = json!({ "text": format!("{number}") });
        let (status, said) = editor.save(WATER, &digest, &text);
        if status == 200 {
            said["digest"].as_str().unwrap().clone_into(&mut digest);
            return false;
        }
        assert_eq!(status, 403, "{said}");
        true
    });
    let owner = Editor::owner(editor.served);
    let source = owner.source(WATER);
    let digest = source["digest"].as_str().unwrap();
    let gone = ["project", "delete", "garden", "-w", "acme", "--yes"];
    let gone = owner.served.env.run(gone);
    assert_eq!(gone.code, 0, "{gone}");
    let (status, said) = owner.save(WATER, digest, &json!({ "text": "late" }));
    assert_eq!(status, 404, "{said}");
    assert!(said["why"].as_str().unwrap().contains("not there any more"));
}

#[test]
fn prompts_of_projects_are_made_and_deleted() {
    let env = with_project();
    let ada = person(&env, "ada", "writer", &["-w", "acme"]);
    let editor = Editor::person(served_with(env, &["--page-edit"]), &ada);
    let form = editor.send("GET", "new", &[], &json!(null));
    assert!(String::from_utf8_lossy(&form.body).contains("acme/garden"));
    let new = |name: &str, project: &str| {
        let body = json!({
            "workspace": "acme", "project": project, "name": name,
            "description": "Sow seeds", "text": "Sow.",
        });
        let answer = editor.send("POST", "prompts", &[], &body);
        (answer.status, answer.json())
    };
    let (status, made) = new("sow", "garden");
    assert_eq!(
        (status, &made["name"]),
        (200, &json!("garden:sow")),
        "{made}"
    );
    assert_eq!(new("sow", "garden").0, 409);
    assert_eq!(new("../sow", "garden").0, 409);
    assert_eq!(new("sow", "none").0, 404);
    let source = editor.source("prompt=garden:sow");
    let delete = |digest: &str| {
        let tag = format!("\"{digest}\"");
        let path = "prompts?prompt=garden:sow";
        editor
            .send("DELETE", path, &[("if-match", &tag)], &json!(null))
            .status
    };
    assert_eq!(delete(&digest_of(b"other")), 412);
    assert_eq!(delete(source["digest"].as_str().unwrap()), 200);
    let gone = editor.send("GET", "source?prompt=garden:sow", &[], &json!(null));
    assert_eq!(gone.status, 404);
    let file = "prompts?prompt=lib:hello";
    let tag = format!("\"{}\"", digest_of(b""));
    let refused = editor.send("DELETE", file, &[("if-match", &tag)], &json!(null));
    assert_eq!(refused.status, 403);
}
