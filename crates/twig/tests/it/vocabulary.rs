//! The words of the command line: one word means one thing in every command.

use std::fs;

use serde_json::Value;
use twig_testkit::{TestEnv, write_fixture};

use crate::{TWIG, env};

/// Two libraries; a prompt of one uses the other.
const TWO: &str = r#"
//- team/twig.toml
[prompts.review]
description = "Reviews"

[prompts.plan]
description = "Plans"

[prompts.cites]
[[prompts.cites.messages]]
resource = "twig://own/guide"
//- team/prompts/review.md
{% include "own:hello" %} Review.
//- team/prompts/plan.md
Plan.
//- team/docs/rules.md
# Rules
//- own/twig.toml
[prompts.hello]
description = "Says hello"

[prompts.broken]
//- own/prompts/hello.md
Hello.
//- own/prompts/broken.md
{{ oops }}
//- own/docs/guide.md
# Guide
"#;

fn names(env: &TestEnv, args: &[&str]) -> Vec<String> {
    let outcome = env.run(["list", "--json"].iter().chain(args).copied());
    assert_eq!(outcome.code, 0, "{outcome}");
    let rows: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row["name"].as_str().expect("a name").to_owned())
        .collect()
}

const TEAM: [&str; 3] = ["team:cites", "team:plan", "team:review"];
const OWN: [&str; 2] = ["own:broken", "own:hello"];

#[test]
fn only_names_libraries_or_prompts() {
    let env = env(TWO);
    assert_eq!(names(&env, &["--only", "team"]), TEAM);
    assert_eq!(names(&env, &["team"]), TEAM);
    assert_eq!(names(&env, &["--only", "Team"]), TEAM);
    assert_eq!(names(&env, &["o*"]), OWN);
    assert_eq!(names(&env, &["--only", "own,team"]).len(), 5);
    assert_eq!(
        names(&env, &["--only", "own", "--only", "team:p*"]),
        ["own:broken", "own:hello", "team:plan"]
    );
    assert_eq!(names(&env, &["own:hello"]), ["own:hello"]);
    for (args, stderr) in [
        (
            ["list", "taem"],
            "error: nothing matches `taem`\nhint: did you mean `team`?\n",
        ),
        (
            ["check", "review"],
            "error: nothing matches `review`\nhint: a prompt is named with its library: `team:review`\n",
        ),
        (
            ["list", "team:revue"],
            "error: nothing matches `team:revue`\nhint: did you mean `team:review`?\n",
        ),
        (
            ["list", "zzzzzz"],
            "error: nothing matches `zzzzzz`\nhint: libraries: own, team\n",
        ),
        (
            ["check", "./nowhere"],
            "error: there is nothing at [work]/nowhere\n",
        ),
    ] {
        let outcome = env.run(args);
        assert_eq!((outcome.stderr.as_str(), outcome.code), (stderr, 1));
    }
}

#[test]
fn an_existing_path_wins_over_a_name() {
    let env = env(TWO);
    write_fixture(
        &env.work(),
        "//- team/twig.toml\n[prompts.here]\n//- team/prompts/here.md\nHi.\n",
    );
    assert_eq!(names(&env, &["team"]), ["team:here"]);
    assert_eq!(names(&env, &["./team", "own"]).len(), 3);
    let outcome = env.run(["check", "team"]);
    assert!(outcome.stderr.contains("checked 1 prompt in 1 library"));
    let inner = env.run(["check", "team/prompts/here.md"]);
    assert!(inner.stderr.contains("checked 1 prompt in 1 library"));
}

#[test]
fn what_is_not_offered_can_still_be_included_and_embedded() {
    let env = env(TWO);
    let only = ["--only", "team"];
    let run = |args: &[&str]| env.run(args.iter().chain(&only).copied());
    assert_eq!(run(&["render", "review"]).stdout, "Hello.\n Review.\n");
    let cited = run(&["render", "cites"]);
    assert!(cited.stdout.starts_with("[twig://own/guide: "), "{cited}");
    let missing = run(&["show", "own:hello"]);
    assert_eq!(missing.code, 1, "{missing}");
    assert!(!missing.stderr.contains("did you mean `own"), "{missing}");
    assert_eq!(run(&["show", "twig://own/guide"]).code, 1);
    let found = run(&["search", "hello"]).stdout;
    assert!(
        !found.lines().any(|line| line.starts_with("own:")),
        "{found}"
    );
    assert_eq!(
        run(&["list", "--documents"]).stdout,
        "twig://team/rules  text/markdown  Rules\n"
    );
    let only = ["list", "--documents", "--only", "team:plan"];
    assert_eq!(env.run(only).stdout, "", "a prompt alone has no documents");
    let checked = run(&["check"]);
    assert_eq!(checked.code, 0, "{checked}");
    assert!(
        checked
            .stderr
            .contains("checked 3 prompts and 1 document in 1 library")
    );
    let checked = env.run(["check", "own:hello"]);
    assert_eq!(checked.code, 0, "the broken prompt is not meant: {checked}");
    assert_eq!(env.run(["check", "own"]).code, 1);
}

#[test]
fn a_server_offers_only_what_is_named() {
    let env = env(TWO);
    let mut client = env.serve_with(["--only", "team:review,own:hello"]);
    client.initialize();
    let listed = client.request("prompts/list", serde_json::json!({}));
    let listed = listed["result"]["prompts"]
        .as_array()
        .expect("prompts")
        .iter();
    let listed: Vec<&Value> = listed.map(|it| &it["name"]).collect();
    assert_eq!(listed, ["own:hello", "team:review"]);
    let documents = client.request("resources/list", serde_json::json!({}));
    assert_eq!(documents["result"]["resources"], serde_json::json!([]));
    // A library may come later.
    let mut client = env.serve_with(["--only", "late", "--poll"]);
    client.initialize();
    let listed = client.request("prompts/list", serde_json::json!({}));
    assert_eq!(listed["result"]["prompts"], serde_json::json!([]));
    env.write("late/prompts/x.md", "X.\n");
    env.write("late/twig.toml", "[prompts.x]\n");
    client.notification("notifications/prompts/list_changed");
    let listed = client.request("prompts/list", serde_json::json!({}));
    assert_eq!(listed["result"]["prompts"][0]["name"], "late:x");
}

#[test]
fn doctor_and_export_know_only() {
    let env = env(TWO);
    let doctor = env.run(["doctor", "--only", "team"]);
    assert_eq!(doctor.code, 0, "{doctor}");
    assert!(!doctor.stdout.contains("own "), "{doctor}");
    assert!(
        doctor.stdout.contains("connect CLIENT -- --only team"),
        "{doctor}"
    );
    let both = ["export", "--to", "claude"];
    assert_eq!(env.run(both).code, 0);
    // Files of prompts that are not meant stay.
    let only = ["--only", "team", "--prune"];
    let outcome = env.run(both.into_iter().chain(only));
    assert!(!outcome.stdout.contains("own:hello"), "{outcome}");
    assert!(env.work().join(".claude/commands/hello.md").exists());
}

#[test]
fn a_skill_that_is_named_comes_with_its_files() {
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.work(),
        "//- s/pdf/SKILL.md\n---\nname: pdf\ndescription: Reads PDFs\n---\nSee notes.md.\n\
         //- s/pdf/notes.md\nNotes.\n//- s/csv/SKILL.md\n---\nname: csv\ndescription: Reads CSV\n---\nx\n",
    );
    let only = ["list", "--library", "s", "--only", "s:pdf", "--documents"];
    let outcome = env.run(only);
    let uris = outcome
        .stdout
        .lines()
        .filter_map(|line| line.split_once(' '));
    let uris: Vec<&str> = uris.map(|(uri, _)| uri).collect();
    assert_eq!(
        uris,
        ["skill://s/pdf/SKILL.md", "skill://s/pdf/notes.md"],
        "{outcome}"
    );
}

#[test]
fn a_command_runs_in_another_folder() {
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.work(),
        "//- app/.twig/prompts/hi.json\n{\"name\": \"hi\", \"messages\": [{\"role\": \"user\", \"content\": {\"type\": \"text\", \"text\": \"Hi.\"}}]}\n//- app/x.txt\n",
    );
    assert_eq!(env.run(["render", "hi", "-C", "app"]).stdout, "Hi.\n");
    assert_eq!(env.run(["-C", "app", "render", "hi"]).stdout, "Hi.\n");
    assert_eq!(env.run(["render", "hi"]).code, 1);
    for (folder, why) in [
        ("app/x.txt", "it is not a folder"),
        ("no", "there is no such folder"),
    ] {
        let outcome = env.run(["-C", folder, "list"]);
        let said = format!("error: cannot run in `{folder}`: {why}\n");
        assert_eq!((outcome.stderr, outcome.code), (said, 1));
    }
}

#[test]
fn nothing_is_fetched_for_a_library() {
    let env = TestEnv::new(TWIG);
    for address in ["https://example.com/prompts.git", "git@example.com:a/b"] {
        let outcome = env.run(["list", "--library", address]);
        assert_eq!(outcome.code, 2, "{outcome}");
        let said = "nothing is fetched; clone it, then name the folder";
        assert!(outcome.stderr.contains(said), "{outcome}");
    }
}

#[test]
fn old_spellings_say_what_they_are_called_now() {
    let env = env(TWO);
    for (args, hint) in [
        (
            &["connect", "cursor", "--user"][..],
            "hint: `--user` is now `--scope user`\n",
        ),
        (
            &["export", "--to", "cursor", "team:plan", "--user"],
            "hint: `--user` is now `--scope user`\n",
        ),
    ] {
        let outcome = env.run(args.iter().copied());
        assert_eq!(outcome.code, 0, "{outcome}");
        assert!(outcome.stderr.contains(hint), "{outcome}");
    }
    env.run(["project", "create", "notes"]);
    env.run(["prompt", "add", "a", "-p", "notes", "-c", "Text."]);
    let from = ["export", "--to", "claude", "--from-project", "notes", "a"];
    let outcome = env.run(from);
    assert_eq!(outcome.code, 0, "{outcome}");
    let hint = "hint: `--from-project` is now `-p`\n";
    assert!(outcome.stderr.contains(hint), "{outcome}");
    let named = ["export", "--to", "claude", "--project", "notes", "a"];
    assert_eq!(env.run(named).code, 0, "a name is a project of the store");
}

#[test]
fn spellings_that_mean_something_else_now_are_refused() {
    let env = env(TWO);
    fs::create_dir(env.work().join("app")).expect("own folder");
    let refused = env.run(["connect", "cursor", "--project"]).to_string();
    let other = env.run(["connect", "--project", "cursor"]).to_string();
    assert_eq!(other, refused, "the order does not matter");
    insta::assert_snapshot!(refused, @"
    --- stderr
    error: `--project` is a project of the store, not a folder
    hint: run `twig connect cursor --scope project` to write the file of a folder
    hint: run `twig connect cursor -- --project NAME` to serve a project of the store
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["export", "--to", "claude", "--project", "app"]), @"
    --- stderr
    error: `--project` is a project of the store, not a folder
    hint: run `twig -C app export …` to write into that folder
    hint: use `-p NAME` for a project of the store
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["check", "--library", "app"]), @"
    --- stderr
    error: `--library` adds a folder to what is served, and `check` does not serve
    hint: run `twig check app` to check that folder alone
    --- exit 2
    ");
    assert!(!env.work().join(".cursor").exists());
    assert!(!env.work().join("app/.claude").exists());
}

#[test]
fn the_hint_to_check_names_what_was_listed() {
    let env = env(TWO);
    fs::write(env.data().join("own/twig.toml"), "[prompts.gone]\n").expect("own file");
    write_fixture(&env.work(), "//- bad/md/twig.toml\n[prompts.gone]\n");
    let hint = |args: &[&str]| env.run(args.iter().copied()).stderr;
    assert_eq!(hint(&["list"]), "hint: problems found; run `twig check`\n");
    assert_eq!(
        hint(&["list", "--library", "bad/md"]),
        "hint: problems found; run `twig check` and `twig check bad/md`\n"
    );
    assert!(hint(&["list", "bad/md"]).ends_with("hint: problems found; run `twig check bad/md`\n"));
    assert!(hint(&["list", "--only", "own"]).ends_with("run `twig check own`\n"));
    assert_eq!(env.run(["check", "bad/md"]).code, 1);
}

#[test]
fn clients_have_one_name_in_every_command() {
    let env = env(TWO);
    for (name, file) in [
        ("claude-code", ".claude/commands/plan.md"),
        ("claude", ".claude/commands/plan.md"),
        ("vscode", ".github/prompts/plan.prompt.md"),
        ("copilot", ".github/prompts/plan.prompt.md"),
        ("VS Code", ".github/prompts/plan.prompt.md"),
        ("gemini-cli", ".gemini/commands/plan.toml"),
        ("codex", ".agents/skills/plan/SKILL.md"),
        ("skills", ".agents/skills/plan/SKILL.md"),
    ] {
        let outcome = env.run(["export", "team:plan", "--to", name]);
        assert_eq!(outcome.code, 0, "{outcome}");
        assert!(env.work().join(file).exists(), "{name}: {outcome}");
        fs::remove_file(env.work().join(file)).expect("it was written");
        let said = "note: Codex reads skills, so prompts are written as skills\n";
        assert_eq!(outcome.stderr.contains(said), name == "codex", "{outcome}");
        let connected = env.run(["connect", name, "--dry-run"]);
        assert_eq!(connected.code == 0, name != "skills", "{connected}");
    }
    for (name, said) in [
        ("cluade", "did you mean `claude-code`?"),
        (
            "emacs",
            "known clients: skills, claude-code, vscode, codex, gemini, cursor, opencode, windsurf",
        ),
        (
            "zed",
            "Twig writes no files for Zed; `twig connect zed` gives it your prompts",
        ),
    ] {
        let outcome = env.run(["export", "--to", name]);
        assert_eq!(outcome.code, 2, "{outcome}");
        assert!(outcome.stderr.contains(said), "{outcome}");
    }
    let kiro = env.run(["connect", "kiro"]);
    assert!(
        kiro.stderr
            .contains("Twig does not know how to connect Kiro")
    );
    write_fixture(&env.work(), "//- c/x.md\nFix $1.\n");
    let kind = [
        "list",
        "--library",
        "c",
        "--kind",
        "claude-code",
        "--json",
        "c",
    ];
    assert!(env.run(kind).stdout.contains("\"kind\": \"claude\""));
}

#[test]
fn import_says_where_prompts_go() {
    let env = env(TWO);
    let csv = "act,prompt\nGardener,Water the plants.\n";
    write_fixture(
        &env.work(),
        &format!("//- a.csv\n{csv}//- team-repo/twig.toml\n"),
    );
    assert_eq!(env.run(["import", "a.csv", "--into", "own"]).code, 0);
    assert!(names(&env, &["own"]).contains(&"own:gardener".to_owned()));
    // A checkout, by its path.
    let outcome = env.run(["import", "a.csv", "--into", "./team-repo"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(
        outcome
            .stderr
            .ends_with("hint: run `twig library add [work]/team-repo` to serve it\n"),
        "{outcome}"
    );
    assert!(env.work().join("team-repo/prompts/gardener.md").exists());
    // Once it is served, by its name.
    write_fixture(&env.work(), "//- b.csv\nact,prompt\nCook,Cook a meal.\n");
    assert_eq!(env.run(["library", "add", "team-repo"]).code, 0);
    let outcome = env.run(["import", "b.csv", "--into", "team_repo"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(!outcome.stderr.contains("library add"), "{outcome}");
    assert!(env.work().join("team-repo/prompts/cook.md").exists());
    insta::assert_snapshot!(env.run(["import", "a.csv", "--library", "own"]), @"
    --- stderr
    error: `--library` adds a folder to what is served, and `import` serves nothing
    hint: use `--into own` to import into it
    --- exit 2
    ");
}

#[test]
fn what_is_read_in_place_needs_no_import() {
    let env = TestEnv::new(TWIG);
    write_fixture(&env.home(), "//- .claude/commands/commit.md\nCommit.\n");
    let folder = env.home().join(".claude/commands");
    for path in [folder.clone(), folder.join("commit.md")] {
        let outcome = env.run(["import", path.to_str().expect("UTF-8")]);
        assert_eq!(outcome.code, 1, "{outcome}");
        let said = "needs no import: Twig reads the files of Claude Code where they are\nhint: run `twig library add ~/.claude/commands`\n";
        assert!(outcome.stderr.ends_with(said), "{outcome}");
    }
    fs::write(env.work().join("x.csv"), "").expect("own folder");
    let outcome = env.run(["import", "x.csv", "--format", "claude"]);
    assert_eq!(outcome.code, 2, "{outcome}");
    assert!(
        outcome
            .stderr
            .contains("the files of Claude Code need no import")
    );
    fs::create_dir(env.work().join("empty")).expect("own folder");
    let outcome = env.run(["import", "empty"]);
    assert!(
        outcome
            .stderr
            .contains("are served as they are: `twig library add PATH`")
    );
}

#[test]
fn yes_answers_questions_and_force_still_does() {
    let env = TestEnv::new(TWIG);
    for flag in ["--yes", "-y", "--force", "-f"] {
        assert_eq!(env.run(["project", "create", "p"]).code, 0);
        let outcome = env.run(["project", "delete", "p", flag]);
        assert_eq!(outcome.code, 0, "{outcome}");
        let hint = "hint: `--force` is now `--yes`\n";
        assert_eq!(
            outcome.stderr.contains(hint),
            flag.contains('f'),
            "{outcome}"
        );
    }
}

#[test]
fn usual_words_for_making_and_removing_are_known() {
    let env = env(TWO);
    let run = |words: &str| {
        let outcome = env.run(words.split(' '));
        assert_eq!(outcome.code, 0, "twig {words}: {outcome}");
        outcome.stdout
    };
    assert_eq!(run("ls team"), run("list team"));
    assert_eq!(run("library ls"), run("library list"));
    run("create library mine");
    run("project new garden");
    run("project ls");
    run("prompt create water -p garden -c Water.");
    run("prompt rm water -p garden -y");
    run("project mv garden park");
    run("project rm park -y");
    run("workspace new team");
    run("workspace rm team -y");
    write_fixture(&env.work(), "//- added/twig.toml\n");
    run("library add added");
    run("library rm added");
}

#[test]
fn commands_that_only_twig_starts_are_not_named() {
    let env = TestEnv::new(TWIG);
    for (word, not) in [
        ("rendr", "worker"),
        ("run", "run-function"),
        ("render-work", "worker'"),
    ] {
        let outcome = env.run([word]);
        assert_eq!(outcome.code, 2, "{outcome}");
        assert!(!outcome.stderr.contains(not), "{outcome}");
    }
    assert!(env.run(["rendr"]).stderr.contains("'render'"));
    for shell in ["bash", "zsh", "fish"] {
        let script = env.run(["completions", shell]).stdout;
        assert!(!script.contains("render-worker") && !script.contains("run-function"));
    }
}

#[test]
fn an_export_names_the_argument_not_our_stand_in() {
    let env = env(
        "//- rich/twig.toml\n[prompts.pick]\n[[prompts.pick.arguments]]\nname = \"name\"\nrequired = true\n\
         [[prompts.pick.messages]]\nresource_link = \"twig://rich/patterns/{{name}}\"\n\
         //- rich/docs/patterns/a.md\n# A\n",
    );
    let outcome = env.run(["export", "--to", "claude", "--json"]);
    assert!(!outcome.stdout.contains("$7"), "{outcome}");
    let said =
        "a value chooses the document `twig://rich/patterns/{{name}}`, and a file reads none";
    assert!(outcome.stdout.contains(said), "{outcome}");
}

#[test]
fn a_library_elsewhere_is_to_be_added() {
    let env = TestEnv::new(TWIG);
    let outcome = env.run(["new", "library", "x", "--in", "shared"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    let said = "run `twig library add [work]/shared/x` to serve it, then try `twig render x:hello name=you`\n";
    assert!(outcome.stderr.ends_with(said), "{outcome}");
    assert_eq!(env.run(["library", "add", "shared/x"]).code, 0);
    assert_eq!(env.run(["render", "x:hello", "name=you"]).code, 0);
}

#[test]
fn init_asks_in_a_home_folder_and_at_the_root() {
    let env = TestEnv::new(TWIG);
    let home = env.home().display().to_string();
    insta::assert_snapshot!(env.run(["init", &home]), @"
    --- stderr
    error: nothing was created: this is your home folder, not a project
    hint: go to a project's folder or name it, or use --yes if you mean it
    --- exit 1
    ");
    assert!(!env.home().join(".twig").exists());
    let root = env.run(["init", "/"]);
    assert!(
        root.stderr.contains("this is the root of the disk"),
        "{root}"
    );
    assert_eq!(env.run(["init", &home, "--yes"]).code, 0);
    assert!(env.home().join(".twig").is_dir());
    assert_eq!(env.run(["init"]).code, 0);
}

#[test]
fn a_name_after_library_is_explained() {
    let env = env(TWO);
    insta::assert_snapshot!(env.run(["list", "--library", "team"]), @"
    --- stderr
    error: there is nothing at [work]/team
    hint: `--library` takes a folder; `--only team` names a library
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["list", "--kind", "claude"]), @"
    --- stderr
    error: `--kind` says how the files of a folder are read, and no folder is named
    hint: name it with `--library PATH`
    --- exit 2
    ");
    write_fixture(&env.work(), "//- c/x.md\nFix $1.\n");
    assert_eq!(names(&env, &["./c", "--kind", "claude-code"]), ["c:x"]);
}

#[test]
fn a_project_of_the_store_is_named_alike_everywhere() {
    let env = env(TWO);
    env.run(["project", "create", "garden"]);
    env.run(["prompt", "add", "water", "-p", "garden", "-c", "Water."]);
    for command in ["list", "check", "doctor"] {
        let outcome = env.run([command, "-p", "garden", "--only", "garden"]);
        assert_eq!(outcome.code, 0, "{outcome}");
    }
    let garden = ["list", "-p", "garden", "--only", "garden"];
    assert_eq!(env.run(garden).stdout, "water\n");
    let checked = env.run(["check", "-p", "garden", "--only", "garden"]);
    assert!(
        checked.stderr.contains("checked 1 prompt in 1 library"),
        "{checked}"
    );
    let outcome = env.run(["connect", "zed", "--", "--only", "taem"]);
    assert_eq!(outcome.code, 1, "{outcome}");
    assert!(outcome.stderr.contains("did you mean `team`?"), "{outcome}");
    assert!(!env.home().join(".config/zed").exists());
}

#[test]
fn help_may_follow_a_group_of_commands() {
    let env = TestEnv::new(TWIG);
    for (help, flag) in [
        (
            &["library", "help", "add"][..],
            &["library", "add", "--help"][..],
        ),
        (&["library", "help"], &["library", "--help"]),
        (&["prompt", "help", "ls"], &["prompt", "ls", "--help"]),
    ] {
        let said = env.run(help.iter().copied());
        assert_eq!(said.code, 0, "{said}");
        assert_eq!(said.stdout, env.run(flag.iter().copied()).stdout);
    }
    // Elsewhere it is a name like others.
    let made = env.run(["project", "create", "help"]);
    assert!(made.stderr.contains("created project `help`"), "{made}");
    insta::assert_snapshot!(env.run(["library", "help", "nope"]), @"
    --- stderr
    error: unrecognized subcommand 'nope'

    Usage: twig library [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn a_file_lists_its_own_prompts() {
    let env = env(TWO);
    fs::create_dir(env.work().join("notes")).expect("writable");
    for (name, text) in [("one.md", "x"), ("two.md", "y"), ("README.md", "about")] {
        fs::write(env.work().join("notes").join(name), text).expect("writable");
    }
    let names = |words: &[&str]| {
        let words = ["list", "--names"].into_iter().chain(words.iter().copied());
        let listed = env.run(words);
        assert_eq!(listed.code, 0, "{listed}");
        listed.stdout
    };
    assert_eq!(names(&["notes/one.md"]), "one\n");
    assert_eq!(names(&["./notes/../notes/two.md"]), "two\n");
    assert_eq!(names(&["notes"]), "one\ntwo\n");
    assert_eq!(
        names(&["notes/one.md", "own"]),
        "one\nown:broken\nown:hello\n"
    );
    let path = |path: &str| env.data().join(path).display().to_string();
    assert_eq!(names(&[&path("team/prompts/plan.md")]), "team:plan\n");
    assert_eq!(
        names(&[&path("team/twig.toml")]),
        "team:cites\nteam:plan\nteam:review\n"
    );
    insta::assert_snapshot!(env.run(["list", "notes/README.md"]), @"
    --- stderr
    error: [work]/notes/README.md holds no prompts
    hint: `twig check notes/README.md` checks the library it is in
    --- exit 1
    ");
}
