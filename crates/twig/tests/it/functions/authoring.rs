//! What an author of functions sees: plain text, failures as the program reported them, and the
//! commands that trust a library.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::TestClient;

use super::{HELLO, error, get, has, library, program, text, trust, trusted};
use crate::env;

/// Asks for a prompt without arguments.
fn ask(client: &mut TestClient, name: &str) -> Value {
    client.request("prompts/get", json!({"name": format!("f:{name}")}))
}

#[test]
fn plain_text_is_served_where_the_manifest_says_so() {
    let env = env("");
    env.write(
        "f/twig.toml",
        "[prompts.plain]\ncommand = [\"./plain\"]\noutput = \"text\"\n\
         [prompts.other]\ncommand = [\"./plain\"]\n\
         [prompts.wrong]\ncommand = [\"./plain\"]\noutput = \"yaml\"\n\
         [prompts.file]\noutput = \"text\"\n",
    );
    env.write("f/prompts/file.md", "File.");
    program(
        &env,
        "f/plain",
        "#!/bin/sh\nprintf '# Today\\n\\n{\"a\": 1}\\n'\n",
    );
    trust(&env, "f");
    let mut client = env.serve();
    assert_eq!(text(&ask(&mut client, "plain")), "# Today\n\n{\"a\": 1}");
    let refused = ask(&mut client, "other");
    let refused = error(&refused);
    assert!(
        refused.contains("printed invalid JSON") && refused.contains("set `output = \"text\"`"),
        "{refused}"
    );
    let check = env.run(["check"]);
    for expected in [
        "`output` is \"text\" or \"json\"",
        "`output` is ignored: the prompt has no `command`",
    ] {
        assert!(check.stdout.contains(expected), "{check}");
    }
}

#[test]
fn a_traceback_is_shown_as_it_was_printed() {
    let python = "#!/usr/bin/env python3\nimport json, sys\nrequest = json.load(sys.stdin)\nprint(request['missing'])\n";
    let shell = "#!/bin/sh\ntrue\nno-such-program\n";
    let env = trusted(&[("python3", python), ("sh", shell)]);
    let failed = env.run(["render", "f:sh"]);
    assert!(
        failed.code == 1
            && failed.stderr.contains("ended with exit code 127: bin/sh: ")
            && failed.stderr.contains("no-such-program: not found\n"),
        "{failed}"
    );
    if has("python3") {
        let failed = env.run(["render", "f:python3"]);
        assert!(
            failed.stderr.contains("exit code 1:\nTraceback (most recent call last):\n  File \"bin/python3\", line 4, in <module>\n")
                && failed.stderr.contains("\nKeyError: 'missing'\n"),
            "{failed}"
        );
        let mut client = env.serve();
        let answer = get(&mut client, "python3", "");
        assert!(
            error(&answer).contains("\n  File \"bin/python3\", line 4"),
            "{answer}"
        );
        let log = client.close().stderr;
        assert!(!log.contains("/proc/self/fd"), "{log}");
    }
}

#[test]
fn a_folder_beside_is_trusted_by_its_name_where_no_library_has_it() {
    let env = library(&[("hello", HELLO)]);
    let beside = env.work().join("fn");
    fs::rename(env.data().join("f"), &beside).expect("the test's own folder");
    let outcome = env.run(["library", "trust", "fn", "--yes"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert_eq!(
        env.run(["render", "fn:hello", "--library", "fn"]).stdout,
        "hello\n"
    );
    // A library of that name wins.
    env.write("fn/twig.toml", "");
    let outcome = env.run(["library", "distrust", "fn"]);
    assert!(outcome.stderr.contains("was not trusted"), "{outcome}");
    let outcome = env.run(["library", "distrust", "./fn"]);
    assert!(outcome.stderr.contains("not trusted any more"), "{outcome}");
}

#[test]
fn a_list_counts_the_commands_of_a_library() {
    let env = trusted(&[("hello", HELLO)]);
    let list = env.run(["library", "list"]);
    assert!(list.stdout.contains("  trusted (1 command)\n"), "{list}");
}

#[test]
fn a_library_that_is_trusted_again_shows_what_changed() {
    use std::os::unix::fs::PermissionsExt;
    let env = trusted(&[("hello", HELLO)]);
    program(&env, "f/bin/hello", &HELLO.replace("hello", "\u{1b}howdy"));
    program(&env, "f/bin/new", "#!/bin/sh\n: new\n");
    let again = env.run(["library", "trust", "f", "--yes"]);
    for expected in [
        "\nchanges since it was trusted\n  --- bin/hello (trusted)\n  +++ bin/hello (now)\n",
        "\n   #!/bin/sh\n  -printf '{",
        "<U+001B>howdy",
        "\n  +: new\n",
    ] {
        assert!(again.stdout.contains(expected), "{expected}: {again}");
    }
    let copies = env.data().parent().expect("above").join("trusted");
    let mode = |path: &std::path::Path| {
        let found = fs::metadata(path).expect("it is there");
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode(&copies), 0o700);
    let kept = fs::read_dir(&copies).expect("a folder").flatten();
    let kept: Vec<_> = kept.map(|entry| mode(&entry.path())).collect();
    assert_eq!(kept, [0o600; 3], "twig.toml and two programs");
    assert_eq!(env.run(["library", "distrust", "f"]).code, 0);
    assert_eq!(fs::read_dir(&copies).expect("a folder").count(), 0);
}

#[test]
fn a_command_that_starts_with_a_program_of_the_system_says_what_to_write() {
    let env = env("");
    env.write(
        "f/twig.toml",
        "[prompts.a]\ncommand = [\"python3\", \"./bin/x.py\"]\n\
         [prompts.b]\ncommand = [\"git\", \"log\"]\n\
         [prompts.c]\ncommand = \"git log\"\n",
    );
    let check = env.run(["check"]).stdout;
    let python = "help: start bin/x.py with the line `#!/usr/bin/env python3`, make it executable, and write command = [\"./bin/x.py\"]\n";
    assert!(check.contains(python), "{check}");
    let script = "help: name a script of the library, as in command = [\"./bin/NAME\"]";
    assert_eq!(check.matches(script).count(), 2, "{check}");
}

#[test]
fn a_prompt_shows_what_its_function_asks_for() {
    let env = env("");
    env.write(
        "f/twig.toml",
        "[prompts.a]\ncommand = [\"./run\"]\nnetwork = true\nread = [\"repository\"]\n",
    );
    program(&env, "f/run", HELLO);
    trust(&env, "f");
    let shown = env.run(["show", "f:a"]);
    let expected = "asks for  read = [\"repository\"], network = true\n";
    assert!(shown.stdout.contains(expected), "{shown}");
}

#[test]
fn the_question_shows_the_very_words_of_a_command() {
    let env = env("");
    let manifest = "[prompts.a]\ncommand = [\"./run\", \"a   b\", \"c\\n\\u202e\"]\n";
    env.write("f/twig.toml", manifest);
    program(&env, "f/run", HELLO);
    let shown = env.run(["library", "trust", "f", "--yes"]);
    let expected = "  f:a  run \"a   b\" \"c\\n\\u{202e}\"\n";
    assert!(shown.stdout.contains(expected), "{shown}");
}
