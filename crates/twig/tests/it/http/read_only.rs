//! `serve --read-only`: whatever clients ask for, everything on disk stays as it was, apart from the
//! file by which `twig page` finds a server that runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::process::Signal;
use serde_json::json;
use twig_testkit::TestEnv;

use super::{LIBRARY, Served};
use crate::env;

/// Everything below a folder: when it was changed, and what a file holds.
type Tree = BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)>;

fn tree(env: &TestEnv) -> Tree {
    let mut tree = Tree::new();
    walk(env.root(), &mut tree);
    assert!(tree.len() > 10, "{tree:?}");
    tree
}

fn walk(folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().expect("readable"));
        if path.ends_with("twig/page/servers") {
            continue;
        }
        let bytes = metadata
            .is_file()
            .then(|| fs::read(&path).expect("readable"));
        if metadata.is_dir() {
            walk(&path, tree);
        }
        let modified = metadata.modified().expect("a time");
        tree.insert(path, (modified, bytes));
    }
}

#[test]
fn nothing_is_written_over_stdio() {
    let env = env(LIBRARY);
    env.configure("[limits]\npage = 2\n");
    let before = tree(&env);
    let mut client = env.serve_with(["--read-only", "--log-level", "trace"]);
    client.initialize();
    client.request("prompts/list", json!({}));
    for name in ["lib:hello", "lib:count", "lib:none"] {
        let params = json!({"name": name, "arguments": {"name": "Ada"}});
        client.request("prompts/get", params.clone());
        client.modern("prompts/get", params);
    }
    client.request("tools/list", json!({}));
    client.request("no/such", json!({}));
    let ended = client.close();
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.stderr.contains("read-only"), "{}", ended.stderr);
    assert_eq!(tree(&env), before);
}

#[test]
fn nothing_is_written_over_http() {
    let mut served = Served::with(&["--read-only"], &[]);
    let before = tree(&served.env);
    let mut caller = served.caller();
    let session = caller.initialize();
    for name in ["lib:hello", "lib:count", "lib:none"] {
        let params = json!({"name": name, "arguments": {"name": "Ada"}});
        caller.legacy(&session, "prompts/get", params.clone());
        caller.modern("prompts/get", params);
    }
    caller.modern("prompts/list", json!({}));
    caller.modern("tools/list", json!({}));
    served.signal(Signal::TERM);
    assert_eq!(served.ended().0.code(), Some(0));
    assert_eq!(tree(&served.env), before);
}
