//! Tools: what is listed, and what comes of calling it.

pub(crate) mod agent;
mod announcements;
mod arguments;
mod commands;
mod expand;
mod list;
mod not_found;
mod reading;
mod search;
mod write;
