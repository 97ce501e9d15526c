//! One entry of one client's file: adds or removes it, and reports the result.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use super::{ConnectArgs, refused};
use crate::command_error::{CommandError, not_locked};
use crate::commands::question::ask;
use crate::connect::{
    ClientConfig, ClientLaunch, ConfigError, ServerEntry, record_folders, remove_made_folders,
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
struct StepReport<'r> {
    client: &'static str,
    scope: &'static str,
    file: String,
    name: &'r str,
    /// `added`, `updated`, `unchanged`, `removed` or `absent`.
    action: &'static str,
    /// Whether the file was written.
    written: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'r ClientLaunch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl ConnectStep<'_> {
    /// Adds the entry.
    pub(super) fn add(&self, launch: &ClientLaunch, ui: &mut Ui) -> Result<ExitCode, CommandError> {
        let name = &self.options.name;
        let there = self.config.entry(name);
        let mut report = self.report("added");
        report.entry = Some(launch);
        let is_moved = there.is_some_and(|entry| is_moved(entry, launch));
        if let Some(entry) = there {
            if entry.launch.as_ref() == Some(launch) && !entry.is_off {
                report.action = "unchanged";
                let said = format!("`{name}` is in {} already, as it should be", self.shown);
                return self.end(&report, None, &said, ui);
            }
            report.action = "updated";
            if !is_moved && !self.is_meant(entry, "replace", ui)? {
                return Ok(ExitCode::FAILURE);
            }
        }
        let text = if is_moved {
            self.config.with_program(name, launch)
        } else {
            self.config.with(name, launch)
        };
        let text = text.map_err(|error| self.refused(&error))?;
        if self.options.dry_run {
            return self.print(report, Some(&text), ui);
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
        let title = self.config.client.title();
        let verb = report.action;
        let next = self.config.client.next(self.config.scope);
        let said = format!("{verb} `{name}` in the servers of {title}; {next}");
        let code = self.end(&report, Some(&self.config.path), &said, ui)?;
        let mut others = self.config.twigs().filter(|entry| entry.name != *name);
        if let Some(other) = others.next() {
            ui.say(format!(
                "`{}` there is Twig too: prompts may be listed twice",
                other.name
            ));
        }
        Ok(code)
    }

    /// Removes the entry.
    pub(super) fn remove(&self, ui: &mut Ui) -> Result<ExitCode, CommandError> {
        let name = &self.options.name;
        let mut report = self.report("removed");
        let Some(entry) = self.config.entry(name) else {
            report.action = "absent";
            let said = format!("there is no `{name}` in {}", self.shown);
            return self.end(&report, None, &said, ui);
        };
        let launch = entry.launch.as_ref();
        let is_ours = launch.is_some_and(ClientLaunch::is_twig_program);
        if !is_ours && !self.is_meant(entry, "remove", ui)? {
            return Ok(ExitCode::FAILURE);
        }
        let without = self
            .config
            .without(name)
            .map_err(|error| self.refused(&error))?;
        if self.options.dry_run {
            return self.print(report, without.text.as_deref(), ui);
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
        let said = match &without.text {
            None => format!("removed {}, which had nothing but `{name}`", self.shown),
            Some(_) => format!(
                "removed `{name}` from the servers of {}",
                self.config.client.title()
            ),
        };
        self.end(&report, Some(&self.config.path), &said, ui)
    }

    fn report(&self, action: &'static str) -> StepReport<'_> {
        StepReport {
            client: self.config.client.as_str(),
            scope: self.config.scope.as_str(),
            file: self.config.path.display().to_string(),
            name: &self.options.name,
            action,
            written: false,
            entry: None,
            backup: None,
            diff: None,
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
        ui.say(format!("{message}:\n{}", entry.raw.replace('\r', "")));
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

    /// Shows what would be written.
    fn print(
        &self,
        mut report: StepReport<'_>,
        text: Option<&str>,
        ui: &mut Ui,
    ) -> Result<ExitCode, CommandError> {
        let lines = self.config.diff(&self.options.name, text);
        if self.options.json {
            report.diff = Some(lines.join("\n"));
            ui.json(&report)?;
        } else {
            ui.page();
            for line in lines {
                ui.diff_line(&line)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The path of the written file is data; the rest is talk.
    fn end(
        &self,
        report: &StepReport<'_>,
        written: Option<&Path>,
        said: &str,
        ui: &mut Ui,
    ) -> Result<ExitCode, CommandError> {
        if self.options.json {
            ui.json(report)?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(path) = written {
            ui.line(one_line(&path.display().to_string()))?;
        }
        ui.say(said);
        if let Some(backup) = &report.backup {
            ui.say(format!("backup: {backup}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether an entry is ours except for a program that has moved.
fn is_moved(entry: &ServerEntry, launch: &ClientLaunch) -> bool {
    let Some(there) = entry.launch.as_ref().filter(|_| !entry.is_off) else {
        return false;
    };
    let same = there.args == launch.args && there.env == launch.env;
    let program = Path::new(&there.program);
    there.is_twig() && same && program.is_absolute() && !program.exists()
}
