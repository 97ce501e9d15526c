//! What an update changes.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use twig_packages::{
    FileMode, PackageChanges, PackageFile, PackageFileChange, PackageItem, PackageItemKind,
    PackageTree,
};
use twig_testkit::{assert_linear, fixture_files};

use crate::capabilities::show as show_capabilities;

/// A version of a package: paths, with ` 755` after those of programs, and contents.
type Version = BTreeMap<String, Vec<u8>>;

fn tree(version: &Version) -> PackageTree {
    let files = version.iter().map(|(path, bytes)| {
        let (path, mode) = match path.strip_suffix(" 755") {
            Some(path) => (path, FileMode::Executable),
            None => (&**path, FileMode::Plain),
        };
        PackageFile {
            path: path.to_owned(),
            mode,
            size: bytes.len() as u64,
            digest: Sha256::digest(bytes).into(),
        }
    });
    PackageTree::new(files.collect())
}

fn content(version: &Version, file: &PackageFile) -> Option<Vec<u8>> {
    let program = format!("{} 755", file.path);
    let found = version.get(&file.path).or_else(|| version.get(&program));
    found.cloned()
}

fn between(old: &Version, new: &Version) -> PackageChanges {
    let (old_content, new_content) = (|it: &_| content(old, it), |it: &_| content(new, it));
    PackageChanges::between(&tree(old), &tree(new), &old_content, &new_content)
}

fn version(files: &[(&str, &str)]) -> Version {
    let files = files.iter();
    files
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn show_files(name: &str, files: &[PackageFileChange]) -> String {
    files
        .iter()
        .map(|file| format!("{name}: {} {}\n", file.kind.as_str(), file.path))
        .collect()
}

#[test]
fn fixtures() {
    insta::glob!("../fixtures/changes", "*.txt", |path| {
        let fixture = fs::read_to_string(path).expect("the fixture is there");
        let (mut old, mut new) = (Version::new(), Version::new());
        for (path, text) in fixture_files(&fixture) {
            let (side, path) = path.split_once('/').expect("`old/` or `new/`");
            let version = if side == "old" { &mut old } else { &mut new };
            version.insert(path.to_owned(), text.into_bytes());
        }
        let changes = between(&old, &new);
        let mut shown = changes.to_lines().join("\n") + "\n\n";
        for rename in &changes.renamed {
            shown += &show_files(&rename.to.path, &rename.files);
        }
        for change in &changes.changed {
            shown += &show_files(&change.item.path, &change.files);
        }
        shown += &show_capabilities(&changes.new_capabilities);
        insta::assert_snapshot!(shown);
    });
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let (old, new) = (version(&[]), version(&[("a.md", "x"), ("b.md", "y")]));
    let nothing = |_: &PackageFile| None;
    let changes = PackageChanges::between(&tree(&old), &tree(&new), &nothing, &nothing);
    insta::assert_snapshot!(changes.to_lines().join("\n"));
}

#[test]
fn hidden_characters_in_names_are_shown() {
    let new = version(&[
        ("skills/a\u{202e}b/SKILL.md", ""),
        ("c\u{200b}.sh", ""),
        ("über.md", ""),
    ]);
    insta::assert_snapshot!(between(&Version::new(), &new).to_lines().join("\n"));
}

#[test]
fn nothing_is_read_if_nothing_changed() {
    let same = tree(&version(&[("a.md", "x")]));
    let never = |_: &PackageFile| panic!("read");
    assert!(PackageChanges::between(&same, &same, &never, &never).is_empty());
}

#[test]
fn long_lists_are_cut_and_show_what_matters() {
    let names: String = (0..300).map(|at| format!("tool{at}\n")).collect();
    let text = format!("```sh\n{names}sudo x\n```\n");
    let changes = between(&Version::new(), &version(&[("a.md", &text)]));
    insta::assert_snapshot!(changes.to_lines().join("\n"));
}

/// A prompt of ten lines, of which some are its own.
fn prompt(id: usize, own: usize) -> String {
    let shared = (own..10).map(|line| format!("Line {line} that many prompts have.\n"));
    let own = (0..own).map(|line| format!("Line {line} of prompt number {id}.\n"));
    own.chain(shared).collect()
}

#[test]
fn similar_files_are_renames_up_to_a_number() {
    let versions = |count: usize| {
        let files = |folder: &str, end: &str| -> Version {
            let files = (0..count).map(|at| {
                let text = prompt(at, 9) + end;
                (format!("{folder}/{at:04}.md"), text.into_bytes())
            });
            files.collect()
        };
        between(&files("old", ""), &files("new", "One more line.\n"))
    };
    let changes = versions(200);
    assert_eq!((changes.renamed.len(), changes.added.len()), (200, 0));
    assert!(
        changes
            .renamed
            .iter()
            .all(|it| it.from.name() == it.to.name())
    );
    let changes = versions(201);
    assert_eq!((changes.renamed.len(), changes.added.len()), (0, 201));
}

#[test]
fn half_is_enough_and_less_is_not() {
    let old = version(&[("a.md", "1111\n2222\n3333\n4444\n")]);
    let half = version(&[("b.md", "1111\n2222\n5555\n6666\n")]);
    let less = version(&[("b.md", "1111\n7777\n5555\n6666\n")]);
    assert_eq!(between(&old, &half).renamed.len(), 1);
    assert_eq!(between(&old, &less).renamed.len(), 0);
}

#[test]
fn comparing_is_linear() {
    let skills = |size: usize| {
        let files = |start: usize| -> Version {
            let files = (start..start + size).map(|at| {
                let path = format!("skills/s{at}/SKILL.md");
                (
                    path,
                    format!("Skill {at}\n```sh\ntool{at}\n```\n").into_bytes(),
                )
            });
            files.collect()
        };
        (files(0), files(size / 2))
    };
    assert_linear("skills", 500, skills, |(old, new)| {
        between(old, new);
    });
    let lines = |size: usize| {
        let text: String = (0..size).map(|at| format!("{at}\n")).collect();
        (
            version(&[("a.md", &text)]),
            version(&[("b.md", &(text.clone() + "x"))]),
        )
    };
    assert_linear("lines", 10_000, lines, |(old, new)| {
        assert_eq!(between(old, new).renamed.len(), 1);
    });
}

fn any_version() -> impl Strategy<Value = Version> {
    let path = proptest::sample::select(vec![
        "SKILL.md",
        "a.md",
        "b.md",
        "c/a.md",
        "s/SKILL.md",
        "s/x.sh",
        "t/SKILL.md",
        "t/x.sh",
        "t/u/SKILL.md",
        "t/u/v.bin",
        "run 755",
        "run2",
    ]);
    let text = proptest::sample::select(vec![
        "",
        "one\ntwo\nthree\n",
        "one\ntwo\nfour\n",
        "one\nfive\nsix\n",
        "```sh\ncurl https://a.example\n```\n",
        "```sh\ngit x\ncurl https://b.example\n```\n",
        "#!/bin/sh\nrm x\n",
        "\0\u{1}",
    ]);
    let text = prop_oneof![
        text.prop_map(|it| it.as_bytes().to_vec()),
        any::<[u8; 4]>().prop_map(|it| it.to_vec())
    ];
    proptest::collection::btree_map(path.prop_map(str::to_owned), text, 0..8)
}

proptest! {
    #[test]
    fn a_version_does_not_differ_from_itself(version in any_version()) {
        let changes = between(&version, &version);
        prop_assert!(changes.is_empty());
        prop_assert!(changes.to_lines().is_empty());
    }

    #[test]
    fn going_back_is_the_opposite(old in any_version(), new in any_version()) {
        let (there, back) = (between(&old, &new), between(&new, &old));
        prop_assert_eq!(&there.added, &back.removed);
        prop_assert_eq!(&there.removed, &back.added);
        let pairs = |changes: &PackageChanges| -> Vec<(PackageItem, PackageItem)> {
            let renamed = changes.renamed.iter();
            renamed.map(|it| (it.from.clone(), it.to.clone())).collect()
        };
        let mut swapped: Vec<_> = pairs(&back).into_iter().map(|(from, to)| (to, from)).collect();
        swapped.sort();
        prop_assert_eq!(pairs(&there), swapped);
        let changed = |changes: &PackageChanges| -> Vec<PackageItem> {
            changes.changed.iter().map(|it| it.item.clone()).collect()
        };
        prop_assert_eq!(changed(&there), changed(&back));
    }

    #[test]
    fn every_difference_is_named(old in any_version(), new in any_version()) {
        let changes = between(&old, &new);
        prop_assert_eq!(changes.is_empty(), tree(&old) == tree(&new));
        for item in &changes.added {
            let is_new = new.keys().any(|path| path.starts_with(&item.path));
            prop_assert!(is_new, "{item:?}");
            let is_skill = item.kind == PackageItemKind::Skill;
            prop_assert_eq!(is_skill, !new.contains_key(&item.path) && item.path != "run");
        }
    }
}
