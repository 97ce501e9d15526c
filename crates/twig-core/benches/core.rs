//! Parsing manifests and definitions, building catalogs, rendering prompts.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use divan::{Bencher, black_box};
use twig_core::parse::library::{
    DefinitionFile, Files, LibraryRoot, definitions_library, twig_library,
};
use twig_core::template::Templates;
use twig_core::{
    Blob, Bodies, Body, BodyError, Catalog, Document, DocumentSource, Library, LibraryName, Limits,
    Lookup, RelativePath, Rendering, Stamp, render,
};
use twig_core::{Latest, World};

fn main() {
    divan::main();
}

struct Disk;

impl Files for Disk {
    fn look(&self, _: &RelativePath) -> Result<(), BodyError> {
        Ok(())
    }
}

impl Bodies for Disk {
    fn read(&self, _: &Library, path: &RelativePath) -> Result<Body, BodyError> {
        let mut text = String::new();
        for at in 0..10 {
            let _ = writeln!(
                text,
                "{}\nValue {at}: {{{{ arg_{at} }}}}\n",
                "A line of text. ".repeat(20)
            );
        }
        if path.as_str().ends_with("0.md") {
            text.push_str("{% for i in range(10) %}{{ i }}{% endfor %}");
        }
        Ok(Body {
            text,
            has_mark: false,
            stamp: Stamp(1),
        })
    }

    fn bytes(&self, library: &Library, path: &RelativePath, _: usize) -> Result<Blob, BodyError> {
        if path.as_str().starts_with("docs/") {
            let bytes = document_text().into_bytes();
            let stamp = Stamp(1);
            return Ok(Blob {
                bytes,
                stamp,
                is_executable: false,
            });
        }
        let body = self.read(library, path)?;
        Ok(Blob {
            bytes: body.text.into_bytes(),
            stamp: body.stamp,
            is_executable: false,
        })
    }

    fn stamp(&self, _: &Library, _: &RelativePath) -> Result<Stamp, BodyError> {
        Ok(Stamp(1))
    }
}

/// A manifest of a hundred prompts with ten arguments each.
fn manifest() -> String {
    let mut text = String::new();
    for prompt in 0..100 {
        let _ = write!(
            text,
            "[prompts.p{prompt}]\ntitle = \"Prompt {prompt}\"\ndescription = \"What it is for\"\n"
        );
        for argument in 0..10 {
            let _ = write!(
                text,
                "\n[[prompts.p{prompt}.arguments]]\nname = \"arg_{argument}\"\ndescription = \"A value\"\n"
            );
        }
    }
    text
}

fn folder(name: &str) -> Option<LibraryRoot> {
    Some(LibraryRoot {
        name: LibraryName::from_folder(name)?,
        root: format!("/data/{name}").into(),
        shown_root: format!("~/{name}").into(),
        prefix: format!("{name}:").into(),
    })
}

fn library(name: &str, manifest: &str) -> Option<Arc<Library>> {
    let folder = folder(name)?;
    Some(Arc::new(twig_library(
        &folder,
        manifest,
        &Disk,
        &Limits::default(),
    )))
}

#[divan::bench]
fn parse_plain_manifest(bencher: Bencher<'_, '_>) {
    let text = manifest();
    bencher.bench(|| library("lib", black_box(&text)));
}

#[divan::bench]
fn parse_any_manifest(bencher: Bencher<'_, '_>) {
    // A dotted key sends the manifest to the general reader.
    let text = format!("library.title = \"t\"\n{}", manifest());
    bencher.bench(|| library("lib", black_box(&text)));
}

#[divan::bench(args = [10, 100])]
fn build_catalog(bencher: Bencher<'_, '_>, libraries: usize) {
    let text = manifest();
    let libraries: Vec<Arc<Library>> = (0..libraries)
        .filter_map(|at| library(&format!("lib{at:03}"), &text))
        .collect();
    bencher.bench(|| Catalog::build(libraries.iter().cloned()));
}

fn bench_render(bencher: Bencher<'_, '_>, name: &str) {
    let catalog = Latest::from(Catalog::build(library("lib", &manifest())));
    let templates = Templates::default();
    let world = World {
        catalog: &catalog,
        bodies: &Disk,
        templates: &templates,
    };
    let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = (0..10)
        .map(|at| (format!("arg_{at}").into(), "some value".into()))
        .collect();
    bencher.bench(|| match catalog.find(black_box(name)) {
        Lookup::Found(found) => match render(world, found, &given) {
            Ok(Rendering::Done(messages)) => messages.len(),
            Ok(Rendering::Computed(computed)) => usize::from(computed.job.millis > 0),
            Ok(Rendering::Function(_)) | Err(_) => 0,
        },
        _ => 0,
    });
}

#[divan::bench]
fn render_plain_ten_arguments(bencher: Bencher<'_, '_>) {
    bench_render(bencher, "lib:p1");
}

#[divan::bench]
fn hand_out_computed(bencher: Bencher<'_, '_>) {
    bench_render(bencher, "lib:p0");
}

/// Ten kibibytes of a document.
fn document_text() -> String {
    let mut text = "# A pattern\n\n".to_owned();
    while text.len() < 10 * 1024 {
        text.push_str("A line about when to use it, and when to leave it be.\n");
    }
    text.truncate(10 * 1024);
    text
}

/// A hundred definitions of about two kibibytes with five arguments each.
fn definitions() -> Vec<(RelativePath, String)> {
    let files = (0..100).filter_map(|at| {
        let arguments: Vec<String> = (0..5)
            .map(|at| format!(r#"{{"name": "a{at}", "description": "A value", "required": true, "maxLength": 100}}"#))
            .collect();
        let text = format!(
            "{}{{{{a0}}}} {{{{a1}}}} {{{{a2}}}} {{{{a3}}}} {{{{a4}}}}\\n{{{{resource:architecture://all/*}}}}",
            "A line of instructions.\\n".repeat(60)
        );
        let definition = format!(
            r#"{{"name": "p{at}", "description": "What it is for", "arguments": [{}],
"messages": [{{"role": "user", "content": {{"type": "text", "text": "{text}"}}}}]}}"#,
            arguments.join(", ")
        );
        let path = RelativePath::parse(&format!("prompts/p{at}.json")).ok()?;
        Some((path, definition))
    });
    files.collect()
}

fn as_files(files: &[(RelativePath, String)]) -> Vec<DefinitionFile<'_>> {
    let files = files.iter().map(|(path, text)| (path, Ok(&**text)));
    files.collect()
}

#[divan::bench]
fn parse_a_hundred_definitions(bencher: Bencher<'_, '_>) {
    let files = definitions();
    let files = as_files(&files);
    let folder = folder("service");
    let limits = Limits::default();
    bencher.bench(|| {
        let folder = folder.as_ref()?;
        Some(definitions_library(
            folder,
            black_box(&files),
            &Disk,
            &limits,
        ))
    });
}

/// What [`render_fifty_documents`] cannot do without.
#[divan::bench]
fn copy_fifty_documents(bencher: Bencher<'_, '_>) {
    let documents = vec![document_text(); 50];
    bencher.bench(|| {
        let mut text = String::with_capacity(documents.iter().map(String::len).sum());
        for document in &documents {
            text.push_str(document);
        }
        text
    });
}

#[divan::bench]
fn render_fifty_documents(bencher: Bencher<'_, '_>) {
    let Some(folder) = folder("service") else {
        return;
    };
    let mut library = definitions_library(
        &folder,
        &as_files(&definitions()),
        &Disk,
        &Limits::default(),
    );
    library.documents.extend((0..50).filter_map(|at| {
        Some(Document {
            uri: format!("architecture://all/{at:02}").into(),
            short_uri: None,
            name: format!("all/{at:02}").into(),
            title: Some("A pattern".into()),
            mime: "text/markdown".into(),
            description: None,
            is_text: true,
            source: DocumentSource::File(
                RelativePath::parse(&format!("docs/all/{at:02}.md")).ok()?,
            ),
            size: 10 * 1024,
            modified: None,
            version: 1,
        })
    }));
    let catalog = Latest::from(Catalog::build([Arc::new(library)]));
    let templates = Templates::default();
    let world = World {
        catalog: &catalog,
        bodies: &Disk,
        templates: &templates,
    };
    let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = (0..5)
        .map(|at| (format!("a{at}").into(), "some value".into()))
        .collect();
    bencher.bench(|| match catalog.find(black_box("p1")) {
        Lookup::Found(found) => render(world, found, &given),
        _ => unreachable!("the prompt is there"),
    });
}
