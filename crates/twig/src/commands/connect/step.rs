//! One entry of one client's file: adds or removes it, and reports the result.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::example::{self, ExamplePrompt};
use super::{ConnectArgs, refused};
use crate::command_error::{CommandError, not_locked};
use crate::commands::question::ask;
use crate::connect::{
    ClientConfig, ClientLaunch, ConfigError, ServerEntry, ServerTarget, record_folders,
    remove_made_folders, without_secrets,
};
use crate::ui::{Ui, one_line};

/// One client, one file, one entry.
pub(super) struct ConnectStep<'s> {
    pub(super) options: &'s ConnectArgs,
    pub(super) config: ClientConfig,
    /// The file's path for display.
    pub(super) shown: String,
    /// The folders that did not exist before, and the record of all such folders.
    pub(super) made: Vec<PathBuf>,
    pub(super) record: Option<PathBuf>,
}

/// The result of a step.
#[derive(Debug, Serialize)]
pub(super) struct StepReport {
    client: &'static str,
    scope: &'static str,
    file: String,
    name: String,
    /// `added`, `updated`, `unchanged`, `removed` or `absent`.
    action: &'static str,
    /// Whether the file was written.
    written: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<ServerTarget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// The sentences about it, for a person.
    #[serde(skip)]
    said: Vec<String>,
}

impl StepReport {
    /// The path of the written file, or the diff, is data; the rest is talk.
    pub(super) fn print(&self, ui: &mut Ui) -> Result<(), CommandError> {
        if let Some(diff) = &self.diff {
            ui.page();
            for line in diff.lines() {
                ui.diff_line(line)?;
            }
            return Ok(());
        }
        if self.written {
            ui.line(one_line(&self.file))?;
        }
        for said in &self.said {
            ui.say(said);
        }
        Ok(())
    }
}

impl ConnectStep<'_> {
    /// Adds the entry; `None` if the user said no.
    pub(super) fn add(
        &self,
        target: &ServerTarget,
        example: Option<&ExamplePrompt>,
        ui: &mut Ui,
    ) -> Result<Option<StepReport>, CommandError> {
        let name = &self.options.name;
        let client = self.config.client;
        let there = self.config.entry(name);
        let mut report = self.report("added");
        report.entry = Some(target.clone());
        let is_moved = there.is_some_and(|entry| is_moved(entry, target));
        if let Some(entry) = there {
            if entry.target.as_ref() == Some(target) && !entry.is_off {
                report.action = "unchanged";
                let said = format!("`{name}` is in {} already, as it should be", self.shown);
                report.said.push(said);
                return Ok(Some(report));
            }
            report.action = "updated";
            if !is_moved && !self.is_meant(entry, "replace", ui)? {
                return Ok(None);
            }
        }
        let text = if is_moved {
            self.config.with_program(name, target)
        } else {
            self.config.with(name, target)
        };
        let text = text.map_err(|error| self.refused(&error))?;
        if self.options.dry_run {
            return Ok(Some(self.shown_as_diff(report, Some(&text))));
        }
        // If the file is still what we made from its backup, keep that backup.
        let origin = self
            .config
            .origin(name)
            .map_err(|error| self.refused(&error))?;
        let backup = match origin {
            Some((path, _)) => Some(path),
            None => self
                .config
                .back_up()
                .map_err(|error| self.refused(&error))?,
        };
        self.config
            .write(Some(&text))
            .map_err(|error| self.refused(&error))?;
        record_folders(self.record.as_deref(), &self.made);
        report.written = true;
        report.backup = backup.map(|path| path.display().to_string());
        let (title, verb) = (client.title(), report.action);
        let call = example::call(client.call(), name, example);
        let next = client.next(self.config.scope).replace("{call}", &call);
        report
            .said
            .push(format!("{verb} `{name}` in the servers of {title}; {next}"));
        report.said.extend(client.note().map(str::to_owned));
        if let Some(backup) = &report.backup {
            report.said.push(format!("backup: {backup}"));
        }
        let mut others = self.config.twigs().filter(|entry| entry.name != *name);
        if let Some(other) = others.next() {
            report.said.push(format!(
                "`{}` there is Twig too: prompts may be listed twice",
                other.name
            ));
        }
        Ok(Some(report))
    }

    /// Removes the entry; `None` if the user said no.
    pub(super) fn remove(&self, ui: &mut Ui) -> Result<Option<StepReport>, CommandError> {
        let name = &self.options.name;
        let mut report = self.report("removed");
        let Some(entry) = self.config.entry(name) else {
            report.action = "absent";
            let said = format!("there is no `{name}` in {}", self.shown);
            report.said.push(said);
            return Ok(Some(report));
        };
        let launch = entry.launch();
        let is_ours = entry.is_twig_address() || launch.is_some_and(ClientLaunch::is_twig_program);
        if !is_ours && !self.is_meant(entry, "remove", ui)? {
            return Ok(None);
        }
        let without = self
            .config
            .without(name)
            .map_err(|error| self.refused(&error))?;
        if self.options.dry_run {
            return Ok(Some(self.shown_as_diff(report, without.text.as_deref())));
        }
        if without.text.is_some() && without.backup.is_none() {
            let kept = self
                .config
                .back_up()
                .map_err(|error| self.refused(&error))?;
            report.backup = kept.map(|path| path.display().to_string());
        }
        let written = self.config.write(without.text.as_deref());
        written.map_err(|error| self.refused(&error))?;
        report.written = true;
        if let Some(backup) = &without.backup {
            self.config.remove_backup(backup);
        }
        if without.text.is_none() {
            remove_made_folders(self.record.as_deref(), &self.config.path);
        }
        report.said.push(match &without.text {
            None => format!("removed {}, which had nothing but `{name}`", self.shown),
            Some(_) => format!(
                "removed `{name}` from the servers of {}",
                self.config.client.title()
            ),
        });
        if let Some(backup) = &report.backup {
            report.said.push(format!("backup: {backup}"));
        }
        Ok(Some(report))
    }

    fn report(&self, action: &'static str) -> StepReport {
        StepReport {
            client: self.config.client.as_str(),
            scope: self.config.scope.as_str(),
            file: self.config.path.display().to_string(),
            name: self.options.name.clone(),
            action,
            written: false,
            entry: None,
            backup: None,
            diff: None,
            said: Vec::new(),
        }
    }

    /// The report of what would be written.
    fn shown_as_diff(&self, report: StepReport, text: Option<&str>) -> StepReport {
        let lines = self.config.diff(&self.options.name, text);
        StepReport {
            diff: Some(lines.join("\n")),
            ..report
        }
    }

    fn refused(&self, error: &ConfigError) -> CommandError {
        refused(&self.shown, error)
    }

    /// Whether an entry that differs from ours may be replaced or removed.
    fn is_meant(&self, entry: &ServerEntry, verb: &str, ui: &mut Ui) -> Result<bool, CommandError> {
        if self.options.force {
            return Ok(true);
        }
        let name = &entry.name;
        let why = match verb {
            "remove" => "does not start Twig",
            _ => "differs from what Twig would write",
        };
        let message = format!("`{name}` in {} {why}", self.shown);
        let entry = without_secrets(&entry.raw.replace('\r', ""));
        ui.say(format!("{message}:\n{entry}"));
        if self.options.dry_run {
            ui.say(format!("hint: without --dry-run, --force would {verb} it"));
            return Ok(true);
        }
        let other = match verb {
            "remove" => "to say what Twig is called there",
            _ => "to give Twig another name there",
        };
        let unanswered = || {
            CommandError::fixable(format!("{message}; it was left unchanged"))
                .hint(format!("use --force to {verb} it, or --name {other}"))
        };
        let question = format!("{verb} it?");
        // Other commands do not wait for the user's answer; what they write meanwhile is not
        // overwritten.
        let is_meant = match &self.config.file {
            Some(file) => file
                .pause(|| ask(&question, unanswered, ui))
                .map_err(|error| not_locked(&self.shown, &error))??,
            None => ask(&question, unanswered, ui)?,
        };
        if !is_meant {
            ui.say("nothing was changed");
        }
        Ok(is_meant)
    }
}

/// Whether an entry is ours except for a program that has moved.
fn is_moved(entry: &ServerEntry, target: &ServerTarget) -> bool {
    let there = entry.launch().filter(|_| !entry.is_off);
    let (Some(there), ServerTarget::Program(launch)) = (there, target) else {
        return false;
    };
    let same = there.args == launch.args && there.env == launch.env;
    let program = Path::new(&there.program);
    there.is_twig() && same && program.is_absolute() && !program.exists()
}
