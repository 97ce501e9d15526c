//! What changes between two versions of a package, for people and for scripts.

use serde::Serialize;
use twig_packages::{LockedLibrary, PackageCapabilities, PackageChanges, PackageFile};
use twig_sources::PackageFetcher;

use crate::command_error::CommandError;
use crate::ui::Ui;

/// The most lines of a plan that are printed.
const LINES: usize = 60;

/// Changes as scripts see them; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct ChangesReport {
    added: Vec<ChangedItemRow>,
    removed: Vec<ChangedItemRow>,
    renamed: Vec<RenameRow>,
    changed: Vec<ChangeRow>,
    capabilities: Vec<CapabilityRow>,
}

/// A skill or file.
#[derive(Debug, Serialize)]
struct ChangedItemRow {
    kind: &'static str,
    path: String,
}

/// A skill or file with another name.
#[derive(Debug, Serialize)]
struct RenameRow {
    kind: &'static str,
    from: String,
    to: String,
}

/// A skill or file with other content.
#[derive(Debug, Serialize)]
struct ChangeRow {
    kind: &'static str,
    path: String,
    files: Vec<String>,
}

/// Something that the new version can do, and the old one could not.
#[derive(Debug, Serialize)]
pub(super) struct CapabilityRow {
    kind: &'static str,
    name: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl ChangesReport {
    pub(super) fn of(changes: &PackageChanges) -> Self {
        let item = |item: &twig_packages::PackageItem| ChangedItemRow {
            kind: item.kind.as_str(),
            path: item.path.clone(),
        };
        Self {
            added: changes.added.iter().map(item).collect(),
            removed: changes.removed.iter().map(item).collect(),
            renamed: changes
                .renamed
                .iter()
                .map(|it| RenameRow {
                    kind: it.to.kind.as_str(),
                    from: it.from.path.clone(),
                    to: it.to.path.clone(),
                })
                .collect(),
            changed: changes
                .changed
                .iter()
                .map(|it| ChangeRow {
                    kind: it.item.kind.as_str(),
                    path: it.item.path.clone(),
                    files: it.files.iter().map(|file| file.path.clone()).collect(),
                })
                .collect(),
            capabilities: capability_rows(&changes.new_capabilities),
        }
    }
}

/// What files can do, as scripts see it.
pub(super) fn capability_rows(capabilities: &PackageCapabilities) -> Vec<CapabilityRow> {
    let lists = capabilities.lists();
    let rows = lists.flat_map(|(kind, list)| {
        list.iter().map(move |(name, place)| CapabilityRow {
            kind: kind.as_str(),
            name: name.to_owned(),
            path: place.path.clone(),
            line: place.line,
        })
    });
    rows.collect()
}

/// What changes from one version to another; both are on this machine.
pub(super) fn changes(
    fetcher: &PackageFetcher,
    old: &LockedLibrary,
    new: &LockedLibrary,
) -> Result<PackageChanges, CommandError> {
    let store = &fetcher.store;
    // Without the old files, everything is new.
    let old_files = store.files_of(old.tree).unwrap_or_default();
    let new_files = store.files_of(new.tree)?;
    let (old_root, new_root) = (store.root_of(old.tree), store.root_of(new.tree));
    let read_old = |file: &PackageFile| std::fs::read(old_root.join(&file.path)).ok();
    let read_new = |file: &PackageFile| std::fs::read(new_root.join(&file.path)).ok();
    Ok(PackageChanges::between(
        &old_files, &new_files, &read_old, &read_new,
    ))
}

pub(super) fn print_changes(changes: &PackageChanges, ui: &mut Ui) -> Result<(), CommandError> {
    let lines = changes.to_lines();
    if lines.is_empty() {
        ui.line("  the same files")?;
    }
    // What it can do now comes last and is never cut.
    let (items, abilities): (Vec<&String>, Vec<&String>) = lines
        .iter()
        .partition(|line| line.starts_with(['+', '-', '>', '~']));
    for line in items.iter().take(LINES) {
        ui.line(format!("  {line}"))?;
    }
    if items.len() > LINES {
        ui.line(format!("  … and {} more", items.len() - LINES))?;
    }
    for line in abilities {
        ui.line(format!("  {line}"))?;
    }
    Ok(())
}
