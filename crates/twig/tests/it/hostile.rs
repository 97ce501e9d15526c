//! Libraries and names that want to reach outside.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use twig_testkit::{TestClient, TestEnv};

use crate::{TWIG, env};

const CANARY: &str = "canary-7f3a";

fn ask(client: &mut TestClient, name: &str) -> Value {
    client.request("prompts/get", json!({"name": name}))
}

/// Names are keys, never paths: 120 of them lead nowhere.
#[test]
fn hostile_names_find_nothing() {
    let env = env("//- lib/twig.toml\n[prompts.p]\n//- lib/prompts/p.md\nfine\n");
    fs::write(env.data().join("secret.md"), CANARY).expect("writable");
    let mut client = env.serve();
    let seeds = [
        "..",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "\\..\\x",
        "%2e%2e/x",
        "a\0b",
        ".git",
        "con",
        "nul.md",
        "x.",
        "x ",
        "．．/secret",
        "lib:../secret",
        "lib:../../secret.md",
        "lib:/etc/passwd",
        "lib:prompts/p.md",
        "../lib:p",
        "secret.md",
        "secret",
        "lib:",
        ":p",
        ":",
        "",
    ];
    let mut names: Vec<String> = seeds.iter().map(|&seed| seed.to_owned()).collect();
    names.push("x".repeat(129));
    names.push("x".repeat(100_000));
    for seed in seeds {
        names.extend([
            format!("{seed}/p"),
            format!("lib:{seed}/../p"),
            format!("./{seed}"),
            format!("{seed}\n"),
        ]);
    }
    assert!(names.len() >= 120, "{}", names.len());
    for name in names {
        let answer = ask(&mut client, &name);
        assert_eq!(answer["error"]["code"], -32602, "{name:?}: {answer}");
        assert!(!answer.to_string().contains(CANARY));
    }
    assert_eq!(
        ask(&mut client, "lib:p")["result"]["messages"][0]["content"]["text"],
        "fine\n"
    );
}

/// Builds a library whose every prompt tries to leave its folder, by link or by include.
fn escaping() -> TestEnv {
    let env = env("//- ok/twig.toml\n[prompts.p]\n//- ok/prompts/p.md\nfine\n");
    fs::write(env.root().join("canary.md"), CANARY).expect("writable");
    fs::create_dir_all(env.data().join("ok-evil")).expect("writable");
    fs::write(env.data().join("ok-evil/s.md"), CANARY).expect("writable");
    let prompts = env.data().join("bad/prompts");
    fs::create_dir_all(&prompts).expect("writable");
    let outside = env.root().join("canary.md");
    let link = |target: &std::path::Path, name: &str| {
        symlink(target, prompts.join(name)).expect("writable");
    };
    link(&outside, "absolute.md");
    link(std::path::Path::new("../../ok-evil/s.md"), "relative.md");
    link(&outside, "chain0.md");
    for at in 1..8 {
        link(
            format!("chain{}.md", at - 1).as_ref(),
            &format!("chain{at}.md"),
        );
    }
    link(std::path::Path::new(".."), "up");
    link(std::path::Path::new("/proc/self/root"), "root");
    link(std::path::Path::new("loop.md"), "loop.md");
    let target = outside.display().to_string();
    let files = [
        ("absolute", "prompts/absolute.md".to_owned()),
        ("relative", "prompts/relative.md".to_owned()),
        ("chain", "prompts/chain7.md".to_owned()),
        ("up", "prompts/up/../../canary.md".to_owned()),
        ("updir", "prompts/up/ok-evil/s.md".to_owned()),
        ("proc", format!("prompts/root{target}")),
        ("looped", "prompts/loop.md".to_owned()),
        ("plain", target.clone()),
        ("dots", "../ok-evil/s.md".to_owned()),
        ("sibling", "prompts/../../ok-evil/s.md".to_owned()),
    ];
    let mut manifest = String::new();
    for (name, file) in &files {
        manifest += &format!("[prompts.{name}]\nfile = {}\n", json!(file));
    }
    for (at, name) in [
        "prompts/absolute.md",
        "../ok-evil/s.md",
        "/etc/passwd",
        "ok_evil:s",
        "../../canary.md",
        "prompts/root/etc/passwd",
        &target,
    ]
    .iter()
    .enumerate()
    {
        manifest += &format!("[prompts.include{at}]\n");
        fs::write(
            prompts.join(format!("include{at}.md")),
            format!("{{% include {} %}}", json!(name)),
        )
        .expect("writable");
    }
    fs::write(env.data().join("bad/twig.toml"), manifest).expect("writable");
    env
}

#[test]
fn nothing_outside_a_library_is_read_for_it() {
    let env = escaping();
    let mut client = env.serve();
    let manifest = fs::read_to_string(env.data().join("bad/twig.toml")).expect("readable");
    let names: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("[prompts.")?.strip_suffix(']'))
        .collect();
    assert_eq!(names.len(), 17);
    for name in names {
        let answer = ask(&mut client, &format!("bad:{name}"));
        assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
        let text = answer.to_string();
        assert!(
            !text.contains(CANARY) && !text.contains("root:x:0"),
            "{name}: {text}"
        );
        assert!(
            !text.contains(&env.root().display().to_string()) || name == "plain" || name == "proc",
            "{name}: {text}"
        );
    }
    assert_eq!(
        ask(&mut client, "ok:p")["result"]["messages"][0]["content"]["text"],
        "fine\n"
    );
    let checked = env.run(["check"]);
    assert!(!checked.stdout.contains(CANARY));
    assert_eq!(checked.code, 1);
}

#[test]
fn odd_files_are_diagnosed_one_by_one() {
    let env = TestEnv::new(TWIG);
    env.write("odd/prompts/fine.md", "fine\n");
    env.write("odd/prompts/binary.md", b"a\0b");
    env.write("odd/prompts/latin.md", b"caf\xe9");
    env.write("odd/prompts/bom.md", "\u{feff}hello\n");
    env.write("odd/prompts/crlf.md", "one\r\ntwo\r\n");
    env.write("odd/prompts/empty.md", "");
    env.write("odd/prompts/huge.md", vec![b'x'; 10 << 20]);
    fs::create_dir_all(env.data().join("odd/prompts/folder.md")).expect("writable");
    let fifo = std::process::Command::new("mkfifo")
        .arg(env.data().join("odd/prompts/fifo.md"))
        .status();
    assert!(fifo.is_ok_and(|status| status.success()));
    let names = [
        "fine", "binary", "latin", "bom", "crlf", "empty", "huge", "folder", "fifo", "gone",
    ];
    let manifest: String = names
        .iter()
        .map(|name| format!("[prompts.{name}]\n"))
        .collect();
    env.write("odd/twig.toml", manifest);
    let mut client = env.serve();
    let mut told: Vec<String> = names
        .iter()
        .map(|name| {
            let answer = ask(&mut client, &format!("odd:{name}"));
            let text = &answer["result"]["messages"][0]["content"]["text"];
            format!(
                "{name}: {}",
                text.as_str().map_or_else(
                    || answer["error"]["message"].to_string(),
                    |t| format!("{t:?}")
                )
            )
        })
        .collect();
    told.sort();
    insta::assert_snapshot!(told.join("\n"), @r#"
    binary: "Prompt content file ~/.local/share/twig/prompts/odd/prompts/binary.md looks binary (a NUL at byte 1)"
    bom: "hello\n"
    crlf: "one\r\ntwo\r\n"
    empty: ""
    fifo: "Prompt content file ~/.local/share/twig/prompts/odd/prompts/fifo.md is not a regular file, but a FIFO"
    fine: "fine\n"
    folder: "Prompt content file ~/.local/share/twig/prompts/odd/prompts/folder.md is not a regular file, but a folder"
    gone: "Prompt content file not found: ~/.local/share/twig/prompts/odd/prompts/gone.md"
    huge: "Prompt content file ~/.local/share/twig/prompts/odd/prompts/huge.md is 10485760 bytes long; the limit is 131072"
    latin: "Prompt content file ~/.local/share/twig/prompts/odd/prompts/latin.md is not UTF-8 text (byte 3)"
    "#);
    insta::assert_snapshot!(env.run(["check"]), @"
    error[not-a-file]: Prompt content file ~/.local/share/twig/prompts/odd/prompts/folder.md is not a regular file, but a folder
     --> [data]/odd/twig.toml:8:10
      |
    8 | [prompts.folder]
      |          ^^^^^^
      = help: put a regular text file there

    error[not-a-file]: Prompt content file ~/.local/share/twig/prompts/odd/prompts/fifo.md is not a regular file, but a FIFO
     --> [data]/odd/twig.toml:9:10
      |
    9 | [prompts.fifo]
      |          ^^^^
      = help: put a regular text file there

    error[missing-file]: Prompt content file not found: ~/.local/share/twig/prompts/odd/prompts/gone.md
      --> [data]/odd/twig.toml:10:10
       |
    10 | [prompts.gone]
       |          ^^^^
       = help: create the file, or name another with `file`

    error[binary-file]: Prompt content file ~/.local/share/twig/prompts/odd/prompts/binary.md looks binary (a NUL at byte 1)
    --> [data]/odd/prompts/binary.md
     = help: it has to be text; remove the NUL bytes

    warning[empty-file]: the prompt says nothing
    --> [data]/odd/prompts/empty.md
     = help: write something

    error[too-large]: Prompt content file ~/.local/share/twig/prompts/odd/prompts/huge.md is 10485760 bytes long; the limit is 131072
    --> [data]/odd/prompts/huge.md
     = help: split it and `{% include %}` the parts

    error[not-utf8]: Prompt content file ~/.local/share/twig/prompts/odd/prompts/latin.md is not UTF-8 text (byte 3)
    --> [data]/odd/prompts/latin.md
     = help: save the file as UTF-8
    --- stderr
    checked 10 prompts in 1 library: 6 errors, 1 warning, 1 note (-v lists them)
    --- exit 1
    ");
}
