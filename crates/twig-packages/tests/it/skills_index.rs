//! Indexes of skills and the archives that they lead to.

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;
use twig_packages::skills_index::{redirect_url, resolve_url};
use twig_packages::{ArchiveError, FileMode, SkillsIndex, read_archive};

const INDEX: &str = "https://hub.example.com/.well-known/agent-skills/index.json";

fn report(text: &str) -> String {
    let index = match SkillsIndex::parse(text) {
        Ok(index) => index,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut report = String::new();
    for skill in &index.skills {
        let digest = skill.digest.map(|it| it[0]);
        let _ = writeln!(
            report,
            "{} {:?} {:?} digest={digest:x?}",
            skill.name, skill.kind, skill.description
        );
        match skill.urls(INDEX) {
            Ok(urls) => urls.iter().for_each(|(path, url)| {
                let _ = writeln!(report, "    {path} {url}");
            }),
            Err(error) => {
                let _ = writeln!(report, "    error: {error}");
            }
        }
    }
    for (name, reason) in &index.refused {
        let _ = writeln!(report, "refused {name}: {reason}");
    }
    report
}

#[test]
fn indexes_are_read() {
    insta::glob!("../fixtures/skills_index", "*.json", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        insta::assert_snapshot!(report(&text));
    });
}

#[test]
fn redirects_stay_encrypted() {
    let local = "http://127.0.0.1:80/a/b";
    let good = [
        (
            INDEX,
            "other.json",
            "https://hub.example.com/.well-known/agent-skills/other.json",
        ),
        (
            INDEX,
            "https://cdn.example.com/x?y=1",
            "https://cdn.example.com/x?y=1",
        ),
        (
            local,
            "https://hub.example.com/x",
            "https://hub.example.com/x",
        ),
        (local, "http://127.0.0.1:81/x", "http://127.0.0.1:81/x"),
    ];
    for (from, to, expected) in good {
        assert_eq!(redirect_url(from, to).as_deref(), Ok(expected));
    }
    for (from, to) in [
        (INDEX, "http://127.0.0.1/x"),
        (INDEX, "http://hub.example.com/x"),
        (local, "http://hub.example.com/x"),
        (local, "file:///etc/passwd"),
        (local, ""),
    ] {
        assert!(redirect_url(from, to).is_err(), "{to}");
    }
}

#[test]
fn an_index_has_bounds() {
    let entry = |at: usize| format!("{{\"name\":\"s{at}\",\"type\":\"archive\",\"url\":\"x\"}}");
    let index = |count: usize| {
        let entries: Vec<String> = (0..count).map(entry).collect();
        format!("{{\"skills\":[{}]}}", entries.join(","))
    };
    assert_eq!(
        SkillsIndex::parse(&index(2_000)).unwrap().skills.len(),
        2_000
    );
    assert!(SkillsIndex::parse(&index(2_001)).is_err());
    assert!(SkillsIndex::parse(&" ".repeat(1024 * 1024 + 1)).is_err());
}

#[test]
fn an_index_on_this_machine_may_use_http() {
    let index = "http://127.0.0.1:8080/.well-known/skills/index.json";
    let url = resolve_url(index, "pdf/SKILL.md");
    assert_eq!(
        url.as_deref(),
        Ok("http://127.0.0.1:8080/.well-known/skills/pdf/SKILL.md")
    );
    assert!(resolve_url(index, "http://localhost:9/x").is_err());
    assert!(resolve_url("http://hub.example.com/index.json", "x").is_err());
}

/// A tar with entries (path, kind, mode, bytes), compressed.
fn tar_gz(entries: &[(&str, tar::EntryType, u32, &[u8])]) -> Vec<u8> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gz);
    for (path, kind, mode, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        // The builder would refuse hostile names.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.set_size(bytes.len() as u64);
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name("target").unwrap();
        }
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// A zip with entries (path, mode, bytes); names as they are.
fn zip(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (path, mode, content) in entries {
        let mut deflate =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(content).unwrap();
        let data = deflate.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let offset = u32::try_from(bytes.len()).unwrap();
        let length = |it: &[u8]| u32::try_from(it.len()).unwrap().to_le_bytes();
        let mut common = Vec::new();
        common.extend([20, 0, 0, 8, 8, 0, 0, 0, 33, 0]);
        common.extend(crc.sum().to_le_bytes());
        common.extend(length(&data));
        common.extend(length(content));
        common.extend(u16::try_from(path.len()).unwrap().to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(path.as_bytes());
        bytes.extend(&data);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(path.as_bytes());
    }
    let start = u32::try_from(bytes.len()).unwrap();
    let size = u32::try_from(directory.len()).unwrap();
    let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(size.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

const FILE: tar::EntryType = tar::EntryType::Regular;

#[test]
fn both_kinds_of_archive_have_the_same_files() {
    let from_tar = tar_gz(&[
        ("./", tar::EntryType::Directory, 0o755, b""),
        ("./SKILL.md", FILE, 0o644, b"---\nname: a\n---\n"),
        ("scripts/", tar::EntryType::Directory, 0o755, b""),
        ("scripts/run.sh", FILE, 0o755, b"#!/bin/sh\n"),
    ]);
    let from_zip = zip(&[
        ("scripts/", 0o040_755, b""),
        ("scripts/run.sh", 0o100_755, b"#!/bin/sh\n"),
        ("SKILL.md", 0o100_644, b"---\nname: a\n---\n"),
    ]);
    let files = read_archive(&from_tar).unwrap();
    assert_eq!(read_archive(&from_zip).unwrap(), files);
    let modes: Vec<_> = files.iter().map(|it| (&*it.path, it.mode)).collect();
    let wanted = [
        ("SKILL.md", FileMode::Plain),
        ("scripts/run.sh", FileMode::Executable),
    ];
    assert_eq!(modes, wanted);
}

#[test]
fn hostile_archives_are_refused_with_the_name() {
    let link = tar::EntryType::Symlink;
    let skill = ("SKILL.md", FILE, 0o644, &b"x"[..]);
    let zip_skill = ("SKILL.md", 0o100_644, &b"x"[..]);
    let damaged = |mut bytes: Vec<u8>| {
        let at = bytes.len() - 6;
        bytes[at] ^= 1;
        bytes
    };
    let archives = [
        tar_gz(&[skill, ("../x", FILE, 0o644, b"")]),
        tar_gz(&[skill, ("/etc/x", FILE, 0o644, b"")]),
        tar_gz(&[skill, ("a/../../x", FILE, 0o644, b"")]),
        tar_gz(&[skill, (".git/config", FILE, 0o644, b"")]),
        tar_gz(&[skill, ("a\\b", FILE, 0o644, b"")]),
        tar_gz(&[skill, ("aux.md", FILE, 0o644, b"")]),
        tar_gz(&[skill, ("link", link, 0o777, b"")]),
        tar_gz(&[skill, ("hard", tar::EntryType::Link, 0o777, b"")]),
        tar_gz(&[skill, ("pipe", tar::EntryType::Fifo, 0o777, b"")]),
        tar_gz(&[skill, ("sparse", tar::EntryType::GNUSparse, 0o777, b"")]),
        tar_gz(&[skill, skill]),
        tar_gz(&[skill, ("SKILL.md/x", FILE, 0o644, b"")]),
        tar_gz(&[("a/SKILL.md", FILE, 0o644, b"")]),
        damaged(tar_gz(&[skill])),
        zip(&[zip_skill, ("../x", 0o100_644, b"")]),
        zip(&[zip_skill, ("/x", 0o100_644, b"")]),
        zip(&[zip_skill, ("link", 0o120_777, b"target")]),
        zip(&[zip_skill, ("pipe", 0o010_777, b"")]),
        zip(&[zip_skill, zip_skill]),
        zip(&[("README.md", 0o100_644, b"")]),
        b"PK".to_vec(),
        b"hello".to_vec(),
        Vec::new(),
    ];
    let errors = archives.map(|it| read_archive(&it).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn bombs_are_stopped_at_the_limit() {
    let zeros = vec![0; 33 * 1024 * 1024];
    let two = [
        ("SKILL.md", FILE, 0o644, &*zeros),
        ("b", FILE, 0o644, &*zeros),
    ];
    let bomb = tar_gz(&two);
    assert!(bomb.len() < 1024 * 1024);
    assert_eq!(read_archive(&bomb), Err(ArchiveError::TooLarge));
    // The name of a file is as long as the limit.
    let long_name = tar_gz(&[
        ("n", tar::EntryType::GNULongName, 0o644, &*zeros),
        ("m", tar::EntryType::GNULongName, 0o644, &*zeros),
    ]);
    assert!(read_archive(&long_name).is_err());
    let bomb = zip(&[("SKILL.md", 0o100_644, &zeros), ("b", 0o100_644, &zeros)]);
    assert_eq!(read_archive(&bomb), Err(ArchiveError::TooLarge));
    // A size that is a lie.
    let mut lie = zip(&[("SKILL.md", 0o100_644, &zeros)]);
    let at = lie.windows(4).rposition(|it| it == b"PK\x01\x02").unwrap();
    lie[at + 24..at + 28].copy_from_slice(&1_u32.to_le_bytes());
    assert!(matches!(
        read_archive(&lie),
        Err(ArchiveError::Damaged { .. })
    ));
}

#[test]
fn entries_are_counted_and_do_not_overlap() {
    let names: Vec<String> = (0..20_001).map(|at| format!("f{at}")).collect();
    let many: Vec<_> = names
        .iter()
        .map(|it| (&**it, FILE, 0o644, &b""[..]))
        .collect();
    assert_eq!(read_archive(&tar_gz(&many)), Err(ArchiveError::TooMany));
    // Every record of the directory leads to the same bytes.
    let content: Vec<u8> = (0..20_000_u32)
        .flat_map(|it| (it.wrapping_mul(2_654_435_761)).to_le_bytes())
        .collect();
    let one = zip(&[("SKILL.md", 0o100_644, &content)]);
    let start = one.windows(4).rposition(|it| it == b"PK\x01\x02").unwrap();
    let end = one.len() - 22;
    let mut overlapping = one[..start].to_vec();
    for _ in 0..3 {
        overlapping.extend(&one[start..end]);
    }
    let mut tail = one[end..].to_vec();
    tail[8..12].copy_from_slice(&[3, 0, 3, 0]);
    let size = u32::try_from((end - start) * 3).unwrap();
    tail[12..16].copy_from_slice(&size.to_le_bytes());
    overlapping.extend(tail);
    assert_eq!(read_archive(&overlapping), Err(ArchiveError::Overlap));
}

proptest! {
    #[test]
    fn no_text_is_too_much(text in "\\PC{0,200}", url in "\\PC{0,40}|[a-z:/.?#@\\[\\]]{0,20}") {
        let _ = SkillsIndex::parse(&text);
        if let Ok(resolved) = resolve_url(INDEX, &url) {
            prop_assert!(resolved.starts_with("https://"));
            prop_assert_eq!(resolve_url(INDEX, &resolved), Ok(resolved));
        }
    }

    #[test]
    fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..200, with in any::<u8>()) {
        let _ = read_archive(&bytes);
        for mut archive in [
            tar_gz(&[("SKILL.md", FILE, 0o644, b"hello")]),
            zip(&[("SKILL.md", 0o100_644, b"hello")]),
        ] {
            let at = at % archive.len();
            archive[at] = with;
            let _ = read_archive(&archive);
            archive.truncate(at);
            let _ = read_archive(&archive);
        }
    }
}
