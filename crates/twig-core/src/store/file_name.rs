//! File names of an exported project: readable, and safe on every file system.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::given::is_text_mime;
use super::name::ItemKind;
use super::version::{Item, hex};
use crate::document::{ending_of, mime_of_name};

/// The longest stem, in bytes; longer ones are cut.
const LONGEST: usize = 100;

/// Names of devices on some systems, with any extension.
const DEVICES: [&str; 4] = ["aux", "con", "nul", "prn"];

/// The path of each item's file, in the order of the items.
///
/// A file is named like its item if that is safe. Otherwise, and if two names would collide on a
/// case-insensitive file system, `~` and a digest of the name are added: no name has a `~`.
pub(super) fn file_names(items: &[Item]) -> Vec<String> {
    let shapes: Vec<Shape<'_>> = items.iter().map(Shape::of).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for shape in shapes.iter().filter(|shape| !shape.is_odd()) {
        *counts
            .entry(shape.plain().to_ascii_lowercase())
            .or_default() += 1;
    }
    let is_alone = |shape: &Shape<'_>| {
        !shape.is_odd() && counts.get(&shape.plain().to_ascii_lowercase()) == Some(&1)
    };
    let names = |digits: usize| -> Vec<String> {
        let names = shapes.iter().map(|shape| {
            if is_alone(shape) {
                shape.plain()
            } else {
                shape.marked(digits)
            }
        });
        names.collect()
    };
    let is_unique = |names: &[String]| {
        let mut seen = BTreeSet::new();
        names
            .iter()
            .all(|name| seen.insert(name.to_ascii_lowercase()))
    };
    // Eight digits are enough unless the collision was made on purpose.
    let short = names(8);
    if is_unique(&short) { short } else { names(64) }
}

/// The parts of a file's name.
struct Shape<'i> {
    kind: ItemKind,
    name: &'i str,
    stem: &'i str,
    ending: &'i str,
}

impl<'i> Shape<'i> {
    fn of(item: &'i Item) -> Self {
        let name = item.name.as_str();
        let mime = item.head.mime.as_deref().unwrap_or_default();
        let (ending, fits) = match item.kind {
            ItemKind::Prompt => ("md", mime_of_name(name) == Some("text/markdown")),
            ItemKind::Resource => {
                let other = if is_text_mime(mime) { "txt" } else { "bin" };
                let known = mime_of_name(name);
                let is_same = |known: &str| ending_of(known) == ending_of(mime);
                (ending_of(mime).unwrap_or(other), known.is_some_and(is_same))
            }
        };
        let own = name.rsplit_once('.').filter(|_| fits);
        let (stem, ending) = own.unwrap_or((name, ending));
        Self {
            kind: item.kind,
            name,
            stem,
            ending,
        }
    }

    /// True if some system or tool would misread or refuse the name.
    fn is_odd(&self) -> bool {
        self.stem.is_empty()
            || self.stem.starts_with(['.', '-'])
            || self.stem.len() > LONGEST
            || is_device(self.stem)
    }

    fn plain(&self) -> String {
        format!("{}s/{}.{}", self.kind.as_str(), self.stem, self.ending)
    }

    fn marked(&self, digits: usize) -> String {
        let stem = self.stem.trim_start_matches(['.', '-']);
        let stem = &stem[..stem.len().min(LONGEST)];
        let before = if stem.is_empty() || is_device(stem) {
            "_"
        } else {
            ""
        };
        let digest = hex(&Sha256::digest(self.name).into());
        let (folder, digits) = (self.kind.as_str(), &digest[..digits]);
        format!("{folder}s/{before}{stem}~{digits}.{}", self.ending)
    }
}

fn is_device(stem: &str) -> bool {
    let first = stem.split('.').next().unwrap_or_default();
    let first = first.to_ascii_lowercase();
    let is_port = |rest: &str| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit();
    DEVICES.contains(&&*first)
        || ["com", "lpt"]
            .iter()
            .any(|port| first.strip_prefix(port).is_some_and(is_port))
}
