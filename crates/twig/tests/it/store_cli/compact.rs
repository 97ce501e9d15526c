//! `twig workspace compact`, and what deleting leaves on the disk.

use std::fs;
use std::path::{Path, PathBuf};

use twig_testkit::TestEnv;

use crate::store_cli::{done, garden, json, refused};

const MARKER: &str = "secret-MARKER-words";

fn workspaces(env: &TestEnv) -> PathBuf {
    env.home().join(".local/share/twig/workspaces")
}

/// How often a text is in any file beneath a folder.
fn found(folder: &Path, text: &str) -> usize {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let count = |path: PathBuf| {
        if path.is_dir() {
            return found(&path, text);
        }
        let bytes = fs::read(&path).expect("a file");
        let windows = bytes.windows(text.len());
        windows.filter(|window| *window == text.as_bytes()).count()
    };
    entries.map(|entry| count(entry.path())).sum()
}

fn with_versions(count: usize) -> TestEnv {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "0"]);
    for at in 1..count {
        let text = at.to_string();
        done(&env, &["prompt", "update", "water", "-c", &text]);
    }
    env
}

#[test]
fn old_versions_are_dropped_when_somebody_says_so() {
    let env = with_versions(5);
    insta::assert_snapshot!(refused(&env, &["workspace", "compact", "--keep", "2"]), @"
    error: nothing was dropped from workspace `default`: this is not a terminal, so you cannot be asked to confirm it (3 versions (1539 bytes) would be lost for good)
    hint: use --yes to drop them without being asked
    ");
    assert_eq!(
        done(&env, &["prompt", "history", "water"]).lines().count(),
        5
    );
    let said = env.run(["workspace", "compact", "--keep", "2", "-y"]);
    assert_eq!(said.code, 0, "{said}");
    assert!(
        said.stderr
            .starts_with("dropped 3 versions (1539 bytes) from workspace `default`\nthe files of workspace `default` take "),
        "{said}"
    );
    let history = json(&env, &["prompt", "history", "water", "--json"]);
    let numbers: Vec<_> = history.as_array().expect("a list").iter().collect();
    assert_eq!((numbers.len(), &numbers[0]["version"]), (2, &4.into()));
    insta::assert_snapshot!(refused(&env, &["prompt", "show", "water", "--version", "2"]), @"
    error: Prompt 'water' has no version 2 any more (versions before 4 were dropped); the last one is 5
    hint: `twig prompt history water` lists all versions
    ");
    insta::assert_snapshot!(refused(&env, &["prompt", "restore", "water", "--version", "3"]), @"
    error: Prompt 'water' has no version 3 any more (versions before 4 were dropped); the last one is 5
    hint: `twig prompt history water` lists all versions
    ");
    // Nothing is lost, so nothing is asked.
    let again = json(&env, &["workspace", "compact", "--keep", "2", "--json"]);
    assert_eq!(
        (&again["keep"], &again["dropped_versions"]),
        (&2.into(), &0.into())
    );
    let plain = json(&env, &["workspace", "compact", "default", "--json"]);
    assert_eq!(plain["bytes_before"], plain["bytes_after"]);
    done(&env, &["project", "create", "other"]);
    let of_one = [
        "workspace",
        "compact",
        "--keep",
        "1",
        "-y",
        "-p",
        "other",
        "--json",
    ];
    assert_eq!(json(&env, &of_one)["dropped_versions"], 0);
    let missing = refused(
        &env,
        &["workspace", "compact", "--keep", "1", "-y", "-p", "no"],
    );
    assert!(missing.contains("Project 'no' does not exist"), "{missing}");
    let missing = refused(&env, &["workspace", "compact", "no"]);
    assert!(
        missing.contains("Workspace 'no' does not exist"),
        "{missing}"
    );
}

#[test]
fn text_that_is_deleted_for_good_is_in_no_file() {
    let env = garden();
    let data = env.home().join(".local/share");
    let empty = fs::metadata(workspaces(&env).join("default.db"))
        .expect("a file")
        .len();
    // A server of another project has the file open.
    let mut server = env.serve_with(["--project", "garden"]);
    server.initialize();
    done(&env, &["project", "create", "gone"]);
    let large = format!("{MARKER} ").repeat(20_000);
    fs::write(env.work().join("large"), &large).expect("writable");
    let add = [
        "prompt", "add", "gone", "-p", "gone", "-d", MARKER, "-c", "@large",
    ];
    done(&env, &add);
    assert!(found(&data, MARKER) > 10_000);
    let deleted = json(&env, &["project", "delete", "gone", "--force", "--json"]);
    assert_eq!(deleted["erased"], true, "{deleted}");
    assert_eq!(found(&data, MARKER), 0);
    let size = fs::metadata(workspaces(&env).join("default.db"))
        .expect("a file")
        .len();
    assert!(size <= empty + 4096, "{size} of {empty}");
    assert!(server.close().status.success());
    done(&env, &["workspace", "create", "team"]);
    done(&env, &["project", "create", "p", "-w", "team"]);
    done(&env, &["prompt", "add", "a", "-w", "team", "-c", MARKER]);
    assert!(found(&data, MARKER) > 0);
    done(&env, &["workspace", "delete", "team", "--force"]);
    assert_eq!(found(&data, MARKER), 0);
}
