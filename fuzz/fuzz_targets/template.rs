//! Any template compiles or is refused, and whatever is called plain renders within its bounds.
#![no_main]

mod deep;

use std::borrow::Cow;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use twig_core::parse::library::{LibraryRoot, empty_library};
use twig_core::render::{Block, render};
use twig_core::{Latest, World};
use twig_core::template::Templates;
use twig_core::{
    Argument, Blob, Bodies, Body, BodyError, Catalog, Content, Dialect, LibraryKind, Library, LibraryName, Lookup,
    MessageSource, Prompt, PromptName, RelativePath, Rendering, Role, Stamp, TextForm,
};

struct NoFiles;

impl Bodies for NoFiles {
    fn read(&self, _: &Library, _: &RelativePath) -> Result<Body, BodyError> {
        Err(BodyError::NotFound)
    }

    fn bytes(
        &self,
        library: &Library,
        path: &RelativePath,
        _: usize,
    ) -> Result<Blob, BodyError> {
        let body = self.read(library, path)?;
        Ok(Blob {
            bytes: body.text.into_bytes(),
            stamp: body.stamp,
            is_executable: false,
        })
    }

    fn stamp(&self, _: &Library, _: &RelativePath) -> Result<Stamp, BodyError> {
        Err(BodyError::NotFound)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(text) = deep::text(bytes) else { return };
    let text = &*text;
    let (Some(name), Ok(prompt)) = (LibraryName::from_folder("lib"), PromptName::parse("p")) else { return };
    let folder = LibraryRoot { name, root: "/lib".into(), shown_root: "~/lib".into(), prefix: "lib:".into() };
    let mut library = empty_library(&folder, LibraryKind::Twig, Vec::new());
    library.prompts.push(Arc::new(Prompt {
        name: prompt,
        full_name: "lib:p".into(),
        title: None,
        description: None,
        arguments: ["x", "y"].map(|name| Argument { name: name.into(), ..Argument::default() }).to_vec().into(),
        messages: vec![MessageSource { role: Role::User, content: Content::Text { text: text.into(), line: 1, form: TextForm::Inline, file: None } }],
        dialect: Dialect::Jinja,
        unavailable: None,
        written: None,
    }));
    let catalog = Latest::from(Catalog::build(vec![Arc::new(library)]));
    let templates = Templates::default();
    let world = World { catalog: &catalog, bodies: &NoFiles, templates: &templates };
    let Lookup::Found(found) = catalog.find("lib:p") else { panic!("the prompt is there") };
    let given = [(Cow::Borrowed("x"), Cow::Borrowed("{{ y }}{% include 'z' %}"))];
    if let Ok(Rendering::Done(messages)) = render(world, found, &given) {
        let Block::Text(text) = &messages[0].block else { panic!("a template is text") };
        assert!(text.len() <= templates.limits().rendered);
    }
    let _ = twig_core::check::check(world);
});
