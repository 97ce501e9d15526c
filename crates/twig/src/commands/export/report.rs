//! The result of an export, done or planned: a table for people, JSON for scripts.

use std::path::Path;

use serde::Serialize;
use twig_clients::clients::ExportFormat;
use twig_clients::export::SkippedPrompt;
use twig_sources::{ExportAction, ExportMode, ExportState, ExportedFile};

use super::ExportArgs;
use super::target::ExportDestination;
use crate::command_error::CommandError;
use crate::places::Places;
use crate::ui::Ui;

pub(super) struct ExportReport<'r> {
    pub(super) client: ExportFormat,
    pub(super) target: &'r ExportDestination,
    pub(super) mode: ExportMode,
    pub(super) files: Vec<ExportedFile>,
    pub(super) left: Vec<SkippedPrompt>,
}

/// An export as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct Printed<'r> {
    client: &'static str,
    /// The folder of the files.
    folder: String,
    /// Whether nothing was written.
    dry: bool,
    files: Vec<ExportedFileRow<'r>>,
}

/// One prompt or file as scripts see it.
#[derive(Debug, Serialize)]
struct ExportedFileRow<'r> {
    prompt: &'r str,
    /// Relative to the folder; `None` for a prompt that the format cannot hold.
    path: Option<&'r str>,
    /// `new`, `current`, `changed`, `edited`, `taken`, `barred`, `own`, `gone`, or `unfit`.
    state: &'static str,
    /// `written`, `updated`, `replaced` or `removed`: done, or to be done.
    action: Option<&'static str>,
    /// Why nothing is done.
    why: Option<&'r str>,
    failed: bool,
    /// Copies of replaced files, relative to the folder.
    backups: &'r [String],
    /// What the format cannot hold, and what was changed.
    notes: &'r [String],
}

impl ExportReport<'_> {
    /// Whether a file differs from what would be written.
    pub(super) fn has_drifted(&self) -> bool {
        self.files.iter().any(|file| {
            use ExportState::{Changed, Edited, Gone, New};
            matches!(file.state, New | Changed | Edited | Gone)
        })
    }

    /// Whether a file could not be written.
    pub(super) fn has_failed(&self) -> bool {
        self.files.iter().any(|file| file.is_failed)
    }

    /// Whether a prompt that is wanted has no file: its format cannot hold it, or another file is
    /// in the way.
    pub(super) fn lacks(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        use ExportState::{Edited, Taken};
        let mut left = self.left.iter();
        left.any(|left| is_wanted(&left.prompt))
            || self.files.iter().any(|file| {
                let is_kept = matches!(file.state, Edited | Taken) && file.action.is_none();
                is_kept && is_wanted(&file.prompt)
            })
    }

    fn printed(&self) -> Printed<'_> {
        Printed {
            client: self.client.as_str(),
            folder: self.target.path().display().to_string(),
            dry: self.mode.is_dry,
            files: self.rows(),
        }
    }

    fn print(&self, places: &Places, ui: &mut Ui) -> Result<(), CommandError> {
        let mut table: Vec<Vec<String>> = self.files.iter().map(|file| self.cells(file)).collect();
        table.extend(self.left.iter().map(|left| {
            let prompt = left.prompt.to_string();
            vec![
                "skipped".to_owned(),
                prompt,
                "-".to_owned(),
                left.why.clone(),
            ]
        }));
        ui.facts("", &table)?;
        self.say(&table, &self.target.path(), places, ui);
        Ok(())
    }

    fn rows(&self) -> Vec<ExportedFileRow<'_>> {
        let files = self.files.iter().map(|file| ExportedFileRow {
            prompt: &file.prompt,
            path: Some(&file.path),
            state: state(file.state),
            action: file.action.map(action),
            why: file.why.as_deref(),
            failed: file.is_failed,
            backups: &file.backups,
            notes: &file.notes,
        });
        let left = self.left.iter().map(|left| ExportedFileRow {
            prompt: &left.prompt,
            path: None,
            state: "unfit",
            action: None,
            why: Some(&left.why),
            failed: false,
            backups: &[],
            notes: &[],
        });
        files.chain(left).collect()
    }

    /// The action, the prompt, its file, and the notes.
    fn cells(&self, file: &ExportedFile) -> Vec<String> {
        let mut says: Vec<String> = file.why.iter().cloned().collect();
        says.extend(
            file.backups
                .iter()
                .map(|path| format!("what was there is {path}")),
        );
        if file.action.is_some() {
            says.extend(file.notes.iter().cloned());
        }
        let (prompt, path) = (file.prompt.clone(), file.path.clone());
        vec![self.word(file).to_owned(), prompt, path, says.join("; ")]
    }

    fn word(&self, file: &ExportedFile) -> &'static str {
        match (file.state, file.action) {
            _ if file.is_failed => "failed",
            (ExportState::Current, _) => "unchanged",
            (state @ (ExportState::New | ExportState::Changed), _) if self.mode.is_dry => {
                self::state(state)
            }
            (_, Some(done)) if !self.mode.is_dry => action(done),
            (ExportState::Gone, _) => "gone",
            (ExportState::Edited, _) if self.mode.is_dry => "edited",
            (ExportState::Taken, Some(_)) => "taken",
            _ => "skipped",
        }
    }

    /// Prints how many of each, and what to do next.
    fn say(&self, table: &[Vec<String>], folder: &Path, places: &Places, ui: &mut Ui) {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for word in table.iter().filter_map(|row| row.first()) {
            match counts.iter_mut().find(|(known, _)| known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let counts = match counts.as_slice() {
            [] => "nothing to export".to_owned(),
            counts => counts.join(", "),
        };
        ui.say(format!("{}: {counts}", places.shown(folder)));
        let has = |state: ExportState| {
            let mut files = self.files.iter();
            files.any(|file| file.state == state && file.action.is_none())
        };
        if !self.mode.force && (has(ExportState::Edited) || has(ExportState::Taken)) {
            ui.say("hint: --force replaces what was changed or is not Twig's, and keeps a copy");
        }
        if !self.mode.prune && has(ExportState::Gone) {
            ui.say("hint: --prune removes files of prompts that are gone");
        }
    }
}

/// Prints what was exported: as JSON an object if a client was named, and a list otherwise.
pub(super) fn print(
    reports: &[ExportReport<'_>],
    options: &ExportArgs,
    places: &Places,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if options.json {
        let printed: Vec<Printed<'_>> = reports.iter().map(ExportReport::printed).collect();
        return match &*printed {
            [one] if options.to.is_some() => ui.json(one),
            all => ui.json(&all),
        };
    }
    reports
        .iter()
        .try_for_each(|report| report.print(places, ui))
}

fn state(state: ExportState) -> &'static str {
    match state {
        ExportState::New => "new",
        ExportState::Current => "current",
        ExportState::Changed => "changed",
        ExportState::Edited => "edited",
        ExportState::Taken => "taken",
        ExportState::Barred => "barred",
        ExportState::Own => "own",
        ExportState::Gone => "gone",
    }
}

fn action(action: ExportAction) -> &'static str {
    match action {
        ExportAction::Written => "written",
        ExportAction::Updated => "updated",
        ExportAction::Replaced => "replaced",
        ExportAction::Removed => "removed",
    }
}
