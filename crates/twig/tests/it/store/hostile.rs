//! T-FS-01: a name is a key, never a path, whatever it looks like.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use super::support::workspaces;
use super::{call, done, names, prompt, serve, text, with_project};

const CANARY: &str = "canary-5b1e";

/// What no name may be, with `x` for the name of a file that is there or should not be.
#[rustfmt::skip]
const HOSTILE: &[&str] = &[
    "", " ", ".", "..", "../x", "../../x", "../../../x", "../../../../../../x", "./x", "a/../x",
    "a/../../x", "a/b/../../../x", "/x", "//x", "///x", "/etc/passwd", "/proc/self/environ",
    "/dev/null", "/dev/stdin", "~/x", "~root/x", "$HOME/x", "${HOME}/x", "`x`", "$(x)", "x/", "x/.",
    "x/..", "x//y", "a/x", "\\x", "\\\\x", "..\\x", "..\\..\\x", "\\..\\x", "a\\..\\..\\x", "C:\\x",
    "C:x", "C:/x", "\\\\?\\C:\\x", "\\\\server\\share\\x", "x:stream", "x::$DATA", "%2e%2e/x",
    "%2e%2e%2fx", "..%2fx", "..%5cx", "%252e%252e%252fx", "%00", "x%00", "..%c0%afx", "..%c1%9cx",
    "x\0", "\0x", "a\0b", "../x\0.md", "x\n", "\nx", "x\ny", "x\r", "x\r\ny", "x\t", "\tx",
    "x\u{b}", "x\u{c}", "x\u{7f}", "x\u{1b}[2J", "x\u{85}", "x\u{2028}y", "x ", " x", "x y",
    "x\u{a0}", "x\u{200b}", "x\u{200d}y", "x\u{202e}y", "x\u{2066}y", "\u{feff}x", "x\u{e0041}",
    "．．/x", "．．／x", "․․/x", "‥/x", "…/x", "..∕x", "..⁄x", "..／x", "..＼x", "ｘ", "х", "ⅹ", "x\u{308}",
    "ä", "a\u{308}", "é", "ß", "İ", "ı", "名前", "🙂", "x*", "*", "?", "x?", "[x]", "{x}", "{{x}}",
    "{% x %}", "<x>", "x|y", "x;y", "x&y", "x>y", "x<y", "'x'", "\"x\"", "x#y", "x@y", "x!y", "x=y",
    "x+y", "x,y", "x^y", "(x)", "notes:../x", "notes:/x", "notes:x", ":x", "notes:", "file:x",
    "file:///x", "file:///etc/passwd", "http://x/y", "data:,x", "x'; DROP TABLE items; --",
    "x\" OR 1=1", "-- x", "x\u{0}' UNION SELECT 1",
];

/// Names that look odd, and are names.
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    ".git", "con", "CON", "nul.md", "x.", "...", ".x", "-x", "--force", "-rf", "_", "x..y", "a.b.c",
    "default.db", "default.db-wal", "PRN", "aux.txt", "lpt1", "__proto__", "constructor", "null",
    "true", "0", "..x",
];

#[test]
fn no_name_leads_out_of_the_project() {
    let env = with_project();
    let escape = format!("twig-escape-{}", std::process::id());
    env.write(
        "notes/twig.toml",
        "[prompts.research]\ndescription = \"d\"\n",
    );
    env.write("notes/prompts/research.md", "library");
    for folder in [env.root().to_owned(), env.home(), env.work(), env.data()] {
        fs::write(folder.join(format!("{escape}.md")), CANARY).expect("ours");
    }
    let mut client = serve(&env);
    client.initialize();
    prompt(&mut client, "kept", "kept");
    let before = tree(&env);
    let mut hostile: Vec<Value> = HOSTILE
        .iter()
        .map(|name| Value::from(name.replace('x', &escape)))
        .collect();
    hostile.push(Value::from("x".repeat(256)));
    hostile.push(Value::from("x".repeat(70_000)));
    hostile.push(Value::from("../".repeat(20_000)));
    hostile.extend([json!(null), json!(5), json!(true), json!([]), json!({})]);
    assert!(hostile.len() >= 120, "{}", hostile.len());
    for name in &hostile {
        refuse_all(&mut client, name);
    }
    assert_eq!(names(&mut client), ["kept", "notes:research"]);
    let listed = client.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"], json!([]));
    assert_eq!(tree(&env), before, "nothing else on disk changed");
    for folder in ["/", "/tmp", "/dev/shm", "/var/tmp"] {
        for end in ["", ".md"] {
            let path = Path::new(folder).join(format!("{escape}{end}"));
            assert!(!path.exists(), "{}", path.display());
        }
    }
}

/// Every tool that takes a name refuses it.
fn refuse_all(client: &mut TestClient, name: &Value) {
    let requests = [
        ("create_prompt", json!({"name": name, "content": "c"})),
        ("update_prompt", json!({"name": name, "content": "c"})),
        ("delete_prompt", json!({"name": name})),
        (
            "create_resource",
            json!({"name": name, "content": "c", "uri": "u:v"}),
        ),
        ("update_resource", json!({"name": name, "content": "c"})),
        ("delete_resource", json!({"name": name})),
    ];
    for (tool, arguments) in requests {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = client.request("tools/call", params);
        let is_refused = answer["result"]["isError"] == true || answer["error"]["code"] == -32602;
        assert!(is_refused, "{tool} {name}: {answer}");
        check_text(&answer, name);
    }
    let got = client.request("prompts/get", json!({"name": name}));
    assert_eq!(got["error"]["code"], -32602, "{name}: {got}");
    check_text(&got, name);
    let arguments = json!({"name": name, "input": ""});
    let expanded = client.request(
        "tools/call",
        json!({"name": "expand_prompt", "arguments": arguments}),
    );
    let is_refused = expanded["result"]["isError"] == true || expanded["error"]["code"] == -32602;
    assert!(is_refused, "expand_prompt {name}: {expanded}");
    check_text(&expanded, name);
    let read = client.request("resources/read", json!({"uri": name}));
    assert_eq!(read["error"]["code"], -32602, "{name}: {read}");
    check_text(&read, name);
}

/// No file is told of, and no answer grows with the name.
fn check_text(answer: &Value, name: &Value) {
    let text = answer.to_string();
    assert!(!text.contains(CANARY), "{name}: {text}");
    assert!(!text.contains("root:x:0"), "{name}: {text}");
    assert!(text.len() < 4_096, "{} bytes of answer", text.len());
}

#[test]
fn names_that_look_like_paths_are_names() {
    let env = with_project();
    let mut client = serve(&env);
    client.initialize();
    let before = tree(&env);
    for name in ALLOWED {
        let uri = format!("u:{name}");
        prompt(&mut client, name, name);
        let resource = json!({"name": name, "uri": uri, "content": name});
        done(&mut client, "create_resource", resource);
        assert_eq!(text(&mut client, name), *name);
        let read = client.request("resources/read", json!({"uri": uri}));
        assert_eq!(read["result"]["contents"][0]["text"], *name);
    }
    assert_eq!(names(&mut client).len(), ALLOWED.len());
    assert_eq!(tree(&env), before, "they are keys");
    for name in ALLOWED {
        let update = json!({"name": name, "content": "new"});
        done(&mut client, "update_prompt", update.clone());
        done(&mut client, "update_resource", update);
        assert_eq!(text(&mut client, name), "new");
        let history = call(&mut client, "delete_prompt", json!({"name": name}));
        assert_eq!(history["structuredContent"]["version"], 3);
        done(&mut client, "delete_resource", json!({"name": name}));
    }
    assert!(names(&mut client).is_empty());
    assert_eq!(tree(&env), before);
}

/// Every file below the test's root and what is in it; of the workspace's own, only that they are.
fn tree(env: &TestEnv) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![env.root().to_owned()];
    while let Some(folder) = folders.pop() {
        let is_ours = folder == workspaces(env);
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path.clone());
                files.insert(path, Vec::new());
            } else {
                let content = if is_ours {
                    Vec::new()
                } else {
                    fs::read(&path).expect("ours")
                };
                files.insert(path, content);
            }
        }
    }
    files
}
