//! `twig import`: prompts of other tools, from files to a library or a project.

mod folders;
mod into_library;
mod into_project;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use twig_testkit::TestEnv;

use crate::TWIG;

const CSV: &str = "act,prompt,for_devs,type,contributor\n\
Life Coach,Say hi to ${name:you}. {{ braces }},FALSE,TEXT,a\n\
Life coach,Another one,FALSE,IMAGE,b\n\
Недвижимость ,\"On ${Big City} {% endraw %}\r\n\",FALSE,TEXT,c\n\
Life Coach,Say hi to ${name:you}. {{ braces }},FALSE,TEXT,d\n";

/// An environment with one file in its working folder.
fn with_file(path: &str, text: impl AsRef<[u8]>) -> TestEnv {
    let env = TestEnv::new(TWIG);
    put(&env, path, text);
    env
}

fn put(env: &TestEnv, path: &str, text: impl AsRef<[u8]>) {
    let path = env.work().join(path);
    fs::create_dir_all(path.parent().expect("as the test made it")).expect("as the test made it");
    fs::write(path, text).expect("as the test made it");
}

/// Runs an import that has to succeed; gives what it says as JSON.
fn imported(env: &TestEnv, args: &[&str]) -> Value {
    let args = ["import", "--json"].into_iter().chain(args.iter().copied());
    let outcome = env.run(args);
    assert_eq!(outcome.code, 0, "{outcome}");
    serde_json::from_str(&outcome.stdout).expect("as the test made it")
}

fn counts(report: &Value) -> [u64; 4] {
    ["taken", "changed", "unchanged", "left"]
        .map(|key| report[key].as_u64().expect("as the test made it"))
}

/// Every file below a folder, with its bytes.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = fs::read_dir(next) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("as the test made it").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(folder)
                    .expect("as the test made it")
                    .display()
                    .to_string();
                files.insert(name, fs::read(path).expect("as the test made it"));
            }
        }
    }
    files
}
