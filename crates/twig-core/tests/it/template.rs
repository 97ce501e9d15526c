//! Templates from the outside: one fixture a case, and what does not fit a text file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use twig_core::check::check;
use twig_core::template::{Templates, run};
use twig_core::{
    Argument, Block, BodyError, Catalog, Content, Dialect, Library, LibraryKind, LibraryName,
    LibraryOrigin, Limits, Lookup, Message, MessageSource, Prompt, PromptName, RelativePath,
    RenderError, Rendering, Role, render,
};
use twig_core::{Latest, World};
use twig_testkit::MemoryFiles;

/// The path of the template that a case is about.
const MAIN: &str = "prompts/main.md";

/// A library `lib` with one prompt, and a library `other` beside it.
pub(crate) struct Case {
    catalog: Latest<'static>,
    files: MemoryFiles,
    templates: Templates,
    given: Vec<(String, String)>,
}

/// How a prompt was rendered, and to what.
pub(crate) type Outcome = (&'static str, Result<String, RenderError>);

impl Case {
    /// A template and its declared arguments, `None` for one without a value.
    pub(crate) fn new(template: &str, values: &[(&str, Option<&str>)]) -> Self {
        Self::at(MAIN, template, values)
    }

    fn at(path: &str, template: &str, values: &[(&str, Option<&str>)]) -> Self {
        let file = Content::File(RelativePath::parse(path).expect("a path"));
        Self::of(file, values).with(&format!("lib:{path}"), Ok(template))
    }

    pub(crate) fn of(content: Content, values: &[(&str, Option<&str>)]) -> Self {
        let arguments = values.iter().map(|(name, _)| Argument {
            name: (*name).into(),
            ..Argument::default()
        });
        let prompt = Prompt {
            name: PromptName::parse("main").expect("a name"),
            full_name: "lib:main".into(),
            title: None,
            description: None,
            arguments: arguments.collect(),
            messages: vec![MessageSource {
                role: Role::User,
                content,
            }],
            dialect: Dialect::Jinja,
            unavailable: None,
            written: None,
        };
        let libraries = [("lib", vec![Arc::new(prompt)]), ("other", Vec::new())];
        let libraries = libraries.map(|(name, prompts)| {
            Arc::new(Library {
                name: LibraryName::from_folder(name).expect("a name"),
                kind: LibraryKind::Twig,
                origin: LibraryOrigin::Folder,
                root: format!("/secret/place/{name}").into(),
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
        Self {
            catalog: Catalog::build(libraries.to_vec()).into(),
            files: MemoryFiles::default(),
            templates: Templates::new(Limits::default()),
            given: values
                .iter()
                .filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?.to_owned())))
                .collect(),
        }
    }

    /// The same case with another file, or with one that cannot be read.
    pub(crate) fn with(mut self, name: &str, text: Result<&str, BodyError>) -> Self {
        match text {
            Ok(text) => self.files.insert(name, text),
            Err(error) => self.files.insert_broken(name, error),
        }
        self
    }

    pub(crate) fn render(&self) -> Outcome {
        let given = self.given.iter();
        let given: Vec<(Cow<'_, str>, Cow<'_, str>)> = given
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let Lookup::Found(found) = self.catalog.find("lib:main") else {
            panic!("the prompt is there");
        };
        let world = World {
            catalog: &self.catalog,
            bodies: &self.files,
            templates: &self.templates,
        };
        let (how, messages) = match render(world, found, &given) {
            Ok(Rendering::Done(messages)) => ("plain", Ok(messages)),
            Ok(Rendering::Computed(render)) => {
                let outcome = run(&render.job);
                ("computed", render.rest.finish(outcome))
            }
            Ok(Rendering::Function(call)) => panic!("no template: {call:?}"),
            Err(error) => ("refused", Err(error)),
        };
        (
            how,
            messages.map(|mut messages| text_of(messages.remove(0))),
        )
    }

    /// What `check` says of it, a line each, paths left off.
    pub(crate) fn problems(&self) -> Vec<String> {
        let world = World {
            catalog: &self.catalog,
            bodies: &self.files,
            templates: &self.templates,
        };
        let problems = check(world).into_iter();
        problems
            .map(|problem| problem.to_string().replace("/secret/place/", ""))
            .collect()
    }

    pub(crate) fn text(&self) -> String {
        self.render().1.expect("it renders")
    }

    pub(crate) fn error(&self) -> String {
        self.render().1.expect_err("it fails").to_string()
    }
}

/// `{"argument": "value"}`, `---`, the template, and more files after lines `=== library:path`.
pub(crate) fn read_fixture(fixture: &str) -> Case {
    let (header, rest) = fixture
        .split_once("\n---\n")
        .expect("a header and a template");
    let values: BTreeMap<String, Option<String>> = serde_json::from_str(header).expect("JSON");
    let values: Vec<(&str, Option<&str>)> = values
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_deref()))
        .collect();
    let mut files = rest.split("\n=== ");
    let case = Case::new(files.next().unwrap_or_default(), &values);
    files.fold(case, |case, file| {
        let (name, text) = file.split_once('\n').expect("a name and a text");
        case.with(name, Ok(text))
    })
}

#[test]
fn fixtures() {
    insta::glob!("../fixtures/templates", "*.txt", |path| {
        let fixture = std::fs::read_to_string(path).expect("the fixture can be read");
        let (how, outcome) = read_fixture(&fixture).render();
        let fails = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("err_"));
        assert_eq!(outcome.is_err(), fails, "{}: {outcome:?}", path.display());
        let shown = match outcome {
            Ok(text) => format!("{how}\n---\n{text}"),
            Err(error) => format!("{how}\n---\n{error}"),
        };
        insta::assert_snapshot!(shown);
    });
}

#[test]
fn line_ends_come_out_as_they_are() {
    let source = "# A\r\n\r\n{{ x }}\r\n{% if x %}\r\n  b  \r\n{% endif %}\n\t\n\r\n\r\n";
    let expected = "# A\r\n\r\n1\r\n2\r\n\r\n  b  \r\n\n\t\n\r\n\r\n";
    assert_eq!(Case::new(source, &[("x", Some("1\r\n2"))]).text(), expected);
    let computed = format!("{source}{{% set y = 1 %}}\n");
    assert_eq!(
        Case::new(&computed, &[("x", Some("1\r\n2"))]).text(),
        format!("{expected}\n")
    );
}

#[test]
fn nothing_is_ever_escaped() {
    for path in [
        "prompts/a.html",
        "prompts/a.json",
        "prompts/a.yaml",
        "prompts/a.xml",
    ] {
        let case = Case::at(path, "{{ x }}{{ '<i>' }}", &[("x", Some("<b> & \"q\""))]);
        assert_eq!(case.text(), "<b> & \"q\"<i>");
    }
}

#[test]
fn lines_of_text_in_the_manifest_are_counted_there() {
    for text in ["a\n{{ nope }}", "{% set a = 1 %}\n{{ nope }}"] {
        let content = Content::Text {
            text: text.into(),
            line: 10,
            form: twig_core::TextForm::Lines,
            file: None,
        };
        assert_eq!(
            Case::of(content, &[]).error(),
            "Error rendering prompt template at line 11: undefined variable 'nope'"
        );
    }
}

#[test]
fn lines_are_counted_in_the_file_that_is_wrong() {
    let case = Case::new("a\n{% include 'part' %}", &[])
        .with("lib:prompts/part.md", Ok("b\n\n{{ nope }}"));
    assert_eq!(
        case.error(),
        "Error rendering prompt template at line 3 of lib:prompts/part.md: undefined variable 'nope'"
    );
}

#[test]
fn lines_past_sixteen_bits_are_counted() {
    let case = Case::new(&("\n".repeat(70_000) + "{{ nope }}"), &[]);
    assert_eq!(
        case.error(),
        "Error rendering prompt template at line 70001: undefined variable 'nope'"
    );
}

#[test]
fn a_source_past_its_limit_is_refused() {
    let limit = Limits::default().template_source;
    assert_eq!(Case::new(&"x".repeat(limit), &[]).text().len(), limit);
    let error = Case::new(&"x".repeat(limit + 1), &[]).error();
    assert_eq!(
        error,
        "Error rendering prompt template: the template is 131073 bytes long; the limit is 131072"
    );
}

#[test]
fn an_error_never_shows_a_value() {
    let secret = "s3cret-value";
    for source in [
        "{{ x + 1 }}",
        "{{ x * x }}",
        "{{ x|int }}",
        "{{ x|float }}",
        "{{ [1]|map(x)|list }}",
        "{{ [1]|select(x)|list }}",
        "{{ dict(**{x: 1})|items(**{x: 1}) }}",
        "{{ [2]|sort(**{x: 1}) }}",
        "{{ x|format(1, 2) }}",
        "{{ x.nope }}",
        "{{ x[x] }}",
        "{{ x() }}",
        "{{ x.nope() }}",
        "{% for a, b in [x] %}{% endfor %}",
        "{{ x|batch(x) }}",
        "{{ 1 in x }}",
        "{{ x|round }}",
        "{{ {}[x] + 1 }}",
        "{% macro m(a) %}{% endmacro %}{{ m(**{x: 1}) }}",
        "{{ x is divisibleby(x) }}",
        "{{ x|attr(x) + 1 }}",
        "{{ range(x) }}",
    ] {
        let error = match Case::new(source, &[("x", Some(secret))]).render().1 {
            Ok(_) => continue,
            Err(error) => error.to_string(),
        };
        assert!(!error.contains(secret), "{source}: {error}");
        assert!(error.contains("line 1"), "{source}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn a_value_comes_out_as_it_went_in(value in value()) {
        let values = [("x", Some(value.as_str()))];
        let plain = Case::new("<{{ x }}|{% if x %}{% endif %}{{ x }}>", &values);
        prop_assert_eq!(plain.text(), format!("<{value}|{value}>"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn so_it_does_where_it_is_computed(value in value()) {
        let source = "{% set y = x %}{% macro m(a) %}{{ a }}{% endmacro %}{{ y }}{{ m(x) }}{{ x ~ '' }}";
        let computed = Case::new(source, &[("x", Some(value.as_str()))]);
        prop_assert_eq!(computed.text(), value.repeat(3));
    }
}

/// Template code, placeholders of every dialect, fences and any other text.
fn value() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{ x }}".to_owned()),
        Just("{{ 7 * 7 }}".to_owned()),
        Just("{% include '/etc/passwd' %}".to_owned()),
        Just("{% raw %}".to_owned()),
        Just("{% endraw %}".to_owned()),
        Just("{# ".to_owned()),
        Just("{{resource:architecture://a}}".to_owned()),
        Just("{{input}}".to_owned()),
        Just("---\n".to_owned()),
        Just("$1 $ARGUMENTS".to_owned()),
        Just("\r\n".to_owned()),
        Just("<b>&amp;".to_owned()),
        "\\PC{0,8}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn text_of(message: Message) -> String {
    match message.block {
        Block::Text(text) => text,
        other => panic!("not text: {other:?}"),
    }
}
