//! Selects prompts by name, or by a pattern with `*`.

use twig_clients::export::marked_name;
use twig_core::catalog::is_match;
use twig_core::{Catalog, PromptRef};

use crate::command_error::CommandError;
use crate::commands::opened_catalog::OpenedCatalog;

/// The prompts to write.
pub(super) struct Picked<'c> {
    pub(super) prompts: Vec<PromptRef<'c>>,
    /// The requested patterns; empty means all prompts.
    wanted: Vec<String>,
}

impl<'c> Picked<'c> {
    pub(super) fn of(
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
        let is_wanted = |found: &PromptRef<'_>| {
            let name = &found.prompt.full_name;
            wanted.is_empty() || wanted.iter().any(|one| is_match(one, name))
        };
        let prompts = catalog.prompts(0).filter(is_wanted).collect();
        Ok(Self { prompts, wanted })
    }

    /// Whether a prompt with that name, as markers spell it, would be written if it existed.
    pub(super) fn is_meant(&self, name: &str) -> bool {
        let fits = |one: &String| is_match(&marked_name(one), name);
        self.wanted.is_empty() || self.wanted.iter().any(fits)
    }
}
