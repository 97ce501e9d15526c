//! Prompts as files of other clients, from the outside: what each format is written like.

mod formats;
mod hostile;
mod left;
mod markers;
mod names;
mod properties;
mod round_trip;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use twig_clients::clients::ExportFormat;
use twig_clients::export::{ExportItem, FileNames, Plan, ShellTranslation, marker_of, plan};
use twig_core::template::{Templates, run};
use twig_core::{
    Argument, Block, Catalog, Content, Dialect, Library, LibraryKind, LibraryName, LibraryOrigin,
    Limits, MessageSource, Prompt, PromptName, RelativePath, Rendering, Role, render,
};
use twig_core::{Latest, World};
use twig_testkit::MemoryFiles;

/// Libraries that are made for one test.
#[derive(Default)]
struct Shelf {
    files: MemoryFiles,
    prompts: BTreeMap<(String, LibraryKind), Vec<Arc<Prompt>>>,
}

impl Shelf {
    /// A prompt in a file of its own.
    fn with(mut self, library: &str, dialect: Dialect, mut prompt: Prompt, text: &str) -> Self {
        let kind = match dialect {
            Dialect::Marks(_) => twig_clients::clients::formats::CLAUDE.kind(),
            Dialect::Input => LibraryKind::Markdown,
            _ => LibraryKind::Twig,
        };
        let path = format!("prompts/{}.md", prompt.name);
        let file = RelativePath::parse(&path).expect("a path");
        if prompt.messages.is_empty() {
            prompt.messages = vec![MessageSource {
                role: Role::User,
                content: Content::File(file),
            }];
        }
        prompt.dialect = dialect;
        prompt.full_name = format!("{library}:{}", prompt.name).into();
        self.files.insert(format!("{library}:{path}"), text);
        let prompts = self.prompts.entry((library.to_owned(), kind)).or_default();
        prompts.push(Arc::new(prompt));
        self
    }

    /// A file that templates may include.
    fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path, text);
        self
    }

    fn catalog(&self) -> Catalog {
        let libraries = self.prompts.iter().map(|((name, kind), prompts)| {
            let mut prompts = prompts.clone();
            prompts.sort_by(|one, two| one.name.cmp(&two.name));
            Arc::new(Library {
                name: LibraryName::from_folder(name).expect("a name"),
                kind: *kind,
                origin: LibraryOrigin::Folder,
                root: format!("/data/{name}").into(),
                shown_root: format!("~/{name}").into(),
                about: twig_core::model::LibraryAbout::default(),
                prompts,
                old_names: std::collections::BTreeMap::new(),
                skills: Vec::new(),
                documents: Vec::new(),
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
            })
        });
        Catalog::build(libraries)
    }

    fn export(&self, client: ExportFormat) -> Plan {
        let catalog = Latest::from(self.catalog());
        let templates = Templates::new(Limits::default());
        let world = World {
            catalog: &catalog,
            bodies: &self.files,
            templates: &templates,
        };
        let names = FileNames::new(world, client, world.catalog.prompts(0));
        let off = ShellTranslation::Off;
        let prompts = catalog.prompts(0);
        plan(world, client, off, &names, prompts, &mut |job| run(job))
    }

    /// What the one prompt says with these values.
    fn say(&self, given: &[(&str, &str)]) -> String {
        said(&self.catalog().into(), &self.files, given)
    }

    /// The one prompt there is.
    fn item(&self, client: ExportFormat) -> ExportItem {
        let mut plan = self.export(client);
        assert_eq!(plan.left, [], "{}", client.as_str());
        assert_eq!(plan.items.len(), 1);
        plan.items.remove(0)
    }

    /// Why the one prompt is left.
    fn why(&self, client: ExportFormat) -> String {
        let plan = self.export(client);
        assert!(plan.items.is_empty(), "{:?}", plan.items);
        plan.left[0].why.clone()
    }
}

/// What the one prompt of a catalog says: its first message.
fn said(catalog: &Latest<'_>, files: &MemoryFiles, given: &[(&str, &str)]) -> String {
    let templates = Templates::new(Limits::default());
    let world = World {
        catalog,
        bodies: files,
        templates: &templates,
    };
    let found = catalog.prompts(0).next().expect("a prompt");
    let given: Vec<_> = given
        .iter()
        .map(|(name, value)| (Cow::from(*name), Cow::from(*value)))
        .collect();
    let Ok(Rendering::Done(messages)) = render(world, found, &given) else {
        panic!("it renders in place");
    };
    match &messages[0].block {
        Block::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

/// One prompt of a library `lib`, a Jinja template.
fn jinja(arguments: &[&str], text: &str) -> Shelf {
    Shelf::default().with("lib", Dialect::Jinja, prompt("main", arguments), text)
}

/// One prompt whose text is what it says.
fn verbatim(text: &str) -> Shelf {
    Shelf::default().with("lib", Dialect::Verbatim, prompt("main", &[]), text)
}

/// A prompt without its text; an argument with a `!` behind its name is required.
fn prompt(name: &str, arguments: &[&str]) -> Prompt {
    let arguments = arguments.iter().map(|name| Argument {
        name: name.trim_end_matches('!').into(),
        required: name.ends_with('!'),
        ..Argument::default()
    });
    Prompt {
        name: PromptName::parse(name).expect("a name"),
        full_name: name.into(),
        title: None,
        description: Some("Does something".into()),
        arguments: arguments.collect(),
        messages: Vec::new(),
        dialect: Dialect::Jinja,
        unavailable: None,
        written: None,
    }
}

/// A file without its marker, which has to be there and to hold.
fn unmarked(client: ExportFormat, item: &ExportItem) -> String {
    let digests = item.bundled.iter().map(|file| (&*file.to, file.digest));
    let marker = marker_of(client, &item.text, digests).expect("a marker");
    assert!(
        marker.is_intact && marker.prompt == &*item.prompt,
        "{marker:?}"
    );
    let line = item
        .text
        .split_inclusive('\n')
        .find(|line| line.contains(marker.digest));
    item.text.replacen(line.unwrap_or_default(), "", 1)
}

/// What stands behind the front matter.
fn body(client: ExportFormat, shelf: &Shelf) -> String {
    let text = unmarked(client, &shelf.item(client));
    let body = text.splitn(3, "---\n").nth(2);
    body.unwrap_or_else(|| panic!("front matter: {text}"))
        .to_owned()
}
