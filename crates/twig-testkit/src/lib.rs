//! Test tools: a hermetic environment, fixtures as text, and an MCP client over a child process.
//!
//! What fails here fails a test, so these functions panic where others would return an error.

#![allow(clippy::missing_panics_doc, clippy::expect_used)]

mod client;
mod cost;
mod env;
mod fixture;

pub use client::{Ended, MODERN, TestClient};
pub use cost::{assert_linear, cpu_time, figure};
pub use env::{CommandOutput, TestEnv};
pub use fixture::write_fixture;
