//! Files of other clients, as people have them, served by the program itself: the traps that real
//! files set, each in a small one.

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv, write_fixture};

use crate::env;

/// A project in the working folder, and a server that was pointed at it.
fn serve(fixture: &str) -> (TestEnv, TestClient) {
    let env = env("");
    write_fixture(&env.work(), fixture);
    let work = env.work();
    let mut client = env.serve_with(["--library", work.to_str().expect("a path")]);
    client.initialize();
    (env, client)
}

fn listed(client: &mut TestClient, name: &str) -> Value {
    let list = client.request("prompts/list", json!({}));
    let prompts = list["result"]["prompts"].as_array().expect("a list");
    let found = prompts.iter().find(|prompt| prompt["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name} in {list:#}"))
        .clone()
}

fn arguments(prompt: &Value) -> Vec<(&str, bool)> {
    let arguments = prompt["arguments"].as_array().expect("a list");
    let argument = |it: &Value| it["required"].as_bool().expect("a flag");
    arguments
        .iter()
        .map(|it| (it["name"].as_str().expect("a text"), argument(it)))
        .collect()
}

/// The text of the only message.
fn text(client: &mut TestClient, name: &str, given: &Value) -> String {
    let got = client.request("prompts/get", json!({"name": name, "arguments": given}));
    let messages = got["result"]["messages"].as_array();
    let messages = messages.unwrap_or_else(|| panic!("{got:#}"));
    assert_eq!(messages.len(), 1, "{got:#}");
    assert_eq!(messages[0]["role"], "user");
    messages[0]["content"]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

#[test]
fn braces_of_others_are_text() {
    let body = "replicas: {{ .Values.replicas }}\n{{#if x}}{% raw %}{{/if}}\non: ${{ secrets.TOKEN }} {{version}}\n";
    let (_env, mut client) = serve(&format!(
        "//- .claude/commands/k8s-manifest.md\n---\nmodel: opus\n---\n{body}//- .cursor/commands/helm.md\n{body}"
    ));
    for name in ["claude:k8s-manifest", "cursor:helm"] {
        assert_eq!(
            arguments(&listed(&mut client, name)),
            [("arguments", false)]
        );
        assert_eq!(text(&mut client, name, &json!({})), body);
    }
}

/// What `expand_prompt` makes of a command and the words after it.
fn expanded(client: &mut TestClient, name: &str, input: &str) -> String {
    let arguments = json!({"command": format!(":{name}"), "input": input});
    let params = json!({"name": "expand_prompt", "arguments": arguments});
    let called = client.request("tools/call", params);
    let said = &called["result"]["structuredContent"]["prompt"];
    said.as_str()
        .unwrap_or_else(|| panic!("{called:#}"))
        .to_owned()
}

const COMMANDS: &str = "\
//- .claude/commands/commit.md
Write a commit message.
//- .claude/commands/sub-fix.md
issue $1 prio $2 all $ARGUMENTS
//- .claude/commands/greet.md
---
arguments: name tone
---
Hello $name in a $tone tone
//- .claude/skills/tides/SKILL.md
---
name: tides
description: Reads tides
---
Read the table.
//- .opencode/command/plan.md
Make a plan.
//- .opencode/command/fix.md
Fix $1 prio $2.
//- .gemini/commands/git/log.toml
prompt = \"Sum up the log.\"
//- .cursor/commands/tidy.md
Tidy up.
";

#[test]
fn words_are_appended_where_a_file_has_no_place_for_them() {
    let (env, mut client) = serve(COMMANDS);
    let folder = env.work().join(".claude/skills/tides");
    let skill = format!(
        "Read the table.\n\nBase directory for this skill: {}\n\
         Relative paths in this skill are relative to this base directory.\n",
        folder.display()
    );
    for (name, plain, with_words) in [
        (
            "claude:commit",
            "Write a commit message.\n",
            "\nARGUMENTS: a  b",
        ),
        ("claude_skills:tides", &*skill, "\nARGUMENTS: a  b"),
        ("opencode:plan", "Make a plan.\n", "\na  b"),
        ("gemini:git-log", "Sum up the log.", "\n\n/git:log a  b"),
        ("cursor:tidy", "Tidy up.\n", "\na  b"),
    ] {
        let listed = listed(&mut client, name);
        assert_eq!(arguments(&listed), [("arguments", false)], "{name}");
        assert_eq!(text(&mut client, name, &json!({})), plain);
        assert_eq!(text(&mut client, name, &json!({"arguments": ""})), plain);
        let said = format!("{plain}{with_words}");
        assert_eq!(text(&mut client, name, &json!({"arguments": "a  b"})), said);
        assert_eq!(expanded(&mut client, name, "a  b"), said);
        assert_eq!(expanded(&mut client, name, ""), plain);
    }
    let work = env.work();
    let library = work.to_str().expect("a path");
    insta::assert_snapshot!(env.run(["render", "commit", "in", "English", "--library", library]), @"
    Write a commit message.

    ARGUMENTS: in English
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["show", "commit", "--library", library]), @"
    name         claude:commit
    title        commit
    description  Write a commit message.
    library      claude
    kind         claude
    path         [work]/.claude/commands/commit.md

    arguments
      arguments    What follows the command

    text
    Write a commit message.
    --- exit 0
    ");
    let exported = env.run([
        "export",
        "commit",
        "--to",
        "claude",
        "--dry-run",
        "--library",
        library,
    ]);
    assert!(!exported.to_string().contains("arguments"), "{exported}");
}

#[test]
fn a_line_is_split_where_numbers_or_names_are_places() {
    let (env, mut client) = serve(COMMANDS);
    for (name, input, said) in [
        (
            "claude:sub-fix",
            "12 high",
            "issue 12 prio high all 12 high\n",
        ),
        ("sub-fix", "12", "issue 12 prio $2 all 12\n"),
        (
            "sub-fix",
            "\"12 a\"  it's C:\\dir \"x y\"",
            "issue 12 a prio it's C:\\dir \"x y\" all \"12 a\"  it's C:\\dir \"x y\"\n",
        ),
        ("sub-fix", "arg2=low 12", "issue 12 prio low all 12 low\n"),
        ("greet", "Ada warm", "Hello Ada in a warm tone\n"),
        (
            "opencode:fix",
            "12 as soon as possible",
            "Fix 12 prio as soon as possible.\n",
        ),
        ("opencode:fix", "12", "Fix 12 prio .\n"),
    ] {
        assert_eq!(expanded(&mut client, name, input), said, "{input}");
    }
    let arguments = json!({"command": "sub-fix", "input": "12 high"});
    let params = json!({"name": "use_prompt", "arguments": arguments});
    let used = client.request("tools/call", params);
    let content = json!([{"type": "text", "text": "issue 12 prio high all 12 high\n"}]);
    assert_eq!(used["result"]["content"], content);
    // A client gives each value by name: nothing is split there.
    let given = json!({"arg1": "a \"b", "arg2": "c d"});
    let said = text(&mut client, "claude:sub-fix", &given);
    assert_eq!(said, "issue a \"b prio c d all a \"b c d\n");
    let work = env.work();
    let library = work.to_str().expect("a path");
    let rendered = env.run([
        "render",
        "sub-fix",
        "12",
        "very",
        "high",
        "--library",
        library,
    ]);
    assert_eq!(
        rendered.stdout,
        "issue 12 prio very high all 12 very high\n"
    );
}

#[test]
fn show_says_which_number_is_the_first() {
    let (env, _client) = serve(
        "//- .claude/commands/one.md\nFix $1, not `awk '{print $2}'`.\n//- .claude/commands/zero.md\nFix $0.\n",
    );
    let work = env.work();
    let library = work.to_str().expect("a path");
    insta::assert_snapshot!(env.run(["show", "one", "--library", library]), @"
    name            claude:one
    title           one
    description     Fix $1, not awk '{print $2}'.
    library         claude
    kind            claude
    path            [work]/.claude/commands/one.md
    first argument  $1

    arguments
      arg1

    text
    Fix $1, not `awk '{print $2}'`.
    --- exit 0
    ");
    let json = env.run(["show", "zero", "--json", "--library", library]);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["first_argument"], 0);
}

#[test]
fn a_workflow_is_no_argument_of_a_command() {
    let (_env, mut client) = serve(
        "//- .claude/commands/tools/api-scaffold.md\nBuild $ARGUMENTS with ${{ github.sha }} for $HOME, $5 and {{x}}.\n",
    );
    let prompt = listed(&mut client, "claude:tools-api-scaffold");
    assert_eq!(arguments(&prompt), [("arguments", false)]);
    assert_eq!(prompt["title"], "tools:api-scaffold");
    let given = json!({"arguments": "$ARGUMENTS {{x}}"});
    assert_eq!(
        text(&mut client, "claude:tools-api-scaffold", &given),
        "Build $ARGUMENTS {{x}} with ${{ github.sha }} for $HOME, $5 and {{x}}.\n"
    );
}

#[test]
fn inputs_of_copilot_are_asked_once() {
    let (_env, mut client) = serve(
        "//- .github/prompts/java.prompt.md\n---\ndescription: 'Make it'\nmode: agent\n---\nMake ${input:projectName:demo-java}, cd ${input:projectName:demo-java}, ${selection} ${KIND=\"A|B\"} ${X == \"y\" ? a : b}\n//- .github/prompts/notes.md\nNot a prompt.\n",
    );
    let prompt = listed(&mut client, "copilot:java");
    assert_eq!(arguments(&prompt), [("projectName", false)]);
    assert_eq!(prompt["arguments"][0]["description"], "demo-java");
    let body = "Make ${input:projectName:demo-java}, cd ${input:projectName:demo-java}, ${selection} ${KIND=\"A|B\"} ${X == \"y\" ? a : b}\n";
    assert_eq!(text(&mut client, "copilot:java", &json!({})), body);
    let given = json!({"projectName": "shop"});
    assert_eq!(
        text(&mut client, "copilot:java", &given),
        body.replace("${input:projectName:demo-java}", "shop")
    );
}

#[test]
fn a_fence_around_the_file_is_taken_off() {
    let (_env, mut client) = serve(
        "//- .github/prompts/cards.prompt.md\n````prompt\n---\ndescription: 'Cards'\n---\n\n# Make cards\n\n```json\n{}\n```\n````\n",
    );
    assert_eq!(listed(&mut client, "copilot:cards")["description"], "Cards");
    let said = text(&mut client, "copilot:cards", &json!({}));
    assert_eq!(said, "\n# Make cards\n\n```json\n{}\n```\n");
}

#[test]
fn patterns_of_fabric_have_their_variables_and_an_input() {
    let (_env, mut client) = serve(
        "//- data/patterns/translate/system.md\n# IDENTITY and PURPOSE\r\n\r\nYou translate to {{lang_code}}, {{plugin:sys:env:HOME}}.\r\n\r\n# INPUT\r\n\r\nINPUT:\r\n//- data/patterns/write_rule/system.md\n# IDENTITY\n\nYou write {{BaseURL}} and {{}} and {{f(x)}}.\n//- data/patterns/sum_up/system.md\nSum up {{input}} now.\n//- data/patterns/sum_up/user.md\n//- data/patterns/pattern_explanations.md\n# All\n\n1. **sum_up**: Sums it up.\n",
    );
    let translate = listed(&mut client, "fabric:translate");
    assert_eq!(
        arguments(&translate),
        [("lang_code", true), ("input", false)]
    );
    assert_eq!(
        translate["description"],
        "You translate to {{lang_code}}, {{plugin:sys:env:HOME}}."
    );
    assert_eq!(
        listed(&mut client, "fabric:sum_up")["description"],
        "Sums it up."
    );
    let given = json!({"lang_code": "de", "input": "{{lang_code}}"});
    let said = text(&mut client, "fabric:translate", &given);
    assert!(
        said.contains("You translate to de, {{plugin:sys:env:HOME}}.\r\n"),
        "{said}"
    );
    assert!(said.ends_with("INPUT:\r\n\n{{lang_code}}"), "{said:?}");
    assert_eq!(
        arguments(&listed(&mut client, "fabric:write_rule")),
        [("input", false)]
    );
    assert_eq!(
        text(&mut client, "fabric:write_rule", &json!({})),
        "# IDENTITY\n\nYou write {{BaseURL}} and {{}} and {{f(x)}}.\n"
    );
    let given = json!({"input": "this"});
    assert_eq!(
        text(&mut client, "fabric:sum_up", &given),
        "Sum up this now.\n"
    );
    let got = client.request("prompts/get", json!({"name": "fabric:translate"}));
    assert_eq!(
        got["error"]["message"],
        "Missing required argument: lang_code"
    );
}

#[test]
fn commands_of_gemini_are_their_prompt() {
    let long = "A line with \\\"quotes\\\" and a \\\\ in it.\n".repeat(1200);
    let (env, mut client) = serve(&format!(
        "//- .gemini/commands/git/commit.toml\ndescription = \"Commit\"\nprompt = \"\"\"\nCommit {{{{args}}}}: !{{git diff}} @{{x.md}}\n\"\"\"\n//- .gemini/commands/setup.toml\nprompt = \"\"\"\n# Set up\n\n{long}\"\"\"\n//- .gemini/commands/broken.toml\nprompt = \"\n"
    ));
    let commit = listed(&mut client, "gemini:git-commit");
    assert_eq!(commit["title"], "git:commit");
    assert_eq!(arguments(&commit), [("args", false)]);
    let given = json!({"args": "now {{args}}"});
    assert_eq!(
        text(&mut client, "gemini:git-commit", &given),
        "Commit now {{args}}: !{git diff} @{x.md}\n"
    );
    assert_eq!(
        text(&mut client, "gemini:git-commit", &json!({})),
        "Commit : !{git diff} @{x.md}\n"
    );
    let said = text(&mut client, "gemini:setup", &json!({}));
    assert_eq!(
        said.len(),
        10 + long.replace("\\\"", "\"").replace("\\\\", "\\").len()
    );
    let work = env.work();
    let checked = env.run(["check", work.to_str().unwrap()]);
    assert!(
        checked.stdout.contains("broken.toml:1"),
        "{}",
        checked.stdout
    );
    assert!(
        checked.stdout.contains("is not valid TOML"),
        "{}",
        checked.stdout
    );
}

#[test]
fn prompts_of_github_models_keep_their_roles() {
    let (_env, mut client) = serve(
        "//- prompts/sum.prompt.yml\nname: Sum up\ndescription: Sums up a text\nmodel: some/model\nmessages:\n  - role: system\n    content: Be short.\n  - role: user\n    content: |\n      Sum up {{input}} for {{who}}, not ${{ github.sha }}.\n  - role: assistant\n    content: Here it is.\n",
    );
    let list = client.request("prompts/list", json!({}));
    let name = list["result"]["prompts"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let prompt = listed(&mut client, &name);
    assert_eq!(prompt["title"], "Sum up");
    assert_eq!(prompt["description"], "Sums up a text");
    assert_eq!(arguments(&prompt), [("who", false), ("input", false)]);
    let got = client.request(
        "prompts/get",
        json!({"name": name, "arguments": {"who": "us"}}),
    );
    assert_eq!(
        got["result"]["messages"],
        json!([
            {"role": "user", "content": {"type": "text", "text": "Be short.\n\nSum up {{input}} for us, not ${{ github.sha }}.\n"}},
            {"role": "assistant", "content": {"type": "text", "text": "Here it is."}},
        ])
    );
}

#[test]
fn jinja_is_for_those_who_ask_for_it() {
    let (env, mut client) = serve(
        "//- .claude/commands/review.md\n---\ndescription: Review\ntemplate: jinja\narguments:\n  - name: language\n    choices: [rust, go]\n---\nReview{% if language %} {{ language }}{% endif %} code, {{ langauge }}.\n//- .claude/commands/plain.md\nReview{% if language %}.\n",
    );
    let got = client.request("prompts/get", json!({"name": "claude:review"}));
    assert_eq!(
        got["error"]["message"],
        "Error rendering prompt template at line 8: undefined variable 'langauge'"
    );
    std::fs::write(
        env.work().join(".claude/commands/review.md"),
        "---\ntemplate: jinja\narguments: language\n---\nReview{% if language %} {{ language }}{% endif %} code.\n",
    )
    .unwrap();
    let given = json!({"language": "rust"});
    assert_eq!(
        text(&mut client, "claude:review", &given),
        "Review rust code.\n"
    );
    assert_eq!(
        text(&mut client, "claude:plain", &json!({})),
        "Review{% if language %}.\n"
    );
}

#[test]
fn odd_files_are_named_and_leave_the_others_alone() {
    let env = env("");
    let work = env.work();
    write_fixture(
        &work,
        "//- .claude/commands/open.md\n---\ndescription: never closed\nHello.\n//- .claude/commands/確定申告について教えてくれる君.md\nこんにちは、税の話をしましょう。\n//- .claude/commands/svelte:a11y.md\nCheck it.\n//- .claude/commands/README.md\nAbout.\n//- .claude/commands/list.md\n---\nargument-hint: [a] | [b]\ndescription: Fix #12 bug\n---\nDo it.\n",
    );
    let folder = work.join(".claude/commands");
    std::fs::write(
        folder.join("mark.md"),
        "\u{feff}---\r\ndescription: With a mark\r\n---\r\nHi.\r\n",
    )
    .unwrap();
    std::fs::write(folder.join("nul.md"), "a\0b").unwrap();
    std::fs::write(folder.join("latin.md"), b"caf\xe9").unwrap();
    std::fs::write(folder.join("huge.md"), "x".repeat(10 << 20)).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("out.md")).unwrap();
    std::os::unix::fs::symlink("loop.md", folder.join("loop.md")).unwrap();
    let listed = env.run(["list", "--json", "--library", work.to_str().unwrap()]);
    let rows: Value = serde_json::from_str(&listed.stdout).unwrap();
    let row = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("title"), text("description"))
    };
    let rows: Vec<_> = rows.as_array().unwrap().iter().map(row).collect();
    let rows: Vec<(&str, &str, &str)> = rows
        .iter()
        .map(|(name, title, about)| (&**name, &**title, &**about))
        .collect();
    assert_eq!(
        rows,
        [
            ("claude:list", "list", "Fix #12 bug"),
            ("claude:mark", "mark", "With a mark"),
            ("claude:open", "open", "description: never closed Hello."),
            ("claude:svelte-a11y", "svelte:a11y", "Check it."),
            (
                "claude:確定申告について教えてくれる君",
                "確定申告について教えてくれる君",
                "こんにちは、税の話をしましょう。"
            ),
        ]
    );
    let checked = env.run(["check", "--json", work.to_str().unwrap()]);
    for file in [
        "nul.md",
        "latin.md",
        "huge.md",
        "out.md",
        "loop.md",
        "open.md",
        "README.md",
    ] {
        assert!(checked.stdout.contains(file), "{file}: {}", checked.stdout);
    }
    assert!(!checked.stdout.contains("list.md"), "{}", checked.stdout);
    assert!(!checked.stdout.contains("hostname"), "{}", checked.stdout);
}
