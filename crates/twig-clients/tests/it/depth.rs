//! No depth of any input overflows a stack: every reader takes a text or refuses it with a sentence.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

use twig_clients::clients::ExportFormat;
use twig_clients::clients::{VOCABULARY, formats};
use twig_clients::export::marker_of;
use twig_clients::format::{Options, read as read_format};
use twig_clients::import::{ImportFormat, ImportRequest, SourceFile, read as import};
use twig_core::argument::Pattern;
use twig_core::check::check;
use twig_core::document::Head;
use twig_core::function::read_output;
use twig_core::limits::{NESTING, YAML_NESTING};
use twig_core::parse::documents::DocumentLayout;
use twig_core::parse::functions::FunctionFiles;
use twig_core::parse::library::{
    LibraryRoot, definitions_library, empty_library, functions_library, twig_library,
};
use twig_core::parse::project::project_config;
use twig_core::parse::read_toml;
use twig_core::render::render;
use twig_core::spoken::bodies;
use twig_core::store;
use twig_core::template::Templates;
use twig_core::uri::decode;
use twig_core::{
    Argument, Catalog, Content, Dialect, LibraryKind, LibraryName, Limits, Lookup, MessageSource,
    Prompt, PromptName, RelativePath, Role, TextForm, UriTemplate, front_matter,
};
use twig_core::{Latest, World};
use twig_testkit::MemoryFiles;

/// Less than the smallest thread of a server has, in a build whose frames are several times larger.
const STACK: usize = 1536 * 1024;

const DEPTHS: [usize; 4] = [10, 33, 1_000, 100_000];

/// A text that nests as deep as it is asked to.
type Shape = fn(usize) -> String;

const TOML: [Shape; 9] = [
    |n| format!("[{}a]\n", "a.".repeat(n)),
    |n| format!("[[{}a]]\n", "a.".repeat(n)),
    |n| format!("[ {}'a' ]\nb = 1.5\n", "\"a\" . ".repeat(n)),
    |n| format!("{}a = 1\n", "a.".repeat(n)),
    |n| format!("a = {}{}\n", "[".repeat(n), "]".repeat(n)),
    |n| format!("a = {}1{}\n", "{ a = ".repeat(n), " }".repeat(n)),
    |n| format!("[a]\nx = {}\n", "{ b.c.d = [\n".repeat(n)),
    |n| format!("x = 'it\n[{}a]\n", "a.".repeat(n)),
    |n| format!("a = ]]]}}\n[{}", "a.".repeat(n)),
];

const JSON: [Shape; 4] = [
    |n| format!("{}{}", "[".repeat(n), "]".repeat(n)),
    |n| format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n)),
    |n| format!("{{\"name\": \"p\", \"messages\": {}", "[{\"x\": ".repeat(n)),
    |n| {
        format!(
            "{{\"prompts\": [{{\"name\": \"p\", \"x\": {}",
            "[".repeat(n)
        )
    },
];

const YAML: [Shape; 9] = [
    |n| format!("a: {}{}\n", "[".repeat(n), "]".repeat(n)),
    |n| format!("a: {}1{}\n", "{a: ".repeat(n), "}".repeat(n)),
    |n| format!("a:\n {}x\n", "- ".repeat(n)),
    |n| format!("{}x\n", "? ".repeat(n)),
    |n| format!("a: {}\n", "[{".repeat(n)),
    |n| format!("a: {}x\n", "!t ".repeat(n)),
    |n| format!("a: {}x\n", "&a ".repeat(n)),
    |n| format!("{}x: 1\n", "a: ".repeat(n)),
    // A level a line; the text grows with the square of its depth.
    |n| {
        (0..n.min(1_000))
            .map(|at| format!("{}a:\n", " ".repeat(at)))
            .collect()
    },
];

const TEMPLATES: [Shape; 30] = [
    |n| format!("{{{{ {}x{} }}}}", "(".repeat(n), ")".repeat(n)),
    |n| format!("{{{{ {}x{} }}}}", "[".repeat(n), "]".repeat(n)),
    |n| format!("{{{{ {}1{} }}}}", "{'a': ".repeat(n), "}".repeat(n)),
    |n| format!("{{{{ {}x }}}}", "not ".repeat(n)),
    |n| format!("{{{{ {}x }}}}", "- ".repeat(n)),
    |n| format!("{{{{ x{} }}}}", ".a".repeat(n)),
    |n| format!("{{{{ x{} }}}}", "|e".repeat(n)),
    |n| format!("{{{{ x{} }}}}", "[0]".repeat(n)),
    |n| format!("{{{{ x{} }}}}", "()".repeat(n)),
    |n| format!("{{{{ x{} }}}}", " ~ x".repeat(n)),
    |n| format!("{{{{ {}x }}}}", "x if x else ".repeat(n)),
    |n| format!("{}{}", "{% if x %}".repeat(n), "{% endif %}".repeat(n)),
    |n| format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(n)),
    |n| {
        format!(
            "{}{}",
            "{% for y in x %}".repeat(n),
            "{% endfor %}".repeat(n)
        )
    },
    |n| format!("{}x", "{{#if x}}".repeat(n)),
    |n| format!("{}x{}", "{{#if x}}".repeat(n), "{{/if}}".repeat(n)),
    |n| format!("{{{{#if x}}}}{}{{{{/if}}}}", "{{else if x}}".repeat(n)),
    |n| format!("{}x{}", "{{#x}}".repeat(n), "{{/x}}".repeat(n)),
    |n| format!("{}x{}", "{{if .x}}".repeat(n), "{{end}}".repeat(n)),
    |n| format!("{}x{}", "{{range .x}}".repeat(n), "{{end}}".repeat(n)),
    |n| format!("{{{{if .x}}}}{}{{{{end}}}}", "{{else if .x}}".repeat(n)),
    |n| {
        format!(
            "{{{{if {}.x{}}}}}a{{{{end}}}}",
            "(not ".repeat(n),
            ")".repeat(n)
        )
    },
    |n| format!("{}x{}", "{{define \"a\"}}".repeat(n), "{{end}}".repeat(n)),
    |n| format!("{{{{ {}x{} }}}}", "(a ".repeat(n), ")".repeat(n)),
    |n| format!("{{{{.{}x}}}}", "x.".repeat(n)),
    |n| "{{".repeat(n),
    |n| format!("{{{{resource:a://{}}}}}", "{{x}}/".repeat(n)),
    |n| format!("{{{{resource:{}", "{{resource:".repeat(n)),
    |n| "{".repeat(n),
    |n| format!("${}", "{x:".repeat(n)),
];

const PATTERNS: [Shape; 7] = [
    |n| format!("{}a{}", "(".repeat(n), ")".repeat(n)),
    |n| format!("{}a{}", "(?:".repeat(n), ")*".repeat(n)),
    |n| format!("a{}", "*".repeat(n)),
    |n| format!("a{}", "?".repeat(n)),
    |n| format!("a{}", "{1}".repeat(n)),
    |n| "[".repeat(n),
    |n| "a|".repeat(n),
];

const URIS: [Shape; 4] = [
    |n| format!("a://{}", "{b}/".repeat(n)),
    |n| format!("a://{}{}", "{".repeat(n), "}".repeat(n)),
    |n| "%25".repeat(n),
    |n| "../".repeat(n),
];

/// Every path is an empty file.
fn every_file() -> MemoryFiles {
    MemoryFiles::with_others(|_| Ok(Vec::new()))
}

/// Sizes are refused elsewhere: here depth has to be.
fn limits() -> Limits {
    Limits {
        template_source: usize::MAX,
        manifest: usize::MAX,
        front_matter: usize::MAX,
        ..Limits::default()
    }
}

fn folder() -> LibraryRoot {
    LibraryRoot {
        name: LibraryName::from_folder("lib").expect("a name"),
        root: "/lib".into(),
        shown_root: "~/lib".into(),
        prefix: "lib:".into(),
    }
}

fn path(path: &str) -> RelativePath {
    RelativePath::parse(path).expect("a path")
}

/// Runs every shape in every depth on a thread with a small stack.
fn on_a_small_stack(shapes: &'static [Shape], read: fn(&str)) {
    let thread = thread::Builder::new().stack_size(STACK);
    let work = move || {
        for shape in shapes {
            for depth in DEPTHS {
                read(&shape(depth));
            }
        }
    };
    thread.spawn(work).expect("a thread").join().expect("read");
}

#[test]
fn toml_of_any_depth() {
    on_a_small_stack(&TOML, |text| {
        drop(read_toml(text));
        drop(twig_library(&folder(), text, &every_file(), &limits()));
        let usual = DocumentLayout::usual("a://", Vec::new());
        drop(project_config(
            &folder(),
            text,
            usual,
            false,
            &every_file(),
            &limits(),
            &VOCABULARY,
        ));
        let command = path("a.toml");
        let options = Options::default();
        drop(read_format(
            formats::GEMINI.kind(),
            &folder(),
            &command,
            Ok(text),
            options,
            &limits(),
        ));
    });
}

#[test]
fn json_of_any_depth() {
    on_a_small_stack(&JSON, |text| {
        let path = path("prompts/p.json");
        drop(definitions_library(
            &folder(),
            &[(&path, Ok(text))],
            &every_file(),
            &limits(),
        ));
        let files = FunctionFiles {
            list: text,
            script: Ok(""),
            prefix: "prompt_",
        };
        drop(functions_library(&folder(), &files, &limits()));
        drop(read_output(text.as_bytes()));
        drop(store::ExportedProject::parse(text));
        import_all(text);
    });
}

#[test]
fn front_matter_and_other_yaml_of_any_depth() {
    on_a_small_stack(&YAML, |text| {
        let file = format!("---\n{text}---\nbody\n");
        drop(front_matter::read(&file, &limits()));
        if is_too_long(&file) {
            return;
        }
        for kind in twig_clients::clients::kinds().filter(|kind| kind.is_format()) {
            for text in [text, &*file] {
                let at = path("a/SKILL.md");
                let options = Options::default();
                drop(read_format(
                    kind,
                    &folder(),
                    &at,
                    Ok(text),
                    options,
                    &limits(),
                ));
                drop(bodies(kind, text));
            }
        }
        let _ = marker_of(ExportFormat::Claude, &file, []);
        drop(Head::read("a.md", file.as_bytes(), true));
        import_all(text);
        import_all(&file);
    });
}

#[test]
fn templates_of_any_depth() {
    on_a_small_stack(&TEMPLATES, |text| {
        for dialect in [Dialect::Jinja, Dialect::Braces] {
            check_template(text, dialect);
        }
        import_all(&format!("---\nname: a\n---\n{text}"));
    });
}

#[test]
fn patterns_of_any_depth() {
    on_a_small_stack(&PATTERNS, |text| {
        if let Ok(pattern) = Pattern::parse(text) {
            pattern.is_match("aaa");
        }
    });
}

#[test]
fn uris_of_any_depth() {
    on_a_small_stack(&URIS, |text| {
        if let Ok(template) = UriTemplate::parse(text) {
            drop(template.values(text));
        }
        drop(decode(text));
    });
}

/// Whether a text is longer than prompts may be: then its depth does not matter, and imports, which
/// have to look at all of it, would only take time.
fn is_too_long(text: &str) -> bool {
    text.len() > Limits::default().template_source
}

/// Reads a text as a prompt of every tool.
fn import_all(text: &str) {
    if is_too_long(text) {
        return;
    }
    for format in ImportFormat::ALL {
        let path = match format {
            ImportFormat::PromptsChat => "a.csv",
            ImportFormat::Langfuse => "a.json",
            ImportFormat::Prompty => "a.prompty",
            ImportFormat::Dotprompt | ImportFormat::Continue => "a.prompt",
            ImportFormat::CursorRules => "a.mdc",
            ImportFormat::GoTemplates => "a.tmpl",
            _ => "a/prompt.yaml",
        };
        let file = SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let wish = ImportRequest {
            format: Some(format),
            all_rules: true,
        };
        drop(import(&[file], wish, &Limits::default()));
    }
}

fn check_template(text: &str, dialect: Dialect) {
    let mut library = empty_library(&folder(), LibraryKind::Twig, Vec::new());
    let content = Content::Text {
        text: text.into(),
        line: 1,
        form: TextForm::Inline,
        file: None,
    };
    library.prompts.push(Arc::new(Prompt {
        name: PromptName::parse("p").expect("a name"),
        full_name: "lib:p".into(),
        title: None,
        description: None,
        arguments: vec![Argument {
            name: "x".into(),
            ..Argument::default()
        }]
        .into(),
        messages: vec![MessageSource {
            role: Role::User,
            content,
        }],
        dialect,
        unavailable: None,
        written: None,
    }));
    let catalog = Latest::from(Catalog::build([Arc::new(library)]));
    let templates = Templates::default();
    let world = World {
        catalog: &catalog,
        bodies: &every_file(),
        templates: &templates,
    };
    drop(check(world));
    let Lookup::Found(found) = catalog.find("lib:p") else {
        panic!("the prompt is there");
    };
    let given = [(Cow::Borrowed("x"), Cow::Borrowed("1"))];
    drop(render(world, found, &given));
}

/// What is refused says where and how deep it may be; what is not deep is read.
#[test]
fn a_text_that_nests_too_deep_names_the_place_and_the_limit() {
    let limit = format!("deeper than {NESTING} levels");
    for shape in &TOML[..6] {
        assert!(read_toml(&shape(10)).is_ok(), "{}", shape(10));
        let deep = format!("# one\n{}", shape(1_000));
        let error = read_toml(&deep).expect_err("too deep");
        assert!(error.message.contains(&limit), "{}", error.message);
        assert!(error.span.is_some_and(|span| span.start > "# one\n".len()));
        let library = twig_library(&folder(), &deep, &every_file(), &limits());
        let [problem] = library.problems.as_slice() else {
            panic!("{:?}", library.problems);
        };
        assert_eq!(
            (problem.code.as_str(), problem.line),
            ("manifest-syntax", Some(2))
        );
        assert!(problem.message.contains(&limit), "{problem}");
    }
    for shape in &JSON[..2] {
        let deep = format!("\n{}", shape(1_000));
        let file = path("prompts/p.json");
        let file = (&file, Ok(&*deep));
        let library = definitions_library(&folder(), &[file], &every_file(), &limits());
        let problem = &library.problems[0];
        assert!(problem.message.contains(&limit), "{problem}");
        assert_eq!(problem.line, Some(2), "{problem}");
        let files = FunctionFiles {
            list: &deep,
            script: Ok(""),
            prefix: "prompt_",
        };
        let library = functions_library(&folder(), &files, &limits());
        let problem = &library.problems[0];
        assert!(problem.message.contains(&limit), "{problem}");
        assert_eq!(problem.line, Some(2), "{problem}");
        let error = read_output(deep.as_bytes()).expect_err("too deep");
        assert!(error.contains(&limit), "{error}");
        let error = store::ExportedProject::parse(&deep)
            .expect_err("too deep")
            .to_string();
        assert!(error.contains(&limit), "{error}");
    }
    let limit = format!("deeper than {YAML_NESTING} levels");
    for shape in &YAML[..3] {
        let text = format!("---\nx: 1\n{}---\n", shape(1_000));
        let read = front_matter::read(&text, &limits());
        let repair = &read.repairs[0];
        assert!(repair.message.contains(&limit), "{}", repair.message);
        assert!(repair.at.start > 4);
    }
}

/// The reader of YAML compares maps that are keys with all that they hold, at every level again: of these
/// 32 levels would take minutes and gigabytes.
#[test]
fn maps_that_are_keys_of_maps_are_refused_before_they_take_long() {
    for deep in [
        format!("{}a", "? ".repeat(32)),
        format!("{}a{}", "{".repeat(32), ": 1}".repeat(32)),
        format!("{}a{}", "{? ".repeat(32), "}".repeat(32)),
    ] {
        let text = format!("---\n{deep}\n---\n");
        let read = front_matter::read(&text, &limits());
        assert!(!read.repairs.is_empty(), "{deep}");
    }
}
