//! `twig library add`, `remove` and `--detect`, and commands on what was added.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use twig_testkit::{TestEnv, write_fixture};

use crate::TWIG;

/// A home with commands of one client, and a project with those of two.
fn machine() -> TestEnv {
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.home(),
        "//- .claude/commands/commit.md\n---\ndescription: Write a commit message\n---\nCommit.\n",
    );
    write_fixture(
        &env.work(),
        "//- .git/HEAD\nref\n\
         //- .claude/commands/fix.md\n---\ndescription: Fix it\n---\nFix.\n\
         //- .cursor/commands/ship.md\nShip it.\n\
         //- .gemini/commands/notes.txt\nno command\n",
    );
    env
}

fn config(env: &TestEnv) -> PathBuf {
    env.home().join(".config/twig/config.toml")
}

fn configured(env: &TestEnv) -> String {
    fs::read_to_string(config(env)).unwrap_or_default()
}

fn json(env: &TestEnv, args: &[&str]) -> Value {
    let outcome = env.run(args.iter().copied());
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{outcome}"))
}

#[test]
fn a_folder_is_added_served_and_forgotten() {
    let env = machine();
    insta::assert_snapshot!(env.run(["library", "add", "."]), @"
    claude  claude  1 prompt      [work]/.claude/commands
    cursor  cursor  1 prompt      [work]/.cursor/commands
    --- stderr
    added [work]
    --- exit 0
    ");
    let written = format!("[[libraries]]\npath = \"{}\"\n", env.work().display());
    assert_eq!(configured(&env), written);
    insta::assert_snapshot!(env.run(["library", "list"]), @"
    claude  claude  1 prompt   [work]/.claude/commands  from the configuration
    gemini  gemini  0 prompts  [work]/.gemini/commands  from the configuration
    cursor  cursor  1 prompt   [work]/.cursor/commands  from the configuration
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["library", "add", "."]), @"
    --- stderr
    [work] was added before, and nothing changed
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["library", "add", ".claude/commands"]), @"
    --- stderr
    what is in [work]/.claude/commands is served already, and nothing changed
    --- exit 0
    ");
    assert_eq!(configured(&env), written);
    insta::assert_snapshot!(env.run(["library", "remove", "cursr"]), @"
    --- stderr
    error: no library `cursr` was added, nor a folder of that name
    hint: did you mean `cursor`?
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["library", "remove", "cursor"]), @"
    --- stderr
    [work] is no longer served; its files were not changed
    --- exit 0
    ");
    assert_eq!(configured(&env), "");
    assert!(env.work().join(".cursor/commands/ship.md").exists());
}

#[test]
fn what_else_is_in_the_configuration_stays() {
    let env = machine();
    let before = "# my settings\nseparator = \"-\"   # dash\n\n[limits]\n# few\npage = 50\n";
    env.configure(before);
    assert_eq!(env.run(["library", "add", "~/nowhere"]).code, 1);
    assert_eq!(configured(&env), before);
    let home = env.home().join(".claude/commands");
    let home = home.to_str().expect("UTF-8");
    assert_eq!(env.run(["library", "add", home, "--name", "mine"]).code, 0);
    let after =
        format!("{before}\n[[libraries]]\npath = \"~/.claude/commands\"\nname = \"mine\"\n");
    assert_eq!(configured(&env), after);
    let rows = json(&env, &["library", "list", "--json"]);
    assert_eq!(rows[0]["name"], "mine");
    assert_eq!(rows[0]["origin"], "configuration");
    assert_eq!(env.run(["library", "remove", "mine"]).code, 0);
    assert_eq!(configured(&env), before);
}

#[test]
fn commands_work_on_what_was_added() {
    let env = machine();
    assert_eq!(env.run(["library", "add", "."]).code, 0);
    let listed = env.run(["list"]).stdout;
    assert!(
        listed.contains("fix") && listed.contains("Fix it"),
        "{listed}"
    );
    assert!(env.run(["show", "fix"]).stdout.contains("Fix it"));
    assert_eq!(env.run(["render", "fix"]).stdout.trim_end(), "Fix.");
    assert!(env.run(["search", "commit"]).stdout.is_empty());
    assert!(env.run(["search", "fix"]).stdout.contains("fix"));
    assert_eq!(env.run(["check"]).code, 0);
    let doctor = env.run(["doctor"]).stdout;
    assert!(doctor.contains("[work]/.claude/commands"), "{doctor}");
    let mut client = env.serve();
    let list = client.request("prompts/list", serde_json::json!({}));
    assert_eq!(list["result"]["prompts"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_folder_with_nothing_to_read_is_refused() {
    let env = machine();
    fs::create_dir(env.work().join("empty")).expect("writable");
    insta::assert_snapshot!(env.run(["library", "add", "empty"]), @"
    --- stderr
    error: [work]/empty was not added: [work]/empty has no twig.toml and no prompts of a client, nor has a folder in it
    hint: say how to read it with --kind, or name another folder
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["library", "add", ".gemini/commands"]), @"
    --- stderr
    error: [work]/.gemini/commands was not added: [work]/.gemini/commands has no file that is read as a prompt of kind `gemini`
    hint: say how to read it with --kind, or name another folder
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["library", "add", "nowhere"]), @"
    --- stderr
    error: there is nothing at [work]/nowhere
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["library", "add", ".cursor/commands/ship.md"]), @"
    --- stderr
    error: [work]/.cursor/commands/ship.md was not added: it is a file, and libraries are folders
    hint: name the folder that holds it
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["library", "add", "/"]), @"
    --- stderr
    error: / was not added: it is the root of the file system
    hint: name the folder that holds your prompts
    --- exit 1
    ");
    assert_eq!(env.run(["library", "add"]).code, 2);
    assert_eq!(
        env.run(["library", "add", ".", "--name", "My Name"]).code,
        2
    );
    assert!(!config(&env).exists());
}

#[test]
fn what_clients_keep_is_found_and_added() {
    let env = machine();
    insta::assert_snapshot!(env.run(["library", "add", "--detect"]), @"
    1.  claude       claude  1 prompt        ~/.claude/commands
    2.  work_claude  claude  1 prompt        [work]/.claude/commands  only in [work]
    3.  cursor       cursor  1 prompt        [work]/.cursor/commands  only in [work]
    --- stderr
    error: nothing was added: this is not a terminal, so you cannot pick
    hint: use --yes to add all of them, or `twig library add PATH`
    --- exit 1
    ");
    assert!(!config(&env).exists());
    let rows = json(&env, &["library", "add", "--detect", "--json"]);
    assert_eq!(rows.as_array().map(Vec::len), Some(3));
    assert_eq!(rows[1]["added"], false);
    assert!(!config(&env).exists());
    let home = env.home().join(".claude/commands");
    assert_eq!(
        env.run(["library", "add", home.to_str().expect("UTF-8")])
            .code,
        0
    );
    insta::assert_snapshot!(env.run(["library", "add", "--detect", "--yes"]), @"
    1.  claude       claude  1 prompt      added  ~/.claude/commands
    2.  work_claude  claude  1 prompt             [work]/.claude/commands  only in [work]
    3.  cursor       cursor  1 prompt             [work]/.cursor/commands  only in [work]
    --- stderr
    added 2 folders; `twig list` shows what is in them
    --- exit 0
    ");
    let before = configured(&env);
    assert_eq!(before.matches("[[libraries]]").count(), 3);
    insta::assert_snapshot!(env.run(["library", "add", "--detect", "--yes"]), @"
    1.  claude       claude  1 prompt      added  ~/.claude/commands
    2.  work_claude  claude  1 prompt      added  [work]/.claude/commands  only in [work]
    3.  cursor       cursor  1 prompt      added  [work]/.cursor/commands  only in [work]
    --- stderr
    all of these were added before
    --- exit 0
    ");
    assert_eq!(configured(&env), before);
}

#[test]
fn a_name_that_was_announced_stays_when_another_library_goes() {
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.work(),
        "//- n1/.claude/commands/deploy.md\nOne.\n\
         //- n2/.claude/commands/deploy.md\nTwo.\n",
    );
    insta::assert_snapshot!(env.run(["library", "add", "n1", "n2"]), @"
    claude     claude  1 prompt      [work]/n1/.claude/commands
    n2_claude  claude  1 prompt      [work]/n2/.claude/commands
    --- stderr
    added [work]/n1
    added [work]/n2
    --- exit 0
    ");
    assert!(configured(&env).ends_with("n2\"\nname = \"n2_claude\"\n"));
    assert_eq!(env.run(["library", "remove", "n1"]).code, 0);
    assert_eq!(env.run(["render", "n2_claude:deploy"]).code, 0);
    assert_eq!(env.run(["render", "claude:deploy"]).code, 1);
}

#[test]
fn a_home_gives_the_folders_of_its_clients() {
    let env = machine();
    write_fixture(
        &env.home(),
        "//- code/skills/pdf/SKILL.md\n---\nname: pdf\n---\nRead.\n",
    );
    let home = env.home();
    let home = home.to_str().expect("UTF-8");
    insta::assert_snapshot!(env.run(["library", "add", home]), @"
    claude  claude  1 prompt      ~/.claude/commands
    --- stderr
    added ~
    --- exit 0
    ");
}

#[test]
fn the_project_is_looked_at_up_to_its_repository_and_no_further() {
    let env = machine();
    let deep = env.work().join("src/deep");
    fs::create_dir_all(&deep).expect("writable");
    write_fixture(env.root(), "//- .claude/commands/above.md\nAbove.\n");
    let find = |folder: &PathBuf| {
        let mut command = env.command(["library", "add", "--detect", "--json"]);
        let output = command.current_dir(folder).output().expect("it starts");
        let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let paths = rows.as_array().expect("rows").iter();
        let paths = paths.map(|row| row["path"].as_str().unwrap_or_default().to_owned());
        paths.collect::<Vec<String>>()
    };
    let show = |path: PathBuf| path.display().to_string();
    let home = show(env.home().join(".claude/commands"));
    let expected = [
        home.clone(),
        show(env.work().join(".claude/commands")),
        show(env.work().join(".cursor/commands")),
    ];
    assert_eq!(find(&deep), expected);
    fs::remove_dir_all(env.work().join(".git")).expect("writable");
    assert_eq!(find(&deep), [home.as_str()]);
    assert_eq!(find(&env.home()), [home]);
}

#[test]
fn a_mistake_in_the_list_of_libraries_is_told_with_its_line() {
    let env = machine();
    for (text, expected) in [
        (
            "libraries = 1\n",
            "config.toml:1: `libraries` has to be tables",
        ),
        (
            "\n[[libraries]]\nkind = \"claude\"\n",
            "a library under [[libraries]] needs a `path`",
        ),
        (
            "[[libraries]]\npath = \"/a\"\nkind = \"cluade\"\n",
            "config.toml:3: unknown kind `cluade`; did you mean `claude`?",
        ),
        (
            "[[libraries]]\npath = \"/a\"\nname = \"A b\"\n",
            "config.toml:3: `A b` is not a valid library name; `a_b` is one",
        ),
        (
            "[[libraries]]\npath = \"/a\"\nfirst_argument = 2\n",
            "config.toml:3: `first_argument` is the number of the first argument: 0 or 1",
        ),
        (
            "[[libraries]]\npath = \"/a\"\npaht = 2\n",
            "config.toml:3: unknown setting `paht` of a library; did you mean `path`?",
        ),
        (
            "[[libraries]]\npath = \"/a\"\nhide = [\"x\"]\n",
            "config.toml:3: `hide` is not a setting of a library: put it above the first [[libraries]]",
        ),
    ] {
        env.configure(text);
        for args in [["list"].as_slice(), &["library", "add", "."]] {
            let outcome = env.run(args.iter().copied());
            assert_eq!(outcome.code, 1, "{text}");
            assert!(
                outcome.stderr.contains(expected),
                "{text}: {}",
                outcome.stderr
            );
        }
        assert_eq!(configured(&env), text);
    }
}

#[test]
fn a_folder_that_is_gone_is_a_warning_and_the_rest_is_served() {
    let env = machine();
    env.configure("[[libraries]]\npath = \"~/gone\"\n\n[[libraries]]\npath = \"~/.claude\"\n");
    assert!(env.run(["list"]).stdout.contains("commit"));
    let check = env.run(["check"]);
    assert_eq!(check.code, 0, "{check}");
    assert!(
        check.stdout.contains("there is no folder ~/gone"),
        "{check}"
    );
    assert_eq!(env.run(["library", "remove", "~/gone"]).code, 0);
    assert_eq!(configured(&env), "\n[[libraries]]\npath = \"~/.claude\"\n");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_the_person_picks() {
    use std::io::Write;
    use std::process::Stdio;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    for (answer, count) in [("2-3\n", 2), ("all\n", 3), ("\n", 0), ("7\nfoo\n2\n", 1)] {
        let env = machine();
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&controller).expect("ours");
        unlockpt(&controller).expect("ours");
        let name = ptsname(&controller, Vec::new()).expect("a name");
        let name = name.to_str().expect("UTF-8").to_owned();
        let input = fs::File::options().read(true).write(true).open(name);
        let mut typed = fs::File::from(controller);
        typed.write_all(answer.as_bytes()).expect("it takes a line");
        let mut command = env.command(["library", "add", "--detect"]);
        command.stdin(Stdio::from(input.expect("the other end")));
        let output = command.output().expect("it starts");
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(talk.contains("which to add?"), "{talk}");
        assert_eq!(
            configured(&env).matches("path").count(),
            count,
            "{answer} {talk}"
        );
        assert!(output.status.success(), "{talk}");
        let again = "> `7` is not a number from 1 to 3\n> `foo` is not a number from 1 to 3\n> ";
        assert_eq!(talk.contains(again), answer.starts_with('7'), "{talk}");
    }
}

#[test]
fn a_broken_manifest_is_named_with_its_line() {
    let env = TestEnv::new(crate::TWIG);
    let folder = env.work().join("mine");
    fs::create_dir_all(&folder).expect("ours");
    fs::write(folder.join("twig.toml"), "[prompts.a]\ntitle = [\n").expect("ours");
    let outcome = env.run(["library", "add", "mine"]);
    insta::assert_snapshot!(outcome, @"
    mine  twig  0 prompts    1 problem  [work]/mine
    --- stderr
    error: [work]/mine/twig.toml:2: twig.toml is not valid TOML: unclosed array, expected `]`
    added [work]/mine
    hint: run `twig check` to see what is wrong
    --- exit 0
    ");
}
