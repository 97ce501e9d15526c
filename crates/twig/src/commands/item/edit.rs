//! `twig prompt edit`: the text in the user's editor. What someone else writes meanwhile is not
//! overwritten, and the user's own text is not lost.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tempfile::TempPath;
use twig_core::problem::shell_word;
use twig_core::store::{Change, GivenContent, ItemKind, Patch, Store, StoreName};

use super::super::content::content;
use super::super::editor;
use super::super::store::{ProjectArgs, ProjectTarget};
use super::{find, open, say_updated, tell, write};
use crate::command_error::CommandError;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct ItemEditArgs {
    /// Its name
    name: String,

    #[command(flatten)]
    place: ProjectArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    kind: ItemKind,
    options: &ItemEditArgs,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let (target, name) = open(kind, &options.name, &options.place)?;
    let head = find(&target, kind, &name)?.head;
    if !head.content.is_text {
        let noun = kind.noun();
        let message = format!("{noun} `{name}` is not text, so an editor cannot change it");
        let hint = format!(
            "`twig {} update {name} -c @FILE` replaces it",
            kind.as_str()
        );
        return Err(CommandError::fixable(message).hint(hint));
    }
    let old = target.store.content(&head.content.digest)?;
    let file = copy(&name, &old)?;
    if let Err(error) = editor::edit(&file) {
        // The text may have been saved before the editor failed.
        let is_new = fs::read(&file).is_ok_and(|text| text != old);
        return Err(if is_new {
            error.hint(kept(file))
        } else {
            error
        });
    }
    let given = content(kind, &format!("@{}", file.display()), &target.limits);
    let new = match given {
        Ok(GivenContent::Bytes(bytes)) => bytes,
        Ok(GivenContent::Text(text)) => text.into_bytes(),
        Err(error) => return Err(error.hint(kept(file))),
    };
    let new = as_before(&old, new);
    if new.is_empty() && !old.is_empty() {
        let message = format!(
            "nothing was changed: the text of {} `{name}` is empty",
            kind.as_str()
        );
        let hint = format!("`twig {} delete {name}` deletes it", kind.as_str());
        return Err(CommandError::fixable(message).hint(hint));
    }
    let patch = Patch {
        content: Some(GivenContent::Bytes(new)),
        ..Patch::default()
    };
    // Someone else may have changed it while the editor was open.
    let written = write(
        &target,
        kind,
        &name,
        Change::Update(patch),
        Some(head.number),
    );
    let written = written.map_err(|error| saved(error, &target, kind, &name, file))?;
    say_updated(&target, kind, &name, &written, ui);
    tell(&target, &name, &written, options.json, ui)
}

/// A private copy for the editor; it is removed unless it is kept.
fn copy(name: &StoreName, text: &[u8]) -> Result<TempPath, CommandError> {
    let prefix = format!("{name}.");
    let mut file = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".md")
        .tempfile()?;
    file.write_all(text)?;
    Ok(file.into_temp_path())
}

/// Editors end a file with a newline; a text without one keeps none.
fn as_before(old: &[u8], mut new: Vec<u8>) -> Vec<u8> {
    if !old.ends_with(b"\n") && new.ends_with(b"\n") {
        new.pop();
        if new.ends_with(b"\r") {
            new.pop();
        }
    }
    new
}

/// A refusal that says where the user's text is, and how to write it after all.
fn saved(
    error: CommandError,
    target: &ProjectTarget,
    kind: ItemKind,
    name: &StoreName,
    file: TempPath,
) -> CommandError {
    let (noun, flags) = (kind.as_str(), &target.flags);
    let shown = keep(file).display().to_string();
    let error = error.hint(format!("your text is in {shown}"));
    let given = shell_word(&format!("@{shown}"));
    error.hint(format!(
        "`twig {noun} diff {name}{flags}` shows the other change; `twig {noun} update {name}{flags} -c {given}` writes yours"
    ))
}

fn kept(file: TempPath) -> String {
    format!("your text is in {}", keep(file).display())
}

fn keep(file: TempPath) -> PathBuf {
    // If it cannot be kept, it still exists.
    file.keep().unwrap_or_else(|error| error.path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_adds_no_newline_to_a_text_without_one() {
        let after = |old: &str, new: &str| {
            let new = as_before(old.as_bytes(), new.as_bytes().to_vec());
            String::from_utf8(new).unwrap()
        };
        assert_eq!(after("a", "b\n"), "b");
        assert_eq!(after("a", "b\r\n"), "b");
        assert_eq!(after("a", "b\n\n"), "b\n");
        assert_eq!(after("a\n", "b\n"), "b\n");
        assert_eq!(after("a\n", "b"), "b");
    }
}
