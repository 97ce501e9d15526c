//! The part of the command line that is about prompts of other tools.

use std::path::PathBuf;

use clap::Args;
use twig_clients::import::Format;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Import {
    /// A file, or a folder with files
    pub(crate) path: PathBuf,

    /// The library of the data folder that takes them; made of the path's name where it is left out
    #[arg(long, value_name = "NAME", conflicts_with = "project")]
    pub(crate) library: Option<String>,

    /// Put them into this project instead, each text as it was written
    #[arg(short, long, value_name = "NAME")]
    pub(crate) project: Option<String>,

    /// The workspace that the project is in
    #[arg(short, long, value_name = "NAME", requires = "project")]
    pub(crate) workspace: Option<String>,

    /// What the files were written for, where they do not show it
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(crate) format: Option<Format>,

    /// Take rules, too, that apply always or by files
    #[arg(long)]
    pub(crate) all_rules: bool,

    /// Show what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Also list what is taken as it was
    #[arg(long)]
    pub(crate) all: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_format(text: &str) -> Result<Format, String> {
    let known = Format::ALL.map(Format::as_str);
    let mut formats = Format::ALL.into_iter();
    let found = formats.find(|format| format.as_str() == text);
    found.ok_or_else(|| {
        let near = twig_core::suggest::did_you_mean(text, known);
        near.unwrap_or_else(|| format!("known formats: {}", known.join(", ")))
    })
}
