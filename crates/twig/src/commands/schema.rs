//! `twig schema`: the JSON Schemas of the files that people write, for editors.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use twig_core::parse::{DEFINITION_SCHEMA, MANIFEST_SCHEMA, REPOSITORY_SCHEMA};

use crate::command_error::CommandError;
use crate::config::CONFIG_SCHEMA;
use crate::ui::Ui;

/// The file with the schema that new manifests refer to, beside them.
pub(super) const SCHEMA_FILE: &str = "twig.schema.json";

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The file that it describes
    #[arg(value_enum, default_value_t)]
    file: DescribedFile,
}

/// A file that has a schema.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum DescribedFile {
    /// `twig.toml`
    #[default]
    Manifest,
    /// Your own `config.toml`
    Config,
    /// A repository's `.twig/config.toml`
    Repository,
    /// A JSON definition of a prompt
    Definitions,
}

pub(super) fn run(options: &SchemaArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    ui.raw(match options.file {
        DescribedFile::Manifest => MANIFEST_SCHEMA,
        DescribedFile::Config => CONFIG_SCHEMA,
        DescribedFile::Repository => REPOSITORY_SCHEMA,
        DescribedFile::Definitions => DEFINITION_SCHEMA,
    })?;
    Ok(ExitCode::SUCCESS)
}
