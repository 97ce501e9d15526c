//! A repository's own `config.toml`: what it may hold, and what it may not.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv, write_fixture};

const REPOSITORY: &str = "\
//- .twig/twig.toml
[prompts.ship]

[prompts.plan]
//- .twig/prompts/ship.md
Ship it.
//- .twig/prompts/plan.md
Plan it.
//- tools/twig.toml
[prompts.lint]

[prompts.old]
//- tools/prompts/lint.md
Lint it.
//- tools/prompts/old.md
Old.
//- .claude/commands/deploy.md
Deploy $1.
";

fn shop(config: &str) -> TestEnv {
    let env = crate::env("");
    write_fixture(&env.work(), REPOSITORY);
    configure(&env, config);
    env
}

fn configure(env: &TestEnv, config: &str) {
    fs::write(env.work().join(".twig/config.toml"), config).expect("ours");
}

fn names(env: &TestEnv) -> Vec<String> {
    let outcome = env.run(["list", "--names"]);
    outcome.stdout.lines().map(str::to_owned).collect()
}

fn listed(client: &mut TestClient) -> Vec<String> {
    let answer = client.request("prompts/list", json!({}));
    let prompts = answer["result"]["prompts"].as_array().expect("prompts");
    let name = |prompt: &Value| prompt["name"].as_str().expect("a name").to_owned();
    prompts.iter().map(name).collect()
}

#[test]
fn a_repository_lists_its_own_libraries() {
    let env = shop(
        "[[libraries]]\npath = \"../tools\"\nname = \"kit\"\n\n[[libraries]]\npath = \"../.claude/commands\"\nfirst_argument = 1\n",
    );
    assert_eq!(
        names(&env),
        ["claude:deploy", "kit:lint", "kit:old", "plan", "ship"]
    );
    let check = env.run(["check", "--strict"]);
    assert_eq!(check.code, 0, "{check}");
    // They are part of what it exports, and of nothing else.
    configure(
        &env,
        "[export]\nto = [\"cursor\"]\nonly = [\"kit\", \"ship\"]\n\n[[libraries]]\npath = \"../tools\"\nname = \"kit\"\n",
    );
    env.write("own/twig.toml", "[prompts.mine]\ntext = \"x\"\n");
    let export = env.run(["export"]);
    assert_eq!(export.code, 0, "{export}");
    let files = fs::read_dir(env.work().join(".cursor/commands")).expect("written");
    let files = files.map(|file| file.expect("readable").file_name().into_string());
    let mut files: Vec<String> = files.map(|name| name.expect("UTF-8")).collect();
    files.sort();
    assert_eq!(files, ["lint.md", "old.md", "ship.md"]);
}

#[test]
fn a_library_of_the_user_keeps_its_name() {
    let env = shop("[[libraries]]\npath = \"../tools\"\n");
    env.write("tools/twig.toml", "[prompts.lint]\ntext = \"Mine.\"\n");
    let render = env.run(["render", "tools:lint"]);
    assert_eq!(render.stdout, "Mine.\n", "{render}");
}

#[test]
fn anything_else_is_a_problem_and_the_rest_counts() {
    let env = shop(
        "separator = \"/\"\nhide = [\"plan\", 3]\n\n[library]\ntitle = \"Shop\"\n\n[limits]\nmessage = 1\n\n[[libraries]]\npath = \"../../elsewhere\"\n\n[[libraries]]\npath = \"~/private\"\n\n[[libraries]]\npath = \"../gone\"\n\n[[libraries]]\npath = \"../tools\"\nknd = \"twig\"\n",
    );
    insta::assert_snapshot!(env.run(["check"]), @r#"
    error[missing-library]: there is no folder [work]/gone
      --> .twig/config.toml:17
       = help: check the path, or create the folder

    warning[unknown-field]: unknown field `separator` in a repository's configuration is ignored
     --> .twig/config.toml:1:1
      |
    1 | separator = "/"
      | ^^^^^^^^^

    error[wrong-type]: `hide` has to be a list of strings, not a number
     --> .twig/config.toml:2:17
      |
    2 | hide = ["plan", 3]
      |                 ^

    warning[unknown-field]: [library] is ignored here: twig.toml describes the library
     --> .twig/config.toml:4:1
      |
    4 | [library]
      | ^^^^^^^^^
      = help: move it to twig.toml

    warning[unknown-field]: unknown field `limits` in a repository's configuration is ignored
     --> .twig/config.toml:7:2
      |
    7 | [limits]
      |  ^^^^^^

    error[outside-library]: `../../elsewhere` is not a folder inside this repository
      --> .twig/config.toml:11:8
       |
    11 | path = "../../elsewhere"
       |        ^^^^^^^^^^^^^^^^^
       = help: write it from the folder of this file on, such as "../prompts"; folders elsewhere belong in your own configuration

    error[outside-library]: `~/private` is not a folder inside this repository
      --> .twig/config.toml:14:8
       |
    14 | path = "~/private"
       |        ^^^^^^^^^^^
       = help: write it from the folder of this file on, such as "../prompts"; folders elsewhere belong in your own configuration

    warning[unknown-field]: unknown field `knd` in [[libraries]] is ignored
      --> .twig/config.toml:21:1
       |
    21 | knd = "twig"
       | ^^^
       = help: did you mean `kind`?
    --- stderr
    checked 4 prompts in 2 libraries: 4 errors, 4 warnings
    --- exit 1
    "#);
    assert_eq!(names(&env), ["ship", "tools:lint", "tools:old"]);
    let doctor = env.run(["doctor"]);
    assert!(doctor.stdout.contains("separator"), "{doctor}");
    let mut client = env.serve();
    client.initialize();
    assert_eq!(listed(&mut client), ["ship", "tools:lint", "tools:old"]);
    let log = client.close().stderr;
    assert!(log.contains("unknown field `separator`"), "{log}");
    assert!(log.contains("elsewhere"), "{log}");
    // Without a twig.toml it describes the library itself.
    fs::remove_file(env.work().join(".twig/twig.toml")).expect("ours");
    configure(&env, "[library]\ntitle = \"Shop\"\n");
    let check = env.run(["check", "--strict"]);
    assert_eq!(check.code, 0, "{check}");
}

#[test]
fn symlinks_out_of_the_repository_are_refused() {
    let env = shop("[[libraries]]\npath = \"../out\"\n\n[[libraries]]\npath = \"../libs\"\n");
    env.write("private/twig.toml", "[prompts.secret]\ntext = \"x\"\n");
    let private = env.data().join("private");
    let env = {
        // The data folder is not served here.
        let elsewhere = env.root().join("elsewhere");
        fs::rename(&private, &elsewhere).expect("ours");
        symlink(&elsewhere, env.work().join("out")).expect("ours");
        fs::create_dir(env.work().join("libs")).expect("ours");
        symlink(&elsewhere, env.work().join("libs/evil")).expect("ours");
        symlink("../tools", env.work().join("libs/kit")).expect("ours");
        env
    };
    assert_eq!(names(&env), ["kit:lint", "kit:old", "plan", "ship"]);
    insta::assert_snapshot!(env.run(["check"]), @"
    error[outside-library]: [work]/out is ignored: it is a symlink to a folder outside the repository
     --> .twig/config.toml:2

    error[outside-library]: [work]/libs/evil is ignored: it is a symlink to a folder outside the repository
     --> .twig/config.toml:5
    --- stderr
    checked 4 prompts in 2 libraries: 2 errors
    --- exit 1
    ");
}

#[test]
fn a_running_server_follows_the_configuration() {
    let env = shop("");
    let mut client = env.serve();
    client.initialize();
    assert_eq!(listed(&mut client), ["plan", "ship"]);
    configure(
        &env,
        "pin = [\"ship\"]\n\n[[libraries]]\npath = \"../tools\"\n",
    );
    client.notification("notifications/prompts/list_changed");
    assert_eq!(
        listed(&mut client),
        ["ship", "plan", "tools:lint", "tools:old"]
    );
    configure(
        &env,
        "hide = [\"tools:o*\"]\n\n[[libraries]]\npath = \"../tools\"\n",
    );
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["plan", "ship", "tools:lint"]);
    configure(&env, "");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["plan", "ship"]);
}

#[test]
fn a_configuration_that_is_half_saved_changes_nothing() {
    let good = "hide = [\"plan\"]\n\n[[libraries]]\npath = \"../tools\"\n";
    let env = shop(good);
    let mut client = env.serve();
    client.initialize();
    assert_eq!(listed(&mut client), ["ship", "tools:lint", "tools:old"]);
    configure(&env, &format!("{good}[[libraries\n"));
    fs::write(env.work().join("tools/twig.toml"), "[prompts.lint]\n").expect("ours");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["ship", "tools:lint"]);
    configure(&env, "hide = [\"plan\"]\n");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(listed(&mut client), ["ship"]);
}

#[test]
fn a_pattern_with_many_stars_is_refused() {
    let stars = "*a".repeat(9);
    let env = shop(&format!("hide = [\"{stars}\", \"p*l*a*n*\"]\n"));
    insta::assert_snapshot!(env.run(["check"]), @r#"
    error[bad-setting]: an entry of `hide` has more than 8 `*` and is ignored
     --> .twig/config.toml:1:9
      |
    1 | hide = ["*a*a*a*a*a*a*a*a*a", "p*l*a*n*"]
      |         ^^^^^^^^^^^^^^^^^^^^
    --- stderr
    checked 2 prompts in 1 library: 1 error
    --- exit 1
    "#);
    assert_eq!(names(&env), ["ship"]);
}

#[test]
fn hidden_prompts_are_not_listed_and_stay_in_reach() {
    let env =
        shop("hide = [\"plan\"]\npin = [\"tools:old\"]\n\n[[libraries]]\npath = \"../tools\"\n");
    env.write(
        "own/twig.toml",
        "[prompts.plan]\ntext = \"Own plan.\"\n\n[prompts.zero]\ntext = \"Zero.\"\n",
    );
    // A repository's rules are for its own libraries.
    assert_eq!(
        names(&env),
        ["tools:old", "own:plan", "own:zero", "ship", "tools:lint"]
    );
    insta::assert_snapshot!(env.run(["list", "--all"]), @"
    own:plan
    own:zero
    plan          (hidden)
    ship
    tools:lint
    tools:old
    --- exit 0
    ");
    // The user's own come first.
    env.configure("hide = [\"own\", \"tools:old\"]\npin = [\"plan\"]\n");
    assert_eq!(names(&env), ["plan", "ship", "tools:lint"]);
    insta::assert_snapshot!(env.run(["list"]), @"
    plan
    ship
    tools:lint
    --- stderr
    hint: 3 prompts are hidden; `twig list --all` lists all of them
    --- exit 0
    ");
    let all = env.run(["list", "--all", "--json"]);
    let rows: Value = serde_json::from_str(&all.stdout).expect("JSON");
    let hidden = rows.as_array().expect("a list").iter();
    let hidden = hidden.filter(|row| row["hidden"] == true);
    let hidden: Vec<&str> = hidden.filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(hidden, ["own:plan", "own:zero", "tools:old"]);
    assert_eq!(env.run(["render", "own:zero"]).stdout, "Zero.\n");
    assert!(env.run(["search", "zero"]).stdout.contains("own:zero"));
    let mut client = env.serve();
    client.initialize();
    assert_eq!(listed(&mut client), ["plan", "ship", "tools:lint"]);
    let got = client.request("prompts/get", json!({"name": "own:zero"}));
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "Zero.");
    let tools = client.request(
        "tools/call",
        json!({"name": "list_prompts", "arguments": {}}),
    );
    assert!(tools.to_string().contains("own:zero"), "{tools}");
    // A change reaches the server.
    env.configure("hide = [\"ship\"]\n");
    client.notification("notifications/prompts/list_changed");
    assert_eq!(
        listed(&mut client),
        ["tools:old", "own:plan", "own:zero", "tools:lint"]
    );
    env.configure("hide = \"ship\"\n");
    let broken = env.run(["list"]);
    assert_eq!(broken.code, 1, "{broken}");
    assert!(
        broken.stderr.contains("config.toml:1: `hide` is a list"),
        "{broken}"
    );
}
