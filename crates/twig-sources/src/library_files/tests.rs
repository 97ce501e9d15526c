//! Files on disk: what is read again, and what fits into the limits.

use std::fs;
use std::path::Path;

use twig_clients::clients::formats;
use twig_core::LibraryName;

use super::*;

fn folder(root: &Path) -> LibraryRoot {
    LibraryRoot {
        name: LibraryName::from_folder("lib").unwrap(),
        root: root.to_str().unwrap().into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    }
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Refreshes a tree; returns whether it differs and how many bytes were read.
fn refresh(root: &Path, tree: &mut FileTree, limits: &Limits) -> (bool, u64) {
    let folder = folder(root);
    let kind = match tree.kind() {
        TreeKind::Client(kind) => kind,
        _ => LibraryKind::Definitions,
    };
    let rules = FileRules::new(&folder, kind, Options::default(), limits, &[]);
    let changed = tree.refresh(&rules);
    (changed, rules.read.into_inner())
}

fn bundled(file: &LibraryFile) -> Option<&SkillFileFound> {
    match &file.content {
        Ok(FileContent::Client(_, bundled)) => bundled.as_deref(),
        _ => None,
    }
}

#[test]
fn files_past_the_total_wait_for_room() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for name in ["a.md", "b.md", "c.md"] {
        write(root, name, "x".repeat(40));
    }
    let limits = Limits::default();
    let mut tree = FileTree::new(TreeKind::Client(formats::CLAUDE.kind()), "");
    refresh(root, &mut tree, &limits);
    let problems = |tree: &FileTree| {
        let files = tree.files.iter();
        let readings = files.filter_map(|file| match &file.content {
            Ok(FileContent::Client(reading, _)) => Some(&reading.problems),
            _ => None,
        });
        readings.flatten().cloned().collect::<Vec<_>>()
    };
    assert_eq!(problems(&tree), []);
    tree.total = 100;
    assert!(refresh(root, &mut tree, &limits).0);
    assert_eq!(problems(&tree).len(), 1);
    assert!(
        problems(&tree)[0].message.contains("100 bytes in total"),
        "{:?}",
        problems(&tree)
    );
    write(root, "a.md", "x".repeat(20));
    assert!(refresh(root, &mut tree, &limits).0);
    assert_eq!(problems(&tree), []);
}

#[test]
fn definitions_past_the_total_wait_for_room() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let write = |name: &str, size: usize| write(root, &format!("prompts/{name}"), "x".repeat(size));
    for name in ["a.json", "b.json", "c.json"] {
        write(name, 40);
    }
    write("d.json", 70);
    let limits = Limits {
        manifest: 60,
        ..Limits::default()
    };
    let mut tree = FileTree::new(TreeKind::Definitions, "prompts");
    tree.total = 100;
    let mut check = |changes: bool, expected: [Result<usize, BodyError>; 4]| {
        assert_eq!(refresh(root, &mut tree, &limits).0, changes);
        let sizes = tree.files.iter().map(|file| match file.text() {
            Ok(text) => Ok(text.len()),
            Err(error) => Err(error.clone()),
        });
        assert_eq!(sizes.collect::<Vec<_>>(), expected);
    };
    let no_room = || Err(BodyError::NoRoom { limit: 100 });
    let too_large = || {
        Err(BodyError::TooLarge {
            size: 70,
            limit: 60,
        })
    };
    check(true, [Ok(40), Ok(40), no_room(), too_large()]);
    check(false, [Ok(40), Ok(40), no_room(), too_large()]);
    write("a.json", 10);
    check(true, [Ok(10), Ok(40), Ok(40), too_large()]);
    write("a.json", 30);
    check(true, [Ok(30), Ok(40), no_room(), too_large()]);
    let sentence = no_room().unwrap_err().to_string();
    assert!(sentence.contains("100 bytes"), "{sentence}");
}

#[test]
fn a_skill_brings_its_files_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(
        root,
        "pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads.\n---\nBody\n",
    );
    write(root, "pdf/scripts/run.py", [0xff, 0x00, 0x01]);
    write(root, "notes/README.txt", "no skill\n");
    let mut tree = FileTree::new(TreeKind::Client(LibraryKind::Skills), "");
    refresh(root, &mut tree, &Limits::default());
    let bundled: Vec<&SkillFileFound> = tree.files.iter().filter_map(bundled).collect();
    let paths: Vec<&str> = bundled.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["pdf/SKILL.md", "pdf/scripts/run.py"]);
    let digest: [u8; 32] = Sha256::digest([0xff, 0x00, 0x01]).into();
    assert_eq!((bundled[1].digest, bundled[1].size), (digest, 3));
    assert!(!bundled[1].head.is_text);
}

#[test]
fn a_digest_is_made_once_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(
        root,
        "pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads.\n---\nBody\n",
    );
    write(root, "pdf/data.bin", "one");
    let limits = Limits::default();
    let mut tree = FileTree::new(TreeKind::Client(LibraryKind::Skills), "");
    refresh(root, &mut tree, &limits);
    let first = bundled(&tree.files[1]).unwrap().clone();
    // Stamps settle within moments; after that, files are only checked.
    let started = std::time::Instant::now();
    while refresh(root, &mut tree, &limits) != (false, 0) {
        assert!(
            started.elapsed().as_secs() < 30,
            "it is read again and again"
        );
    }
    write(root, "pdf/data.bin", "two");
    assert_eq!(refresh(root, &mut tree, &limits), (true, 3));
    assert_ne!(bundled(&tree.files[1]).unwrap().digest, first.digest);
}
