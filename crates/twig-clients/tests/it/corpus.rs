//! Files that people published, where there are any: every one of them is served.
//!
//! They stand beside the project and are no part of it; without them there is nothing to look at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use twig_clients::clients::formats;
use twig_clients::format::{self, ClientFilePart, Options, Reading, SkillFileFound};
use twig_core::document::Head;
use twig_core::parse::library::LibraryRoot;
use twig_core::{Library, LibraryKind, LibraryName, Limits, RelativePath, Severity};

/// The folder `shared/corpus` beside the project, or beside the folder that the project is in.
fn corpus() -> Option<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = ["../shared/corpus", "../../shared/corpus"];
    let found = beside.iter().map(|path| project.join(path));
    let found = found.into_iter().find(|path| path.is_dir());
    if found.is_none() {
        #[allow(clippy::print_stderr, reason = "who runs the tests should know")]
        {
            eprintln!("no corpus beside the project: nothing to read");
        }
    }
    found
}

fn files(root: &Path, folder: &Path, found: &mut Vec<(RelativePath, PathBuf)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(root, &path, found);
        } else {
            let inside = path.strip_prefix(root).expect("beneath").to_str();
            let relative = RelativePath::parse(inside.expect("a name")).expect("a path");
            found.push((relative, path));
        }
    }
}

/// Reads a folder as a source would.
fn load(kind: LibraryKind, root: &Path) -> (Library, usize) {
    let folder = LibraryRoot {
        name: LibraryName::from_folder("lib").expect("a name"),
        root: root.to_str().expect("a path").into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    };
    let limits = Limits::default();
    let mut found = Vec::new();
    files(root, root, &mut found);
    let mut readings: Vec<(RelativePath, Reading)> = Vec::new();
    let mut bundled = Vec::new();
    let mut prompts = 0;
    for (path, file) in found {
        let part = format::part(kind, &path);
        let bytes = std::fs::read(&file).expect("a file");
        if kind == LibraryKind::Skills && part.is_some() {
            bundled.push(SkillFileFound {
                head: Head::read(path.file_name(), &bytes[..bytes.len().min(2048)], false),
                path: path.clone(),
                digest: Sha256::digest(&bytes).into(),
                size: bytes.len() as u64,
                modified: None,
                version: 1,
            });
        }
        match part {
            Some(ClientFilePart::Prompt) => {
                prompts += 1;
                let text = String::from_utf8(bytes).expect("text");
                let options = Options::default();
                let reading = format::read(kind, &folder, &path, Ok(&text), options, &limits);
                let rendered: String = twig_core::spoken::bodies(kind, &text)
                    .expect("a body")
                    .into_iter()
                    .map(|spoken| spoken.text.into_owned())
                    .collect();
                assert!(text.contains(&rendered), "{path}");
                readings.push((path, reading));
            }
            Some(ClientFilePart::Skipped(why)) => {
                let reading = format::skipped(&folder, &path, why);
                readings.push((path, reading));
            }
            _ => {}
        }
    }
    let readings = readings.iter().map(|(path, reading)| (path, reading));
    let library = format::library(&folder, kind, readings, &bundled, &limits);
    (library, prompts)
}

fn is_name(name: &str) -> bool {
    let is_good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(is_good)
}

#[test]
fn every_file_is_served_by_every_kind() {
    let Some(corpus) = corpus() else { return };
    let kinds = [
        LibraryKind::Markdown,
        formats::CLAUDE.kind(),
        formats::COPILOT.kind(),
        formats::CODEX.kind(),
        formats::CURSOR.kind(),
        formats::OPENCODE.kind(),
        formats::WINDSURF.kind(),
        LibraryKind::Skills,
    ];
    let folders = [
        "claude-commands/.claude/commands",
        "copilot/.github/prompts",
        "skills/.agents/skills",
        "cursor-commands/.cursor/commands",
        "fabric/data/patterns",
    ];
    for folder in folders {
        for kind in kinds {
            let case = format!("{folder} as {}", kind.as_str());
            let (library, files) = load(kind, &corpus.join(folder));
            assert_eq!(library, load(kind, &corpus.join(folder)).0, "{case}");
            assert_eq!(library.prompts.len(), files, "{case}");
            let mut names = BTreeSet::new();
            for prompt in &library.prompts {
                let name = prompt.name.as_str();
                assert!(is_name(name) && names.insert(name), "{case}: {name}");
                assert_eq!(prompt.unavailable, None, "{case}: {name}");
                let description = prompt.description.as_deref().unwrap_or_default();
                assert!(!description.trim().is_empty(), "{case}: {name}");
                for argument in prompt.arguments.iter() {
                    let odd = ["secrets", "github", "matrix", "HOME", "PATH", "PWD", "USER"];
                    let is_number = argument.name.bytes().all(|byte| byte.is_ascii_digit());
                    let is_odd = odd.contains(&&*argument.name) || is_number;
                    assert!(!is_odd, "{case}: {name} {}", argument.name);
                }
            }
            let is_bad = |severity| severity != Severity::Note;
            let problems = library.problems.iter().filter(|it| is_bad(it.severity));
            let is_double = |code: &str| code == "duplicate-prompt";
            let problems: Vec<_> = problems.filter(|it| !is_double(it.code.as_str())).collect();
            assert!(problems.is_empty(), "{case}: {problems:?}");
        }
    }
}

#[test]
fn clients_own_folders_are_read_as_they_mean_them() {
    let Some(corpus) = corpus() else { return };
    let (claude, _) = load(
        formats::CLAUDE.kind(),
        &corpus.join("claude-commands/.claude/commands"),
    );
    for prompt in &claude.prompts {
        let names: Vec<&str> = prompt.arguments.iter().map(|it| &*it.name).collect();
        assert!(names.is_empty() || names == ["arguments"], "{names:?}");
        let title = prompt.title.as_deref().unwrap_or_default();
        assert!(title.contains(':'), "{title}");
    }
    let (copilot, _) = load(
        formats::COPILOT.kind(),
        &corpus.join("copilot/.github/prompts"),
    );
    let spring = copilot
        .prompts
        .iter()
        .find(|it| it.name.as_str() == "create-spring-boot-java-project")
        .expect("a prompt");
    let [argument] = &spring.arguments[..] else {
        panic!("{:?}", spring.arguments)
    };
    assert_eq!(&*argument.name, "projectName");
    assert_eq!(argument.description.as_deref(), Some("demo-java"));
    let (skills, files) = load(LibraryKind::Skills, &corpus.join("skills/.agents/skills"));
    let notes = skills.problems.iter().filter(|it| it.code == "not-a-skill");
    assert_eq!(skills.skills.len() + notes.count(), files);
    for skill in &skills.skills {
        let own = format!("/{}/SKILL.md", skill.name);
        assert!(skill.uri.ends_with(&own), "{}", skill.uri);
        assert!(skill.files.iter().any(|file| file.uri == skill.uri));
    }
}
