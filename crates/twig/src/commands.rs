//! One module a command; this one picks which, and opens the catalog that most of them need.

mod check;
mod client;
mod compact;
mod connect;
mod content;
mod demo;
mod doctor;
mod documents;
mod export;
mod import;
mod init;
mod item;
mod library;
mod list;
mod new;
mod origin;
mod project;
mod question;
mod render;
mod search;
mod serve;
mod show;
mod store;
mod transfer;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use twig_core::parse::library::MANIFEST;
use twig_core::store::{Noun, StoreError, StoreName, place_of};
use twig_core::template::Templates;
use twig_core::{Catalog, Lookup, PromptRef};
use twig_sources::{
    Access, DEFAULT_WORKSPACE, LiveCatalog, PROJECT, Selected, Settings, Watching, is_well_known,
};

use self::origin::project_flags;
use self::store::{Stores, Target, no_project};
use crate::cli::{self, Cli, Command, InProject, InWorkspace, Sources};
use crate::command_error::{CommandError, ErrorKind};
use crate::config::{self, Config};
use crate::function::{self, Allowed};
use crate::places::{self, Places, on_disk};
use crate::ui::Ui;
use crate::worker;

/// Runs a command.
pub(crate) fn run(command: Command, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let code = match command {
        Command::Serve(options) => serve::run(&options)?,
        Command::Demo => demo::run(ui)?,
        Command::List(options) => list::run(&options, ui)?,
        Command::Show(options) => show::run(&options, ui)?,
        Command::Render(options) => render::run(&options, ui)?,
        Command::Search(options) => search::run(&options, ui)?,
        Command::Check(options) => check::run(&options, ui)?,
        Command::Init(options) => init::run(&options, ui)?,
        Command::New(what) => new::run(what, ui)?,
        Command::Connect(options) => connect::run(&options, ui)?,
        Command::Export(options) => export::run(&options, ui)?,
        Command::Doctor(options) => doctor::run(&options, ui)?,
        Command::Completions { shell } => completions(shell, ui)?,
        Command::Man { command } => man(&command, ui)?,
        Command::Import(options) => import::run(&options, ui)?,
        Command::Library(what) => library::run(&what, ui)?,
        Command::Workspace(what) => workspace::run(what, ui)?,
        Command::Project(what) => project::run(what, ui)?,
        Command::Prompt(what) => item::run_prompt(what, ui)?,
        Command::Resource(what) => item::run_resource(what, ui)?,
        Command::RunFunction => function::child::run()?,
        Command::RenderWorker => worker::child::run()?,
    };
    ui.flush()?;
    Ok(code)
}

/// What a command works on.
struct Opened {
    places: Places,
    /// What the person named, as it was found.
    sources: Sources,
    config: Config,
    live: LiveCatalog,
    templates: Templates,
}

impl Opened {
    fn new(sources: &Sources) -> Result<Self, CommandError> {
        let places = Places::from_environment();
        let config = config::load(&places)?;
        Self::with(places, config, sources)
    }

    fn with(places: Places, config: Config, sources: &Sources) -> Result<Self, CommandError> {
        let library = sources.library.iter().map(|path| library_of(path));
        let sources = Sources {
            library: library.collect::<Result<_, _>>()?,
            kind: sources.kind,
            project: sources.project.clone(),
            workspace: sources.workspace.clone(),
        };
        let project = selected(&places, &config, &sources, Access::Read)?;
        let live = load(Settings {
            project,
            ..settings(&places, &config, &sources)
        })?;
        let templates = Templates::new(config.limits.clone());
        Ok(Self {
            places,
            sources,
            config,
            live,
            templates,
        })
    }
}

fn settings(places: &Places, config: &Config, sources: &Sources) -> Settings {
    Settings {
        data: places.data.clone(),
        libraries: sources.library.iter().map(|path| on_disk(path)).collect(),
        remembered: config.libraries.clone(),
        projects: places.projects.clone(),
        kind: sources.kind,
        home: places.home.clone(),
        separator: config.separator.clone(),
        limits: config.limits.clone(),
        watching: Watching::Auto,
        trust: places.trust.clone(),
        function_prefix: function_prefix(places),
        project: None,
    }
}

/// Loads everything. Libraries that cannot be read are problems; a project that was named and
/// cannot be served is the end.
fn load(settings: Settings) -> Result<LiveCatalog, CommandError> {
    let store = settings.project.as_ref().map(|it| Arc::clone(&it.store));
    let live = LiveCatalog::load(settings);
    match (live.check_project(), store) {
        (Err(StoreError::NoProject { project, workspace }), Some(store)) => {
            let others = store.projects()?;
            Err(no_project(&project, workspace.as_str(), &others))
        }
        (Err(error), _) => Err(error.into()),
        (Ok(()), _) => Ok(live),
    }
}

/// The project that is served beside the libraries, where one is named.
fn selected(
    places: &Places,
    config: &Config,
    sources: &Sources,
    access: Access,
) -> Result<Option<Selected>, CommandError> {
    if sources.project.is_none() {
        return Ok(None);
    }
    let workspace = sources.workspace.clone();
    let place = InProject {
        place: InWorkspace {
            workspace: workspace.unwrap_or_else(|| DEFAULT_WORKSPACE.to_owned()),
        },
        project: sources.project.clone(),
    };
    let stores = Stores::of(places.clone(), config.limits.clone())?;
    let target = Target::find(stores, &place, access)?;
    Ok(Some(Selected {
        store: Arc::new(target.store),
        name: target.project,
    }))
}

/// What bash functions begin with; what no function's name could begin with is passed over.
fn function_prefix(places: &Places) -> String {
    let fits = |text: &&str| {
        !text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let prefix = places.function_prefix.as_deref();
    let text = prefix.and_then(std::ffi::OsStr::to_str).filter(fits);
    if prefix.is_some() && text.is_none() {
        tracing::warn!(
            "MCBOX_PROMPTS_FUNCTION_NAME_PREFIX is passed over: it may only have letters a to z, digits and _"
        );
    }
    text.unwrap_or("prompt_").to_owned()
}

/// What functions are allowed.
fn allowed(places: &Places, config: &Config, options: &cli::Functions) -> Allowed {
    let names = config.function_environment.iter();
    let environment = names.filter_map(|name| Some((name.into(), places::variable(name)?)));
    Allowed {
        trust: places.trust.clone(),
        environment: environment.collect(),
        unsandboxed: options.allow_unsandboxed_functions,
    }
}

/// The library that a path is in: a file inside one means the whole library.
fn library_of(path: &Path) -> Result<PathBuf, CommandError> {
    let mut path = on_disk(path);
    if path
        .components()
        .any(|part| part == std::path::Component::ParentDir)
    {
        // A library is named after its folder, and `..` is no name.
        path = path.canonicalize().unwrap_or(path);
    }
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

/// Whether a folder is laid out like a library, of whichever kind.
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

/// The prompt of that name, or an error that says which names are near.
fn find<'c>(catalog: &'c Catalog, name: &str) -> Result<PromptRef<'c>, CommandError> {
    match catalog.find(name) {
        Lookup::Found(found) => Ok(found),
        Lookup::Ambiguous(names) => Err(CommandError::fixable(format!(
            "several libraries have a prompt `{name}`"
        ))
        .hint(format!("use one of `{}`", names.join("`, `")))),
        Lookup::Missing => {
            // As clients hear it: what no project could hold is not missed there.
            let project = catalog.project().and_then(|library| place_of(library));
            let project = project.filter(|_| StoreName::parse(Noun::Prompt, name).is_ok());
            let error = CommandError::fixable(match project {
                Some((_, project)) => format!("Prompt '{name}' not found in project '{project}'"),
                None => format!("Prompt not found: {name}"),
            });
            Err(error.hint(match &*catalog.suggestions(name) {
                [] => format!(
                    "run `twig list{}` to see every prompt",
                    project_flags(catalog)
                ),
                near => format!("did you mean `{}`?", near.join("`, `")),
            }))
        }
    }
}

fn completions(shell: clap_complete::Shell, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "twig", &mut script);
    ui.raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// The page of `twig` itself, or of one of its commands.
fn man(command: &[String], ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let mut found = Cli::command();
    found.build();
    for name in command {
        let Some(inner) = found
            .find_subcommand(name)
            .filter(|inner| !inner.is_hide_set())
        else {
            let names: Vec<String> = found
                .get_subcommands()
                .map(|c| c.get_name().to_owned())
                .collect();
            let error =
                CommandError::new(ErrorKind::Usage, format!("there is no command `{name}`"));
            let near = twig_core::suggest::did_you_mean(name, names.iter().map(String::as_str));
            return Err(near.into_iter().fold(error, CommandError::hint));
        };
        found = inner.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(found).render(&mut page)?;
    ui.raw(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}
