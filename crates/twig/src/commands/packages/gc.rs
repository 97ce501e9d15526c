//! `twig gc`: removes packages that no lock names.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_packages::TreeDigest;

use super::scope::PackageScope;
use super::store;
use crate::command_error::CommandError;
use crate::commands::check::counted;
use crate::places::Places;
use crate::ui::Ui;

// Removing what no lock names.
#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was removed, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct CollectedPackages {
    removed: Vec<String>,
    kept: usize,
    bytes: u64,
}

pub(crate) fn run(options: &GcArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let store = store(&places)?;
    let mut needed: Vec<TreeDigest> = Vec::new();
    for scope in PackageScope::all(&places)? {
        let lock = scope.read_lock(&places)?;
        needed.extend(lock.libraries().iter().map(|library| library.tree));
    }
    let collected = store.collect(&needed, options.dry_run)?;
    if options.json {
        ui.json(&CollectedPackages {
            removed: collected.removed.iter().map(ToString::to_string).collect(),
            kept: collected.kept,
            bytes: collected.bytes,
        })?;
    }
    let count = counted(collected.removed.len(), "package", "packages");
    let megabytes = collected.bytes.div_ceil(1024 * 1024);
    let kept = collected.kept;
    ui.say(if options.dry_run {
        format!("{count} would be removed ({megabytes} MiB), and {kept} kept")
    } else {
        format!("removed {count} ({megabytes} MiB), kept {kept}")
    });
    Ok(ExitCode::SUCCESS)
}
