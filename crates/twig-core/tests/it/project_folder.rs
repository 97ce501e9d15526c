//! A project as a folder: what its files are called, and what `project.json` says.

use std::collections::BTreeSet;

use proptest::prelude::*;
use twig_core::store::{
    ContentInfo, ExportedProject, FolderError, Item, ItemKind, Noun, Operation, Project, StoreName,
    Timestamp, Version,
};

fn name(text: &str) -> StoreName {
    StoreName::parse(Noun::Project, text).expect("a name")
}

fn item(kind: ItemKind, text: &str, mime: Option<&str>) -> Item {
    Item {
        kind,
        name: name(text),
        head: Version {
            number: 1,
            operation: Operation::Create,
            description: Some(format!("What {text} is for\n\"quoted\" – ünïcode").into()),
            uri: mime.map(|_| format!("file:///{text}").into()),
            mime: mime.map(Into::into),
            content: ContentInfo {
                digest: [0xab; 32],
                size: 0,
                is_text: true,
            },
            at: Timestamp(0),
            author: "test".into(),
        },
        labels: Vec::new(),
    }
}

fn project(mut items: Vec<Item>) -> Project {
    items.sort_by(|one, two| (one.kind, &one.name).cmp(&(two.kind, &two.name)));
    items.dedup_by(|one, two| one.kind == two.kind && one.name == two.name);
    Project {
        id: [0; 16],
        name: name("garden"),
        revision: 1,
        items,
    }
}

fn prompts(names: &[&str]) -> Vec<String> {
    let items = names.iter().map(|n| item(ItemKind::Prompt, n, None));
    files(items.collect())
}

fn files(items: Vec<Item>) -> Vec<String> {
    let folder = ExportedProject::of(&project(items)).expect("every name has a path");
    folder.entries.iter().map(|e| e.file.to_string()).collect()
}

#[test]
fn files_are_called_like_what_they_hold() {
    assert_eq!(
        prompts(&["code-review", "Refactor", "notes.md"]),
        [
            "prompts/Refactor.md",
            "prompts/code-review.md",
            "prompts/notes.md"
        ]
    );
    let resource = |name, mime| files(vec![item(ItemKind::Resource, name, Some(mime))]).remove(0);
    assert_eq!(resource("api.md", "text/markdown"), "resources/api.md");
    assert_eq!(resource("api", "text/markdown"), "resources/api.md");
    assert_eq!(resource("api.htm", "text/html"), "resources/api.htm");
    assert_eq!(
        resource("schema", "application/sql"),
        "resources/schema.sql"
    );
    assert_eq!(resource("logo", "image/png; q=1"), "resources/logo.png");
    assert_eq!(resource("a.png", "text/x-unheard"), "resources/a.png.txt");
    assert_eq!(resource("a", "application/x-unheard"), "resources/a.bin");
}

#[test]
fn names_that_systems_or_tools_misread_are_marked() {
    insta::assert_snapshot!(prompts(&[
        "con", "CON.x", "nul.md", "com1", "lpt9.a", ".git", ".gitattributes", "...", "-rf", "a.",
        ".md", "..md", "conx", "com10"
    ]).join("\n"), @"
    prompts/rf~686c39ac.md
    prompts/_~ab5df625.md
    prompts/_~1dfe25f2.md
    prompts/git~4d0a4dff.md
    prompts/gitattributes~618cd5b8.md
    prompts/_~d42178eb.md
    prompts/_CON.x~047619f5.md
    prompts/a..md
    prompts/_com1~957a49c3.md
    prompts/com10.md
    prompts/_con~1143da2b.md
    prompts/conx.md
    prompts/_lpt9.a~36bc9899.md
    prompts/_nul~0b15013a.md
    ");
    let long = "x".repeat(255);
    insta::assert_snapshot!(prompts(&[&long])[0], @"prompts/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx~d22609da.md");
}

#[test]
fn names_that_differ_in_case_alone_have_files_of_their_own() {
    insta::assert_snapshot!(prompts(&["README", "readme", "readme.md", "readme.MD", "other"]).join("\n"), @"
    prompts/README~2b7814d3.md
    prompts/other.md
    prompts/readme~711a6108.md
    prompts/readme~6763c959.MD
    prompts/readme~5a831ea6.md
    ");
}

#[test]
fn the_json_says_all_there_is() {
    let items = vec![
        item(ItemKind::Prompt, "review", None),
        item(ItemKind::Resource, "api", Some("text/markdown")),
    ];
    let folder = ExportedProject::of(&project(items)).expect("a folder");
    insta::assert_snapshot!(folder.to_json(), @r#"
    {
      "format": 1,
      "name": "garden",
      "prompts": [
        {
          "name": "review",
          "description": "What review is for\n\"quoted\" – ünïcode",
          "file": "prompts/review.md",
          "sha256": "abababababababababababababababababababababababababababababababab"
        }
      ],
      "resources": [
        {
          "name": "api",
          "uri": "file:///api",
          "mime_type": "text/markdown",
          "description": "What api is for\n\"quoted\" – ünïcode",
          "file": "resources/api.md",
          "sha256": "abababababababababababababababababababababababababababababababab"
        }
      ]
    }
    "#);
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let told = |json: &str| ExportedProject::parse(json).expect_err(json).to_string();
    let with = |prompts: &str, resources: &str| {
        told(&format!(
            r#"{{"format":1,"name":"p","prompts":[{prompts}],"resources":[{resources}]}}"#
        ))
    };
    let prompt = |name: &str, file: &str| format!(r#"{{"name":"{name}","file":"{file}"}}"#);
    let resource = |name: &str, uri: &str| {
        format!(r#"{{"name":"{name}","uri":"{uri}","file":"resources/a"}}"#)
    };
    let all = [
        told(""),
        told("[]"),
        told(r#"{"name":"p"}"#),
        told(r#"{"format":3,"anything":"else"}"#),
        told(r#"{"format":1,"name":"../p","prompts":[],"resources":[]}"#),
        with(r#"{"name":"a","fil":"x"}"#, ""),
        with(&prompt("a/b", "prompts/a"), ""),
        with(&prompt("a", "../a"), ""),
        with(&prompt("a", "/etc/passwd"), ""),
        with(&prompt("a", "C:/a"), ""),
        with(&prompt("a", r"x\\a"), ""),
        with(&prompt("a", ".git/config"), ""),
        with(&prompt("a", "prompts/.env"), ""),
        with(&prompt("a", "prompts/.ssh/key"), ""),
        with(&prompt("a", "secrets.txt"), ""),
        with(&prompt("a", "prompts"), ""),
        with(
            &[prompt("a", "prompts/x"), prompt("a", "prompts/y")].join(","),
            "",
        ),
        with("", &[resource("a", "u:1"), resource("b", "u:1")].join(",")),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    is not a project's: EOF while parsing a value at line 1 column 0
    is not a project's: invalid length 0, expected an object with `format` at line 1 column 2
    is not a project's: missing field `format` at line 1 column 12
    has format 3; this version of Twig reads formats 1 and 2
    has a name that cannot be: Project name '../p' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .
    is not a project's: unknown field `fil`, expected one of `name`, `description`, `file`, `sha256`, `version`, `labels`, `versions` at line 1 column 51
    has a name that cannot be: Prompt name 'a/b' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .
    has a path that does not point to a file inside the folder: `../a`
    has a path that does not point to a file inside the folder: `/etc/passwd`
    has a path that does not point to a file inside the folder: `C:/a`
    has a path that does not point to a file inside the folder: `x\a`
    names a file that is not taken: `.git/config`; files of a project are beneath prompts/ or resources/, and no part of their path begins with a dot
    names a file that is not taken: `prompts/.env`; files of a project are beneath prompts/ or resources/, and no part of their path begins with a dot
    names a file that is not taken: `prompts/.ssh/key`; files of a project are beneath prompts/ or resources/, and no part of their path begins with a dot
    names a file that is not taken: `secrets.txt`; files of a project are beneath prompts/ or resources/, and no part of their path begins with a dot
    names a file that is not taken: `prompts`; files of a project are beneath prompts/ or resources/, and no part of their path begins with a dot
    names prompt `a` twice
    names URI `u:1` twice
    ");
    assert_eq!(
        ExportedProject::parse(r#"{"format":9}"#),
        Err(FolderError::Format(9))
    );
}

proptest! {
    #[test]
    fn every_project_has_files_of_its_own_on_every_system(
        names in prop::collection::vec(
            prop_oneof![
                "[A-Za-z0-9._-]{1,4}",
                "(?i)(con|nul|com1|a|b)(\\.(md|txt))?",
                "[aA.-]{1,3}",
                "[a-z.]{90,255}",
            ],
            0..40,
        ),
        mime in prop::sample::select(vec!["text/markdown", "text/plain", "image/png", "x/y"]),
    ) {
        let names = names.iter().filter(|name| !matches!(name.as_str(), "." | ".."));
        let items = names.enumerate().map(|(at, name)| if at % 2 == 0 {
            item(ItemKind::Prompt, name, None)
        } else {
            item(ItemKind::Resource, name, Some(mime))
        });
        let folder = ExportedProject::of(&project(items.collect())).expect("every name has a path");
        let mut seen = BTreeSet::new();
        for entry in &folder.entries {
            let file = entry.file.file_name();
            prop_assert!(seen.insert(entry.file.as_str().to_lowercase()), "{}", file);
            prop_assert!(file.len() <= 200 && !file.starts_with(['.', '-']) && !file.ends_with('.'));
            let first = file.split('.').next().unwrap_or_default().to_lowercase();
            prop_assert!(!["con", "nul", "com1"].contains(&&*first), "{}", file);
        }
        prop_assert_eq!(ExportedProject::parse(&folder.to_json()), Ok(folder));
    }
}
