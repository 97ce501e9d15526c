//! A project's own prompts and documents: `twig init` and what it makes, from the outside.

use std::fs;

use serde_json::json;
use twig_testkit::TestEnv;

use crate::{TWIG, env};

#[test]
fn what_init_writes_has_no_mistake_and_is_served_from_below() {
    let env = env("");
    insta::assert_snapshot!(env.run(["init"]), @r#"
    [work]/.twig/twig.toml
    [work]/.twig/prompts/review-code-against-patterns.md
    [work]/.twig/prompts/suggest-patterns.md
    [work]/.twig/prompts/create-adr.md
    [work]/.twig/twig.schema.json
    [work]/.twig/docs/patterns/repository-pattern.md
    [work]/.twig/docs/guidelines/api-design.md
    [work]/.twig/docs/adr/001-record-decisions.md
    --- stderr
    created [work]/.twig with three prompts and three documents
    describe your team's conventions in docs, and try a prompt: twig render suggest-patterns problem="slow tests"
    next, offer the prompts in your AI client: twig connect
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 3 prompts and 3 documents in 1 library: no problems
    --- exit 0
    ");
    let below = env.work().join("src/deep");
    fs::create_dir_all(&below).expect("writable");
    let mut command = env.command(["list"]);
    let listed = command.current_dir(&below).output().expect("it runs");
    insta::assert_snapshot!(String::from_utf8_lossy(&listed.stdout), @"
    create-adr                    topic [context]  Draft an architecture decision record in the format of the existing ones
    review-code-against-patterns  code [language]  Review code against the architectural patterns of this project
    suggest-patterns              problem          Suggest which of the project's patterns fit a problem
    ");
    insta::assert_snapshot!(env.run(["list", "--documents"]).stdout, @"
    architecture://adr/001-record-decisions     text/markdown  001: Record architecture decisions
    architecture://guidelines/api-design        text/markdown  HTTP API design
    architecture://patterns/repository-pattern  text/markdown  Repository pattern
    ");
    insta::assert_snapshot!(env.run(["render", "suggest-patterns", "problem=slow {{problem}}"]), @"
    Which of our patterns help with this problem?

    slow {{problem}}

    Our patterns:

    # Repository pattern
    Source: architecture://patterns/repository-pattern

    # Repository pattern

    Business logic and storage code are separated by an interface: the repository.

    ## When

    - Business rules would otherwise be mixed with database calls.
    - Tests should run without a database.

    ## How

    - One repository for each kind of entity, named after it: `Orders`, not `OrderRepositoryImpl`.
    - Its methods use domain terms (`unpaid_since`), not storage terms (`select_where`).
    - It accepts and returns values, never rows or open connections.

    ## Not

    - A repository for each table.
    - Methods that return everything and leave the filtering to the caller.

    Our guidelines:

    # HTTP API design
    Source: architecture://guidelines/api-design

    # HTTP API design

    - Paths are plural nouns (`/orders/17/items`); the HTTP method says what to do with them.
    - Lists are paginated with an opaque cursor; no response returns everything.
    - An error says what happened, where, and what to do next, in one sentence, with a stable error code.
    - Published fields are never renamed or reused. New fields may be added at any time; clients ignore unknown fields.
    - Writes are idempotent: clients send an idempotency key.

    For each pattern that fits (at most three), give its title, why it fits, its drawbacks, and a first step. If none fits, say so and describe what is missing.
    --- exit 0
    ");
}

/// The texts of both formats differ where a definition cannot leave words out.
#[test]
fn starter_prompts_of_both_formats_say_the_same() {
    let (twig, definitions) = (env(""), env(""));
    assert_eq!(twig.run(["init"]).code, 0);
    assert_eq!(definitions.run(["init", "--format", "definitions"]).code, 0);
    for command in [
        &["list"][..],
        &["list", "--documents"],
        &["render", "suggest-patterns", "problem=x"],
        &["render", "create-adr", "topic=x", "context=y"],
        &[
            "render",
            "review-code-against-patterns",
            "code=x",
            "language=go",
        ],
    ] {
        let words = |env: &TestEnv| -> String {
            let said = env.run(command.iter().copied()).stdout;
            said.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(&twig), words(&definitions), "{command:?}");
    }
    let bare = ["render", "review-code-against-patterns", "code=x"];
    let said = twig.run(bare).stdout;
    assert!(said.starts_with("Review this code against our"), "{said}");
    let said = twig.run(["render", "create-adr", "topic=x"]).stdout;
    assert!(
        said.starts_with("Draft an architecture decision record about: x\n\nOur decisions"),
        "{said}"
    );
}

#[test]
fn definitions_are_written_on_request_and_stay() {
    let env = env("");
    insta::assert_snapshot!(env.run(["init", "--format", "definitions"]), @r#"
    [work]/.twig/config.toml
    [work]/.twig/prompts/review-code-against-patterns.json
    [work]/.twig/prompts/suggest-patterns.json
    [work]/.twig/prompts/create-adr.json
    [work]/.twig/docs/patterns/repository-pattern.md
    [work]/.twig/docs/guidelines/api-design.md
    [work]/.twig/docs/adr/001-record-decisions.md
    --- stderr
    created [work]/.twig with three prompts and three documents
    describe your team's conventions in docs, and try a prompt: twig render suggest-patterns problem="slow tests"
    next, offer the prompts in your AI client: twig connect
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 3 prompts and 3 documents in 1 library: no problems
    --- exit 0
    ");
    let gone = env.work().join(".twig/prompts/create-adr.json");
    fs::remove_file(&gone).expect("writable");
    insta::assert_snapshot!(env.run(["init"]), @r#"
    [work]/.twig/prompts/create-adr.json
    --- stderr
    added the missing files to [work]/.twig; existing files kept: 6
    describe your team's conventions in docs, and try a prompt: twig render suggest-patterns problem="slow tests"
    next, offer the prompts in your AI client: twig connect
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["init", "--format", "twig"]), @"
    --- stderr
    error: nothing was created: [work]/.twig has JSON definitions, and Twig reads one format of prompts there
    hint: leave out --format to add the missing files
    --- exit 1
    ");
    assert!(!env.work().join(".twig/twig.toml").exists());
    fs::remove_dir_all(env.work().join(".twig/prompts")).expect("writable");
    insta::assert_snapshot!(env.run(["init", "--format", "twig"]).stderr, @"
    error: nothing was created: [work]/.twig has a config.toml, and Twig reads one format of prompts there
    hint: leave out --format to add the missing files
    ");
    assert_eq!(env.run(["init"]).code, 0);
    assert!(gone.exists());
}

#[test]
fn one_format_is_not_put_beside_another() {
    let twig = env("");
    assert_eq!(twig.run(["init"]).code, 0);
    insta::assert_snapshot!(twig.run(["init", "--format", "definitions"]), @"
    --- stderr
    error: nothing was created: [work]/.twig has a twig.toml, and Twig reads one format of prompts there
    hint: leave out --format to add the missing files
    --- exit 1
    ");
    let functions = env("");
    let folder = functions.work().join(".twig");
    fs::create_dir_all(&folder).expect("writable");
    for file in ["prompts.json", "prompts.bash"] {
        fs::write(folder.join(file), "").expect("writable");
    }
    insta::assert_snapshot!(functions.run(["init"]), @"
    --- stderr
    error: nothing was created: [work]/.twig has functions, and Twig reads one format of prompts there
    hint: keep the functions in a library of their own
    --- exit 1
    ");
}

#[test]
fn init_elsewhere_names_the_folder_in_what_comes_next() {
    let env = env("");
    fs::create_dir_all(env.work().join("my shop")).expect("writable");
    insta::assert_snapshot!(env.run(["init", "my shop"]).stderr, @r#"
    created [work]/my shop/.twig with three prompts and three documents
    describe your team's conventions in docs, and try a prompt: twig -C 'my shop' render suggest-patterns problem="slow tests"
    next, offer the prompts in your AI client: twig -C 'my shop' connect
    "#);
    let next = [
        "-C",
        "my shop",
        "render",
        "suggest-patterns",
        "problem=slow tests",
    ];
    assert_eq!(env.run(next).code, 0);
    assert_eq!(env.run(["-C", "my shop", "connect"]).code, 0);
}

#[test]
fn init_overwrites_nothing() {
    let env = env("");
    let mine = env.work().join(".twig/docs/adr/001-record-decisions.md");
    fs::create_dir_all(mine.parent().expect("a folder")).expect("writable");
    fs::write(&mine, "# Mine\n").expect("writable");
    insta::assert_snapshot!(env.run(["init"]).stderr, @r#"
    added the missing files to [work]/.twig; existing files kept: 1
    describe your team's conventions in docs, and try a prompt: twig render suggest-patterns problem="slow tests"
    next, offer the prompts in your AI client: twig connect
    "#);
    assert_eq!(fs::read_to_string(&mine).expect("text"), "# Mine\n");
    insta::assert_snapshot!(env.run(["init"]), @r#"
    --- stderr
    every file exists already: [work]/.twig was not changed
    describe your team's conventions in docs, and try a prompt: twig render suggest-patterns problem="slow tests"
    next, offer the prompts in your AI client: twig connect
    --- exit 0
    "#);
    insta::assert_snapshot!(env.run(["init", "nowhere"]), @"
    --- stderr
    error: [work]/nowhere is not a folder
    hint: name the folder of a project
    --- exit 1
    ");
}

#[test]
fn beside_a_manifest_of_ones_own_only_prompts_that_it_declares_are_written() {
    let env = env("");
    let manifest = env.work().join(".twig/twig.toml");
    fs::create_dir_all(env.work().join(".twig")).expect("writable");
    fs::write(&manifest, "[prompts.mine]\ntext = \"Mine\"\n").expect("writable");
    insta::assert_snapshot!(env.run(["init"]), @"
    [work]/.twig/twig.schema.json
    [work]/.twig/docs/patterns/repository-pattern.md
    [work]/.twig/docs/guidelines/api-design.md
    [work]/.twig/docs/adr/001-record-decisions.md
    --- stderr
    added the missing files to [work]/.twig; existing files kept: 1
    describe your team's conventions in docs; twig.toml is yours and declares no starter prompt, so none was written
    next, offer the prompts in your AI client: twig connect
    --- exit 0
    ");
    assert!(!env.work().join(".twig/prompts").exists());
    let checked = env.run(["check"]);
    assert_eq!((checked.code, &*checked.stdout), (0, ""), "{checked}");
    fs::write(&manifest, "[prompts.create-adr]\n").expect("writable");
    assert_eq!(env.run(["init"]).code, 0);
    let prompts = fs::read_dir(env.work().join(".twig/prompts")).expect("a folder");
    assert_eq!(prompts.count(), 1);
}

#[test]
fn init_reads_no_configuration_without_an_end() {
    let env = env("");
    let config = env.work().join(".twig/config.toml");
    fs::create_dir_all(env.work().join(".twig")).expect("writable");
    let long = format!("[library]\n{}", "#\n".repeat(1 << 20));
    fs::write(&config, long).expect("writable");
    let made = env.run(["init"]);
    assert!(made.stdout.contains(".twig/twig.toml"), "{made}");
    fs::remove_dir_all(env.work().join(".twig")).expect("writable");
    fs::create_dir_all(env.work().join(".twig")).expect("writable");
    let fifo = std::process::Command::new("mkfifo").arg(&config).status();
    assert!(fifo.is_ok_and(|status| status.success()));
    let made = env.run(["init"]);
    assert!(made.stdout.contains(".twig/twig.toml"), "{made}");
}

#[test]
fn init_writes_through_no_link() {
    let env = env("");
    let (project, outside) = (env.work().join(".twig"), env.work().join("outside"));
    fs::create_dir_all(&project).expect("writable");
    fs::create_dir_all(&outside).expect("writable");
    std::os::unix::fs::symlink(&outside, project.join("docs")).expect("writable");
    insta::assert_snapshot!(env.run(["init"]), @"
    --- stderr
    error: [work]/.twig/docs is there and is not a folder
    hint: move it away, then try again
    --- exit 1
    ");
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 0);
    fs::remove_dir_all(&project).expect("writable");
    fs::write(&project, "").expect("writable");
    insta::assert_snapshot!(env.run(["init"]), @"
    --- stderr
    error: [work]/.twig is there and is not a folder
    hint: move it away, then try again
    --- exit 1
    ");
}

#[test]
fn the_nearest_project_comes_first_and_all_before_the_data_folder() {
    let env = env(
        "//- agents/prompts/a.json\n{\"name\": \"a\", \"messages\": [{\"role\": \"user\", \"content\": {\"type\": \"text\", \"text\": \"of the person\"}}]}\n",
    );
    let say = |folder: &str, text: &str| {
        let folder = env.work().join(folder).join(".twig/prompts");
        fs::create_dir_all(&folder).expect("writable");
        let content = json!({"type": "text", "text": text});
        let prompt = json!({"name": "a", "messages": [{"role": "user", "content": content}]});
        fs::write(folder.join("a.json"), prompt.to_string()).expect("writable");
    };
    let rendered = |folder: &str| {
        let mut command = env.command(["render", "a"]);
        let output = command.current_dir(env.work().join(folder)).output();
        String::from_utf8(output.expect("it runs").stdout).expect("text")
    };
    assert_eq!(rendered(""), "of the person\n");
    say("outer", "of the outer project");
    say("outer/inner", "of the inner project");
    fs::create_dir_all(env.work().join("outer/inner/src")).expect("writable");
    assert_eq!(rendered("outer/inner/src"), "of the inner project\n");
    assert_eq!(rendered("outer"), "of the outer project\n");
    assert_eq!(rendered(""), "of the person\n");
}

#[test]
fn a_server_hears_of_a_project_that_is_made_later() {
    let env = TestEnv::new(TWIG);
    let mut client = env.serve();
    client.initialize();
    assert_eq!(env.run(["init"]).code, 0);
    client.notification("notifications/prompts/list_changed");
    let listed = client.request("prompts/list", json!({}));
    let count = listed["result"]["prompts"].as_array().map(Vec::len);
    assert!(count > Some(0), "{listed}");
}

#[test]
fn the_configuration_names_the_library_and_its_documents() {
    let env = env("");
    assert_eq!(env.run(["init", "--format", "definitions"]).code, 0);
    let config = env.work().join(".twig/config.toml");
    fs::write(
        &config,
        "[documents]\nscheme = \"team\"\n[limits]\nrendered = 1\n",
    )
    .expect("writable");
    let documents = env.run(["list", "--documents"]);
    assert!(
        documents.stdout.contains("team://adr/001-record-decisions"),
        "{documents}"
    );
    insta::assert_snapshot!(env.run(["check"]).stdout, @"
    warning[unknown-field]: unknown field `limits` in a repository's configuration is ignored
     --> .twig/config.toml:3:2
      |
    3 | [limits]
      |  ^^^^^^

    error[missing-document]: Resource not found: architecture://adr/*
      --> .twig/prompts/create-adr.json:24:174
       = help: add the document, or fix the URI

    error[missing-document]: Resource not found: architecture://patterns/*
      --> .twig/prompts/create-adr.json:24:243
       = help: add the document, or fix the URI

    error[missing-document]: Resource not found: architecture://guidelines/*
      --> .twig/prompts/create-adr.json:24:285
       = help: add the document, or fix the URI

    error[missing-document]: Resource not found: architecture://patterns/*
      --> .twig/prompts/review-code-against-patterns.json:24:149
       = help: add the document, or fix the URI

    error[missing-document]: Resource not found: architecture://patterns/*
      --> .twig/prompts/suggest-patterns.json:18:110
       = help: add the document, or fix the URI

    error[missing-document]: Resource not found: architecture://guidelines/*
      --> .twig/prompts/suggest-patterns.json:18:171
       = help: add the document, or fix the URI
    ");
}

#[test]
fn a_project_hides_no_library_of_its_name() {
    let env = env("//- work/twig.toml\n[prompts.mine]\n//- work/prompts/mine.md\nMine\n");
    assert_eq!(env.run(["init"]).code, 0);
    assert_eq!(env.run(["render", "work:mine"]).stdout, "Mine\n");
    let checked = env.run(["check"]);
    assert_eq!((checked.code, &*checked.stdout), (0, ""), "{checked}");
}

#[test]
fn check_reads_a_project_as_the_server_does() {
    let env = env("");
    assert_eq!(env.run(["init", "--format", "definitions"]).code, 0);
    let config = env.work().join(".twig/config.toml");
    fs::write(&config, "[documents]\nscheme = \"team\"\n").expect("writable");
    let of_the_server = env.run(["check"]).stdout;
    assert!(of_the_server.contains("architecture://adr/*"));
    assert_eq!(env.run(["check", ".twig"]).stdout, of_the_server);
    let of_a_file = env.run(["check", ".twig/prompts/create-adr.json"]).stdout;
    assert_eq!(of_a_file, of_the_server);
}

/// Only an administrator can give a folder away, so elsewhere there is nothing to see.
#[test]
fn the_folder_of_somebody_else_is_passed_over() {
    let env = env("");
    assert_eq!(env.run(["init"]).code, 0);
    let folder = env.work().join(".twig");
    if std::os::unix::fs::chown(&folder, Some(4_321), None).is_err() {
        return;
    }
    insta::assert_snapshot!(env.run(["list"]), @"
    --- stderr
    no prompts in ~/.local/share/twig/prompts
    hint: make a first library with `twig new library NAME`
    hint: problems found; run `twig check`
    --- exit 0
    ");
    assert_ne!(env.run(["list", "--library", ".twig"]).stdout, "");
}
