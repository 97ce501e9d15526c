//! Into a library: a new one, or one that is there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{CSV, counts, imported, put, tree, with_file};

#[test]
fn a_catalogue_becomes_a_library() {
    let env = with_file("My Prompts.csv", CSV);
    insta::assert_snapshot!(env.run(["import", "My Prompts.csv"]), @"
    changed  life-coach-9f221a  My Prompts.csv, row 2  another prompt is called `life-coach`: this one is `life-coach-9f221a`
    changed  nedvizhimost       My Prompts.csv, row 3  `Big City` is called `big_city`
    skipped  -                  My Prompts.csv, row 4  says the same as My Prompts.csv, row 1
    --- stderr
    new library `my_prompts`: 1 taken as they are, 2 taken with changes, 1 skipped
    note: 1 × is for models that generate images
    --- exit 0
    ");
    insta::assert_snapshot!(fs::read_to_string(env.data().join("my_prompts/twig.toml")).unwrap(), @r#"
    [library]
    description = "Imported from My Prompts.csv"

    [prompts.life-coach]
    title = "Life Coach"
    description = "Say hi to ${name:you}. {{ braces }}"

    [[prompts.life-coach.arguments]]
    name = "name"
    default = "you"

    [prompts.life-coach-9f221a]
    title = "Life coach"
    description = "Another one"
    template = "none"

    [prompts.nedvizhimost]
    title = "Недвижимость"
    description = "On ${Big City} {% endraw %}"

    [[prompts.nedvizhimost.arguments]]
    name = "big_city"
    "#);
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 3 prompts in 1 library: no problems
    --- exit 0
    ");
    let said = env.run(["render", "my_prompts:life-coach", "name={{ x }}"]);
    assert_eq!(said.stdout, "Say hi to {{ x }}. {{ braces }}\n", "{said}");
    let said = env.run(["render", "my_prompts:nedvizhimost"]);
    assert_eq!(said.stdout, "On ${Big City} {% endraw %}\r\n", "{said}");
}

#[test]
fn a_second_import_changes_nothing_and_says_so() {
    let env = with_file("a.csv", CSV);
    let report = imported(&env, &["a.csv", "--into", "mine"]);
    assert_eq!(counts(&report), [1, 2, 0, 1]);
    assert_eq!(report["into"]["is_new"], true);
    let before = tree(&env.data());
    let report = imported(&env, &["a.csv", "--into", "mine"]);
    assert_eq!(counts(&report), [0, 0, 3, 1]);
    assert_eq!(tree(&env.data()), before);
    let outcome = env.run(["import", "a.csv", "--into", "Mine"]);
    let said = "nothing was written: everything that can be imported was there already";
    assert!(outcome.stderr.contains(said), "{outcome}");
    assert_eq!(tree(&env.data()), before);
    put(&env, "b.csv", "act,prompt\nOne,Text\n");
    imported(&env, &["b.csv"]);
    let outcome = env.run(["import", "b.csv"]);
    let said = "nothing was written: everything was there already";
    assert!(outcome.stderr.contains(said), "{outcome}");
}

#[test]
fn a_dry_run_shows_the_same_and_writes_nothing() {
    let env = with_file("a.csv", CSV);
    let mut dry = imported(&env, &["a.csv", "--dry-run"]);
    assert!(tree(&env.data()).is_empty());
    let wet = imported(&env, &["a.csv"]);
    dry["dry_run"] = false.into();
    assert_eq!(dry, wet);
    let before = tree(&env.data());
    let outcome = env.run(["import", "a.csv", "--dry-run", "--all"]);
    assert!(
        outcome.stdout.contains("unchanged  life-coach"),
        "{outcome}"
    );
    assert_eq!(tree(&env.data()), before);
}

#[test]
fn what_is_in_a_library_stays_as_it_is() {
    let env = with_file("a.csv", CSV);
    let manifest = "# mine\r\n[prompts.Life-Coach]  # keep\r\ndescription = \"x\"\r\n\r\n[documents]\r\nfolder = \"d\"";
    env.write("my-lib/twig.toml", manifest);
    env.write("my-lib/prompts/Life-Coach.md", "My own.\n");
    env.write("my-lib/prompts/nedvizhimost.md", "Somebody's notes.\n");
    let report = imported(&env, &["a.csv", "--into", "my_lib"]);
    assert_eq!(counts(&report), [0, 1, 0, 3]);
    let why: Vec<&str> = report["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["why"].as_str())
        .collect();
    assert_eq!(
        why,
        [
            "the library has another prompt `life-coach`, which stays as it is",
            "another file is at prompts/nedvizhimost.md",
            "says the same as a.csv, row 1",
        ]
    );
    let files = tree(&env.data().join("my-lib"));
    let text = String::from_utf8(files["twig.toml"].clone()).unwrap();
    let rest = text.strip_prefix(manifest).unwrap();
    assert!(rest.starts_with("\r\n\r\n[prompts.life-coach-"), "{rest:?}");
    assert!(!rest.replace("\r\n", "").contains('\n'), "{rest:?}");
    assert_eq!(files["prompts/Life-Coach.md"], b"My own.\n");
    assert_eq!(files["prompts/nedvizhimost.md"], b"Somebody's notes.\n");
}

#[test]
fn a_file_that_a_killed_import_left_is_no_hindrance() {
    let env = with_file("a.csv", "act,prompt\nOne,Text one\n");
    imported(&env, &["a.csv"]);
    put(
        &env,
        "a.csv",
        "act,prompt\nOne,Text one\nTwo,Text two\nThree,Text three\n",
    );
    env.write("a/prompts/two.md", "Text two");
    assert_eq!(counts(&imported(&env, &["a.csv"])), [2, 0, 1, 0]);
    assert_eq!(env.run(["render", "a:two"]).stdout, "Text two\n");
}

#[test]
fn a_file_that_was_deleted_is_written_again() {
    let env = with_file("a.csv", "act,prompt\nOne,Text one\nTwo,Text two\n");
    imported(&env, &["a.csv"]);
    let before = tree(&env.data());
    fs::remove_file(env.data().join("a/prompts/two.md")).unwrap();
    let dry = imported(&env, &["a.csv", "--dry-run"]);
    assert_eq!(counts(&dry), [1, 0, 1, 0], "{dry}");
    assert_eq!(counts(&imported(&env, &["a.csv"])), [1, 0, 1, 0]);
    assert_eq!(tree(&env.data()), before);

    put(&env, "a.csv", "act,prompt\nTwo,Text ${two}\n");
    fs::remove_file(env.data().join("a/prompts/two.md")).unwrap();
    let outcome = env.run(["import", "a.csv"]);
    let said =
        "the library has a prompt `two` whose file prompts/two.md is missing: put the file back";
    assert!(outcome.stdout.contains(said), "{outcome}");
    assert!(!env.data().join("a/prompts/two.md").exists());
}

#[test]
fn long_code_in_a_template_is_told_and_ends_nothing() {
    let env = with_file("a.tmpl", format!("Hi {{{{{}x}}}}", "(".repeat(120_000)));
    let outcome = env.run(["import", "a.tmpl"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.len() < 1000, "{}", outcome.stdout.len());
}

/// Whether nothing is in a folder, or there is none.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

#[test]
fn an_import_that_is_killed_leaves_all_or_nothing() {
    let rows: String = (0..800)
        .map(|at| format!("Row {at},Text {at} ${{x}}\n"))
        .collect();
    let env = with_file("a.csv", format!("act,prompt\n{rows}"));
    for _ in 0..6 {
        let mut child = env.command(["import", "a.csv"]).spawn().unwrap();
        // As soon as anything is written it is stopped, unless it was faster.
        while child.try_wait().unwrap().is_none() && is_empty(&env.data()) {
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
        let library = env.data().join("a");
        if library.exists() {
            assert_eq!(tree(&library).len(), 801);
            fs::remove_dir_all(&library).unwrap();
        }
        let check = env.run(["check"]);
        assert_eq!(check.code, 0, "{check}");
    }
    assert_eq!(counts(&imported(&env, &["a.csv"])), [800, 0, 0, 0]);
}

#[test]
fn what_a_killed_import_left_is_cleared_away_an_hour_later() {
    let env = with_file("a.csv", CSV);
    let hour = Duration::from_secs(60 * 60);
    for (folder, age) in [
        (".twig-import-old", hour + Duration::from_secs(1)),
        (".twig-import-new", hour / 2),
        (".twig-other", 2 * hour),
        ("somebody-s", 2 * hour),
    ] {
        env.write(&format!("{folder}/prompts/one.md"), "Text\n");
        let opened = fs::File::open(env.data().join(folder)).unwrap();
        opened.set_modified(SystemTime::now() - age).unwrap();
    }
    symlink("somebody-s", env.data().join(".twig-import-link")).unwrap();
    imported(&env, &["a.csv", "--dry-run"]);
    assert!(env.data().join(".twig-import-old").exists());
    imported(&env, &["a.csv"]);
    let names = fs::read_dir(env.data()).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        ".twig-import-link",
        ".twig-import-new",
        ".twig-other",
        "a",
        "somebody-s",
    ];
    assert_eq!(names, expected);
    assert!(env.data().join("somebody-s/prompts/one.md").exists());
}

#[test]
fn libraries_that_cannot_take_prompts_are_told() {
    let env = with_file("a.csv", CSV);
    env.write("broken/twig.toml", "[prompts");
    env.write("inline/twig.toml", "prompts = {}\n");
    env.write("other/notes.txt", "text");
    for (library, said) in [
        ("broken", "its twig.toml is not valid TOML"),
        ("inline", "prompts cannot be added to its twig.toml"),
        ("other", "it exists and is not a library with a twig.toml"),
    ] {
        let outcome = env.run(["import", "a.csv", "--into", library]);
        assert_eq!((outcome.code, &*outcome.stdout), (1, ""), "{outcome}");
        assert!(
            outcome.stderr.contains(said) && outcome.stderr.contains("hint: "),
            "{outcome}"
        );
    }
    let outcome = env.run(["import", "a.csv", "--into", "/"]);
    assert_eq!(outcome.code, 2, "{outcome}");
}

#[test]
fn a_library_that_is_full_takes_what_fits() {
    let env = with_file(
        "a.csv",
        "act,prompt\nOne,Text one\nTwo,Text two\nThree,Text three\n",
    );
    env.configure("[limits]\nmanifest = 260\n");
    let report = imported(&env, &["a.csv"]);
    assert_eq!(counts(&report), [2, 0, 0, 1]);
    let why = "the library's twig.toml would exceed the limit of 260 bytes";
    assert_eq!(report["items"][2]["why"], why);
    assert_eq!(env.run(["check"]).code, 0);
}

#[test]
fn text_that_is_no_template_is_served_as_it_is() {
    let env = crate::env(
        "//- lib/twig.toml\n[prompts.a]\ntemplate = \"none\"\nmessages = [{ text = \"{{ one }}\" }, { file = \"b.md\" }]\n//- lib/b.md\n{% raw %} {{ two\n",
    );
    assert_eq!(
        env.run(["render", "lib:a"]).stdout,
        "[user]\n{{ one }}\n[user]\n{% raw %} {{ two\n"
    );
    assert_eq!(env.run(["check"]).code, 0);
    let mut client = env.serve();
    let answer = client.request("prompts/get", serde_json::json!({"name": "lib:a"}));
    let text = &answer["result"]["messages"][0]["content"]["text"];
    assert_eq!(text, "{{ one }}", "{answer}");
}
