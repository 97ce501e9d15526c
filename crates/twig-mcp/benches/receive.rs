//! What a message costs: the hot paths of the protocol, without any transport.

// A benchmark that cannot be set up has nothing to measure.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use divan::Bencher;
use twig_core::model::LibraryAbout;
use twig_core::template::Templates;
use twig_core::{
    Argument, Blob, Bodies, Body, BodyError, Catalog, Content, Dialect, Document, DocumentSource,
    Latest, Library, LibraryKind, LibraryName, LibraryOrigin, Limits, MessageSource, Prompt,
    PromptName, RelativePath, Role, Stamp, World,
};
use twig_mcp::{Connection, Server, ServerIdentity, Tools};

fn main() {
    divan::main();
}

#[divan::bench]
fn get_legacy(bencher: Bencher<'_, '_>) {
    run(bencher, &get(""));
}

#[divan::bench]
fn get_modern(bencher: Bencher<'_, '_>) {
    let meta = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;
    run(bencher, &get(meta));
}

#[divan::bench]
fn list_of_a_thousand(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{}}"#,
    );
}

#[divan::bench]
fn list_of_a_thousand_documents(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{}}"#,
    );
}

#[divan::bench]
fn read_a_document(bencher: Bencher<'_, '_>) {
    run(
        bencher,
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"twig://library/patterns/500"}}"#,
    );
}

#[divan::bench]
fn ping(bencher: Bencher<'_, '_>) {
    run(bencher, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
}

/// A get with ten arguments.
fn get(meta: &str) -> String {
    let arguments: Vec<String> = (0..10)
        .map(|at| format!(r#""argument_{at}":"some value, number {at}""#))
        .collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":12345,"method":"prompts/get","params":{{"name":"library:prompt_500","arguments":{{{}}}{meta}}}}}"#,
        arguments.join(",")
    )
}

fn run(bencher: Bencher<'_, '_>, message: &str) {
    let identity = ServerIdentity {
        name: "twig".to_owned(),
        title: "Twig".to_owned(),
        version: "0.1.0".to_owned(),
    };
    let catalog = Latest::from(catalog());
    let templates = Templates::new(Limits::default());
    let world = World {
        catalog: &catalog,
        bodies: &Bench,
        templates: &templates,
    };
    let server = Arc::new(Server::new(&identity, Limits::default(), Tools::default()));
    let mut connection = Connection::new(server);
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        let job = connection.receive(message.as_bytes(), world, &mut out);
        assert!(job.is_none());
        out.len()
    });
}

fn catalog() -> Arc<Catalog> {
    let arguments: Vec<Argument> = (0..10)
        .map(|at| Argument {
            name: format!("argument_{at}").into(),
            description: Some("What to put here".into()),
            required: true,
            ..Argument::default()
        })
        .collect();
    let prompt = |at: usize| Prompt {
        name: PromptName::parse(&format!("prompt_{at}")).unwrap(),
        full_name: format!("library:prompt_{at}").into(),
        title: None,
        description: Some("A prompt with ten arguments".into()),
        arguments: arguments.clone().into(),
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::File(RelativePath::parse("prompt.md").unwrap()),
        }],
        dialect: Dialect::Jinja,
        unavailable: None,
        written: None,
    };
    Arc::new(Catalog::build(vec![Arc::new(Library {
        name: LibraryName::from_folder("library").unwrap(),
        kind: LibraryKind::Twig,
        origin: LibraryOrigin::Folder,
        root: "/library".into(),
        shown_root: "~/library".into(),
        about: LibraryAbout::default(),
        prompts: (0..1000).map(prompt).map(Arc::new).collect(),
        old_names: std::collections::BTreeMap::new(),
        skills: Vec::new(),
        documents: (0..1000).map(document).collect(),
        templates: Vec::new(),
        problems: Vec::new(),
        state: 0,
        documents_beside: None,
        function_sources: Vec::new(),
        package: None,
        listing: twig_core::ListingRules::default(),
        loaded_by: Vec::new(),
        labelled: Vec::new(),
        shell_lines: twig_core::model::ShellLines::default(),
        workspace: None,
    })]))
}

fn document(at: usize) -> Document {
    Document {
        uri: format!("twig://library/patterns/{at}").into(),
        short_uri: None,
        name: format!("patterns/{at}").into(),
        title: Some("A pattern".into()),
        mime: "text/markdown".into(),
        description: None,
        is_text: true,
        source: DocumentSource::File(
            RelativePath::parse(&format!("docs/patterns/{at}.md")).unwrap(),
        ),
        size: 5_000,
        modified: Some(1_700_000_000),
        version: 1,
    }
}

struct Bench;

impl Bodies for Bench {
    fn read(&self, _: &Library, _: &RelativePath) -> Result<Body, BodyError> {
        let line = |at| format!("A line of a prompt, with {{{{ argument_{at} }}}} in it.\n");
        let lines: Vec<String> = (0..10).map(line).collect();
        Ok(Body {
            text: lines.concat(),
            has_mark: false,
            stamp: Stamp(0),
        })
    }

    fn bytes(&self, library: &Library, path: &RelativePath, _: usize) -> Result<Blob, BodyError> {
        let body = self.read(library, path)?;
        Ok(Blob {
            bytes: body.text.into_bytes(),
            stamp: body.stamp,
            is_executable: false,
        })
    }

    fn stamp(&self, _: &Library, _: &RelativePath) -> Result<Stamp, BodyError> {
        Ok(Stamp(0))
    }
}
