//! `twig workspace` and `twig project`.

use std::fs;

use crate::TWIG;
use crate::store_cli::{done, garden, json, refused, timeless};
use twig_testkit::TestEnv;

#[test]
fn a_first_project_makes_the_default_workspace() {
    let env = TestEnv::new(TWIG);
    insta::assert_snapshot!(env.run(["workspace", "list"]), @"
    --- stderr
    no workspaces
    hint: `twig project create NAME` makes the first
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["project", "list"]), @"
    --- stderr
    no projects
    hint: make one with `twig project create NAME`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["project", "create", "garden"]), @"
    --- stderr
    created project `garden`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["project", "list"]), @"
    garden  0 prompts  0 resources
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["workspace", "list"]), @"
    default  1 project
    --- exit 0
    ");
    assert!(
        env.home()
            .join(".local/share/twig/workspaces/default.db")
            .is_file()
    );
}

#[test]
fn listing_makes_nothing() {
    let env = TestEnv::new(TWIG);
    done(&env, &["project", "list"]);
    done(&env, &["workspace", "list"]);
    refused(&env, &["prompt", "list"]);
    refused(&env, &["project", "import", "nowhere"]);
    refused(&env, &["project", "delete", "garden", "-y"]);
    assert!(!env.home().join(".local/share/twig/workspaces").exists());
}

#[test]
fn a_workspace_is_made_before_it_is_used() {
    let env = TestEnv::new(TWIG);
    insta::assert_snapshot!(env.run(["project", "create", "a", "-w", "team"]), @"
    --- stderr
    error: Workspace 'team' does not exist
    hint: make it with `twig workspace create team`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["workspace", "create", "team"]), @"
    --- stderr
    created workspace `team`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["workspace", "create", "team"]), @"
    --- stderr
    error: Workspace 'team' already exists
    --- exit 1
    ");
    done(&env, &["project", "create", "a", "-w", "team"]);
    insta::assert_snapshot!(env.run(["project", "list", "-w", "taem"]), @"
    --- stderr
    error: Workspace 'taem' does not exist
    hint: did you mean `team`?
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["project", "list", "--workspace", "team"]), @"
    a  0 prompts  0 resources
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["workspace", "list", "--json"]), @r#"
    [
      {
        "name": "team",
        "projects": 1
      }
    ]
    --- exit 0
    "#);
}

#[test]
fn a_project_has_one_name_at_a_time() {
    let env = garden();
    insta::assert_snapshot!(env.run(["project", "create", "garden"]), @"
    --- stderr
    error: Project 'garden' already exists in workspace 'default'
    hint: `twig project list` lists all of them
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["project", "rename", "garden", "park"]), @"
    --- stderr
    renamed project `garden` to `park`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["project", "rename", "garden", "park"]), @"
    --- stderr
    error: Project 'garden' does not exist in workspace 'default'
    hint: `twig project list` lists all of them
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["project", "rename", "park", "park"]), @"
    --- stderr
    nothing changed: project `park` has that name already
    --- exit 0
    ");
    done(&env, &["project", "create", "garden"]);
    insta::assert_snapshot!(env.run(["project", "rename", "garden", "park"]), @"
    --- stderr
    error: Project 'park' already exists in workspace 'default'
    hint: `twig project list` lists all of them
    --- exit 1
    ");
    insta::assert_snapshot!(timeless(&done(&env, &["project", "list", "--json"])), @r#"
    [
      {
        "workspace": "default",
        "name": "garden",
        "prompts": 0,
        "resources": 0,
        "history_bytes": 0,
        "created": "[time]",
        "last_modified": "[time]"
      },
      {
        "workspace": "default",
        "name": "park",
        "prompts": 0,
        "resources": 0,
        "history_bytes": 0,
        "created": "[time]",
        "last_modified": "[time]"
      }
    ]
    "#);
}

#[test]
fn the_only_project_is_meant_where_none_is_named() {
    let env = garden();
    insta::assert_snapshot!(env.run(["prompt", "list"]), @"
    --- stderr
    no prompts in project `garden`
    hint: add one with `twig prompt add NAME -c TEXT`
    --- exit 0
    ");
    done(&env, &["prompt", "add", "water", "-c", "Water the plants"]);
    done(&env, &["project", "create", "park"]);
    insta::assert_snapshot!(env.run(["prompt", "list"]), @"
    --- stderr
    error: workspace `default` has several projects: garden, park
    hint: say which one with `-p NAME`
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["prompt", "list", "-p", "garden"]), @"
    water
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["prompt", "list", "--project", "gardn"]), @"
    --- stderr
    error: Project 'gardn' does not exist in workspace 'default'
    hint: did you mean `garden`?
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "list", "-p", "zoo"]), @"
    --- stderr
    error: Project 'zoo' does not exist in workspace 'default'
    hint: make it with `twig project create zoo`
    --- exit 1
    ");
    done(&env, &["project", "delete", "garden", "--yes"]);
    done(&env, &["project", "delete", "park", "-f"]);
    insta::assert_snapshot!(env.run(["prompt", "list"]), @"
    --- stderr
    error: workspace `default` has no projects
    hint: make one with `twig project create NAME`
    --- exit 1
    ");
}

#[test]
fn advice_names_the_place_that_was_named() {
    let env = garden();
    done(&env, &["workspace", "create", "team"]);
    let place = ["-w", "team", "-p", "zoo"];
    let run = |args: &[&str]| env.run([args, &place].concat());
    insta::assert_snapshot!(run(&["prompt", "add", "feed", "-c", "x"]), @"
    --- stderr
    error: Project 'zoo' does not exist in workspace 'team'
    hint: make it with `twig project create zoo -w team`
    --- exit 1
    ");
    done(&env, &["project", "create", "zoo", "-w", "team"]);
    assert_eq!(run(&["prompt", "add", "feed", "-c", "x"]).code, 0);
    insta::assert_snapshot!(run(&["prompt", "add", "feed", "-c", "x"]), @"
    --- stderr
    error: Prompt 'feed' already exists in project 'zoo'
    hint: change it with `twig prompt update feed -w team -p zoo`
    --- exit 1
    ");
    insta::assert_snapshot!(run(&["prompt", "delete", "feed", "-y"]), @"
    --- stderr
    deleted prompt `feed` from project `zoo`
    hint: `twig prompt restore feed -w team -p zoo` brings it back
    --- exit 0
    ");
    insta::assert_snapshot!(run(&["prompt", "show", "feed"]), @"
    --- stderr
    error: Prompt 'feed' does not exist in project 'zoo'
    hint: it was deleted; restore it with `twig prompt restore feed -w team -p zoo`
    --- exit 1
    ");
}

#[test]
fn nothing_is_deleted_where_nobody_can_be_asked() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "x"]);
    done(
        &env,
        &["resource", "add", "map", "--uri", "file:///map", "-c", "x"],
    );
    insta::assert_snapshot!(env.run(["project", "delete", "garden"]), @"
    --- stderr
    error: project `garden` was not deleted: this is not a terminal, so you cannot be asked to confirm it (1 prompt, 1 resource and all their versions would be lost for good)
    hint: use --yes to delete it without being asked
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["workspace", "delete", "default"]), @"
    --- stderr
    error: workspace `default` was not deleted: this is not a terminal, so you cannot be asked to confirm it (1 project, 1 prompt, 1 resource and all their versions would be lost for good)
    hint: use --yes to delete it without being asked
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["prompt", "delete", "water"]), @"
    --- stderr
    error: prompt `water` was not deleted: this is not a terminal, so you cannot be asked to confirm it (its one version can be brought back with `twig prompt restore`)
    hint: use --yes to delete it without being asked
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["resource", "delete", "map"]), @"
    --- stderr
    error: resource `map` was not deleted: this is not a terminal, so you cannot be asked to confirm it (its one version can be brought back with `twig resource restore`)
    hint: use --yes to delete it without being asked
    --- exit 1
    ");
    assert_eq!(
        json(&env, &["prompt", "list", "--json"])[0]["name"],
        "water"
    );
    assert_eq!(
        json(&env, &["resource", "list", "--json"])[0]["name"],
        "map"
    );
}

#[test]
fn yes_deletes_for_good() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "x"]);
    insta::assert_snapshot!(env.run(["project", "delete", "garden", "-y", "--json"]), @r#"
    {
      "workspace": "default",
      "name": "garden",
      "changed": true,
      "erased": true
    }
    --- stderr
    deleted project `garden`
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["project", "delete", "garden", "-y"]), @"
    --- stderr
    error: Project 'garden' does not exist in workspace 'default'
    hint: `twig project list` lists all of them
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["workspace", "delete", "default", "-y"]), @"
    --- stderr
    deleted workspace `default`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["workspace", "delete", "default", "-y"]), @"
    --- stderr
    error: Workspace 'default' does not exist
    hint: `twig workspace list` lists all of them
    --- exit 1
    ");
    let left = fs::read_dir(env.home().join(".local/share/twig/workspaces"));
    let left: Vec<_> = left
        .expect("readable")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains(".db")),
        "{left:?}"
    );
}

#[test]
fn a_damaged_workspace_is_told_and_can_still_be_deleted() {
    let env = garden();
    let file = env.home().join(".local/share/twig/workspaces/default.db");
    let mut bytes = fs::read(&file).expect("readable");
    bytes[100..].fill(b'x');
    fs::write(&file, bytes).expect("writable");
    let talk = refused(&env, &["project", "list"]);
    assert!(talk.starts_with("error: "), "{talk}");
    let list = env.run(["workspace", "list"]);
    assert!(
        list.code == 0 && list.stdout.starts_with("default "),
        "{list}"
    );
    let talk = refused(&env, &["workspace", "delete", "default"]);
    assert!(talk.contains("cannot be counted"), "{talk}");
    done(&env, &["workspace", "delete", "default", "-y"]);
    assert!(!file.exists());
}

#[test]
fn doctor_checks_the_pages_of_every_workspace() {
    let env = garden();
    let text = "needle ".repeat(200);
    done(&env, &["prompt", "add", "long", "-c", &text]);
    assert_eq!(env.run(["doctor"]).code, 0);
    let file = env.home().join(".local/share/twig/workspaces/default.db");
    let mut bytes = fs::read(&file).expect("readable");
    let at = bytes.windows(7).position(|window| window == b"needle ");
    let page = at.expect("it is there") / 4096 * 4096;
    bytes[page..page + 4096].fill(0xff);
    fs::write(&file, bytes).expect("writable");
    let report = env.run(["doctor"]);
    assert_eq!(report.code, 1, "{report}");
    assert!(
        report.stdout.contains("its pages are inconsistent"),
        "{report}"
    );
}

#[test]
fn without_a_home_there_is_no_place() {
    let env = TestEnv::new(TWIG);
    let output = env.command(["project", "list"]).env_remove("HOME").output();
    let output = output.expect("the binary starts");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: there is no place for workspaces
    hint: set HOME or XDG_DATA_HOME to an absolute path
    ");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_project_is_shown_with_its_place_and_its_times() {
    let env = garden();
    done(&env, &["prompt", "add", "water", "-c", "one"]);
    let resource = ["resource", "add", "map", "--uri", "x://map", "-c", "# Beds"];
    done(&env, &resource);
    let shown = done(&env, &["project", "show", "garden"]);
    insta::assert_snapshot!(timeless(&shown), @r"
    garden
      has        1 prompt, 1 resource
      history    1050 of 268435456 bytes
      created    [time]
      changed    [time]
      workspace  default
      file       ~/.local/share/twig/workspaces/default.db
    ");
    let before = json(&env, &["project", "show", "garden", "--json"]);
    let path = before["path"].as_str().unwrap();
    assert!(path.ends_with("/twig/workspaces/default.db"), "{path}");
    set_last_change(&env, "2001-02-03T04:05:06Z");
    let after = json(&env, &["project", "show", "garden", "--json"]);
    assert_eq!(after["last_modified"], "2001-02-03T04:05:06Z");
    assert_eq!(after["created"], before["created"]);
    let listed = json(&env, &["project", "list", "--json"]);
    assert_eq!(listed[0]["last_modified"], "2001-02-03T04:05:06Z");

    insta::assert_snapshot!(env.run(["project", "show", "gardn"]), @"
    --- stderr
    error: Project 'gardn' does not exist in workspace 'default'
    hint: did you mean `garden`?
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["project", "show", "garden", "-w", "nope"]), @"
    --- stderr
    error: Workspace 'nope' does not exist
    hint: make it with `twig workspace create nope`
    --- exit 1
    ");
    let completed = env.run(["complete", "--", "twig", "project", "show", "g"]);
    assert!(completed.stdout.starts_with("garden"), "{completed}");
    // Looking makes nothing.
    let env = TestEnv::new(TWIG);
    refused(&env, &["project", "show", "garden"]);
    assert!(!env.home().join(".local/share/twig/workspaces").exists());
}

/// Changes when the last change of every project was made.
fn set_last_change(env: &TestEnv, time: &str) {
    let path = env.home().join(".local/share/twig/workspaces/default.db");
    let file = rusqlite::Connection::open(path).expect("a store");
    let sql = "UPDATE change SET at = unixepoch(?1) * 1000 \
        WHERE rev = (SELECT max(rev) FROM change AS other WHERE other.project = change.project)";
    let trigger = "DROP TRIGGER IF EXISTS change_is_final";
    file.execute_batch(trigger).expect("a change");
    assert_eq!(file.execute(sql, [time]).expect("a change"), 1);
}
