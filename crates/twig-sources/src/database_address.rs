//! Where a database with workspaces is.

use std::time::Duration;

/// A database with workspaces, and how it is read.
#[derive(Debug, Clone)]
pub struct DatabaseAddress {
    /// The URL, such as `postgres://twig@db.example/twig`.
    pub url: String,
    /// Where to listen for writes of others, if `url` is the address of a pooler.
    pub listen_url: Option<String>,
    /// How old an answer may be.
    pub freshness: Duration,
}
