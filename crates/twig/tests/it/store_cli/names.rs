//! Names are keys, never paths: whatever they look like, nothing else is touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use twig_testkit::TestEnv;

use crate::store_cli::{done, garden, json};

/// Names of which some tool, system or careless program makes more than a name.
#[rustfmt::skip]
const HOSTILE: &[&str] = &[
    "", ".", "..", "...", "../x", "../../x", "a/../../x", "./x", "x/.", "x/..", "/", "//", "/x",
    "/etc/passwd", "//etc/passwd", "/proc/self/root", "/dev/null", "~", "~/x", "~root", "a/b",
    "a//b", "a/", "\\", "\\x", "..\\x", "\\..\\x", "a\\..\\..\\x", "C:", "C:\\x", "c:x", "x:y",
    "\\\\host\\share", "file:///etc/passwd", "%2e%2e/x", "%2e%2e%2fx", "..%2fx", "..%c0%afx",
    "%00", "%s%n", "x%", ".git", ".git/config", ".GIT", "git~1", ".gitattributes", ".ssh",
    "con", "CON", "con.md", "nul", "nul.md", "aux", "prn", "com1", "lpt9.txt", "conin$",
    "x.", "x..", "x ", " x", " ", "\t", "x\ty", "x\n", "\nx", "x\r\n", "x\ny", "x\u{1b}[2J",
    "x\u{7f}", "x\u{85}y", "x\u{2028}y", "x\u{200b}y", "x\u{202e}y", "\u{feff}x", "x\u{0301}",
    "．．", "．．/x", "。。", "‥", "․․", "／x", "＼x", "∕x", "⁄x", "％2e", "ｃｏｎ", "Ä", "A\u{308}",
    "аdmin", "x'y", "x\"y", "x`y", "x;y", "x|y", "x&y", "x$y", "$HOME", "${HOME}", "$(id)",
    "`id`", "x<y", "x>y", "x*y", "*", "?", "x?y", "[x]", "{x}", "x!y", "x#y", "x@y", "@x", "x=y",
    "x,y", "library:../x", "'; DROP TABLE projects; --", "x' OR '1'='1", "-", "--", "-rf",
    "--help", "--force", "-w", "project.json", "importing-x", "default", "default.db", "x.db",
    "x.db-wal", "x.lock",
];

fn hostile() -> Vec<String> {
    let mut names: Vec<String> = HOSTILE.iter().map(|&name| name.to_owned()).collect();
    names.extend([200, 201, 255, 256, 5_000].map(|length| "x".repeat(length)));
    names.extend(["ä".repeat(128), "../".repeat(40), ".".repeat(255)]);
    assert!(names.len() >= 120, "{}", names.len());
    names
}

/// Whether a name is one at all.
fn is_name(name: &str) -> bool {
    let is_good = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=255).contains(&name.len()) && name.bytes().all(is_good) && name != "." && name != ".."
}

/// Runs a command on a name: taken or refused as it should be, and told of without a trick.
fn check(env: &TestEnv, args: &[&str], name: &str, is_good: bool) {
    let outcome = env.run(args.iter().copied().chain(["--", name]));
    let expected = i32::from(!is_good);
    assert_eq!(outcome.code, expected, "{args:?} {name:?}: {outcome}");
    let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    assert!(outcome.stderr.chars().all(is_plain), "{name:?}: {outcome}");
    assert!(outcome.stderr.len() < 2_000, "{name:?}: {outcome}");
}

/// Does something with all of it; nothing but the folder of workspaces may differ afterwards.
fn nothing_else_is_touched(env: &TestEnv, work: impl FnOnce()) {
    let workspaces = env.home().join(".local/share/twig/workspaces");
    fs::write(env.root().join("x"), "beside").expect("writable");
    fs::write(env.work().join("x"), "here").expect("writable");
    let before = tree(env.root(), &workspaces);
    work();
    let after = tree(env.root(), &workspaces);
    let paths = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&after), paths(&before));
    assert_eq!(after, before);
    for entry in fs::read_dir(&workspaces).expect("readable").flatten() {
        assert!(entry.file_type().expect("known").is_file(), "{entry:?}");
    }
}

/// Paths, and what is in the files among them.
type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Every file and folder below, with what it holds; the folder of workspaces is left off.
fn tree(root: &Path, without: &Path) -> Tree {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable").flatten() {
            let path = entry.path();
            if path == without {
                continue;
            }
            if path.is_dir() {
                folders.push(path.clone());
                all.insert(path, None);
            } else {
                let bytes = fs::read(&path).expect("readable");
                all.insert(path, Some(bytes));
            }
        }
    }
    all
}

#[test]
fn hostile_names_of_prompts_and_resources_are_refused_or_harmless() {
    let env = garden();
    nothing_else_is_touched(&env, || {
        for (at, name) in hostile().iter().enumerate() {
            let uri = format!("file:///etc/passwd?{at}");
            let check = |args: &[&str]| check(&env, args, name, is_name(name));
            check(&["prompt", "add", "-c", "x"]);
            check(&["prompt", "show"]);
            check(&["prompt", "update", "-c", "y"]);
            check(&["prompt", "history"]);
            check(&["prompt", "delete", "-f"]);
            check(&["prompt", "restore", "--version", "1"]);
            check(&["resource", "add", "-c", "x", "--uri", &uri]);
            check(&["resource", "show"]);
            check(&["resource", "delete", "-f"]);
        }
    });
    // What is left goes through a folder and back under its own name.
    done(&env, &["project", "export", "garden", "out"]);
    done(&env, &["project", "import", "out", "--name", "back"]);
    let names = |project| -> Vec<String> {
        let rows = json(&env, &["prompt", "list", "--json", "-p", project]);
        let rows = rows.as_array().expect("a list");
        rows.iter().map(|row| row["name"].to_string()).collect()
    };
    assert!(names("garden").len() > 15);
    assert_eq!(names("garden"), names("back"));
}

#[test]
fn hostile_names_of_projects_and_workspaces_are_refused_or_harmless() {
    let env = garden();
    nothing_else_is_touched(&env, || {
        for name in &hostile() {
            check(&env, &["project", "create"], name, is_name(name));
            check(&env, &["project", "delete", "-f"], name, is_name(name));
            // They name files, and `default` is there already.
            let is_good = is_name(name) && name.len() <= 200 && name != "default";
            check(&env, &["workspace", "create"], name, is_good);
            if name != "default" {
                check(&env, &["workspace", "delete", "-f"], name, is_good);
            }
        }
    });
}
