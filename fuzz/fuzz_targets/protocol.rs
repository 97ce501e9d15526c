//! Any lines in: no panic, and every line out is JSON-RPC.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use twig_core::document::Head;
use twig_core::parse::documents::{FoundDocument, DocumentLayout, documents};
use twig_core::parse::library::{LibraryRoot, add_documents, empty_library};
use twig_core::template::{JobOutcome, Templates};
use twig_core::{
    Argument, Blob, Bodies, Body, BodyError, Catalog, Content, Dialect, Document, LibraryKind, Latest, Library, LibraryName, Limits,
    MessageSource, Prompt, PromptName, RelativePath, Role, Skill, SkillFile, Stamp, TextForm, World, DocumentSource, StoredVersion,
};
use twig_core::search::{Hit, MatchedWords, SearchTarget};
use twig_core::store::{ContentInfo, Item, ItemKind, Noun, Operation, Project, StoreError, StoreName, Timestamp, Version, Write, Written};
use twig_core::store::library as project_library;
use twig_mcp::{Connection, ServerIdentity, Job, Server, Tools, Work, WorkOutcome};

struct NoFiles;

impl Bodies for NoFiles {
    fn read(&self, _: &Library, _: &RelativePath) -> Result<Body, BodyError> {
        Err(BodyError::NotFound)
    }

    fn stored(&self, _: &StoredVersion) -> Result<Vec<u8>, BodyError> {
        Ok(b"stored {{input}}".to_vec())
    }

    fn bytes(
        &self,
        _: &Library,
        _: &RelativePath,
        _: usize,
    ) -> Result<Blob, BodyError> {
        Ok(Blob {
            bytes: b"# A".to_vec(),
            stamp: Stamp(0),
            is_executable: false,
        })
    }

    fn stamp(&self, _: &Library, _: &RelativePath) -> Result<Stamp, BodyError> {
        Err(BodyError::NotFound)
    }
}

fn prompt(name: &str, text: &str) -> Option<Prompt> {
    Some(Prompt {
        name: PromptName::parse(name).ok()?,
        full_name: format!("lib:{name}").into(),
        title: None,
        description: Some("d".into()),
        arguments: vec![
            Argument { name: "x".into(), required: true, ..Argument::default() },
            Argument { name: "y".into(), choices: vec!["a".into(), "b".into()], ..Argument::default() },
        ]
        .into(),
        messages: vec![MessageSource { role: Role::User, content: Content::Text { text: text.into(), line: 1, form: TextForm::Inline, file: None } }],
        dialect: Dialect::Jinja,
        unavailable: None,
        written: None,
    })
}

/// A project with a prompt and a resource.
fn project() -> Option<Library> {
    let item = |kind: ItemKind, name: &str| {
        Some(Item {
            kind,
            name: StoreName::parse(kind.noun(), name).ok()?,
            head: Version {
                number: 1,
                operation: Operation::Create,
                description: Some("d".into()),
                uri: Some("file:///r".into()),
                mime: Some("text/plain".into()),
                content: ContentInfo { digest: [1; 32], size: 3, is_text: true },
                at: Timestamp(0),
                author: "f".into(),
            },
            labels: Vec::new(),
        })
    };
    let project = Project {
        id: [0; 16],
        name: StoreName::parse(Noun::Project, "project").ok()?,
        revision: 1,
        items: vec![item(ItemKind::Prompt, "stored")?, item(ItemKind::Resource, "r")?],
    };
    Some(project_library(&project, "w"))
}

/// Two skills, one inside of the other.
fn add_skills(library: &mut Library) {
    let paths = ["s/SKILL.md", "s/a/x.md", "s/b/SKILL.md"];
    let uri = |path: &str| -> Box<str> { format!("skill://lib/{path}").into() };
    for path in paths {
        let Ok(file) = RelativePath::parse(path) else { return };
        library.documents.push(Document {
            uri: uri(path), short_uri: None, name: path.into(), title: None, description: None, mime: "text/markdown".into(),
            is_text: true, source: DocumentSource::File(file), size: 3, modified: None, version: 1,
        });
    }
    for (folder, is_unlisted) in [("s/", false), ("s/b/", true)] {
        let files = paths.iter().filter(|path| path.starts_with(folder));
        library.skills.push(Arc::new(Skill {
            name: "s".into(),
            uri: uri(&format!("{folder}SKILL.md")),
            front_matter: r#"{"name":"s","description":"d"}"#.into(),
            files: files.map(|path| SkillFile { uri: uri(path), digest: [1; 32], size: 3 }).collect(),
            is_unlisted,
        }));
    }
}

/// What comes of a job, one way or the other.
fn outcome(job: &Job, at: usize) -> WorkOutcome {
    match &job.work {
        Work::Write(write) if at % 2 == 0 => WorkOutcome::Write(Err(match &**write {
            Write::Item(write) => StoreError::Missing {
                kind: write.kind,
                name: write.name.clone(),
                project: write.project.clone(),
                near: vec!["x".into()],
            },
            _ => StoreError::Unavailable("no".to_owned()),
        })),
        Work::Write(_) => WorkOutcome::Write(Ok(Written {
            version: 2,
            operation: Some(Operation::Update),
            is_new: true,
            at: Timestamp(0),
        })),
        Work::Search(query) => WorkOutcome::Search(Ok(vec![Hit {
            target: SearchTarget::Prompt(query.text.clone().into()),
            matched: if at % 2 == 0 { MatchedWords::All } else { MatchedWords::Some },
            title: None,
            description: Some("d".into()),
            snippet: query.text.clone().into(),
            matches: [].into(),
        }])),
        Work::Question => WorkOutcome::Unanswered,
        Work::Render(render) if at % 2 == 0 => WorkOutcome::Render(twig_core::template::run(render)),
        _ => WorkOutcome::Render(JobOutcome::limit("too much")),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(name) = LibraryName::from_folder("lib") else { return };
    let folder = LibraryRoot { name, root: "/lib".into(), shown_root: "~/lib".into(), prefix: "lib:".into() };
    let mut library = empty_library(&folder, LibraryKind::Twig, Vec::new());
    library.prompts.extend(prompt("p", "{{ x }}{{ y }}").map(Arc::new));
    library.prompts.extend(prompt("q", "{% for i in [1] %}{{ x }}{% endfor %}").map(Arc::new));
    let Ok(docs) = RelativePath::parse("docs") else { return };
    let found: Vec<FoundDocument> = ["docs/x/a.md", "docs/x/b c.md", "docs/adr/001-y.md"]
        .into_iter()
        .filter_map(|path| RelativePath::parse(path).ok())
        .map(|path| FoundDocument { path, head: Head::read("a.md", b"# A", true), size: 3, modified: Some(0), version: 1 })
        .collect();
    let layout = DocumentLayout { folders: vec![docs.clone()], prefix: "a://".into(), templates: Vec::new() };
    let made = documents(&folder, "a://", &docs, &found, &mut Vec::new());
    add_documents(&mut library, &layout, made);
    library.prompts.extend(prompt("r", "{{ x }} !`ls` $1 {{ y }}").map(Arc::new));
    add_skills(&mut library);
    let Some(project) = project() else { return };
    let catalog = Latest::from(Arc::new(Catalog::build(vec![Arc::new(project), Arc::new(library)])));
    let templates = Templates::default();
    let identity = ServerIdentity { name: "f".into(), title: "F".into(), version: "0".into() };
    let limits = Limits { page: 1, message: 1 << 16, ..Limits::default() };
    let mut connection = Connection::new(Arc::new(Server::new(&identity, limits, Tools::default())));
    let world = World { catalog: &catalog, bodies: &NoFiles, templates: &templates };
    let mut out: Vec<u8> = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if let Some(job) = connection.receive(line, world, &mut out) {
            // Some are never done, and most questions are answered by a later line.
            let is_done = if matches!(job.work, Work::Question) { at % 5 == 4 } else { at % 5 != 4 };
            if is_done {
                connection.finish(job.ticket, outcome(&job, at), &mut out);
            }
        }
    }
    let next = Catalog::build(Vec::new()).after(&catalog);
    connection.catch_up(&next, &mut out);
    connection.close(&mut out);
    for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: serde_json::Value = serde_json::from_slice(line).expect("JSON");
        assert_eq!(message["jsonrpc"], "2.0");
    }
});
