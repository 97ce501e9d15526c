//! Any text is a definition or a problem, and what is served never reads values or documents again.
#![no_main]

mod deep;

use std::borrow::Cow;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use twig_core::check::check;
use twig_core::parse::library::{Files, LibraryRoot, definitions_library};
use twig_core::render::{Block, render};
use twig_core::{Latest, World};
use twig_core::template::Templates;
use twig_core::{
    Blob, Bodies, Body, BodyError, Catalog, Document, DocumentSource, Library, LibraryName, Limits, Lookup,
    RelativePath, Rendering, Stamp,
};

/// Syntax of every dialect, with a mark that no definition has.
const EVIL: &str = "\u{1}{{a}}{{resource:architecture://x/*}}{{#if a}}{{{a}}}{% raw %}{{ a }}$1\u{2}";

struct Service;

impl Files for Service {
    fn look(&self, _: &RelativePath) -> Result<(), BodyError> {
        Ok(())
    }
}

impl Bodies for Service {
    fn read(&self, _: &Library, _: &RelativePath) -> Result<Body, BodyError> {
        Err(BodyError::NotFound)
    }

    fn bytes(&self, _: &Library, _: &RelativePath, limit: usize) -> Result<Blob, BodyError> {
        if EVIL.len() > limit {
            return Err(BodyError::TooLarge { size: EVIL.len() as u64, limit });
        }
        Ok(Blob { bytes: EVIL.into(), stamp: Stamp(1), is_executable: false })
    }

    fn stamp(&self, _: &Library, _: &RelativePath) -> Result<Stamp, BodyError> {
        Ok(Stamp(1))
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(text) = deep::text(bytes) else { return };
    let text = &*text;
    let Some(name) = LibraryName::from_folder("lib") else { return };
    let Ok(path) = RelativePath::parse("prompts/p.json") else { return };
    let folder = LibraryRoot { name, root: "/lib".into(), shown_root: "~/lib".into(), prefix: "lib:".into() };
    let files = [(&path, Ok(text))];
    let limits = Limits::default();
    let mut library = definitions_library(&folder, &files, &Service, &limits);
    library.documents.push(Document {
        uri: "architecture://x/y".into(),
        short_uri: None,
        name: "x/y".into(),
        title: Some("T".into()),
        description: None,
        mime: "text/plain".into(),
        is_text: true,
        source: DocumentSource::File(path),
        size: EVIL.len() as u64,
        modified: None,
        version: 1,
    });
    let prompt = library.prompts.first().cloned();
    let catalog = Latest::from(Catalog::build([Arc::new(library)]));
    let templates = Templates::new(limits.clone());
    let world = World { catalog: &catalog, bodies: &Service, templates: &templates };
    for problem in check(world) {
        assert!(!problem.message.is_empty() && problem.line.is_none_or(|line| line > 0));
    }
    let Some(prompt) = prompt.filter(|prompt| prompt.unavailable.is_none()) else { return };
    let Lookup::Found(found) = catalog.find(&prompt.full_name) else { panic!("it is served") };
    for value in [EVIL, "y", "*"] {
        let given: Vec<(Cow<'_, str>, Cow<'_, str>)> =
            prompt.arguments.iter().map(|one| (Cow::Borrowed(&*one.name), Cow::Borrowed(value))).collect();
        let Ok(Rendering::Done(messages)) = render(world, found, &given) else { continue };
        for message in messages {
            let Block::Text(text) = message.block else { continue };
            assert!(text.len() <= limits.rendered + limits.embedded_bytes);
            // A definition that has the marks itself proves nothing.
            if !prompt.messages.iter().any(|message| format!("{:?}", message.content).contains("\\u{")) {
                assert_eq!(text.matches('\u{1}').count(), text.matches(EVIL).count());
            }
        }
    }
});
