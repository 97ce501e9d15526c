//! What is exported, read again by our own readers: the same arguments, the same words.

use std::sync::Arc;

use proptest::prelude::*;
use twig_clients::clients::ExportFormat;
use twig_clients::export::ExportItem;
use twig_clients::format::{self, Options};
use twig_core::argument::implied_arguments;
use twig_core::parse::library::LibraryRoot;
use twig_core::{Catalog, Dialect, Latest, LibraryName, Limits, Prompt, RelativePath};
use twig_testkit::MemoryFiles;

use super::{Shelf, jinja, prompt, said, verbatim};

/// A file that was exported, as a library of its client has it.
struct Back {
    catalog: Latest<'static>,
    files: MemoryFiles,
}

impl Back {
    fn of(client: ExportFormat, item: &ExportItem) -> Self {
        let folder = LibraryRoot {
            name: LibraryName::from_folder("back").expect("a name"),
            root: "/data/back".into(),
            shown_root: "~/back".into(),
            prefix: "back:".into(),
        };
        let limits = Limits::default();
        let path = RelativePath::parse(&item.path).expect("a path");
        let kind = client.kind();
        let options = Options::default();
        let reading = format::read(kind, &folder, &path, Ok(&item.text), options, &limits);
        let bad: Vec<&str> = reading
            .problems
            .iter()
            .map(|problem| problem.code.as_str())
            .filter(|code| !matches!(*code, "first-argument" | "hidden-character"))
            .collect();
        assert_eq!(bad, [] as [&str; 0], "{:?} {}", reading.problems, item.text);
        let library = format::library(&folder, kind, [(&path, &reading)], &[], &limits);
        let mut files = MemoryFiles::default();
        files.insert(format!("back:{path}"), item.text.clone());
        Self {
            catalog: Catalog::build([Arc::new(library)]).into(),
            files,
        }
    }

    fn prompt(&self) -> &Prompt {
        self.catalog.prompts(0).next().expect("a prompt").prompt
    }

    /// What it says with these values, in the order of its arguments.
    fn say(&self, values: &[&str]) -> String {
        let names = self
            .prompt()
            .arguments
            .iter()
            .map(|argument| &*argument.name);
        let given: Vec<(&str, &str)> = names.zip(values.iter().copied()).collect();
        said(&self.catalog, &self.files, &given)
    }
}

/// The clients that fill in arguments.
const FILLING: [ExportFormat; 3] = [
    ExportFormat::Claude,
    ExportFormat::Copilot,
    ExportFormat::Opencode,
];

#[test]
fn arguments_keep_their_names_where_the_format_has_names() {
    let shelf = jinja(
        &["language", "code!"],
        "{{ language }}: {{ code }} and {{ language }}",
    );
    for (client, names) in [
        (ExportFormat::Claude, ["language", "code"]),
        (ExportFormat::Copilot, ["language", "code"]),
        (ExportFormat::Opencode, ["arg1", "arg2"]),
    ] {
        let back = Back::of(client, &shelf.item(client));
        let found: Vec<&str> = back
            .prompt()
            .arguments
            .iter()
            .map(|one| &*one.name)
            .collect();
        assert_eq!(found, names, "{}", client.as_str());
        assert_eq!(back.prompt().description.as_deref(), Some("Does something"));
        assert_eq!(back.prompt().name.as_str(), "main");
        assert_eq!(
            back.say(&["rust", "x = 1"]).trim_end(),
            "rust: x = 1 and rust"
        );
    }
}

#[test]
fn one_argument_is_enough_for_gemini() {
    let shelf = jinja(
        &["topic"],
        "About {{ topic }}: '''quoted''' and {{ '{{args}}' }}\n",
    );
    let item = shelf.item(ExportFormat::Gemini);
    let back = Back::of(ExportFormat::Gemini, &item);
    assert_eq!(back.prompt().description.as_deref(), Some("Does something"));
    let names: Vec<&str> = back
        .prompt()
        .arguments
        .iter()
        .map(|one| &*one.name)
        .collect();
    assert_eq!(names, ["args"]);
    assert_eq!(back.say(&["x"]), "About x: '''quoted''' and {{ args}}\n");
}

#[test]
fn the_input_of_a_pattern_comes_last() {
    let dialect = Dialect::Marks(twig_core::Marks::Patterns);
    let shelf = Shelf::default().with(
        "claude",
        dialect,
        prompt("main", &["lang", "input"]),
        "To {{lang}}\n",
    );
    let said = shelf.say(&[("lang", "en"), ("input", "text")]);
    assert_eq!(said, "To en\n\ntext");
    for client in FILLING {
        let back = Back::of(client, &shelf.item(client));
        assert_eq!(
            back.say(&["en", "text"]).trim_end(),
            said,
            "{}",
            client.as_str()
        );
    }
}

#[test]
fn skills_say_the_same_and_list_what_they_take() {
    for (text, arguments) in [
        ("About {{ x }}.", &["x"][..]),
        ("{{ x }} to {{ y }}.", &["x", "y"]),
    ] {
        let shelf = jinja(arguments, text);
        let back = Back::of(ExportFormat::Skills, &shelf.item(ExportFormat::Skills));
        let values = ["one", "two"];
        let given: Vec<(&str, &str)> = arguments.iter().copied().zip(values).collect();
        let said = back.say(&values[..arguments.len()]);
        assert!(
            said.starts_with(&format!("{}\n\nArguments,", shelf.say(&given))),
            "{said}"
        );
    }
}

#[test]
fn skills_have_no_escapes() {
    let text = "Count {{ x }}:\n```sh\nawk '{% raw %}{print $1}{% endraw %}' {{ y }}\n```\nIt costs $5, says $ARGUMENTS.\n";
    let shelf = jinja(&["x", "y"], text);
    let item = shelf.item(ExportFormat::Skills);
    let body = "Count {{x}}:\n```sh\nawk '{print $1}' {{y}}\n```\nIt costs $5, says $ ARGUMENTS.\n\n\
        Arguments, given after the command in this order; put them where the text has their names in double braces:\n\n- x\n- y\n";
    assert!(item.text.ends_with(body), "{}", item.text);
    assert_eq!(
        item.notes,
        [
            "a space was put into one place that Claude Code would run or fill in: `$ARGUMENTS.`",
            "skills have no arguments: a list at the end tells the model what to fill in",
        ]
    );
    // Words are appended to it, as to every skill without a mark.
    let back = Back::of(ExportFormat::Skills, &item);
    assert_eq!(&*back.prompt().arguments, implied_arguments());
    // A command of Claude Code has them: no other client reads it.
    let item = shelf.item(ExportFormat::Claude);
    assert!(item.text.contains(r"{print \$1}"), "{}", item.text);
    // A skill is copied as its author wrote it.
    let dialect = Dialect::Marks(twig_core::Marks::Named);
    let text = "Read $ARGUMENTS for \\$1.\n";
    let shelf = Shelf::default().with("skills", dialect, prompt("main", &["arguments"]), text);
    assert_eq!(shelf.say(&[("arguments", "it")]), "Read it for $1.\n");
}

#[test]
fn what_its_author_says_nothing_about_gains_no_argument() {
    let text = "---\ndescription: Does something\n---\nDo it. It is \\$1.\n";
    let dialect = Dialect::Marks(twig_core::Marks::Appended {
        form: twig_core::AppendedForm::Labelled,
        is_implied: true,
    });
    let shelf = Shelf::default().with("claude", dialect, prompt("main", &["arguments"]), text);
    let said = "Do it. It is $1.\n";
    assert_eq!(shelf.say(&[("arguments", "")]), said);
    let with_words = format!("{said}\nARGUMENTS: now");
    assert_eq!(shelf.say(&[("arguments", "now")]), with_words);
    for client in [
        ExportFormat::Claude,
        ExportFormat::Copilot,
        ExportFormat::Windsurf,
        ExportFormat::Skills,
        ExportFormat::Cursor,
        ExportFormat::Gemini,
        ExportFormat::Opencode,
    ] {
        let item = shelf.item(client);
        assert!(
            !item.text.to_lowercase().contains("argument"),
            "{}",
            item.text
        );
        assert!(!item.text.contains("args"), "{}", item.text);
        let back = Back::of(client, &item);
        assert_eq!(
            &*back.prompt().arguments,
            implied_arguments(),
            "{}",
            client.as_str()
        );
        let said_back = back.say(&[]);
        if client != ExportFormat::Opencode {
            assert!(said_back.starts_with(said), "{said_back}");
        }
        if client == ExportFormat::Claude {
            assert_eq!(back.say(&["now"]), with_words);
            assert!(item.text.contains("It is \\$1."), "{}", item.text);
        }
    }
}

#[test]
fn what_has_no_arguments_is_the_same_everywhere() {
    let shelf = verbatim("# Title\n\nWords: {{ braces }}, `code`, $HOME\n\n```sh\nawk $1\n```\n");
    for client in [
        ExportFormat::Claude,
        ExportFormat::Copilot,
        ExportFormat::Windsurf,
        ExportFormat::Skills,
        ExportFormat::Cursor,
    ] {
        let item = shelf.item(client);
        let back = Back::of(client, &item);
        // The file names no argument: words are appended, as its client does.
        let arguments = &*back.prompt().arguments;
        assert_eq!(arguments, implied_arguments(), "{}", client.as_str());
        let said = back.say(&[]);
        assert!(said.starts_with(&shelf.say(&[])), "{said}");
    }
}

#[test]
fn a_value_behind_the_text_stays_there() {
    let mut main = prompt("main", &["arguments"]);
    main.description = Some("x".into());
    let dialect = Dialect::Marks(twig_core::Marks::Appended {
        form: twig_core::AppendedForm::Labelled,
        is_implied: false,
    });
    let text = "---\nargument-hint: what\n---\nDo it.\n";
    let shelf = Shelf::default().with("claude", dialect, main, text);
    let said = shelf.say(&[("arguments", "now")]);
    assert_eq!(said, "Do it.\n\nARGUMENTS: now");
    for client in FILLING {
        let back = Back::of(client, &shelf.item(client));
        assert_eq!(back.say(&["now"]).trim_end(), said, "{}", client.as_str());
    }
}

/// A template that prints its arguments between words; the last line has each of them.
fn template() -> impl Strategy<Value = String> {
    let words = prop_oneof![
        "[a-z .,:;\n-]{1,12}",
        "[\u{c0}-\u{17f}]{1,4}",
        proptest::sample::select(vec![
            "$ARGUMENTS",
            "$1",
            "$5.00",
            "$x",
            "$HOME",
            "costs $",
            "---\n",
            "# x\n",
            "[1]",
            "0",
        ])
        .prop_map(str::to_owned),
        proptest::sample::select(vec![" {{ x }} ", "{{ x }}", "({{ y }})", " {{ y }}s "])
            .prop_map(str::to_owned),
    ];
    let words = proptest::collection::vec(words, 1..12);
    words.prop_map(|words| format!("(start) {} {{{{ x }}}} {{{{ y }}}}", words.concat()))
}

proptest! {
    #[test]
    fn the_same_values_make_the_same_text(
        template in template(),
        x in "[a-z$ `!{}\\\\]{1,8}",
        y in "[a-z$0-9]{1,8}",
    ) {
        let shelf = jinja(&["x", "y"], &template);
        let expected = shelf.say(&[("x", &x), ("y", &y)]);
        // Our reader takes no number for a mark that words or other signs run into; opencode does.
        let is_sign = |c: char| c == '$' || c.is_ascii_uppercase();
        let runs_on = template.split("{{").any(|before| before.ends_with(is_sign))
            || template.split("}}").any(|after| after.starts_with(char::is_alphanumeric));
        for client in FILLING {
            if client == ExportFormat::Opencode && runs_on {
                continue;
            }
            for item in shelf.export(client).items {
                let back = Back::of(client, &item);
                // There, arguments come in the order of the text.
                let is_first = back.prompt().arguments[0].name.ends_with(['x', '1']);
                let values = if is_first { [&*x, &*y] } else { [&*y, &*x] };
                let said = back.say(&values);
                // opencode knows no escapes: a blank keeps its marks apart.
                let said = match client {
                    ExportFormat::Opencode => said.replace("$ ", "$"),
                    _ => said,
                };
                let expected = match client {
                    ExportFormat::Opencode => expected.replace("$ ", "$"),
                    _ => expected.clone(),
                };
                prop_assert_eq!(said.trim_end(), expected.trim_end(), "{}\n{}", client.as_str(), item.text);
            }
        }
    }
}
