//! `twig add SOURCE`: fetches a package, shows what is in it, locks it and serves it from now on.

use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use twig_core::LibraryName;
use twig_packages::{LockedLibrary, PackageSource, PackageSpec};
use twig_sources::{LeftOutFile, LiveCatalog, PackageFetcher, Remembered, WantedPackage};

use super::changes_report::{CapabilityRow, capability_rows};
use super::overview::{ManifestProblemRow, PackageOverview, RemotePluginRow};
use super::package_row::PackageRow;
use super::resolve::{ResolvedPackage, resolve, side_by_side};
use super::scope::PackageScope;
use super::{fetcher, version_of, warn_of_old_git};
use crate::command_error::{CommandError, ErrorKind};
use crate::commands::check::counted;
use crate::commands::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::commands::question;
use crate::config;
use crate::places::Places;
use crate::ui::Ui;

/// The most names that are printed of a long list.
const NAMES: usize = 12;

/// How packages are added.
#[allow(clippy::struct_excessive_bools, reason = "flags of the command line")]
#[derive(Debug, Default)]
pub(crate) struct PackageAddOptions<'o> {
    /// What was written, each a source.
    pub(crate) sources: Vec<&'o str>,
    /// The name of its library.
    pub(crate) name: Option<LibraryName>,
    /// The names of what is served of it.
    pub(crate) only: Vec<Box<str>>,
    /// True to add to the user's configuration, even in a repository with a `.twig` folder.
    pub(crate) is_global: bool,
    pub(crate) is_yes: bool,
    pub(crate) is_trial: bool,
    /// True to add the others if one of them cannot be added.
    pub(crate) keeps_going: bool,
    pub(crate) json: bool,
}

/// One package as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct AddedPackage {
    #[serde(flatten)]
    package: PackageRow,
    tree: String,
    files: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<String>,
    prompts: Vec<String>,
    skills: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    /// What its files can make an agent do.
    capabilities: Vec<CapabilityRow>,
    left_out: Vec<LeftOutRow>,
    /// Plugins of its marketplace that are elsewhere.
    elsewhere: Vec<RemotePluginRow>,
    /// What is wrong with its manifests.
    warnings: Vec<ManifestProblemRow>,
    added: bool,
}

/// Something of the source that is not served, as scripts see it.
#[derive(Debug, Serialize)]
struct LeftOutRow {
    /// `file`, or what it is: `hooks`, `MCP servers`, `agents`.
    what: &'static str,
    path: String,
    why: String,
}

/// What came of adding packages.
pub(super) struct AddOutcome {
    pub(super) rows: Vec<AddedPackage>,
    /// Why others could not be added.
    pub(super) errors: Vec<CommandError>,
}

/// A package that is about to be added.
struct NewPackage {
    wanted: WantedPackage,
    locked: LockedLibrary,
    left_out: Vec<LeftOutFile>,
    /// The full names of its prompts.
    prompts: Vec<String>,
    skills: usize,
    overview: PackageOverview,
}

/// Adds packages: all of them, or none.
pub(crate) fn run(options: &PackageAddOptions<'_>, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let scope = PackageScope::current(&places, options.is_global)?;
    let wanted = wanted(options, &places, &scope, ui)?;
    add(options, &places, &scope, wanted, ui)
}

/// Adds packages to a configuration, and prints them.
pub(crate) fn add(
    options: &PackageAddOptions<'_>,
    places: &Places,
    scope: &PackageScope,
    wanted: Vec<WantedPackage>,
    ui: &mut Ui,
) -> Result<ExitCode, CommandError> {
    let outcome = add_all(options, places, scope, wanted, ui)?;
    if options.json {
        ui.json(&outcome.rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds packages to a configuration.
pub(super) fn add_all(
    options: &PackageAddOptions<'_>,
    places: &Places,
    scope: &PackageScope,
    wanted: Vec<WantedPackage>,
    ui: &mut Ui,
) -> Result<AddOutcome, CommandError> {
    let mut outcome = AddOutcome {
        rows: Vec::new(),
        errors: Vec::new(),
    };
    if wanted.is_empty() {
        return Ok(outcome);
    }
    let fetcher = fetcher(places)?;
    if wanted.iter().any(|it| it.source.git_url().is_some()) {
        warn_of_old_git(&fetcher, ui);
    }
    let resolved = {
        let progress = ui.counted_progress("fetching", wanted.len());
        side_by_side(&wanted, |wanted| {
            let resolved = resolve(&fetcher, wanted, &|text| progress.detail(text));
            progress.step();
            resolved
        })
    };
    let mut packages = Vec::new();
    for (wanted, resolved) in wanted.into_iter().zip(resolved) {
        let resolved = resolved.map_err(CommandError::from);
        match resolved.and_then(|resolved| look(places, &fetcher, wanted, resolved)) {
            Ok(package) => packages.push(package),
            Err(error) if options.keeps_going => outcome.errors.push(error),
            Err(error) => return Err(error),
        }
    }
    for package in &packages {
        show(package, options.json, ui)?;
    }
    let is_added =
        !options.is_trial && !packages.is_empty() && (options.is_yes || is_meant(&packages, ui)?);
    if is_added {
        keep(places, scope, &fetcher, &packages, ui)?;
    } else if !options.is_trial {
        ui.say("nothing was added");
    }
    // Who answered no gets no list.
    if is_added || options.is_trial {
        let rows = packages.iter().map(|package| package.row(is_added));
        outcome.rows = rows.collect();
    }
    Ok(outcome)
}

/// Writes packages to the lock and the configuration.
fn keep(
    places: &Places,
    scope: &PackageScope,
    fetcher: &PackageFetcher,
    packages: &[NewPackage],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    // The lock first: an entry that nothing asks for does no harm.
    scope.change_lock(places, None, |lock| {
        for package in packages {
            lock.insert(package.locked.clone());
        }
    })?;
    let mut config = scope.open_config(places)?;
    for package in packages {
        config.add_package(places, &package.wanted)?;
    }
    config.save(places)?;
    fetcher.store.remember_lock(&scope.lock)?;
    for package in packages {
        let where_to = scope.shown(places);
        ui.say(format!("added `{}` to {where_to}", package.wanted.name));
    }
    Ok(())
}

impl NewPackage {
    fn row(&self, added: bool) -> AddedPackage {
        let locked = &self.locked;
        let files = self.left_out.iter().map(|file| LeftOutRow {
            what: "file",
            path: file.path.clone(),
            why: file.why.clone(),
        });
        let parts = self.overview.left_out().iter().map(|part| LeftOutRow {
            what: part.what,
            path: part.path.clone(),
            why: part.reason.to_owned(),
        });
        AddedPackage {
            package: PackageRow::of(locked),
            tree: locked.tree.to_string(),
            files: locked.files,
            license: locked.license.clone(),
            prompts: self.prompts.clone(),
            skills: self.skills,
            signed_by: locked.signed_by.clone(),
            capabilities: capability_rows(&self.overview.capabilities),
            left_out: files.chain(parts).collect(),
            elsewhere: self.overview.remote_rows(),
            warnings: self.overview.problem_rows(),
            added,
        }
    }
}

/// What the sources ask for, without what was added before.
fn wanted(
    options: &PackageAddOptions<'_>,
    places: &Places,
    scope: &PackageScope,
    ui: &mut Ui,
) -> Result<Vec<WantedPackage>, CommandError> {
    if options.name.is_some() && options.sources.len() > 1 {
        let message = "--as is for one package, and several are given";
        return Err(CommandError::new(ErrorKind::Usage, message));
    }
    let mut known = scope.wanted(places)?;
    if !scope.is_repository {
        known.extend(PackageScope::followed(places)?.wanted(places)?);
    }
    let mut wanted: Vec<WantedPackage> = Vec::new();
    for text in &options.sources {
        let spec = PackageSpec::parse(text)
            .map_err(|error| CommandError::new(ErrorKind::Usage, error.to_string()))?;
        let name = options.name.clone().or_else(|| spec.library_name());
        let Some(name) = name else {
            let message = format!("`{text}` gives its library no name: choose one with --as");
            return Err(CommandError::new(ErrorKind::Usage, message));
        };
        let package = WantedPackage {
            name,
            source: spec.source,
            reference: spec.reference,
            path: spec.path,
            only: options.only.clone(),
        };
        let same = known.iter().map(|it| &it.wanted).chain(&wanted);
        match same.into_iter().find(|it| it.name == package.name) {
            Some(same) if same.source == package.source && same.path == package.path => {
                ui.say(format!(
                    "`{}` was added before, and nothing changed",
                    same.name
                ));
                if same.reference != package.reference || same.only != package.only {
                    ui.say(format!(
                        "hint: to add it another way, run `twig remove {}` first; `twig update {}` brings a newer version",
                        same.name, same.name
                    ));
                }
            }
            Some(same) => {
                let message = format!(
                    "a package `{}` from {} was added before",
                    same.name, same.source
                );
                let hint = "choose another name with --as".to_owned();
                return Err(CommandError::fixable(message).hint(hint));
            }
            None => wanted.push(package),
        }
    }
    Ok(wanted)
}

/// What would be served of a package that was fetched.
fn look(
    places: &Places,
    fetcher: &PackageFetcher,
    wanted: WantedPackage,
    resolved: ResolvedPackage,
) -> Result<NewPackage, CommandError> {
    let ResolvedPackage { locked, fetched } = resolved;
    let read = || PackageOverview::read(&fetcher.store, fetched.tree, &fetched.files);
    // Both read every file, one of them on another thread.
    let (live, overview) = std::thread::scope(|scope| {
        let reading = std::thread::Builder::new().spawn_scoped(scope, read);
        let remembered = Remembered {
            package: Some(wanted.clone()),
            ..Remembered::default()
        };
        let live = opened(places, remembered, &locked);
        let overview = reading.map(std::thread::ScopedJoinHandle::join);
        (live, overview)
    });
    let live = live?;
    let overview = match overview {
        Ok(Ok(overview)) => overview,
        // Without another thread, or with a panic there, which shows here as well.
        _ => read(),
    };
    let catalog = live.live.snapshot();
    let is_of = |name: &LibraryName| *name == wanted.name;
    let libraries = catalog
        .libraries()
        .iter()
        .filter(|it| it.package.as_ref().is_some_and(|it| is_of(&it.name)));
    let (mut prompts, mut skills) = (Vec::new(), 0);
    for library in libraries {
        // One that runs a program is served once its library is trusted.
        let served = library.prompts.iter();
        let served = served.filter(|it| it.unavailable.is_none() || it.function().is_some());
        prompts.extend(served.map(|prompt| prompt.full_name.to_string()));
        skills += library.skills.len();
    }
    if prompts.is_empty() {
        return Err(nothing(&wanted, &live.live));
    }
    Ok(NewPackage {
        overview,
        wanted,
        locked,
        left_out: fetched.left_out,
        prompts,
        skills,
    })
}

/// The error for a package of which nothing would be served.
fn nothing(wanted: &WantedPackage, live: &LiveCatalog) -> CommandError {
    let mut left_out: Vec<String> = live
        .snapshot()
        .libraries()
        .iter()
        .filter_map(|library| library.package.as_ref())
        .flat_map(|package| package.left_out.iter().map(ToString::to_string))
        .collect();
    if left_out.is_empty() {
        let message = format!("{} has no prompts and no skills", wanted.source);
        return CommandError::fixable(message)
            .hint("name the folder that holds them: `owner/repo/folder`");
    }
    left_out.sort();
    let only = wanted.only.join("`, `");
    let message = format!("nothing in {} is called `{only}`", wanted.source);
    CommandError::fixable(message).hint(format!("it has {}", some(&left_out)))
}

/// What would be served of a package with these files.
pub(super) fn opened(
    places: &Places,
    remembered: Remembered,
    locked: &LockedLibrary,
) -> Result<OpenedCatalog, CommandError> {
    let folder = tempfile::tempdir()?;
    let mut lock = twig_packages::PackageLock::default();
    lock.insert(locked.clone());
    let path = folder.path().join(twig_packages::lock::LOCK_FILE);
    let mut file = std::fs::File::create(&path)?;
    file.write_all(lock.to_text().as_bytes())?;
    // Files that were written a moment ago are waited for, in case that more follows.
    file.set_modified(std::time::UNIX_EPOCH)?;
    let mut config = config::load(places)?;
    config.libraries = vec![Remembered {
        // The lock is the one that is given.
        followed: None,
        ..remembered
    }];
    let places = Places {
        lock: Some(path),
        projects: Vec::new(),
        data: None,
        ..places.clone()
    };
    OpenedCatalog::with(places, config, &SourceArgs::default())
}

/// Shows what is in a package, before anything is asked.
fn show(package: &NewPackage, is_json: bool, ui: &mut Ui) -> Result<(), CommandError> {
    let locked = &package.locked;
    let version = version_of(locked);
    let others = package.prompts.len().saturating_sub(package.skills);
    let prompts = counted(others, "prompt", "prompts");
    let skills = counted(package.skills, "skill", "skills");
    let what = match (package.skills, others) {
        (0, _) => prompts,
        (_, 0) => skills,
        _ => format!("{skills} and {prompts}"),
    };
    let source = &locked.source;
    ui.say(format!(
        "{source} {version}: {what} in {}",
        counted_files(locked.files)
    ));
    if let Some(key) = &locked.signed_by {
        ui.say(format!("signed by {key}"));
    }
    if let Some(license) = &locked.license {
        ui.say(format!("licence: {license}, as declared"));
    }
    if !is_json {
        for name in package.prompts.iter().take(NAMES) {
            ui.line(format!("  {name}"))?;
        }
        if package.prompts.len() > NAMES {
            ui.line(format!("  … and {} more", package.prompts.len() - NAMES))?;
        }
    }
    package.overview.show(is_json, ui)?;
    for file in package.left_out.iter().take(NAMES) {
        ui.say(format!("left out: {}: {}", file.path, file.why));
    }
    if package.left_out.len() > NAMES {
        let more = package.left_out.len() - NAMES;
        ui.say(format!("left out: {more} more files"));
    }
    Ok(())
}

fn counted_files(files: u64) -> String {
    counted(
        usize::try_from(files).unwrap_or(usize::MAX),
        "file",
        "files",
    )
}

fn is_meant(packages: &[NewPackage], ui: &mut Ui) -> Result<bool, CommandError> {
    let names: Vec<String> = packages
        .iter()
        .map(|it| format!("`{}`", it.wanted.name))
        .collect();
    let names = names.join(", ");
    let unanswered = || {
        let message = format!(
            "{names} was not added: this is not a terminal, so you cannot be asked to confirm it"
        );
        CommandError::fixable(message)
            .hint("use --yes to add everything in it, and --only to pick by name")
    };
    question::ask(&format!("add {names}?"), unanswered, ui)
}

/// The first of many names.
fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMES).map(|name| format!("`{name}`"));
    let shown: Vec<String> = shown.collect();
    match names.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// True for a text that names a package, not a folder.
pub(crate) fn is_package(text: &str, prefers_folders: bool) -> bool {
    if PackageSpec::is_folder(text) {
        return false;
    }
    if prefers_folders && std::path::Path::new(text).exists() {
        return false;
    }
    // A single word is a folder that does not exist: the error about it says so.
    match PackageSpec::parse(text) {
        Ok(spec) => !matches!(spec.source, PackageSource::GitHub { .. }) || text.contains('/'),
        Err(_) => text.contains("://") || text.contains('@') || text.contains('#'),
    }
}
