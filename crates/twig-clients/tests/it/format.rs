//! Files that were written for other clients: what they are called, what they take, what they say.

mod fixtures;
mod properties;
mod skills;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use twig_clients::clients::formats;
use twig_clients::format::{self, ClientFilePart, Options, Reading, SkillFileFound};
use twig_core::document::Head;
use twig_core::parse::library::LibraryRoot;
use twig_core::template::Templates;
use twig_core::{
    Block, BodyError, Catalog, Library, LibraryKind, LibraryName, Limits, Lookup, Message, Problem,
    Prompt, RelativePath, RenderError, Rendering, Severity,
};
use twig_core::{Latest, World};
use twig_testkit::MemoryFiles;

/// The kinds that are Markdown files.
const KINDS: [LibraryKind; 8] = [
    LibraryKind::Markdown,
    formats::CLAUDE.kind(),
    LibraryKind::Skills,
    formats::COPILOT.kind(),
    formats::CODEX.kind(),
    formats::CURSOR.kind(),
    formats::OPENCODE.kind(),
    formats::WINDSURF.kind(),
];

/// A folder of files, read as a source would.
struct Shelf {
    kind: LibraryKind,
    root: &'static str,
    options: Options,
    limits: Limits,
    files: BTreeMap<RelativePath, Vec<u8>>,
}

impl Shelf {
    fn new<'f>(kind: LibraryKind, files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Self {
        let files = files.into_iter().map(|(path, text)| {
            let path = RelativePath::parse(path).expect("a path");
            (path, text.as_bytes().to_vec())
        });
        Self {
            kind,
            root: "/home/lib",
            options: Options::default(),
            limits: Limits::default(),
            files: files.collect(),
        }
    }

    fn folder(&self) -> LibraryRoot {
        LibraryRoot {
            name: LibraryName::from_folder("lib").expect("a name"),
            root: self.root.into(),
            shown_root: "~/lib".into(),
            prefix: "lib:".into(),
        }
    }

    fn library(&self) -> Library {
        let folder = self.folder();
        let mut readings: Vec<(RelativePath, Reading)> = Vec::new();
        let mut bundled = Vec::new();
        for (path, bytes) in &self.files {
            let part = format::part(self.kind, path);
            if self.kind == LibraryKind::Skills && part.is_some() {
                bundled.push(SkillFileFound {
                    path: path.clone(),
                    head: Head::read(path.file_name(), bytes, true),
                    digest: Sha256::digest(bytes).into(),
                    size: bytes.len() as u64,
                    modified: None,
                    version: bytes.len() as u64,
                });
            }
            let reading = match part {
                Some(ClientFilePart::Prompt) => {
                    let text = std::str::from_utf8(bytes);
                    let error = BodyError::NotUtf8 { offset: 0 };
                    let text = text.map_err(|_| &error);
                    format::read(self.kind, &folder, path, text, self.options, &self.limits)
                }
                Some(ClientFilePart::Skipped(why)) => format::skipped(&folder, path, why),
                _ => continue,
            };
            readings.push((path.clone(), reading));
        }
        let readings = readings.iter().map(|(path, reading)| (path, reading));
        format::library(&folder, self.kind, readings, &bundled, &self.limits)
    }

    fn memory(&self) -> MemoryFiles {
        let mut files = MemoryFiles::default();
        for (path, bytes) in &self.files {
            files.insert(path.as_str(), bytes.as_slice());
        }
        files
    }

    fn messages(&self, name: &str, given: &[(&str, &str)]) -> Result<Vec<Message>, RenderError> {
        let catalog = Latest::from(Catalog::build(vec![Arc::new(self.library())]));
        let templates = Templates::new(self.limits.clone());
        let world = World {
            catalog: &catalog,
            bodies: &self.memory(),
            templates: &templates,
        };
        let Lookup::Found(found) = catalog.find(name) else {
            panic!("{name} is not there");
        };
        let given = given.iter();
        let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = given
            .map(|(name, value)| (Cow::Borrowed(*name), Cow::Borrowed(*value)))
            .collect();
        match twig_core::render(world, found, &given)? {
            Rendering::Done(messages) => Ok(messages),
            other => panic!("{other:?}"),
        }
    }

    fn text(&self, name: &str, given: &[(&str, &str)]) -> String {
        let messages = self.messages(name, given).expect("a prompt");
        match messages.into_iter().next().map(|message| message.block) {
            Some(Block::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }
}

/// The path of a file that is the only one of its library.
fn only_path(kind: LibraryKind) -> &'static str {
    match kind {
        LibraryKind::Skills => "one/SKILL.md",
        kind if kind == formats::COPILOT.kind() => "one.prompt.md",
        _ => "one.md",
    }
}

/// One file as the only prompt of its library, and the problems.
fn one(kind: LibraryKind, text: &str) -> (Prompt, Vec<Problem>) {
    let library = Shelf::new(kind, [(only_path(kind), text)]).library();
    let [prompt] = &library.prompts[..] else {
        panic!("{library:?}");
    };
    (Prompt::clone(prompt), library.problems)
}

fn names(prompt: &Prompt) -> Vec<&str> {
    let arguments = prompt.arguments.iter();
    arguments.map(|argument| &*argument.name).collect()
}

fn codes(problems: &[Problem], severity: Severity) -> Vec<&str> {
    let problems = problems.iter().filter(|it| it.severity == severity);
    problems.map(|problem| problem.code.as_str()).collect()
}
