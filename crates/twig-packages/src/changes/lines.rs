//! Changes as lines for people.

use std::collections::{BTreeMap, BTreeSet};

use twig_core::hidden::{self, TextPlace};

use super::{PackageChanges, PackageFileChange, PackageItem, PackageItemKind};
use crate::capabilities::{
    CapabilityKind, CapabilityList, CapabilityPlace, PackageCapabilities, is_notable,
};

/// Names on one line.
const SHOWN: usize = 12;

/// Lines of one file that are named.
const SHOWN_LINES: usize = 3;

pub(super) fn lines(changes: &PackageChanges) -> Vec<String> {
    let names = ItemNames::of(changes);
    let mut lines = Vec::new();
    let mut push = |sign: char, item: &PackageItem, what: String| {
        lines.push(format!("{sign} {:<5}  {what}", item.kind.as_str()));
    };
    for item in &changes.added {
        push('+', item, names.name(item));
    }
    for item in &changes.removed {
        push('-', item, names.name(item));
    }
    for rename in &changes.renamed {
        let (mut from, mut to) = (names.name(&rename.from), names.name(&rename.to));
        if from == to {
            from = visible(&rename.from.path);
            to = visible(&rename.to.path);
        }
        let what = format!("{from} → {to}{}", file_count(&rename.to, &rename.files));
        push('>', &rename.to, what);
    }
    for change in &changes.changed {
        let mut what = names.name(&change.item);
        if change.item.kind == PackageItemKind::Skill {
            what += &file_count(&change.item, &change.files);
        }
        push('~', &change.item, what);
    }
    let lists = changes.new_capabilities.lists();
    lines.extend(lists.map(|(kind, list)| capability_line(new_intro(kind), kind, list)));
    lines
}

/// What the files of a package can do, one kind a line.
pub(crate) fn capability_lines(capabilities: &PackageCapabilities) -> Vec<String> {
    let lists = capabilities.lists();
    let lines = lists.map(|(kind, list)| capability_line(intro(kind), kind, list));
    lines.collect()
}

/// ` (2 files)` for a skill; a file that was renamed and changed says so.
fn file_count(item: &PackageItem, files: &[PackageFileChange]) -> String {
    match (item.kind, files.len()) {
        (_, 0) => String::new(),
        (PackageItemKind::File, _) => " (changed)".to_owned(),
        (PackageItemKind::Skill, 1) => " (1 file)".to_owned(),
        (PackageItemKind::Skill, count) => format!(" ({count} files)"),
    }
}

/// The names of skills that say which one is meant.
struct ItemNames<'c> {
    ambiguous: BTreeSet<&'c str>,
}

impl<'c> ItemNames<'c> {
    fn of(changes: &'c PackageChanges) -> Self {
        let renamed = changes.renamed.iter();
        let items = changes.added.iter().chain(&changes.removed);
        let items = items.chain(renamed.flat_map(|it| [&it.from, &it.to]));
        let items = items.chain(changes.changed.iter().map(|it| &it.item));
        let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for item in items.filter(|it| it.kind == PackageItemKind::Skill) {
            if *paths.entry(item.name()).or_insert(&item.path) != item.path {
                ambiguous.insert(item.name());
            }
        }
        Self { ambiguous }
    }

    /// The name of a skill, unless another one has it, too; the path of a file.
    fn name(&self, item: &PackageItem) -> String {
        let is_clear = item.kind == PackageItemKind::Skill && !self.ambiguous.contains(item.name());
        let has_path = !is_clear && !item.path.is_empty();
        visible(if has_path { &item.path } else { item.name() })
    }
}

fn new_intro(kind: CapabilityKind) -> &'static str {
    match kind {
        CapabilityKind::Programs => "can now run",
        CapabilityKind::Hosts => "can now reach",
        CapabilityKind::Tools => "can now use without asking:",
        CapabilityKind::Scripts => "new scripts:",
        CapabilityKind::HiddenCharacters => "new hidden characters:",
        CapabilityKind::BinaryFiles => "new files that are not text:",
        CapabilityKind::OtherFiles => "new files that are not Markdown:",
        CapabilityKind::UnreadFiles => "could not be read:",
    }
}

fn intro(kind: CapabilityKind) -> &'static str {
    match kind {
        CapabilityKind::Programs => "can run",
        CapabilityKind::Hosts => "can reach",
        CapabilityKind::Tools => "can use without asking:",
        CapabilityKind::Scripts => "has scripts:",
        CapabilityKind::HiddenCharacters => "has hidden characters:",
        CapabilityKind::BinaryFiles => "has files that are not text:",
        CapabilityKind::OtherFiles => "has files that are not Markdown:",
        CapabilityKind::UnreadFiles => "could not be read:",
    }
}

fn capability_line(intro: &str, kind: CapabilityKind, list: &CapabilityList) -> String {
    let mut names: Vec<(&str, &CapabilityPlace)> = list.iter().collect();
    names.sort_by_key(|(name, _)| !is_notable(name));
    let more = names.len().saturating_sub(SHOWN) + list.unlisted();
    names.truncate(SHOWN);
    let line = format!("{intro} {}", listed(kind, &names));
    if more == 0 {
        return line;
    }
    format!("{line}, and {more} more")
}

/// Names with their places; those of one file share it.
fn listed(kind: CapabilityKind, names: &[(&str, &CapabilityPlace)]) -> String {
    let mut groups: Vec<Vec<(&str, &CapabilityPlace)>> = Vec::new();
    for (name, place) in names {
        let is_there = |group: &&mut Vec<(&str, &CapabilityPlace)>| {
            let first = group.first();
            first.is_some_and(|(_, first)| first.path == place.path)
        };
        match groups.iter_mut().find(is_there) {
            Some(group) => group.push((name, place)),
            None => groups.push(vec![(name, place)]),
        }
    }
    let parts = groups.iter().map(|group| {
        let names: Vec<String> = group.iter().map(|(name, _)| shown(kind, name)).collect();
        let places = group.iter().map(|(_, place)| *place).collect::<Vec<_>>();
        names.join(", ") + &shown_places(kind, &places)
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn shown(kind: CapabilityKind, name: &str) -> String {
    match kind {
        CapabilityKind::HiddenCharacters => name.to_owned(),
        _ => format!("`{}`", visible(name)),
    }
}

/// ` (path:3, 7)`: places in one file, or what the file contains.
fn shown_places(kind: CapabilityKind, places: &[&CapabilityPlace]) -> String {
    let Some(first) = places.first() else {
        return String::new();
    };
    if kind.is_files() {
        let detail = first.detail.map(|detail| format!(" ({detail})"));
        return detail.unwrap_or_default();
    }
    let lines: BTreeSet<u32> = places.iter().filter_map(|place| place.line).collect();
    let shown: Vec<String> = lines.iter().take(SHOWN_LINES).map(u32::to_string).collect();
    let sign = if shown.is_empty() { "" } else { ":" };
    let more = if lines.len() > SHOWN_LINES {
        ", …"
    } else {
        ""
    };
    format!(
        " ({}{sign}{}{more})",
        visible(&first.path),
        shown.join(", ")
    )
}

/// A name in which nothing is hidden: if something is, every unusual character is its code.
fn visible(name: &str) -> String {
    if hidden::find(name, TextPlace::Label).is_none() && !name.contains('\n') {
        return name.to_owned();
    }
    let code = |c: char| {
        if matches!(c, ' '..='~') {
            c.to_string()
        } else {
            c.escape_unicode().to_string()
        }
    };
    name.chars().map(code).collect()
}
