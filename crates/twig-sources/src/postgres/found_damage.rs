//! The damage that `twig store verify` finds in a database: all of it, not only the first.

use twig_core::store::{StoreError, StoreName};

use super::pg_fault::PgFault;

/// Damage that is listed; the rest is counted.
const LISTED: usize = 20;

/// The damage that a check of all rows has found.
#[derive(Debug, Default)]
pub(super) struct FoundDamage {
    listed: Vec<String>,
    more: usize,
}

impl FoundDamage {
    /// Keeps damage, and goes on; other faults end the check.
    pub(super) fn note(&mut self, checked: Result<(), PgFault>) -> Result<(), PgFault> {
        match checked {
            Err(PgFault::Damaged(what)) if self.listed.len() < LISTED => self.listed.push(what),
            Err(PgFault::Damaged(_)) => self.more += 1,
            checked => return checked,
        }
        Ok(())
    }

    /// An error with everything that was found, if anything was.
    pub(super) fn end(mut self, workspace: &StoreName) -> Result<(), StoreError> {
        if self.listed.is_empty() {
            return Ok(());
        }
        if self.more > 0 {
            self.listed.push(format!("{} more", self.more));
        }
        Err(StoreError::DamagedRows {
            workspace: workspace.clone(),
            what: self.listed.join("; "),
            is_all: true,
        })
    }
}
