//! `twig budget`: how much of the names and descriptions of prompts clients can hold, and which of
//! them are cut.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::Catalog;

use super::check::counted;
use super::connect::no_client;
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::command_error::CommandError;
use crate::connect::{ConnectClient, survey};
use crate::places::{ClientPlaces, on_disk};
use crate::ui::Ui;

// What clients can hold.
#[derive(Debug, Args)]
pub(crate) struct BudgetArgs {
    /// A client, connected or not (may be given several times); by default those that have Twig
    #[arg(long, value_name = "CLIENT")]
    client: Vec<String>,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One client, with the libraries that take most first.
#[derive(Debug, Serialize)]
struct ClientBudget {
    client: &'static str,
    title: &'static str,
    /// How many characters it holds, if that is known.
    limit: Option<usize>,
    prompts: usize,
    /// The characters of all names and descriptions.
    characters: usize,
    /// How many prompts have descriptions past the limit.
    cut: usize,
    libraries: Vec<LibraryBudget>,
    #[serde(skip)]
    excess: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct LibraryBudget {
    name: String,
    prompts: usize,
    characters: usize,
    cut: usize,
}

pub(super) fn run(options: &BudgetArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let clients = clients(&options.client)?;
    let opened = OpenedCatalog::open_with_store(&options.sources, ui)?;
    let catalog = opened.live.snapshot();
    let mut budgets: Vec<ClientBudget> = clients
        .into_iter()
        .map(|client| budget(client, &catalog))
        .collect();
    budgets.sort_by_key(|budget| Reverse(budget.cut));
    if options.json {
        ui.json(&budgets)?;
        return Ok(ExitCode::SUCCESS);
    }
    for (at, budget) in budgets.iter().enumerate() {
        if at > 0 {
            ui.line("")?;
        }
        budget.print(ui)?;
    }
    if budgets.is_empty() {
        ui.say("no client has Twig yet");
        ui.say("hint: run `twig connect CLIENT`, or name a client with --client");
    } else if budgets.iter().any(|budget| budget.cut > 0) {
        ui.say(
            "hint: shorten descriptions, or leave prompts out of lists with `hide` in config.toml (`twig help library`)",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The clients that are named, or those that have Twig.
fn clients(names: &[String]) -> Result<Vec<ConnectClient>, CommandError> {
    if !names.is_empty() {
        let clients = names.iter();
        let clients = clients.map(|name| ConnectClient::of(name).ok_or_else(|| no_client(name)));
        return clients.collect();
    }
    let folder = on_disk(Path::new("."));
    let found = survey(&folder, &ClientPlaces::from_environment());
    let has_twig = |client: &ConnectClient| {
        let mut files = found.iter().filter(|it| it.0 == *client);
        files.any(|(.., config)| config.as_ref().is_ok_and(|it| it.twigs().next().is_some()))
    };
    Ok(ConnectClient::all().filter(has_twig).collect())
}

/// What the lists of a client hold: prompts in their order, until the limit is reached.
fn budget(client: ConnectClient, catalog: &Catalog) -> ClientBudget {
    let limit = client.listing();
    let mut libraries: BTreeMap<&str, LibraryBudget> = BTreeMap::new();
    let (mut prompts, mut characters, mut cut) = (0, 0, 0);
    // What differs for a client counts as in its list. The files that it loads itself count, too:
    // its model sees them beside the rest.
    for found in catalog.listed_for(client.as_str(), false) {
        let prompt = found.prompt;
        let description = prompt.description.as_deref().or(prompt.title.as_deref());
        let description = description.map_or(0, |text| text.chars().count());
        let length = prompt.full_name.chars().count() + description;
        prompts += 1;
        characters += length;
        let is_over = limit.is_some_and(|limit| characters > limit.characters);
        let is_cut = usize::from(is_over && description > 0);
        cut += is_cut;
        let name = found.library.name.as_str();
        let library = libraries.entry(name).or_insert_with(|| LibraryBudget {
            name: name.to_owned(),
            prompts: 0,
            characters: 0,
            cut: 0,
        });
        library.prompts += 1;
        library.characters += length;
        library.cut += is_cut;
    }
    let mut libraries: Vec<LibraryBudget> = libraries.into_values().collect();
    libraries.sort_by_key(|library| Reverse((library.cut, library.characters)));
    ClientBudget {
        client: client.as_str(),
        title: client.title(),
        limit: limit.map(|limit| limit.characters),
        prompts,
        characters,
        cut,
        libraries,
        excess: limit.map_or("", |limit| limit.excess),
    }
}

impl ClientBudget {
    fn print(&self, ui: &mut Ui) -> Result<(), CommandError> {
        let count = counted(self.prompts, "prompt", "prompts");
        let characters = counted(self.characters, "character", "characters");
        let limit = match self.limit {
            Some(limit) if self.cut > 0 => {
                let cut = counted(self.cut, "prompt is", "prompts are");
                format!(
                    "{} shows its model {limit} of them and {}: {cut} past it",
                    self.title, self.excess
                )
            }
            Some(limit) => format!("{} shows its model up to {limit}", self.title),
            None => format!("no limit of {} is known", self.title),
        };
        ui.heading(self.client)?;
        ui.line(format!(
            "  {count}, {characters} of names and descriptions; {limit}"
        ))?;
        let header = ["library", "prompts", "characters", "cut"].map(str::to_owned);
        let rows = self.libraries.iter().map(|library| {
            let numbers = [library.prompts, library.characters, library.cut];
            let numbers = numbers.iter().map(usize::to_string);
            [library.name.clone()].into_iter().chain(numbers).collect()
        });
        let rows: Vec<Vec<String>> = [header.to_vec()].into_iter().chain(rows).collect();
        if !self.libraries.is_empty() {
            ui.facts("  ", &rows)?;
        }
        Ok(())
    }
}
