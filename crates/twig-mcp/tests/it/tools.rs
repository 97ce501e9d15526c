//! Tools: what is listed, and what comes of calling it.

mod agent;
mod arguments;
mod list;
mod write;
