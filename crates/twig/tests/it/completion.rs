//! Completion: what is offered for a beginning, and that shells get it.

use std::fs;
use std::process::Command;

use twig_testkit::TestEnv;

use crate::{TWIG, env};

const LIBRARY: &str = r#"
//- lib/twig.toml
[prompts.review]
description = "Review code"
arguments = [{ name = "code", required = true, description = "The code" }, { name = "language", choices = ["rust", "go lang"] }]
[prompts.report]
//- lib/prompts/review.md
{{ code }}{{ language }}
//- lib/prompts/report.md
x
"#;

/// What is offered for a line; the last word is the current one.
fn offered(env: &TestEnv, line: &str) -> Vec<String> {
    let words = ["complete", "--"].into_iter().chain(line.split(' '));
    let output = env.run(words);
    assert_eq!((output.code, &*output.stderr), (0, ""), "{line}");
    let lines = output.stdout.lines();
    lines
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn names_of_prompts_are_offered() {
    let env = env(LIBRARY);
    assert_eq!(offered(&env, "twig render "), ["lib:report", "lib:review"]);
    assert_eq!(offered(&env, "twig show lib:rev"), ["lib:review"]);
    assert_eq!(offered(&env, "twig render rev"), ["review"]);
    assert_eq!(
        offered(&env, "twig export --to claude re"),
        ["report", "review"]
    );
    let described = env.run(["complete", "--", "twig", "render", "lib:rev"]);
    assert_eq!(described.stdout, "lib:review\tReview code\n");
}

#[test]
fn names_are_remembered_until_something_changes() {
    let env = env(LIBRARY);
    let notes = env.home().join("notes");
    fs::create_dir(&notes).expect("writable");
    fs::write(notes.join("one.md"), "---\nname: one\n---\nx").expect("writable");
    let added = env.run(["library", "add", notes.to_str().expect("text")]);
    assert_eq!(added.code, 0, "{added}");
    let names = || offered(&env, "twig show ");
    let fresh = || {
        let listed = env.run(["list", "--names"]).stdout;
        let mut names: Vec<String> = listed.lines().map(str::to_owned).collect();
        names.sort();
        names
    };
    assert_eq!(names(), fresh());
    let cache = env.home().join(".cache/twig/names");
    let written = fs::metadata(&cache)
        .expect("written")
        .modified()
        .expect("a time");
    assert_eq!(names(), fresh());
    let read = fs::metadata(&cache)
        .expect("kept")
        .modified()
        .expect("a time");
    assert_eq!(read, written, "read, not written");
    env.write("lib/twig.toml", "[prompts.other]\n");
    env.write("lib/prompts/other.md", "x");
    assert_eq!(names(), fresh());
    assert!(names().contains(&"lib:other".to_owned()), "{:?}", names());
    fs::write(notes.join("two.md"), "x").expect("writable");
    assert_eq!(names(), fresh());
    fs::write(notes.join("one.md"), "---\nname: first\n---\nx").expect("writable");
    assert_eq!(names(), fresh());
    fs::write(&cache, "rubbish\n\u{1}").expect("writable");
    assert_eq!(names(), fresh());
    env.write("third/twig.toml", "[prompts.x]\n");
    env.write("third/prompts/x.md", "x");
    assert_eq!(names(), fresh());
    env.configure("");
    assert_eq!(names(), fresh());
    let made = env.run(["project", "create", "garden"]);
    assert_eq!(made.code, 0, "{made}");
    for name in ["one", "two"] {
        let added = env.run(["prompt", "add", name, "-p", "garden", "-c", "x"]);
        assert_eq!(added.code, 0, "{added}");
        assert_eq!(names(), fresh());
        let written = fs::read(&cache).expect("written");
        assert_eq!(names(), fresh());
        assert_eq!(fs::read(&cache).expect("kept"), written);
    }
}

#[test]
fn a_folder_of_many_files_is_remembered_until_one_changes() {
    let env = env("");
    let notes = env.home().join("notes");
    fs::create_dir(&notes).expect("writable");
    for at in 0..60 {
        fs::write(notes.join(format!("n{at:02}.md")), "x").expect("writable");
    }
    let elsewhere = env.home().join("elsewhere.md");
    fs::write(&elsewhere, "x").expect("writable");
    let added = env.run(["library", "add", notes.to_str().expect("text")]);
    assert_eq!(added.code, 0, "{added}");
    let cache = env.home().join(".cache/twig/names");
    let names = || offered(&env, "twig show ");
    assert_eq!(names().len(), 60);
    let written = fs::read_to_string(&cache).expect("written");
    assert!(!written.contains("n07.md"), "one line for all: {written}");
    let is_written_again = || fs::read_to_string(&cache).expect("written") != written;
    assert_eq!(names().len(), 60);
    assert!(!is_written_again());
    fs::write(notes.join("n07.md"), "---\nname: seven\n---\nx").expect("writable");
    names();
    assert!(is_written_again(), "an edited file");
    fs::write(notes.join("n99.md"), "x").expect("writable");
    assert_eq!(names().len(), 61);
    fs::remove_file(notes.join("n00.md")).expect("ours");
    assert_eq!(names().len(), 60);
}

#[test]
fn what_is_installed_knows_the_names_at_once() {
    let env = env(LIBRARY);
    let installed = env.run(["completions", "fish", "--install"]);
    assert_eq!(installed.code, 0, "{installed}");
    let cache = env.home().join(".cache/twig/names");
    let written = fs::read_to_string(&cache).expect("written");
    assert!(
        written.contains("lib:review\treview\tReview code"),
        "{written}"
    );
}

#[test]
fn arguments_and_their_choices_are_offered() {
    let env = env(LIBRARY);
    assert_eq!(offered(&env, "twig render review "), ["code=", "language="]);
    assert_eq!(offered(&env, "twig render review code=x "), ["language="]);
    assert_eq!(
        offered(&env, "twig render review language=r"),
        ["language=rust"]
    );
    fs::write(env.work().join("main.rs"), "").expect("writable");
    fs::create_dir(env.work().join("map")).expect("writable");
    assert_eq!(
        offered(&env, "twig render review code=@ma"),
        ["code=@main.rs", "code=@map/"]
    );
}

#[test]
fn names_of_everything_else_are_offered() {
    let env = env(LIBRARY);
    for (args, line, expected) in [
        (
            &["project", "create", "garden"][..],
            "twig list --project ",
            "garden",
        ),
        (
            &["project", "create", "forest"],
            "twig project delete f",
            "forest",
        ),
        (
            &["workspace", "create", "office"],
            "twig list -w ",
            "office",
        ),
        (
            &["prompt", "add", "water", "-p", "garden", "-c", "x"],
            "twig prompt show -p garden ",
            "water",
        ),
        (&["project", "list"], "twig render garden:", "garden:water"),
    ] {
        let made = env.run(args.iter().copied());
        assert_eq!(made.code, 0, "{made}");
        let found = offered(&env, line);
        assert!(found.iter().any(|it| it == expected), "{line}: {found:?}");
    }
    for (line, expected) in [
        ("twig library trust ", "lib"),
        ("twig new prompt ", "lib:"),
        ("twig connect co", "codex"),
        ("twig export --to ge", "gemini"),
        ("twig list --kind mark", "markdown"),
        ("twig list --kind=mark", "--kind=markdown"),
        ("twig completions z", "zsh"),
        ("twig --color al", "always"),
        ("twig man ren", "render"),
        ("twig re", "render"),
        ("twig list --na", "--names"),
    ] {
        let found = offered(&env, line);
        assert!(found.iter().any(|it| it == expected), "{line}: {found:?}");
    }
}

#[test]
fn only_added_libraries_can_be_removed() {
    let env = env(LIBRARY);
    assert_eq!(offered(&env, "twig library remove "), [""; 0]);
    let notes = env.home().join("notes");
    fs::create_dir(&notes).expect("writable");
    fs::write(notes.join("one.md"), "x").expect("writable");
    let added = env.run(["library", "add", notes.to_str().expect("text")]);
    assert_eq!(added.code, 0, "{added}");
    for command in ["remove", "rm"] {
        let line = format!("twig library {command} ");
        assert_eq!(offered(&env, &line), ["notes"]);
    }
    assert_eq!(offered(&env, "twig library trust "), ["notes", "lib"]);
}

#[test]
fn what_is_hidden_is_not_offered_and_mistakes_are_silent() {
    let env = env(LIBRARY);
    assert_eq!(offered(&env, "twig ren"), ["render"]);
    assert_eq!(offered(&env, "twig run"), [""; 0]);
    assert_eq!(offered(&env, "twig comp"), ["completions"]);
    assert_eq!(offered(&env, "twig render nope x"), [""; 0]);
    assert_eq!(offered(&env, "twig nope "), [""; 0]);
    assert_eq!(offered(&env, "twig render -- "), [""; 0]);
    env.configure("this is not TOML");
    assert_eq!(offered(&env, "twig render "), [""; 0]);
    assert_eq!(env.run(["complete"]).code, 0);
}

#[test]
fn what_is_hidden_is_no_tip() {
    let env = env(LIBRARY);
    let said = env.run(["rendr"]).stderr;
    let tip = said.lines().find(|line| line.contains("tip:"));
    assert!(tip.is_some_and(|tip| tip.contains("'render'")), "{said}");
    for word in ["rendr", "run", "run-functio", "complet", "render-work"] {
        let said = env.run([word]).stderr;
        for hidden in ["render-worker", "run-function", "'complete'"] {
            assert!(!said.contains(hidden), "{word}: {said}");
        }
    }
}

/// What bash would insert.
fn in_bash(env: &TestEnv, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "eval \"$(\"$TWIG\" completions bash)\"; twig() {{ \"$TWIG\" \"$@\"; }}; command() {{ shift; \"$TWIG\" \"$@\"; }}; COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _twig; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" ")
    );
    let mut bash = Command::new("bash");
    let clean = env.command([]);
    for (name, value) in clean.get_envs() {
        if let Some(value) = value {
            bash.env(name, value);
        }
    }
    let output = bash
        .env("TWIG", TWIG)
        .args(["--norc", "-c", &script])
        .output();
    let output = output.expect("bash runs");
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn bash_gets_words_that_it_splits_itself() {
    let env = env(LIBRARY);
    assert_eq!(in_bash(&env, &["twig", "sh"]), "show\n");
    // Bash has three words for `lib:rev`, and replaces the last.
    assert_eq!(
        in_bash(&env, &["twig", "render", "lib", ":", "rev"]),
        "review\n"
    );
    assert_eq!(
        in_bash(&env, &["twig", "render", "lib", ":"]),
        "report\nreview\n"
    );
    assert_eq!(
        in_bash(
            &env,
            &["twig", "render", "lib", ":", "review", "language", "=", "g"]
        ),
        "go\\ lang\n"
    );
    assert_eq!(
        in_bash(&env, &["twig", "render", "review", ""]),
        "code=\nlanguage=\n"
    );
}

#[test]
fn scripts_read_a_value_a_tab_and_a_description() {
    let env = env(LIBRARY);
    // PowerShell loses an empty word, so its script says that another one begins.
    let next = env.run(["complete", "--next", "--", "twig", "render"]);
    assert_eq!(
        next.stdout, "lib:report\nlib:review\tReview code\n",
        "{next}"
    );
    let script = env.run(["completions", "powershell"]).stdout;
    for part in [
        "Register-ArgumentCompleter -Native -CommandName twig",
        "if ($wordToComplete -eq '') { $flags = @('--next') }",
        "& twig complete @flags '--' @words",
        "$value, $about = $_ -split \"`t\", 2",
    ] {
        assert!(script.contains(part), "{part}: {script}");
    }
    let script = env.run(["completions", "elvish"]).stdout;
    for part in [
        "twig complete -- $@words",
        "str:split \"\\t\" $line | take 1",
    ] {
        assert!(script.contains(part), "{part}: {script}");
    }
}

#[test]
fn a_script_is_installed_where_the_shell_looks() {
    let env = env(LIBRARY);
    for (shell, file) in [
        ("bash", ".local/share/bash-completion/completions/twig"),
        ("fish", ".config/fish/completions/twig.fish"),
        ("zsh", ".zfunc/_twig"),
        ("powershell", ".config/powershell/twig.ps1"),
        ("elvish", ".config/elvish/lib/twig.elv"),
    ] {
        let installed = env.run(["completions", shell, "--install"]);
        assert_eq!(installed.stdout, format!("[home]/{file}\n"), "{installed}");
        assert!(installed.stderr.starts_with("hint: "), "{installed}");
        let written = fs::read_to_string(env.home().join(file)).expect("written");
        assert_eq!(written, env.run(["completions", shell]).stdout);
    }
    let mut command = env.command(["completions"]);
    let output = command
        .env("SHELL", "/usr/bin/fish")
        .output()
        .expect("it ends");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        env.run(["completions", "fish"]).stdout
    );
    insta::assert_snapshot!(env.run(["completions"]), @"
    --- stderr
    error: say which shell: bash, elvish, fish, powershell or zsh
    --- exit 2
    ");
}
