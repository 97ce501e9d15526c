//! A peer that talks to a connection, and catalogs made by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use twig_core::document::Head;
use twig_core::model::LibraryAbout;
use twig_core::parse::documents::{DocumentLayout, FoundDocument, documents};
use twig_core::parse::library::{LibraryRoot, add_documents};
use twig_core::template::Templates;
use twig_core::{
    Argument, BodyError, Catalog, Content, Dialect, Latest, Library, LibraryKind, LibraryName,
    LibraryOrigin, Limits, MessageSource, Prompt, PromptName, RelativePath, Role, World,
};
use twig_mcp::{Connection, Job, Server, ServerIdentity, Tools};
use twig_testkit::MemoryFiles;

/// One client, its server and what is served.
pub(crate) struct Peer {
    pub(crate) server: Arc<Server>,
    pub(crate) connection: Connection,
    pub(crate) catalog: Latest<'static>,
    pub(crate) bodies: MemoryFiles,
    templates: Templates,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self::with(vec![sample()], Limits::default())
    }

    pub(crate) fn with(libraries: Vec<Library>, limits: Limits) -> Self {
        Self::with_tools(libraries, limits, Tools::default())
    }

    pub(crate) fn with_tools(libraries: Vec<Library>, limits: Limits, tools: Tools) -> Self {
        let server = Arc::new(Server::new(&identity(), limits.clone(), tools));
        Self {
            connection: Connection::new(Arc::clone(&server)),
            server,
            catalog: catalog(libraries).into(),
            bodies: bodies(),
            templates: Templates::new(limits),
        }
    }

    /// Counts clients of this name among those that take a prompt for a command.
    pub(crate) fn add_command_client(&mut self, name: &str) {
        let server = Server::new(&identity(), Limits::default(), Tools::default());
        self.server = Arc::new(server.with_command_clients(vec![name.to_owned()]));
        self.connection = Connection::new(Arc::clone(&self.server));
    }

    /// Says one message and hears all that comes back, as it was written.
    pub(crate) fn raw(&mut self, message: impl AsRef<[u8]>) -> String {
        let (job, heard) = self.start(message);
        assert!(job.is_none(), "a job where none was expected");
        heard
    }

    /// Says one message that may start a job.
    pub(crate) fn start(&mut self, message: impl AsRef<[u8]>) -> (Option<Job>, String) {
        let mut out = Vec::new();
        let world = World {
            catalog: &self.catalog,
            bodies: &self.bodies,
            templates: &self.templates,
        };
        let job = self.connection.receive(message.as_ref(), world, &mut out);
        (job, String::from_utf8(out).unwrap())
    }

    /// What requests are answered from.
    pub(crate) fn world(&self) -> World<'_> {
        World {
            catalog: &self.catalog,
            bodies: &self.bodies,
            templates: &self.templates,
        }
    }

    /// Runs a job and hears what comes of it.
    pub(crate) fn run(&mut self, job: &Job) -> Vec<Value> {
        let mut out = Vec::new();
        let twig_mcp::Work::Render(render) = &job.work else {
            panic!("no template: {job:?}");
        };
        let outcome = twig_core::template::run(render);
        self.connection.finish(job.ticket, outcome, &mut out);
        values(&String::from_utf8(out).unwrap())
    }

    /// Says one message and hears all that comes back.
    pub(crate) fn say(&mut self, message: impl AsRef<[u8]>) -> Vec<Value> {
        values(&self.raw(message))
    }

    /// Says one message and hears the one that comes back.
    pub(crate) fn one(&mut self, message: impl AsRef<[u8]>) -> Value {
        let mut heard = self.say(message);
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard.remove(0)
    }

    /// A legacy request.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.one(request(1, method, params))
    }

    /// A modern request from a client that can do nothing special.
    pub(crate) fn ask_modern(&mut self, method: &str, params: Value) -> Value {
        self.one(request(1, method, modern(params, json!({}))))
    }

    pub(crate) fn initialize(&mut self) {
        self.initialize_as("test");
    }

    pub(crate) fn initialize_as(&mut self, client: &str) {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": client, "version": "0"}});
        self.ask("initialize", params);
    }

    /// Serves other libraries from now on; gives what is announced.
    pub(crate) fn publish(&mut self, libraries: Vec<Library>) -> Vec<Value> {
        let next = Catalog::build(libraries.into_iter().map(Arc::new));
        self.catalog = Arc::new(next.after(&self.catalog)).into();
        self.catch_up()
    }

    /// What is announced of the catalog of now.
    pub(crate) fn catch_up(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        self.connection.catch_up(&self.catalog, &mut out);
        values(&String::from_utf8(out).unwrap())
    }

    /// Makes the list of prompts another one, and tells of it.
    pub(crate) fn prompts_changed(&mut self) -> Vec<Value> {
        let mut libraries: Vec<Library> = self
            .catalog
            .libraries()
            .iter()
            .map(|it| Library::clone(it))
            .collect();
        let count = libraries
            .iter()
            .map(|library| library.prompts.len())
            .sum::<usize>();
        libraries.push(library(
            &format!("more{count}"),
            2,
            vec![prompt("p", Vec::new())],
        ));
        self.publish(libraries)
    }

    pub(crate) fn close(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        self.connection.close(&mut out);
        values(&String::from_utf8(out).unwrap())
    }
}

fn identity() -> ServerIdentity {
    ServerIdentity {
        name: "twig".to_owned(),
        title: "Twig".to_owned(),
        version: "1.2.3".to_owned(),
    }
}

pub(crate) fn values(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string()
}

/// Params with the `_meta` of the modern era.
pub(crate) fn modern(mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

/// The `_meta` of every modern result.
pub(crate) fn server_meta() -> Value {
    json!({"io.modelcontextprotocol/serverInfo":
        {"name": "twig", "title": "Twig", "version": "1.2.3"}})
}

/// The code and sentence of an error, after a look that the details say the same.
pub(crate) fn error(reply: &Value) -> (i64, String) {
    let error = &reply["error"];
    assert_eq!(error["message"], error["data"]["details"], "{reply}");
    let message = error["message"].as_str().unwrap_or_default();
    (
        error["code"].as_i64().unwrap_or_default(),
        message.to_owned(),
    )
}

pub(crate) fn catalog(libraries: Vec<Library>) -> Arc<Catalog> {
    Arc::new(Catalog::build(libraries.into_iter().map(Arc::new)))
}

pub(crate) fn library(name: &str, digest: u8, prompts: Vec<Prompt>) -> Library {
    let prompts = prompts.into_iter().map(|mut prompt| {
        prompt.full_name = format!("{name}:{}", prompt.name).into();
        Arc::new(prompt)
    });
    Library {
        name: LibraryName::from_folder(name).unwrap(),
        kind: LibraryKind::Markdown,
        origin: LibraryOrigin::Folder,
        root: format!("/libraries/{name}").into(),
        shown_root: format!("~/{name}").into(),
        about: LibraryAbout::default(),
        prompts: prompts.collect(),
        old_names: BTreeMap::new(),
        skills: Vec::new(),
        documents: Vec::new(),
        templates: Vec::new(),
        problems: Vec::new(),
        state: digest.into(),
        documents_beside: None,
        function_sources: Vec::new(),
        package: None,
        listing: twig_core::ListingRules::default(),
        loaded_by: Vec::new(),
        labelled: Vec::new(),
        shell_lines: twig_core::model::ShellLines::default(),
        workspace: None,
    }
}

/// A prompt that says `<name>: {{input}}`.
pub(crate) fn prompt(name: &str, arguments: Vec<Argument>) -> Prompt {
    Prompt {
        name: PromptName::parse(name).unwrap(),
        full_name: "".into(),
        title: None,
        description: None,
        arguments: arguments.into(),
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::File(RelativePath::parse(&format!("{name}.md")).unwrap()),
        }],
        dialect: Dialect::Input,
        unavailable: None,
        written: None,
    }
}

/// A Jinja prompt whose template stands in the manifest.
pub(crate) fn jinja(name: &str, template: &str, arguments: Vec<Argument>) -> Prompt {
    Prompt {
        messages: vec![MessageSource {
            role: Role::User,
            content: Content::Text {
                text: template.into(),
                line: 1,
                form: twig_core::TextForm::Lines,
                file: None,
            },
        }],
        dialect: Dialect::Jinja,
        ..prompt(name, arguments)
    }
}

pub(crate) fn argument(name: &str) -> Argument {
    Argument {
        name: name.into(),
        ..Argument::default()
    }
}

pub(crate) fn required(name: &str) -> Argument {
    Argument {
        required: true,
        ..argument(name)
    }
}

/// The library that most tests use.
pub(crate) fn sample() -> Library {
    let language = Argument {
        description: Some("Programming language".into()),
        default: Some("rust".into()),
        choices: ["rust", "Ruby", "go"].map(Into::into).to_vec(),
        ..argument("language")
    };
    let short = Argument {
        max_length: Some(5),
        pattern: Some(twig_core::argument::Pattern::parse("^[a-z]+$").unwrap()),
        ..argument("short")
    };
    let review = Prompt {
        title: Some("Code review".into()),
        description: Some("Review code".into()),
        ..prompt("review", vec![required("input"), language, short])
    };
    let broken = Prompt {
        unavailable: Some("Prompt `broken` has no template".into()),
        written: None,
        ..prompt("broken", Vec::new())
    };
    library(
        "lib",
        1,
        vec![
            broken,
            prompt("echo", vec![argument("input")]),
            prompt("gone", Vec::new()),
            prompt("panic", Vec::new()),
            review,
        ],
    )
}

/// A library with documents of these paths, each at its version; they say their own path.
pub(crate) fn with_documents(paths: &[(&str, u64)]) -> Library {
    let folder = LibraryRoot {
        name: LibraryName::from_folder("lib").unwrap(),
        root: "/libraries/lib".into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    };
    let docs = RelativePath::parse("docs").unwrap();
    let found: Vec<FoundDocument> = paths
        .iter()
        .map(|(path, version)| FoundDocument {
            path: RelativePath::parse(&format!("docs/{path}")).unwrap(),
            head: Head::read(path, b"", true),
            size: 7,
            modified: None,
            version: *version,
        })
        .collect();
    let layout = DocumentLayout {
        folders: vec![docs.clone()],
        prefix: "a://".into(),
        templates: Vec::new(),
    };
    let documents = documents(&folder, "a://", &docs, &found, &mut Vec::new());
    let mut library = sample();
    add_documents(&mut library, &layout, documents);
    library
}

/// Bodies that say which prompt they belong to; some are missing, one panics. Tests add others, by the
/// name of their file or their digest.
pub(crate) fn bodies() -> MemoryFiles {
    MemoryFiles::with_others(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.trim_end_matches(".md") {
            "gone" => Err(BodyError::NotFound),
            "panic" => panic!("a body that panics"),
            "large" => Err(BodyError::TooLarge { size: 99, limit: 0 }),
            "locked" => Err(BodyError::Unreadable("permission denied".to_owned())),
            name => Ok(format!("{name}: {{{{input}}}}").into_bytes()),
        }
    })
}
