//! Selects prompts by name, or by a pattern with `*`.

use std::collections::BTreeMap;

use twig_clients::export::marked_name;
use twig_core::catalog::is_match;
use twig_core::{Catalog, PromptRef};

use super::repository::Repository;
use crate::command_error::CommandError;
use crate::commands::opened_catalog::OpenedCatalog;
use crate::places::Places;

/// The prompts to write.
pub(super) struct Picked<'c> {
    pub(super) prompts: Vec<PromptRef<'c>>,
    /// The requested patterns; empty means all prompts.
    wanted: Vec<String>,
    /// Whether a pattern may also name a library.
    by_library: bool,
}

impl<'c> Picked<'c> {
    /// The prompts with these names; all if there are none.
    pub(super) fn by_name(
        opened: &OpenedCatalog,
        catalog: &'c Catalog,
        names: &[String],
    ) -> Result<Self, CommandError> {
        let mut wanted = Vec::new();
        for name in names {
            if !name.contains('*') {
                let found = opened.find(catalog, name)?;
                if let Some(why) = &found.prompt.unavailable {
                    return Err(CommandError::fixable(why.to_string()));
                }
                wanted.push(found.prompt.full_name.to_string());
                continue;
            }
            let fits = |found: PromptRef<'_>| is_match(name, &found.prompt.full_name);
            if !catalog.prompts(0).any(fits) {
                let message = format!("nothing matches `{name}`");
                let hint = "run `twig list` to see every prompt";
                return Err(CommandError::fixable(message).hint(hint));
            }
            wanted.push(name.clone());
        }
        Ok(Self::matching(catalog, wanted, false))
    }

    /// The prompts that a repository's configuration names: by their own names if they are in its
    /// `.twig` folder, else with their library, or a whole library.
    pub(super) fn by_settings(
        catalog: &'c Catalog,
        repository: &Repository,
        places: &Places,
    ) -> Result<Self, CommandError> {
        let wanted = repository.only().iter().map(ToString::to_string);
        let picked = Self::matching(catalog, wanted.collect(), true);
        let is_used = |pattern: &&String| {
            let mut prompts = picked.prompts.iter();
            prompts.any(|found| picked.fits(pattern, &found.prompt.full_name))
        };
        match picked.wanted.iter().find(|pattern| !is_used(pattern)) {
            Some(pattern) => {
                let config = repository.config(places);
                let message = format!("{config}: `only` of [export] matches nothing: `{pattern}`");
                Err(CommandError::fixable(message))
            }
            None => Ok(picked),
        }
    }

    fn matching(catalog: &'c Catalog, wanted: Vec<String>, by_library: bool) -> Self {
        let mut picked = Self {
            prompts: Vec::new(),
            wanted,
            by_library,
        };
        let is_wanted = |found: &PromptRef<'_>| {
            let name = &found.prompt.full_name;
            let mut wanted = picked.wanted.iter();
            picked.wanted.is_empty() || wanted.any(|one| picked.fits(one, name))
        };
        let prompts = catalog.prompts(0).filter(is_wanted).collect();
        picked.prompts = prompts;
        picked
    }

    fn fits(&self, pattern: &str, name: &str) -> bool {
        let library = name.split_once(':').filter(|_| self.by_library);
        is_match(pattern, name) || library.is_some_and(|(library, _)| is_match(pattern, library))
    }

    /// Whether a prompt was asked for by its name, without a pattern.
    pub(super) fn is_named(&self, name: &str) -> bool {
        !self.by_library && self.wanted.iter().any(|one| one == name)
    }

    /// Whether a prompt with that name, as markers spell it, would be written if it existed.
    pub(super) fn is_meant(&self, name: &str) -> bool {
        // The settings of a repository are about all files of its folders: one whose prompt is no
        // longer named is outdated.
        let mut wanted = self.wanted.iter();
        self.by_library
            || self.wanted.is_empty()
            || wanted.any(|one| self.fits(&marked_name(one), name))
    }
}

/// The names of all prompts and the names that they had before, as markers spell them, each with the
/// current name.
pub(super) fn current_names(catalog: &Catalog) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for library in catalog.libraries() {
        let prefix = library.prompts.first().map(|prompt| prompt.prefix());
        for (old, name) in &library.old_names {
            let [old, name] = [old, name.as_str()]
                .map(|own| marked_name(&format!("{}{own}", prefix.unwrap_or_default())));
            names.insert(old, name);
        }
    }
    for found in catalog.prompts(0) {
        let name = marked_name(&found.prompt.full_name);
        if let Some(short) = found.prompt.short_full_name() {
            names.insert(marked_name(&short), name.clone());
        }
    }
    for found in catalog.prompts(0) {
        let name = marked_name(&found.prompt.full_name);
        names.insert(name.clone(), name);
    }
    names
}
