//! Test tools: a hermetic environment, fixtures as text, and an MCP client over a child process.
//!
//! What fails here fails a test, so these functions panic where others would return an error.

#![allow(clippy::missing_panics_doc, clippy::expect_used)]

// Drives the binary as an MCP client over its pipes.
mod client;
// Compares the cost of n and 4 n, without a bound on the clock.
mod cost;
// A hermetic home for one test.
mod env;
// Writes a tree of files from one text.
mod fixture;
// Files of libraries in memory: the one fake of the ports that read them.
mod memory_files;

pub use client::{Ended, MODERN, TestClient};
pub use cost::{assert_linear, cpu_time, figure};
pub use env::{CommandOutput, TestEnv};
pub use fixture::write_fixture;
pub use memory_files::MemoryFiles;
