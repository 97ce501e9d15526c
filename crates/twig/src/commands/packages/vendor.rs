//! `twig vendor`: copies the locked files of packages into the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::parse::library::MANIFEST;
use twig_core::suggest::did_you_mean;
use twig_core::{Library, LibraryKind, LibraryPackage};
use twig_packages::{LockedLibrary, PackageFile, PackageTree};
use twig_sources::{
    PackageError, PackageStore, VendorAction, VendorError, VendorFolder, VendorMode, VendoredFile,
};

use super::scope::PackageScope;
use super::{store, version_of};
use crate::command_error::CommandError;
use crate::commands::check::counted;
use crate::commands::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::places::{Places, working_folder};
use crate::ui::Ui;

/// The folder of copies in a repository's `.twig` folder.
const IN_REPOSITORY: &str = "vendor";

/// The same in the working folder, where there is no `.twig` folder.
const ELSEWHERE: &str = "twig-vendor";

/// The file that makes a folder a skill.
const SKILL: &str = "SKILL.md";

/// The starts of the names of files that go with every copy, in lower case.
const TERMS: [&str; 4] = ["license", "licence", "copying", "notice"];

// Copying packages into the repository.
#[derive(Debug, Args)]
pub(crate) struct VendorArgs {
    /// The folder for the copies, unless it is the name of a package [default: `.twig/vendor` of the
    /// repository, or `twig-vendor` where there is no `.twig`], then the packages to copy
    #[arg(value_name = "DIR|NAME")]
    names: Vec<String>,

    /// Overwrite files that were changed by hand
    #[arg(long)]
    force: bool,

    /// Say what would be copied, and copy nothing
    #[arg(long)]
    dry_run: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was copied, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct VendorReport {
    folder: String,
    dry_run: bool,
    packages: Vec<VendoredPackage>,
    /// The files that were not as they should be.
    files: Vec<VendoredFileRow>,
    unchanged: usize,
}

/// A package that was copied.
#[derive(Debug, Serialize)]
struct VendoredPackage {
    name: String,
    source: String,
    version: String,
    tree: String,
    files: usize,
}

/// A file, and what was done about it.
#[derive(Debug, Serialize)]
struct VendoredFileRow {
    path: String,
    /// `written`, `updated`, `removed` or `kept`.
    action: &'static str,
}

pub(crate) fn run(options: &VendorArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let scope = PackageScope::current(&places, false)?;
    let lock = scope.read_lock(&places)?;
    let (folder, names) = target(&places, &scope, lock.libraries(), &options.names)?;
    let is_selected = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    let selected = lock.libraries().iter();
    let selected = selected.filter(|locked| is_selected(locked.name.as_str()));
    let store = store(&places)?;
    let opened = OpenedCatalog::open(&SourceArgs::default())?;
    let catalog = opened.live.snapshot();
    let libraries: Vec<&Library> = catalog
        .libraries()
        .iter()
        .chain(catalog.shadowed())
        .map(|library| &**library)
        .collect();
    let (mut files, mut packages) = (Vec::new(), Vec::new());
    for locked in selected {
        let copied = served_files(&store, locked, &libraries)?;
        packages.push(VendoredPackage {
            name: locked.name.to_string(),
            source: locked.source.to_string(),
            version: version_of(locked),
            tree: locked.tree.to_string(),
            files: copied.len(),
        });
        files.extend(copied);
    }
    let mode = VendorMode {
        is_dry: options.dry_run,
        force: options.force,
    };
    let is_meant = |path: &str| is_selected(path.split('/').next().unwrap_or_default());
    let progress = ui.progress("copying packages");
    let done = folder.write(&files, is_meant, mode);
    drop(progress);
    let done = done?;
    let rows = done
        .files
        .into_iter()
        .map(|(path, action)| VendoredFileRow {
            path,
            action: word(action),
        });
    let report = VendorReport {
        folder: folder.path().display().to_string(),
        dry_run: options.dry_run,
        packages,
        files: rows.collect(),
        unchanged: done.unchanged,
    };
    if options.json {
        ui.json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&places, &folder.path(), &report, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// The folder for the copies, and the names of the packages; all of them if there is none.
fn target(
    places: &Places,
    scope: &PackageScope,
    locked: &[LockedLibrary],
    words: &[String],
) -> Result<(VendorFolder, Vec<String>), CommandError> {
    let is_package = |word: &String| locked.iter().any(|it| it.name.as_str() == word.as_str());
    let (dir, names) = match words {
        [first, names @ ..] if !is_package(first) => (Some(first), names),
        names => (None, names),
    };
    if let Some(name) = names.iter().find(|name| !is_package(name)) {
        let file = places.shown(&scope.lock);
        let error = CommandError::fixable(format!("{file} has no package `{name}`"));
        let near = did_you_mean(name, locked.iter().map(|it| it.name.as_str()));
        return Err(error.hint(near.unwrap_or_else(|| {
            "the folder comes first, then the names of packages that are in the lock".to_owned()
        })));
    }
    let here = working_folder()
        .ok_or_else(|| CommandError::fixable("the working folder cannot be found"))?;
    let folder = match (dir, scope.lock.parent()) {
        (Some(dir), _) => VendorFolder {
            base: here.join(dir),
            below: PathBuf::new(),
        },
        (None, Some(folder)) if scope.is_repository => VendorFolder {
            base: folder.to_path_buf(),
            below: PathBuf::from(IN_REPOSITORY),
        },
        _ => VendorFolder {
            base: here,
            below: PathBuf::from(ELSEWHERE),
        },
    };
    Ok((folder, names.to_vec()))
}

/// The files of a package that are served, and its license.
fn served_files(
    store: &PackageStore,
    locked: &LockedLibrary,
    libraries: &[&Library],
) -> Result<Vec<VendoredFile>, CommandError> {
    let list = store.files_of(locked.tree).map_err(|error| {
        let error = CommandError::from(error);
        let message = format!(
            "the package `{}` cannot be copied: {}",
            locked.name, error.message
        );
        CommandError { message, ..error }
    })?;
    if !store.has(locked.tree) {
        let tree = locked.tree.to_string();
        return Err(PackageError::NotHere { tree }.into());
    }
    let mut files: BTreeMap<&str, &PackageFile> = BTreeMap::new();
    for file in list.files().iter().filter(|file| is_license(&file.path)) {
        files.insert(&file.path, file);
    }
    let tree = locked.tree.to_string();
    for library in libraries {
        let package = library.package.as_deref();
        let package = package.filter(|it| *it.tree == *tree && it.name == locked.name);
        if let Some(package) = package {
            add_library(&list, library, package, &mut files);
        }
    }
    let root = store.root_of(locked.tree);
    let files = files.into_values().map(|file| VendoredFile {
        from: root.join(&file.path),
        file: PackageFile {
            path: format!("{}/{}", locked.name, file.path),
            ..file.clone()
        },
    });
    Ok(files.collect())
}

/// Adds what a library serves. Templates, definitions and functions may need any file beside them;
/// a skill comes with its folder, and other prompts alone.
fn add_library<'l>(
    list: &'l PackageTree,
    library: &Library,
    package: &LibraryPackage,
    files: &mut BTreeMap<&'l str, &'l PackageFile>,
) {
    let has_shared_files = matches!(
        library.kind,
        LibraryKind::Twig | LibraryKind::Definitions | LibraryKind::Functions
    );
    let mut folders: BTreeSet<String> = BTreeSet::new();
    if has_shared_files && package.left_out.is_empty() {
        folders.insert(package.below.to_string());
    } else if has_shared_files {
        let manifest = format!("{}{MANIFEST}", package.below);
        add(list.file(&manifest), files);
    }
    for prompt in &library.prompts {
        for file in prompt.messages.iter().filter_map(|it| it.content.file()) {
            let path = format!("{}{file}", package.below);
            match skill_folder(&path) {
                Some(folder) => {
                    folders.insert(folder.to_owned());
                }
                None => add(list.file(&path), files),
            }
        }
    }
    // Skills that are not prompts, too.
    let skills: BTreeSet<&str> = library.skills.iter().map(|skill| &*skill.name).collect();
    if !skills.is_empty() {
        let paths = files_below(list, &package.below).map(|file| file.path.as_str());
        for folder in paths.filter_map(skill_folder) {
            let name = folder.trim_end_matches('/').rsplit('/').next();
            if name.is_some_and(|name| skills.contains(name)) {
                folders.insert(folder.to_owned());
            }
        }
    }
    for folder in folders {
        for file in files_below(list, &folder) {
            add(Some(file), files);
        }
    }
}

fn add<'l>(file: Option<&'l PackageFile>, files: &mut BTreeMap<&'l str, &'l PackageFile>) {
    files.extend(file.map(|file| (file.path.as_str(), file)));
}

/// The folder of a `SKILL.md`, with a `/` at its end; empty for one at the top.
fn skill_folder(path: &str) -> Option<&str> {
    let folder = path.strip_suffix(SKILL)?;
    (folder.is_empty() || folder.ends_with('/')).then_some(folder)
}

/// The files whose paths start with a folder, which ends with a `/` or is empty.
fn files_below<'l>(
    list: &'l PackageTree,
    folder: &str,
) -> impl Iterator<Item = &'l PackageFile> + use<'l> {
    let all = list.files();
    let start = all.partition_point(|file| file.path.as_bytes() < folder.as_bytes());
    let inside = &all[start..];
    // Sorted paths that start alike are beside each other.
    inside[..inside.partition_point(|file| file.path.starts_with(folder))].iter()
}

/// True for a license at the top of a package: whoever copies it has to keep that, too.
fn is_license(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    !path.contains('/') && TERMS.iter().any(|start| name.starts_with(start))
}

fn word(action: VendorAction) -> &'static str {
    match action {
        VendorAction::Written => "written",
        VendorAction::Updated => "updated",
        VendorAction::Removed => "removed",
        VendorAction::Kept => "kept",
    }
}

fn print(
    places: &Places,
    folder: &Path,
    report: &VendorReport,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let cells = report.files.iter();
    let cells: Vec<Vec<String>> = cells
        .map(|row| vec![row.action.to_owned(), row.path.clone()])
        .collect();
    ui.table(&cells)?;
    let count = |action: &str| {
        report
            .files
            .iter()
            .filter(|row| row.action == action)
            .count()
    };
    let packages = counted(report.packages.len(), "package", "packages");
    let verb = if report.dry_run {
        "would be copied to"
    } else {
        "copied to"
    };
    ui.say(format!(
        "{packages} {verb} {}: {} written, {} updated, {} removed, {} unchanged",
        places.shown(folder),
        count("written"),
        count("updated"),
        count("removed"),
        report.unchanged,
    ));
    let kept = count("kept");
    if kept > 0 {
        let kept = counted(kept, "file was", "files were");
        ui.say(format!(
            "hint: {kept} kept, because somebody changed them; --force overwrites those that a package has"
        ));
    }
    Ok(())
}

impl From<VendorError> for CommandError {
    fn from(error: VendorError) -> Self {
        let command_error = Self::fixable(error.to_string());
        match &error {
            VendorError::BadList { .. } => command_error
                .hint("restore it from git, or remove it: then files that differ are kept"),
            VendorError::Altered { .. } => command_error.hint("run `twig install --repair`"),
            _ => command_error,
        }
    }
}
