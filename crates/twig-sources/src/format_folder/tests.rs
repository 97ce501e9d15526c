//! Another client's folder on disk: what is read again, kept, and told.

use std::fs;
use std::path::Path;

use twig_clients::clients::formats;
use twig_core::LibraryName;

use super::*;

fn folder(root: &Path) -> Folder {
    Folder {
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

fn load(root: &Path, kind: Kind, before: Option<FormatFolder>) -> FormatFolder {
    let limits = Limits::default();
    FormatFolder::load(
        &folder(root),
        kind,
        Options::default(),
        &[],
        &limits,
        before,
    )
}

#[test]
fn what_did_not_change_is_neither_read_nor_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "a/one.md", "One.\n");
    write(root, "two.md", "Two.\n");
    let first = load(root, formats::CLAUDE.kind(), None);
    let library = Arc::clone(&first.library);
    assert_eq!(library.prompts.len(), 2);
    let second = load(root, formats::CLAUDE.kind(), Some(first));
    assert!(Arc::ptr_eq(&library, &second.library));
    write(root, "two.md", "---\ndescription: Other.\n---\nTwo.\n");
    let third = load(root, formats::CLAUDE.kind(), Some(second));
    assert!(!Arc::ptr_eq(&library, &third.library));
    // The prompt of a file that stayed is the same allocation.
    let kept = |library: &Library| {
        let is_it = |it: &&Arc<twig_core::Prompt>| it.name.as_str().contains("one");
        Arc::clone(library.prompts.iter().find(is_it).unwrap())
    };
    assert_eq!(kept(&library), kept(&third.library));
}

#[test]
fn files_past_the_total_wait_for_room() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for name in ["a.md", "b.md", "c.md"] {
        write(root, name, "x".repeat(40));
    }
    let folder = folder(root);
    let base = Base::new(&folder, "");
    let limits = Limits::default();
    let rules = || Rules {
        kind: formats::CLAUDE.kind(),
        options: Options::default(),
        limits: &limits,
        read: AtomicU64::new(0),
        is_any_read: AtomicBool::default(),
        total: 100,
    };
    let mut state = load(root, formats::CLAUDE.kind(), None);
    let left_off = |state: &FormatFolder| {
        let problems = state.files.iter().map(|file| file.reading().1);
        let problems = problems.filter(|reading| !reading.problems.is_empty());
        problems.count()
    };
    assert_eq!(left_off(&state), 0);
    assert!(state.look(&base, &rules()));
    assert_eq!(left_off(&state), 1);
    assert!(
        state.files[2].reading().1.problems[0]
            .message
            .contains("100 bytes together")
    );
    write(root, "a.md", "x".repeat(20));
    assert!(state.look(&base, &rules()));
    assert_eq!(left_off(&state), 0);
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
    let state = load(root, Kind::Skills, None);
    let bundled: Vec<&Bundled> = state.files.iter().filter_map(FormatFile::bundled).collect();
    let paths: Vec<&str> = bundled.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["pdf/SKILL.md", "pdf/scripts/run.py"]);
    let digest: [u8; 32] = {
        use sha2::{Digest, Sha256};
        Sha256::digest([0xff, 0x00, 0x01]).into()
    };
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
    let mut state = load(root, Kind::Skills, None);
    let first = state.files[1].bundled().unwrap().clone();
    let (limits, folder) = (Limits::default(), folder(root));
    let base = Base::new(&folder, "");
    let mut read = || {
        let rules = Rules {
            kind: Kind::Skills,
            options: Options::default(),
            limits: &limits,
            read: AtomicU64::new(0),
            is_any_read: AtomicBool::default(),
            total: BYTES,
        };
        let changed = state.look(&base, &rules);
        (changed, rules.read.into_inner())
    };
    // Stamps settle within moments; then a look at them is all there is.
    let started = std::time::Instant::now();
    while read() != (false, 0) {
        assert!(
            started.elapsed().as_secs() < 30,
            "it is read again and again"
        );
    }
    write(root, "pdf/data.bin", "two");
    assert_eq!(read(), (true, 3));
    assert_ne!(state.files[1].bundled().unwrap().digest, first.digest);
}
