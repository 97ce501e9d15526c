//! File names of prompts: the prompt's own name if it is unique, else with its library's name
//! before it.

use std::collections::BTreeMap;

use super::speech;
use crate::clients::ExportFormat;
use twig_core::World;
use twig_core::catalog::PromptRef;
use twig_core::slug::{LIMIT, Unique, file_slug, native_slug};

/// The names of the files of everything that a catalog serves.
#[derive(Debug, Clone, Default)]
pub struct FileNames {
    names: BTreeMap<Box<str>, FileName>,
}

/// The file name of one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileName {
    pub(crate) name: String,
    pub(crate) notes: Option<String>,
}

impl FileNames {
    /// Names for the prompts that are exported together. They depend on no other prompt, so that two
    /// machines that export the same prompts write the same files. Earlier exports among them do not
    /// count, since they are never exported.
    pub fn new<'p>(
        world: World<'_>,
        client: ExportFormat,
        prompts: impl IntoIterator<Item = PromptRef<'p>>,
    ) -> Self {
        let mut wishes: BTreeMap<String, Vec<PromptRef<'_>>> = BTreeMap::new();
        for found in prompts {
            let wish = file_name(client, found.prompt.name.as_str());
            wishes.entry(wish).or_default().push(found);
        }
        // Files are only read if several prompts want the same name.
        for takers in wishes.values_mut().filter(|takers| takers.len() > 1) {
            takers.retain(|found| !speech::is_export(world, *found));
        }
        let mut unique = Unique::new();
        let mut names = BTreeMap::new();
        let held = wishes.iter().filter(|(_, takers)| holder(takers).is_some());
        held.for_each(|(wish, _)| unique.reserve(wish));
        for (wish, takers) in wishes {
            let holder = holder(&takers);
            for (at, found) in takers.into_iter().enumerate() {
                let name = if holder == Some(at) {
                    let is_own = wish == found.prompt.name.as_str();
                    let notes = (!is_own).then(|| format!("is called `{wish}`"));
                    let name = wish.clone();
                    FileName { name, notes }
                } else {
                    let both = format!("{}-{}", found.library.name, found.prompt.name);
                    let name = unique.name(&file_name(client, &both), &found.prompt.full_name);
                    let notes = Some(format!(
                        "is called `{name}`: another prompt is `{wish}`, too"
                    ));
                    FileName { name, notes }
                };
                names.insert(found.prompt.full_name.clone(), name);
            }
        }
        Self { names }
    }

    /// The name of a prompt's file; `None` for an earlier export of a prompt that wants the same name.
    pub fn name_of(&self, found: PromptRef<'_>) -> Option<&str> {
        let known = self.names.get(&found.prompt.full_name)?;
        Some(&known.name)
    }

    /// The full name of the prompt whose file has this name.
    pub fn prompt_of(&self, name: &str) -> Option<&str> {
        let mut names = self.names.iter();
        let found = names.find(|(_, file)| file.name == name);
        found.map(|(prompt, _)| &**prompt)
    }

    /// The file name of a prompt.
    pub(crate) fn of(&self, found: PromptRef<'_>) -> FileName {
        let known = self.names.get(&found.prompt.full_name);
        known.cloned().unwrap_or_else(|| FileName {
            name: file_slug(&found.prompt.full_name),
            notes: None,
        })
    }
}

/// Which of the prompts that want a name gets it: the only one, or the only one of a project. Those
/// have bare names, and the name of a project's library is that of its checkout, which differs
/// between machines.
fn holder(takers: &[PromptRef<'_>]) -> Option<usize> {
    let is_project = |found: &PromptRef<'_>| found.library.is_project();
    let mut projects = (0..takers.len()).filter(|at| is_project(&takers[*at]));
    match (takers.len(), projects.next(), projects.next()) {
        (1, ..) => Some(0),
        (_, Some(only), None) => Some(only),
        _ => None,
    }
}

/// A file name for a client. Claude Code takes letters of any script; for the others it is in ASCII.
/// Skills do not allow `_`.
fn file_name(client: ExportFormat, name: &str) -> String {
    let mut name = match client {
        ExportFormat::Claude => native_slug(name),
        _ => file_slug(name),
    };
    if client == ExportFormat::Skills {
        let parts = name.split(['_', '-']).filter(|part| !part.is_empty());
        let joined = parts.collect::<Vec<_>>().join("-");
        name = if joined.is_empty() {
            "prompt".to_owned()
        } else {
            joined
        };
    }
    if is_reserved(&name) {
        name.push_str("-prompt");
    }
    debug_assert!(name.len() <= LIMIT);
    name
}

/// On Windows these names are devices, whatever their extension.
fn is_reserved(name: &str) -> bool {
    let numbered = |device: &str| {
        name.strip_prefix(device)
            .is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']))
    };
    matches!(name, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}
