//! What authors of prompts do: make, edit, move and remove prompts, and read about their mistakes.

use std::fs;

use crate::{TWIG, env};
use twig_testkit::{TestEnv, write_fixture};

/// The text of a file below the data folder.
fn data(env: &TestEnv, path: &str) -> String {
    fs::read_to_string(env.data().join(path)).expect("there")
}

#[test]
fn a_prompt_is_made_whole_in_one_command() {
    let env = env("//- lib/twig.toml\n# mine\n[prompts.a]\n//- lib/prompts/a.md\nhi\n");
    let made = env.run([
        "new",
        "prompt",
        "lib:commit",
        "--title",
        "Commit",
        "-d",
        "Write a commit message",
        "--arg",
        "diff",
        "--arg",
        "style?",
        "--text",
        "Write a commit message for {{ diff }}{% if style %} ({{ style }}){% endif %}",
    ]);
    insta::assert_snapshot!(made, @"
    [data]/lib/twig.toml
    --- stderr
    created prompt `lib:commit`; try `twig render lib:commit diff=…`
    --- exit 0
    ");
    insta::assert_snapshot!(data(&env, "lib/twig.toml"), @r#"
    # mine
    [prompts.a]

    [prompts.commit]
    title = "Commit"
    description = "Write a commit message"
    arguments = ["diff", "style?"]
    text = "Write a commit message for {{ diff }}{% if style %} ({{ style }}){% endif %}"
    "#);
    insta::assert_snapshot!(env.run(["render", "lib:commit", "diff=x", "style=terse"]), @"
    Write a commit message for x (terse)
    --- exit 0
    ");
    // Choices need tables, and a text of several lines a file.
    let before = data(&env, "lib/twig.toml");
    let made = env.run([
        "new",
        "prompt",
        "lib:review",
        "--arg",
        "code",
        "--arg",
        "language?=rust,go",
        "--text",
        "Review:\n{{ code }}\n",
    ]);
    insta::assert_snapshot!(made, @"
    [data]/lib/prompts/review.md
    --- stderr
    created prompt `lib:review`; try `twig render lib:review code=…`
    warning[unused-argument]: argument `language` of `lib:review` is never used
    --> [data]/lib/prompts/review.md
     = help: write {{ language }} where it belongs
    --- exit 0
    ");
    let manifest = data(&env, "lib/twig.toml");
    let added = manifest.strip_prefix(&*before).expect("only added to");
    insta::assert_snapshot!(added, @r#"
    [prompts.review]
    description = "Say what this prompt does"

    [[prompts.review.arguments]]
    name = "code"
    required = true

    [[prompts.review.arguments]]
    name = "language"
    choices = ["rust", "go"]
    "#);
    assert_eq!(data(&env, "lib/prompts/review.md"), "Review:\n{{ code }}\n");
    // Without a text there is a first one, and it can be served.
    let made = env.run([
        "new", "prompt", "lib:plan", "--arg", "goal", "--arg", "limit?",
    ]);
    insta::assert_snapshot!(made, @"
    [data]/lib/prompts/plan.md
    --- stderr
    created prompt `lib:plan`; edit the file, then try `twig render lib:plan goal=…`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "lib:plan", "goal=ship", "limit=3"]), @"
    Write what `plan` should say here.

    ship

    limit: 3
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["check"]), @"
    warning[unused-argument]: argument `language` of `lib:review` is never used
    --> [data]/lib/prompts/review.md
     = help: write {{ language }} where it belongs
    --- stderr
    checked 4 prompts in 1 library: 1 warning
    --- exit 0
    ");
}

#[test]
fn arguments_that_cannot_be_are_refused() {
    let env = env("//- lib/twig.toml\n[prompts.a]\n//- lib/prompts/a.md\nhi\n");
    let before = data(&env, "lib/twig.toml");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:x", "--arg", "my arg"]), @"
    --- stderr
    error: invalid value 'my arg' for '--arg <NAME[?][=CHOICE,…]>': argument name `my arg` may contain the letters a to z, digits and `_`, and must not start with a digit

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:x", "--arg", "tone=friendly"]), @"
    --- stderr
    error: invalid value 'tone=friendly' for '--arg <NAME[?][=CHOICE,…]>': `tone=friendly` has one choice only; write at least two with a comma between them, or set `default` in twig.toml

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:x", "--arg", "a", "--arg", "a?"]), @"
    --- stderr
    error: argument `a` is given twice
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:a"]), @"
    --- stderr
    error: library `lib` has a prompt `a` already
    hint: choose another name
    --- exit 1
    ");
    assert_eq!(data(&env, "lib/twig.toml"), before);
}

#[test]
fn a_bare_name_goes_to_the_project() {
    let env = TestEnv::new(TWIG);
    insta::assert_snapshot!(env.run(["new", "prompt", "threats"]), @"
    --- stderr
    error: `threats` does not name a library
    hint: write LIBRARY:NAME, such as `my_prompts:threats`, or run `twig init` to have prompts of this project
    --- exit 2
    ");
    write_fixture(
        &env.work(),
        "//- .twig/twig.toml\n[prompts.a]\n//- .twig/prompts/a.md\nhi\n",
    );
    insta::assert_snapshot!(env.run(["new", "prompt", "threats", "--text", "Which threats?"]), @"
    [work]/.twig/twig.toml
    --- stderr
    created prompt `threats`; try `twig render threats`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "threats"]), @"
    Which threats?
    --- exit 0
    ");
    // A project of definitions gets one more of them.
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.work(),
        "//- .twig/prompts/a.json\n{\"name\": \"a\", \"messages\": [{\"role\": \"user\", \"content\": {\"type\": \"text\", \"text\": \"x\"}}]}\n",
    );
    let made = env.run([
        "new", "prompt", "threats", "--title", "Threats", "--arg", "code", "--arg", "limit?",
    ]);
    insta::assert_snapshot!(made, @"
    [work]/.twig/prompts/threats.json
    --- stderr
    created prompt `threats`; edit the file, then try `twig render threats code=…`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "threats", "code=x", "limit=2"]), @"
    Write what `threats` should say here.

    x

    2
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "more", "--arg", "a=b,c"]), @"
    --- stderr
    error: argument `a` has choices, which a definition in JSON cannot hold
    hint: give `--arg a` without choices
    --- exit 1
    ");
}

#[test]
fn a_missing_file_names_its_neighbour_and_its_own_key() {
    let env = env(
        "//- lib/twig.toml\n[prompts.a]\nfile = \"prompts/reviw.md\"\n[[prompts.b.messages]]\nimage = \"nope.png\"\n//- lib/prompts/review.md\nhi\n",
    );
    insta::assert_snapshot!(env.run(["check"]), @r#"
    error[missing-file]: Prompt content file not found: ~/.local/share/twig/prompts/lib/prompts/reviw.md
     --> [data]/lib/twig.toml:2:8
      |
    2 | file = "prompts/reviw.md"
      |        ^^^^^^^^^^^^^^^^^^
      = help: did you mean `prompts/review.md`?

    error[missing-file]: Prompt content file not found: ~/.local/share/twig/prompts/lib/nope.png
     --> [data]/lib/twig.toml:4:9
      |
    4 | image = "nope.png"
      |         ^^^^^^^^^^
      = help: create the file, or name another with `image`
    --- stderr
    checked 2 prompts in 1 library: 2 errors
    --- exit 1
    "#);
}

const SHELF: &str = "//- lib/twig.toml\n# shelf\n[library]\ndescription = \"d\"\n\n[prompts.review] # keep\ndescription = \"Review\"\n\n[[prompts.review.arguments]]\nname = \"code\"\n\n[prompts.\"a.b\"]\ntext = \"dots\"\n\n[prompts.shared]\nfile = \"prompts/both.md\"\n[prompts.both]\n//- lib/prompts/review.md\n{{ code }}\n//- lib/prompts/both.md\nboth\n";

#[test]
fn a_prompt_is_renamed_with_its_file_and_nothing_else_changes() {
    let env = env(SHELF);
    let before = data(&env, "lib/twig.toml");
    insta::assert_snapshot!(env.run(["mv", "lib:review", "review-code"]), @"
    --- stderr
    renamed `lib:review` to `lib:review-code`
    --- exit 0
    ");
    let after = before.replace("prompts.review", "prompts.review-code");
    assert_eq!(data(&env, "lib/twig.toml"), after);
    assert_eq!(data(&env, "lib/prompts/review-code.md"), "{{ code }}\n");
    assert!(!env.data().join("lib/prompts/review.md").exists());
    assert_eq!(
        env.run(["render", "lib:review-code", "code=x"]).stdout,
        "x\n"
    );
    insta::assert_snapshot!(env.run(["mv", "lib:a.b", "lib:c.d"]), @"
    --- stderr
    renamed `lib:a.b` to `lib:c.d`
    --- exit 0
    ");
    let after = after.replace("\"a.b\"", "\"c.d\"");
    assert_eq!(data(&env, "lib/twig.toml"), after);
    insta::assert_snapshot!(env.run(["mv", "lib:c.d", "Both"]), @"
    --- stderr
    error: library `lib` has a prompt `both` already
    hint: choose another name
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["mv", "lib:c.d", "other:x"]), @"
    --- stderr
    error: `other:x` is not in library `lib`
    hint: a prompt keeps its library: make a new one there, then `twig rm` this
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["mv", "lib:c.d", "no!"]), @"
    --- stderr
    error: the prompt name `no!` may contain letters, digits, `_`, `-` and `.`, and must not start with `-` or `.`
    --- exit 2
    ");
    // A file that another prompt uses stays.
    insta::assert_snapshot!(env.run(["mv", "lib:shared", "common"]), @"
    --- stderr
    renamed `lib:shared` to `lib:common`
    --- exit 0
    ");
    assert_eq!(data(&env, "lib/prompts/both.md"), "both\n");
}

#[test]
fn a_prompt_is_deleted_with_its_file_and_nothing_else_changes() {
    let env = env(SHELF);
    let before = data(&env, "lib/twig.toml");
    insta::assert_snapshot!(env.run(["rm", "lib:review"]), @"
    --- stderr
    error: prompt `lib:review` was not deleted: this is not a terminal, so you cannot be asked to confirm it (this removes its table in ~/.local/share/twig/prompts/lib/twig.toml and ~/.local/share/twig/prompts/lib/prompts/review.md)
    hint: use --yes to delete it without being asked
    --- exit 1
    ");
    assert_eq!(data(&env, "lib/twig.toml"), before);
    insta::assert_snapshot!(env.run(["rm", "lib:review", "-y"]), @"
    --- stderr
    deleted prompt `lib:review`: its table in ~/.local/share/twig/prompts/lib/twig.toml and ~/.local/share/twig/prompts/lib/prompts/review.md
    --- exit 0
    ");
    assert!(!env.data().join("lib/prompts/review.md").exists());
    insta::assert_snapshot!(data(&env, "lib/twig.toml"), @r#"
    # shelf
    [library]
    description = "d"

    [prompts."a.b"]
    text = "dots"

    [prompts.shared]
    file = "prompts/both.md"
    [prompts.both]
    "#);
    insta::assert_snapshot!(env.run(["rm", "lib:shared", "--yes"]), @"
    --- stderr
    deleted prompt `lib:shared`: its table in ~/.local/share/twig/prompts/lib/twig.toml
    --- exit 0
    ");
    assert_eq!(data(&env, "lib/prompts/both.md"), "both\n");
    insta::assert_snapshot!(env.run(["rm", "lib"]), @"
    --- stderr
    error: `lib` is a library, not a prompt
    hint: `twig library remove lib` stops serving a folder that was added; delete ~/.local/share/twig/prompts/lib to delete the library
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["rm", "lib:gone"]), @"
    --- stderr
    error: Prompt not found: lib:gone
    hint: run `twig list` to see every prompt
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 2 prompts in 1 library: no problems
    --- exit 0
    ");
    // Lines that cannot be told apart are left to the author.
    env.write(
        "dotted/twig.toml",
        "prompts.a.text = \"x\"\nprompts.b.text = \"y\"\n",
    );
    insta::assert_snapshot!(env.run(["rm", "dotted:a", "-y"]), @"
    --- stderr
    error: the prompt's lines in ~/.local/share/twig/prompts/dotted/twig.toml cannot be told from the others
    hint: change them by hand
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["mv", "dotted:a", "c"]), @"
    --- stderr
    error: the prompt's lines in ~/.local/share/twig/prompts/dotted/twig.toml cannot be told from the others
    hint: change them by hand
    --- exit 1
    ");
}

#[test]
fn a_path_is_printed_for_a_prompt_a_library_and_everything() {
    let env = env(SHELF);
    insta::assert_snapshot!(env.run(["path", "lib:review"]), @"
    [data]/lib/prompts/review.md
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["path", "lib:a.b"]), @"
    [data]/lib/twig.toml
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["path", "lib"]), @"
    [data]/lib
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["path"]), @"
    [data]
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["path", "lib:review", "--json"]), @r#"
    {
      "path": "[data]/lib/prompts/review.md"
    }
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["path", "lib:revew"]), @"
    --- stderr
    error: Prompt not found: lib:revew
    hint: did you mean `lib:review`?
    --- exit 1
    ");
}

/// Runs `twig edit` with a shell script as the editor; `$1` is the file.
fn edit(env: &TestEnv, name: &str, script: &str) -> String {
    let editor = env.work().join("editor");
    fs::write(&editor, script).expect("writable");
    let mut command = env.command(["edit", name]);
    let editor = format!("sh {}", editor.display());
    let output = command.env("PATH", "/usr/bin:/bin").env("VISUAL", editor);
    let output = output.output().expect("the binary starts");
    let text = format!(
        "{}--- {}\n{}",
        String::from_utf8_lossy(&output.stdout),
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stderr)
    );
    text.replace(&env.data().display().to_string(), "[data]")
        .replace(&env.work().display().to_string(), "[work]")
}

#[test]
fn an_edited_file_is_checked() {
    let env = env(SHELF);
    insta::assert_snapshot!(edit(&env, "lib:review", "echo 'New {{ code }}' > \"$1\""), @"
    --- 0
    checked: no problems
    ");
    assert_eq!(data(&env, "lib/prompts/review.md"), "New {{ code }}\n");
    // Without a terminal an error ends the command.
    insta::assert_snapshot!(edit(&env, "lib:review", "echo '{{ cod }}' > \"$1\""), @"
    error[unknown-variable]: `cod` is used but not declared
     --> [data]/lib/prompts/review.md:1:4
      |
    1 | {{ cod }}
      |    ^^^
      = help: did you mean `code`?

    warning[unused-argument]: argument `code` of `lib:review` is never used
    --> [data]/lib/prompts/review.md
     = help: write {{ code }} where it belongs

    --- 1
    ");
    insta::assert_snapshot!(edit(&env, "lib:both", "exit 3"), @"
    --- 1
    error: the editor `sh [work]/editor` failed: it ended with exit code 3
    hint: $VISUAL or $EDITOR names the editor
    ");
    insta::assert_snapshot!(edit(&env, "lib", "echo '[prompts.x' >> \"$1\""), @"
    error[manifest-syntax]: twig.toml is not valid TOML: unclosed table, expected `]`
      --> [data]/lib/twig.toml:17:11
       |
    17 | [prompts.x
       |           ^

    --- 1
    ");
    insta::assert_snapshot!(edit(&env, "nope", "exit 0"), @"
    --- 1
    error: Prompt not found: nope
    hint: a manifest cannot be read: ~/.local/share/twig/prompts/lib/twig.toml:17: twig.toml is not valid TOML: unclosed table, expected `]`
    hint: run `twig list` to see every prompt
    ");
}

#[test]
fn a_manifest_that_cannot_be_read_comes_first_and_names_the_first_place() {
    let env = env(
        "//- lib/twig.toml\n[prompts.a]\ndescription = \"x\"\n\n[prompts.b]\n\n[prompts.a]\n//- lib/prompts/a.md\nhi\n//- other/twig.toml\n[prompts.p]\ntext = \"p\"\n",
    );
    let listed = env.run(["list"]);
    let first = listed.stderr.lines().next().unwrap_or_default();
    assert_eq!(
        first,
        "error: ~/.local/share/twig/prompts/lib/twig.toml:6: twig.toml is not valid TOML: `[prompts.a]` is already at line 1"
    );
    assert!(listed.stdout.contains("other:p"), "{listed}");
    let searched = env.run(["search", "p"]);
    assert_eq!(searched.stderr.lines().next(), Some(first), "{searched}");
    let shown = env.run(["show", "lib:gone"]);
    let hint = first.replace("error: ", "hint: a manifest cannot be read: ");
    assert!(shown.stderr.contains(&hint), "{shown}");
    fs::remove_dir_all(env.data().join("other")).expect("there");
    let listed = env.run(["list"]);
    assert!(!listed.stderr.contains("make a first library"), "{listed}");
    let checked = env.run(["check"]);
    assert!(
        checked.stdout.contains("= help: move these lines there"),
        "{checked}"
    );
    // A key that is there twice.
    env.write(
        "lib/twig.toml",
        "[prompts.a]\ntext = \"x\"\n[prompts.b]\ntext = \"y\"\ntext = \"z\"\n",
    );
    let checked = env.run(["check"]);
    assert!(
        checked.stdout.contains("`text` is already at line 4"),
        "{checked}"
    );
    assert!(checked.stdout.contains("twig.toml:5:1"), "{checked}");
}

#[test]
fn arguments_that_are_not_yaml_are_one_error_and_hints_are_none() {
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.work(),
        "//- .claude/commands/broken.md\n---\ndescription: d\narguments:\n- name: x\n   description: bad indent\n---\nSay $x\n//- .claude/commands/hint.md\n---\nargument-hint: [pr-number] [priority]\n---\nReview $1 with $2\n",
    );
    let checked = env.run(["check", ".claude/commands"]);
    assert_eq!(checked.stdout.matches("error[").count(), 1, "{checked}");
    assert!(
        checked
            .stdout
            .contains("error[front-matter]: `arguments` is not valid YAML"),
        "{checked}"
    );
    // Claude Code documents this form of a hint, and it was read as meant.
    assert!(!checked.stderr.contains("note"), "{checked}");
    assert!(!checked.stdout.contains("`bad`"), "{checked}");
    assert_eq!(checked.code, 1, "{checked}");
    let listed = env.run(["list", "--library", ".claude/commands"]);
    assert!(!listed.stdout.contains("[bad]"), "{listed}");
    assert!(listed.stdout.contains("priority"), "{listed}");
    // A template whose arguments are unknown has no second error, and is not served.
    write_fixture(
        &env.work(),
        "//- .claude/commands/broken.md\n---\ntemplate: jinja\narguments:\n- name: x\n   description: bad indent\n---\nSay {{ x }}\n",
    );
    let checked = env.run(["check", ".claude/commands"]);
    assert_eq!(checked.stdout.matches("error[").count(), 1, "{checked}");
    let listed = env.run(["list", ".claude/commands"]);
    assert!(!listed.stdout.contains("broken"), "{listed}");
}

const INCLUDED: &str = "//- lib/twig.toml\n[prompts.tone]\n[prompts.review]\n[prompts.inline]\ntext = '{% include \"tone\" %}'\n//- lib/prompts/tone.md\nBe kind.\n//- lib/prompts/review.md\n{% include \"prompts/tone.md\" %}\n//- other/twig.toml\n[prompts.far]\n//- other/prompts/far.md\n{% include \"part.md\" %}\n//- other/part.md\n{% include \"lib:tone\" %}\n";

#[test]
fn templates_that_include_a_renamed_prompt_are_named() {
    let env = env(INCLUDED);
    insta::assert_snapshot!(env.run(["mv", "lib:tone", "voice"]), @"
    --- stderr
    renamed `lib:tone` to `lib:voice`
    warning: `lib:prompts/review.md`, `lib:twig.toml:4` and `other:part.md` include it by its old name: write the new one there
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["mv", "lib:review", "code"]), @"
    --- stderr
    renamed `lib:review` to `lib:code`
    --- exit 0
    ");
}

#[test]
fn templates_that_include_a_deleted_prompt_are_named() {
    let env = env(INCLUDED);
    insta::assert_snapshot!(env.run(["rm", "lib:tone"]), @"
    --- stderr
    error: prompt `lib:tone` was not deleted: this is not a terminal, so you cannot be asked to confirm it (this removes its table in ~/.local/share/twig/prompts/lib/twig.toml and ~/.local/share/twig/prompts/lib/prompts/tone.md; `lib:prompts/review.md`, `lib:twig.toml:4` and `other:part.md` include it)
    hint: use --yes to delete it without being asked
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["rm", "lib:tone", "-y"]), @"
    --- stderr
    deleted prompt `lib:tone`: its table in ~/.local/share/twig/prompts/lib/twig.toml and ~/.local/share/twig/prompts/lib/prompts/tone.md
    warning: `lib:prompts/review.md`, `lib:twig.toml:4` and `other:part.md` include it and cannot be rendered without it
    --- exit 0
    ");
}

#[test]
fn a_prompt_that_no_manifest_names_says_where_its_name_is() {
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.work(),
        "//- .twig/prompts/a.json\n{\"name\": \"a\", \"messages\": [{\"role\": \"user\", \"content\": {\"type\": \"text\", \"text\": \"x\"}}]}\n//- notes/one.md\nx\n",
    );
    insta::assert_snapshot!(env.run(["mv", "a", "b"]), @"
    --- stderr
    error: prompt `a` was not renamed: its name comes from the `name` in [work]/.twig/prompts/a.json
    hint: change it there: `twig edit a`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["mv", "one", "two", "--library", "notes"]), @"
    --- stderr
    error: prompt `one` was not renamed: its name comes from [work]/notes/one.md
    hint: rename the file, or change the `name` at its top if it has one
    --- exit 1
    ");
}

/// A manifest with a mistake in `b` and one in `c`; everything else is sound.
const HALF: &str = "//- lib/twig.toml\n[library]\ntitle = \"Mine\"\n\n[prompts.a]\ntext = \"Hi {{ name }}\"\narguments = [\"name\"]\n\n[prompts.b]\ntext = \"never closed\n\n[[prompts.b.arguments]]\nname = \"x\"\n\n[prompts.c]\ntitle C\n\n[prompts.d]\n//- lib/prompts/d.md\nD\n//- lib/docs/guide.md\n# Guide\n";

#[test]
fn the_sound_parts_of_a_broken_manifest_are_listed() {
    let env = env(HALF);
    insta::assert_snapshot!(env.run(["list"]), @r#"
    lib:a  name
    lib:d
    --- stderr
    error: ~/.local/share/twig/prompts/lib/twig.toml:9: twig.toml is not valid TOML: invalid basic string, expected `"`
    hint: problems found; run `twig check`
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["list", "--all"]), @r#"
    lib:a  name
    lib:b        (not served: twig.toml is not valid TOML: invalid basic string, expected `"`)
    lib:c        (not served: twig.toml is not valid TOML: key with no value, expected `=`)
    lib:d
    --- stderr
    error: ~/.local/share/twig/prompts/lib/twig.toml:9: twig.toml is not valid TOML: invalid basic string, expected `"`
    hint: problems found; run `twig check`
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["check"]), @r#"
    error[manifest-syntax]: twig.toml is not valid TOML: invalid basic string, expected `"`
     --> [data]/lib/twig.toml:9:21
      |
    9 | text = "never closed
      |                     ^

    error[manifest-syntax]: twig.toml is not valid TOML: key with no value, expected `=`
      --> [data]/lib/twig.toml:15:7
       |
    15 | title C
       |       ^
    --- stderr
    checked 4 prompts and 1 document in 1 library: 2 errors
    --- exit 1
    "#);
    insta::assert_snapshot!(env.run(["render", "lib:a", "name=you"]), @"
    Hi you
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "lib:b"]), @r#"
    --- stderr
    error: twig.toml is not valid TOML: invalid basic string, expected `"`
    --- exit 1
    "#);
    assert!(
        env.run(["list", "--documents"]).stdout.contains("guide"),
        "documents are listed, too"
    );
    // No command writes to a file that it cannot read.
    let before = data(&env, "lib/twig.toml");
    insta::assert_snapshot!(env.run(["mv", "lib:a", "e"]), @"
    --- stderr
    error: ~/.local/share/twig/prompts/lib/twig.toml cannot be changed: line 15, column 7: key with no value, expected `=`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["rm", "-y", "lib:d"]), @"
    --- stderr
    error: ~/.local/share/twig/prompts/lib/twig.toml cannot be changed: line 15, column 7: key with no value, expected `=`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:e", "--text", "x"]), @"
    --- stderr
    error: a table cannot be added to ~/.local/share/twig/prompts/lib/twig.toml: key with no value, expected `=`
    hint: run `twig check`, fix the file, and try again
    --- exit 1
    ");
    assert_eq!(data(&env, "lib/twig.toml"), before);
    // A server that starts with it serves the same.
    let mut client = env.serve();
    client.initialize();
    let list = client.request("prompts/list", serde_json::json!({}));
    let prompts = list["result"]["prompts"].as_array().expect("a list");
    let names: Vec<&str> = prompts
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["lib:a", "lib:d"]);
    let answer = client.request("prompts/get", serde_json::json!({"name": "lib:b"}));
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("twig.toml is not valid TOML"), "{answer}");
}

#[test]
fn a_server_does_not_replace_a_good_manifest_by_half_of_one() {
    let env = env("//- lib/twig.toml\n[prompts.a]\ntext = \"old\"\n[prompts.b]\ntext = \"b\"\n");
    let mut client = env.serve();
    client.initialize();
    let texts = |client: &mut twig_testkit::TestClient| {
        ["lib:a", "lib:b"].map(|name| {
            let answer = client.request("prompts/get", serde_json::json!({"name": name}));
            let text = &answer["result"]["messages"][0]["content"]["text"];
            text.as_str().unwrap_or_default().to_owned()
        })
    };
    assert_eq!(texts(&mut client), ["old", "b"]);
    env.write(
        "lib/twig.toml",
        "[prompts.a]\ntext = \"new\"\n[prompts.b]\ntext = b\n",
    );
    assert_eq!(texts(&mut client), ["old", "b"]);
    env.write(
        "lib/twig.toml",
        "[prompts.a]\ntext = \"new\"\n[prompts.b]\ntext = \"c\"\n",
    );
    assert_eq!(texts(&mut client), ["new", "c"]);
}

#[test]
fn notes_are_counted_and_listed_on_demand() {
    let env = TestEnv::new(TWIG);
    write_fixture(
        &env.work(),
        "//- md/README.md\n# About\n//- md/a.md\nSay a.\n//- md/b.md\n---\ndescription: x\n\ntext\n",
    );
    insta::assert_snapshot!(env.run(["check", "md"]), @"
    --- stderr
    checked 2 prompts in 1 library: no problems, 2 notes (-v lists them)
    --- exit 0
    ");
    let listed = env.run(["check", "-v", "md"]);
    assert_eq!(listed.stdout.matches("note[").count(), 2, "{listed}");
    assert!(
        listed.stderr.ends_with("no problems, 2 notes\n"),
        "{listed}"
    );
    let json = env.run(["check", "--json", "md"]);
    assert_eq!(json.stdout.matches("\"note\"").count(), 2, "{json}");
    let doctor = env.run(["doctor", "--library", "md"]);
    let after = |output: &str| {
        let lines = output.lines().skip_while(|line| *line != "problems");
        let lines: Vec<&str> = lines
            .take_while(|line| *line != "connect a client")
            .collect();
        lines.join("\n")
    };
    insta::assert_snapshot!(after(&doctor.stdout), @"
    problems
      none

    notes
      2 (-v lists them)
    ");
    let doctor = env.run(["doctor", "-v", "--library", "md"]);
    assert_eq!(doctor.stdout.matches("note[").count(), 2, "{doctor}");
    let listed = env.run(["list", "md"]);
    assert!(!listed.stderr.contains("problem"), "{listed}");
}

#[test]
fn list_counts_the_problems_that_check_reports() {
    // One is found when the library is loaded, the others when templates are compiled.
    let env = env(
        "//- lib/twig.toml\n[prompts.a]\n[prompts.b]\ntext = \"{{ x }}\"\n[prompts.c]\ntext = \"{% if %}\"\n[prompts.d]\ntext = \"d\"\narguments = [\"unused\"]\n",
    );
    let listed = env.run(["list"]);
    assert!(
        listed
            .stderr
            .ends_with("hint: problems found; run `twig check`\n"),
        "{listed}"
    );
    let checked = env.run(["check"]);
    assert!(
        checked.stderr.ends_with(": 3 errors, 1 warning\n"),
        "{checked}"
    );
}

#[test]
fn mistakes_in_templates_have_their_line() {
    let env = env(
        "//- lib/twig.toml\n[prompts.own]\n\n[[prompts.linked.messages]]\nrole = \"user\"\nresource = \"twig://lib/nope\"\n\n[prompts.comment]\n\n[prompts.embeds]\n//- lib/prompts/own.md\nfirst\n{% include \"prompts/own.md\" %}\n//- lib/prompts/comment.md\n{# closed #}\nx {{ \"{#\" }}\n{# never closed\n{{ y }}\n\nend\n//- lib/prompts/embeds.md\nfirst\n{{ resource(\"twig://lib/gone\") }}\n",
    );
    insta::assert_snapshot!(env.run(["check"]), @r#"
    error[template-syntax]: the comment has no end: `#}` is missing
     --> [data]/lib/prompts/comment.md:3:1
      |
    3 | {# never closed
      | ^^

    error[missing-document]: Resource not found: twig://lib/gone
     --> [data]/lib/prompts/embeds.md:2:14
      |
    2 | {{ resource("twig://lib/gone") }}
      |              ^^^^^^^^^^^^^^^
      = help: add the document, or fix the URI

    error[missing-document]: Resource not found: twig://lib/nope
     --> [data]/lib/twig.toml:5:13
      |
    5 | resource = "twig://lib/nope"
      |             ^^^^^^^^^^^^^^^
      = help: add the document, or fix the URI

    error[include-cycle]: template `lib:prompts/own.md` includes itself
     --> [data]/lib/prompts/own.md:2:12
      |
    2 | {% include "prompts/own.md" %}
      |            ^^^^^^^^^^^^^^^^
      = help: remove this include
    --- stderr
    checked 4 prompts in 1 library: 4 errors
    --- exit 1
    "#);
}

#[test]
fn the_text_of_a_new_prompt_is_checked() {
    let env = env("//- lib/twig.toml\n[prompts.old]\n//- lib/prompts/a.md\nhi\n");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:x", "--text", "Say {{ y }}"]), @"
    [data]/lib/twig.toml
    --- stderr
    created prompt `lib:x`; edit the file, then try `twig render lib:x`
    error[unknown-variable]: `y` is used but not declared
     --> [data]/lib/twig.toml:5
      = help: declare it in [[prompts.x.arguments]]
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:z", "--arg", "y", "--text", "Say\nno"]), @"
    [data]/lib/prompts/z.md
    --- stderr
    created prompt `lib:z`; try `twig render lib:z y=…`
    warning[unused-argument]: argument `y` of `lib:z` is never used
    --> [data]/lib/prompts/z.md
     = help: write {{ y }} where it belongs
    --- exit 0
    ");
    assert_eq!(data(&env, "lib/prompts/z.md"), "Say\nno");
    assert!(data(&env, "lib/twig.toml").contains("Say {{ y }}"));
}

#[test]
fn the_problems_of_a_new_prompt_are_in_its_json() {
    let env = env("//- lib/twig.toml\n[prompts.old]\n");
    let made = env.run(["new", "prompt", "lib:x", "--text", "Say {{ y }}", "--json"]);
    assert_eq!(made.code, 1, "{made}");
    let row: serde_json::Value = serde_json::from_str(&made.stdout).expect("JSON");
    assert_eq!(row["name"], "lib:x");
    assert_eq!(row["problems"][0]["code"], "unknown-variable", "{row}");
}

#[test]
fn mistakes_of_texts_in_the_manifest_have_their_lines_and_say_what_to_do() {
    let env = env(
        "//- lib/twig.toml\n[prompts.a]\ntext = \"\"\n\n[prompts.b]\ntext = \"\"\n\n[prompts.c]\ntext = \"c\"\narguments = [\"unused\"]\n\n[prompts.d]\ntext = \"{% include 'c' %}\"\n\n[prompts.e]\ntext = \"{{ resource('twig://l/' ~ name) }}\"\narguments = [\"name\"]\n",
    );
    insta::assert_snapshot!(env.run(["check"]), @"
    warning[empty-file]: the prompt says nothing
     --> [data]/lib/twig.toml:2
      = help: write something

    warning[empty-file]: the prompt says nothing
     --> [data]/lib/twig.toml:5
      = help: write something

    warning[unused-argument]: argument `unused` of `lib:c` is never used
     --> [data]/lib/twig.toml:8
      = help: write {{ unused }} where it belongs

    error[missing-include]: included prompt `c` has its text in twig.toml, not in a file
      --> [data]/lib/twig.toml:12
       = help: move its text to prompts/c.md

    error[unknown-function]: `resource` needs a URI that is one quoted text
      --> [data]/lib/twig.toml:15
       = help: write {{ resource('scheme://name') }}; a template cannot compute the URI
    --- stderr
    checked 5 prompts in 1 library: 2 errors, 3 warnings
    --- exit 1
    ");
    let rendered = env.run(["render", "lib:e", "name=x"]);
    let why = "`resource` needs a URI that is one quoted text";
    assert!(
        rendered.code == 1 && rendered.stderr.contains(why),
        "{rendered}"
    );
}

#[test]
fn an_unknown_argument_is_refused_alike_in_every_kind() {
    let env = env(
        "//- lib/twig.toml\n[prompts.a]\ntext = \"{{ code }}\"\narguments = [\"code\"]\n//- defs/prompts/b.json\n{\"name\": \"b\", \"description\": \"d\", \"arguments\": [{\"name\": \"code\", \"required\": true}], \"messages\": [{\"role\": \"user\", \"content\": {\"type\": \"text\", \"text\": \"{{code}}\"}}]}\n",
    );
    for prompt in ["a", "b"] {
        let refused = env.run(["render", prompt, "coed=x"]);
        assert!(
            refused
                .stderr
                .starts_with("error: Unknown argument: coed; did you mean `code`?"),
            "{prompt}: {refused}"
        );
    }
}
