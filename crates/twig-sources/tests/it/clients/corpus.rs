//! Real files, where they are at hand: every folder is told, and every file is listed or named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use twig_clients::format::{ClientFilePart, part};
use twig_core::RelativePath;
use twig_sources::{LiveCatalog, Settings};

/// Each folder, the client's folder in it, and how it is read.
const FOLDERS: [(&str, &str, &str); 7] = [
    ("claude-commands", ".claude/commands", "claude"),
    ("copilot", ".github/prompts", "copilot"),
    ("cursor-commands", ".cursor/commands", "cursor"),
    ("fabric", "data/patterns", "fabric"),
    ("gemini", ".gemini/commands", "gemini"),
    ("gemini-conductor", ".gemini/commands", "gemini"),
    ("skills", ".agents/skills", "skills"),
];

fn corpus() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut near = here.ancestors().map(|folder| folder.join("shared/corpus"));
    near.find(|path| path.is_dir())
}

fn load(path: PathBuf) -> LiveCatalog {
    LiveCatalog::load(Settings {
        libraries: vec![path],
        ..Settings::default()
    })
}

/// Everything that is listed, in a form that can be compared.
fn listed(live: &LiveCatalog) -> Vec<String> {
    let catalog = live.snapshot();
    let prompts = catalog
        .prompts(0)
        .map(|found| format!("{:?}", found.prompt));
    prompts.collect()
}

/// Files that prompts or problems name, below the library.
fn named(live: &LiveCatalog, root: &Path) -> BTreeSet<PathBuf> {
    let catalog = live.snapshot();
    let mut named: BTreeSet<PathBuf> = catalog
        .problems()
        .map(|problem| PathBuf::from(&*problem.path))
        .collect();
    for library in catalog.libraries() {
        for prompt in &library.prompts {
            for message in &prompt.messages {
                named.extend(message.content.file().map(|path| root.join(path.as_str())));
            }
        }
        let documents = library.documents.iter();
        named.extend(documents.filter_map(|it| Some(root.join(it.file()?.as_str()))));
    }
    named
}

fn all_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn every_folder_of_the_corpus_is_told_and_every_file_named() {
    let Some(corpus) = corpus() else { return };
    for (folder, below, kind) in FOLDERS {
        let root = corpus.join(folder).join(below);
        let live = load(corpus.join(folder));
        let direct = load(root.clone());
        for live in [&live, &direct] {
            let catalog = live.snapshot();
            let kinds: Vec<&str> = catalog
                .libraries()
                .iter()
                .map(|it| it.kind.as_str())
                .collect();
            assert_eq!(kinds, [kind], "{folder}");
            assert_eq!(live.problems(), [], "{folder}");
        }
        assert_eq!(listed(&live), listed(&direct), "{folder}");
        assert_eq!(
            listed(&live),
            listed(&load(corpus.join(folder))),
            "{folder}"
        );
        let read_as = live.snapshot().libraries()[0].kind;
        let mut files = Vec::new();
        all_files(&root, &mut files);
        files.retain(|file| {
            let below = file.strip_prefix(&root).unwrap().to_str().unwrap();
            let part = part(read_as, &RelativePath::parse(below).unwrap());
            matches!(
                part,
                Some(ClientFilePart::Prompt | ClientFilePart::Skipped(_))
            )
        });
        let named = named(&live, &root);
        let missing: Vec<&PathBuf> = files.iter().filter(|file| !named.contains(*file)).collect();
        assert!(missing.is_empty(), "{folder}: {missing:?}");
    }
}

#[test]
fn a_folder_of_collections_is_a_library_each() {
    let Some(corpus) = corpus() else { return };
    let live = load(corpus);
    let catalog = live.snapshot();
    let mut names: Vec<&str> = catalog
        .libraries()
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    names.sort_unstable();
    let expected = [
        "claude",
        "copilot",
        "cursor",
        "fabric",
        "gemini",
        "gemini_conductor_gemini",
        "skills",
    ];
    assert_eq!(names, expected);
}
