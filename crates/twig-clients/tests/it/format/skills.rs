//! Skills: a prompt each, and all the files that it brings.

use twig_core::{Block, LibraryKind, Severity};

use super::{Shelf, codes};

const HEAD: &str = "---\nname: pdf\ndescription: Reads PDFs\nmetadata:\n  version: \"1.0\"\n---\n";

#[test]
fn a_skill_says_where_its_files_are() {
    let text = format!(
        "{HEAD}\nRun ${{CLAUDE_SKILL_DIR}}/scripts/x.py for $ARGUMENTS; ${{CLAUDE_PLUGIN_ROOT}}.\n"
    );
    let shelf = Shelf::new(
        LibraryKind::Skills,
        [
            ("tools/pdf/SKILL.md", &*text),
            ("tools/pdf/scripts/x y.py", "print()"),
            ("tools/pdf/reference/forms.md", "# Forms\n"),
            ("tools/pdf/node_modules/a/b.js", "no"),
            ("tools/pdf-more/other.txt", "not beneath"),
            ("loose.txt", "not beneath"),
        ],
    );
    let messages = shelf
        .messages("lib:pdf", &[("arguments", "a.pdf")])
        .expect("a prompt");
    let Block::Text(said) = &messages[0].block else {
        panic!()
    };
    assert_eq!(
        said,
        "\nRun /home/lib/tools/pdf/scripts/x.py for a.pdf; ${CLAUDE_PLUGIN_ROOT}.\n\n\
         Base directory for this skill: /home/lib/tools/pdf\n\
         Relative paths in this skill are relative to this base directory.\n\
         Files of this skill:\n- reference/forms.md\n- scripts/x y.py\n"
    );
    assert_eq!(messages.len(), 1);
    let library = shelf.library();
    let [skill] = &library.skills[..] else {
        panic!("{:?}", library.skills)
    };
    assert_eq!(&*skill.uri, "skill://lib/tools/pdf/SKILL.md");
    assert_eq!(
        &*skill.front_matter,
        r#"{"name":"pdf","description":"Reads PDFs","metadata":{"version":"1.0"}}"#
    );
    let files: Vec<&str> = skill.files.iter().map(|file| &*file.uri).collect();
    assert_eq!(
        files,
        [
            "skill://lib/tools/pdf/SKILL.md",
            "skill://lib/tools/pdf/reference/forms.md",
            "skill://lib/tools/pdf/scripts/x%20y.py",
        ]
    );
    let [own, forms, script] = &library.documents[..] else {
        panic!("{:?}", library.documents)
    };
    assert_eq!(
        (&*own.name, own.description.as_deref()),
        ("pdf", Some("Reads PDFs"))
    );
    assert_eq!(
        (&*forms.name, forms.title.as_deref()),
        ("pdf/reference/forms.md", Some("Forms"))
    );
    assert_eq!(&*own.mime, "text/markdown");
    assert_eq!(script.title.as_deref(), Some("x y.py"));
    assert!(library.problems.is_empty(), "{:?}", library.problems);
}

#[test]
fn the_list_of_files_stops_at_the_limit() {
    let mut shelf = Shelf::new(
        LibraryKind::Skills,
        [("a/SKILL.md", "x"), ("a/1", ""), ("a/2", ""), ("a/3", "")],
    );
    let said = |shelf: &Shelf| match &shelf.messages("a", &[]).expect("a prompt")[..] {
        [only] => match &only.block {
            Block::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        },
        several => panic!("{several:?}"),
    };
    assert!(said(&shelf).ends_with("Files of this skill:\n- 1\n- 2\n- 3\n"));
    shelf.limits.embedded = 2;
    assert!(said(&shelf).ends_with("Files of this skill:\n- 1\n- 2\n- and 1 more\n"));
}

#[test]
fn what_is_no_skill_is_still_a_prompt() {
    for (front, why) in [
        ("", "its front matter has no `name`"),
        (
            "---\nname: Claude Code Guide\ndescription: d\n---\n",
            "its `name` is not of the letters a to z, digits and single `-`, 64 at most",
        ),
        (
            "---\nname: a--b\ndescription: d\n---\n",
            "its `name` is not of the letters a to z, digits and single `-`, 64 at most",
        ),
        (
            "---\nname: a\n---\n",
            "its front matter has no `description`",
        ),
    ] {
        let library = Shelf::new(
            LibraryKind::Skills,
            [("My Guide/SKILL.md", front), ("My Guide/a.txt", "")],
        )
        .library();
        assert!(library.skills.is_empty());
        let name = if front.contains("name: a\n") {
            "a"
        } else {
            "my-guide"
        };
        assert_eq!(library.prompts[0].name.as_str(), name, "{front}");
        let note = library
            .problems
            .iter()
            .find(|it| it.code == "not-a-skill")
            .expect("a note");
        assert_eq!(
            note.message,
            format!("it is served as a prompt, and not as a skill: {why}")
        );
        assert!(
            library
                .documents
                .iter()
                .any(|it| &*it.uri == "skill://lib/My%20Guide/a.txt")
        );
    }
    let long = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1_025));
    let library = Shelf::new(LibraryKind::Skills, [("a/SKILL.md", &*long)]).library();
    assert_eq!((library.skills.len(), library.prompts.len()), (1, 1));
    assert_eq!(library.problems[0].code, "long-description");
}

#[test]
fn in_folders_of_claude_the_folder_is_the_name() {
    let mut shelf = Shelf::new(LibraryKind::Skills, [("reader/SKILL.md", HEAD)]);
    assert_eq!(shelf.library().prompts[0].name.as_str(), "pdf");
    shelf.root = "/home/.claude/skills";
    let library = shelf.library();
    assert_eq!(library.prompts[0].name.as_str(), "reader");
    assert_eq!(&*library.skills[0].uri, "skill://lib/pdf/SKILL.md");
}

#[test]
fn uris_never_collide() {
    let shelf = Shelf::new(
        LibraryKind::Skills,
        [
            ("a/SKILL.md", HEAD),
            ("a/x.txt", "1"),
            ("b/SKILL.md", HEAD),
            ("b/x.txt", "2"),
            ("SKILL.md", "---\nname: root\ndescription: d\n---\n"),
            ("templates/SKILL.md", "---\nname: no\ndescription: d\n---\n"),
        ],
    );
    let library = shelf.library();
    let uris: Vec<&str> = library.skills.iter().map(|skill| &*skill.uri).collect();
    assert_eq!(
        uris,
        [
            "skill://lib/b/pdf/SKILL.md",
            "skill://lib/pdf/SKILL.md",
            "skill://lib/root/SKILL.md"
        ]
    );
    let all: std::collections::BTreeSet<&str> =
        library.documents.iter().map(|it| &*it.uri).collect();
    assert_eq!(all.len(), library.documents.len());
    // The enclosing skill has all files, those of nested ones too.
    assert_eq!(library.skills[2].files.len(), 6);
    assert_eq!(library.skills[0].files.len(), 2);
    assert_eq!(
        codes(&library.problems, Severity::Warning),
        ["duplicate-prompt"]
    );
    for skill in &library.skills {
        assert!(skill.files.iter().all(|file| all.contains(&*file.uri)));
    }
}

#[test]
fn a_list_has_its_limits() {
    let list = |files: usize, bytes: usize| {
        let mut shelf = Shelf::new(LibraryKind::Skills, [("a/SKILL.md", HEAD), ("a/b", "12")]);
        shelf.limits.skill_files = files;
        shelf.limits.skill_bytes = bytes;
        let library = shelf.library();
        let skill = &library.skills[0];
        assert_eq!(library.documents.len(), 2);
        assert_eq!(skill.is_unlisted, skill.files.is_empty());
        let problems = library.problems.iter().map(|it| it.message.clone());
        problems.collect::<String>()
    };
    let size = HEAD.len() + 2;
    assert_eq!(list(2, size), "");
    assert_eq!(
        list(1, size),
        "the skill has 2 files, too many for a list of them; the limit is 1"
    );
    assert_eq!(
        list(2, size - 1),
        format!(
            "the skill's files hold {size} bytes, too many for a list of them; the limit is {}",
            size - 1
        )
    );
}

#[test]
fn of_two_spellings_of_the_file_one_is_the_skill() {
    let other = "---\nname: other\ndescription: Other\n---\n";
    let shelf = Shelf::new(
        LibraryKind::Skills,
        [("pdf/SKILL.md", HEAD), ("pdf/skill.md", other)],
    );
    let library = shelf.library();
    assert_eq!((library.prompts.len(), library.skills.len()), (1, 1));
    let files = &library.skills[0].files;
    let uris: Vec<&str> = files.iter().map(|file| &*file.uri).collect();
    assert_eq!(
        uris,
        ["skill://lib/pdf/SKILL.md", "skill://lib/pdf/skill.md"]
    );
}

#[test]
fn front_matter_that_was_mended_makes_no_skill() {
    for front in [
        "---\nname: a\ndescription: Use when: always\n---\n",
        "# licence\n---\nname: a\ndescription: d\n---\n",
    ] {
        let library = Shelf::new(LibraryKind::Skills, [("a/SKILL.md", front)]).library();
        assert_eq!(
            (library.skills.len(), library.prompts.len()),
            (0, 1),
            "{front}"
        );
        assert!(library.problems.iter().any(|it| it.code == "not-a-skill"));
    }
}
