//! A package as scripts see it, the part that the rows of all commands share.

use serde::Serialize;
use twig_packages::{LockedLibrary, PackageSource};

/// A package and its version; this shape is stable.
#[derive(Debug, Serialize)]
pub(super) struct PackageRow {
    pub(super) name: String,
    pub(super) source: String,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
}

impl PackageRow {
    pub(super) fn of(locked: &LockedLibrary) -> Self {
        Self {
            reference: locked.reference.clone(),
            commit: locked.commit.clone(),
            ..Self::unlocked(locked.name.as_str(), &locked.source)
        }
    }

    /// A package that no lock has.
    pub(super) fn unlocked(name: &str, source: &PackageSource) -> Self {
        Self {
            name: name.to_owned(),
            source: source.to_string(),
            reference: None,
            commit: None,
        }
    }
}
