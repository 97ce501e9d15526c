//! The lock: its text, round trips, and merges of two branches.

use proptest::prelude::*;
use twig_core::{LibraryName, RelativePath};
use twig_packages::tree::path_trouble;
use twig_packages::{
    FileMode, LockedLibrary, PackageFile, PackageLock, PackageSource, PackageTree, TreeDigest,
};

fn tree(seed: u8) -> TreeDigest {
    let file = PackageFile {
        path: "SKILL.md".to_owned(),
        mode: FileMode::Plain,
        size: 1,
        digest: [seed; 32],
    };
    PackageTree::new(vec![file]).digest()
}

fn library(name: &str, seed: u8) -> LockedLibrary {
    LockedLibrary {
        name: LibraryName::from_folder(name).unwrap(),
        source: PackageSource::parse("github:obra/superpowers").unwrap(),
        reference: Some("v5.2.0".to_owned()),
        path: Some(RelativePath::parse("skills").unwrap()),
        commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        tree: tree(seed),
        files: 212,
        license: Some("MIT".to_owned()),
        signed_by: None,
    }
}

fn lock(libraries: &[LockedLibrary]) -> PackageLock {
    let mut lock = PackageLock::default();
    for library in libraries {
        lock.insert(library.clone());
    }
    lock
}

#[test]
fn the_text_is_small_and_readable() {
    insta::assert_snapshot!(lock(&[library("superpowers", 1), library("office", 2)]).to_text());
}

#[test]
fn mistakes_are_named_with_their_line() {
    let good = lock(&[library("one", 1)]).to_text();
    let changed = |from: &str, to: &str| good.replace(from, to);
    let texts = [
        changed("version = 1", "version = 2"),
        changed("version = 1", ""),
        changed("commit = \"01", "commit = \"../01"),
        changed("ref = \"v5", "ref = \"--v5"),
        changed("path = \"skills", "path = \"../skills"),
        changed("github:obra", "ext::obra"),
        changed("sha256:", "sha1:"),
        changed("files = 212", "files = -1"),
        changed("name = \"one\"", "name = \"../one\""),
        changed("name = \"one\"", "name = 1"),
        changed("version = 1", "version = 1\nextra = 1"),
        format!("{good}{}", good.split_once("\n\n").unwrap().1),
        "version = ".to_owned(),
        format!("<<<<<<< HEAD\n{good}"),
    ];
    let errors = texts.map(|text| PackageLock::parse(&text).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_merge_conflict_has_two_sides() {
    let ours = lock(&[library("a", 1), library("m", 1)]).to_text();
    let theirs = lock(&[library("a", 2), library("m", 1)]).to_text();
    let line = |text: &str| {
        text.lines()
            .find(|it| it.starts_with("tree"))
            .unwrap()
            .to_owned()
    };
    let conflict = format!(
        "<<<<<<< HEAD\n{}\n||||||| base\ntree = \"old\"\n=======\n{}\n>>>>>>> branch",
        line(&ours),
        line(&theirs)
    );
    let merged = ours.replacen(&line(&ours), &conflict, 1);
    assert!(PackageLock::parse(&merged).is_err());
    let (one, two) = PackageLock::sides(&merged).expect("two locks");
    assert_eq!((one.to_text(), two.to_text()), (ours, theirs));
}

fn libraries() -> impl Strategy<Value = LockedLibrary> {
    let source = prop_oneof![
        Just("github:obra/superpowers"),
        Just("git+https://git.example.com/team/prompts.git"),
        Just("git@git.example.com:team/prompts.git"),
    ];
    let any = (
        "[a-z0-9][a-z0-9_]{0,6}[a-z0-9]",
        source,
        proptest::option::of("[a-zA-Z0-9][a-zA-Z0-9._/]{0,8}[a-zA-Z0-9]"),
        "[0-9a-f]{40}",
        any::<u8>(),
        any::<u32>(),
        proptest::option::of("\\PC{0,12}|[\\x00-\\x7f]{0,12}"),
    );
    any.prop_filter_map(
        "a reference",
        |(name, source, reference, commit, seed, files, license)| {
            let reference = reference.filter(|it| twig_packages::source::is_reference(it));
            Some(LockedLibrary {
                name: LibraryName::from_folder(&name)?,
                source: PackageSource::parse(source).ok()?,
                reference,
                path: None,
                commit: Some(commit),
                tree: tree(seed),
                files: u64::from(files),
                license,
                signed_by: None,
            })
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(all in proptest::collection::vec(libraries(), 0..8)) {
        let lock = lock(&all);
        let text = lock.to_text();
        let read = PackageLock::parse(&text).unwrap();
        prop_assert_eq!(&read, &lock);
        prop_assert_eq!(read.to_text(), text);
    }

    /// Two branches that add different libraries change different lines.
    #[test]
    fn the_order_of_additions_does_not_matter(all in proptest::collection::vec(libraries(), 0..8)) {
        let mut unique = all;
        unique.sort_by(|one, two| one.name.cmp(&two.name));
        unique.dedup_by(|one, two| one.name == two.name);
        let forwards = lock(&unique).to_text();
        unique.reverse();
        prop_assert_eq!(lock(&unique).to_text(), forwards);
    }

    #[test]
    fn no_text_is_too_much(text in "\\PC{0,200}") {
        let _ = PackageLock::parse(&text);
        let _ = PackageLock::sides(&text);
        let _ = PackageTree::parse(&text);
    }

    #[test]
    fn lists_of_files_are_read_as_they_were_written(
        names in proptest::collection::btree_set("[a-z]{1,4}(/[a-z ]{1,3}x){0,2}", 0..8),
        seed in any::<[u8; 32]>(),
    ) {
        let names = names.into_iter().filter(|path| path_trouble(path).is_none());
        let files = names.enumerate().map(|(at, path)| PackageFile {
            path,
            mode: if at % 2 == 0 { FileMode::Plain } else { FileMode::Executable },
            size: at as u64,
            digest: seed,
        });
        let tree = PackageTree::new(files.collect());
        prop_assert_eq!(PackageTree::parse(&tree.to_text()), Some(tree));
    }
}
