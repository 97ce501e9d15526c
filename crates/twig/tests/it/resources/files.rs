//! Files of all kinds in a documents folder.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{DOCUMENTS, list, read, started, uris};
use crate::env;

#[test]
fn text_is_text_and_everything_else_is_base64() {
    let env = env("//- lib/twig.toml\n[library]\n");
    let files: [(&str, &[u8]); 8] = [
        ("mark.md", b"\xef\xbb\xbf# Marked\r\ntext\r\n"),
        ("crlf.md", b"\r\n# Windows\r\n"),
        ("empty.md", b""),
        ("plain", b"no ending"),
        ("binary", b"\x00\x01\x02"),
        ("latin.txt", b"Gr\xfc\xdfe"),
        ("nul.md", b"# Title\n\0"),
        ("page.HTML", b"<p>"),
    ];
    for (name, bytes) in files {
        env.write(&format!("lib/docs/{name}"), bytes);
    }
    let mut client = started(&env);
    let listed = list(&mut client);
    let titles = listed
        .iter()
        .map(|item| (&item["name"], &item["title"], &item["mimeType"]));
    let titles: Vec<String> = titles
        .map(|(name, title, mime)| format!("{name} {title} {mime}"))
        .collect();
    insta::assert_snapshot!(titles.join("\n"), @r#"
    "binary" "binary" "application/octet-stream"
    "crlf" "Windows" "text/markdown"
    "empty" "empty" "text/markdown"
    "latin.txt" "latin.txt" "text/plain"
    "mark" "Marked" "text/markdown"
    "nul" "nul" "text/markdown"
    "page.HTML" "page.HTML" "text/html"
    "plain" "plain" "text/plain"
    "#);
    let check = |client: &mut _, name: &str, key: &str, value: &str| {
        let contents = read(client, &format!("twig://lib/{name}"));
        assert_eq!(contents[key], value, "{name}: {contents}");
    };
    check(&mut client, "mark", "text", "# Marked\r\ntext\r\n");
    check(&mut client, "crlf", "text", "\r\n# Windows\r\n");
    check(&mut client, "empty", "text", "");
    check(&mut client, "plain", "text", "no ending");
    check(&mut client, "binary", "blob", "AAEC");
    check(&mut client, "latin.txt", "blob", "R3L832U=");
    check(&mut client, "nul", "blob", "IyBUaXRsZQoA");
    assert_eq!(
        listed
            .iter()
            .find(|item| item["name"] == "mark")
            .map(|item| &item["size"]),
        Some(&json!(19))
    );
}

#[test]
fn links_do_not_lead_out_of_the_documents() {
    let env = env(DOCUMENTS);
    let outside = env.root().join("outside");
    fs::create_dir_all(&outside).expect("ours");
    fs::write(outside.join("secret.md"), "# secret\n").expect("ours");
    let docs = env.data().join("lib/docs");
    let link = |target: &str, name: &str| symlink(target, docs.join(name)).expect("ours");
    link(
        &outside.join("secret.md").display().to_string(),
        "absolute.md",
    );
    link("../../../../../../../outside/secret.md", "relative.md");
    link("../twig.toml", "manifest.md");
    link(&outside.display().to_string(), "folder");
    link("patterns", "inner");
    link("..", "up");
    link("loop.md", "loop.md");
    link("nothing.md", "nowhere.md");
    link("/proc/self/environ", "environ.md");
    link("overview.md", "fine.md");
    for at in 0..8 {
        let target = match at {
            0 => outside.join("secret.md").display().to_string(),
            at => format!("chain{}.md", at - 1),
        };
        link(&target, &format!("chain{at}.md"));
    }
    let mut client = started(&env);
    let listed = uris(&mut client);
    assert_eq!(listed.len(), 6, "{listed:?}");
    assert_eq!(
        read(&mut client, "twig://lib/fine")["text"],
        "# The overview\n\nText.\n"
    );
    for name in [
        "absolute",
        "relative",
        "manifest",
        "folder/secret",
        "inner/repository-pattern",
        "up/twig.toml",
        "loop",
        "nowhere",
        "environ",
        "chain7",
    ] {
        let refused = read(&mut client, &format!("twig://lib/{name}"));
        assert_eq!(refused["code"], -32602, "{name}");
        assert!(!refused.to_string().contains("secret\n"));
    }
    let checked = env.run(["check", "--json"]);
    assert_eq!(checked.code, 1);
    let problems: serde_json::Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let codes = |wanted: &str| {
        problems.as_array().map_or(0, |all| {
            all.iter().filter(|one| one["code"] == wanted).count()
        })
    };
    assert_eq!(codes("outside-library"), 14, "{}", checked.stdout);
    assert_eq!(codes("folder-link"), 1);
    assert_eq!(codes("link-loop"), 1);
    assert_eq!(codes("missing-file"), 1);
}

#[test]
fn a_file_that_turns_into_a_link_is_not_followed_out() {
    let env = env(DOCUMENTS);
    let secret = env.root().join("secret.md");
    fs::write(&secret, "canary").expect("ours");
    let path = env.data().join("lib/docs/overview.md");
    let spare = env.data().join("lib/docs/.spare");
    let mut client = started(&env);
    for round in 0..200 {
        if round % 2 == 0 {
            symlink(&secret, &spare).expect("ours");
        } else {
            fs::write(&spare, "# The overview\n").expect("ours");
        }
        fs::rename(&spare, &path).expect("ours");
        let contents = read(&mut client, "twig://lib/overview");
        assert!(!contents.to_string().contains("canary"), "{contents}");
    }
}

#[test]
fn what_is_no_file_or_too_much_is_left_off_with_a_problem() {
    let env = env(DOCUMENTS);
    let docs = env.data().join("lib/docs");
    let fifo = docs.join("fifo.md");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.is_ok_and(|status| status.success()));
    let large = fs::File::create(docs.join("large.bin")).expect("ours");
    large.set_len(16 * 1024 * 1024 + 1).expect("ours");
    let whole = fs::File::create(docs.join("whole.bin")).expect("ours");
    whole.set_len(16 * 1024 * 1024).expect("ours");
    let deep = |depth: usize| format!("lib/docs/{}deep.md", "d/".repeat(depth));
    env.write(&deep(16), "# Deep\n");
    env.write(&deep(17), "# Too deep\n");
    for leftover in ["a.md~", ".hidden.md", "#a.md#", "b.swp", ".git/config"] {
        env.write(&format!("lib/docs/{leftover}"), "x");
    }
    let mut client = started(&env);
    let listed = uris(&mut client);
    assert_eq!(listed.len(), 7, "{listed:?}");
    let blob = read(&mut client, "twig://lib/whole.bin");
    assert_eq!(
        blob["blob"].as_str().map(str::len),
        Some((16 * 1024 * 1024_usize).div_ceil(3) * 4)
    );
    whole.set_len(16 * 1024 * 1024 + 1).expect("ours");
    let grown = read(&mut client, "twig://lib/whole.bin");
    let gone = grown["code"] == -32602;
    assert!(
        gone || (grown["code"] == -32603 && grown.to_string().contains("16777216")),
        "{grown}"
    );
    insta::assert_snapshot!(env.run(["check"]), @"
    error[too-deep]: ~/.local/share/twig/prompts/lib/docs/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d is more than 16 folders deep; its contents are ignored
    --> [data]/lib/docs/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d
     = help: move it further up

    error[not-a-file]: ~/.local/share/twig/prompts/lib/docs/fifo.md is not a regular file, but a FIFO
    --> [data]/lib/docs/fifo.md
     = help: keep only regular files there

    error[too-large]: ~/.local/share/twig/prompts/lib/docs/large.bin is 16777217 bytes long; the limit is 16777216
    --> [data]/lib/docs/large.bin
     = help: split it, or set `document` under [limits]

    error[too-large]: ~/.local/share/twig/prompts/lib/docs/whole.bin is 16777217 bytes long; the limit is 16777216
    --> [data]/lib/docs/whole.bin
     = help: split it, or set `document` under [limits]
    --- stderr
    checked 1 prompt and 6 documents in 1 library: 4 errors
    --- exit 1
    ");
}

#[test]
fn five_thousand_documents_are_served_and_one_more_is_a_problem() {
    let env = env("//- lib/twig.toml\n[library]\n");
    for at in 0..5_000 {
        env.write(
            &format!("lib/docs/{}/{at}.md", at % 10),
            format!("# Title {at}\n"),
        );
    }
    assert_eq!(env.run(["check"]).code, 0);
    let mut client = started(&env);
    let mut count = 0;
    let mut params = json!({});
    loop {
        let page = client.request("resources/list", params)["result"].clone();
        count += page["resources"].as_array().map_or(0, Vec::len);
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!(count, 5_000);
    env.write("lib/docs/z.md", "# One too many\n");
    let checked = env.run(["check"]);
    assert_eq!(checked.code, 1);
    assert!(
        checked.stdout.contains("has more than 5000 documents"),
        "{checked}"
    );
}
