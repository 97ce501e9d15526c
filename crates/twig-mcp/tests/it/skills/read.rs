//! A skill's files are read byte for byte: whoever reads them compares them with their digests.

use serde_json::{Value, json};

use super::peer;

fn contents(name: &str, bytes: &[u8]) -> Value {
    let mut peer = peer(&["s/SKILL.md", &format!("s/{name}")]);
    peer.bodies.insert(name, bytes);
    let uri = format!("skill://team/s/{name}");
    let reply = peer.ask("resources/read", json!({"uri": uri}));
    reply["result"]["contents"][0].clone()
}

#[test]
fn text_keeps_every_byte() {
    for text in [
        "plain",
        "",
        "\u{feff}---\nname: s\n---\n",
        "a\r\nb\r",
        "\u{10f001}",
    ] {
        let found = contents("a.md", text.as_bytes());
        assert_eq!(found["text"], text);
        assert_eq!(found.get("blob"), None);
        assert_eq!(found["mimeType"], "text/markdown");
    }
}

#[test]
fn other_bytes_are_a_blob() {
    for (bytes, blob) in [
        (&b"\xff\xfea\0"[..], "//5hAA=="),
        (b"caf\xe9", "Y2Fm6Q=="),
        (b"a\0b", "YQBi"),
    ] {
        let found = contents("a.md", bytes);
        assert_eq!(found["blob"], blob);
        assert_eq!(found.get("text"), None);
    }
}
