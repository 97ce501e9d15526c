//! Bodies as they come off the disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Instant;

use twig_core::{Bodies, BodyError, NotAFile, Stamp};
use twig_sources::LiveCatalog;

use crate::contract::rustix_fifo;
use crate::support::{
    LONG, Tree, age, body, codes, library, names, problems, read, relative, text,
};

const MIB: usize = 1024 * 1024;

fn stamp(live: &LiveCatalog, path: &str) -> Result<Stamp, BodyError> {
    live.stamp(&library(live, "lib"), &relative(path))
}

#[test]
fn text_comes_as_it_is_but_for_the_byte_order_mark() {
    let tree = Tree::with(&[]);
    let live = tree.load();
    let cases: [(&str, &[u8], &str); 4] = [
        ("bom.md", b"\xef\xbb\xbfHello", "Hello"),
        ("crlf.md", b"one\r\ntwo\r\n", "one\r\ntwo\r\n"),
        ("empty.md", b"", ""),
        ("uni.md", "Grüße 🌱".as_bytes(), "Grüße 🌱"),
    ];
    for (name, bytes, expected) in cases {
        tree.write(&format!("data/lib/{name}"), bytes);
        assert_eq!(text(&live, name).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn what_is_no_text_is_refused_with_its_place() {
    let tree = Tree::with(&[]);
    tree.write("data/lib/nul.md", b"ab\0c");
    tree.write("data/lib/latin.md", b"abc\xe4d");
    let live = tree.load();
    assert_eq!(text(&live, "nul.md"), Err(BodyError::Binary { offset: 2 }));
    assert_eq!(
        text(&live, "latin.md"),
        Err(BodyError::NotUtf8 { offset: 3 })
    );
    assert_eq!(text(&live, "none.md"), Err(BodyError::NotFound));
    assert_eq!(text(&live, "nul.md/x"), Err(BodyError::NotFound));
    assert_eq!(stamp(&live, "none.md"), Err(BodyError::NotFound));
}

#[test]
fn the_limit_holds_at_its_edge_and_a_sparse_giant_is_not_read() {
    let tree = Tree::with(&[]);
    tree.write("data/lib/edge.md", "x".repeat(MIB));
    tree.write("data/lib/past.md", "x".repeat(MIB + 1));
    tree.write("data/lib/ten.md", "x".repeat(10 * MIB));
    let giant = fs::File::create(tree.path("data/lib/giant.md")).unwrap();
    giant.set_len(1 << 30).unwrap();
    let live = tree.load();
    assert_eq!(text(&live, "edge.md").map(|text| text.len()), Ok(MIB));
    for (name, size) in [
        ("past.md", MIB + 1),
        ("ten.md", 10 * MIB),
        ("giant.md", 1 << 30),
    ] {
        let expected = BodyError::TooLarge {
            size: size as u64,
            limit: MIB,
        };
        assert_eq!(text(&live, name), Err(expected));
    }
}

#[test]
fn a_larger_limit_for_templates_is_read_up_to() {
    let tree = Tree::with(&[]);
    tree.write("data/lib/edge.md", "x".repeat(2 * MIB));
    tree.write("data/lib/past.md", "x".repeat(2 * MIB + 1));
    let mut settings = tree.settings();
    settings.limits.template_source = 2 * MIB;
    let live = LiveCatalog::load(settings);
    assert_eq!(text(&live, "edge.md").map(|text| text.len()), Ok(2 * MIB));
    let expected = BodyError::TooLarge {
        size: 2 * MIB as u64 + 1,
        limit: 2 * MIB,
    };
    assert_eq!(text(&live, "past.md"), Err(expected));
}

#[test]
fn utf16_and_loops_are_told_with_what_to_do() {
    let tree = Tree::with(&["a"]);
    let utf16: Vec<u8> = "Hello".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.write("data/lib/bare.md", &utf16);
    tree.write("data/lib/marked.md", [&[0xff, 0xfe], &*utf16].concat());
    fs::remove_file(tree.path("data/lib/prompts/a.md")).unwrap();
    symlink("a.md", tree.path("data/lib/prompts/a.md")).unwrap();
    fs::create_dir(tree.path("data/round")).unwrap();
    symlink("twig.toml", tree.path("data/round/twig.toml")).unwrap();
    tree.write("data/wide/twig.toml", &utf16);
    let live = tree.load();
    assert_eq!(text(&live, "bare.md"), Err(BodyError::Utf16));
    assert_eq!(text(&live, "marked.md"), Err(BodyError::Utf16));
    let told: Vec<_> = problems(&live)
        .into_iter()
        .map(|problem| {
            (
                problem.code.as_str(),
                problem.message,
                problem.help.unwrap(),
            )
        })
        .collect();
    let expected = [
        (
            "link-loop",
            "Prompt content file ~/data/lib/prompts/a.md is a symlink that points to itself",
            "replace the symlink with a file",
        ),
        (
            "link-loop",
            "~/data/round/twig.toml is a symlink that points to itself",
            "replace the symlink with a file",
        ),
        (
            "not-utf8",
            "~/data/wide/twig.toml looks like UTF-16",
            "save the file as UTF-8",
        ),
    ];
    let expected =
        expected.map(|(code, message, help)| (code, message.to_owned(), help.to_owned()));
    assert_eq!(told, expected);
}

#[test]
fn what_is_no_file_is_named_and_never_waited_for() {
    let tree = Tree::new();
    tree.library("data/lib", &["ok", "fifo", "sock", "dir", "dev", "gone"]);
    let prompts = tree.path("data/lib/prompts");
    for name in ["fifo", "sock", "dir", "dev", "gone"] {
        fs::remove_file(prompts.join(format!("{name}.md"))).unwrap();
    }
    rustix_fifo(&tree, "data/lib/prompts/fifo.md");
    let _socket = std::os::unix::net::UnixListener::bind(prompts.join("sock.md")).unwrap();
    fs::create_dir(prompts.join("dir.md")).unwrap();
    symlink("/dev/zero", prompts.join("dev.md")).unwrap();
    let started = Instant::now();
    let live = tree.load();
    assert_eq!(names(&live), ["lib:ok"]);
    let mut found = codes(&live);
    found.sort_unstable();
    let expected = [
        "missing-file",
        "not-a-file",
        "not-a-file",
        "not-a-file",
        "outside-library",
    ];
    assert_eq!(found, expected);
    let refused = |what| Err(BodyError::NotAFile(what));
    assert_eq!(text(&live, "prompts/fifo.md"), refused(NotAFile::Fifo));
    assert_eq!(text(&live, "prompts/sock.md"), refused(NotAFile::Socket));
    assert_eq!(text(&live, "prompts/dir.md"), refused(NotAFile::Folder));
    assert_eq!(text(&live, "prompts/dev.md"), Err(BodyError::Outside));
    assert!(started.elapsed() < LONG);
}

#[test]
fn an_unreadable_file_is_one_problem_among_good_ones() {
    let tree = Tree::with(&["a", "b"]);
    let locked = tree.path("data/lib/prompts/b.md");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may do anything may read it too.
    if fs::File::open(&locked).is_ok() {
        return;
    }
    let live = tree.load();
    assert!(matches!(
        text(&live, "prompts/b.md"),
        Err(BodyError::Unreadable(_))
    ));
    assert_eq!(text(&live, "prompts/a.md"), Ok(body("a")));
}

#[test]
fn a_stamp_holds_while_nothing_changes() {
    let tree = Tree::with(&["a"]);
    let live = tree.load();
    let path = tree.path("data/lib/prompts/a.md");
    // Stamps of a file that was written just now are never equal; then they settle.
    let started = Instant::now();
    let settled = loop {
        let read = read(&live, "prompts/a.md").unwrap();
        if stamp(&live, "prompts/a.md") == Ok(read.stamp) {
            break read;
        }
        assert!(started.elapsed() < LONG, "the stamp never settles");
    };
    age(&path);
    assert_ne!(stamp(&live, "prompts/a.md"), Ok(settled.stamp));
}

#[test]
fn two_writes_within_one_tick_never_share_a_stamp() {
    let tree = Tree::with(&["a"]);
    let live = tree.load();
    let path = tree.path("data/lib/prompts/a.md");
    for round in 0..20 {
        fs::write(&path, format!("text {:02}", round * 2)).unwrap();
        age(&path);
        let first = read(&live, "prompts/a.md").unwrap();
        fs::write(&path, format!("text {:02}", round * 2 + 1)).unwrap();
        age(&path);
        assert_ne!(
            stamp(&live, "prompts/a.md"),
            Ok(first.stamp),
            "round {round}"
        );
        let second = read(&live, "prompts/a.md").unwrap();
        assert_eq!(second.text, format!("text {:02}", round * 2 + 1));
    }
}
