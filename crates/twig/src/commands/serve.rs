//! `twig serve`: the server on standard input and output, or over HTTP.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use twig_core::Catalog;
use twig_sources::{Access, CatalogViews, LiveCatalog, OfferedWorkspace, Watching};

use super::check::counted;
use super::opened_catalog::{Followed, FunctionArgs, OpenedCatalog, SourceArgs, offered};
use crate::command_error::CommandError;
use crate::config::{self, Config};
use crate::function::Allowed;
use crate::http::{self, HttpArgs, TeamSettings};
use crate::jobs::{JobPlace, JobSettings, Jobs};
use crate::log;
use crate::places::Places;
use crate::service::{ServerMaker, Service, WholeCatalog};
use crate::stdio;
use crate::ui::Ui;
use crate::use_observer::UseObserver;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(super) sources: SourceArgs,

    /// Look for changes by polling instead of using the system's events
    #[arg(long)]
    poll: bool,

    /// Offer clients no tools that write
    #[arg(long)]
    read_only: bool,

    #[command(flatten)]
    functions: FunctionArgs,

    #[command(flatten)]
    pub(super) http: HttpArgs,
}

impl ServeArgs {
    /// An error of opening the sources; if only writing fails, it says how to serve them anyway.
    fn explained(&self, error: CommandError) -> CommandError {
        let sources = &self.sources;
        let is_readable = || sources.project.is_some() && sources.check_project().is_ok();
        if !self.read_only && is_readable() {
            return error.hint("`--read-only` serves the project without the tools that write");
        }
        error
    }

    fn access(&self) -> Access {
        if self.read_only {
            Access::Read
        } else {
            Access::Write
        }
    }

    fn watching(&self) -> Watching {
        if self.poll {
            Watching::Poll
        } else {
            Watching::Auto
        }
    }

    /// The sources, restricted as the configuration says if no flag does.
    fn sources(&self, config: &Config) -> SourceArgs {
        let mut sources = self.sources.clone();
        if sources.only.is_empty() {
            sources.only.clone_from(&config.serves_only);
        }
        sources
    }

    /// Logs what is served, and what nothing matches of what alone is offered. Returns what is served,
    /// in words.
    fn log_start(&self, catalog: &Catalog) -> String {
        let counts = counts(catalog);
        tracing::info!(
            "serving {counts}{}",
            if self.read_only { ", read-only" } else { "" }
        );
        for name in catalog.unmatched() {
            if self.sources.only.is_empty() {
                tracing::warn!("nothing matches `{name}` in `only` of [serve] yet");
            } else {
                tracing::warn!("nothing matches `--only {name}` yet");
            }
        }
        counts
    }
}

pub(super) fn run(options: &ServeArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    log::never_wait();
    let places = Places::from_environment();
    // Over HTTP, others may be listening.
    let serves_store = options.http.address.is_none();
    let (config, followed) = config::load_and_follow(&places, serves_store)?;
    let settings = options.http.over(&config.http_settings);
    let access = places.access();
    let front = settings
        .address
        .map(|address| http::open(address, settings, access.as_deref()));
    let front = front.transpose()?;
    let (access, watching) = (options.access(), options.watching());
    let sources = options.sources(&config);
    let reading = match access {
        Access::Read => Access::Read,
        _ => Access::ReadOrUpdate,
    };
    let workspace = offered(&places, &config.store, &sources, reading)?;
    let followed = Followed {
        workspace: workspace.map(|workspace| OfferedWorkspace {
            is_on: config.serves_store.unwrap_or(serves_store),
            ..workspace
        }),
        config: followed,
    };
    let opened = OpenedCatalog::load(places, config, sources, followed, access, watching);
    let opened = opened.map_err(|error| options.explained(error))?;
    let allowed = Allowed {
        is_remote: front.is_some(),
        ..opened.allowed(&options.functions)
    };
    let OpenedCatalog {
        live,
        config,
        templates,
        project,
        places,
        ..
    } = opened;
    let live = Arc::new(live);
    let catalog = live.published();
    live.log_problems();
    let counts = options.log_start(&catalog);
    // The tools reach everything in the project, so `--only` has to offer all of it.
    let whole = project
        .as_ref()
        .filter(|it| catalog.filter().has_project(it.name.as_str()));
    let observer = UseObserver::start(&config.observed, &places)?.map(Arc::new);
    let servers = ServerMaker {
        observer: observer.as_ref().map(|it| Arc::clone(it) as Arc<_>),
        limits: config.limits.clone(),
        trigger: config.trigger.clone(),
        command_clients: config.command_clients.clone(),
        is_read_only: options.read_only,
        is_remote: front.is_some(),
    };
    let server = servers.make(whole.map(|it| it.name.clone()), true);
    let store = project.map(|it| it.store);
    let jobs = Jobs::new(JobSettings {
        allowed,
        waiting_renders: match front {
            Some(_) => config.http.renders,
            // A single client has its own limit on running requests.
            None => usize::MAX,
        },
        limits: config.limits.clone(),
    });
    let service = Service {
        place: JobPlace {
            searched: Some(Arc::new(WholeCatalog(Arc::clone(&live)))),
            store: store.clone(),
        },
        live,
        templates,
        server,
        servers,
        jobs,
        limits: config.limits.clone(),
    };
    let opened_live = Arc::clone(&service.live);
    let ended = match front {
        Some(front) => {
            let team = team(&places, &service.live, &config, access)?;
            http::serve(service, front, team, config.http, &counts, ui)
        }
        None => serve_client(&service, ui),
    };
    if let Some(observer) = observer {
        observer.flush();
    }
    // The thread that follows the disk may not have had the time.
    opened_live.log_problems();
    // Threads that are still running may hold the store until the process ends.
    if let Some(store) = store {
        store.close();
    }
    opened_live.close();
    ended
}

/// What a server over HTTP needs for people with keys.
fn team(
    places: &Places,
    live: &Arc<LiveCatalog>,
    config: &Config,
    access: Access,
) -> Result<TeamSettings, CommandError> {
    let views = config.store.place(places)?.map(|workspaces| {
        let views = CatalogViews::new(Arc::clone(live), workspaces, access);
        Arc::new(views)
    });
    Ok(TeamSettings {
        views,
        serves_store: config.serves_store == Some(true),
        state: places.state().map(Path::to_owned),
        hub: Some(config.hub.clone()).filter(|hub| hub.is_on),
    })
}

/// What is served, in words.
fn counts(catalog: &Catalog) -> String {
    format!(
        "{} of {}",
        counted(catalog.len(), "prompt", "prompts"),
        counted(catalog.libraries().len(), "library", "libraries")
    )
}

fn serve_client(service: &Service, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    if io::stdin().is_terminal() {
        ui.insist(
            "twig serve speaks MCP on standard input and output; AI clients start it themselves.\n\
             hint: run `twig doctor` to see how to connect one (Ctrl-C ends this)",
        );
    }
    stdio::serve(service)
}
