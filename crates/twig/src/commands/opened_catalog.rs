//! The single way to open what commands work on: environment, configuration, and the catalog of the
//! named sources.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use twig_clients::clients;
use twig_core::World;
use twig_core::check::check;
use twig_core::parse::library::MANIFEST;
use twig_core::store::{Noun, StoreError, StoreName};
use twig_core::suggest::did_you_mean;
use twig_core::template::Templates;
use twig_core::{
    Catalog, CatalogFilter, Latest, LibraryKind, Limits, Lookup, Problem, ProblemCode, PromptRef,
};
use twig_sources::{
    Access, DEFAULT_WORKSPACE, FollowedConfig, LiveCatalog, OfferedWorkspace, PROJECT, Selected,
    Settings, Watching, is_well_known,
};

use super::origin::{project_flags, stored_elsewhere};
use super::store::{ProjectArgs, ProjectTarget, Stores, no_project};
use crate::command_error::{CommandError, ErrorKind};
use crate::config::{self, Config, StoreSettings};
use crate::function::Allowed;
use crate::places::{self, Places, on_disk};
use crate::ui::Ui;

// Where prompts come from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SourceArgs {
    /// Use only these: libraries and projects by name, or prompts as LIBRARY:NAME; `*` stands for
    /// any characters (may be given several times)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = parse_only)]
    pub(super) only: Vec<String>,

    /// Add this folder of prompts for this run, before all others (may be given several times)
    #[arg(long, value_name = "PATH", value_parser = parse_folder)]
    pub(super) library: Vec<PathBuf>,

    /// The kind of the files in a folder that is named, if their layout does not show it
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub(super) kind: Option<LibraryKind>,

    /// Add this project of the store, before all libraries
    #[arg(short, long, value_name = "NAME")]
    pub(super) project: Option<String>,

    /// The workspace that the project is in, or whose projects to include
    #[arg(short, long, value_name = "NAME")]
    pub(super) workspace: Option<String>,

    /// Folders that were named to use nothing else.
    #[arg(skip)]
    pub(super) roots: Vec<PathBuf>,

    /// Files that were named to use only their prompts.
    #[arg(skip)]
    pub(super) files: Vec<PathBuf>,
}

impl SourceArgs {
    /// Restricts these sources to what words name: a path that exists, or else a name as after
    /// `--only`.
    pub(super) fn restricted_to(mut self, words: &[String]) -> Result<Self, CommandError> {
        for word in words {
            let path = Path::new(word);
            let is_path = path.is_absolute() || path.starts_with(".") || path.starts_with("..");
            if !is_path && !path.exists() {
                let name = parse_only(word);
                self.only.push(name.map_err(|why| {
                    let message = format!("`{word}` names nothing: {why}");
                    CommandError::new(ErrorKind::Usage, message)
                })?);
                continue;
            }
            let library = library_of(path)?;
            self.roots.push(library.clone());
            self.library.push(library);
        }
        Ok(self)
    }

    /// The same, but of a file that is not a whole library only its own prompts.
    pub(super) fn restricted_to_files(self, words: &[String]) -> Result<Self, CommandError> {
        let is_part = |word: &&String| {
            let path = Path::new(word);
            let name = path.file_name().and_then(|name| name.to_str());
            path.is_file() && !name.is_some_and(|name| WHOLE.contains(&name))
        };
        let (files, others): (Vec<&String>, Vec<&String>) = words.iter().partition(is_part);
        let others: Vec<String> = others.into_iter().cloned().collect();
        let mut restricted = self.restricted_to(&others)?;
        for file in files {
            let path = named_path(Path::new(file));
            restricted.library.push(library_of(&path)?);
            restricted.files.push(path);
        }
        Ok(restricted)
    }

    /// Checks that the project that is named exists.
    pub(super) fn check_project(&self) -> Result<(), CommandError> {
        let Some(project) = self.project.as_deref() else {
            return Ok(());
        };
        let places = Places::from_environment();
        let config = config::load(&places)?;
        let place = ProjectArgs::new(self.workspace.as_deref(), Some(project));
        let stores = Stores::of(places, config.limits, &config.store)?;
        ProjectTarget::find(stores, &place, Access::Read)?.read()?;
        Ok(())
    }

    fn filter(&self) -> CatalogFilter {
        let mut filter = CatalogFilter::default();
        self.only.iter().for_each(|name| filter.add_name(name));
        self.roots.iter().for_each(|root| filter.add_root(root));
        self.files.iter().for_each(|file| filter.add_file(file));
        filter
    }
}

// Programs that produce prompts.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FunctionArgs {
    /// Run trusted prompt functions even if the system cannot sandbox them
    #[arg(long)]
    pub(super) allow_unsandboxed_functions: bool,
}

/// What a command works on.
pub(super) struct OpenedCatalog {
    pub(super) places: Places,
    /// The sources that the user named, resolved.
    pub(super) sources: SourceArgs,
    pub(super) config: Config,
    pub(super) live: LiveCatalog,
    pub(super) templates: Templates,
    /// The project that is served with the libraries, if one is named.
    pub(super) project: Option<Selected>,
}

/// What is followed besides the sources.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// The workspace whose prompts are offered.
    pub(super) workspace: Option<OfferedWorkspace>,
    /// The configuration, for a server.
    pub(super) config: Option<FollowedConfig>,
}

impl OpenedCatalog {
    /// Opens the sources that the user named, with the current configuration.
    pub(super) fn open(sources: &SourceArgs) -> Result<Self, CommandError> {
        let places = Places::from_environment();
        let config = config::load(&places)?;
        Self::with(places, config, sources)
    }

    /// The same with another configuration.
    pub(super) fn with(
        places: Places,
        config: Config,
        sources: &SourceArgs,
    ) -> Result<Self, CommandError> {
        if sources.workspace.is_some() && sources.project.is_none() {
            let message = "`--workspace` needs `--project` here";
            return Err(CommandError::new(ErrorKind::Usage, message));
        }
        let sources = found(sources)?;
        let access = Access::ReadOrUpdate;
        let followed = Followed::default();
        Self::load(places, config, sources, followed, access, Watching::Auto)?.matched()
    }

    /// The same, with the prompts of the store.
    pub(super) fn open_with_store(sources: &SourceArgs, ui: &mut Ui) -> Result<Self, CommandError> {
        let places = Places::from_environment();
        let config = config::load(&places)?;
        let sources = found(sources)?;
        let access = Access::ReadOrUpdate;
        let workspace = offered(&places, &config.store, &sources, access)?;
        let followed = Followed {
            workspace,
            config: None,
        };
        let opened = Self::load(places, config, sources, followed, access, Watching::Auto)?;
        let opened = opened.matched()?;
        if let Some(error) = opened.live.workspace_error() {
            ui.say(format!(
                "warning: the prompts of the store are not included: {error}"
            ));
        }
        Ok(opened)
    }

    /// Refuses a name in `--only` that matches nothing.
    fn matched(self) -> Result<Self, CommandError> {
        match self.live.snapshot().unmatched().next() {
            Some(name) => Err(self.no_match(name)),
            None => Ok(self),
        }
    }

    /// The error for a name in `--only` that matches nothing.
    fn no_match(&self, name: &str) -> CommandError {
        let everything = LiveCatalog::load(Settings {
            only: CatalogFilter::default(),
            ..self.live.settings().clone()
        });
        let catalog = everything.snapshot();
        let error = CommandError::fixable(format!("nothing matches `{name}`"));
        if name.contains(':') {
            let near = catalog.suggestions(name);
            return error.hint(match &*near {
                [] => "run `twig list` to see every prompt".to_owned(),
                near => format!("did you mean `{}`?", near.join("`, `")),
            });
        }
        let libraries = catalog.libraries().iter();
        let names: Vec<&str> = libraries.map(|library| library.name.as_str()).collect();
        let prompt = || {
            let mut prompts = catalog.prompts(0);
            let found = prompts.find(|found| found.prompt.name.as_str() == name)?;
            let library = &found.library.name;
            Some(format!(
                "a prompt is named with its library: `{library}:{name}`"
            ))
        };
        let near = did_you_mean(name, names.iter().copied());
        error.hint(near.or_else(prompt).unwrap_or_else(|| match &*names {
            [] => "there are no libraries yet".to_owned(),
            names => format!("libraries: {}", names.join(", ")),
        }))
    }

    /// The same for a server: a library may be missing when it starts.
    ///
    /// Libraries that cannot be read are problems; a named project that cannot be served is an
    /// error.
    pub(super) fn load(
        places: Places,
        config: Config,
        sources: SourceArgs,
        followed: Followed,
        access: Access,
        watching: Watching,
    ) -> Result<Self, CommandError> {
        if sources.kind.is_some() && sources.library.is_empty() {
            let message =
                "`--kind` says how the files of a folder are read, and no folder is named";
            return Err(
                CommandError::new(ErrorKind::Usage, message).hint("name it with `--library PATH`")
            );
        }
        let project = selected(&places, &config, &sources, access)?;
        let live = LiveCatalog::load(Settings {
            data: places.data.clone(),
            libraries: sources.library.iter().map(|path| on_disk(path)).collect(),
            remembered: config.libraries.clone(),
            projects: places.projects.clone(),
            work: places::working_folder(),
            roots: Vec::new(),
            kind: sources.kind,
            home: places.home.clone(),
            separator: config.separator.clone(),
            limits: config.limits.clone(),
            watching,
            packages: places.packages.clone(),
            lock: places.lock.clone(),
            followed_lock: places.followed_lock(),
            trust: places.trust.clone(),
            function_prefix: function_prefix(&places),
            project: project.clone(),
            only: sources.filter(),
            listing: config.listing.clone(),
            workspace: followed.workspace,
            config: followed.config,
        });
        match (live.check_project(), &project) {
            (Err(StoreError::NoProject { project, workspace }), Some(selected)) => {
                let others = selected.store.projects()?;
                return Err(no_project(&project, workspace.as_str(), &others));
            }
            (checked, _) => checked?,
        }
        let templates = Templates::new(config.limits.clone());
        Ok(Self {
            places,
            sources,
            config,
            live,
            templates,
            project,
        })
    }

    /// The prompt that the user calls by this name; an error says where it does exist, or suggests
    /// similar names.
    pub(super) fn find<'c>(
        &self,
        catalog: &'c Catalog,
        name: &str,
    ) -> Result<PromptRef<'c>, CommandError> {
        match catalog.find_by_any_name(name) {
            Lookup::Found(found) => Ok(found),
            Lookup::Ambiguous(names) => Err(CommandError::fixable(format!(
                "several libraries have a prompt `{name}`"
            ))
            .hint(format!("use one of `{}`", names.join("`, `")))),
            Lookup::NoLabel(missing) => Err(CommandError::fixable(missing.to_string())),
            Lookup::Missing => Err(self.missing(catalog, name)),
        }
    }

    fn missing(&self, catalog: &Catalog, name: &str) -> CommandError {
        // Use the words that clients get: a name that no project could hold is not missing there.
        let project = catalog.project().and_then(|library| library.stored());
        let project = project.filter(|_| StoreName::parse(Noun::Prompt, name).is_ok());
        let error = CommandError::fixable(match project {
            Some((_, project)) => format!("Prompt '{name}' not found in project '{project}'"),
            None => format!("Prompt not found: {name}"),
        });
        let elsewhere = stored_elsewhere(self, catalog, name);
        let hint = elsewhere.unwrap_or_else(|| match &*catalog.suggestions(name) {
            [] => format!(
                "run `twig list{}` to see every prompt",
                project_flags(catalog)
            ),
            near => format!("did you mean `{}`?", near.join("`, `")),
        });
        let unread = self.unread(catalog).next();
        let error = match unread {
            Some(unread) => error.hint(format!("a manifest cannot be read: {unread}")),
            None => error,
        };
        // The sentence is about the project alone, but the libraries were searched, too.
        match project {
            Some(_) => error.hint(format!("no library has it either; {hint}")),
            None => error.hint(hint),
        }
    }

    /// Reports the manifests that cannot be read, which comes before everything else; returns
    /// whether there are any.
    pub(super) fn report_unread(&self, catalog: &Catalog, ui: &mut Ui) -> bool {
        self.report_unread_in(Path::new("/"), catalog, ui)
    }

    /// The same for those below a folder.
    pub(super) fn report_unread_in(&self, root: &Path, catalog: &Catalog, ui: &mut Ui) -> bool {
        let mut has_unread = false;
        for unread in self.unread_in(root, catalog) {
            has_unread = true;
            ui.insist(format!("error: {unread}"));
        }
        has_unread
    }

    /// The manifests that cannot be read as a whole: file, first line and reason.
    fn unread(&self, catalog: &Catalog) -> impl Iterator<Item = String> {
        self.unread_in(Path::new("/"), catalog)
    }

    fn unread_in(&self, root: &Path, catalog: &Catalog) -> impl Iterator<Item = String> {
        let codes = [ProblemCode::ManifestSyntax, ProblemCode::ConfigSyntax];
        let problems = catalog.problems();
        let mut unread: Vec<&Problem> = problems
            .filter(move |problem| {
                codes.contains(&problem.code) && Path::new(&*problem.path).starts_with(root)
            })
            .collect();
        unread.dedup_by(|later, first| later.path == first.path);
        unread.into_iter().map(|problem| {
            let path = self.places.shown(Path::new(&*problem.path));
            let line = problem.line.map(|line| format!(":{line}"));
            format!("{path}{}: {}", line.unwrap_or_default(), problem.message)
        })
    }

    /// Every problem and note, as `twig check` finds them: it reads all texts and compiles them.
    pub(super) fn problems(&self, catalog: &Latest<'_>) -> Vec<Problem> {
        let mut problems = self.live.problems();
        problems.extend(check(self.world(catalog)));
        problems
    }

    /// Whether there is more than one workspace, so that a name alone does not say which.
    pub(super) fn has_several_workspaces(&self) -> bool {
        let workspaces = self.config.store.place(&self.places).ok().flatten();
        let names = workspaces.and_then(|workspaces| workspaces.list().ok());
        names.is_some_and(|names| names.len() > 1)
    }

    /// What rendering and checking a catalog's prompts needs.
    pub(super) fn world<'w>(&'w self, catalog: &'w Latest<'w>) -> World<'w> {
        World {
            catalog,
            bodies: &self.live,
            templates: &self.templates,
        }
    }

    /// What functions are allowed to do.
    pub(super) fn allowed(&self, options: &FunctionArgs) -> Allowed {
        let names = self.config.function_environment.iter();
        let environment = names.filter_map(|name| Some((name.into(), places::variable(name)?)));
        Allowed {
            places: Some(self.places.clone()),
            environment: environment.collect(),
            unsandboxed: options.allow_unsandboxed_functions,
            is_remote: false,
        }
    }
}

/// The sources, their folders resolved.
fn found(sources: &SourceArgs) -> Result<SourceArgs, CommandError> {
    let library = sources.library.iter().map(|path| {
        library_of(path).map_err(|error| match path.to_str() {
            Some(name) if !path.exists() && !name.contains(['/', '.']) => error.hint(format!(
                "`--library` takes a folder; `--only {name}` names a library"
            )),
            _ => error,
        })
    });
    Ok(SourceArgs {
        library: library.collect::<Result<_, _>>()?,
        ..sources.clone()
    })
}

/// The workspace whose prompts are offered: none if a project is selected.
pub(super) fn offered(
    places: &Places,
    store: &StoreSettings,
    sources: &SourceArgs,
    access: Access,
) -> Result<Option<OfferedWorkspace>, CommandError> {
    if sources.project.is_some() || (places.workspaces.is_none() && !store.is_database()) {
        return Ok(None);
    }
    let stores = Stores::of(places.clone(), Limits::default(), store)?;
    let named = sources.workspace.as_deref();
    let name = StoreName::parse(Noun::Workspace, named.unwrap_or(DEFAULT_WORKSPACE))?;
    if named.is_some() && !stores.workspaces.exists(&name) {
        let hint = format!("make it with `twig workspace create {name}`");
        return Err(stores.no_workspace(&name, hint));
    }
    Ok(Some(OfferedWorkspace {
        workspaces: stores.workspaces,
        name,
        access,
        is_on: true,
    }))
}

/// The named project, if there is one.
fn selected(
    places: &Places,
    config: &Config,
    sources: &SourceArgs,
    access: Access,
) -> Result<Option<Selected>, CommandError> {
    let Some(project) = sources.project.as_deref() else {
        return Ok(None);
    };
    let place = ProjectArgs::new(sources.workspace.as_deref(), Some(project));
    let stores = Stores::of(places.clone(), config.limits.clone(), &config.store)?;
    let target = ProjectTarget::find(stores, &place, access)?;
    Ok(Some(Selected {
        store: Arc::new(target.store),
        name: target.project,
    }))
}

/// The prefix of bash functions. A prefix that no function name can begin with is ignored.
fn function_prefix(places: &Places) -> String {
    let fits = |text: &&str| {
        !text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let prefix = places.function_prefix.as_deref();
    let text = prefix.and_then(std::ffi::OsStr::to_str).filter(fits);
    if prefix.is_some() && text.is_none() {
        tracing::warn!(
            "MCBOX_PROMPTS_FUNCTION_NAME_PREFIX is ignored: it may only have letters a to z, digits and _"
        );
    }
    text.unwrap_or("prompt_").to_owned()
}

/// Files that name all prompts of their library.
const WHOLE: [&str; 3] = [MANIFEST, "prompts.json", "prompts.bash"];

/// A path that the user named, from the root on.
fn named_path(path: &Path) -> PathBuf {
    let path = on_disk(path);
    let mut parts = path.components();
    if parts.any(|part| part == std::path::Component::ParentDir) {
        // A library is named after its folder, and `..` is not a name.
        return path.canonicalize().unwrap_or(path);
    }
    path
}

/// The library of a path: a file inside one means the whole library.
pub(super) fn library_of(path: &Path) -> Result<PathBuf, CommandError> {
    let path = named_path(path);
    if !path.exists() {
        return Err(CommandError::fixable(format!(
            "there is nothing at {}",
            path.display()
        )));
    }
    if path.is_dir() {
        return Ok(path);
    }
    let home = path.ancestors().skip(1).find(|folder| is_library(folder));
    match home.or(path.parent()) {
        Some(folder) => Ok(folder.to_owned()),
        None => Ok(path),
    }
}

/// Whether a folder is laid out like a library of any kind.
fn is_library(folder: &Path) -> bool {
    let is_project = folder.file_name().is_some_and(|name| name == PROJECT);
    let has = |file: &str| folder.join(file).exists();
    is_project
        || is_well_known(folder)
        || has(MANIFEST)
        || has("prompts")
        || has("mcp/prompts")
        || has("prompts.bash")
}

/// A folder that the user names. Nothing is fetched.
pub(super) fn parse_folder(text: &str) -> Result<PathBuf, String> {
    if text.contains("://") || text.starts_with("git@") {
        return Err("nothing is fetched; clone it, then name the folder".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// A name after `--only`.
pub(super) fn parse_only(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("name a library, a project or a prompt".to_owned());
    }
    Ok(text.to_owned())
}

/// A kind of library, by its name in flags.
pub(super) fn parse_kind(text: &str) -> Result<LibraryKind, String> {
    let kinds: Vec<LibraryKind> = clients::kinds().collect();
    let known = parse_known(text, &kinds, LibraryKind::as_str, "kinds");
    known.or_else(|error| clients::kind(text).ok_or(error))
}

/// One of a few values, by its name; the error suggests similar names, or lists all of them.
pub(super) fn parse_known<T: Copy>(
    text: &str,
    all: &[T],
    name: fn(T) -> &'static str,
    what: &str,
) -> Result<T, String> {
    let found = all.iter().find(|value| name(**value) == text);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|value| name(*value)).collect();
        let near = did_you_mean(text, known.iter().copied());
        near.unwrap_or_else(|| format!("known {what}: {}", known.join(", ")))
    })
}
