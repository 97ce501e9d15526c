//! `twig update` and `twig outdated`: what is newer, what it would change, and the switch to it.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::LibraryName;
use twig_packages::source::is_commit;
use twig_packages::{LockedLibrary, PackageChanges, PackageLock, PackageSource, VersionTag};
use twig_sources::{
    PackageError, PackageFetcher, ReferenceKind, RemoteReferences, ResolvedReference, WantedPackage,
};

use super::changes_report::{ChangesReport, changes, print_changes};
use super::package_row::PackageRow;
use super::resolve::{fetch, fetch_locked, resolve, side_by_side};
use super::scope::{PackageScope, ScopedPackage, selected};
use super::{fetcher, short, version_of};
use crate::command_error::{CommandError, ErrorKind};
use crate::commands::check::counted;
use crate::commands::question::{self, YesArgs};
use crate::places::Places;
use crate::ui::Ui;

// Newer versions of packages.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// The packages; all of them without names
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Show what would change, and change nothing; exits with 1 if there is something
    #[arg(long, visible_alias = "dry-run")]
    plan: bool,

    /// Go back to the versions before the last update
    #[arg(long, conflicts_with = "plan")]
    undo: bool,

    #[command(flatten)]
    yes: YesArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

// Packages with newer versions.
#[derive(Debug, Args)]
pub(crate) struct OutdatedArgs {
    /// The packages; all of them without names
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One package and its newest version, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct OutdatedPackage {
    #[serde(flatten)]
    package: PackageRow,
    /// Absent for an index, which has no versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_commit: Option<String>,
    /// For an index: the digest over its skills now.
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_tree: Option<String>,
    outdated: bool,
}

/// One package and what its update changes, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct UpdatedPackage {
    name: String,
    source: String,
    from: PackageVersion,
    to: PackageVersion,
    changes: ChangesReport,
    /// Whether it is the new version that is served now.
    updated: bool,
}

/// A version of a package, as scripts see it.
#[derive(Debug, Serialize)]
struct PackageVersion {
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    tree: String,
}

impl PackageVersion {
    fn of(locked: &LockedLibrary) -> Self {
        Self {
            reference: locked.reference.clone(),
            commit: locked.commit.clone(),
            tree: locked.tree.to_string(),
        }
    }
}

/// A package of a lock, and where an update would go.
pub(super) struct UpdateTarget {
    pub(super) scope: PackageScope,
    pub(super) package: ScopedPackage,
    pub(super) locked: LockedLibrary,
    pub(super) newest: NewestVersion,
}

/// Where an update goes.
pub(super) enum NewestVersion {
    /// To a version of a repository, which is not fetched yet.
    Reference(ResolvedReference),
    /// To what an index has now. Only its files tell whether it changed, so they are fetched.
    Index(LockedLibrary),
}

impl UpdateTarget {
    fn is_newer(&self) -> bool {
        match &self.newest {
            NewestVersion::Reference(target) => {
                self.locked.commit.as_ref() != Some(&target.commit)
                    || self.locked.reference.as_ref() != Some(&target.reference)
            }
            NewestVersion::Index(now) => self.locked.tree != now.tree,
        }
    }

    /// The entry of the lock for the newest version; its files are on this machine then.
    pub(super) fn fetch(
        &self,
        fetcher: &PackageFetcher,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<LockedLibrary, PackageError> {
        match &self.newest {
            NewestVersion::Reference(target) => {
                let resolved = fetch(fetcher, &self.package.wanted, target, progress)?;
                Ok(resolved.locked)
            }
            NewestVersion::Index(now) => Ok(now.clone()),
        }
    }

    fn outdated(&self) -> OutdatedPackage {
        let (target, now) = match &self.newest {
            NewestVersion::Reference(target) => (Some(target), None),
            NewestVersion::Index(now) => (None, Some(now)),
        };
        OutdatedPackage {
            package: PackageRow::of(&self.locked),
            newest_ref: target.map(|it| it.reference.clone()),
            newest_commit: target.map(|it| it.commit.clone()),
            newest_tree: now.map(|it| it.tree.to_string()),
            outdated: self.is_newer(),
        }
    }
}

/// An update that was fetched and is not in use yet.
struct PlannedUpdate {
    scope: PackageScope,
    package: ScopedPackage,
    locked: LockedLibrary,
    next: LockedLibrary,
    changes: PackageChanges,
}

impl PlannedUpdate {
    fn row(&self, updated: bool) -> UpdatedPackage {
        UpdatedPackage {
            name: self.next.name.to_string(),
            source: self.next.source.to_string(),
            from: PackageVersion::of(&self.locked),
            to: PackageVersion::of(&self.next),
            changes: ChangesReport::of(&self.changes),
            updated,
        }
    }
}

pub(crate) fn outdated(options: &OutdatedArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let fetcher = fetcher(&places)?;
    let (found, errors) = targets(&places, &fetcher, &options.names, ui)?;
    let rows: Vec<OutdatedPackage> = found.iter().map(UpdateTarget::outdated).collect();
    if options.json {
        ui.json(&rows)?;
    } else {
        let cells = found.iter().filter(|it| it.is_newer()).map(|it| {
            vec![
                it.locked.name.to_string(),
                version_of(&it.locked),
                "→".to_owned(),
                version(&it.newest),
                it.locked.source.to_string(),
            ]
        });
        let cells: Vec<Vec<String>> = cells.collect();
        ui.table(&cells)?;
        if cells.is_empty() && errors.is_empty() {
            ui.say(match rows.len() {
                0 => "there are no packages: `twig add owner/repo` adds one".to_owned(),
                count => format!(
                    "{} newest",
                    counted(count, "package is the", "packages are the")
                ),
            });
        } else if !cells.is_empty() {
            ui.say("hint: `twig update --plan` shows what would change");
        }
    }
    end(errors, ExitCode::SUCCESS, ui)
}

pub(crate) fn run(options: &UpdateArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let fetcher = fetcher(&places)?;
    if options.undo {
        return undo(options, &places, &fetcher, ui);
    }
    let (found, mut errors) = targets(&places, &fetcher, &options.names, ui)?;
    let newer: Vec<UpdateTarget> = found.into_iter().filter(UpdateTarget::is_newer).collect();
    let planned = {
        let progress = ui.counted_progress("fetching newer versions", newer.len());
        side_by_side(&newer, |it| {
            let next = it.fetch(&fetcher, &|text| progress.detail(text));
            progress.step();
            next
        })
    };
    let mut plans = Vec::new();
    for (of, next) in newer.into_iter().zip(planned) {
        let planned = next.map_err(CommandError::from).and_then(|next| {
            let changes = changes(&fetcher, &of.locked, &next)?;
            Ok((next, changes))
        });
        match planned {
            Ok((next, changes)) => plans.push(PlannedUpdate {
                scope: of.scope,
                package: of.package,
                locked: of.locked,
                next,
                changes,
            }),
            Err(error) => errors.push(not_updated(&of.locked.name, error)),
        }
    }
    if !options.json {
        for plan in &plans {
            let (from, to) = (version_of(&plan.locked), version_of(&plan.next));
            ui.heading(&format!("{}  {from} → {to}", plan.next.name))?;
            print_changes(&plan.changes, ui)?;
        }
        if plans.is_empty() && errors.is_empty() {
            ui.say("every package is the newest version; `twig doctor` says how to upgrade Twig");
        }
    }
    let is_accepted = !plans.is_empty() && !options.plan && is_meant(options, &plans, ui)?;
    if is_accepted {
        switch(&places, &fetcher, &plans)?;
        let names: Vec<String> = plans
            .iter()
            .map(|it| format!("`{}`", it.next.name))
            .collect();
        ui.say(format!(
            "updated {}; `twig update --undo` goes back",
            names.join(", ")
        ));
    } else if !plans.is_empty() && !options.plan {
        ui.say("nothing was changed");
    }
    if options.json {
        let rows = plans.iter().map(|plan| plan.row(is_accepted));
        ui.json(&rows.collect::<Vec<_>>())?;
    }
    let code = if options.plan && !plans.is_empty() {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    };
    end(errors, code, ui)
}

/// Reports errors that did not keep other packages back.
fn end(
    mut errors: Vec<CommandError>,
    code: ExitCode,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let Some(last) = errors.pop() else {
        return Ok(code);
    };
    for error in &errors {
        ui.error(error);
    }
    Err(last)
}

fn version(newest: &NewestVersion) -> String {
    match newest {
        NewestVersion::Reference(target) if target.reference == target.commit => {
            short(&target.commit).to_owned()
        }
        NewestVersion::Reference(target) => {
            format!("{} ({})", target.reference, short(&target.commit))
        }
        NewestVersion::Index(_) => "changed".to_owned(),
    }
}

/// Where an update of each package would go; asks all sources side by side.
pub(super) fn targets(
    places: &Places,
    fetcher: &PackageFetcher,
    names: &[String],
    ui: &mut Ui,
) -> Result<(Vec<UpdateTarget>, Vec<CommandError>), CommandError> {
    let mut packages = Vec::new();
    let mut errors = Vec::new();
    for (scope, package) in selected(places, names)? {
        if scope.is_followed {
            let name = &package.wanted.name;
            if !names.is_empty() {
                let message = format!("the package `{name}` was not updated: a server follows it");
                let hint = "the server takes each new commit by itself; without `every` in config.toml, `twig update` does";
                errors.push(CommandError::fixable(message).hint(hint));
            }
            continue;
        }
        let lock = scope.read_lock(places)?;
        let name = &package.wanted.name;
        if let Some(locked) = lock.library(name).filter(|it| package.wanted.is_of(it)) {
            packages.push((scope, package, locked.clone()));
            continue;
        }
        let error = CommandError::fixable(format!("the package `{name}` is not in the lock"));
        errors.push(error.hint("run `twig install`"));
    }
    let answers = {
        let progress = ui.counted_progress("asking for newer versions", packages.len());
        side_by_side(&packages, |(_, package, locked)| {
            let answer = newest(fetcher, &package.wanted, locked);
            progress.step();
            answer
        })
    };
    let mut targets = Vec::new();
    for ((scope, package, locked), answer) in packages.into_iter().zip(answers) {
        let name = locked.name.clone();
        match answer {
            Ok(newest) => targets.push(UpdateTarget {
                scope,
                package,
                locked,
                newest,
            }),
            Err(error) => errors.push(not_updated(&name, error)),
        }
    }
    Ok((targets, errors))
}

fn not_updated(name: &LibraryName, error: CommandError) -> CommandError {
    CommandError {
        message: format!("the package `{name}` was not updated: {}", error.message),
        ..error
    }
}

/// Asks a source where an update goes.
fn newest(
    fetcher: &PackageFetcher,
    wanted: &WantedPackage,
    locked: &LockedLibrary,
) -> Result<NewestVersion, CommandError> {
    if let PackageSource::Index { .. } = wanted.source {
        let now = resolve(fetcher, wanted, &|_| {})?;
        return Ok(NewestVersion::Index(now.locked));
    }
    let references = fetcher.references(&wanted.source, &|_| {})?;
    target(wanted, locked, &references).map(NewestVersion::Reference)
}

/// Where an update of a repository goes: a version to the newest version, a branch to its head; a commit stays.
fn target(
    wanted: &WantedPackage,
    locked: &LockedLibrary,
    references: &RemoteReferences,
) -> Result<ResolvedReference, CommandError> {
    let source = &wanted.source;
    let before = locked.reference.as_deref();
    if let (Some(reference), Some(commit)) = (before, &locked.commit)
        && let Some(now) = references.tags.get(reference)
        && now != commit
    {
        return Err(moved(&source.to_string(), reference, commit, now));
    }
    let newest = |like: &str| {
        let like = VersionTag::parse(like)?;
        let tags = references.tags.keys().map(String::as_str);
        let newest = VersionTag::newest(tags, Some(&like))?;
        newest.is_after(&like).then_some(newest.tag)
    };
    let reference = match &wanted.reference {
        None => None,
        Some(reference) if references.tags.contains_key(reference) => {
            Some(newest(reference).unwrap_or_else(|| reference.clone()))
        }
        Some(reference) if references.branches.contains_key(reference) || is_commit(reference) => {
            Some(reference.clone())
        }
        // It was deleted, which is no reason to stay if it named a version and there are newer ones.
        Some(reference) => match newest(reference) {
            Some(newest) => Some(newest),
            None => return Err(deleted(locked, reference, references)),
        },
    };
    let mut resolved = references.resolve(source, reference.as_deref())?;
    // A version that was removed is no reason to go back.
    if wanted.reference.is_none()
        && let (Some(before), Some(now)) = (
            before.and_then(VersionTag::parse),
            VersionTag::parse(&resolved.reference),
        )
        && before.is_after(&now)
    {
        resolved = ResolvedReference {
            reference: before.tag,
            kind: ReferenceKind::Tag,
            commit: locked.commit.clone().unwrap_or_default(),
        };
    }
    Ok(resolved)
}

/// The error for a branch or tag that its source no longer has.
fn deleted(locked: &LockedLibrary, reference: &str, references: &RemoteReferences) -> CommandError {
    let (source, name) = (&locked.source, &locked.name);
    let message =
        format!("{source} no longer has `{reference}`; the version in the lock is still served");
    let newest = VersionTag::newest(references.tags.keys().map(String::as_str), None);
    let others = newest
        .map(|tag| tag.tag)
        .or_else(|| references.head.clone());
    let other = others.map_or_else(String::new, |it| format!(", such as `{it}`"));
    CommandError::fixable(message).hint(format!(
        "set `ref` of `{name}` in the configuration to a tag or branch that it has{other}, and run `twig install`"
    ))
}

fn moved(source_text: &str, reference: &str, locked: &str, now: &str) -> CommandError {
    let message = format!(
        "the tag `{reference}` of {source_text} was moved: the lock has commit {locked}, and the tag is now at {now}"
    );
    CommandError::fixable(message).hint(
        "versions do not change: ask its owner why; to take the new one, remove the package and add it again",
    )
}

fn is_meant(
    options: &UpdateArgs,
    plans: &[PlannedUpdate],
    ui: &mut Ui,
) -> Result<bool, CommandError> {
    if options.yes.is_given(ui) {
        return Ok(true);
    }
    let unanswered = || {
        let message =
            "nothing was updated: this is not a terminal, so you cannot be asked to confirm it";
        CommandError::fixable(message).hint("use --yes to accept the plan, or --plan to see it")
    };
    let what = counted(plans.len(), "package", "packages");
    question::ask(&format!("update {what}?"), unanswered, ui)
}

/// Has the new versions served: the lock first, then references in the configuration.
fn switch(
    places: &Places,
    fetcher: &PackageFetcher,
    plans: &[PlannedUpdate],
) -> Result<(), CommandError> {
    let mut scopes: Vec<&PackageScope> = Vec::new();
    for plan in plans {
        if !scopes.iter().any(|it| it.lock == plan.scope.lock) {
            scopes.push(&plan.scope);
        }
    }
    for scope in scopes {
        let own = || plans.iter().filter(|plan| plan.scope.lock == scope.lock);
        let mut before = PackageLock::default();
        own().for_each(|plan| before.insert(plan.locked.clone()));
        fetcher.store.remember_versions(&scope.lock, &before)?;
        scope.change_lock(places, None, |lock| {
            own().for_each(|plan| lock.insert(plan.next.clone()));
        })?;
        let changed = own().filter(|plan| {
            let wanted = &plan.package.wanted.reference;
            wanted.is_some() && *wanted != plan.next.reference
        });
        let changed: Vec<&PlannedUpdate> = changed.collect();
        if changed.is_empty() {
            continue;
        }
        let mut config = scope.open_config(places)?;
        for plan in changed {
            let reference = plan.next.reference.as_deref().unwrap_or_default();
            config.set_reference(places, plan.package.at, reference)?;
        }
        config.save(places)?;
    }
    Ok(())
}

/// Goes back to the versions before the last update of each configuration.
fn undo(
    options: &UpdateArgs,
    places: &Places,
    fetcher: &PackageFetcher,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let mut packages = selected(places, &options.names)?;
    packages.retain(|(scope, _)| !scope.is_followed);
    let mut plans = Vec::new();
    for (scope, package) in packages {
        let lock = scope.read_lock(places)?;
        let Some(before) = fetcher.store.versions_before(&scope.lock)? else {
            continue;
        };
        let name = &package.wanted.name;
        let (Some(locked), Some(before)) = (lock.library(name), before.library(name)) else {
            continue;
        };
        if locked == before || !package.wanted.is_of(before) {
            continue;
        }
        if !fetcher.store.has(before.tree) {
            let progress = ui.progress("fetching the version before");
            fetch_locked(fetcher, before, &|text| progress.detail(text))?;
        }
        plans.push(PlannedUpdate {
            changes: changes(fetcher, locked, before)?,
            next: before.clone(),
            locked: locked.clone(),
            scope,
            package,
        });
    }
    if plans.is_empty() {
        let message = "there is no update to go back from";
        return Err(CommandError::new(ErrorKind::Fixable, message));
    }
    switch(places, fetcher, &plans)?;
    if options.json {
        let rows = plans.iter().map(|plan| plan.row(true));
        ui.json(&rows.collect::<Vec<_>>())?;
    }
    for plan in &plans {
        let (from, to) = (version_of(&plan.locked), version_of(&plan.next));
        ui.say(format!(
            "`{}` went back from {from} to {to}",
            plan.next.name
        ));
    }
    Ok(ExitCode::SUCCESS)
}
