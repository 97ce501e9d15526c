//! `twig.toml`, one fixture a case: the prompts that come of it and the problems.

use std::fmt::Write as _;

use twig_core::limits::PROBLEMS;
use twig_core::parse::library::{LibraryRoot, twig_layout, twig_library};
use twig_core::{
    BodyError, Content, Library, LibraryName, Limits, NotAFile, Problem, RelativePath,
};
use twig_testkit::{MemoryFiles, assert_linear};

/// Files are there unless their name says otherwise.
pub(crate) fn named_files() -> MemoryFiles {
    let files = MemoryFiles::with_others(|path| match path.rsplit('/').next() {
        Some("missing.md" | "missing.png") => Err(BodyError::NotFound),
        Some("folder.md") => Err(BodyError::NotAFile(NotAFile::Folder)),
        Some("link.md") => Err(BodyError::Outside),
        _ => Ok(Vec::new()),
    });
    files.not_executable("plain.sh")
}

pub(crate) fn library(folder: &str, manifest: &str) -> Library {
    let folder = LibraryRoot {
        name: LibraryName::from_folder(folder).expect("a name"),
        root: format!("/data/{folder}").into(),
        shown_root: format!("~/data/{folder}").into(),
        prefix: format!("{}:", LibraryName::from_folder(folder).expect("a name")).into(),
    };
    twig_library(&folder, manifest, &named_files(), &Limits::default())
}

pub(crate) fn show(library: &Library) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{:?}", library.about);
    for prompt in &library.prompts {
        let _ = writeln!(
            text,
            "\n{} title={:?} description={:?}",
            prompt.full_name, prompt.title, prompt.description
        );
        for argument in prompt.arguments.iter() {
            let pattern = argument
                .pattern
                .as_ref()
                .map(twig_core::argument::Pattern::as_str);
            let _ = writeln!(
                text,
                "  {} required={} default={:?} choices={:?} max_length={:?} pattern={pattern:?} description={:?}",
                argument.name,
                argument.required,
                argument.default,
                argument.choices,
                argument.max_length,
                argument.description
            );
        }
        for message in &prompt.messages {
            let content = match &message.content {
                Content::File(path) => path.to_string(),
                Content::Text {
                    text, line, form, ..
                } => format!("line {line} {form:?}: {text:?}"),
                Content::Media { kind, mime, path } => format!("{} {mime} {path}", kind.as_str()),
                Content::Function(function) => format!("{function:?}"),
                _ => "something new".to_owned(),
            };
            let _ = writeln!(text, "  {} {content}", message.role.as_str());
        }
        if let Some(reason) = &prompt.unavailable {
            let _ = writeln!(text, "  not served: {reason}");
        }
    }
    for problem in &library.problems {
        let _ = writeln!(text, "\n{}", shown(problem));
    }
    text
}

fn shown(problem: &Problem) -> String {
    let mut text = problem.to_string();
    if let Some(excerpt) = &problem.excerpt {
        let _ = write!(
            text,
            "\n  | {}\n  | {}{}",
            excerpt.text,
            " ".repeat(excerpt.start),
            "^".repeat(excerpt.width)
        );
    }
    text
}

#[test]
fn fixtures() {
    insta::glob!("../fixtures/manifests", "*.toml", |path| {
        let text = std::fs::read_to_string(path).expect("readable");
        insta::assert_snapshot!(show(&library("lib", &text)));
    });
}

#[test]
fn arguments_have_a_limit_and_its_last_number_passes() {
    let manifest = |count: usize| -> String {
        let arguments: String = (0..count)
            .map(|at| format!("[[prompts.p.arguments]]\nname = \"a{at}\"\n"))
            .collect();
        format!("[prompts.p]\n{arguments}")
    };
    assert!(library("lib", &manifest(64)).problems.is_empty());
    let problems = library("lib", &manifest(65)).problems;
    assert_eq!(
        problems[0].message,
        "65 arguments are declared; the limit is 64"
    );
}

#[test]
fn both_readers_of_toml_give_the_same_library() {
    let plain = "[prompts.a]\ndescription = \"x\"\n[[prompts.a.arguments]]\nname = \"n\"\nchoices = [\"1\", \"2\"]\n";
    // A dotted key is enough to send the whole manifest to the other reader.
    let other = format!("library.title = \"t\"\n{plain}");
    let (mut one, mut two) = (library("lib", plain), library("lib", &other));
    (one.state, two.state) = (0, 0);
    two.about = one.about.clone();
    assert_eq!(one, two);
}

#[test]
fn documents_have_a_place_and_a_scheme() {
    let layout = |manifest: &str| {
        let folder = LibraryRoot {
            name: LibraryName::from_folder("Grün").expect("a name"),
            root: "/data/lib".into(),
            shown_root: "~/data/lib".into(),
            prefix: "lib:".into(),
        };
        twig_layout(&folder, manifest, &named_files(), &Limits::default()).layout
    };
    let usual = layout("").expect("a layout");
    let folders: Vec<&str> = usual.folders.iter().map(RelativePath::as_str).collect();
    assert_eq!(folders, ["docs", "mcp/resources"]);
    assert_eq!(&*usual.prefix, "twig://gr%C3%BCn/");
    let text = "[documents]\nfolder = \"folder.md\"\nscheme = \"team\"\ntemplates = [\"team://x/{name}\"]\n";
    let own = layout(text).expect("a layout");
    assert_eq!(own.folders[0].as_str(), "folder.md");
    assert_eq!(&*own.prefix, "team://");
    assert_eq!(own.templates[0].as_str(), "team://x/{name}");
    for wrong in ["", "A", "1a", "a b", "http", "twig", "a:b", "ü"] {
        let layout = layout(&format!("[documents]\nscheme = \"{wrong}\"\n"));
        assert_eq!(layout.expect("a layout").prefix, usual.prefix, "{wrong}");
    }
    assert!(layout("[documents").is_none());
}

#[test]
fn messages_beyond_the_limit_are_refused() {
    let message = "[[prompts.p.messages]]\ntext = \"a\"\n";
    let with = |count: usize| library("lib", &message.repeat(count));
    assert_eq!(with(64).prompts[0].messages.len(), 64);
    let problems = with(65).problems;
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert_eq!(problem.code, "too-many-messages");
    assert_eq!(problem.message, "65 messages are declared; the limit is 64");
}

/// Manifests with a mistake, or a place to find, for each of their entries.
const CROWDED: [fn(usize) -> String; 5] = [
    |count| (0..count).map(|at| format!("k{at} = 1\n")).collect(),
    |count| {
        let prompt = |at| format!("[prompts.p{at}]\nfile = \"missing.md\"\n");
        (0..count).map(prompt).collect()
    },
    |count| {
        (0..count)
            .map(|at| format!("[prompts.\"{at} {at}\"]\n"))
            .collect()
    },
    |count| {
        let prompt = |at| format!("[prompts.p{at}]\nmessages = [{{ text = \"x\" }}]\n");
        (0..count).map(prompt).collect()
    },
    |count| {
        let prompt = |at| format!("p{at} = {{ messages = [{{ text = \"x\" }}] }}, ");
        let prompts: String = (0..count).map(prompt).collect();
        format!("prompts = {{ {prompts}z = {{ file = \"missing.md\" }} }}\n")
    },
];

#[test]
fn mistakes_cost_no_more_than_their_file_is_long() {
    for (at, crowded) in CROWDED.iter().enumerate() {
        assert_linear(&at.to_string(), 4_000, crowded, |manifest| {
            drop(library("lib", manifest));
        });
    }
}

#[test]
fn of_many_mistakes_the_rest_are_counted() {
    for (crowded, severity) in CROWDED[..3].iter().zip(["warning", "error", "error"]) {
        let problems = library("lib", &crowded(1_000)).problems;
        assert_eq!(problems.len(), PROBLEMS + 1);
        let more = problems.last().expect("problems");
        assert_eq!(more.message, "and 700 more mistakes in this file");
        assert_eq!(more.severity.as_str(), severity);
        assert_eq!(problems[PROBLEMS - 1].code, problems[0].code);
        assert!(problems[PROBLEMS - 1].line.is_some());
    }
}
