//! `twig install`: makes this machine match the locks, nothing more and nothing less.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::LibraryName;
use twig_packages::{LockedLibrary, PackageLock, PackageLockError};
use twig_sources::{PackageError, PackageFetcher, WantedPackage};

use super::package_row::PackageRow;
use super::resolve::{fetch_locked, resolve, side_by_side};
use super::scope::PackageScope;
use super::{fetcher, short, warn_of_old_git};
use crate::command_error::CommandError;
use crate::commands::check::counted;
use crate::places::Places;
use crate::ui::Ui;

// Making this machine match the locks.
#[allow(clippy::struct_excessive_bools, reason = "flags of the command line")]
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Fail if the configuration and the lock differ, instead of changing the lock
    #[arg(long)]
    frozen: bool,

    /// Use only what is on this machine
    #[arg(long)]
    offline: bool,

    /// Compare every file with its package's list, and fetch packages again that were changed
    #[arg(long)]
    repair: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One package as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct InstalledPackage {
    #[serde(flatten)]
    package: PackageRow,
    tree: String,
    files: u64,
    /// `unchanged`, `fetched`, `locked` or `removed`.
    state: &'static str,
}

impl InstalledPackage {
    fn new(locked: &LockedLibrary, state: &'static str) -> Self {
        Self {
            package: PackageRow::of(locked),
            tree: locked.tree.to_string(),
            files: locked.files,
            state,
        }
    }
}

/// What is to be done for one package.
enum InstallStep {
    /// It is locked; its files may be missing.
    Locked(LockedLibrary),
    /// The lock has nothing for it, or something else.
    Unlocked(WantedPackage),
}

pub(crate) fn run(options: &InstallArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let fetcher = fetcher(&places)?;
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    let scopes = PackageScope::all(&places)?.into_iter();
    for scope in scopes.filter(|it| !it.is_followed) {
        match install(options, &places, &scope, &fetcher, ui) {
            Ok((done, failed)) => {
                rows.extend(done);
                errors.extend(failed);
            }
            Err(error) => errors.push(error),
        }
    }
    if options.json {
        ui.json(&rows)?;
    } else {
        report(&rows, errors.is_empty(), ui)?;
    }
    let Some(last) = errors.pop() else {
        return Ok(ExitCode::SUCCESS);
    };
    for error in &errors {
        ui.error(error);
    }
    Err(last)
}

fn report(rows: &[InstalledPackage], is_done: bool, ui: &mut Ui) -> Result<(), CommandError> {
    let changed: Vec<&InstalledPackage> =
        rows.iter().filter(|row| row.state != "unchanged").collect();
    let cells: Vec<Vec<String>> = changed
        .iter()
        .map(|row| {
            vec![
                row.package.name.clone(),
                row.state.to_owned(),
                row.package.reference.clone().unwrap_or_default(),
                row.package
                    .commit
                    .as_deref()
                    .map(short)
                    .unwrap_or_default()
                    .to_owned(),
                row.package.source.clone(),
            ]
        })
        .collect();
    ui.table(&cells)?;
    let same = rows.len() - changed.len();
    if changed.is_empty() && is_done {
        ui.say(match same {
            0 => "there are no packages: `twig add owner/repo` adds one".to_owned(),
            same => format!(
                "{} up to date with the lock",
                counted(same, "package is", "packages are")
            ),
        });
    }
    Ok(())
}

/// Installs the packages of one configuration; what fails does not keep the others back.
fn install(
    options: &InstallArgs,
    places: &Places,
    scope: &PackageScope,
    fetcher: &PackageFetcher,
    ui: &mut Ui,
) -> Result<(Vec<InstalledPackage>, Vec<CommandError>), CommandError> {
    let wanted: Vec<WantedPackage> = scope
        .wanted(places)?
        .into_iter()
        .map(|it| it.wanted)
        .collect();
    let (lock, is_healed) = usable_lock(options, places, scope, ui)?;
    let unwanted: Vec<LibraryName> = lock
        .libraries()
        .iter()
        .filter(|locked| !wanted.iter().any(|it| it.name == locked.name))
        .map(|locked| locked.name.clone())
        .collect();
    let steps: Vec<InstallStep> = wanted
        .iter()
        .map(|wanted| match lock.library(&wanted.name) {
            Some(locked) if wanted.is_locked_by(locked) => InstallStep::Locked(locked.clone()),
            _ => InstallStep::Unlocked(wanted.clone()),
        })
        .collect();
    if options.frozen {
        refuse_differences(places, scope, &steps, &unwanted)?;
    }
    let is_missing = |step: &InstallStep| match step {
        InstallStep::Locked(locked) => !fetcher.store.has(locked.tree),
        InstallStep::Unlocked(_) => true,
    };
    let missing = steps.iter().filter(|step| is_missing(step)).count();
    let is_git = |step: &InstallStep| match step {
        InstallStep::Locked(locked) => locked.source.git_url().is_some(),
        InstallStep::Unlocked(wanted) => wanted.source.git_url().is_some(),
    };
    let mut absent = steps.iter().filter(|step| is_missing(step));
    if !options.offline && absent.any(is_git) {
        warn_of_old_git(fetcher, ui);
    }
    let results = {
        let progress = ui.counted_progress("fetching packages", missing);
        side_by_side(&steps, |step| {
            let result = take(options, fetcher, step, &|text| progress.detail(text));
            if is_missing(step) {
                progress.step();
            }
            result
        })
    };
    let (mut rows, mut errors, mut locked) = (Vec::new(), Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok((entry, state)) => {
                rows.push(InstalledPackage::new(&entry, state));
                locked.extend((state == "locked").then_some(entry));
            }
            Err(error) => errors.push(error),
        }
    }
    rows.extend(unwanted.iter().filter_map(|name| {
        let entry = lock.library(name)?;
        Some(InstalledPackage::new(entry, "removed"))
    }));
    if !locked.is_empty() || !unwanted.is_empty() || is_healed {
        scope.change_lock(places, Some(&lock), |now| {
            for name in &unwanted {
                now.remove(name);
            }
            for entry in locked {
                now.insert(entry);
            }
        })?;
    }
    fetcher.store.remember_lock(&scope.lock)?;
    Ok((rows, errors))
}

/// Brings one package to this machine.
fn take(
    options: &InstallArgs,
    fetcher: &PackageFetcher,
    step: &InstallStep,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<(LockedLibrary, &'static str), CommandError> {
    let offline = |name: &LibraryName, what: &str| {
        let error = CommandError::fixable(format!("the package `{name}` {what}"));
        error.hint("run `twig install` without --offline")
    };
    match step {
        InstallStep::Locked(locked) => {
            let (store, tree) = (&fetcher.store, locked.tree);
            let is_here = store.has(tree);
            // A list that cannot be read is a change, too.
            let is_same = || {
                if options.repair {
                    store.check(tree).is_ok_and(|it| it.is_empty())
                } else {
                    store.has_lengths(tree)
                }
            };
            if is_here && is_same() {
                return Ok((locked.clone(), "unchanged"));
            }
            if options.offline {
                let what = if is_here {
                    "was changed, and only its source has its files"
                } else {
                    "is not on this machine"
                };
                return Err(offline(&locked.name, what));
            }
            fetch_locked(fetcher, locked, progress).map_err(|error| named(&locked.name, error))?;
            Ok((locked.clone(), "fetched"))
        }
        InstallStep::Unlocked(wanted) if options.offline => {
            Err(offline(&wanted.name, "is not in the lock"))
        }
        InstallStep::Unlocked(wanted) => {
            let resolved =
                resolve(fetcher, wanted, progress).map_err(|error| named(&wanted.name, error))?;
            Ok((resolved.locked, "locked"))
        }
    }
}

/// An error with the name of its package.
fn named(name: &LibraryName, error: PackageError) -> CommandError {
    let error = CommandError::from(error);
    CommandError {
        message: format!("the package `{name}` was not installed: {}", error.message),
        ..error
    }
}

fn refuse_differences(
    places: &Places,
    scope: &PackageScope,
    steps: &[InstallStep],
    unwanted: &[LibraryName],
) -> Result<(), CommandError> {
    let missing = steps.iter().filter_map(|step| match step {
        InstallStep::Locked(_) => None,
        InstallStep::Unlocked(wanted) => Some(format!("`{}` is not locked as wanted", wanted.name)),
    });
    let extra = unwanted
        .iter()
        .map(|name| format!("`{name}` is locked and not wanted"));
    let differences: Vec<String> = missing.chain(extra).collect();
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} and the lock beside it differ: {}",
        scope.shown(places),
        differences.join(", ")
    );
    Err(CommandError::fixable(message)
        .hint("run `twig install` without --frozen, and commit the lock"))
}

/// The lock, and whether it had to be put together from both sides of a merge.
fn usable_lock(
    options: &InstallArgs,
    places: &Places,
    scope: &PackageScope,
    ui: &mut Ui,
) -> Result<(PackageLock, bool), CommandError> {
    let text = scope.lock_text(places)?;
    let error = match PackageLock::parse(&text) {
        Ok(lock) => return Ok((lock, false)),
        Err(error) => error,
    };
    let is_conflict = matches!(error, PackageLockError::Conflict { .. });
    let sides = PackageLock::sides(&text).filter(|_| is_conflict && !options.frozen);
    let Some((ours, theirs)) = sides else {
        return Err(scope.bad_lock(places, &error));
    };
    let mut lock = PackageLock::default();
    for entry in ours.libraries().iter().chain(theirs.libraries()) {
        let is_sure = |side: &PackageLock| {
            let other = side.library(&entry.name);
            other.is_none_or(|other| other == entry)
        };
        // What both sides changed is asked for again.
        if is_sure(&ours) && is_sure(&theirs) {
            lock.insert(entry.clone());
        }
    }
    ui.say(format!(
        "{} had a merge conflict: both sides are taken, and what both changed is looked up again",
        places.shown(&scope.lock)
    ));
    Ok((lock, true))
}
