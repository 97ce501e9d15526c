//! Commands and files that the client of a prompt puts in: kept for the same client, text or
//! translated for others.

use twig_testkit::{TestEnv, write_fixture};

use super::read;

const CLAUDE: &str = "
//- lib/commands/commit.md
---
description: Commit
---
Changes: !`git diff --cached`, see @docs/style.md and @~/notes.md.
Issue: !`gh issue view $ARGUMENTS`
```!
git log -3
git status
```
Not one: !$ARGUMENTS`rm`, a!`b`.
";

const GEMINI: &str = "
//- lib/commands/commit.toml
description = 'Commit'
prompt = '''
Changes: !{git diff}, see @{docs/style.md}.
Found: !{grep {{args}}}
Close: x!{ls} @{dir/}{{args}} !{echo `date`} @{src/}x
a!`b and `c
'''
";

/// An environment with these files in its home.
fn with(files: &str) -> TestEnv {
    let env = crate::env("");
    write_fixture(&env.home(), files);
    env
}

/// Exports the files; the output ends with what happened.
fn export(env: &TestEnv, kind: &str, client: &str, flags: &[&str]) -> String {
    let library = env.home().join("lib/commands");
    let library = library.to_str().expect("a name");
    let arguments = ["export", "--library", library, "--kind", kind];
    let arguments = arguments.into_iter().chain(["--to", client]);
    env.run(arguments.chain(flags.iter().copied())).to_string()
}

#[test]
fn the_same_client_keeps_them() {
    let env = with(CLAUDE);
    insta::assert_snapshot!(export(&env, "claude", "claude", &[]), @r#"
    written  commands:commit  commit.md  a space was put into one place that Claude Code would run or fill in: "!…`"; keeps 5 places that Claude Code runs or fills in, such as "!`git diff --cached`"
    --- stderr
    [work]/.claude/commands: 1 written
    --- exit 0
    "#);
    let written = read(&env, ".claude/commands/commit.md");
    let (_, body) = written.split_once("---\nChanges").expect("a body");
    insta::assert_snapshot!(body, @"
    : !`git diff --cached`, see @docs/style.md and @~/notes.md.
    Issue: !`gh issue view $ARGUMENTS`
    ```!
    git log -3
    git status
    ```
    Not one: ! $ARGUMENTS`rm`, a!`b`.
    ");
    // The flag is for other clients.
    insta::assert_snapshot!(export(&env, "claude", "claude", &["--keep-shell"]), @"
    unchanged  commands:commit  commit.md
    --- stderr
    [work]/.claude/commands: 1 unchanged
    --- exit 0
    ");

    let env = with(GEMINI);
    insta::assert_snapshot!(export(&env, "gemini", "gemini", &[]), @"
    written  commands:commit  commit.toml  loses the name of `args`, the description of `args`; keeps 7 places that Gemini CLI runs or fills in, such as `!{git diff}`
    --- stderr
    [work]/.gemini/commands: 1 written
    --- exit 0
    ");
    insta::assert_snapshot!(read(&env, ".gemini/commands/commit.toml"), @r#"
    # twig:export sha256:db5c453d1417593787df631be4e83e2e commands:commit
    description = "Commit"
    prompt = '''
    Changes: !{git diff}, see @{docs/style.md}.
    Found: !{grep {{args}}}
    Close: x!{ls} @{dir/}{{args}} !{echo `date`} @{src/}x
    a!`b and `c
    '''
    "#);
}

#[test]
fn claude_to_gemini_is_text_unless_the_flag_says_so() {
    let env = with(CLAUDE);
    insta::assert_snapshot!(export(&env, "claude", "gemini", &[]), @r#"
    written  commands:commit  commit.toml  a space was put into one place that Gemini CLI would run or fill in: "!…`"; loses the name of `arguments`; 5 places that Claude Code runs or fills in are text for Gemini CLI, such as "!`git diff --cached`"; `--keep-shell` translates 3 of them
    --- stderr
    [work]/.gemini/commands: 1 written
    --- exit 0
    "#);
    insta::assert_snapshot!(read(&env, ".gemini/commands/commit.toml"), @r#"
    # twig:export sha256:106fb4800c548cbd57931d74d29574bc commands:commit
    description = "Commit"
    prompt = '''
    Changes: !`git diff --cached`, see @docs/style.md and @~/notes.md.
    Issue: !`gh issue view {{args}}`
    ```!
    git log -3
    git status
    ```
    Not one: ! {{args}}`rm`, a!`b`.
    '''
    "#);
    insta::assert_snapshot!(export(&env, "claude", "gemini", &["--keep-shell"]), @r#"
    updated  commands:commit  commit.toml  a space was put into one place that Gemini CLI would run or fill in: "!…`"; loses the name of `arguments`; translates 3 places, which Gemini CLI runs or fills in, such as `!{git diff --cached}`; 2 places that Claude Code runs or fills in are text for Gemini CLI, such as `@~/notes.md`
    --- stderr
    [work]/.gemini/commands: 1 updated
    --- exit 0
    "#);
    insta::assert_snapshot!(read(&env, ".gemini/commands/commit.toml"), @r#"
    # twig:export sha256:ac546171087e917ef7d6b5fae0048968 commands:commit
    description = "Commit"
    prompt = '''
    Changes: !{git diff --cached}, see @{docs/style.md} and @~/notes.md.
    Issue: !`gh issue view {{args}}`
    !{git log -3
    git status}
    Not one: ! {{args}}`rm`, a!`b`.
    '''
    "#);
}

#[test]
fn gemini_to_claude_and_opencode() {
    let env = with(GEMINI);
    insta::assert_snapshot!(export(&env, "gemini", "claude", &["--keep-shell"]), @r#"
    written  commands:commit  commit.md  loses the description of `args`; translates 2 places, which Claude Code runs or fills in, such as "!`git diff`"; 5 places that Gemini CLI runs or fills in are text for Claude Code, such as `!{grep {{args}}}`
    --- stderr
    [work]/.claude/commands: 1 written
    --- exit 0
    "#);
    insta::assert_snapshot!(read(&env, ".claude/commands/commit.md"), @r#"
    ---
    description: Commit
    argument-hint: "[args]"
    arguments: args
    # twig:export sha256:a09dc3e426253179b13710ddf788d0a3 commands:commit
    ---
    Changes: !`git diff`, see @docs/style.md.
    Found: !{grep $ARGUMENTS}
    Close: x!{ls} @{dir/}$ARGUMENTS !{echo `date`} @{src/}x
    a!`b and `c
    "#);
    insta::assert_snapshot!(export(&env, "gemini", "opencode", &["--keep-shell"]), @r#"
    written  commands:commit  commit.md  a space was put into one place that opencode would run or fill in: "!`b and `"; loses the name of `args`, the description of `args`; translates 3 places, which opencode runs or fills in, such as "!`git diff`"; 4 places that Gemini CLI runs or fills in are text for opencode, such as `!{grep {{args}}}`
    --- stderr
    [work]/.opencode/command: 1 written
    --- exit 0
    "#);
    insta::assert_snapshot!(read(&env, ".opencode/command/commit.md"), @"
    ---
    description: Commit
    # twig:export sha256:a040312dba6d76b3bf752e9c59d91c54 commands:commit
    ---
    Changes: !`git diff`, see @docs/style.md.
    Found: !{grep $ARGUMENTS}
    Close: x!`ls` @{dir/}$ARGUMENTS !{echo `date`} @{src/}x
    a! `b and `c
    ");
    insta::assert_snapshot!(export(&env, "gemini", "cursor", &["--keep-shell"]), @"
    written  commands:commit  commit.md  Cursor has no arguments: a list at the end tells the model what to fill in; loses the description; 7 places that Gemini CLI runs or fills in are text for Cursor, such as `!{git diff}`
    --- stderr
    [work]/.cursor/commands: 1 written
    --- exit 0
    ");
}

#[test]
fn claude_and_opencode_write_them_alike() {
    let env = with(CLAUDE);
    insta::assert_snapshot!(export(&env, "claude", "opencode", &[]), @r#"
    written  commands:commit  commit.md  a space was put into 7 places that opencode would run or fill in, such as "!`git diff --cached`"; opencode attaches `@docs/style.md` where there is such a file; loses the name of `arguments`; 4 places that Claude Code runs or fills in are text for opencode, such as "!`git diff --cached`"; `--keep-shell` translates 2 of them
    --- stderr
    [work]/.opencode/command: 1 written
    --- exit 0
    "#);
    insta::assert_snapshot!(read(&env, ".opencode/command/commit.md"), @"
    ---
    description: Commit
    # twig:export sha256:1694e0247927a76040a4b665414cc889 commands:commit
    ---
    Changes: ! `git diff --cached`, see @docs/style.md and @ ~/notes.md.
    Issue: ! `gh issue view $ARGUMENTS `
    ```!
    git log -3
    git status
    ```
    Not one: ! $ARGUMENTS `rm`, a! `b`.
    ");
    insta::assert_snapshot!(export(&env, "claude", "opencode", &["--keep-shell"]), @r#"
    updated  commands:commit  commit.md  a space was put into 5 places that opencode would run or fill in, such as "!`gh issue view …`"; loses the name of `arguments`; keeps 3 places that opencode runs or fills in, such as "!`git diff --cached`"; 2 places that Claude Code runs or fills in are text for opencode, such as "!`gh issue view $ARGUMENTS`"
    --- stderr
    [work]/.opencode/command: 1 updated
    --- exit 0
    "#);
    insta::assert_snapshot!(read(&env, ".opencode/command/commit.md"), @"
    ---
    description: Commit
    # twig:export sha256:7de6d313a35b777d1345d5a720a3f176 commands:commit
    ---
    Changes: !`git diff --cached`, see @docs/style.md and @~/notes.md.
    Issue: ! `gh issue view $ARGUMENTS `
    ```!
    git log -3
    git status
    ```
    Not one: ! $ARGUMENTS `rm`, a! `b`.
    ");
}

/// Claude to Gemini and back again.
#[test]
fn a_translated_command_comes_back() {
    let env = with(
        "
//- lib/commands/x.md
Changes: !`git diff --cached`, see @docs/style.md. For $ARGUMENTS
",
    );
    export(&env, "claude", "gemini", &["--keep-shell"]);
    let written = read(&env, ".gemini/commands/x.toml");
    let unmarked: Vec<&str> = written
        .lines()
        .filter(|line| !line.contains("twig:export"))
        .collect();
    let env = with(&format!(
        "//- lib/commands/x.toml\n{}\n",
        unmarked.join("\n")
    ));
    export(&env, "gemini", "claude", &["--keep-shell"]);
    let back = read(&env, ".claude/commands/x.md");
    assert!(
        back.ends_with("\nChanges: !`git diff --cached`, see @docs/style.md. For $ARGUMENTS\n"),
        "{back}"
    );
}

/// The signs of a translated command must not complete what was text before.
#[test]
fn a_translation_makes_no_other_text_run() {
    let env = with(
        "
//- lib/commands/x.toml
prompt = '''
a!`b
Now !{ls} and !{id}``!
rm
```
'''
",
    );
    export(&env, "gemini", "opencode", &["--keep-shell"]);
    let written = read(&env, ".opencode/command/x.md");
    let (_, body) = written.rsplit_once("---\n").expect("a body");
    assert_eq!(body, "a! `b\nNow !`ls` and !{id}``!\nrm\n```\n");
    export(&env, "gemini", "claude", &["--keep-shell"]);
    let written = read(&env, ".claude/commands/x.md");
    let (_, body) = written.rsplit_once("---\n").expect("a body");
    assert_eq!(body, "a!`b\nNow !`ls` and !{id}``!\nrm\n```\n");
}

/// The flag is for files of clients: text and values of others never become commands.
#[test]
fn text_and_values_never_become_commands() {
    let env = crate::env(
        "
//- own/twig.toml
[prompts.x]
[[prompts.x.arguments]]
name = \"a\"
default = \"!`rm`\"
//- own/prompts/x.md
Text !`rm` !{rm} @{x} !{{ a }}`rm` {{ a }} @~/x
",
    );
    for (client, path, expected) in [
        (
            "claude",
            ".claude/commands/x.md",
            "Text ! `rm` !{rm} @{x} ! $ARGUMENTS`rm` $ARGUMENTS @ ~/x",
        ),
        (
            "opencode",
            ".opencode/command/x.md",
            "Text ! `rm` !{rm} @{x} ! $ARGUMENTS `rm` $ARGUMENTS @ ~/x",
        ),
        (
            "gemini",
            ".gemini/commands/x.toml",
            "Text !`rm` ! {rm} @ {x} ! {{args}}`rm` {{args}} @~/x",
        ),
    ] {
        env.run(["export", "--to", client, "--keep-shell"]);
        let written = read(&env, path);
        assert!(written.contains(&format!("\n{expected}\n")), "{written}");
    }
}

#[test]
fn values_of_the_editor_are_kept_for_vs_code() {
    let env = with(
        "
//- lib/commands/explain.prompt.md
Explain ${selection} of ${file} to ${input:who}.
",
    );
    insta::assert_snapshot!(export(&env, "copilot", "copilot", &[]), @"
    written  commands:explain  explain.prompt.md  keeps 2 places that VS Code runs or fills in, such as `${selection}`
    --- stderr
    [work]/.github/prompts: 1 written
    --- exit 0
    ");
    let written = read(&env, ".github/prompts/explain.prompt.md");
    assert!(
        written.ends_with("\nExplain ${selection} of ${file} to ${input:who}.\n"),
        "{written}"
    );
    insta::assert_snapshot!(export(&env, "copilot", "claude", &["--keep-shell"]), @"
    written  commands:explain  explain.md  2 places that VS Code runs or fills in are text for Claude Code, such as `${selection}`
    --- stderr
    [work]/.claude/commands: 1 written
    --- exit 0
    ");
    let written = read(&env, ".claude/commands/explain.md");
    assert!(
        written.ends_with("\nExplain ${selection} of ${file} to $ARGUMENTS.\n"),
        "{written}"
    );
}

#[test]
fn skills_keep_their_commands() {
    let env = with(
        "
//- lib/commands/ship/SKILL.md
---
name: ship
description: Ship it
---
State: !`git status`
",
    );
    insta::assert_snapshot!(export(&env, "skills", "skills", &[]), @r#"
    written  commands:ship  ship/SKILL.md  keeps one place that Claude Code runs or fills in: "!`git status`"
    --- stderr
    [work]/.agents/skills: 1 written
    --- exit 0
    "#);
    let written = read(&env, ".agents/skills/ship/SKILL.md");
    assert!(written.ends_with("\nState: !`git status`\n"), "{written}");
    insta::assert_snapshot!(export(&env, "skills", "gemini", &["--keep-shell"]), @"
    written  commands:ship  ship.toml  translates one place, which Gemini CLI runs or fills in: `!{git status}`
    --- stderr
    [work]/.gemini/commands: 1 written
    --- exit 0
    ");
}

#[test]
fn a_repository_cannot_ask_for_it() {
    let env = crate::env("");
    write_fixture(
        &env.work(),
        "
//- .twig/config.toml
[export]
to = [\"gemini\"]
keep_shell = true
//- .twig/ship.md
Ship it.
",
    );
    insta::assert_snapshot!(env.run(["export"]), @"
    --- stderr
    error: nothing was exported: [work]/.twig/config.toml:3: unknown field `keep_shell` in [export] is ignored
    --- exit 1
    ");
}
