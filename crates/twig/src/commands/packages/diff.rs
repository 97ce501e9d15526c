//! `twig diff`: what two versions of a package differ in, text and capabilities.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_packages::source::is_reference;
use twig_packages::{LockedLibrary, PackageSource};
use twig_sources::PackageFetcher;

use super::changes_report::{ChangesReport, changes, print_changes};
use super::resolve::fetch;
use super::scope::selected;
use super::update::targets;
use super::{fetcher, version_of};
use crate::command_error::{CommandError, ErrorKind};
use crate::places::Places;
use crate::text_diff;
use crate::ui::Ui;

/// The longest file whose lines are compared, in bytes.
const LONGEST: u64 = 1024 * 1024;

// Two versions of a package.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The package
    #[arg(value_name = "NAME")]
    name: String,

    /// Two branches, tags or commits; without it, the version in use and the newest one
    #[arg(value_name = "OLD..NEW")]
    range: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Two versions of a package, as scripts see them; this shape is stable.
#[derive(Debug, Serialize)]
struct PackageDifference {
    name: String,
    old: String,
    new: String,
    changes: ChangesReport,
    diff: String,
}

pub(crate) fn run(options: &DiffArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let fetcher = fetcher(&places)?;
    let (old, new) = match &options.range {
        Some(range) => between(&places, &fetcher, options, range, ui)?,
        None => newest(&places, &fetcher, options, ui)?,
    };
    let changes = changes(&fetcher, &old, &new)?;
    let diff = text(&fetcher, &old, &new)?;
    if options.json {
        ui.json(&PackageDifference {
            name: new.name.to_string(),
            old: version_of(&old),
            new: version_of(&new),
            changes: ChangesReport::of(&changes),
            diff,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_same = old.commit == new.commit && old.tree == new.tree;
    if is_same && options.range.is_none() {
        let version = version_of(&new);
        ui.say(format!(
            "`{}` is at its newest version, {version}",
            new.name
        ));
        return Ok(ExitCode::SUCCESS);
    }
    if old.tree == new.tree {
        ui.say(format!(
            "{} and {} have the same files",
            version_of(&old),
            version_of(&new)
        ));
        return Ok(ExitCode::SUCCESS);
    }
    ui.page();
    ui.heading(&format!(
        "{}  {} → {}",
        new.name,
        version_of(&old),
        version_of(&new)
    ))?;
    print_changes(&changes, ui)?;
    for line in diff.lines() {
        ui.diff_line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn newest(
    places: &Places,
    fetcher: &PackageFetcher,
    options: &DiffArgs,
    ui: &mut Ui,
) -> Result<(LockedLibrary, LockedLibrary), CommandError> {
    let names = [options.name.clone()];
    let (found, errors) = targets(places, fetcher, &names, ui)?;
    let Some(target) = found.into_iter().next() else {
        let missing = || CommandError::fixable(format!("there is no package `{}`", options.name));
        return Err(errors.into_iter().next().unwrap_or_else(missing));
    };
    let progress = ui.progress("fetching the newest version");
    let newest = target.fetch(fetcher, &|text| progress.detail(text))?;
    Ok((target.locked, newest))
}

fn between(
    places: &Places,
    fetcher: &PackageFetcher,
    options: &DiffArgs,
    range: &str,
    ui: &mut Ui,
) -> Result<(LockedLibrary, LockedLibrary), CommandError> {
    let ends = range.split_once("..");
    let ends = ends.filter(|(old, new)| is_reference(old) && is_reference(new));
    let Some((old, new)) = ends else {
        let message = format!("`{range}` is no pair of versions: write OLD..NEW");
        return Err(CommandError::new(ErrorKind::Usage, message));
    };
    let found = selected(places, std::slice::from_ref(&options.name))?;
    let Some((_, package)) = found.into_iter().next() else {
        let message = format!("there is no package `{}`", options.name);
        return Err(CommandError::fixable(message));
    };
    let wanted = &package.wanted;
    if let PackageSource::Index { url } = &wanted.source {
        let message = format!("{url} has an index of skills, which has no versions to compare");
        let hint = format!(
            "`twig diff {}` compares the skills in use with those of now",
            options.name
        );
        return Err(CommandError::fixable(message).hint(hint));
    }
    let progress = ui.progress("fetching both versions");
    let references = fetcher.references(&wanted.source, &|_| {})?;
    let get = |reference: &str| {
        let resolved = references.resolve(&wanted.source, Some(reference))?;
        let version = fetch(fetcher, wanted, &resolved, &|text| progress.detail(text))?;
        Ok::<_, CommandError>(version.locked)
    };
    Ok((get(old)?, get(new)?))
}

/// The lines that differ, of every text file.
fn text(
    fetcher: &PackageFetcher,
    old: &LockedLibrary,
    new: &LockedLibrary,
) -> Result<String, CommandError> {
    let store = &fetcher.store;
    let (old_files, new_files) = (store.files_of(old.tree)?, store.files_of(new.tree)?);
    let mut paths: Vec<&str> = old_files.files().iter().map(|file| &*file.path).collect();
    paths.extend(new_files.files().iter().map(|file| &*file.path));
    paths.sort_unstable();
    paths.dedup();
    let mut diff = String::new();
    for path in paths {
        let (before, after) = (old_files.file(path), new_files.file(path));
        if before.map(|it| it.digest) == after.map(|it| it.digest) {
            continue;
        }
        let read = |tree, file: Option<&twig_packages::PackageFile>| match file {
            None => Some(String::new()),
            Some(file) if file.size > LONGEST => None,
            Some(file) => std::fs::read_to_string(store.root_of(tree).join(&file.path)).ok(),
        };
        match (read(old.tree, before), read(new.tree, after)) {
            (Some(one), Some(two)) if !one.contains('\0') && !two.contains('\0') => {
                let name = |prefix: &str, file: Option<&twig_packages::PackageFile>| match file {
                    Some(_) => format!("{prefix}/{path}"),
                    None => "/dev/null".to_owned(),
                };
                let (old_name, new_name) = (name("old", before), name("new", after));
                diff.push_str(&text_diff::unified((&old_name, &one), (&new_name, &two)));
            }
            _ => {
                let _ = writeln!(diff, "{path} differs, and is long or no text");
            }
        }
    }
    Ok(diff)
}
