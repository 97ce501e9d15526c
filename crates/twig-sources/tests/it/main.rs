//! What a source promises, tried on real folders.

#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "helpers of tests are tests too"
)]

mod bodies;
mod checkouts;
mod clients;
mod contract;
mod definitions;
mod documents;
mod editors;
mod escapes;
mod imports;
mod index_fetch;
mod log;
mod mutate;
mod places;
mod project_folder;
mod search;
mod speed;
mod store;
mod support;
mod trust;
mod watching;
