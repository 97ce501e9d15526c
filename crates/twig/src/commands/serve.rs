//! `twig serve`: the server on standard input and output, or over HTTP.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use twig_core::Bodies;
use twig_core::template::Templates;
use twig_mcp::{Identity, Server, Tools};
use twig_sources::{Access, Searcher, Settings, Watching};

use super::check::counted;
use super::{allowed, load, selected, settings};
use crate::cli;
use crate::command_error::CommandError;
use crate::config;
use crate::http;
use crate::log;
use crate::places::Places;
use crate::service::Service;
use crate::stdio;
use crate::ui::Ui;

pub(super) fn run(options: &cli::Serve) -> Result<ExitCode, CommandError> {
    log::never_wait();
    let places = Places::from_environment();
    let config = config::load(&places)?;
    let address = options.http.address;
    let front = address.map(|address| http::open(address, &options.http));
    let front = front.transpose()?;
    let access = if options.read_only {
        Access::Read
    } else {
        Access::Write
    };
    let settings = Settings {
        project: selected(&places, &config, &options.sources, access)?,
        watching: if options.poll {
            Watching::Poll
        } else {
            Watching::Auto
        },
        ..settings(&places, &config, &options.sources)
    };
    let project_name = settings.project.as_ref().map(|it| it.name.clone());
    let store = settings
        .project
        .as_ref()
        .map(|project| Arc::clone(&project.store));
    let live = Arc::new(load(settings)?);
    let catalog = live.snapshot();
    live.log_problems();
    tracing::info!(
        "serving {} of {}{}",
        counted(catalog.len(), "prompt", "prompts"),
        counted(catalog.libraries().len(), "library", "libraries"),
        if options.read_only { ", read-only" } else { "" }
    );
    let bodies = Arc::clone(&live) as Arc<dyn Bodies>;
    let tools = Tools {
        project: project_name,
        writes: !options.read_only,
        trigger: config.trigger.clone(),
    };
    let mcp = Server::new(identity(), config.limits.clone(), tools)
        .with_command_clients(config.command_clients.clone());
    let mcp = match front {
        Some(_) => mcp.for_remote_clients(),
        None => mcp,
    };
    let service = Service {
        live,
        templates: Templates::new(config.limits.clone()),
        server: Arc::new(mcp),
        store,
        searcher: Searcher::new(bodies, config.limits.clone()),
        allowed: allowed(&places, &config, &options.functions),
        limits: config.limits,
    };
    let store = service.store.clone();
    let served = match front {
        Some(front) => http::serve(service, front, config.http),
        None => serve_client(&service),
    };
    // Threads that still follow something may hold the store for longer than we live.
    if let Some(store) = store {
        store.close();
    }
    served
}

fn serve_client(service: &Service) -> Result<ExitCode, CommandError> {
    if io::stdin().is_terminal() {
        Ui::new().say(
            "twig serve speaks MCP on standard input and output; AI clients start it themselves.\n\
             hint: run `twig doctor` to see how to connect one (Ctrl-C ends this)",
        );
    }
    stdio::serve(service)
}

/// Who we are to clients; no word of it comes from a library.
fn identity() -> Identity {
    Identity {
        name: "twig".to_owned(),
        title: "Twig".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: None,
    }
}
