//! Names are keys, never paths: whatever they look like, nothing else is touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::store_cli::{done, garden, json};

/// Names of which some tool, system or careless program makes more than a name.
fn hostile() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        ".",
        "..",
        "...",
        "../x",
        "../../x",
        "a/../../x",
        "./x",
        "x/.",
        "x/..",
        "/",
        "//",
        "/x",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/root",
        "/dev/null",
        "~",
        "~/x",
        "~root",
        "a/b",
        "a//b",
        "a/",
        "\\",
        "\\x",
        "..\\x",
        "\\..\\x",
        "a\\..\\..\\x",
        "C:",
        "C:\\x",
        "c:x",
        "x:y",
        "\\\\host\\share",
        "file:///etc/passwd",
        "%2e%2e/x",
        "%2e%2e%2fx",
        "..%2fx",
        "..%c0%afx",
        "%00",
        "%s%n",
        "x%",
        ".git",
        ".git/config",
        ".GIT",
        "git~1",
        ".gitattributes",
        ".ssh",
        "con",
        "CON",
        "con.md",
        "nul",
        "nul.md",
        "aux",
        "prn",
        "com1",
        "lpt9.txt",
        "conin$",
        "x.",
        "x..",
        "x ",
        " x",
        " ",
        "\t",
        "x\ty",
        "x\n",
        "\nx",
        "x\r\n",
        "x\ny",
        "x\u{1b}[2J",
        "x\u{7f}",
        "x\u{85}y",
        "x\u{2028}y",
        "x\u{200b}y",
        "x\u{202e}y",
        "\u{feff}x",
        "x\u{0301}",
        "．．",
        "．．/x",
        "。。",
        "‥",
        "․․",
        "／x",
        "＼x",
        "∕x",
        "⁄x",
        "％2e",
        "ｃｏｎ",
        "Ä",
        "A\u{308}",
        "аdmin",
        "x'y",
        "x\"y",
        "x`y",
        "x;y",
        "x|y",
        "x&y",
        "x$y",
        "$HOME",
        "${HOME}",
        "$(id)",
        "`id`",
        "x<y",
        "x>y",
        "x*y",
        "*",
        "?",
        "x?y",
        "[x]",
        "{x}",
        "x!y",
        "x#y",
        "x@y",
        "@x",
        "x=y",
        "x,y",
        "library:../x",
        "'; DROP TABLE projects; --",
        "x' OR '1'='1",
        "-",
        "--",
        "-rf",
        "--help",
        "--force",
        "-w",
        "project.json",
        "importing-x",
        "default",
        "default.db",
        "x.db",
        "x.db-wal",
        "x.lock",
    ]
    .map(str::to_owned)
    .to_vec();
    names.extend([
        "x".repeat(255),
        "x".repeat(256),
        "x".repeat(200),
        "x".repeat(201),
        "x".repeat(5_000),
        "ä".repeat(128),
        "../".repeat(40),
        ".".repeat(255),
    ]);
    names
}

/// Every file and folder below, with what it holds; the folder of workspaces is left off.
fn tree(root: &Path, without: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
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
fn hostile_names_are_refused_or_harmless() {
    let env = garden();
    let names = hostile();
    assert!(names.len() >= 120, "{}", names.len());
    let workspaces = env.home().join(".local/share/twig/workspaces");
    fs::write(env.root().join("x"), "beside").expect("writable");
    fs::write(env.work().join("x"), "here").expect("writable");
    let before = tree(env.root(), &workspaces);
    let is_good = |name: &str| {
        let is_good = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        (1..=255).contains(&name.len()) && name.bytes().all(is_good) && name != "." && name != ".."
    };
    for name in &names {
        let name = name.as_str();
        // Whether a name that can be one is taken, and any other is refused.
        let check = |args: &[&str], is_good: bool| {
            let mut all = args.to_vec();
            all.extend(["--", name]);
            let outcome = env.run(all.iter().copied());
            let expected = i32::from(!is_good);
            assert_eq!(outcome.code, expected, "{args:?} {name:?}: {outcome}");
            let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
            assert!(outcome.stderr.chars().all(is_plain), "{name:?}: {outcome}");
            assert!(outcome.stderr.len() < 2_000, "{name:?}: {outcome}");
        };
        let good = is_good(name);
        let p = ["-p", "garden"];
        let uri = format!("file:///etc/passwd?{}", name.len());
        check(&["prompt", "add", "-c", "x", p[0], p[1]], good);
        check(&["prompt", "show", p[0], p[1]], good);
        check(&["prompt", "update", "-c", "y", p[0], p[1]], good);
        check(&["prompt", "history", p[0], p[1]], good);
        check(&["prompt", "delete", "-f", p[0], p[1]], good);
        check(&["prompt", "restore", "--version", "1", p[0], p[1]], good);
        check(
            &["resource", "add", "-c", "x", "--uri", &uri, p[0], p[1]],
            good,
        );
        check(&["resource", "delete", "-f", p[0], p[1]], good);
        check(&["project", "create"], good && name != "garden");
        check(&["project", "delete", "-f"], good);
        check(
            &["workspace", "create"],
            good && name.len() <= 200 && name != "default",
        );
        if name != "default" {
            check(&["workspace", "delete", "-f"], good && name.len() <= 200);
        }
    }
    let after = tree(env.root(), &workspaces);
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    assert_eq!(after, before);
    for entry in fs::read_dir(&workspaces).expect("readable").flatten() {
        assert!(entry.file_type().expect("known").is_file(), "{entry:?}");
    }
    // What is left goes through a folder and back under its own name.
    done(&env, &["project", "export", "garden", "out"]);
    done(&env, &["project", "import", "out", "--name", "back"]);
    let kept = |project| json(&env, &["prompt", "list", "--json", "-p", project]);
    let names = |project| -> Vec<String> {
        let rows = kept(project);
        let rows = rows.as_array().expect("a list");
        rows.iter().map(|row| row["name"].to_string()).collect()
    };
    assert!(names("garden").len() > 15);
    assert_eq!(names("garden"), names("back"));
}
