//! Test tools: a hermetic environment, fixtures as text, an MCP client over a child process, and git
//! repositories with servers for them.
//!
//! What fails here fails a test, so these functions panic where others would return an error.

#![allow(clippy::missing_panics_doc, clippy::expect_used)]

// Drives the binary as an MCP client over its pipes.
mod client;
// Compares the cost of n and 4 n, without a bound on the clock.
mod cost;
// A network of two ends that can lose every packet.
mod cut_link;
// A hermetic home for one test.
mod env;
// Reads and writes a tree of files as one text.
mod fixture;
// Serves repositories with `git daemon`.
mod git_daemon;
// Makes repositories, with names in them that git itself refuses.
mod git_repo;
// Serves repositories and files over HTTP, with faults.
mod git_server;
// Reads one HTTP request.
mod http_request;
// Accepts connections on a free loopback port.
mod loopback;
// Files of libraries in memory: the one fake of the ports that read them.
mod memory_files;
// What may be around a PostgreSQL server: a pooler, TLS, a full disk.
mod pg_extras;
// A PostgreSQL server of its own for a test.
mod pg_server;
// Checks a value against a JSON Schema.
mod schema;
// Serves repositories over SSH.
mod ssh_server;

pub use client::{Ended, MODERN, TestClient};
pub use cost::{assert_linear, cpu_time, figure, rounds};
pub use cut_link::CutLink;
pub use env::{CommandOutput, TestEnv};
pub use fixture::{fixture_files, write_fixture};
pub use git_daemon::GitDaemon;
pub use git_repo::{GitRepo, RawEntry, hermetic_git, search_path};
pub use git_server::GitServer;
pub use memory_files::MemoryFiles;
pub use pg_extras::SmallDisk;
pub use pg_server::PgServer;
pub use schema::schema_errors;
pub use ssh_server::SshServer;
