//! Prompts of other tools: what they become, rendered as a client would have it.

mod corpus;
mod formats;
mod properties;

use std::borrow::Cow;
use std::sync::Arc;

use twig_clients::import::{
    ImportFormat, ImportItem, ImportOutcome, ImportRequest, ImportedPrompt, SourceFile, read,
};
use twig_core::check::check;
use twig_core::parse::library::{LibraryRoot, twig_library};
use twig_core::parse::table::append;
use twig_core::template::{Templates, run};
use twig_core::{Block, Catalog, LibraryName, Limits, Lookup, PromptName, Rendering, render};
use twig_core::{Latest, World};
use twig_testkit::MemoryFiles;

/// Reads files as `(path, text)`.
pub(crate) fn outcome(files: &[(&str, &str)], format: Option<ImportFormat>) -> ImportOutcome {
    let files: Vec<SourceFile> = files
        .iter()
        .map(|(path, text)| SourceFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        })
        .collect();
    let wish = ImportRequest {
        format,
        ..ImportRequest::default()
    };
    read(&files, wish, &Limits::default())
}

/// The only item of one file.
pub(crate) fn one(path: &str, text: &str) -> ImportItem {
    let mut items = outcome(&[(path, text)], None).items;
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0)
}

pub(crate) fn taken(item: &ImportItem) -> &ImportedPrompt {
    match &item.prompt {
        Ok(prompt) => prompt,
        Err(why) => panic!("{} is left: {why}", item.from),
    }
}

/// A library of what was taken, as it would be on disk.
pub(crate) struct Kept {
    catalog: Latest<'static>,
    bodies: MemoryFiles,
    templates: Templates,
    pub(crate) manifest: String,
}

impl Kept {
    pub(crate) fn of<'i>(items: impl IntoIterator<Item = &'i ImportItem>) -> Self {
        let mut bodies = MemoryFiles::default();
        let mut manifest = String::new();
        for prompt in items
            .into_iter()
            .filter_map(|item| item.prompt.as_ref().ok())
        {
            let files = prompt.files();
            for (path, text) in &files {
                bodies.insert(path.clone(), *text);
            }
            let name = PromptName::parse(&prompt.name).expect("a name");
            manifest = append(&manifest, &prompt.table(&name));
        }
        let folder = LibraryRoot {
            name: LibraryName::from_folder("lib").expect("a name"),
            root: "/lib".into(),
            shown_root: "~/lib".into(),
            prefix: "lib:".into(),
        };
        let library = twig_library(&folder, &manifest, &bodies, &Limits::default());
        Self {
            catalog: Catalog::build(vec![Arc::new(library)]).into(),
            bodies,
            templates: Templates::new(Limits::default()),
            manifest,
        }
    }

    fn world(&self) -> World<'_> {
        World {
            catalog: &self.catalog,
            bodies: &self.bodies,
            templates: &self.templates,
        }
    }

    /// What `twig check` would say.
    pub(crate) fn problems(&self) -> Vec<String> {
        let problems = check(self.world());
        problems.iter().map(ToString::to_string).collect()
    }

    /// Whether a prompt is rendered in place.
    pub(crate) fn render(&self, name: &str, given: &[(&str, &str)]) -> String {
        let Lookup::Found(found) = self.catalog.find(&format!("lib:{name}")) else {
            panic!("{name} is not there:\n{}", self.manifest);
        };
        let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = given
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let messages = match render(self.world(), found, &given) {
            Ok(Rendering::Done(messages)) => messages,
            Ok(Rendering::Computed(computed)) => {
                let outcome = run(&computed.job);
                computed.rest.finish(outcome).expect("rendered")
            }
            Ok(Rendering::Function(_)) => panic!("no function"),
            Err(error) => panic!("{name}: {error}"),
        };
        let is_one = messages.len() == 1;
        let texts = messages.into_iter().map(|message| {
            let Block::Text(text) = message.block else {
                panic!("text")
            };
            if is_one {
                text
            } else {
                format!("[{}]{text}", message.role.as_str())
            }
        });
        texts.collect()
    }
}

/// What one file's only prompt says.
pub(crate) fn rendered(path: &str, text: &str, given: &[(&str, &str)]) -> String {
    let item = one(path, text);
    let name = &taken(&item).name;
    Kept::of([&item]).render(name, given)
}
