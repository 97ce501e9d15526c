//! `twig project import --update`: the changes of a folder come back.

use std::fs;

use twig_testkit::TestEnv;

use crate::store_cli::{done, garden, json};

/// A project of three prompts and a resource, exported to `out`.
fn exported() -> TestEnv {
    let env = garden();
    for name in ["feed", "water", "weed"] {
        done(&env, &["prompt", "add", name, "-c", "one", "-d", "What"]);
    }
    done(
        &env,
        &[
            "resource",
            "add",
            "map",
            "--uri",
            "file:///map.md",
            "-c",
            "# Beds",
        ],
    );
    done(&env, &["project", "export", "garden", "out"]);
    env
}

#[test]
fn what_changed_in_the_folder_becomes_versions() {
    let env = exported();
    fs::write(env.work().join("out/prompts/water.md"), "two").unwrap();
    let manifest = env.work().join("out/project.json");
    let text = fs::read_to_string(&manifest).unwrap();
    // A colleague adds a prompt and describes another one, by hand.
    let text = text.replacen("\"description\": \"What\"", "\"description\": \"When\"", 1);
    let text = text.replace(
        "\"prompts\": [",
        "\"prompts\": [\n    {\"name\": \"dig\", \"file\": \"prompts/dig.md\"},",
    );
    fs::write(&manifest, text).unwrap();
    fs::write(env.work().join("out/prompts/dig.md"), "Dig").unwrap();
    // Meanwhile someone changes another one in the project, and adds one.
    done(&env, &["prompt", "update", "weed", "-c", "own"]);
    done(&env, &["prompt", "add", "prune", "-c", "own"]);

    insta::assert_snapshot!(env.run(["project", "import", "out", "--update", "--dry-run"]), @"
    new      prompt dig    prompts/dig.md
    changed  prompt feed   prompts/feed.md
    changed  prompt water  prompts/water.md
    kept     prompt weed   prompts/weed.md   newer in the project
    --- stderr
    would update project `garden` in workspace `default`: 1 new, 2 changed, 1 kept, 1 unchanged
    hint: `twig project export garden [work]/out` writes what only the project has to the folder
    --- exit 0
    ");
    assert_eq!(done(&env, &["prompt", "show", "water"]), "one");
    insta::assert_snapshot!(env.run(["project", "import", "out", "--update"]), @"
    new      prompt dig    prompts/dig.md
    changed  prompt feed   prompts/feed.md
    changed  prompt water  prompts/water.md
    kept     prompt weed   prompts/weed.md   newer in the project
    --- stderr
    updated project `garden` in workspace `default`: 1 new, 2 changed, 1 kept, 1 unchanged
    hint: `twig project export garden [work]/out` writes what only the project has to the folder
    --- exit 0
    ");
    assert_eq!(done(&env, &["prompt", "show", "water"]), "two");
    assert_eq!(done(&env, &["prompt", "show", "dig"]), "Dig");
    assert_eq!(done(&env, &["prompt", "show", "weed"]), "own");
    let history = json(&env, &["prompt", "history", "water", "--json"]);
    assert_eq!(history.as_array().unwrap().len(), 2);
    let feed = json(&env, &["prompt", "show", "feed", "--json"]);
    assert_eq!(
        (&feed["description"], &feed["version"]),
        (&"When".into(), &2.into())
    );

    // The export brings the folder up to date, and then there is nothing to do.
    done(&env, &["project", "export", "garden", "out"]);
    let update = json(&env, &["project", "import", "out", "--update", "--json"]);
    assert_eq!(
        (&update["unchanged"], &update["written"]),
        (&6.into(), &true.into())
    );
    for none in ["created", "updated", "kept", "conflicts"] {
        assert_eq!(update[none], serde_json::json!([]), "{none}");
    }
}

#[test]
fn a_conflict_changes_nothing_until_a_side_is_chosen() {
    let env = exported();
    fs::write(env.work().join("out/prompts/water.md"), "folder").unwrap();
    fs::write(env.work().join("out/prompts/feed.md"), "folder").unwrap();
    fs::write(env.work().join("out/prompts/weed.md"), "folder").unwrap();
    done(&env, &["prompt", "update", "water", "-c", "project"]);
    done(&env, &["prompt", "delete", "feed", "-f"]);
    let update = ["project", "import", "out", "--update"];
    insta::assert_snapshot!(env.run(update), @"
    changed   prompt weed   prompts/weed.md
    conflict  prompt feed   prompts/feed.md   changed in the folder, deleted in the project
    conflict  prompt water  prompts/water.md  changed in the folder and in the project
    --- stderr
    error: nothing was changed: 2 conflicts between [work]/out and project `garden`
    hint: `--prefer folder` takes the folder's side of each conflict, `--prefer project` the project's
    --- exit 1
    ");
    assert_eq!(done(&env, &["prompt", "show", "weed"]), "one");
    let outcome = env.run([&update[..], &["--json"]].concat());
    assert_eq!(outcome.code, 1);
    let row: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(row["written"], false);
    assert_eq!(
        row["conflicts"],
        serde_json::json!([
            {"kind": "prompt", "name": "feed", "file": "prompts/feed.md", "reason": "deleted"},
            {"kind": "prompt", "name": "water", "file": "prompts/water.md", "reason": "both-changed"},
        ])
    );

    done(&env, &[&update[..], &["--prefer", "project"]].concat());
    assert_eq!(done(&env, &["prompt", "show", "water"]), "project");
    assert_eq!(done(&env, &["prompt", "show", "weed"]), "folder");
    done(&env, &[&update[..], &["--prefer", "folder"]].concat());
    assert_eq!(done(&env, &["prompt", "show", "water"]), "folder");
    assert_eq!(done(&env, &["prompt", "show", "feed"]), "folder");
    // What was there is a version.
    let before = ["prompt", "show", "water", "--version", "2"];
    assert_eq!(done(&env, &before), "project");
}

#[test]
fn an_update_of_a_project_that_is_not_there_creates_it() {
    let env = exported();
    let update = ["project", "import", "out", "--update", "--name", "park"];
    insta::assert_snapshot!(env.run([&update[..], &["--dry-run"]].concat()), @"
    --- stderr
    error: Project 'park' does not exist in workspace 'default'
    hint: make it with `twig project create park`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(update), @"
    --- stderr
    imported project `park`: 3 prompts, 1 resource
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["project", "import", "out"]), @"
    --- stderr
    error: Project 'garden' already exists in workspace 'default'
    hint: bring the folder's changes into it with `--update`, or give the folder's another name with `--name NAME`
    --- exit 1
    ");
}

#[test]
fn a_file_without_an_entry_is_named() {
    let env = exported();
    fs::write(env.work().join("out/prompts/mulch.md"), "Mulch").unwrap();
    fs::write(env.work().join("out/prompts/.hidden"), "x").unwrap();
    insta::assert_snapshot!(env.run(["project", "import", "out", "--update"]), @"
    ignored  -  prompts/mulch.md  is not listed in project.json, and was not imported
    --- stderr
    updated project `garden` in workspace `default`: 0 new, 0 changed, 0 kept, 4 unchanged
    hint: `twig prompt add NAME -p garden -c @[work]/out/prompts/mulch.md` adds prompts/mulch.md to the project
    --- exit 0
    ");
    let update = json(&env, &["project", "import", "out", "--update", "--json"]);
    assert_eq!(
        update["without_entry"],
        serde_json::json!(["prompts/mulch.md"])
    );
    // A resource needs its address, too.
    fs::write(env.work().join("out/resources/soil.md"), "Soil").unwrap();
    fs::remove_file(env.work().join("out/prompts/mulch.md")).unwrap();
    let update = env.run(["project", "import", "out", "--update"]);
    assert!(
        update
            .stderr
            .contains("`twig resource add NAME -p garden --uri URI -c @"),
        "{update}"
    );
    fs::write(env.work().join("out/prompts/mulch.md"), "Mulch").unwrap();
    // The hint works.
    let file = format!("@{}", env.work().join("out/prompts/mulch.md").display());
    done(
        &env,
        &["prompt", "add", "mulch", "-p", "garden", "-c", &file],
    );
    assert_eq!(done(&env, &["prompt", "show", "mulch"]), "Mulch");
}
