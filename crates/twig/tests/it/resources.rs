//! Documents of a library, as resources of the protocol.

mod files;
mod live;
mod tricks;

use std::fs;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::env;

/// The resource fixtures of the conformance suite.
const CONFORMANCE: &str = r#"
//- lib/twig.toml
[documents]
scheme = "test"
templates = ["test://template/{id}/data"]
//- lib/docs/static-text
This is a static text resource.
//- lib/docs/template/123/data
{"id": "123"}
//- lib/docs/watched-resource
Watch me.
"#;

/// A picture of one pixel, as far as its first bytes tell.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01";

/// A library with documents of several kinds.
const DOCUMENTS: &str = r"
//- lib/twig.toml
[prompts.p]
//- lib/prompts/p.md
p
//- lib/docs/overview.md
# The overview

Text.
//- lib/docs/patterns/repository-pattern.md
# Repository pattern
//- lib/docs/patterns/unit of work.md
no heading
//- lib/docs/adr/001-microservices-architecture.md
# Use microservices
//- lib/docs/data/hosts.json
{}
";

fn started(env: &TestEnv) -> TestClient {
    let mut client = env.serve();
    client.initialize();
    client
}

fn list(client: &mut TestClient) -> Vec<Value> {
    let answer = client.request("resources/list", json!({}));
    answer["result"]["resources"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn uris(client: &mut TestClient) -> Vec<String> {
    let listed = list(client);
    let uris = listed
        .iter()
        .map(|item| item["uri"].as_str().unwrap_or_default());
    uris.map(str::to_owned).collect()
}

fn read(client: &mut TestClient, uri: &str) -> Value {
    let answer = client.request("resources/read", json!({"uri": uri}));
    match answer.get("error") {
        Some(error) => error.clone(),
        None => answer["result"]["contents"][0].clone(),
    }
}

#[test]
fn documents_are_listed_with_what_is_known_of_them() {
    let env = env(DOCUMENTS);
    let path = env.data().join("lib/docs/overview.md");
    let file = fs::File::options().append(true).open(path).expect("ours");
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    file.set_modified(time).expect("ours");
    let mut client = started(&env);
    assert_eq!(
        uris(&mut client),
        [
            "twig://lib/adr/001-microservices-architecture",
            "twig://lib/data/hosts.json",
            "twig://lib/overview",
            "twig://lib/patterns/repository-pattern",
            "twig://lib/patterns/unit%20of%20work",
        ]
    );
    let listed = list(&mut client);
    assert_eq!(
        listed[2],
        json!({
            "uri": "twig://lib/overview", "name": "overview", "title": "The overview",
            "mimeType": "text/markdown", "size": 22,
            "annotations": {"lastModified": "2001-09-09T01:46:40Z"},
        })
    );
    assert_eq!(listed[1]["mimeType"], "application/json");
    assert_eq!(listed[4]["title"], "unit of work");
    let modern = client.modern("resources/list", json!({}));
    assert_eq!(modern["result"]["resources"], json!(listed));
    assert_eq!(modern["result"]["cacheScope"], "private");
}

#[test]
fn a_document_is_read_by_its_uri_and_a_decision_by_its_number_too() {
    let env = env(DOCUMENTS);
    let mut client = started(&env);
    for uri in [
        "twig://lib/adr/001-microservices-architecture",
        "twig://lib/adr/001",
    ] {
        let expected =
            json!({"uri": uri, "mimeType": "text/markdown", "text": "# Use microservices\n"});
        assert_eq!(read(&mut client, uri), expected);
        let modern = client.modern("resources/read", json!({"uri": uri}));
        assert_eq!(modern["result"]["contents"], json!([expected]));
        assert_eq!(modern["result"]["resultType"], "complete");
        assert_eq!(modern["result"]["ttlMs"], 5000);
        assert_eq!(modern["result"]["cacheScope"], "private");
    }
    let spaced = read(&mut client, "twig://lib/patterns/unit%20of%20work");
    assert_eq!(spaced["text"], "no heading\n");
}

#[test]
fn the_usual_template_is_offered_where_a_document_fits_it() {
    let env = env(DOCUMENTS);
    let mut client = started(&env);
    let answer = client.request("resources/templates/list", json!({}));
    assert_eq!(
        answer["result"]["resourceTemplates"],
        json!([{
            "uriTemplate": "twig://lib/{category}/{name}", "name": "lib/{category}/{name}",
            "title": "Documents of lib", "description": "A document by its category and name",
        }, {
            "uriTemplate": "twig://lib/{name}", "name": "lib/{name}", "mimeType": "text/markdown",
            "title": "Documents of lib", "description": "A document by its name",
        }])
    );
    let complete = |client: &mut TestClient, argument: Value, context: Value| {
        let reference = json!({"type": "ref/resource", "uri": "twig://lib/{category}/{name}"});
        let params = json!({"ref": reference, "argument": argument, "context": context});
        client.modern("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    let category = json!({"name": "category", "value": ""});
    let values = complete(&mut client, category, json!({}));
    assert_eq!(values, json!(["adr", "data", "patterns"]));
    let name = json!({"name": "name", "value": "UNIT"});
    let context = json!({"arguments": {"category": "patterns"}});
    assert_eq!(
        complete(&mut client, name.clone(), context),
        json!(["unit of work"])
    );
    let context = json!({"arguments": {"category": "adr"}});
    assert_eq!(complete(&mut client, name, context), json!([]));
}

#[test]
fn documents_in_no_folder_are_completed_too() {
    let env = env(
        "//- rc/twig.toml\n[library]\n//- rc/docs/guide.md\n# Guide\n//- rc/docs/adr/1-a.md\n# A\n",
    );
    let mut client = started(&env);
    let answer = client.request("resources/templates/list", json!({}));
    let templates = answer["result"]["resourceTemplates"]
        .as_array()
        .expect("templates")
        .iter();
    let uris: Vec<&str> = templates
        .filter_map(|it| it["uriTemplate"].as_str())
        .collect();
    assert_eq!(uris, ["twig://rc/{category}/{name}", "twig://rc/{name}"]);
    let reference = json!({"type": "ref/resource", "uri": "twig://rc/{name}"});
    let params = json!({"ref": reference, "argument": {"name": "name", "value": "gui"}});
    let answer = client.modern("completion/complete", params);
    assert_eq!(answer["result"]["completion"]["values"], json!(["guide"]));
}

#[test]
fn the_conformance_fixtures_can_be_written_as_a_library() {
    let env = env(CONFORMANCE);
    env.write("lib/docs/static-binary", PNG);
    let mut client = started(&env);
    assert_eq!(
        uris(&mut client),
        [
            "test://static-binary",
            "test://static-text",
            "test://template/123/data",
            "test://watched-resource"
        ]
    );
    let text = read(&mut client, "test://static-text");
    assert_eq!(text["mimeType"], "text/plain");
    assert_eq!(text["text"], "This is a static text resource.\n");
    let binary = read(&mut client, "test://static-binary");
    assert_eq!(binary["mimeType"], "image/png");
    assert!(
        binary["blob"]
            .as_str()
            .is_some_and(|blob| blob.starts_with("iVBORw0KGgo"))
    );
    let answer = client.request("resources/templates/list", json!({}));
    let templates = &answer["result"]["resourceTemplates"];
    assert_eq!(templates[0]["uriTemplate"], "test://template/{id}/data");
    assert_eq!(templates[0]["mimeType"], "text/plain");
    assert_eq!(templates.as_array().map(Vec::len), Some(1));
    let filled = read(&mut client, "test://template/123/data");
    assert!(
        filled["text"]
            .as_str()
            .is_some_and(|text| text.contains("123"))
    );
    let watched = json!({"uri": "test://watched-resource"});
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        assert_eq!(client.request(method, watched.clone())["result"], json!({}));
    }
    let missing = read(&mut client, "test://nonexistent-resource");
    assert_eq!(missing["code"], -32602);
    assert_eq!(missing["data"]["uri"], "test://nonexistent-resource");
    assert_eq!(env.run(["check"]).code, 0);
}

#[test]
fn documents_are_listed_and_shown_on_the_command_line() {
    let env = env(DOCUMENTS);
    env.write("lib/docs/logo.png", PNG);
    insta::assert_snapshot!(env.run(["list", "--documents"]), @"
    twig://lib/adr/001-microservices-architecture  text/markdown     Use microservices
    twig://lib/data/hosts.json                     application/json  hosts.json
    twig://lib/logo.png                            image/png         logo.png
    twig://lib/overview                            text/markdown     The overview
    twig://lib/patterns/repository-pattern         text/markdown     Repository pattern
    twig://lib/patterns/unit%20of%20work           text/markdown     unit of work
    --- exit 0
    ");
    let listed = env.run(["list", "--documents", "--json"]).stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed[0]["short_uri"], "twig://lib/adr/001");
    assert_eq!(listed[0]["mime_type"], "text/markdown");
    let shown = env.run(["show", "twig://lib/adr/001"]);
    assert_eq!((&*shown.stdout, shown.code), ("# Use microservices\n", 0));
    insta::assert_snapshot!(env.run(["show", "twig://lib/logo.png"]), @"
    --- stderr
    twig://lib/logo.png is not text: 24 bytes of image/png
    hint: the file is ~/.local/share/twig/prompts/lib/docs/logo.png
    --- exit 0
    ");
    insta::assert_snapshot!(env.run(["show", "twig://lib/overveiw"]), @"
    --- stderr
    error: there is no document `twig://lib/overveiw`
    hint: did you mean `twig://lib/overview`?
    --- exit 1
    ");
    insta::assert_snapshot!(env.run(["check"]), @"
    --- stderr
    checked 1 prompt and 6 documents in 1 library: no problems
    --- exit 0
    ");
}

#[test]
fn a_folder_that_cannot_be_means_no_documents() {
    let manifest = "[documents]\nfolder = \"../elsewhere\"\n";
    let env = env(&format!(
        "//- lib/twig.toml\n{manifest}//- lib/docs/a.md\n# A\n"
    ));
    assert_eq!(env.run(["check"]).code, 1);
    assert!(!env.run(["list", "--documents"]).stdout.contains("twig://"));
}
