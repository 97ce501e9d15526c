//! `twig inventory`: every prompt and skill in every client's folder, and who put it there.
//!
//! It compares digests of what is on this machine. It changes nothing, and never uses the network.

mod found_items;
mod known_owners;

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use twig_sources::CopiedFiles;

use self::found_items::FoundItem;
use self::known_owners::{ItemOwner, KnownOwners};
use crate::command_error::CommandError;
use crate::commands::check::counted;
use crate::config;
use crate::places::Places;
use crate::ui::{TableGroup, Ui};

/// The most bytes that are read to compare files.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// The most duplicates that are listed for one prompt or skill.
const MOST_DUPLICATES: usize = 16;

// What is in clients' folders.
#[derive(Debug, Args)]
pub(crate) struct InventoryArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A prompt or skill in a client's folder, as scripts see it; this shape is stable.
#[derive(Debug, Serialize)]
struct InventoryRow {
    name: String,
    /// `prompt` or `skill`.
    kind: &'static str,
    /// The clients that read the folder.
    clients: Vec<&'static str>,
    folder: String,
    path: String,
    /// Symlinks in clients' folders that point to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    linked_from: Vec<String>,
    #[serde(flatten)]
    owner: ItemOwner,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    duplicates: Vec<DuplicateRow>,
}

/// Another one with the same content or the same name.
#[derive(Debug, Clone, Serialize)]
struct DuplicateRow {
    path: String,
    same_content: bool,
}

pub(crate) fn run(options: &InventoryArgs, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let places = Places::from_environment();
    let config = config::load(&places)?;
    let progress = ui.progress("reading the folders of clients");
    let found = found_items::find(&places, &config)?;
    drop(progress);
    let (owners, warnings) = KnownOwners::load(&places);
    for warning in warnings {
        ui.say(warning);
    }
    if found.is_cut {
        ui.say("there are more prompts and skills than are listed here");
    }
    let progress = ui.progress("comparing files");
    let rows = rows(&found.items, &owners);
    drop(progress);
    if options.json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&places, &found.items, &rows, ui)?;
    Ok(ExitCode::SUCCESS)
}

fn rows(items: &[FoundItem], owners: &KnownOwners) -> Vec<InventoryRow> {
    let mut room = MOST_BYTES;
    let mut digests: Vec<Option<String>> = Vec::with_capacity(items.len());
    let mut rows: Vec<InventoryRow> = Vec::with_capacity(items.len());
    for item in items {
        let copy = match CopiedFiles::read(&item.path) {
            Ok(copy) if copy.size() <= room => Ok(copy),
            Ok(_) => Err("there is too much to compare".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        room -= copy.as_ref().map_or(0, CopiedFiles::size);
        digests.push(copy.as_ref().ok().map(CopiedFiles::digest));
        let links = item.links.iter();
        rows.push(InventoryRow {
            name: item.name.clone(),
            kind: if item.is_skill { "skill" } else { "prompt" },
            clients: item.clients.iter().map(|client| client.id).collect(),
            folder: item.folder.display().to_string(),
            path: item.path.display().to_string(),
            linked_from: links.map(|link| link.display().to_string()).collect(),
            owner: owners.owner_of(item, copy.as_ref()),
            duplicates: Vec::new(),
        });
    }
    let duplicates = duplicates(&rows, &digests);
    for (row, duplicates) in rows.iter_mut().zip(duplicates) {
        row.duplicates = duplicates;
    }
    rows
}

/// The others with the same content, then those with the same name and other content.
fn duplicates(rows: &[InventoryRow], digests: &[Option<String>]) -> Vec<Vec<DuplicateRow>> {
    let mut by_digest: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut by_name: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        by_name.entry((row.kind, &row.name)).or_default().push(at);
        if let Some(digest) = &digests[at] {
            by_digest.entry(digest).or_default().push(at);
        }
    }
    let found = rows.iter().enumerate().map(|(at, row)| {
        let digest = digests[at].as_deref();
        let same = digest.and_then(|digest| by_digest.get(digest));
        let same = same.into_iter().flatten().map(|other| (*other, true));
        let named = by_name.get(&(row.kind, row.name.as_str()));
        let named = named.into_iter().flatten();
        // What cannot be compared may be the same.
        let is_other = |other: &&usize| digest.is_some() && digests[**other].as_deref() != digest;
        let named = named.filter(is_other).map(|other| (*other, false));
        let others = same.chain(named).filter(|(other, _)| *other != at);
        others
            .take(MOST_DUPLICATES)
            .map(|(other, same_content)| DuplicateRow {
                path: rows[other].path.clone(),
                same_content,
            })
            .collect()
    });
    found.collect()
}

fn print(
    places: &Places,
    items: &[FoundItem],
    rows: &[InventoryRow],
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if rows.is_empty() {
        ui.say("no client keeps prompts or skills in your home or in this project");
        return Ok(());
    }
    let mut groups: Vec<TableGroup> = Vec::new();
    let mut last: Option<&Path> = None;
    for (item, row) in items.iter().zip(rows) {
        if last != Some(&item.folder) {
            last = Some(&item.folder);
            let titles: Vec<&str> = item.clients.iter().map(|client| client.title).collect();
            groups.push(TableGroup {
                heading: places.shown(&item.folder),
                note: titles.join(", "),
                rows: Vec::new(),
            });
        }
        if let Some(group) = groups.last_mut() {
            group.rows.push(cells(places, row));
        }
    }
    ui.grouped_table(&groups)?;
    let count = |is_it: fn(&InventoryRow) -> bool| rows.iter().filter(|row| is_it(row)).count();
    ui.say(format!(
        "{} in {}: {} changed, {} with duplicates",
        counted(rows.len(), "prompt or skill", "prompts and skills"),
        counted(groups.len(), "folder", "folders"),
        count(|row| row.owner.state == "changed"),
        count(|row| !row.duplicates.is_empty()),
    ));
    Ok(())
}

fn cells(places: &Places, row: &InventoryRow) -> Vec<String> {
    let owner = &row.owner;
    let from = match (&owner.source, &owner.reference) {
        (Some(source), Some(reference)) => format!("{source}#{reference}"),
        (Some(source), None) => source.clone(),
        _ => String::new(),
    };
    let by = match owner.by {
        "hand" => "by hand".to_owned(),
        by => by.to_owned(),
    };
    let state = match (owner.by, owner.state) {
        ("hand", "unknown") => "",
        (_, state) => state,
    };
    let mut notes: Vec<String> = owner.note.iter().cloned().collect();
    for duplicate in &row.duplicates {
        let path = places.shown(Path::new(&duplicate.path));
        notes.push(if duplicate.same_content {
            format!("duplicate of {path}")
        } else {
            format!("same name as {path}, other content")
        });
    }
    vec![
        row.name.clone(),
        by,
        from,
        state.to_owned(),
        notes.join("; "),
    ]
}
