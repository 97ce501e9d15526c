//! What a hub publishes: archives and indexes that the readers of this crate take back unchanged.

use proptest::prelude::*;
use twig_packages::published::{
    AiCatalog, MarketplacePlugin, PluginMarketplace, PublishedArtifact, PublishedSkill, ai_catalog,
    digest_of_parts, marketplace, plugin_files, published_description, published_digest,
};
use twig_packages::skills_index::IndexedKind;
use twig_packages::tree::{PathTrouble, hex};
use twig_packages::{
    ArchiveError, FileMode, IndexedSkill, SkillsIndex, UnpackedFile, read_archive, write_zip,
};

fn file(path: &str, mode: FileMode, bytes: &[u8]) -> UnpackedFile {
    let bytes = bytes.to_vec();
    let path = path.to_owned();
    UnpackedFile { path, mode, bytes }
}

fn example() -> Vec<UnpackedFile> {
    vec![
        file(
            "SKILL.md",
            FileMode::Plain,
            b"---\nname: tides\n---\nRead.\n",
        ),
        file(
            "scripts/run.sh",
            FileMode::Executable,
            b"#!/bin/sh\necho \xff\n",
        ),
        file("references/h\u{e4}fen.md", FileMode::Plain, b""),
    ]
}

/// The digest is what installers have recorded: an archive of the same files must never have another.
#[test]
fn an_archive_has_these_bytes_for_ever() {
    let zip = write_zip(&example()).unwrap();
    insta::assert_snapshot!(hex(&published_digest(&zip)), @"cbf0e6860d6bc9529395d649dc43fc52c9cd64877f00cdbf81ccc3c8dfff30ed");
    assert_eq!(zip.len(), 377);
}

#[test]
fn the_order_of_files_does_not_count() {
    let mut files = example();
    let zip = write_zip(&files).unwrap();
    files.reverse();
    assert_eq!(write_zip(&files).unwrap(), zip);
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let refused = |files: &[UnpackedFile]| write_zip(files).unwrap_err().to_string();
    let plain = |path: &str| file(path, FileMode::Plain, b"");
    insta::assert_snapshot!(refused(&[plain("../up")]), @"`../up` is refused: its name leads out of the package or into git's own folder");
    insta::assert_snapshot!(refused(&[plain("a"), plain("A")]), @"`a` is there twice");
    insta::assert_snapshot!(refused(&[plain("a"), plain("a/b")]), @"`a` is there twice");
    let large = file("a", FileMode::Plain, &vec![0; 33 << 20]);
    let two = [
        large.clone(),
        UnpackedFile {
            path: "b".to_owned(),
            ..large
        },
    ];
    assert_eq!(write_zip(&two), Err(ArchiveError::TooLarge));
    let many: Vec<UnpackedFile> = (0..20_001).map(|at| plain(&format!("f{at}"))).collect();
    assert_eq!(write_zip(&many), Err(ArchiveError::TooMany));
}

#[test]
fn a_plugin_has_a_manifest_and_its_skills() {
    let skill = PublishedSkill {
        name: "tides".to_owned(),
        files: example(),
    };
    let files = plugin_files("coast", "About the \"coast\"", [skill]);
    let paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
    insta::assert_debug_snapshot!(paths, @r#"
    [
        ".claude-plugin/plugin.json",
        "skills/tides/SKILL.md",
        "skills/tides/scripts/run.sh",
        "skills/tides/references/häfen.md",
    ]
    "#);
    insta::assert_snapshot!(String::from_utf8_lossy(&files[0].bytes), @r#"{"name":"coast","description":"About the \"coast\""}"#);
    assert!(write_zip(&files).is_ok());
}

#[test]
fn the_texts_of_a_hub() {
    let plugin = MarketplacePlugin {
        name: "coast".to_owned(),
        description: "About the coast".to_owned(),
        url: "https://hub.example.com/.claude-plugin/plugins/coast.zip".to_owned(),
        digest: [0xab; 32],
    };
    let shop = PluginMarketplace {
        name: "team".to_owned(),
        owner: "Team".to_owned(),
        description: Some("Skills of the team".to_owned()),
        plugins: vec![plugin],
    };
    insta::assert_snapshot!(marketplace(&shop), @r#"{"name":"team","owner":{"name":"Team"},"description":"Skills of the team","plugins":[{"name":"coast","description":"About the coast","source":{"source":"archive","url":"https://hub.example.com/.claude-plugin/plugins/coast.zip","sha256":"abababababababababababababababababababababababababababababababab"}}]}"#);
    let skill = PublishedArtifact {
        identifier: PublishedArtifact::identifier("hub.example.com", "skill", "tides"),
        media_type: "application/agent-skills+md",
        url: "https://hub.example.com/.well-known/agent-skills/tides/SKILL.md".to_owned(),
        title: Some("tides".to_owned()),
        description: None,
    };
    let catalog = AiCatalog {
        title: "Team".to_owned(),
        artifacts: vec![skill],
    };
    insta::assert_snapshot!(ai_catalog(&catalog), @r#"{"specVersion":"1.0","host":{"displayName":"Team"},"entries":[{"identifier":"urn:air:hub.example.com:skill:tides","displayName":"tides","type":"application/agent-skills+md","url":"https://hub.example.com/.well-known/agent-skills/tides/SKILL.md"}]}"#);
}

#[test]
fn descriptions_are_as_long_as_installers_accept() {
    assert_eq!(published_description(" a\n  b "), "a b");
    let long = published_description(&"\u{e4}".repeat(1_025));
    assert_eq!(long.chars().count(), 1_024);
    assert_eq!(published_description(&long), long);
}

#[test]
fn parts_are_not_their_concatenation() {
    let digest = |parts: &[&str]| digest_of_parts(parts.iter().map(|part| part.as_bytes()));
    assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
    assert_ne!(digest(&["", "a"]), digest(&["a"]));
}

prop_compose! {
    fn files()(
        entries in prop::collection::btree_map(
            "[a-zA-Z0-9_ \u{e4}]{0,6}[a-z0-9](/[a-z\u{65e5}]{1,4}x){0,2}",
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)),
            0..12,
        ),
        main in prop::collection::vec(any::<u8>(), 0..100),
    ) -> Vec<UnpackedFile> {
        let mut files = vec![file("SKILL.md", FileMode::Plain, &main)];
        for (path, (is_program, bytes)) in entries {
            let mode = if is_program { FileMode::Executable } else { FileMode::Plain };
            files.push(file(&path, mode, &bytes));
        }
        files
    }
}

prop_compose! {
    fn entry(lists: bool)(
        name in "[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}",
        description in ".{0,40}",
        is_archive in any::<bool>(),
        mut paths in prop::collection::btree_set("[a-z]{1,5}(/[a-z ]{1,4}z){0,1}", 0..5),
        digest in any::<[u8; 32]>(),
    ) -> IndexedSkill {
        let (kind, url, digest) = if lists {
            paths.insert("SKILL.md".to_owned());
            let files = paths.into_iter().collect();
            (IndexedKind::Files(files), format!("{name}/"), None)
        } else if is_archive {
            (IndexedKind::Archive, PublishedSkill::archive_path(&name), Some(digest))
        } else {
            (IndexedKind::SkillMd, PublishedSkill::file_path(&name, "SKILL.md"), Some(digest))
        };
        IndexedSkill { name, description, kind, url, digest }
    }
}

proptest! {
    #[test]
    fn archives_are_read_as_they_were_written(mut files in files()) {
        files.sort_by(|one, two| one.path.cmp(&two.path));
        match write_zip(&files) {
            Ok(zip) => prop_assert_eq!(read_archive(&zip), Ok(files)),
            // Names that differ in case only, a file where another one needs a folder, and names
            // such as `aux`.
            Err(ArchiveError::Twice { .. } | ArchiveError::Path { trouble: PathTrouble::Windows, .. }) => {}
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn indexes_are_read_as_they_were_written(
        skills in any::<bool>().prop_flat_map(|lists| prop::collection::vec(entry(lists), 0..8)),
    ) {
        let mut index = SkillsIndex { skills, refused: Vec::new() };
        let mut names = std::collections::BTreeSet::new();
        index.skills.retain(|skill| names.insert(skill.name.clone()));
        let text = index.to_json();
        prop_assert_eq!(SkillsIndex::parse(&text), Ok(index));
        prop_assert_eq!(text.matches('\n').count(), 1);
    }
}
