//! The repository that files are exported in, and what its `.twig/config.toml` says about that.

use std::path::{Path, PathBuf};

use twig_clients::clients::{ExportFormat, exported_client};
use twig_core::Limits;
use twig_core::parse::project::{CONFIG, ExportSettings};
use twig_sources::{PROJECT, repository_config};

use super::{ExportClient, parse_client};
use crate::command_error::{CommandError, ErrorKind};
use crate::config::Config;
use crate::connect::ConfigScope;
use crate::places::Places;

/// The folder with the nearest `.twig`; none if there is no such folder.
#[derive(Debug, Default)]
pub(super) struct Repository {
    /// Its `.twig` folder.
    folder: Option<PathBuf>,
    /// What it exports, if its configuration says so.
    settings: Option<ExportSettings>,
}

impl Repository {
    /// Reads the configuration; a mistake in `[export]` is an error, since other files would be
    /// written than were meant.
    pub(super) fn around(places: &Places, limits: &Limits) -> Result<Self, CommandError> {
        let Some(folder) = places.projects.iter().find(|folder| folder.is_dir()) else {
            return Ok(Self::default());
        };
        let config = repository_config(folder, limits).map_err(|error| {
            let shown = places.shown(&folder.join(CONFIG));
            CommandError::fixable(format!("{shown} {error}"))
        })?;
        let mut repository = Self {
            folder: Some(folder.clone()),
            settings: None,
        };
        let Some(config) = config else {
            return Ok(repository);
        };
        let in_export = config.export.as_ref().and_then(|it| it.mistake.as_ref());
        if let Some(problem) = config.syntax_problem().or(in_export) {
            let shown = places.shown(Path::new(&*problem.path));
            return Err(CommandError::mistake(
                "nothing was exported",
                &shown,
                problem,
            ));
        }
        repository.settings = config.export;
        Ok(repository)
    }

    /// Whether its configuration says what is exported.
    pub(super) fn exports(&self) -> bool {
        self.settings.is_some()
    }

    /// The names and patterns of what is exported; empty means everything.
    pub(super) fn only(&self) -> &[Box<str>] {
        self.settings.as_ref().map_or(&[], |it| &it.only)
    }

    /// The configuration's path, for people.
    pub(super) fn config(&self, places: &Places) -> String {
        match &self.folder {
            Some(folder) => places.shown(&folder.join(CONFIG)),
            None => format!("{PROJECT}/{CONFIG}"),
        }
    }

    /// Leaves out everything that belongs to the user rather than to the repository, names that
    /// depend on the user's settings included.
    pub(super) fn keep_only(&self, places: &mut Places, config: &mut Config) {
        places.data = None;
        places.projects = self.folder.iter().cloned().collect();
        config.libraries.clear();
        config.separator = Config::default().separator;
    }

    /// Where a sentence about missing prompts leads.
    pub(super) fn what_is_seen(&self, places: &Places) -> String {
        match &self.folder {
            Some(folder) => format!(
                "only the prompts of this repository count: {} and what its {CONFIG} lists, and folders that `--library` names",
                places.shown(folder)
            ),
            None => format!(
                "only the prompts of this repository count, and there is no {PROJECT} folder: make one with `twig init`, or name a folder with `--library`"
            ),
        }
    }

    /// The folder that files are written in, if it is not the working folder.
    pub(super) fn base(&self) -> Option<&Path> {
        self.folder.as_deref()?.parent().filter(|_| self.exports())
    }

    /// The folder of a client's files, if it is not the client's own.
    pub(super) fn folder_for(&self, format: ExportFormat) -> Option<String> {
        let folders = &self.settings.as_ref()?.folders;
        let is_it = |name: &str| exported_client(name).is_ok_and(|(_, its)| its == format);
        let found = folders.iter().find(|(client, _)| is_it(client));
        found.map(|(_, folder)| folder.to_string())
    }

    /// The clients that its configuration names.
    pub(super) fn clients(
        &self,
        scope: ConfigScope,
        places: &Places,
    ) -> Result<Vec<ExportClient>, CommandError> {
        if let Some(settings) = &self.settings {
            let clients = settings.to.iter();
            return Ok(clients.filter_map(|name| parse_client(name).ok()).collect());
        }
        let message = "say whose files to write: `--to CLIENT`";
        let error = CommandError::new(ErrorKind::Usage, message);
        if scope == ConfigScope::User {
            return Err(error);
        }
        let config = self.config(places);
        Err(error.hint(format!(
            "write it in {config} to export without flags: [export] with to = [\"claude\"]; `twig help export` explains it"
        )))
    }
}
