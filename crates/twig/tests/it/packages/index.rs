//! Packages from a host that publishes an index of skills.

use std::fs;

use sha2::{Digest as _, Sha256};
use twig_testkit::{GitServer, TestEnv};

use crate::TWIG;

const INDEX: &str = "/.well-known/agent-skills/index.json";
const OLD_INDEX: &str = "/.well-known/skills/index.json";

/// A host, and a user who has not added it yet.
struct SkillsHost {
    env: TestEnv,
    server: GitServer,
}

impl SkillsHost {
    fn start() -> Self {
        let env = TestEnv::new(TWIG);
        let server = GitServer::start(env.root());
        Self { env, server }
    }

    /// Publishes an index of version 0.2 with these skills: name, type, path and content.
    fn publish(&self, skills: &[(&str, &str, &str, &[u8])]) {
        let entries = skills.iter().map(|(name, kind, path, bytes)| {
            let digest: String = Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect();
            self.server.file(path, "application/octet-stream", bytes);
            format!(
                r#"{{"name":"{name}","type":"{kind}","description":"d","url":"{path}","digest":"sha256:{digest}"}}"#
            )
        });
        let entries: Vec<String> = entries.collect();
        let schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
        let index = format!(
            r#"{{"$schema":"{schema}","skills":[{}]}}"#,
            entries.join(",")
        );
        self.server.file(INDEX, "application/json", index);
    }

    /// Runs a command; `HOST` in it is the host's address.
    fn run(&self, line: &str) -> String {
        let line = line.replace("HOST", &self.server.base());
        let output = self.env.run(line.split_whitespace()).to_string();
        output.replace(&self.server.base(), "[host]")
    }

    fn add(&self) -> String {
        self.run("add HOST --as hub --yes")
    }

    fn lock(&self) -> String {
        let path = self.env.home().join(".config/twig/twig.lock");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.replace(&self.server.base(), "[host]")
    }

    /// The names in the folder of packages.
    fn packages(&self) -> Vec<String> {
        let folder = self.env.home().join(".local/share/twig/packages");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }
}

fn skill(name: &str, text: &str) -> Vec<u8> {
    format!("---\nname: {name}\ndescription: About {name}\n---\n{text}\n").into_bytes()
}

fn tar_gz(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gz);
    for (path, mode, bytes) in files {
        let mut header = tar::Header::new_ustar();
        // The builder would refuse hostile names.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_mode(*mode);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append(&header, *bytes).expect("in memory");
    }
    let gz = tar.into_inner().expect("in memory");
    gz.finish().expect("in memory")
}

/// A zip without compression.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (path, content) in files {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let size = u32::try_from(content.len()).expect("short").to_le_bytes();
        let name = u16::try_from(path.len()).expect("short").to_le_bytes();
        let offset = u32::try_from(bytes.len()).expect("short").to_le_bytes();
        let common = [
            &[20, 0, 0, 8, 0, 0, 0, 0, 33, 0][..],
            &crc.sum().to_le_bytes(),
            &size,
            &size,
            &name,
            &[0, 0],
        ]
        .concat();
        bytes.extend([&b"PK\x03\x04"[..], &common, path.as_bytes(), content].concat());
        let mode = (0o100_644_u32 << 16).to_le_bytes();
        directory.extend(
            [
                &b"PK\x01\x02\x14\x03"[..],
                &common,
                &[0; 6],
                &mode,
                &offset,
                path.as_bytes(),
            ]
            .concat(),
        );
    }
    let count = u16::try_from(files.len()).expect("few").to_le_bytes();
    let start = u32::try_from(bytes.len()).expect("short").to_le_bytes();
    let length = u32::try_from(directory.len()).expect("short").to_le_bytes();
    bytes.extend(directory);
    bytes.extend(
        [
            &b"PK\x05\x06\0\0\0\0"[..],
            &count,
            &count,
            &length,
            &start,
            &[0, 0],
        ]
        .concat(),
    );
    bytes
}

#[test]
#[allow(clippy::too_many_lines, reason = "one story, and its answers")]
fn skills_are_added_served_updated_and_undone() {
    let host = SkillsHost::start();
    let archive = tar_gz(&[
        ("SKILL.md", 0o644, &skill("pdf", "Read it.")),
        ("scripts/read.sh", 0o755, b"echo read\n"),
    ]);
    let zipped = zip(&[
        ("SKILL.md", &skill("zip", "Zip it.")),
        ("a/b.md", b"more\n"),
    ]);
    let first = [
        ("pdf", "archive", "/files/pdf.tar.gz", &*archive),
        (
            "review",
            "skill-md",
            "/files/review.md",
            &skill("review", "Review it."),
        ),
        ("zip", "archive", "/files/zip.zip", &zipped),
    ];
    host.publish(&first);
    insta::assert_snapshot!(host.add(), @r"
      hub:pdf
      hub:review
      hub:zip
      has scripts: `pdf/scripts/read.sh`
    --- stderr
    [host] 2b92ceb8bb: 3 skills in 5 files
    added `hub` to ~/.config/twig/config.toml
    --- exit 0
    ");
    insta::assert_snapshot!(host.lock(), @r#"
    # Written by `twig`; commit it, and let `twig install` change it.
    version = 1

    [[library]]
    name = "hub"
    source = "[host]"
    tree = "sha256:2b92ceb8bb0b66b31a3e4f430cf3628969035e991d8c49b2bc6b8fcd47051338"
    files = 5
    "#);
    insta::assert_snapshot!(host.run("list"), @r"
    hub:pdf     [arguments]  About pdf
    hub:review  [arguments]  About review
    hub:zip     [arguments]  About zip
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("render hub:review"), @r"
    Review it.

    Base directory for this skill: [home]/.local/share/twig/packages/2b92ceb8bb0b66b31a3e4f430cf3628969035e991d8c49b2bc6b8fcd47051338/review
    Relative paths in this skill are relative to this base directory.
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("outdated"), @r"
    --- stderr
    1 package is the newest
    --- exit 0
    ");

    let changed = skill("review", "Review it twice.");
    let next = [
        first[0],
        ("review", "skill-md", "/files/review.md", &*changed),
    ];
    host.publish(&next);
    insta::assert_snapshot!(host.run("render hub:review"), @r"
    Review it.

    Base directory for this skill: [home]/.local/share/twig/packages/2b92ceb8bb0b66b31a3e4f430cf3628969035e991d8c49b2bc6b8fcd47051338/review
    Relative paths in this skill are relative to this base directory.
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("outdated"), @r"
    hub  2b92ceb8bb  →  changed  [host]
    --- stderr
    hint: `twig update --plan` shows what would change
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("outdated --json"), @r#"
    [
      {
        "name": "hub",
        "source": "[host]",
        "newest_tree": "sha256:1a915be1da1251279170ef149e70206b58948a5c6c12b5f423f6c1c418f780af",
        "outdated": true
      }
    ]
    --- exit 0
    "#);
    insta::assert_snapshot!(host.run("diff hub"), @r"
    hub 2b92ceb8bb → 1a915be1da
      - skill  zip
      ~ skill  review (1 file)
    --- old/review/SKILL.md
    +++ new/review/SKILL.md
    @@ -2,4 +2,4 @@
     name: review
     description: About review
     ---
    -Review it.
    +Review it twice.
    --- old/zip/SKILL.md
    +++ /dev/null
    @@ -1,5 +0,0 @@
    ----
    -name: zip
    -description: About zip
    ----
    -Zip it.
    --- old/zip/a/b.md
    +++ /dev/null
    @@ -1 +0,0 @@
    -more
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("update --plan"), @r"
    hub 2b92ceb8bb → 1a915be1da
      - skill  zip
      ~ skill  review (1 file)
    --- exit 1
    ");
    insta::assert_snapshot!(host.run("update --yes"), @r"
    hub 2b92ceb8bb → 1a915be1da
      - skill  zip
      ~ skill  review (1 file)
    --- stderr
    updated `hub`; `twig update --undo` goes back
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("render hub:review"), @r"
    Review it twice.

    Base directory for this skill: [home]/.local/share/twig/packages/1a915be1da1251279170ef149e70206b58948a5c6c12b5f423f6c1c418f780af/review
    Relative paths in this skill are relative to this base directory.
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("update"), @r"
    --- stderr
    every package is the newest version; `twig doctor` says how to upgrade Twig
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("update --undo"), @r"
    --- stderr
    `hub` went back from 1a915be1da to 2b92ceb8bb
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("render hub:review"), @r"
    Review it.

    Base directory for this skill: [home]/.local/share/twig/packages/2b92ceb8bb0b66b31a3e4f430cf3628969035e991d8c49b2bc6b8fcd47051338/review
    Relative paths in this skill are relative to this base directory.
    --- exit 0
    ");
}

#[test]
fn an_old_index_lists_its_files() {
    let host = SkillsHost::start();
    let index = r#"{"skills":[
        {"name":"pdf","description":"d","files":["SKILL.md","docs/A.md","docs/a.md","x","x/y.md"]},
        {"name":"Bad Name","description":"d","files":["SKILL.md"]},
        {"name":"con","description":"d","files":["SKILL.md"]}]}"#;
    host.server.file(OLD_INDEX, "application/json", index);
    for path in ["SKILL.md", "docs/A.md", "docs/a.md", "x", "x/y.md"] {
        let path = format!("/.well-known/skills/pdf/{path}");
        host.server
            .file(&path, "text/markdown", skill("pdf", "Read it."));
    }
    insta::assert_snapshot!(host.add(), @r"
      hub:pdf
      has files that are not Markdown: `pdf/x`
    --- stderr
    [host] 6d0ba36052: 1 skill in 3 files
    left out: Bad Name: its name has to be 1 to 64 lower-case letters, digits and single hyphens
    left out: con: Windows cannot hold a file of that name
    left out: pdf/docs/a.md: it differs from `docs/A.md` only in the case of letters
    left out: pdf/x/y.md: `x` is a file, too
    added `hub` to ~/.config/twig/config.toml
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("render hub:pdf"), @r"
    Read it.

    Base directory for this skill: [home]/.local/share/twig/packages/6d0ba36052bb618b10ad60f72ced76f465bff11f89e30d857bfda88cbde89a53/pdf
    Relative paths in this skill are relative to this base directory.
    Files of this skill:
    - docs/A.md
    - x
    --- exit 0
    ");
}

#[test]
fn the_lock_holds_or_nothing_is_installed() {
    let host = SkillsHost::start();
    let text = skill("review", "Review it.");
    host.publish(&[("review", "skill-md", "/r.md", &text)]);
    host.add();
    let forget = || {
        let run = host.run("remove hub");
        assert!(run.ends_with("exit 0"), "{run}");
    };
    let (config, lock) = (
        host.env.home().join(".config/twig/config.toml"),
        host.env.home().join(".config/twig/twig.lock"),
    );
    let kept = (
        fs::read(&config).expect("written"),
        fs::read(&lock).expect("written"),
    );
    let restore = || {
        fs::write(&config, &kept.0).expect("writable");
        fs::write(&lock, &kept.1).expect("writable");
    };
    forget();
    host.run("gc");
    assert!(host.packages().iter().all(|name| name.len() != 64));
    restore();
    insta::assert_snapshot!(host.run("install --offline"), @r"
    --- stderr
    error: the package `hub` is not on this machine
    hint: run `twig install` without --offline
    --- exit 1
    ");
    insta::assert_snapshot!(host.run("install --frozen"), @r"
    hub  fetched      [host]
    --- exit 0
    ");
    insta::assert_snapshot!(host.run("install --frozen"), @r"
    --- stderr
    1 package is up to date with the lock
    --- exit 0
    ");
    forget();
    host.run("gc");
    restore();
    host.publish(&[("review", "skill-md", "/r.md", &skill("review", "Changed."))]);
    insta::assert_snapshot!(host.run("install"), @r"
    --- stderr
    error: the package `hub` was not installed: [host] has other skills than the lock says (sha256:a8b4c7edec202f616a8dfd5ec89b942b9ccf28d7c5cb2b4e6bc8a63e14fffe57 instead of sha256:cc898fc5db1ce8b338e88fc95ccd9709243fd8d688ac114e32e9dfa4eb4943b4), and an index keeps no older ones
    hint: to take what the host has now, remove the package and add it again
    --- exit 1
    ");
    assert_eq!(fs::read(&lock).expect("written"), kept.1);
}

/// Adds a host that has something wrong with it; nothing stays behind.
fn refused(prepare: impl FnOnce(&SkillsHost)) -> String {
    let host = SkillsHost::start();
    host.publish(&[(
        "review",
        "skill-md",
        "/r.md",
        &skill("review", "Review it."),
    )]);
    prepare(&host);
    let output = host.add();
    assert_eq!(host.packages(), Vec::<String>::new(), "{output}");
    assert_eq!(host.lock(), "");
    output
}

#[test]
fn a_skill_with_another_digest_is_refused() {
    let output = refused(|host| host.server.file("/r.md", "text/markdown", "changed"));
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the skill `review` is not what the index says: its digest is sha256:d67e2e944994496c8d8ec76eed0cf9f09679448d584b532bebf941852a37f5ed instead of sha256:ae4f81498f585da4e2025530f09ba45043bb5e6ba7b213db054136bf765a104a
    --- exit 1
    ");
}

#[test]
fn a_skill_that_is_missing_is_named() {
    let output = refused(|host| {
        let index =
            r#"{"skills":[{"name":"gone","type":"skill-md","description":"d","url":"/gone.md"}]}"#;
        host.server.file(INDEX, "application/json", index);
    });
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the host answers with status 404 instead of the skill `gone`
    --- exit 1
    ");
}

#[test]
fn a_host_without_an_index_is_named() {
    insta::assert_snapshot!(refused(|host| host.server.not_found()), @r"
    --- stderr
    error: [host] has no index of skills (/.well-known/agent-skills/index.json or /.well-known/skills/index.json)
    hint: if it is a repository, write `git+[host]`
    --- exit 1
    ");
}

#[test]
fn an_index_without_usable_skills_says_why() {
    let output = refused(|host| {
        let index =
            r#"{"skills":[{"name":"a","type":"skill-md","description":"d","url":"ftp://x/y"}]}"#;
        host.server.file(INDEX, "application/json", index);
    });
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host] has an index of skills, and none of them can be used (`a`: the address `ftp://x/y` is refused: only https is followed)
    --- exit 1
    ");
}

#[test]
fn garbage_is_no_index() {
    insta::assert_snapshot!(refused(|host| host.server.garbage()), @r"
    --- stderr
    error: [host]: the index of skills cannot be read: it is no text
    --- exit 1
    ");
    let output = refused(|host| host.server.file(INDEX, "application/json", "<html>"));
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the index of skills cannot be read: it is not valid JSON: expected value at line 1 column 1
    --- exit 1
    ");
    let long = " ".repeat(2 * 1024 * 1024);
    let output = refused(|host| host.server.file(INDEX, "application/json", long));
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the index of skills cannot be read: it is longer than 1024 KiB
    --- exit 1
    ");
}

#[test]
fn an_answer_that_ends_early_is_no_skill() {
    insta::assert_snapshot!(refused(|host| host.server.cut_after(120)), @r"
    --- stderr
    error: [host]: the connection was closed before all of the index of skills was received
    --- exit 1
    ");
}

#[test]
fn a_host_that_wants_a_login_is_named() {
    let output = refused(|host| host.server.require_basic_auth("user", "password"));
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the host does not send the index of skills without a login (status 401)
    --- exit 1
    ");
}

#[test]
fn nobody_at_the_address_is_named() {
    let host = SkillsHost::start();
    insta::assert_snapshot!(host.run("add http://127.0.0.1:1 --as hub --yes"), @r"
    --- stderr
    error: http://127.0.0.1:1: the host does not answer (Connection refused (os error 111))
    --- exit 1
    ");
    insta::assert_snapshot!(host.run("add http://hub.example.com --as hub --yes"), @r"
    --- stderr
    error: `http://hub.example.com` is not encrypted: use https or ssh
    --- exit 2
    ");
    insta::assert_snapshot!(host.run("add https://hub.example.com#v1 --as hub --yes"), @r"
    --- stderr
    error: https://hub.example.com is a host with an index of skills, which has no branches, tags or commits
    --- exit 2
    ");
}

#[test]
fn redirects_are_followed_as_far_as_they_are_safe() {
    let host = SkillsHost::start();
    let other = GitServer::start(host.env.root());
    host.server.redirect_to(&other.base());
    let text = skill("review", "Review it.");
    let index =
        r#"{"skills":[{"name":"review","type":"skill-md","description":"d","url":"/r.md"}]}"#;
    other.file(INDEX, "application/json", index);
    other.file("/r.md", "text/markdown", &text);
    assert!(host.add().ends_with("exit 0"));
    insta::assert_snapshot!(host.run("render hub:review"), @r"
    Review it.

    Base directory for this skill: [home]/.local/share/twig/packages/cc898fc5db1ce8b338e88fc95ccd9709243fd8d688ac114e32e9dfa4eb4943b4/review
    Relative paths in this skill are relative to this base directory.
    --- exit 0
    ");

    let endless = refused(|host| host.server.redirect_to(&host.server.base()));
    insta::assert_snapshot!(endless, @r"
    --- stderr
    error: [host]: the redirect of the index of skills is not followed: there are more than 5 of them
    --- exit 1
    ");
    let open = refused(|host| host.server.redirect_to("http://hub.example.com"));
    insta::assert_snapshot!(open, @r"
    --- stderr
    error: [host]: the redirect of the index of skills is not followed: the address `http://hub.example.com/.well-known/agent-skills/index.json` is refused: it is not encrypted
    --- exit 1
    ");
}

#[test]
fn an_archive_that_would_fill_the_disk_or_lead_out_is_refused() {
    let zeros = vec![0; 65 * 1024 * 1024];
    let bomb = tar_gz(&[("SKILL.md", 0o644, b"x"), ("zeros", 0o644, &zeros)]);
    let output = refused(|host| host.publish(&[("bomb", "archive", "/b", &bomb)]));
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the archive of the skill `bomb` is refused: its files are larger than 64 MiB together
    --- exit 1
    ");
    let out = tar_gz(&[("SKILL.md", 0o644, b"x"), ("../out.md", 0o644, b"x")]);
    let output = refused(|host| host.publish(&[("out", "archive", "/o", &out)]));
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the archive of the skill `out` is refused: `../out.md` is refused: its name leads out of the package or into git's own folder
    --- exit 1
    ");
    let output = refused(|host| host.publish(&[("text", "archive", "/t", b"no archive")]));
    insta::assert_snapshot!(output, @r"
    --- stderr
    error: [host]: the archive of the skill `text` is refused: it is neither a tar.gz nor a zip archive
    --- exit 1
    ");
}
