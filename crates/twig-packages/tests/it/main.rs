//! Packages as values: locks, trees, changes, signatures and what other tools write.
#![allow(
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::unwrap_used,
    reason = "helpers of tests may fail like tests do"
)]

mod capabilities;
mod changes;
mod lock;
mod other_locks;
mod plugin_manifests;
mod published;
mod signature;
mod skills_index;
