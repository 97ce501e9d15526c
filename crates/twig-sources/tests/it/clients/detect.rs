//! What a folder is, by its path and its layout.

use twig_clients::clients::formats;
use twig_core::LibraryKind;
use twig_sources::{LiveCatalog, Settings};

use super::{files, kinds, libraries, named, remembered};
use crate::support::{Tree, codes, problems};

const SKILL: &str = "---\nname: pdf\ndescription: Reads PDF files.\n---\nBody\n";

/// Writes files, names a folder, and says what libraries there are.
fn found(files: &[&str], named_path: &str) -> Vec<(String, &'static str, String)> {
    let tree = Tree::new();
    for file in files {
        tree.write(file, text_for(file));
    }
    let live = LiveCatalog::load(named(&tree, &[named_path]));
    libraries(&tree, &live)
}

fn text_for(file: &str) -> &'static str {
    if file.ends_with("SKILL.md") {
        return SKILL;
    }
    match file.rsplit('.').next() {
        Some("toml") => "prompt = \"Do it\"\n",
        Some("yml") => "messages:\n  - role: user\n    content: Hi\n",
        Some("json") => "{}",
        _ => "Do it.\n",
    }
}

fn check(files: &[&str], path: &str, expected: &[(&str, &str, &str)]) {
    let found = found(files, path);
    let found: Vec<(&str, &str, &str)> = found
        .iter()
        .map(|(name, kind, root)| (&**name, *kind, &**root))
        .collect();
    assert_eq!(found, expected, "{path} with {files:?}");
}

#[test]
fn the_folders_of_clients_are_told_by_their_path_from_inside_and_from_outside() {
    let table = [
        (".claude/commands", "x.md", "claude", "claude"),
        (".claude/skills", "pdf/SKILL.md", "claude_skills", "skills"),
        (".agents/skills", "pdf/SKILL.md", "skills", "skills"),
        (".github/prompts", "x.prompt.md", "copilot", "copilot"),
        (
            ".config/Code/User/prompts",
            "x.prompt.md",
            "copilot",
            "copilot",
        ),
        (
            "Library/Application Support/Code/User/prompts",
            "x.prompt.md",
            "copilot",
            "copilot",
        ),
        (".clinerules/workflows", "x.md", "cline", "windsurf"),
        (".github/skills", "pdf/SKILL.md", "copilot_skills", "skills"),
        (
            ".copilot/skills",
            "pdf/SKILL.md",
            "copilot_skills",
            "skills",
        ),
        (".codex/prompts", "x.md", "codex", "codex"),
        (".codex/skills", "pdf/SKILL.md", "codex_skills", "skills"),
        (".gemini/commands", "x.toml", "gemini", "gemini"),
        (".cursor/commands", "x.md", "cursor", "cursor"),
        (".cursor/skills", "pdf/SKILL.md", "cursor_skills", "skills"),
        (".opencode/command", "x.md", "opencode", "opencode"),
        (".opencode/commands", "x.md", "opencode", "opencode"),
        (
            ".opencode/skills",
            "pdf/SKILL.md",
            "opencode_skills",
            "skills",
        ),
        (".config/opencode/command", "x.md", "opencode", "opencode"),
        (
            ".config/opencode/skills",
            "pdf/SKILL.md",
            "opencode_skills",
            "skills",
        ),
        (".windsurf/workflows", "x.md", "windsurf", "windsurf"),
        (
            ".codeium/windsurf/global_workflows",
            "x.md",
            "windsurf",
            "windsurf",
        ),
        (
            ".codeium/windsurf/skills",
            "pdf/SKILL.md",
            "windsurf_skills",
            "skills",
        ),
        (".kiro/skills", "pdf/SKILL.md", "kiro_skills", "skills"),
        (".cline/skills", "pdf/SKILL.md", "cline_skills", "skills"),
        (
            ".config/fabric/patterns",
            "ask/system.md",
            "fabric",
            "fabric",
        ),
        ("data/patterns", "ask/system.md", "fabric", "fabric"),
        (".continue/prompts", "x.md", "continue", "markdown"),
    ];
    for (folder, file, name, kind) in table {
        let root = format!("shop/{folder}");
        let file = format!("{root}/{file}");
        let expected = [(name, kind, &*root)];
        check(&[&file], &root, &expected);
        check(&[&file], "shop", &expected);
    }
}

#[test]
fn a_project_with_several_clients_is_several_libraries() {
    let files = [
        "shop/.claude/commands/a.md",
        "shop/.github/prompts/b.prompt.md",
        "shop/.agents/skills/pdf/SKILL.md",
        "shop/README.md",
    ];
    let expected = [
        ("claude", "claude", "shop/.claude/commands"),
        ("skills", "skills", "shop/.agents/skills"),
        ("copilot", "copilot", "shop/.github/prompts"),
    ];
    check(&files, "shop", &expected);
}

#[test]
fn the_folder_of_one_client_and_a_folder_of_projects_are_looked_into() {
    let files = [
        "home/.claude/commands/a.md",
        "home/.claude/skills/pdf/SKILL.md",
        "home/.claude/notes.md",
    ];
    let expected = [
        ("claude", "claude", "home/.claude/commands"),
        ("claude_skills", "skills", "home/.claude/skills"),
    ];
    check(&files, "home/.claude", &expected);
    let files = [
        "code/one/.claude/commands/a.md",
        "code/two/.cursor/commands/a.md",
        "code/three/patterns/ask/system.md",
        "code/README.md",
    ];
    let expected = [
        ("claude", "claude", "code/one/.claude/commands"),
        ("patterns", "fabric", "code/three/patterns"),
        ("cursor", "cursor", "code/two/.cursor/commands"),
    ];
    check(&files, "code", &expected);
}

#[test]
fn other_folders_are_told_by_their_layout() {
    let one = |name: &'static str, kind: &'static str, root: &'static str| [(name, kind, root)];
    check(
        &["box/pdf/SKILL.md", "box/README.md"],
        "box",
        &one("box", "skills", "box"),
    );
    check(
        &["box/a/b/c/d/pdf/SKILL.md"],
        "box",
        &one("box", "skills", "box"),
    );
    check(
        &["pdf/SKILL.md", "pdf/more.md"],
        "pdf",
        &one("pdf", "skills", "pdf"),
    );
    check(
        &["box/ask/system.md", "box/tell/system.md"],
        "box",
        &one("box", "fabric", "box"),
    );
    check(
        &["box/patterns/ask/system.md"],
        "box",
        &one("patterns", "fabric", "box/patterns"),
    );
    check(
        &["box/a.prompt.md", "box/b.md"],
        "box",
        &one("box", "copilot", "box"),
    );
    check(
        &["box/sub/a.prompt.yml", "box/b.md"],
        "box",
        &one("box", "models", "box"),
    );
    check(
        &["box/commands/git/a.toml"],
        "box",
        &one("box", "gemini", "box/commands"),
    );
    check(
        &["commands/a.toml"],
        "commands",
        &one("commands", "gemini", "commands"),
    );
    check(&["box/sub/a.md"], "box", &one("box", "markdown", "box"));
    check(&["box/Cargo.toml"], "box", &[]);
    check(&["box/node_modules/x/a.md", "box/.git/b.md"], "box", &[]);
}

#[test]
fn twig_libraries_come_before_all_guesses() {
    let tree = Tree::new();
    tree.library("box", &["a"]);
    tree.write("box/pdf/SKILL.md", SKILL);
    tree.write("box/.claude/commands/x.md", "x");
    let live = LiveCatalog::load(named(&tree, &["box"]));
    assert_eq!(kinds(&live), [LibraryKind::Twig]);
    let tree = Tree::new();
    tree.library("box/mine", &["a"]);
    tree.write("box/tools/pdf/SKILL.md", SKILL);
    tree.write("box/notes/x.md", "x");
    let live = LiveCatalog::load(named(&tree, &["box"]));
    assert_eq!(kinds(&live), [LibraryKind::Twig, LibraryKind::Skills]);
}

#[test]
fn plugins_give_their_commands_and_skills() {
    let files = [
        "market/plugins/git/.claude-plugin/plugin.json",
        "market/plugins/git/commands/commit.md",
        "market/plugins/git/agents/helper.md",
        "market/plugins/docs/.claude-plugin/plugin.json",
        "market/plugins/docs/skills/pdf/SKILL.md",
        "market/README.md",
    ];
    let expected = [
        ("docs_skills", "skills", "market/plugins/docs/skills"),
        ("git", "claude", "market/plugins/git/commands"),
    ];
    check(&files, "market", &expected);
    check(&files, "market/plugins/git", &expected[1..]);
}

#[test]
fn folders_of_several_kinds_side_by_side_are_a_library_each() {
    let files = [
        "pack/prompts/a.prompt.md",
        "pack/skills/pdf/SKILL.md",
        "pack/README.md",
    ];
    let expected = [
        ("prompts", "copilot", "pack/prompts"),
        ("skills", "skills", "pack/skills"),
    ];
    check(&files, "pack", &expected);
}

#[test]
fn a_repository_with_skills_and_commands_is_a_library_for_each() {
    let files = [
        "market/.claude-plugin/marketplace.json",
        "market/README.md",
        "market/docs/guide.md",
        "market/plugins/a/commands/run.md",
        "market/plugins/a/skills/s-a/SKILL.md",
        "market/plugins/a/agents/x.md",
        "market/plugins/b/commands/run.md",
        "market/plugins/b/skills/s-b/SKILL.md",
    ];
    let expected = [
        ("a", "claude", "market/plugins/a/commands"),
        ("a_skills", "skills", "market/plugins/a/skills"),
        ("b", "claude", "market/plugins/b/commands"),
        ("b_skills", "skills", "market/plugins/b/skills"),
    ];
    check(&files, "market", &expected);
    let files = [
        "repo/cli/parts/commands/git/commit.md",
        "repo/cli/parts/commands/db/README.md",
        "repo/cli/parts/skills/dev/s1/SKILL.md",
        "repo/cli/parts/agents/a/b.md",
        "repo/gemini/commands/x.toml",
    ];
    let expected = [
        ("parts", "claude", "repo/cli/parts/commands"),
        ("parts_skills", "skills", "repo/cli/parts/skills"),
        ("gemini", "gemini", "repo/gemini/commands"),
    ];
    check(&files, "repo", &expected);
    // A plugin beside commands and prompt files of others.
    let files = [
        "mix/git/.claude-plugin/plugin.json",
        "mix/git/commands/commit.md",
        "mix/more/commands/x.md",
        "mix/x/prompts/a.prompt.md",
        "mix/x/skills/pdf/SKILL.md",
    ];
    let expected = [
        ("git", "claude", "mix/git/commands"),
        ("more", "claude", "mix/more/commands"),
        ("x_prompts", "copilot", "mix/x/prompts"),
        ("x_skills", "skills", "mix/x/skills"),
    ];
    check(&files, "mix", &expected);
}

#[test]
fn a_folder_of_commands_is_told_by_its_name() {
    let one = |name: &'static str, root: &'static str| [(name, "claude", root)];
    check(&["commands/a.md"], "commands", &one("commands", "commands"));
    let files = [
        "gsd/commands/gsd/help.md",
        "gsd/README.md",
        "gsd/agents/x.md",
    ];
    check(&files, "gsd", &one("gsd", "gsd/commands"));
    // What a skill brings is the skill's, and a text about a folder makes no commands of it.
    let files = ["box/pdf/SKILL.md", "box/pdf/commands/a.md"];
    check(&files, "box", &[("box", "skills", "box")]);
    let files = ["box/commands/README.md", "box/a.md"];
    check(&files, "box", &[("box", "markdown", "box")]);
}

#[test]
fn a_library_around_another_leaves_it_alone() {
    let tree = Tree::new();
    tree.write("box/pdf/SKILL.md", SKILL);
    tree.write("box/commands/run.md", "Run.\n");
    let live = LiveCatalog::load(named(&tree, &["box"]));
    assert_eq!(files(&live), ["box run.md", "box_skills pdf/SKILL.md"]);
    assert_eq!(codes(&live), [""; 0]);
}

#[test]
fn markdown_that_no_library_reads_is_told() {
    let tree = Tree::new();
    tree.write("box/commands/run.md", "Run.\n");
    tree.write("box/agents/a.md", "A.\n");
    tree.write("box/notes.md", "N.\n");
    tree.write("box/README.md", "About.\n");
    let live = LiveCatalog::load(named(&tree, &["box"]));
    let told = problems(&live);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].code, "not-a-prompt");
    assert!(
        told[0]
            .message
            .contains("agents/a.md and 1 other Markdown file"),
        "{}",
        told[0].message
    );
}

#[test]
fn the_home_is_its_folders_of_clients_and_nothing_else() {
    let tree = Tree::new();
    tree.write("me/skills/pdf/SKILL.md", SKILL);
    tree.write("me/notes/a.md", "A.\n");
    let settings = || Settings {
        home: Some(tree.path("me")),
        ..named(&tree, &["me"])
    };
    assert_eq!(kinds(&LiveCatalog::load(settings())), []);
    tree.write("me/.claude/commands/a.md", "A.\n");
    assert_eq!(
        kinds(&LiveCatalog::load(settings())),
        [formats::CLAUDE.kind()]
    );
}

#[test]
fn the_person_says_otherwise() {
    let tree = Tree::new();
    tree.write("shop/.claude/commands/a.md", "A");
    tree.write("shop/.cursor/commands/b.md", "B");
    let with = |kind, path: &str| {
        let live = LiveCatalog::load(Settings {
            kind: Some(kind),
            ..named(&tree, &[path])
        });
        libraries(&tree, &live)
            .into_iter()
            .map(|(_, kind, root)| (kind, root))
            .collect::<Vec<_>>()
    };
    let one = |kind: &'static str, root: &str| vec![(kind, root.to_owned())];
    assert_eq!(
        with(formats::CLAUDE.kind(), "shop"),
        one("claude", "shop/.claude/commands")
    );
    assert_eq!(
        with(formats::CURSOR.kind(), "shop"),
        one("cursor", "shop/.cursor/commands")
    );
    assert_eq!(with(LibraryKind::Markdown, "shop"), one("markdown", "shop"));
    let commands = "shop/.claude/commands";
    assert_eq!(
        with(formats::CURSOR.kind(), commands),
        one("cursor", commands)
    );
}

#[test]
fn the_data_folder_holds_such_libraries_too() {
    let tree = Tree::with(&["a"]);
    tree.write("data/tools/pdf/SKILL.md", SKILL);
    tree.write("data/work/.claude/commands/x.md", "X");
    tree.write("data/notes/x.md", "X");
    let live = tree.load();
    assert_eq!(
        kinds(&live),
        [
            LibraryKind::Twig,
            LibraryKind::Skills,
            formats::CLAUDE.kind()
        ]
    );
    assert_eq!(codes(&live), [""; 0]);
}

#[test]
fn a_layout_that_changes_is_told_anew() {
    let tree = Tree::new();
    tree.write("box/README.md", "About");
    let live = LiveCatalog::load(named(&tree, &["box"]));
    assert_eq!(kinds(&live), [LibraryKind::Markdown]);
    tree.write("box/pdf/SKILL.md", SKILL);
    live.refresh();
    assert_eq!(kinds(&live), [LibraryKind::Skills]);
    assert!(!live.refresh().changed);
}

#[test]
fn a_remembered_folder_that_is_gone_is_a_warning() {
    let tree = Tree::new();
    let live = LiveCatalog::load(remembered(&tree, &["gone"]));
    let told = problems(&live);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].code, "missing-library");
    assert_eq!(told[0].severity, twig_core::Severity::Warning);
    tree.write("gone/.claude/commands/a.md", "A");
    live.refresh();
    assert_eq!(codes(&live), [""; 0]);
    assert_eq!(kinds(&live), [formats::CLAUDE.kind()]);
}

#[test]
#[cfg(unix)]
fn links_out_of_a_project_are_not_followed_unless_they_are_named() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    tree.write("elsewhere/commands/secret.md", "Not of this project.\n");
    tree.write("elsewhere/skill/SKILL.md", SKILL);
    tree.write("shop/.cursor/commands/fine.md", "Of this project.\n");
    symlink(tree.path("elsewhere"), tree.path("shop/.claude")).expect("a link");
    let live = LiveCatalog::load(named(&tree, &["shop"]));
    assert_eq!(kinds(&live), [formats::CURSOR.kind()]);
    assert_eq!(codes(&live), ["outside-library"]);
    tree.write("other/x.txt", "");
    symlink(tree.path("elsewhere"), tree.path("other/y")).expect("a link");
    let live = LiveCatalog::load(named(&tree, &["other"]));
    assert!(kinds(&live).is_empty(), "{:?}", kinds(&live));
    // Who names the link itself has looked where it leads.
    let live = LiveCatalog::load(named(&tree, &["shop/.claude/commands"]));
    assert_eq!(kinds(&live), [formats::CLAUDE.kind()]);
}
