//! The result for each prompt, as a table for people and as JSON for scripts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use twig_clients::import::{ImportItem, NAMED};
use twig_sources::Fate;

use super::ImportArgs;
use crate::command_error::CommandError;
use crate::commands::check::counted;
use crate::ui::Ui;
use twig_core::problem::shell_word;

/// Where prompts went.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Goal {
    Library {
        name: String,
        root: PathBuf,
        /// Whether this import created it.
        is_new: bool,
        /// Whether it is served without a flag.
        #[serde(skip)]
        is_served: bool,
    },
    Project {
        name: String,
        workspace: String,
    },
}

/// The result for a prompt, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ImportState {
    /// It was imported as it was.
    Taken,
    /// It was imported with changes.
    Changed,
    /// It was imported before.
    Unchanged,
    /// It was not imported.
    Left,
}

impl ImportState {
    fn word(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Left => "skipped",
        }
    }
}

/// One prompt, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct ImportedPromptRow<'c> {
    /// Where it came from.
    from: &'c str,
    state: ImportState,
    /// Its name in the library or project.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'c str>,
    /// What was changed.
    changes: Vec<String>,
    /// What else is worth knowing.
    notes: &'c [String],
    /// Why it was not imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// An import, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct ImportReport<'c> {
    into: Goal,
    /// Whether nothing was written.
    dry_run: bool,
    taken: usize,
    changed: usize,
    unchanged: usize,
    left: usize,
    /// Files that are not expected to hold prompts.
    other_files: usize,
    items: Vec<ImportedPromptRow<'c>>,
}

impl<'c> ImportReport<'c> {
    /// Combines what was read with its results; `fates` are in the order of the prompts.
    pub(super) fn new(
        into: Goal,
        dry_run: bool,
        items: &'c [ImportItem],
        fates: Vec<Fate>,
        other_files: usize,
    ) -> Self {
        let is_verbatim = matches!(into, Goal::Project { .. });
        let mut fates = fates.into_iter();
        let rows = items.iter().map(|item| {
            let fate = match &item.prompt {
                Ok(_) => fates.next().unwrap_or(Fate::Same),
                Err(why) => Fate::Left(why.clone()),
            };
            row(item, fate, is_verbatim)
        });
        let items: Vec<ImportedPromptRow<'c>> = rows.collect();
        let count = |state: ImportState| items.iter().filter(|row| row.state == state).count();
        Self {
            into,
            dry_run,
            taken: count(ImportState::Taken),
            changed: count(ImportState::Changed),
            unchanged: count(ImportState::Unchanged),
            left: count(ImportState::Left),
            other_files,
            items,
        }
    }

    /// Whether no prompt was imported.
    pub(super) fn is_all_left(&self) -> bool {
        self.taken + self.changed + self.unchanged == 0
    }

    pub(super) fn print(&self, options: &ImportArgs, ui: &mut Ui) -> Result<(), CommandError> {
        if options.json {
            return ui.json(self);
        }
        let is_told = |row: &&ImportedPromptRow<'_>| match row.state {
            ImportState::Changed | ImportState::Left => true,
            ImportState::Taken | ImportState::Unchanged => options.all,
        };
        let mut table = Vec::new();
        for row in self.items.iter().filter(is_told) {
            let mut sentences = row.changes.clone();
            if options.all {
                sentences.extend(row.notes.iter().cloned());
            }
            let mut sentences = row.why.iter().cloned().chain(sentences);
            table.push(vec![
                row.state.word().to_owned(),
                row.name.unwrap_or("-").to_owned(),
                row.from.to_owned(),
                sentences.next().unwrap_or_default(),
            ]);
            let more = sentences.map(|how| {
                let none = String::new;
                vec![none(), none(), none(), how]
            });
            table.extend(more);
        }
        ui.facts("", &table)?;
        self.say_counts(options, ui);
        Ok(())
    }

    fn say_counts(&self, options: &ImportArgs, ui: &mut Ui) {
        let place = match &self.into {
            Goal::Library { name, is_new, .. } => {
                let new = if *is_new { "new " } else { "" };
                format!("{new}library `{name}`")
            }
            Goal::Project { name, .. } => format!("project `{name}`"),
        };
        let would = if self.dry_run { "would be " } else { "" };
        let mut parts = vec![format!("{} {would}taken as they are", self.taken)];
        if self.changed > 0 {
            parts.push(format!("{} {would}taken with changes", self.changed));
        }
        if self.unchanged > 0 {
            parts.push(format!("{} were there already", self.unchanged));
        }
        parts.push(format!("{} skipped", self.left));
        ui.say(format!("{place}: {}", parts.join(", ")));
        let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
        let there = self
            .items
            .iter()
            .filter(|row| row.state != ImportState::Left);
        for note in there.flat_map(|row| row.notes) {
            *notes.entry(note).or_default() += 1;
        }
        for (note, count) in notes {
            ui.say(format!("note: {count} × {note}"));
        }
        if self.other_files > 0 {
            let files = counted(self.other_files, "other file", "other files");
            ui.say(format!("note: {files} ignored"));
        }
        if !self.dry_run && self.taken + self.changed == 0 && self.unchanged > 0 {
            ui.say(if self.left == 0 {
                "nothing was written: everything was there already"
            } else {
                "nothing was written: everything that can be imported was there already"
            });
        }
        let is_rule = |row: &ImportedPromptRow<'_>| {
            let why = row.why.as_deref();
            why.is_some_and(|why| why.ends_with("it is context, not a prompt"))
        };
        if !options.all_rules && self.items.iter().any(is_rule) {
            ui.say("hint: `--all-rules` takes rules that apply by themselves, too");
        }
        if self.dry_run {
            ui.say("nothing was written: this was a dry run");
        }
        if let Goal::Library {
            root,
            is_served: false,
            ..
        } = &self.into
        {
            let root = shell_word(&root.display().to_string());
            ui.say(format!("hint: run `twig library add {root}` to serve it"));
        }
    }
}

fn row(item: &ImportItem, fate: Fate, is_verbatim: bool) -> ImportedPromptRow<'_> {
    let prompt = item.prompt.as_ref().ok();
    let mut row = ImportedPromptRow {
        from: &item.from,
        state: ImportState::Left,
        name: prompt.map(|prompt| prompt.name.as_str()),
        changes: Vec::new(),
        notes: &item.notes,
        why: None,
    };
    let changes = || match prompt {
        // A project stores texts as they were written.
        Some(prompt) if is_verbatim => {
            let is_name = |change: &&String| change.starts_with(NAMED);
            let mut changes: Vec<String> = item.changes.iter().filter(is_name).cloned().collect();
            if let Some(title) = prompt.title.as_ref().filter(|it| **it != prompt.name) {
                changes.push(format!("its title is not kept: {title}"));
            }
            if !prompt.arguments.is_empty() {
                let names: Vec<&str> = prompt.arguments.iter().map(|it| &*it.name).collect();
                changes.push(format!(
                    "its arguments stay in the text as they were written: {}",
                    names.join(", ")
                ));
            }
            if prompt.messages.len() > 1 {
                changes.push("its messages are one text".to_owned());
            }
            changes
        }
        _ => item.changes.clone(),
    };
    match fate {
        Fate::Left(why) => row.why = Some(why),
        Fate::Same => row.state = ImportState::Unchanged,
        Fate::New => {
            row.changes = changes();
            row.state = if row.changes.is_empty() {
                ImportState::Taken
            } else {
                ImportState::Changed
            };
        }
    }
    row
}
