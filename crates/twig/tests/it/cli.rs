//! Commands: what they print, where, and how they end.

use std::fs;

use serde_json::Value;

use crate::{CONTRACT, TWIG, env};
use twig_testkit::TestEnv;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn list_is_a_table_for_people() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["list"]), @"
    my_coding_lib:broken                                  Uses what it does not declare
    my_coding_lib:code_review    code_snippet [language]  Review code for quality and best practices
    my_coding_lib:documentation  function_code            Generate documentation from code
    --- stderr
    hint: problems found; run `twig check`
    --- exit 0
    ");
}

#[test]
fn list_is_an_array_for_scripts() {
    let env = env(CONTRACT);
    let outcome = env.run(["list", "--json"]);
    let rows = json(&outcome.stdout);
    let row = &rows[1];
    assert_eq!(row["name"], "my_coding_lib:code_review");
    assert_eq!(row["title"], Value::Null);
    assert_eq!(row["library"], "my_coding_lib");
    assert_eq!(row["kind"], "twig");
    assert_eq!(row["path"], "[data]/My-Coding Lib/prompts/code_review.md");
    assert_eq!(row["arguments"][0]["name"], "code_snippet");
    assert_eq!(row["arguments"][0]["required"], true);
    assert_eq!(outcome.code, 0);
}

#[test]
fn list_all_shows_what_is_not_served() {
    let env = env(CONTRACT);
    env.write("my_coding_lib/twig.toml", "[prompts.other]\n");
    env.write("my_coding_lib/prompts/other.md", "x");
    insta::assert_snapshot!(env.run(["list", "--all"]), @"
    my_coding_lib:broken                                  Uses what it does not declare
    my_coding_lib:code_review    code_snippet [language]  Review code for quality and best practices
    my_coding_lib:documentation  function_code            Generate documentation from code
    my_coding_lib:gone                                    (not served: Prompt content file not found: ~/.local/share/twig/prompts/My-Coding Lib/prompts/gone.md)
    my_coding_lib:other                                   (not served: shadowed by a library of the same name)
    --- stderr
    hint: problems found; run `twig check`
    --- exit 0
    ");
}

#[test]
fn show_says_what_a_prompt_takes_and_says() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["show", "code_review"]), @"
    name         my_coding_lib:code_review
    description  Review code for quality and best practices
    library      my_coding_lib
    kind         twig
    path         ~/.local/share/twig/prompts/My-Coding Lib/prompts/code_review.md

    arguments
      code_snippet  required  The code to review
      language                Programming language (optional)

    text
    Please review the following{% if language %} {{ language }}{% endif %} code:

    ```{{ language }}
    {{ code_snippet }}
    ```
    --- exit 0
    ");
}

#[test]
fn render_prints_the_text_and_nothing_else() {
    let env = env(CONTRACT);
    fs::write(env.work().join("code.rs"), "fn main() {}\n").expect("writable");
    let outcome = env.run([
        "render",
        "code_review",
        "code_snippet=@code.rs",
        "language=rust",
    ]);
    assert_eq!(
        outcome.stdout,
        "Please review the following rust code:\n\n```rust\nfn main() {}\n\n```\n"
    );
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    let outcome = env.run(["render", "code_review", "code_snippet=@@here", "--json"]);
    let text = json(&outcome.stdout)["messages"][0]["text"].clone();
    assert_eq!(
        text,
        "Please review the following code:\n\n```\n@here\n```\n"
    );
}

#[test]
fn mistakes_on_the_command_line_say_what_to_do() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["render", "code_revue"]), @"
    --- stderr
    error: Prompt not found: code_revue
    hint: did you mean `my_coding_lib:code_review`?
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "code_review"]), @"
    --- stderr
    error: Missing required argument: code_snippet
    hint: twig render my_coding_lib:code_review code_snippet=…
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "code_review", "code_snippet=@nowhere.txt"]), @"
    --- stderr
    error: the file `nowhere.txt` for `code_snippet` cannot be read: there is no such file
    hint: write code_snippet=@@… for a value that starts with an @
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "code_review", "code_snippet=1", "langauge=go"]), @"
    --- stderr
    error: Unknown argument: langauge; did you mean `language`?
    hint: put a value that contains = after `--`: -- 'langauge=go'
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["list", "--library", "x", "--kind", "markdwn"]), @"
    --- stderr
    error: invalid value 'markdwn' for '--kind <KIND>': did you mean `markdown`?

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["lits"]), @"
    --- stderr
    error: unrecognized subcommand 'lits'

      tip: a similar subcommand exists: 'list'

    Usage: twig [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn check_points_at_the_mistake() {
    let env = env(r#"
//- lib/twig.toml
[prompts.review]
descripton = "typo in a field"

[[prompts.review.arguments]]
name = "language"

[prompts.gone]
file = "prompts/nowhere.md"

[prompts.out]
file = "../../secret.md"
//- lib/prompts/review.md
# Review

Review this {{ langauge }} code.
"#);
    insta::assert_snapshot!(env.run(["check"]), @r#"
    warning[unknown-field]: unknown field `descripton` in a prompt is ignored
     --> [data]/lib/twig.toml:2:1
      |
    2 | descripton = "typo in a field"
      | ^^^^^^^^^^
      = help: did you mean `description`?

    error[missing-file]: Prompt content file not found: ~/.local/share/twig/prompts/lib/prompts/nowhere.md
     --> [data]/lib/twig.toml:8:8
      |
    8 | file = "prompts/nowhere.md"
      |        ^^^^^^^^^^^^^^^^^^^^
      = help: create the file, or name another with `file`

    error[outside-library]: `../../secret.md` has a `..`; paths stay inside the library's folder
      --> [data]/lib/twig.toml:11:8
       |
    11 | file = "../../secret.md"
       |        ^^^^^^^^^^^^^^^^^

    error[unknown-variable]: `langauge` is used but not declared
     --> [data]/lib/prompts/review.md:3:16
      |
    3 | Review this {{ langauge }} code.
      |                ^^^^^^^^
      = help: did you mean `language`?

    warning[unused-argument]: argument `language` of `lib:review` is never used
    --> [data]/lib/prompts/review.md
     = help: write {{ language }} where it belongs
    --- stderr
    checked 3 prompts in 1 library: 3 errors, 2 warnings
    --- exit 1
    "#);
    let rows = json(&env.run(["check", "--json"]).stdout);
    let typo = rows
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["code"] == "unknown-variable"));
    assert_eq!(
        typo,
        Some(&serde_json::json!({
            "code": "unknown-variable", "severity": "error", "path": "[data]/lib/prompts/review.md",
            "line": 3, "column": 16, "message": "`langauge` is used but not declared",
            "help": "did you mean `language`?",
        }))
    );
}

#[test]
fn check_of_a_good_library_says_so() {
    let env = env("//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\nhello\n");
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 1 prompt in 1 library: no problems
    --- exit 0
    ");
    assert_eq!(env.run(["check", "--json"]).stdout, "[]\n");
    insta::assert_snapshot!(env.run(["check", "nowhere"]), @"
    --- stderr
    error: nothing matches `nowhere`
    hint: libraries: lib
    --- exit 1
    ");
}

#[test]
fn a_library_may_be_anywhere() {
    let env = env("");
    twig_testkit::write_fixture(
        &env.work(),
        "//- mine/twig.toml\n[prompts.p]\n//- mine/prompts/p.md\nhello\n",
    );
    assert_eq!(env.run(["list", "--library", "mine"]).stdout, "mine:p\n");
    assert_eq!(
        env.run(["render", "mine:p", "--library", "mine"]).stdout,
        "hello\n"
    );
    assert_eq!(env.run(["check", "mine"]).code, 0);
    assert_eq!(env.run(["check", "mine", "--kind", "twig"]).code, 0);
    twig_testkit::write_fixture(
        &env.work(),
        "//- notes/research.md\n---\ndescription: Research a topic\n---\nTopic: {{input}}\n",
    );
    assert_eq!(
        env.run(["list", "--library", "notes", "--kind", "markdown"])
            .stdout,
        "research  [input]  Research a topic\n"
    );
    let outcome = env.run([
        "render",
        "research",
        "input=bees",
        "--library",
        "notes",
        "--kind",
        "markdown",
    ]);
    assert_eq!(outcome.stdout, "Topic: bees\n");
}

#[test]
fn a_new_library_works_and_nothing_is_overwritten() {
    let env = TestEnv::new(TWIG);
    insta::assert_snapshot!(env.run(["list"]), @"
    --- stderr
    no prompts in ~/.local/share/twig/prompts
    hint: make a first library with `twig new library NAME`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["new", "library", "my_prompts"]), @"
    [data]/my_prompts
    --- stderr
    created library `my_prompts` with one prompt; try `twig render my_prompts:hello name=you`
    --- exit 0
    ");
    assert_eq!(
        env.run(["render", "my_prompts:hello", "name=Ada"]).stdout,
        "Greet Ada in a friendly tone and ask what to work on today.\n"
    );
    insta::assert_snapshot!(env.run(["new", "library", "my_prompts"]), @"
    --- stderr
    error: library `my_prompts` is already there: ~/.local/share/twig/prompts/my_prompts
    hint: add to it with `twig new prompt my_prompts:NAME`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_prompts:review", "--description", "Say \"hi\""]), @"
    [data]/my_prompts/prompts/review.md
    --- stderr
    created prompt `my_prompts:review`; edit the file, then try `twig render my_prompts:review`
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_prompts:review"]), @"
    --- stderr
    error: library `my_prompts` has a prompt `review` already
    hint: choose another name
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_promts:x"]), @"
    --- stderr
    error: there is no library `my_promts`
    hint: did you mean `my_prompts`?
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", "my_prompts:../x"]), @"
    --- stderr
    error: the prompt name `../x` may contain letters, digits, `_`, `-` and `.`, and must not start with `-` or `.`
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["new", "library", "../x"]), @"
    --- stderr
    error: `../x` cannot be a library's name
    hint: use letters, digits and `_`, such as `my_prompts`
    --- exit 2
    ");
    assert_eq!(env.run(["check"]).code, 0);
    assert_eq!(
        env.run(["list"]).stdout,
        "my_prompts:hello   name [tone]  Greet a person and offer help\nmy_prompts:review               Say \"hi\"\n"
    );
}

#[test]
fn search_puts_names_first() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["search", "code"]), @"
    my_coding_lib:code_review    Review code for quality and best practices
    my_coding_lib:documentation  Generate documentation from code
    --- exit 0
    ");
    assert_eq!(
        env.run(["search", "document", "this"]).stdout,
        "my_coding_lib:documentation  Generate documentation from code\n                             Document this: {{ function_code }}\n"
    );
    insta::assert_snapshot!(env.run(["search", "nothing like it"]), @"
    --- stderr
    no match for `nothing like it`
    --- exit 1
    ");
    let found = json(&env.run(["search", "code", "--json"]).stdout);
    assert_eq!(found[0]["name"], "my_coding_lib:code_review");
    assert_eq!(found[0]["library"], "my_coding_lib");
    assert!(found[0]["snippet"].is_string(), "{found}");
}

#[test]
fn search_lists_a_skill_once() {
    let env = env(
        "//- code/skills/commit-style/SKILL.md\n---\nname: commit-style\ndescription: How commits look\n---\nWrite commit titles.\n//- code/skills/commit-style/more.md\nMore of commits.\n",
    );
    let found = json(&env.run(["search", "commit", "--json"]).stdout);
    let found: Vec<&str> = found
        .as_array()
        .expect("hits")
        .iter()
        .filter_map(|hit| hit["uri"].as_str().or(hit["name"].as_str()))
        .collect();
    assert_eq!(found, ["code:commit-style"]);
    let text = env.run(["search", "commit"]).stdout;
    assert!(!text.contains("SKILL.md"), "{text}");
}

#[test]
fn search_shows_where_the_words_are_in_prompts_and_documents() {
    let env = env("");
    env.write(
        "lib/twig.toml",
        "[prompts.greet]\ndescription = \"Say hello\"\n[prompts.plain]\n",
    );
    env.write("lib/prompts/greet.md", "Hello.\n\nMention the zebra.\n");
    env.write("lib/prompts/plain.md", "zebraCrossing");
    env.write(
        "lib/docs/animals/zebras.md",
        "# Of stripes\n\nA zebra has some.\n",
    );
    insta::assert_snapshot!(env.run(["search", "zeb"]), @"
    twig://lib/animals/zebras  Of stripes
    lib:plain                  zebraCrossing
    lib:greet                  Say hello
                               Hello. Mention the zebra.
    --- exit 0
    ");
    let found = json(&env.run(["search", "stripes", "--json"]).stdout);
    assert_eq!(found[0]["title"], "Of stripes");
    assert_eq!(found[0]["library"], "lib");
    assert_eq!(found[0]["snippet"], "Of stripes A zebra has some.");
    assert!(found[0]["uri"].is_string(), "{found}");
}

/// A debug build names no commit.
#[test]
fn the_version_names_the_features() {
    let env = env("");
    insta::assert_snapshot!(env.run(["--version"]).stdout, @r"
    twig 0.1.0
    features: page, postgres
    ");
    insta::assert_snapshot!(env.run(["-V"]).stdout, @"twig 0.1.0");
}

#[test]
fn doctor_tells_where_things_are() {
    let env = env(CONTRACT);
    env.write("no-manifest/readme.txt", "x");
    let outcome = env.run(["doctor"]);
    let text = outcome.to_string().replace(TWIG, "[twig]");
    insta::assert_snapshot!(text, @r#"
    twig 0.1.0 at [twig]
    installed by a build in a checkout; to upgrade: git pull && cargo build --release
    configuration ~/.config/twig/config.toml (not there: defaults)

    places
      ~/.local/share/twig/prompts (found)
        skipped no-manifest: has no twig.toml

    libraries
      my_coding_lib  twig  3 prompts  ~/.local/share/twig/prompts/My-Coding Lib

    problems
      [data]/My-Coding Lib/twig.toml:24:10: error[missing-file]: Prompt content file not found: ~/.local/share/twig/prompts/My-Coding Lib/prompts/gone.md; create the file, or name another with `file`
      [data]/My-Coding Lib/prompts/broken.md:5:4: error[unknown-variable]: `required_arg` is used but not declared; declare it in [[prompts.broken.arguments]]

    connect a client
      twig connect    says which clients are installed, and which have Twig
      twig connect CLIENT
      others          put this into the client's MCP configuration:
                      {"mcpServers":{"twig":{"args":["serve"],"command":"[twig]"}}}
    --- exit 1
    "#);
    let report = json(&env.run(["doctor", "--json"]).stdout);
    assert_eq!(report["libraries"][0]["name"], "my_coding_lib");
}

#[test]
fn the_configuration_is_heard_and_its_mistakes_are_told() {
    let env = env(CONTRACT);
    env.configure("separator = \"_\"\n[limits]\npage = 1\n");
    assert!(
        env.run(["list"])
            .stdout
            .contains("my_coding_lib_code_review")
    );
    env.configure("separator = 5\n");
    insta::assert_snapshot!(env.run(["list"]), @r#"
    --- stderr
    error: ~/.config/twig/config.toml:1: `separator` is one to three of `: / . _ -`, such as ":"
    --- exit 1
    "#);
    env.configure("[limits]\npag = 1\n");
    insta::assert_snapshot!(env.run(["list"]), @"
    --- stderr
    error: ~/.config/twig/config.toml:2: unknown limit `pag`; did you mean `page`?
    --- exit 1
    ");
}

#[test]
fn completions_and_man_page_come_out() {
    let env = TestEnv::new(TWIG);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = env.run(["completions", shell]);
        assert!(
            outcome.stdout.contains("twig") && outcome.code == 0,
            "{shell}"
        );
    }
    assert!(env.run(["man"]).stdout.starts_with(".ie"));
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let env = env("//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\nhello\n");
    let script = format!("{TWIG} list | true; {TWIG} man | head -c 1 >/dev/null");
    let output = std::process::Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .env_clear()
        .env("HOME", env.home())
        .env("PATH", "/usr/bin:/bin")
        .output()
        .expect("a shell starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn new_writes_nothing_that_would_not_be_served() {
    let env = TestEnv::new(TWIG);
    let inline = "prompts = { p = { description = \"works\" } }\n";
    env.write("lib/twig.toml", inline);
    env.write("lib/prompts/p.md", "hi\n");
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:y"]), @"
    --- stderr
    error: a table cannot be added to ~/.local/share/twig/prompts/lib/twig.toml: cannot extend value of type inline table with a dotted key
    hint: declare the prompt there by hand
    --- exit 1
    ");
    assert_eq!(
        fs::read_to_string(env.data().join("lib/twig.toml")).expect("there"),
        inline
    );
    insta::assert_snapshot!(env.run(["new", "prompt", "lib:P"]), @"
    --- stderr
    error: library `lib` has a prompt `p` already
    hint: choose a name that differs in more than case
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "library", "LIB"]), @"
    --- stderr
    error: library `lib` is already there: ~/.local/share/twig/prompts/lib
    hint: add to it with `twig new prompt lib:NAME`
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "prompt", ":x"]), @"
    --- stderr
    error: `:x` does not name a library
    hint: write LIBRARY:NAME, such as `my_prompts:x`, or run `twig init` to have prompts of this project
    --- exit 2
    ");
    env.write("linked/twig.toml", "");
    std::os::unix::fs::symlink(env.work(), env.data().join("linked/prompts")).expect("writable");
    insta::assert_snapshot!(env.run(["new", "prompt", "linked:x"]), @"
    --- stderr
    error: ~/.local/share/twig/prompts/linked/prompts leads outside the library
    --- exit 1
    ");
    assert_eq!(fs::read_dir(env.work()).expect("there").count(), 0);
}

#[test]
fn one_library_is_checked_with_the_others_for_its_includes() {
    let env = env(
        "//- one/twig.toml\n[prompts.p]\n//- one/prompts/p.md\n{% include \"two:p\" %}\n//- two/twig.toml\n[prompts.p]\n[prompts.gone]\n//- two/prompts/p.md\nhi\n",
    );
    let one = env.data().join("one").display().to_string();
    insta::assert_snapshot!(env.run(["check", &one]), @"
    --- stderr
    checked 1 prompt in 1 library: no problems
    --- exit 0
    ");
    assert_eq!(env.run(["check"]).code, 1);
}

#[test]
fn places_in_manifest_text_are_those_of_the_file() {
    let env = env(
        "//- lib/twig.toml\n[[prompts.a.messages]]\ntext = \"one\\n\\n{{ ghost }}\"\n\n[[prompts.b.messages]]\ntext = \"\"\"\nfirst\n  {{ ghost }}\n\"\"\"\n",
    );
    insta::assert_snapshot!(env.run(["check"]), @"
    error[unknown-variable]: `ghost` is used but not declared
     --> [data]/lib/twig.toml:2
      = help: declare it in [[prompts.a.arguments]]

    error[unknown-variable]: `ghost` is used but not declared
     --> [data]/lib/twig.toml:7:6
      |
    7 |   {{ ghost }}
      |      ^^^^^
      = help: declare it in [[prompts.b.arguments]]
    --- stderr
    checked 2 prompts in 1 library: 2 errors
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "lib:a"]), @"
    --- stderr
    error: Error rendering prompt template at line 2: undefined variable 'ghost'
    --- exit 1
    ");
}

#[test]
fn what_cannot_be_meant_is_said() {
    let env = env(CONTRACT);
    insta::assert_snapshot!(env.run(["list", "--library", "nowhere"]), @"
    --- stderr
    error: there is nothing at [work]/nowhere
    hint: `--library` takes a folder; `--only nowhere` names a library
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["render", "code_review", "code_snippet=1", "code_snippet=2"]), @"
    --- stderr
    error: `code_snippet` is given twice
    --- exit 2
    ");
    insta::assert_snapshot!(env.run(["man", "nwe"]), @"
    --- stderr
    error: there is no command `nwe`
    --- exit 2
    ");
    assert!(
        env.run(["man", "new", "prompt"])
            .stdout
            .contains("description")
    );
    env.configure("limits = 5\n");
    let doctor = env.run(["doctor"]);
    assert!(
        doctor.stdout.contains("`limits` has to be a table") && doctor.code == 1,
        "{doctor}"
    );
}

#[test]
fn new_refuses_what_it_cannot_finish() {
    let env = TestEnv::new(TWIG);
    fs::create_dir_all(env.data().join("plain")).expect("writable");
    insta::assert_snapshot!(env.run(["new", "library", "plain"]), @"
    --- stderr
    error: ~/.local/share/twig/prompts/plain exists and is not a library
    hint: choose another name, or put a twig.toml there
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["new", "library", "a\nb"]), @r"
    --- stderr
    error: `a\nb` cannot be a library's name
    hint: use letters, digits and `_`, such as `my_prompts`
    --- exit 2
    ");
    fs::write(env.data().join("outside.toml"), "").expect("writable");
    fs::create_dir_all(env.data().join("linked")).expect("writable");
    std::os::unix::fs::symlink("../outside.toml", env.data().join("linked/twig.toml"))
        .expect("writable");
    let linked = env.run(["new", "prompt", "linked:x"]);
    assert_eq!(linked.code, 1, "{linked}");
    assert_eq!(
        fs::read_to_string(env.data().join("outside.toml")).expect("there"),
        ""
    );
    env.write("crlf/twig.toml", "[prompts.a]\r\n");
    assert_eq!(env.run(["new", "prompt", "crlf:b"]).code, 0);
    let text = fs::read_to_string(env.data().join("crlf/twig.toml")).expect("there");
    assert_eq!(
        text,
        "[prompts.a]\r\n\r\n[prompts.b]\r\ndescription = \"Say what this prompt does\"\r\n"
    );
}

#[test]
fn a_shadowed_library_is_told_of_when_the_other_is_named() {
    let env = env("//- one/twig.toml\n[prompts.p]\n//- one/prompts/p.md\nhi\n");
    twig_testkit::write_fixture(
        &env.work(),
        "//- one/twig.toml\n[prompts.q]\n//- one/prompts/q.md\nhi\n",
    );
    insta::assert_snapshot!(env.run(["check", "one"]), @"
    error[duplicate-library]: library `one` is already taken by [work]/one
    --> [data]/one
     = help: rename one of the folders: ~/.local/share/twig/prompts/one is not served
    --- stderr
    checked 1 prompt in 1 library: 1 error
    --- exit 1
    ");
    fs::create_dir_all(env.work().join("one/inner")).expect("writable");
    assert_eq!(
        env.run(["list", "--library", "one/inner/.."]).stdout,
        "one:q\n"
    );
}
