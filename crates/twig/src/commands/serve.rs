//! `twig serve`: the server on standard input and output, or over HTTP.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use twig_core::Catalog;
use twig_mcp::{Server, ServerIdentity, Tools};
use twig_sources::{Access, OfferedWorkspace, Watching};

use super::check::counted;
use super::opened_catalog::{Followed, FunctionArgs, OpenedCatalog, SourceArgs, offered};
use crate::command_error::CommandError;
use crate::config::{self, Config};
use crate::function::Allowed;
use crate::http::{self, HttpArgs};
use crate::jobs::{JobSettings, Jobs};
use crate::log;
use crate::places::Places;
use crate::service::Service;
use crate::stdio;
use crate::ui::{Ui, UiOptions};
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

    /// The sources, restricted as the configuration says if no flag does.
    fn sources(&self, config: &Config) -> SourceArgs {
        let mut sources = self.sources.clone();
        if sources.only.is_empty() {
            sources.only.clone_from(&config.serves_only);
        }
        sources
    }

    /// Logs what nothing matches of what alone is offered.
    fn warn_of_unmatched(&self, catalog: &Catalog) {
        for name in catalog.unmatched() {
            if self.sources.only.is_empty() {
                tracing::warn!("nothing matches `{name}` in `only` of [serve] yet");
            } else {
                tracing::warn!("nothing matches `--only {name}` yet");
            }
        }
    }
}

pub(super) fn run(options: &ServeArgs) -> Result<ExitCode, CommandError> {
    log::never_wait();
    let places = Places::from_environment();
    let address = options.http.address;
    // Over HTTP, others may be listening.
    let serves_store = address.is_none();
    let (config, followed) = config::load_and_follow(&places, serves_store)?;
    let front = address.map(|address| http::open(address, &options.http));
    let front = front.transpose()?;
    let access = if options.read_only {
        Access::Read
    } else {
        Access::Write
    };
    let watching = if options.poll {
        Watching::Poll
    } else {
        Watching::Auto
    };
    let sources = options.sources(&config);
    let reading = match access {
        Access::Read => Access::Read,
        _ => Access::ReadOrUpdate,
    };
    let workspace = offered(&places, &sources, reading)?;
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
    options.warn_of_unmatched(&catalog);
    tracing::info!(
        "serving {} of {}{}",
        counted(catalog.len(), "prompt", "prompts"),
        counted(catalog.libraries().len(), "library", "libraries"),
        if options.read_only { ", read-only" } else { "" }
    );
    // The tools reach everything in the project, so `--only` has to offer all of it.
    let whole = project
        .as_ref()
        .filter(|it| catalog.filter().has_project(it.name.as_str()));
    let tools = Tools {
        project: whole.map(|it| it.name.clone()),
        writes: !options.read_only,
        trigger: config.trigger.clone(),
    };
    let mcp = Server::new(&identity(), config.limits.clone(), tools)
        .with_command_clients(config.command_clients.clone());
    let observer = UseObserver::start(&config.observed, &places)?.map(Arc::new);
    let mcp = with_settings(mcp, observer.as_ref(), front.is_some());
    let store = project.map(|it| it.store);
    let jobs = Jobs::new(JobSettings {
        allowed,
        live: Some(Arc::clone(&live)),
        store: store.clone(),
        waiting_renders: match front {
            Some(_) => config.http.renders,
            // A single client has its own limit on running requests.
            None => usize::MAX,
        },
        limits: config.limits.clone(),
    });
    let service = Service {
        live,
        templates,
        server: Arc::new(mcp),
        store: store.clone(),
        jobs,
        limits: config.limits,
    };
    let opened_live = Arc::clone(&service.live);
    let served = match front {
        Some(front) => http::serve(service, front, config.http),
        None => serve_client(&service),
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
    served
}

/// The server, for clients elsewhere or here, with what wants to know about answered requests.
fn with_settings(mcp: Server, observer: Option<&Arc<UseObserver>>, is_remote: bool) -> Server {
    let mcp = match observer {
        Some(observer) => mcp.with_observer(Arc::clone(observer) as Arc<_>),
        None => mcp,
    };
    if is_remote {
        mcp.for_remote_clients()
    } else {
        mcp
    }
}

fn serve_client(service: &Service) -> Result<ExitCode, CommandError> {
    if io::stdin().is_terminal() {
        Ui::new(UiOptions::default()).insist(
            "twig serve speaks MCP on standard input and output; AI clients start it themselves.\n\
             hint: run `twig doctor` to see how to connect one (Ctrl-C ends this)",
        );
    }
    stdio::serve(service)
}

/// The server's name and version for clients; none of it comes from a library.
fn identity() -> ServerIdentity {
    ServerIdentity {
        name: "twig".to_owned(),
        title: "Twig".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
