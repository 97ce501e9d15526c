//! Commands and files that a client puts into its own prompts: text, or instructions for the model.

use twig_testkit::write_fixture;

use crate::env;

const COMMAND: &str = "
//- .claude/commands/commit.md
---
description: Commit the changes
---
Changes: !`git diff --cached`, and see @docs/style.md.
Not one: a!`b`, `@param`, mail me@example.org. For $ARGUMENTS.
";

/// An environment with a folder of commands, added with these flags.
fn added(flags: &[&str]) -> (twig_testkit::TestEnv, String) {
    let env = env("");
    write_fixture(&env.home(), COMMAND);
    let folder = env.home().join(".claude/commands");
    let folder = folder.to_str().expect("a name");
    let arguments = ["library", "add", folder].into_iter();
    let output = env.run(arguments.chain(flags.iter().copied()));
    (env, output.to_string())
}

#[test]
fn they_are_text_and_said_to_be() {
    let (env, output) = added(&[]);
    insta::assert_snapshot!(output, @r#"
    claude  claude  1 prompt      ~/.claude/commands
    --- stderr
    added ~/.claude/commands
    hint: 1 prompt has commands or files for the client to put in; `shell_lines = "instruct"` under the entry in config.toml has the model do it
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["render", "commit", "arguments=it"]), @"
    Changes: !`git diff --cached`, and see @docs/style.md.
    Not one: a!`b`, `@param`, mail me@example.org. For it.
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["check", "-v"]), @r#"
    note[shell-line]: the client of this file puts in the output of `git diff --cached` and 1 more; Twig serves that as text
     --> [home]/.claude/commands/commit.md:4:10
      |
    4 | Changes: !`git diff --cached`, and see @docs/style.md.
      |          ^^^^^^^^^^^^^^^^^^^^
      = help: set `shell_lines = "instruct"` for the library to have the model do it
    --- stderr
    checked 1 prompt in 1 library: no problems, 1 note
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["show", "commit"]), @"
    name         claude:commit
    title        commit
    description  Commit the changes
    library      claude
    kind         claude
    path         ~/.claude/commands/commit.md

    arguments
      arguments

    text
    ---
    description: Commit the changes
    ---
    Changes: !`git diff --cached`, and see @docs/style.md.
    Not one: a!`b`, `@param`, mail me@example.org. For $ARGUMENTS.

    put in by its own client, served as text
      command  git diff --cached
      file     docs/style.md
    --- exit 0
    ");
}

#[test]
fn the_model_is_told_to_run_them() {
    let (env, output) = added(&["--shell-lines", "instruct"]);
    insta::assert_snapshot!(output, @"
    claude  claude  1 prompt      ~/.claude/commands
    --- stderr
    added ~/.claude/commands
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "commit", "arguments=it"]), @"
    Changes: (First run `git diff --cached` and put its output here.), and see (First read the file `docs/style.md` and put its content here.).
    Not one: a!`b`, `@param`, mail me@example.org. For it.
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["check", "-v"]), @"
    --- stderr
    checked 1 prompt in 1 library: no problems
    --- exit 0
    ");
    let config = std::fs::read_to_string(env.home().join(".config/twig/config.toml"));
    insta::assert_snapshot!(config.expect("it was written"), @r#"
    [[libraries]]
    path = "~/.claude/commands"
    shell_lines = "instruct"
    "#);
}

#[test]
fn every_client_has_its_own_signs() {
    let env = env("");
    write_fixture(
        &env.home(),
        "
//- .gemini/commands/look.toml
prompt = \"Diff: !{git diff {{args}}} and @{docs/a.md}\"
//- .github/prompts/explain.prompt.md
Explain ${selection} of ${file} in ${input:style}. ${nothing}
//- .config/opencode/commands/log.md
Log:!`git log` @./notes
",
    );
    for folder in [
        ".gemini/commands",
        ".github/prompts",
        ".config/opencode/commands",
    ] {
        let folder = env.home().join(folder);
        let folder = folder.to_str().expect("a name");
        env.run(["library", "add", folder, "--shell-lines", "instruct"]);
    }
    let texts = [
        env.run(["render", "look", "args=x"]),
        env.run(["render", "explain", "style=short"]),
        env.run(["render", "log"]),
    ];
    let texts = texts.map(|text| text.to_string());
    insta::assert_snapshot!(texts.join("\n"), @"
    Diff: (First run `git diff x` and put its output here.) and (First read the file `docs/a.md` and put its content here.)
    --- exit 0
    Explain (Put the text that the user has selected in the editor here.) of (Put the path of the file that is open in the editor here.) in short. ${nothing}
    --- exit 0
    Log:(First run `git log` and put its output here.) (First read the file `./notes` and put its content here.)
    --- exit 0
    ");
}

#[test]
fn another_word_is_refused() {
    let env = env("");
    env.configure("[[libraries]]\npath = \"~/x\"\nshell_lines = \"run\"\n");
    insta::assert_snapshot!(env.run(["list"]), @r#"
    --- stderr
    error: ~/.config/twig/config.toml:3: `shell_lines` is "text" or "instruct"
    --- exit 1
    "#);
}

#[test]
fn blocks_and_paths_outside_the_project_count() {
    let env = env("");
    write_fixture(
        &env.home(),
        "
//- .claude/commands/log.md
```!
git log -3
git status
```
See @~/notes, @../x and @/etc/hosts.
",
    );
    let folder = env.home().join(".claude/commands");
    let folder = folder.to_str().expect("a name");
    env.run(["library", "add", folder, "--shell-lines", "instruct"]);
    insta::assert_snapshot!(env.run(["render", "log"]), @"
    (First run `git log -3
    git status` and put its output here.)
    See (First read the file `~/notes` and put its content here.), (First read the file `../x` and put its content here.) and (First read the file `/etc/hosts` and put its content here.).
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["show", "log"]), @"
    name         claude:log
    title        log
    description  See @~/notes, @../x and @/etc/hosts.
    library      claude
    kind         claude
    path         ~/.claude/commands/log.md

    arguments
      arguments    What follows the command

    text
    ```!
    git log -3
    git status
    ```
    See @~/notes, @../x and @/etc/hosts.

    put in by its own client, served as instructions
      command  git log -3 git status
      file     ~/notes
      file     ../x
      file     /etc/hosts
    --- exit 0
    ");
}
