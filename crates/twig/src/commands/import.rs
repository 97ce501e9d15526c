//! `twig import`: imports prompts of other tools into a library or a project, and prints a table
//! with the result for each.

mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use twig_clients::clients::{client, client_of_folder};
use twig_clients::import::{ImportFormat, ImportItem, ImportRequest, ImportedPrompt, read};
use twig_core::store::Author;
use twig_core::{LibraryKind, LibraryName, Limits};
use twig_sources::{
    Access, Fate, Gathered, ImportError, gather, plan_library, plan_library_locked, plan_project,
};

use self::report::{Goal, ImportReport};
use super::new::taken;
use super::old_spelling::changed;
use super::opened_catalog::{OpenedCatalog, SourceArgs, parse_known};
use super::path::refuse_package;
use super::store::{ProjectArgs, ProjectTarget, Stores};
use crate::command_error::{CommandError, ErrorKind};
use crate::config;
use crate::connect::is_same;
use crate::places::{Places, on_disk};
use crate::ui::Ui;
use twig_core::problem::shell_word;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ImportArgs {
    /// A file, or a folder with files
    path: PathBuf,

    /// The library to import into: by its name, or by its folder, such as a checkout; by default one
    /// of the data folder that is named after the path
    #[arg(long, value_name = "NAME|PATH", conflicts_with = "project")]
    into: Option<String>,

    /// The old spelling of `--into`.
    #[arg(long, hide = true, value_name = "NAME")]
    library: Option<String>,

    /// Import into this project of the store instead, with each text as it was written
    #[arg(short, long, value_name = "NAME")]
    project: Option<String>,

    /// The workspace that the project is in
    #[arg(short, long, value_name = "NAME", requires = "project")]
    workspace: Option<String>,

    /// What the files were written for, if they do not show it
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    format: Option<ImportFormat>,

    /// Also import rules that apply always or by files
    #[arg(long)]
    all_rules: bool,

    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// Also list prompts that are imported without changes
    #[arg(long)]
    all: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_format(text: &str) -> Result<ImportFormat, String> {
    let known = parse_known(text, &ImportFormat::ALL, ImportFormat::as_str, "formats");
    let Some(client) = client(text).filter(|_| known.is_err()) else {
        return known;
    };
    ImportFormat::of_client(client).ok_or_else(|| {
        let title = client.title;
        format!(
            "the files of {title} need no import: `twig library add PATH` serves them as they are"
        )
    })
}

pub(super) fn run(options: &ImportArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    if let Some(name) = &options.library {
        let error =
            changed("`--library` adds a folder to what is served, and `import` serves nothing");
        return Err(error.hint(format!(
            "use `--into {}` to import into it",
            shell_word(name)
        )));
    }
    let places = Places::from_environment();
    let limits = config::load(&places)?.limits;
    let path = on_disk(&options.path);
    let progress = ui.progress("reading files");
    let gathered = gather(&path).map_err(|error| trouble(&places, &path, &error))?;
    let wish = ImportRequest {
        format: options.format,
        all_rules: options.all_rules,
    };
    let (items, others) = items(gathered, wish, &limits);
    drop(progress);
    if items.iter().all(|item| item.prompt.is_err())
        && let Some(error) = read_in_place(&places, &path)
    {
        return Err(error);
    }
    if items.is_empty() {
        let message = format!("{}: there is nothing to import", places.shown(&path));
        let known = "`twig help import` lists what is known; `--format` says what a file is";
        let others = "folders of clients and of Markdown files are served as they are: `twig library add PATH`";
        return Err(CommandError::fixable(message).hint(known).hint(others));
    }
    let prompts = items.iter().filter_map(|item| item.prompt.as_ref().ok());
    let prompts: Vec<&ImportedPrompt> = prompts.collect();
    let progress = ui.counted_progress("importing", prompts.len());
    let step = || progress.step();
    let (goal, fates) = if options.project.is_some() {
        into_project(options, &limits, &prompts, &step)?
    } else {
        into_library(options, &places, &limits, (&path, &prompts), &step)?
    };
    drop(progress);
    let report = ImportReport::new(goal, options.dry_run, &items, fates, others);
    report.print(options, ui)?;
    let is_left = report.is_all_left();
    Ok(if is_left {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The imported items, and the number of files that are there for another purpose.
fn items(gathered: Gathered, wish: ImportRequest, limits: &Limits) -> (Vec<ImportItem>, usize) {
    let outcome = read(&gathered.files, wish, limits);
    let mut items = outcome.items;
    let mut others = gathered.others;
    for (path, why) in outcome.others {
        // A file that the user named should have held something.
        if gathered.is_file {
            items.push(ImportItem::left(path, why));
        } else {
            others += 1;
        }
    }
    let unread = gathered.unread.into_iter();
    items.extend(unread.map(|(path, why)| ImportItem::left(path, format!("it {why}"))));
    (items, others)
}

/// The error for files that need no import, since Twig serves them where they are.
fn read_in_place(places: &Places, path: &Path) -> Option<CommandError> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let client = client_of_folder(folder)?;
    let (shown, title) = (places.shown(path), client.title);
    let message =
        format!("{shown} needs no import: Twig reads the files of {title} where they are");
    let hint = format!(
        "run `twig library add {}`",
        shell_word(&places.shown(folder))
    );
    Some(CommandError::fixable(message).hint(hint))
}

fn into_library(
    options: &ImportArgs,
    places: &Places,
    limits: &Limits,
    (path, prompts): (&Path, &[&ImportedPrompt]),
    step: &dyn Fn(),
) -> Result<(Goal, Vec<Fate>), CommandError> {
    let (name, root) = library_root(options, places, path)?;
    let from = path.file_name().unwrap_or_default().to_string_lossy();
    let about = serde_json::Value::from(format!("Imported from {from}"));
    let head = format!("[library]\ndescription = {about}\n");
    let plan = if options.dry_run {
        plan_library(&root, prompts, &head, limits)
    } else {
        plan_library_locked(&root, prompts, &head, limits)
    };
    let plan = plan.map_err(|error| trouble(places, &root, &error))?;
    if !options.dry_run {
        plan.write(step)
            .map_err(|error| trouble(places, &root, &error))?;
    }
    let goal = Goal::Library {
        is_served: is_served(places, &root)?,
        name: name.to_string(),
        root,
        is_new: plan.is_new() && plan.changes_something(),
    };
    Ok((goal, plan.fates))
}

/// Whether a folder is that of a library which is served without any flag.
fn is_served(places: &Places, root: &Path) -> Result<bool, CommandError> {
    if places.data.as_deref() == root.parent() {
        return Ok(true);
    }
    let opened = OpenedCatalog::open(&SourceArgs::default())?;
    let catalog = opened.live.published();
    let mut libraries = catalog.libraries().iter();
    Ok(libraries.any(|library| is_same(Path::new(&*library.root), root)))
}

/// The folder of the library with this name that is served from elsewhere than the data folder, such
/// as a checkout that was added.
fn served_elsewhere(places: &Places, name: &str) -> Result<Option<PathBuf>, CommandError> {
    let is_at_home = |root: &Path| places.data.as_deref() == root.parent();
    let opened = OpenedCatalog::open(&SourceArgs::default())?;
    let catalog = opened.live.published();
    let found = catalog.library(name).filter(|it| !it.is_project());
    let Some(library) = found.filter(|it| !is_at_home(Path::new(&*it.root))) else {
        return Ok(None);
    };
    refuse_package(library, name)?;
    if library.kind != LibraryKind::Twig {
        let (shown, kind) = (&library.shown_root, library.kind.as_str());
        let message = format!("library `{name}` takes no imports: {shown} is of kind `{kind}`");
        let error = CommandError::fixable(message);
        return Err(error.hint("choose another name with `--into NAME`"));
    }
    Ok(Some(PathBuf::from(&*library.root)))
}

/// The selected library and its folder: an existing or a new one.
fn library_root(
    options: &ImportArgs,
    places: &Places,
    path: &Path,
) -> Result<(LibraryName, PathBuf), CommandError> {
    let given = options.into.as_deref();
    if let Some(named) = given {
        let root = on_disk(Path::new(named));
        let root = root.canonicalize().unwrap_or(root);
        if named.contains('/') || named.starts_with('.') {
            let name = root.file_name().and_then(|name| name.to_str());
            let name = name.and_then(LibraryName::from_folder);
            let name = name.ok_or_else(|| bad_name(named))?;
            return Ok((name, root));
        }
        if let Some(root) = served_elsewhere(places, named)? {
            let name = LibraryName::from_folder(named).ok_or_else(|| bad_name(named))?;
            return Ok((name, root));
        }
    }
    let named = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let part = if named.is_dir() {
        named.file_name()
    } else {
        named.file_stem()
    };
    let part = part.unwrap_or_default().to_string_lossy();
    let folder = given.unwrap_or(&part);
    let is_plain = !folder.starts_with('.') || given.is_none();
    let is_plain = is_plain && !folder.contains(|c: char| c.is_control() || "/\\".contains(c));
    let Some(name) = LibraryName::from_folder(folder).filter(|_| is_plain) else {
        return Err(bad_name(folder));
    };
    let Some(data) = &places.data else {
        return Err(
            CommandError::fixable("there is no home folder to put a library in")
                .hint("set TWIG_DATA_DIR to a folder"),
        );
    };
    let root = data.join(name.as_str());
    let root = taken(data, &root, &name).unwrap_or(root);
    Ok((name, root))
}

fn bad_name(folder: &str) -> CommandError {
    let message = format!("`{}` cannot be a library's name", folder.escape_debug());
    let error = CommandError::new(ErrorKind::Usage, message);
    error.hint("give one with `--into NAME`, such as `my_prompts`")
}

fn into_project(
    options: &ImportArgs,
    limits: &Limits,
    prompts: &[&ImportedPrompt],
    step: &dyn Fn(),
) -> Result<(Goal, Vec<Fate>), CommandError> {
    let place = ProjectArgs::new(options.workspace.as_deref(), options.project.as_deref());
    let access = if options.dry_run {
        Access::ReadOrUpdate
    } else {
        Access::Write
    };
    let stores = Stores::new()?;
    let target = ProjectTarget::find(stores, &place, access)?;
    let project = target.read()?;
    let mut plan = plan_project(&project, &target.project, prompts, &Author::Person, limits);
    if !options.dry_run {
        plan.write(&target.store, step);
    }
    let goal = Goal::Project {
        name: target.project.to_string(),
        workspace: target.workspace().to_owned(),
    };
    Ok((goal, plan.fates))
}

fn trouble(places: &Places, path: &Path, error: &ImportError) -> CommandError {
    let hint = match error {
        ImportError::NotThere => Some("name a file or a folder that is there"),
        ImportError::Locked(_) => Some("try again when the other command has ended"),
        ImportError::NoLibrary => Some("choose another name with `--into NAME`"),
        ImportError::Manifest(_) => Some("run `twig check`, fix the file, and try again"),
        ImportError::CannotAdd(_) => Some("import into another library with `--into NAME`"),
        ImportError::TooManyFiles(_) | ImportError::TooManyBytes(_) => {
            Some("import its folders one by one")
        }
        _ => None,
    };
    let message = format!("{}: {error}", places.shown(path));
    hint.into_iter()
        .fold(CommandError::fixable(message), CommandError::hint)
}
