//! Documents in prompts, from the outside: embedded, linked, completed, changed, limited.

use std::fs;

use serde_json::{Value, json};
use twig_testkit::TestEnv;

use super::{definition, get, refusal, service, text};

/// The service with documents, and a prompt for each way to embed them.
fn documented() -> TestEnv {
    let env = service();
    for (path, text) in [
        (
            "patterns/repository.md",
            "# Repository\n\nOne place for reading.\n",
        ),
        (
            "patterns/factory.md",
            "# Factory\n\nMakes things: {{code}} {{resource:architecture://guidelines/api}}\n",
        ),
        ("patterns/old/singleton.md", "# Singleton\n"),
        ("guidelines/api.md", "# API design\n\nPlain words.\n"),
        ("adr/001-microservices.md", "# Microservices\n\nAccepted.\n"),
    ] {
        env.write(&format!("service/docs/{path}"), text);
    }
    for (name, text, arguments) in [
        (
            "one",
            "{{resource:architecture://patterns/repository}}",
            &[][..],
        ),
        ("all", "{{resource:architecture://patterns/*}}", &[]),
        (
            "chosen",
            "{{resource:architecture://patterns/{{pattern}}}}",
            &["pattern!"],
        ),
        ("number", "{{resource:architecture://adr/001}}", &[]),
        (
            "combined",
            "Guidelines:\n{{resource:architecture://guidelines/*}}\n\nDecisions:\n{{resource:architecture://adr/*}}",
            &[],
        ),
    ] {
        env.write(
            &format!("service/prompts/{name}.json"),
            definition(name, text, arguments),
        );
    }
    env
}

const REPOSITORY: &str = "# Repository\nSource: architecture://patterns/repository\n\n# Repository\n\nOne place for reading.";
const FACTORY: &str = "# Factory\nSource: architecture://patterns/factory\n\n# Factory\n\nMakes things: {{code}} {{resource:architecture://guidelines/api}}";

#[test]
fn documents_are_embedded_as_they_are() {
    let env = documented();
    let mut client = env.serve();
    let mut said = |name: &str, arguments: Value| {
        let answer = get(&mut client, name, &arguments);
        text(&answer).to_owned()
    };
    assert_eq!(said("one", json!({})), REPOSITORY);
    assert_eq!(
        said("all", json!({})),
        format!("{FACTORY}\n\n---\n\n{REPOSITORY}")
    );
    assert_eq!(said("chosen", json!({"pattern": "factory"})), FACTORY);
    let decision = "# Microservices\nSource: architecture://adr/001-microservices\n\n# Microservices\n\nAccepted.";
    assert_eq!(said("number", json!({})), decision);
    assert_eq!(
        said("combined", json!({})),
        format!(
            "Guidelines:\n# API design\nSource: architecture://guidelines/api\n\n# API design\n\nPlain words.\n\nDecisions:\n{decision}"
        )
    );
    for value in [
        "*",
        "../guidelines/api",
        "old/singleton",
        "%2e%2e",
        "",
        "nonexistent",
    ] {
        let answer = get(&mut client, "chosen", &json!({"pattern": value}));
        let sentence = format!("Resource not found: architecture://patterns/{value}");
        assert_eq!(refusal(&answer), (-32602, sentence));
        assert_eq!(
            answer["error"]["data"]["uri"],
            format!("architecture://patterns/{value}")
        );
    }
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 6 prompts and 5 documents in 1 library: no problems
    --- exit 0
    ");
}

#[test]
fn a_changed_document_changes_what_prompts_embed() {
    let env = documented();
    let mut client = env.serve();
    client.initialize();
    let get_one = json!({"name": "one"});
    for round in 0..20 {
        env.write(
            "service/docs/patterns/repository.md",
            format!("# Repository\n\nround {round}\n"),
        );
        let answer = client.request("prompts/get", get_one.clone());
        assert!(
            text(&answer).ends_with(&format!("\n\nround {round}")),
            "{answer}"
        );
    }
    env.write("service/docs/patterns/added.md", "# Added\n");
    while !text(&get(&mut client, "all", &json!({}))).starts_with("# Added\n") {
        client.notification("notifications/resources/list_changed");
    }
    fs::remove_file(env.data().join("service/docs/patterns/repository.md")).expect("removable");
    let answer = client.request("prompts/get", get_one);
    let sentence = "Resource not found: architecture://patterns/repository".to_owned();
    assert_eq!(
        refusal(&answer),
        (-32602, sentence.clone()),
        "at once, whatever the catalog knows"
    );
    let said = get(&mut client, "all", &json!({}));
    assert!(!text(&said).contains("Repository"), "{said}");
    let told = env.run(["check"]).stdout;
    assert!(
        told.contains("missing-document") && told.contains(&sentence),
        "{told}"
    );
}

#[test]
fn names_of_documents_are_completed() {
    let env = documented();
    // What a text cannot embed is not offered.
    env.write("service/docs/patterns/diagram.png", b"\x89PNG\r\n\x1a\n\0");
    let mut client = env.serve();
    let mut complete = |value: &str| {
        let params = json!({
            "ref": {"type": "ref/prompt", "name": "chosen"},
            "argument": {"name": "pattern", "value": value},
        });
        client.request("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete(""), json!(["factory", "repository"]));
    assert_eq!(complete("Re"), json!(["repository"]));
    assert_eq!(complete("x"), json!([]));
}

#[test]
fn limits_are_those_of_the_contract_and_of_the_configuration() {
    let env = service();
    env.write(
        "service/prompts/all.json",
        definition("all", "{{resource:architecture://all/*}}", &[]),
    );
    for at in 0..50 {
        env.write(&format!("service/docs/all/{at:02}.md"), "x");
    }
    // Fifty documents, and one byte less than a mebibyte in all.
    env.write("service/docs/all/00.md", "x".repeat(1024 * 1024 - 49));
    let mut client = env.serve();
    client.initialize();
    let answer = get(&mut client, "all", &json!({}));
    assert_eq!(text(&answer).matches("Source: ").count(), 50);
    env.write("service/docs/all/01.md", "xx");
    let (code, sentence) = refusal(&get(&mut client, "all", &json!({})));
    assert_eq!(
        sentence,
        "The prompt exceeds the limit of 1048576 bytes of embedded resources"
    );
    assert_eq!(code, -32603);
    env.write("service/docs/all/00.md", "x");
    env.write("service/docs/all/50.md", "x");
    let outcome = env.run(["render", "all"]);
    assert!(
        outcome
            .stderr
            .contains("The prompt exceeds the limit of 50 embedded resources"),
        "{outcome}"
    );
    assert!(env.run(["check"]).stdout.contains("embedded-limit"));
    let config = env.home().join(".config/twig");
    fs::create_dir_all(&config).expect("writable");
    fs::write(
        config.join("config.toml"),
        "[limits]\nembedded = 51\nembedded_bytes = 53\n",
    )
    .expect("writable");
    assert_eq!(
        env.run(["render", "all"])
            .stdout
            .matches("Source: ")
            .count(),
        51
    );
}

#[test]
fn messages_may_carry_documents_and_links() {
    let env = documented();
    let rich = json!({"name": "rich", "arguments": [{"name": "p", "required": true}], "messages": [
        {"role": "user", "content": {"type": "resource", "uri": "architecture://patterns/{{p}}"}},
        {"role": "assistant", "content": {"type": "resource_link", "uri": "architecture://guidelines/api"}},
    ]});
    env.write("service/prompts/rich.json", rich.to_string());
    let mut client = env.serve();
    let answer = get(&mut client, "rich", &json!({"p": "repository"}));
    let expected = json!([
        {"role": "user", "content": {"type": "resource", "resource": {
            "uri": "architecture://patterns/repository", "mimeType": "text/markdown",
            "text": "# Repository\n\nOne place for reading.\n"}}},
        {"role": "assistant", "content": {"type": "resource_link", "uri": "architecture://guidelines/api",
            "name": "guidelines/api", "title": "API design", "mimeType": "text/markdown"}},
    ]);
    assert_eq!(answer["result"]["messages"], expected);
    insta::assert_snapshot!(env.run(["show", "rich"]), @"
    name     rich
    library  service
    kind     definitions
    path     ~/.local/share/twig/prompts/service/prompts/rich.json

    arguments
      p  required

    text (user)
    [architecture://patterns/{{p}}]

    text (assistant)
    [link to architecture://guidelines/api]
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["render", "rich", "p=factory"]), @"
    [user]
    [architecture://patterns/factory: text/markdown, 77 bytes]
    [assistant]
    [link to architecture://guidelines/api]
    --- exit 0
    ");
}

#[test]
fn templates_of_every_library_embed_documents() {
    let env = documented();
    env.write("lib/twig.toml", "[prompts.plain]\n[prompts.looped]\n");
    let call = "{{ resource(\"architecture://patterns/repository\") }}";
    env.write("lib/prompts/plain.md", call);
    env.write(
        "lib/prompts/looped.md",
        format!("{{% for i in [1, 2] %}}{call}|{{% endfor %}}"),
    );
    let mut client = env.serve();
    assert_eq!(text(&get(&mut client, "lib:plain", &json!({}))), REPOSITORY);
    let twice = format!("{REPOSITORY}|{REPOSITORY}|");
    assert_eq!(text(&get(&mut client, "lib:looped", &json!({}))), twice);
    env.write("service/docs/patterns/repository.md", "# Repository\n\nnew");
    assert!(text(&get(&mut client, "lib:plain", &json!({}))).ends_with("\n\nnew"));
    fs::remove_file(env.data().join("service/docs/patterns/repository.md")).expect("removable");
    let (code, sentence) = refusal(&get(&mut client, "lib:plain", &json!({})));
    assert_eq!(
        sentence,
        "Resource not found: architecture://patterns/repository"
    );
    assert_eq!(code, -32602);
}
