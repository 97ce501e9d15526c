//! `twig prompt label`, and `name@label` wherever a name is taken.

use std::fs;

use serde_json::json;
use twig_testkit::TestEnv;

use super::{done, garden, json, refused, timeless};

/// Project `garden` with three versions of prompt `water`; the first one is in production.
fn labelled() -> TestEnv {
    let env = garden();
    done(
        &env,
        &["prompt", "add", "water", "-c", "one", "-d", "First"],
    );
    done(&env, &["prompt", "update", "water", "-c", "two"]);
    done(
        &env,
        &["prompt", "update", "water", "-c", "three", "-d", "Third"],
    );
    done(
        &env,
        &["prompt", "label", "water", "production", "--version", "1"],
    );
    env
}

#[test]
fn labels_are_set_moved_listed_and_removed() {
    let env = labelled();
    insta::assert_snapshot!(env.run(["prompt", "label", "water", "staging"]), @"
    --- stderr
    `water@staging` is version 3 of prompt `water` in project `garden` now
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["prompt", "label", "water", "staging"]), @"
    --- stderr
    nothing to change: `water@staging` is version 3 of prompt `water` in project `garden` already
    --- exit 0
    ");
    let listed = timeless(&done(&env, &["prompt", "label", "water"]));
    insta::assert_snapshot!(listed, @"
    production  1  [time]  twig
    staging     3  [time]  twig
    ");
    let history = timeless(&done(&env, &["prompt", "history", "water"]));
    insta::assert_snapshot!(history, @"
    1  [time]  create  twig  3 bytes  First  production
    2  [time]  update  twig  3 bytes  First
    3  [time]  update  twig  5 bytes  Third  staging
    ");
    let labels = json(&env, &["prompt", "label", "water", "--json"]);
    assert_eq!(labels[0]["label"], "production");
    assert_eq!(
        (&labels[0]["version"], &labels[0]["protected"]),
        (&json!(1), &json!(false))
    );
    let rows = json(&env, &["prompt", "history", "water", "--json"]);
    assert_eq!(rows[0]["labels"], json!(["production"]));
    assert_eq!(rows[1]["labels"], json!([]));
    assert_eq!(rows[2]["labels"], json!(["staging"]));
    let rows = json(&env, &["prompt", "list", "--json"]);
    assert_eq!(rows[0]["labels"], json!(["staging"]));
    let moved = json(
        &env,
        &[
            "prompt",
            "label",
            "water",
            "production",
            "--version",
            "2",
            "--json",
        ],
    );
    assert_eq!(
        moved,
        json!({"workspace": "default", "project": "garden", "name": "water", "label": "production",
            "version": 2, "removed": false, "changed": true})
    );
    insta::assert_snapshot!(env.run(["prompt", "label", "water", "production", "--remove"]), @"
    --- stderr
    removed label `production` from version 2 of prompt `water` in project `garden`
    --- exit 0
    ");
    insta::assert_snapshot!(refused(&env, &["prompt", "label", "water", "production", "--remove"]), @"
    error: Prompt 'water' has no label 'production'; it has staging
    hint: `twig prompt label water` lists all labels
    ");
    for (label, words) in [
        ("Prod", "lower case"),
        ("3", "lower case"),
        ("a.b", "lower case"),
    ] {
        let said = refused(&env, &["prompt", "label", "water", label]);
        assert!(said.contains(words), "{said}");
    }
    let said = refused(&env, &["prompt", "label", "water", "x", "--version", "9"]);
    assert!(
        said.contains("has no version 9; the last one is 3"),
        "{said}"
    );
    let said = refused(&env, &["prompt", "label", "watr", "x"]);
    assert!(said.contains("did you mean `water`"), "{said}");
}

#[test]
fn a_name_with_a_label_works_wherever_a_name_does() {
    let env = labelled();
    assert_eq!(done(&env, &["prompt", "show", "water@production"]), "one");
    assert_eq!(done(&env, &["prompt", "show", "water@2"]), "two");
    assert_eq!(done(&env, &["prompt", "show", "water"]), "three");
    let selected = ["-p", "garden"];
    let run = |args: &[&str]| done(&env, &[args, &selected].concat());
    assert_eq!(run(&["render", "water@production"]), "one\n");
    assert_eq!(run(&["render", "water"]), "three\n");
    let shown = run(&["show", "water@production"]);
    assert!(shown.contains("First") && shown.contains("one"), "{shown}");
    // Without a selected project, too.
    assert_eq!(done(&env, &["render", "garden:water@production"]), "one\n");
    let history = done(&env, &["prompt", "history", "water@production"]);
    assert!(
        history.starts_with("1 ") && history.lines().count() == 1,
        "{history}"
    );
    let diff = done(&env, &["prompt", "diff", "water", "production"]);
    assert!(diff.contains("-one") && diff.contains("+three"), "{diff}");
    for args in [
        &["render", "water@prod", "-p", "garden"][..],
        &["show", "water@prod", "-p", "garden"],
        &["prompt", "show", "water@prod"],
        &["prompt", "history", "water@prod"],
    ] {
        let said = refused(&env, args);
        let words = "Prompt 'water' has no label 'prod'; it has production";
        assert!(said.contains(words), "{said}");
    }
    let said = refused(&env, &["render", "garden:water@prod"]);
    assert!(
        said.contains("Prompt 'garden:water' has no label 'prod'"),
        "{said}"
    );
}

#[test]
fn labels_are_completed_where_versions_are_shown() {
    let env = labelled();
    let complete = |command| {
        let typed = ["complete", "--", "twig", "prompt", command, "wat"];
        done(&env, &typed)
    };
    let shown = complete("show");
    assert!(shown.contains("water@production"), "{shown}");
    let updated = complete("update");
    assert!(
        updated.contains("water") && !updated.contains('@'),
        "{updated}"
    );
}

#[test]
fn resources_have_labels_as_well() {
    let env = garden();
    let add = ["resource", "add", "map", "--uri", "x:map", "-c", "one"];
    done(&env, &add);
    done(&env, &["resource", "update", "map", "-c", "two"]);
    done(
        &env,
        &["resource", "label", "map", "production", "--version", "1"],
    );
    assert_eq!(done(&env, &["resource", "show", "map@production"]), "one");
    assert_eq!(done(&env, &["resource", "show", "map"]), "two");
}

#[test]
fn labels_of_a_project_are_protected() {
    let env = labelled();
    insta::assert_snapshot!(env.run(["project", "protect", "production", "live"]), @"
    --- stderr
    protected label `production` in project `garden`
    protected label `live` in project `garden`
    --- exit 0
    ");
    assert_eq!(done(&env, &["project", "protect"]), "live\nproduction\n");
    let shown = json(&env, &["project", "show", "garden", "--json"]);
    assert_eq!(shown["protected_labels"], json!(["live", "production"]));
    let labels = json(&env, &["prompt", "label", "water", "--json"]);
    assert_eq!(labels[0]["protected"], true);
    // Whoever has the file is an administrator.
    done(
        &env,
        &["prompt", "label", "water", "production", "--version", "2"],
    );
    insta::assert_snapshot!(env.run(["project", "protect", "live", "--remove"]), @"
    --- stderr
    label `live` in project `garden` is protected no longer
    --- exit 0
    ");
    let left = json(&env, &["project", "protect", "--json"]);
    assert_eq!(
        left,
        json!({"workspace": "default", "project": "garden", "protected_labels": ["production"]})
    );
}

#[test]
fn compacting_keeps_labelled_versions() {
    let env = labelled();
    done(&env, &["workspace", "compact", "--keep", "1", "--yes"]);
    assert_eq!(done(&env, &["prompt", "show", "water@production"]), "one");
    let said = refused(&env, &["prompt", "show", "water", "--version", "2"]);
    assert!(said.contains("versions before 3 were dropped"), "{said}");
}

#[test]
fn an_export_keeps_labels_and_their_versions() {
    let env = labelled();
    done(&env, &["prompt", "label", "water", "staging"]);
    done(&env, &["prompt", "add", "weed", "-c", "Weed"]);
    let folder = env.work().join("folder");
    let path = folder.to_str().expect("UTF-8");
    done(&env, &["project", "export", "garden", path]);
    assert_eq!(
        fs::read_to_string(folder.join("prompts/water@1.md")).expect("exported"),
        "one"
    );
    let first = fs::read_to_string(folder.join("project.json")).expect("exported");
    assert!(first.contains("\"format\": 2"), "{first}");
    done(&env, &["project", "import", path, "--name", "park"]);
    let park = |args: &[&str]| done(&env, &[args, &["-p", "park"]].concat());
    assert_eq!(park(&["prompt", "show", "water@production"]), "one");
    assert_eq!(park(&["prompt", "show", "water@staging"]), "three");
    assert_eq!(park(&["prompt", "show", "water"]), "three");
    let rows = json(
        &env,
        &["prompt", "history", "water", "-p", "park", "--json"],
    );
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    assert_eq!(rows[0]["description"], "First");
    // The same folder again changes nothing, and a label that was moved in the project stays.
    done(&env, &["project", "import", path, "--update"]);
    assert_eq!(
        json(
            &env,
            &["prompt", "label", "-p", "garden", "water", "--json"]
        )[0]["version"],
        1
    );
    done(
        &env,
        &[
            "prompt",
            "label",
            "-p",
            "garden",
            "water",
            "production",
            "--version",
            "2",
        ],
    );
    done(&env, &["project", "import", path, "--update"]);
    assert_eq!(
        json(
            &env,
            &["prompt", "label", "-p", "garden", "water", "--json"]
        )[0]["version"],
        2
    );
    done(
        &env,
        &[
            "prompt",
            "label",
            "-p",
            "garden",
            "water",
            "production",
            "--remove",
        ],
    );
    done(&env, &["project", "import", path, "--update"]);
    assert_eq!(
        json(
            &env,
            &["prompt", "label", "-p", "garden", "water", "--json"]
        )[0]["version"],
        1
    );
    // A file of a version that has no label any more is removed.
    done(
        &env,
        &["prompt", "label", "-p", "garden", "water", "production"],
    );
    done(&env, &["project", "export", "garden", path]);
    assert!(!folder.join("prompts/water@1.md").exists());
}
