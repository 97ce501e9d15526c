//! `twig stats`: how often prompts are used, and which are not.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_core::store::Timestamp;
use twig_sources::now;

use super::age::{Age, parse_age};
use super::check::counted;
use super::opened_catalog::{OpenedCatalog, SourceArgs};
use crate::command_error::{CommandError, reason};
use crate::places::Places;
use crate::ui::Ui;
use crate::use_counts::{OTHER, UseCount, UseTable};

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// List the prompts that were not used for this long instead, such as 30d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    unused: Option<Age>,

    #[command(flatten)]
    sources: SourceArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One count as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct UseRow<'c> {
    prompt: &'c str,
    version: Option<u64>,
    client: Option<&'c str>,
    count: u64,
    last_use: String,
}

/// A prompt that was not used, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct UnusedRow<'c> {
    prompt: &'c str,
    /// When it was last used; absent if it never was.
    last_use: Option<String>,
}

pub(super) fn run(options: &StatsArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let table = read(&places)?;
    match options.unused {
        Some(age) => unused(&table, age.before(now()), options, ui)?,
        None => list(&table, options.json, ui)?,
    }
    if table.since.is_none() {
        ui.say(
            "nothing was counted yet\nhint: servers count with `enable = true` in [stats] of config.toml",
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn read(places: &Places) -> Result<UseTable, CommandError> {
    let Some(path) = places.use_counts() else {
        return Ok(UseTable::default());
    };
    UseTable::read(&path).map_err(|error| {
        let shown = places.shown(&path);
        CommandError::fixable(format!("{shown} cannot be read: {}", reason(&error)))
    })
}

/// The counts: one row a prompt for people, all of them for scripts.
fn list(table: &UseTable, json: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if json {
        let rows = table.rows.iter().map(|(key, used)| UseRow {
            prompt: &key.prompt,
            version: key.version,
            client: key.client.as_deref(),
            count: used.count,
            last_use: used.last.to_string(),
        });
        let other = table.other.iter().map(|used| UseRow {
            prompt: OTHER,
            version: None,
            client: None,
            count: used.count,
            last_use: used.last.to_string(),
        });
        return ui.json(&rows.chain(other).collect::<Vec<_>>());
    }
    let mut prompts: BTreeMap<&str, (UseCount, Vec<String>)> = BTreeMap::new();
    for (key, used) in &table.rows {
        let (total, clients) = prompts.entry(&key.prompt).or_insert_with(|| {
            let none = UseCount {
                count: 0,
                last: used.last,
            };
            (none, Vec::new())
        });
        total.count += used.count;
        total.last = total.last.max(used.last);
        let client = key.client.as_deref().unwrap_or("unknown").to_owned();
        if !clients.contains(&client) {
            clients.push(client);
        }
    }
    let mut rows: Vec<_> = prompts.into_iter().collect();
    rows.sort_by_key(|(_, (used, _))| std::cmp::Reverse(used.count));
    let cells = |name: &str, used: &UseCount, clients: String| {
        let count = usize::try_from(used.count).unwrap_or(usize::MAX);
        let count = counted(count, "use", "uses");
        vec![name.to_owned(), count, used.last.to_string(), clients]
    };
    let other = table.other.iter();
    let other = other.map(|used| cells(OTHER, used, "rarely used ones".to_owned()));
    let rows = rows
        .iter()
        .map(|(name, (used, clients))| cells(name, used, clients.join(", ")));
    ui.table(&rows.chain(other).collect::<Vec<_>>())?;
    Ok(())
}

/// The prompts that are served and were not used since a moment.
fn unused(
    table: &UseTable,
    since: Timestamp,
    options: &StatsArgs,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let mut last_uses: BTreeMap<&str, Timestamp> = BTreeMap::new();
    for (key, used) in &table.rows {
        // A use of a labelled version is a use of the prompt.
        for name in [
            Some(&*key.prompt),
            key.prompt.rsplit_once('@').map(|(name, _)| name),
        ] {
            let Some(name) = name else { continue };
            let last = last_uses.entry(name).or_insert(used.last);
            *last = (*last).max(used.last);
        }
    }
    let opened = OpenedCatalog::open_with_store(&options.sources, ui)?;
    let catalog = opened.live.snapshot();
    let rows = catalog.prompts(0).filter_map(|found| {
        let prompt = &*found.prompt.full_name;
        let last = last_uses.get(prompt);
        (last.is_none_or(|last| *last < since)).then(|| UnusedRow {
            prompt,
            last_use: last.map(ToString::to_string),
        })
    });
    let rows: Vec<UnusedRow<'_>> = rows.collect();
    if options.json {
        return ui.json(&rows);
    }
    let cells = rows.iter().map(|row| {
        let last = match &row.last_use {
            Some(time) => format!("last used {time}"),
            None => "never used".to_owned(),
        };
        vec![row.prompt.to_owned(), last]
    });
    ui.table(&cells.collect::<Vec<_>>())?;
    if let Some(began) = table.since.filter(|began| *began > since) {
        ui.say(format!("note: counting began at {began}, which is later"));
    }
    Ok(())
}
