//! Where a client's files go: in a project, or in the user's own folder.

use std::fs;
use std::path::{Path, PathBuf};

use twig_clients::clients::ExportFormat;
use twig_core::BodyError;
use twig_core::RelativePath;
use twig_sources::{ExportError, ExportTarget};

use crate::command_error::{CommandError, ErrorKind, reason};
use crate::connect::ConfigScope;
use crate::places::{ClientPlaces, Places, on_disk};

/// A folder, and the base folder that writes to it may not leave.
pub(super) struct ExportDestination {
    base: PathBuf,
    folder: String,
    /// Whether to create the base if it is missing.
    is_made: bool,
}

impl ExportDestination {
    /// The folder for a client's files: its own, or another one of the project or home.
    pub(super) fn find(
        format: ExportFormat,
        folder: Option<&str>,
        scope: ConfigScope,
        base: Option<&Path>,
        places: &Places,
    ) -> Result<Self, CommandError> {
        let mut target = match scope {
            ConfigScope::User => user(format).ok_or_else(|| {
                CommandError::fixable("your home is not known: HOME is not set")
                    .hint("use `--scope project` to write into this folder")
            })?,
            ConfigScope::Project => Self {
                base: on_disk(base.unwrap_or(Path::new("."))),
                folder: format.rules().folder.to_owned(),
                is_made: false,
            },
        };
        if let Some(folder) = folder {
            let parsed = RelativePath::parse(folder).map_err(|_| {
                let message = format!("`{folder}` is no folder inside the project or your home");
                CommandError::new(ErrorKind::Usage, message)
                    .hint("write it from there on, such as `--in .claude/skills`")
            })?;
            folder_of(&mut target, &parsed, scope == ConfigScope::User, places);
        }
        Ok(target)
    }

    pub(super) fn get(&self, client: ExportFormat) -> ExportTarget<'_> {
        ExportTarget {
            base: &self.base,
            folder: &self.folder,
            client,
        }
    }

    /// The full path.
    pub(super) fn path(&self) -> PathBuf {
        self.base.join(&self.folder)
    }

    /// Creates the folder for the user's settings if there is none yet.
    pub(super) fn make_base(&self) -> Result<(), CommandError> {
        if !self.is_made {
            return Ok(());
        }
        fs::create_dir_all(&self.base).map_err(|error| {
            let why = reason(&error);
            let shown = self.base.display();
            CommandError::fixable(format!("{shown} cannot be made: {why}"))
        })
    }

    pub(super) fn trouble(&self, places: &Places, error: &ExportError) -> CommandError {
        let shown = places.shown(&self.base);
        match error {
            ExportError::Base(BodyError::NotFound) => {
                CommandError::fixable(format!("there is no folder {shown}"))
            }
            ExportError::Base(error) => CommandError::fixable(format!("{shown} {error}")),
            error => {
                let shown = places.shown(&self.path());
                CommandError::fixable(format!("{shown} was not changed: {error}"))
                    .hint("try again when the other command has ended")
            }
        }
    }
}

/// A folder other than the client's own; for a user, beneath home.
fn folder_of(
    target: &mut ExportDestination,
    folder: &RelativePath,
    is_user: bool,
    places: &Places,
) {
    folder.as_str().clone_into(&mut target.folder);
    if let Some(home) = places.home.clone().filter(|_| is_user) {
        target.base = home;
    }
}

/// Where a client looks for the user's own files.
fn user(client: ExportFormat) -> Option<ExportDestination> {
    let places = ClientPlaces::from_environment();
    let known = client.client();
    let mut folders = client.rules().user.iter();
    folders.find_map(|(base, folder)| {
        let base = places.base(known, *base)?;
        Some(ExportDestination {
            base: base.clone(),
            folder: (*folder).to_owned(),
            is_made: Some(base) != places.home.as_ref(),
        })
    })
}
