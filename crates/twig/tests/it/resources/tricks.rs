//! URIs that try to be paths: a URI is a key, and what the catalog does not have is not there.

use std::fs;

use serde_json::json;

use super::{DOCUMENTS, read, started};
use crate::env;

#[test]
fn no_spelling_of_a_uri_leads_elsewhere() {
    let env = env(DOCUMENTS);
    env.write("lib-evil/docs/s.md", "canary");
    env.write("lib/secret.md", "canary");
    fs::write(env.root().join("secret.md"), "canary").expect("ours");
    let mut client = started(&env);
    let outside = [
        "../secret",
        "../secret.md",
        "..",
        ".",
        "",
        "/",
        "//",
        "../../lib-evil/docs/s",
        "../lib-evil/docs/s.md",
        "patterns/../overview",
        "patterns/../../secret",
        "./overview",
        "patterns/./repository-pattern",
        "%2e%2e/secret",
        "%2E%2E/secret.md",
        "..%2fsecret",
        "%2e%2e%2fsecret",
        "%252e%252e/secret",
        "..\\secret",
        "patterns\\repository-pattern",
        "%5c..%5csecret",
        "..%c0%afsecret",
        "%c0%ae%c0%ae/secret",
        "//overview",
        "patterns//repository-pattern",
        "/overview",
        "/etc/passwd",
        "//etc/passwd",
        "file:///etc/passwd",
        "overview\0",
        "overview\0.md",
        "\0",
        "overview%00",
        "over\u{0}view",
        "Overview",
        "OVERVIEW",
        "PATTERNS/repository-pattern",
        "overview.",
        "overview..",
        "overview ",
        " overview",
        "overview/",
        "overview/.",
        "overview/..",
        "overview.md",
        "overview.MD",
        "overview?",
        "overview?x=1",
        "overview#top",
        "overview;v=1",
        "overview::$DATA",
        "overview:",
        "ov\u{435}rview",
        "\u{ff0e}\u{ff0e}/secret",
        "\u{2025}/secret",
        "\u{ff0f}etc\u{ff0f}passwd",
        "patterns\u{2215}repository-pattern",
        "over\u{200b}view",
        "o\u{301}verview",
        "overview\u{202e}",
        "\u{feff}overview",
        "patterns/unit of work",
        "patterns/unit+of+work",
        "patterns/unit%20of%20work%20",
        "~",
        "~/secret",
        "C:\\secret",
        "C:/secret",
        "con",
        "nul.md",
        ".git/config",
        "adr/1",
        "adr/01",
        "adr/001-",
        "adr/001.md",
        "*",
        "patterns/*",
        "{category}/{name}",
        "prompts/p",
        "../prompts/p.md",
        "../twig.toml",
    ];
    for path in outside {
        for uri in [
            format!("twig://lib/{path}"),
            format!("twig://lib{path}"),
            path.to_owned(),
        ] {
            if uri == "twig://lib/overview" {
                continue;
            }
            let refused = read(&mut client, &uri);
            assert_eq!(refused["code"], -32602, "{uri:?}: {refused}");
            assert!(
                !refused.to_string().contains("canary"),
                "{uri:?}: {refused}"
            );
            let refused = client.request("resources/subscribe", json!({"uri": uri}));
            assert_eq!(refused["error"]["code"], -32602, "{uri:?}");
        }
    }
    for uri in [
        "TWIG://lib/overview",
        "twig:/lib/overview",
        "twig:lib/overview",
        "twig://LIB/overview",
        "twig://lib:80/overview",
        "twig://x@lib/overview",
    ] {
        assert_eq!(read(&mut client, uri)["code"], -32602, "{uri}");
    }
    let near = read(&mut client, "twig://lib/patterns/repositorypattern");
    assert_eq!(
        near["message"],
        "Resource not found: twig://lib/patterns/repositorypattern"
    );
    assert_eq!(
        near["data"]["suggestions"][0],
        "twig://lib/patterns/repository-pattern"
    );
    let long = format!("twig://lib/{}", "x".repeat(100_000));
    let refused = read(&mut client, &long);
    assert!(refused.to_string().len() < 10_000);
    assert_eq!(
        client.request("resources/read", json!({"uri": 1}))["error"]["code"],
        -32602
    );
    assert_eq!(
        client.request("resources/read", json!({}))["error"]["code"],
        -32602
    );
}
