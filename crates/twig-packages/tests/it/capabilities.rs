//! What files can make an agent do.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use twig_packages::PackageCapabilities;
use twig_testkit::{assert_linear, fixture_files};

/// Every list, a line for each name.
pub(crate) fn show(capabilities: &PackageCapabilities) -> String {
    let mut shown = String::new();
    for (kind, list) in capabilities.lists() {
        shown += &format!("{}\n", kind.as_str());
        for (name, place) in list.iter() {
            let line = place.line.map(|line| format!(":{line}"));
            let detail = place.detail.map(|detail| format!(" ({detail})"));
            shown += &format!(
                "  {name} — {}{}{}\n",
                place.path,
                line.unwrap_or_default(),
                detail.unwrap_or_default()
            );
        }
        if list.unlisted() > 0 {
            shown += &format!("  and {} more\n", list.unlisted());
        }
    }
    shown
}

fn of_fixture(path: &Path) -> PackageCapabilities {
    let fixture = fs::read_to_string(path).expect("the fixture is there");
    let mut capabilities = PackageCapabilities::default();
    for (path, text) in fixture_files(&fixture) {
        let (path, is_executable) = match path.strip_suffix(" 755") {
            Some(path) => (path, true),
            None => (path, false),
        };
        capabilities.add_file(path, is_executable, text.as_bytes());
    }
    capabilities
}

fn of_text(path: &str, text: &str) -> PackageCapabilities {
    PackageCapabilities::from_files([(path, false, text.as_bytes())])
}

#[test]
fn fixtures() {
    insta::glob!("../fixtures/capabilities", "*.txt", |path| {
        insta::assert_snapshot!(show(&of_fixture(path)));
    });
}

#[test]
fn files_that_are_not_text_say_what_they_are() {
    let files: [(&str, &[u8]); 8] = [
        ("logo.png", b"\x89PNG\r\n\x1a\n\0"),
        ("font.ttf", b"\0\x01\0\0"),
        ("photo.png", b"\x7fELF\x02\0"),
        ("tool", b"\x7fELF\0"),
        ("data.bin", b"\xff\xff"),
        ("a.zip", b"PK\x03\x04\0"),
        ("song.mp3", b"ID3\0"),
        ("latin.md", b"caf\xe9 https://example.com"),
    ];
    let files = files.map(|(path, bytes)| (path, false, bytes));
    insta::assert_snapshot!(show(&PackageCapabilities::from_files(files)));
}

#[test]
fn hidden_characters_are_found_on_every_line() {
    let text = "a\u{200b}\u{200b}b\nplain\nc\u{e0041}d\r\n\u{1b}[31m";
    insta::assert_snapshot!(show(&of_text("a.md", text)));
}

#[test]
fn reading_is_linear() {
    let parts = [
        "!`a`",
        "!`",
        "!{a}",
        "!{",
        "!{ {",
        "```sh\n",
        "https://a",
        "https://a@",
        "\u{200b}",
        "'",
        "\"",
        "$(",
        "`",
        "<<A\n",
        "cat <<A\nA\n",
        "(",
        ")",
        "a=(",
        "\\\n",
        "bash -c 'a' ",
        "\n",
        "~~~",
        "\u{202e}\n",
        "> ",
        "- ",
        "://",
    ];
    for part in parts {
        for (path, start) in [("a.md", ""), ("a.md", "```bash\n"), ("a.sh", "")] {
            let input = |size: usize| start.to_owned() + &part.repeat(size);
            let what = format!("{path} {start:?} {part:?}");
            assert_linear(&what, 4_000, input, |text| {
                of_text(path, text);
            });
        }
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "(?s).{0,3}",
        proptest::sample::select(vec![
            "```bash\n",
            "```\n",
            "~~~sh\n",
            "!`",
            "`",
            "!{",
            "{",
            "}",
            "$(",
            ")",
            "(",
            "<<EOF\n",
            "EOF\n",
            "'",
            "\"",
            "\\",
            "\n",
            "https://",
            "@",
            ":80",
            "curl ",
            "sudo ",
            "bash -c ",
            "---\n",
            "allowed-tools: ",
            "Bash(",
            "a=",
            ">",
            "|",
            "$ ",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_is_too_much(text in pieces(), at in 0..4_usize) {
        let path = ["a.md", "a.sh", "a.toml", "run"][at];
        let seen = of_text(path, &text);
        for (_, list) in seen.lists().filter(|(kind, _)| !kind.is_files()) {
            for (name, place) in list.iter() {
                let lines = text.split('\n').count();
                let line = place.line.map_or(1, |line| usize::try_from(line).unwrap());
                prop_assert!((1..=lines).contains(&line), "{name} {line}");
                prop_assert!(!name.contains(char::is_control));
            }
        }
        prop_assert!(seen.beyond(&seen).is_empty());
    }

    #[test]
    fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for path in ["a.md", "a.sh", "a"] {
            PackageCapabilities::from_files([(path, true, &*bytes)]);
        }
    }
}
