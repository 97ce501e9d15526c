//! `twig serve`: the server on standard input and output, or over HTTP.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use twig_core::Catalog;
use twig_sources::{Access, AccessStore, CatalogViews, LiveCatalog, OfferedWorkspace, Watching};

use super::check::counted;
use super::opened_catalog::{Followed, FunctionArgs, OpenedCatalog, SourceArgs, offered};
use super::packages::follow::FollowerThread;
use crate::command_error::CommandError;
use crate::config::{self, Config, StoreSettings};
use crate::function::Allowed;
use crate::http::{self, HttpArgs, HttpFront, ServedDatabase, TeamSettings};
use crate::jobs::{JobPlace, JobSettings, Jobs};
use crate::log;
use crate::places::Places;
use crate::service::{ServerMaker, Service, WholeCatalog};
use crate::stdio;
use crate::ui::Ui;
use crate::use_observer::UseObserver;

#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(super) sources: SourceArgs,

    /// Look for changes by polling instead of using the system's events
    #[arg(long)]
    poll: bool,

    /// Offer clients no tools that write, and let nobody edit on the page
    #[arg(long)]
    read_only: bool,

    /// Wait at the start for a database that is away, for this many seconds at most
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=LONGEST_WAIT))]
    wait: Option<u64>,

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
    run_then(options, ui, |_, _| Ok(()))
}

/// The same; `listening` is called as soon as a server over HTTP listens.
pub(super) fn run_then(
    options: &ServeArgs,
    ui: &mut Ui,
    listening: impl FnOnce(&HttpFront, &mut Ui) -> Result<(), CommandError>,
) -> Result<ExitCode, CommandError> {
    log::never_wait();
    let places = Places::from_environment();
    // Over HTTP, others may be listening.
    let serves_store = options.http.address.is_none();
    let (config, followed) = config::load_and_follow(&places, serves_store)?;
    let settings = options.http.over(&config.http_settings);
    let shares_sessions = settings.address.is_some() && !settings.sticky;
    let waited = options.wait.map_or(config.store.wait, Duration::from_secs);
    // Keys are in the database, too.
    wait_for_database(&places, &config.store, waited)?;
    let front = settings.address.map(|address| {
        let workspaces = config.store.place(&places)?;
        let access = AccessStore::new(workspaces.as_ref(), places.access());
        http::open(address, settings, access.as_ref(), places.state())
    });
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
        shares_sessions: shares_sessions && config.store.is_database(),
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
            // Servers on standard input and output come and go with their clients, many on one
            // machine: they serve what this one fetched.
            let _follower = FollowerThread::start(&places, &config, &service.live, &team.follow)?;
            listening(&front, ui)?;
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

/// The longest wait for a database at the start: a day.
const LONGEST_WAIT: u64 = 24 * 60 * 60;

/// The pause between two attempts to reach a database at the start.
const PAUSE: Duration = Duration::from_millis(250);

/// Waits until the database answers; if it never does, opening it says why.
fn wait_for_database(
    places: &Places,
    store: &StoreSettings,
    longest: Duration,
) -> Result<(), CommandError> {
    let begun = Instant::now();
    if longest.is_zero() || !store.is_database() {
        return Ok(());
    }
    let Some(place) = store.place(places)? else {
        return Ok(());
    };
    let mut is_said = false;
    while let Err(error) = place.probe() {
        if !std::mem::replace(&mut is_said, true) {
            let seconds = longest.as_secs();
            tracing::warn!("waiting up to {seconds} s for the database: {error}");
        }
        if begun.elapsed() >= longest {
            return Err(error.into());
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// What a server over HTTP needs for people with keys.
fn team(
    places: &Places,
    live: &Arc<LiveCatalog>,
    config: &Config,
    access: Access,
) -> Result<TeamSettings, CommandError> {
    let place = config.store.place(places)?;
    let store = place.clone().filter(|_| config.store.is_database());
    let views = place.map(|workspaces| {
        let views = CatalogViews::new(Arc::clone(live), workspaces, access);
        Arc::new(views)
    });
    Ok(TeamSettings {
        views,
        database: store.map(|place| ServedDatabase {
            place,
            stale_limit: config.store.stale_limit,
        }),
        serves_store: config.serves_store == Some(true),
        state: places.state().map(Path::to_owned),
        #[cfg(feature = "page")]
        replaced: places.replaced.clone(),
        hub: Some(config.hub.clone()).filter(|hub| hub.is_on),
        follow: Arc::default(),
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
