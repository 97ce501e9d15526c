//! `twig lsp`: the language server, for editors.

use std::process::ExitCode;

use clap::Args;
use twig_sources::{Access, Watching};

use super::opened_catalog::{Followed, OpenedCatalog, SourceArgs};
use crate::command_error::CommandError;
use crate::config;
use crate::log;
use crate::lsp;
use crate::places::Places;

#[derive(Debug, Args)]
pub(crate) struct LspArgs {
    /// Talk over standard input and output, which is the only way; editors like to say so
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(super) fn run(_: &LspArgs) -> Result<ExitCode, CommandError> {
    log::never_wait();
    lsp::run(&|added| {
        let places = Places::from_environment();
        let config = config::load(&places)?;
        let sources = SourceArgs {
            library: added.to_vec(),
            ..SourceArgs::default()
        };
        let followed = Followed::default();
        let access = Access::Read;
        let opened =
            OpenedCatalog::load(places, config, sources, followed, access, Watching::Auto)?;
        Ok((opened.live, opened.templates))
    })
}
