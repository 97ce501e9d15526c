//! Definitions: what is read from JSON, what is refused, and what becomes of `{{…}}`.

mod attacks;
mod limits;
mod mistakes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use twig_core::check::check;
use twig_core::parse::library::{DefinitionFile, LibraryRoot, definitions_library};
use twig_core::render::Block;
use twig_core::template::Templates;
use twig_core::{
    BodyError, Catalog, Document, DocumentSource, Library, LibraryName, Limits, Lookup, Message,
    RelativePath, RenderError, Rendering, render,
};
use twig_core::{Latest, World};
use twig_testkit::MemoryFiles;

/// A folder of definitions and documents that was never on a disk.
#[derive(Default)]
pub(crate) struct Definitions {
    files: Vec<(RelativePath, String)>,
    documents: BTreeMap<String, Vec<u8>>,
    pub(crate) limits: Limits,
}

impl Definitions {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// One definition called `p` with one text and these arguments, a `!` behind required ones.
    pub(crate) fn text(text: &str, arguments: &[&str]) -> Self {
        Self::messages(
            &serde_json::json!([{"role": "user", "content": {"type": "text", "text": text}}]),
            arguments,
        )
    }

    pub(crate) fn messages(messages: &serde_json::Value, arguments: &[&str]) -> Self {
        let arguments: Vec<serde_json::Value> = arguments
            .iter()
            .map(|name| {
                let required = name.ends_with('!');
                serde_json::json!({"name": name.trim_end_matches('!'), "required": required})
            })
            .collect();
        let definition =
            serde_json::json!({"name": "p", "arguments": arguments, "messages": messages});
        Self::new().file("p.json", &definition.to_string())
    }

    pub(crate) fn file(mut self, name: &str, text: &str) -> Self {
        let path = RelativePath::parse(&format!("prompts/{name}")).expect("a path");
        self.files.push((path, text.to_owned()));
        self.files.sort_by(|one, two| one.0.cmp(&two.0));
        self
    }

    /// A document at `docs/PATH`.
    pub(crate) fn document(mut self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        self.documents
            .insert(format!("docs/{path}"), contents.as_ref().to_vec());
        self
    }

    /// The documents and every image of `shots/`.
    fn memory(&self) -> MemoryFiles {
        let mut files = MemoryFiles::with_others(|path| match path {
            path if path.starts_with("shots/") => Ok(b"PNG".to_vec()),
            _ => Err(BodyError::NotFound),
        });
        for (path, contents) in &self.documents {
            files.insert(path, contents.as_slice());
        }
        files
    }

    pub(crate) fn library(&self) -> Library {
        let folder = LibraryRoot {
            name: LibraryName::from_folder("lib").expect("a name"),
            root: "/lib".into(),
            shown_root: "~/lib".into(),
            prefix: "lib:".into(),
        };
        let files = self.files.iter().map(|(path, text)| (path, Ok(&**text)));
        let files: Vec<DefinitionFile<'_>> = files.collect();
        let mut library = definitions_library(&folder, &files, &self.memory(), &self.limits);
        library.documents = self.documents.iter().map(document).collect();
        library.documents.sort_by(|one, two| one.uri.cmp(&two.uri));
        library
    }

    /// What is wrong with the folder, without its path.
    pub(crate) fn problems(&self) -> Vec<String> {
        let problems = self.with_world(check);
        let shown = problems.iter().map(ToString::to_string);
        shown.map(|text| text.replace("/lib/", "")).collect()
    }

    pub(crate) fn with_world<T>(&self, work: impl FnOnce(World<'_>) -> T) -> T {
        let catalog = Latest::from(Catalog::build([Arc::new(self.library())]));
        let templates = Templates::new(self.limits.clone());
        work(World {
            catalog: &catalog,
            bodies: &self.memory(),
            templates: &templates,
        })
    }

    pub(crate) fn render(&self, given: &[(&str, &str)]) -> Result<Vec<Message>, RenderError> {
        let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = given
            .iter()
            .map(|(name, value)| (Cow::Borrowed(*name), Cow::Borrowed(*value)))
            .collect();
        self.with_world(|world| {
            let Lookup::Found(found) = world.catalog.find("p") else {
                panic!("no prompt: {:?}", self.problems());
            };
            match render(world, found, &given)? {
                Rendering::Function(_) => panic!("a definition runs nothing"),
                Rendering::Done(messages) => Ok(messages),
                Rendering::Computed(_) => panic!("computed"),
            }
        })
    }

    /// The text of the first message, or the sentence for the caller.
    pub(crate) fn said(&self, given: &[(&str, &str)]) -> String {
        match self.render(given) {
            Ok(messages) => match &messages[0].block {
                Block::Text(text) => text.clone(),
                block => panic!("no text: {block:?}"),
            },
            Err(error) => error.to_string(),
        }
    }
}

fn document((path, contents): (&String, &Vec<u8>)) -> Document {
    let name = path.trim_start_matches("docs/").trim_end_matches(".md");
    let text = std::str::from_utf8(contents).ok();
    let heading = text.and_then(|text| text.lines().next()?.strip_prefix("# "));
    let own = name.rsplit('/').next().unwrap_or(name);
    Document {
        uri: format!("architecture://{name}").into(),
        short_uri: None,
        name: name.into(),
        title: Some(heading.unwrap_or(own).into()),
        mime: "text/markdown".into(),
        description: None,
        is_text: text.is_some(),
        source: DocumentSource::File(RelativePath::parse(path).expect("a path")),
        size: contents.len() as u64,
        modified: None,
        version: 1,
    }
}

/// Two patterns and a guideline.
fn with_documents(definitions: Definitions) -> Definitions {
    definitions
        .document(
            "patterns/repository.md",
            "# Repository\n\nOne place for reading.\n\n",
        )
        .document("patterns/factory.md", "Makes things.\n")
        .document("patterns/old/singleton.md", "# Singleton\n")
        .document("guidelines/api.md", "# API design\nPlain words.")
}

#[test]
fn values_stand_where_their_names_stood() {
    let definition = Definitions::text(
        "Review the following {{language}} code:\n\n```{{ language }}\n{{code}}\n```",
        &["language", "code!"],
    );
    let given = [("language", "go"), ("code", "func main() {}")];
    let expected = "Review the following go code:\n\n```go\nfunc main() {}\n```";
    assert_eq!(definition.said(&given), expected);
    let expected = "Review the following  code:\n\n```\nx\n```";
    assert_eq!(
        definition.said(&[("code", "x")]),
        expected,
        "optional: nothing"
    );
    assert_eq!(definition.problems(), [""; 0]);
}

#[test]
fn a_document_is_embedded_with_its_title_and_source() {
    let text = "Follow:\n{{resource:architecture://patterns/repository}}\nEnd.";
    let definition = with_documents(Definitions::text(text, &[]));
    let expected = "Follow:\n# Repository\nSource: architecture://patterns/repository\n\n\
        # Repository\n\nOne place for reading.\nEnd.";
    assert_eq!(definition.said(&[]), expected);
}

#[test]
fn a_wildcard_is_one_folder_sorted_and_ruled() {
    let text = "{{ resource: architecture://patterns/* }}|{{resource:architecture://guidelines/*}}";
    let definition = with_documents(Definitions::text(text, &[]))
        .document("patterns/picture.png", b"\x89PNG\xff");
    let expected = "# factory\nSource: architecture://patterns/factory\n\nMakes things.\n\n---\n\n\
        # Repository\nSource: architecture://patterns/repository\n\n# Repository\n\n\
        One place for reading.|# API design\nSource: architecture://guidelines/api\n\n\
        # API design\nPlain words.";
    assert_eq!(definition.said(&[]), expected);
    assert_eq!(definition.problems(), [""; 0]);
}

#[test]
fn an_argument_may_stand_inside_a_uri() {
    let text = "{{resource:architecture://patterns/{{pattern}}}} {{resource:architecture://{{ folder }}/*}}";
    let definition = with_documents(Definitions::text(text, &["pattern!", "folder!"]));
    let said = definition.said(&[("pattern", "factory"), ("folder", "guidelines")]);
    assert!(said.starts_with("# factory\n"), "{said}");
    assert!(said.ends_with("Makes things. # API design\nSource: architecture://guidelines/api\n\n# API design\nPlain words."), "{said}");
    assert_eq!(definition.problems(), [""; 0]);
}

#[test]
fn what_is_not_there_is_named() {
    for (uri, sentence) in [
        (
            "architecture://patterns/nonexistent",
            "Resource not found: architecture://patterns/nonexistent",
        ),
        (
            "architecture://nothing/*",
            "Resource not found: architecture://nothing/*",
        ),
        (
            "architecture://patterns/picture",
            "Resource is not text and cannot be embedded: architecture://patterns/picture",
        ),
    ] {
        let definition = with_documents(Definitions::text(&format!("{{{{resource:{uri}}}}}"), &[]))
            .document("patterns/picture", b"\xff\xfe\0");
        assert_eq!(definition.said(&[]), sentence);
        let problems = definition.problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].contains(sentence),
            "check says the same: {problems:?}"
        );
    }
}

#[test]
fn the_contract_words_what_is_wrong_with_arguments() {
    let argument = r#"{"name": "code", "required": true, "maxLength": 5}"#;
    let definition = Definitions::new().file(
        "p.json",
        &format!(r#"{{"name": "p", "arguments": [{argument}, {{"name": "b", "required": true}}],
            "messages": [{{"role": "user", "content": {{"type": "text", "text": "{{{{code}}}}{{{{b}}}}"}}}}]}}"#),
    );
    for (given, sentence) in [
        (&[("b", "x")][..], "Missing required arguments: code"),
        (&[], "Missing required arguments: code, b"),
        (
            &[("code", "123456"), ("b", "")],
            "Argument 'code' exceeds maximum length of 5 characters",
        ),
        (
            &[("code", "\u{e4}\u{f6}\u{fc}\u{df}\u{1f331}"), ("b", "")],
            "\u{e4}\u{f6}\u{fc}\u{df}\u{1f331}",
        ),
        (&[("code", ""), ("b", "")], ""),
        (&[("zzz", ""), ("cod", "")], "Unknown arguments: zzz, cod"),
        (
            &[("codee", "")],
            "Unknown argument: codee; did you mean `code`?",
        ),
    ] {
        assert_eq!(definition.said(given), sentence);
    }
}

#[test]
fn messages_carry_pictures_documents_and_links() {
    let messages = serde_json::json!([
        {"role": "user", "content": {"type": "image", "file": "shots/a.png"}},
        {"role": "assistant", "content": {"type": "resource", "uri": "architecture://patterns/{{name}}"}},
        {"role": "user", "content": {"type": "resource_link", "uri": "architecture://guidelines/api"}},
    ]);
    let definition = with_documents(Definitions::messages(&messages, &["name!"]));
    let blocks: Vec<Block> = definition
        .render(&[("name", "factory")])
        .expect("rendered")
        .into_iter()
        .map(|message| message.block)
        .collect();
    assert!(matches!(&blocks[0], Block::Media(media) if media.mime == "image/png"));
    assert!(matches!(&blocks[1], Block::Resource { uri, contents, .. }
            if &**uri == "architecture://patterns/factory" && contents.text() == Some("Makes things.\n")));
    assert!(matches!(&blocks[2], Block::Link { uri, title, .. }
            if &**uri == "architecture://guidelines/api" && title.as_deref() == Some("API design")));
    assert_eq!(definition.problems(), [""; 0]);
}

#[test]
fn jinja_is_there_for_those_who_want_conditions() {
    let definition = Definitions::new().file(
        "p.json",
        r#"{"name": "p", "title": "P", "template": "jinja", "arguments": [{"name": "x", "required": false}],
            "messages": [{"role": "user", "content": {"type": "text", "text": "{% if x %}{{ x }}{% else %}none{% endif %}"}}]}"#,
    );
    assert_eq!(definition.said(&[("x", "{{ x }}")]), "{{ x }}");
    assert_eq!(definition.said(&[]), "none");
    assert_eq!(definition.said(&[("y", "")]), "Unknown argument: y");
    assert_eq!(definition.problems(), [""; 0]);
}

/// A definition `p` in Jinja with one text and an argument `x`.
fn jinja(text: &str) -> Definitions {
    let definition = serde_json::json!({
        "name": "p", "template": "jinja", "arguments": [{"name": "x", "required": false}],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    });
    with_documents(Definitions::new().file("p.json", &definition.to_string()))
}

#[test]
fn jinja_embeds_documents_by_quoted_uris() {
    let text = "{% if x %}{{ resource(\"architecture://guidelines/*\") }}{% endif %}|{{ resource('architecture://patterns/factory') | upper }}";
    let api = "# API design\nSource: architecture://guidelines/api\n\n# API design\nPlain words.";
    let factory = "# FACTORY\nSOURCE: ARCHITECTURE://PATTERNS/FACTORY\n\nMAKES THINGS.";
    assert_eq!(jinja(text).said(&[("x", "1")]), format!("{api}|{factory}"));
    assert_eq!(jinja(text).said(&[]), format!("|{factory}"));
    assert_eq!(jinja(text).problems(), [""; 0]);
    let evil = jinja("{{ resource('architecture://patterns/evil') }}{{ x }}")
        .document("patterns/evil.md", "{{ x }}{% raw %}");
    assert!(
        evil.said(&[("x", "{{ y }}")])
            .ends_with("\n\n{{ x }}{% raw %}{{ y }}")
    );
}

#[test]
fn what_jinja_cannot_embed_is_told_at_get_and_by_check() {
    for (text, code, sentence) in [
        (
            "{{ x }}{{ resource('architecture://no/such') }}",
            "missing-document",
            "Resource not found: architecture://no/such",
        ),
        (
            "{{ x }}{{ resource('patterns') }}",
            "bad-resource",
            "Error rendering prompt template at line 1: a document's URI begins with its scheme, such as `architecture://`",
        ),
    ] {
        assert_eq!(jinja(text).said(&[]), sentence);
        let problems = jinja(text).problems();
        assert!(
            problems.len() == 1 && problems[0].contains(code),
            "{problems:?}"
        );
    }
    let problems = jinja("{{ resource(x) }}").problems();
    assert!(problems[0].contains("unknown-function"), "{problems:?}");
    let one = "{{ resource('architecture://all/*') }}{{ x }}";
    let mut many = jinja(one);
    for at in 0..50 {
        many = many.document(&format!("all/{at:02}.md"), "y");
    }
    assert_eq!(many.said(&[]).matches("Source: ").count(), 50);
    let many = many.document("all/50.md", "y");
    assert_eq!(
        many.said(&[]),
        "The prompt exceeds the limit of 50 embedded resources"
    );
    let large = jinja(one).document("all/a.md", "y".repeat(1024 * 1024));
    assert_eq!(large.said(&[]).matches('y').count(), 1024 * 1024);
}

#[test]
fn names_of_documents_complete_an_argument_in_a_uri() {
    let text = "{{resource:architecture://patterns/{{a}}}}{{b}}{{resource:architecture://{{c}}/x}}";
    let definition = with_documents(Definitions::text(text, &["a!", "b", "c!"]));
    definition.with_world(|world| {
        let Lookup::Found(found) = world.catalog.find("p") else {
            panic!("no prompt")
        };
        let names = |argument| world.catalog.names_for(found.prompt, argument);
        assert_eq!(names("a"), ["factory", "repository"]);
        assert_eq!(names("b"), [""; 0]);
        assert_eq!(names("c"), [""; 0]);
        assert_eq!(names("zzz"), [""; 0]);
    });
}
