//! Which files of a folder are prompts of a client.

use super::ClientFilePart;
use super::fabric::EXPLANATIONS;
use crate::clients::{PromptFormat, format_of};
use twig_core::model::{FileForm, LibraryKind};
use twig_core::name::RelativePath;

/// Files that describe a folder, and are no prompts.
const NOTES: [&str; 3] = ["README.md", "CLAUDE.md", "AGENTS.md"];

/// Folders with files of third parties.
const FOREIGN: [&str; 2] = ["node_modules", ".git"];

/// The file that marks a folder as a skill.
pub(super) const SKILL: &str = "SKILL.md";

/// What a file of a folder of skills is.
pub(super) fn skills(path: &RelativePath) -> Option<ClientFilePart> {
    if is_foreign(path) {
        return None;
    }
    // Files in a folder of templates are meant to be copied.
    let is_skill = path.file_name().eq_ignore_ascii_case(SKILL) && !is_template(path);
    Some(if is_skill {
        ClientFilePart::Prompt
    } else {
        ClientFilePart::Bundled
    })
}

/// Why a Markdown file that belongs to no skill is no prompt; `None` for other files.
pub(super) fn outside_skills(path: &RelativePath) -> Option<&'static str> {
    let name = path.file_name();
    let is_note = is_note(name);
    let why = if is_note {
        "describes its folder"
    } else {
        "is in no folder with a `SKILL.md`"
    };
    ends(name, ".md").then_some(why)
}

/// What a file of a folder of Markdown files is.
pub(super) fn markdown(format: &PromptFormat, path: &RelativePath) -> Option<ClientFilePart> {
    let name = path.file_name();
    if !ends(name, ".md") || is_foreign(path) {
        return None;
    }
    Some(if is_note(name) {
        ClientFilePart::Skipped("describes its folder")
    } else if is_template(path) {
        ClientFilePart::Skipped("is in a folder of templates")
    } else if let Some(why) = format.subfolders.filter(|_| !path.folder().is_empty()) {
        ClientFilePart::Skipped(why)
    } else if !has_ending(format, name) {
        ClientFilePart::Skipped("does not end in `.prompt.md`")
    } else {
        ClientFilePart::Prompt
    })
}

/// What a file of a folder of patterns is.
pub(super) fn fabric(path: &RelativePath) -> Option<ClientFilePart> {
    let name = path.file_name();
    if !ends(name, ".md") || is_foreign(path) {
        return None;
    }
    Some(match (name, path.folder()) {
        ("system.md", folder) if !folder.is_empty() => ClientFilePart::Prompt,
        ("user.md", folder) if !folder.is_empty() => ClientFilePart::Aside,
        (EXPLANATIONS, "") => ClientFilePart::Aside,
        (name, _) if is_note(name) => ClientFilePart::Skipped("describes its folder"),
        _ => ClientFilePart::Skipped("is not a pattern's `system.md`"),
    })
}

/// What a file is if its extension decides.
pub(super) fn other(format: &PromptFormat, path: &RelativePath) -> Option<ClientFilePart> {
    let name = path.file_name();
    let is_prompt = has_ending(format, name);
    // Plain Markdown beside them is probably meant as a prompt.
    if !(is_prompt || ends(name, ".md")) || is_foreign(path) {
        return None;
    }
    Some(if is_note(name) {
        ClientFilePart::Skipped("describes its folder")
    } else if !is_prompt && format.files.form == FileForm::Toml {
        ClientFilePart::Skipped("does not end in `.toml`")
    } else if !is_prompt {
        ClientFilePart::Skipped("does not end in `.prompt.yml`")
    } else if is_template(path) {
        ClientFilePart::Skipped("is in a folder of templates")
    } else {
        ClientFilePart::Prompt
    })
}

fn has_ending(format: &PromptFormat, name: &str) -> bool {
    format.endings.iter().any(|ending| ends(name, ending))
}

/// A path without its ending.
pub(super) fn without_ending(kind: LibraryKind, path: &RelativePath) -> &str {
    let path = path.as_str();
    let known = format_of(kind)
        .endings
        .iter()
        .find(|ending| ends(path, ending));
    let last = || {
        path.rsplit_once('.')
            .map_or(0, |(_, ending)| 1 + ending.len())
    };
    &path[..path.len() - known.map_or_else(last, |ending| ending.len())]
}

/// True if a name has an ending, and something before it.
fn ends(name: &str, ending: &str) -> bool {
    name.len() > ending.len()
        && name.is_char_boundary(name.len() - ending.len())
        && name[name.len() - ending.len()..].eq_ignore_ascii_case(ending)
}

fn is_note(name: &str) -> bool {
    NOTES.iter().any(|note| name.eq_ignore_ascii_case(note))
}

fn is_foreign(path: &RelativePath) -> bool {
    folders(path).any(|folder| FOREIGN.contains(&folder))
}

fn is_template(path: &RelativePath) -> bool {
    folders(path).any(|folder| folder.eq_ignore_ascii_case("templates"))
}

fn folders(path: &RelativePath) -> impl Iterator<Item = &str> {
    path.folder().split('/')
}
