//! Commands that run at the same time: what one of them said it did is not undone by another.
//!
//! `TWIG_TEST_RACES` says how many commands of each kind are run; a thousand take some minutes.

mod swapped;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use serde_json::Value;
use twig_testkit::TestEnv;

use crate::{TWIG, env};

/// Commands that run at once.
const AT_ONCE: usize = 8;

fn races() -> usize {
    let given = std::env::var("TWIG_TEST_RACES").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(16)
}

/// Runs commands, several at once; all of them have to succeed.
fn run_all(env: &TestEnv, commands: &[Vec<String>]) {
    for batch in commands.chunks(AT_ONCE) {
        thread::scope(|scope| {
            for command in batch {
                scope.spawn(move || {
                    let outcome = env.run(command.iter().map(String::as_str));
                    assert_eq!(outcome.code, 0, "{command:?}: {outcome}");
                });
            }
        });
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// Libraries beside the data folder that run a program.
fn programs(env: &TestEnv, start: &str) -> Vec<String> {
    let library = |number: usize| {
        let root = env.root().join(format!("{start}{number}"));
        fs::create_dir_all(root.join("bin")).expect("own folder");
        fs::write(root.join("bin/run"), "#!/bin/sh\n").expect("own file");
        fs::set_permissions(root.join("bin/run"), fs::Permissions::from_mode(0o755)).expect("own");
        fs::write(
            root.join("twig.toml"),
            "[prompts.p]\ncommand = [\"./bin/run\"]\n",
        )
        .expect("own file");
        root.to_str().expect("text").to_owned()
    };
    (0..races()).map(library).collect()
}

/// The libraries that are trusted.
fn trusted(env: &TestEnv) -> BTreeSet<String> {
    let path = env.data().with_file_name("trust.json");
    let record: Value = serde_json::from_slice(&fs::read(path).expect("a record")).expect("JSON");
    let libraries = record["libraries"].as_object().expect("libraries");
    libraries.keys().cloned().collect()
}

#[test]
fn trust_and_distrust_are_not_lost() {
    let env = TestEnv::in_memory(TWIG);
    let (old, new) = (programs(&env, "old"), programs(&env, "new"));
    let trust = |root: &String| words(&format!("library trust {root} --yes"));
    let distrust = |root: &String| words(&format!("library distrust {root}"));
    run_all(&env, &old.iter().map(trust).collect::<Vec<_>>());
    assert_eq!(trusted(&env), old.iter().cloned().collect());
    let both = old.iter().zip(&new);
    let both = both.flat_map(|(old, new)| [distrust(old), trust(new)]);
    run_all(&env, &both.collect::<Vec<_>>());
    assert_eq!(trusted(&env), new.into_iter().collect());
}

#[test]
fn new_prompts_of_one_library_are_all_served() {
    let env = TestEnv::in_memory(TWIG);
    env.write("lib/twig.toml", "# mine\n");
    let made = (0..races()).map(|number| words(&format!("new prompt lib:n{number}")));
    run_all(&env, &made.collect::<Vec<_>>());
    assert_eq!(served(&env), races());
}

fn served(env: &TestEnv) -> usize {
    let listed = env.run(["list", "--json"]);
    let prompts: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    prompts.as_array().expect("a list").len()
}

#[test]
fn imports_into_one_library_are_all_served() {
    let env = TestEnv::in_memory(TWIG);
    // The library is made by whichever comes first.
    let taken = (0..races()).map(|number| {
        let file = env.work().join(format!("p{number}.prompty"));
        let text = format!("---\nname: p{number}\ndescription: one\n---\nuser:\nsay {number}\n");
        fs::write(file, text).expect("own file");
        words(&format!("import p{number}.prompty --into lib"))
    });
    run_all(&env, &taken.collect::<Vec<_>>());
    assert_eq!(served(&env), races());
}

#[test]
fn libraries_are_all_added_and_all_removed() {
    let env = TestEnv::in_memory(TWIG);
    let folders: Vec<String> = programs(&env, "lib");
    let config = env.home().join(".config/twig/config.toml");
    let added = || {
        let text = fs::read_to_string(&config).expect("a configuration");
        text.matches("[[libraries]]").count()
    };
    let add = |root: &String| words(&format!("library add {root}"));
    run_all(&env, &folders.iter().map(add).collect::<Vec<_>>());
    assert_eq!(added(), races());
    let remove = |root: &String| words(&format!("library remove {root}"));
    run_all(&env, &folders.iter().map(remove).collect::<Vec<_>>());
    assert_eq!(added(), 0);
}

#[test]
fn entries_of_one_client_are_all_written_and_all_removed() {
    let env = TestEnv::in_memory(TWIG);
    for (flag, path) in [
        ("--scope=user", env.home().join(".cursor/mcp.json")),
        ("--scope=project", env.work().join(".cursor/mcp.json")),
    ] {
        let own = "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}\n";
        fs::create_dir_all(path.parent().expect("a folder")).expect("own folder");
        fs::write(&path, own).expect("own file");
        let names: Vec<usize> = (0..races()).collect();
        // Each entry leaves a copy of the file as it was, and there is an end to those.
        for names in names.chunks(500) {
            let add = |number: &usize| words(&format!("connect cursor {flag} --name n{number}"));
            run_all(&env, &names.iter().map(add).collect::<Vec<_>>());
            clear_copies(&path);
        }
        let entries = || {
            let file = serde_json::from_slice(&fs::read(&path).expect("a file"));
            let file: Value = file.expect("JSON");
            file["mcpServers"].as_object().expect("servers").len()
        };
        assert_eq!(entries(), races() + 1);
        for names in names.chunks(500) {
            let remove =
                |number: &usize| words(&format!("connect cursor {flag} --name n{number} --remove"));
            run_all(&env, &names.iter().map(remove).collect::<Vec<_>>());
            clear_copies(&path);
        }
        assert_eq!(entries(), 1);
        let left = fs::read_dir(path.parent().expect("a folder")).expect("own folder");
        assert_eq!(left.count(), 1, "nothing stays beside the file");
    }
}

fn clear_copies(path: &Path) {
    // The folder goes with the last file in it.
    let Ok(folder) = fs::read_dir(path.parent().expect("a folder")) else {
        return;
    };
    for entry in folder.map(|entry| entry.expect("own folder")) {
        if entry.file_name().to_string_lossy().contains("twig-backup") {
            fs::remove_file(entry.path()).expect("own file");
        }
    }
}

#[test]
fn a_folder_that_comes_and_goes_with_its_file_is_no_obstacle() {
    let env = TestEnv::in_memory(TWIG);
    for _ in 0..races().div_ceil(AT_ONCE) {
        let add = (0..4).map(|number| words(&format!("connect cursor --name n{number}")));
        run_all(&env, &add.collect::<Vec<_>>());
        let remove =
            (0..4).map(|number| words(&format!("connect cursor --name n{number} --remove")));
        run_all(&env, &remove.collect::<Vec<_>>());
        let file = fs::read_to_string(env.home().join(".cursor/mcp.json")).unwrap_or_default();
        assert!(!file.contains("serve"), "{file}");
        clear_copies(&env.home().join(".cursor/mcp.json"));
        let _ = fs::remove_dir_all(env.home().join(".cursor"));
    }
}

#[test]
fn exports_of_one_project_to_one_folder_are_whole() {
    let env = TestEnv::in_memory(TWIG);
    let made = [
        "project create p",
        "prompt add a -c text --project p",
        "prompt add b -c text --project p",
    ];
    for command in made {
        run_all(&env, &[words(command)]);
    }
    for round in 0..races().div_ceil(AT_ONCE) {
        let one = words(&format!("project export p out{round}"));
        let all: Vec<Vec<String>> = std::iter::repeat_n(one, AT_ONCE).collect();
        run_all(&env, &all);
        for file in ["project.json", "prompts/a.md", "prompts/b.md"] {
            let path = env.work().join(format!("out{round}/{file}"));
            assert!(path.is_file(), "{}", path.display());
        }
    }
}

#[test]
fn a_command_waits_for_another_one() {
    let env = env("//- lib/twig.toml\n# mine\n");
    let root = env.data().join("lib");
    let manifest = root.join("twig.toml");
    let folder = File::open(&root).expect("own folder");
    folder.lock().expect("nobody else has it");
    let mut waiting = env
        .command(["new", "prompt", "lib:second"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let first = "# mine\n\n[prompts.first]\ndescription = \"one\"\n";
    fs::write(&manifest, first).expect("own file");
    folder.unlock().expect("it is ours");
    assert!(waiting.wait().expect("ours").success());
    let text = fs::read_to_string(&manifest).expect("own file");
    assert!(
        text.starts_with(first) && text.contains("[prompts.second]"),
        "{text}"
    );
    let names = fs::read_dir(&root).expect("own folder").count();
    assert_eq!(names, 2, "no lock stays behind");
}
