//! What files are called, which are prompts, and what is said of them.

use twig_clients::clients::formats;
use twig_core::{Kind, Severity};

use super::{Shelf, codes, one};

fn titles(shelf: &Shelf) -> Vec<(String, String)> {
    let library = shelf.library();
    let prompts = library.prompts.iter();
    let titles = prompts.map(|it| {
        (
            it.full_name.to_string(),
            it.title.as_deref().unwrap_or_default().to_owned(),
        )
    });
    titles.collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = expected.iter();
    pairs
        .map(|(one, two)| ((*one).to_owned(), (*two).to_owned()))
        .collect()
}

#[test]
fn folders_join_and_titles_keep_the_id() {
    let files = [
        ("commit.md", "x"),
        ("frontend/component.md", "# H\nx"),
        ("svelte:a11y.md", "x"),
        ("Node.js GPT - Project Builder.md", "x"),
        ("確定申告.md", "x"),
        ("ui/deep/Big_One.MD", "x"),
        ("named.md", "---\nname: other\n---\nx"),
        ("titled.md", "---\ntitle: A title\n---\n# H\n"),
        ("headed.md", "# A heading\n"),
    ];
    let claude = [
        ("lib:commit", "commit"),
        ("lib:frontend-component", "frontend:component"),
        ("lib:headed", "A heading"),
        ("lib:named", "other"),
        (
            "lib:node-js-gpt-project-builder",
            "Node.js GPT - Project Builder",
        ),
        ("lib:que-ding-shen-gao", "確定申告"),
        ("lib:svelte-a11y", "svelte:a11y"),
        ("lib:titled", "A title"),
        ("lib:ui-deep-big_one", "ui:deep:Big_One"),
    ];
    assert_eq!(
        titles(&Shelf::new(formats::CLAUDE.kind(), files)),
        pairs(&claude)
    );
    let markdown = titles(&Shelf::new(Kind::Markdown, files));
    assert_eq!(markdown[1].0, "frontend-component");
    assert_eq!(markdown[1].1, "frontend/component");
    let opencode = titles(&Shelf::new(formats::OPENCODE.kind(), files));
    assert!(opencode.contains(&("lib:other".to_owned(), "other".to_owned())));
    let copilot = Shelf::new(
        formats::COPILOT.kind(),
        [
            ("a/One.prompt.md", "x"),
            ("b.prompt.md", "---\nname: My Prompt\n---\n"),
        ],
    );
    assert_eq!(
        titles(&copilot),
        pairs(&[("lib:my-prompt", "My Prompt"), ("lib:one", "One")])
    );
}

#[test]
fn files_that_are_no_prompts_are_told() {
    let told = |kind, files: &[&str]| {
        let shelf = Shelf::new(kind, files.iter().map(|file| (*file, "x")));
        let library = shelf.library();
        let notes = library
            .problems
            .iter()
            .filter(|it| it.code == "not-a-prompt");
        (
            library.prompts.len(),
            notes.map(|it| it.message.clone()).collect::<Vec<_>>(),
        )
    };
    let files = [
        "README.md",
        "a/readme.md",
        "CLAUDE.md",
        "AGENTS.md",
        "templates/x.md",
        "node_modules/x/y.md",
        ".git/x.md",
        "notes.txt",
        ".md",
        "ok.md",
    ];
    let (prompts, notes) = told(formats::CLAUDE.kind(), &files);
    assert_eq!(prompts, 1);
    assert_eq!(
        notes,
        [
            "AGENTS.md speaks of its folder, so it is no prompt",
            "CLAUDE.md speaks of its folder, so it is no prompt",
            "README.md speaks of its folder, so it is no prompt",
            "readme.md speaks of its folder, so it is no prompt",
            "x.md is in a folder of templates, so it is no prompt",
        ]
    );
    let (prompts, notes) = told(formats::CODEX.kind(), &["one.MD", "sub/two.md"]);
    assert_eq!((prompts, notes.len()), (1, 1));
    let (prompts, notes) = told(formats::COPILOT.kind(), &["one.prompt.md", "two.md"]);
    assert_eq!(prompts, 1);
    assert_eq!(
        notes,
        ["two.md does not end in `.prompt.md`, so it is no prompt"]
    );
}

#[test]
fn two_files_never_share_a_name() {
    let files = [
        ("life-coach.md", "1"),
        ("Life Coach.md", "2"),
        ("LIFE/coach.md", "3"),
        ("other.md", "4"),
    ];
    let shelf = Shelf::new(formats::CLAUDE.kind(), files);
    let library = shelf.library();
    let names: Vec<&str> = library.prompts.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), 4);
    assert_eq!(names[0], "life-coach");
    assert!(names[1].starts_with("life-coach-") && names[2].starts_with("life-coach-"));
    assert_ne!(names[1], names[2]);
    // The file that is called just so keeps the name, and the others say so.
    assert_eq!(shelf.text("lib:life-coach", &[]), "1");
    assert_eq!(
        codes(&library.problems, Severity::Warning),
        ["duplicate-prompt"; 2]
    );
    let said = &library.problems[0];
    assert!(
        said.message.contains("LIFE/coach.md") && said.message.contains("life-coach.md"),
        "{said}"
    );
    // Whoever else is there does not change the name of a file.
    let less = Shelf::new(formats::CLAUDE.kind(), [files[0], files[2]]).library();
    assert_eq!(less.prompts[0].name.as_str(), "life-coach");
    assert!(names.contains(&less.prompts[1].name.as_str()));
}

#[test]
fn every_prompt_has_a_description() {
    for (text, expected) in [
        (
            "---\ndescription: Said, #1: first\n---\n# H\n\nText",
            "Said, #1: first",
        ),
        (
            "# H\n\nThe **first** paragraph,\non two lines.\n\nMore",
            "The first paragraph, on two lines.",
        ),
        ("---\nmodel: x\n---\n# Only a heading", "Only a heading"),
        ("", "The prompt one"),
        ("```\ncode\n```", "The prompt one"),
        ("---\ndescription:\n---\nText", "Text"),
        (
            "---\r\nglobs: **/*\r\ndescription: Windows\r\n---\r\nText",
            "Windows",
        ),
        ("# T\r\n\r\nWindows text\r\n", "Windows text"),
        (
            "---\ndescription: never closed\n",
            "description: never closed",
        ),
    ] {
        let (prompt, problems) = one(formats::CLAUDE.kind(), text);
        assert_eq!(prompt.description.as_deref(), Some(expected), "{text:?}");
        assert!(problems.iter().all(|it| it.severity == Severity::Note));
    }
    let long = format!("---\ndescription: {}\n---\n", "x".repeat(3_000));
    let (prompt, _) = one(formats::CLAUDE.kind(), &long);
    assert_eq!(prompt.description.map(|text| text.len()), Some(3_000));
}

#[test]
fn what_clients_cannot_be_told_is_one_note() {
    let file = "---\nallowed-tools: Read\nmodel: x\n---\nbody";
    let shelf = Shelf::new(
        formats::CLAUDE.kind(),
        [("a.md", file), ("b.md", file), ("c.md", file)],
    );
    let problems = shelf.library().problems;
    let [problem] = &problems[..] else {
        panic!("{problems:?}")
    };
    assert_eq!(
        problem.to_string(),
        "/home/lib/a.md: note[not-served]: `allowed-tools`, `model` in front matter: only the file's own client follows it (so in 2 other files)"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_of_its_own() {
    let mut shelf = Shelf::new(formats::CLAUDE.kind(), [("good.md", "x")]);
    let path = twig_core::RelativePath::parse("bad.md").expect("a path");
    shelf.files.insert(path, vec![0xff, 0xfe, 0xfd]);
    let library = shelf.library();
    let [bad, good] = &library.prompts[..] else {
        panic!()
    };
    assert!(bad.unavailable.is_some() && bad.description.is_some());
    assert_eq!(good.unavailable, None);
    assert_eq!(codes(&library.problems, Severity::Error).len(), 1);
}

#[test]
fn what_people_should_not_use_is_no_prompt() {
    let text = "---\nname: one\ndescription: d\nuser-invocable: no\n---\nbody";
    let library = Shelf::new(Kind::Skills, [("one/SKILL.md", text)]).library();
    assert!(library.prompts.is_empty());
    assert_eq!(library.skills.len(), 1);
    assert_eq!(codes(&library.problems, Severity::Note), ["not-invocable"]);
}

#[test]
fn the_digest_is_of_what_clients_see() {
    let digest = |text: &str| {
        Shelf::new(formats::CLAUDE.kind(), [("a.md", text)])
            .library()
            .digest
    };
    let before = digest("---\ndescription: d\n---\nbody $ARGUMENTS");
    assert_eq!(
        digest("---\ndescription: d\n---\nother body $ARGUMENTS"),
        before
    );
    assert_ne!(digest("---\ndescription: e\n---\nbody $ARGUMENTS"), before);
    assert_ne!(digest("---\ndescription: d\n---\nbody"), before);
}
