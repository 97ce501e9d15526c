//! The Model Context Protocol as a pure machine: bytes in, bytes out, both eras.
//!
//! A [`Connection`] takes one message and a [`twig_core::World`] (the catalog of the moment and the
//! ports that rendering needs) and writes its answer into an [`Outbox`]. There is no IO here, no thread, no
//! clock and no environment: stdio and HTTP are loops around [`Connection::receive`]. What takes
//! longer (templates that could misbehave, programs, writes, searches) leaves as a [`Job`] and returns
//! through [`Connection::finish`].
//!
//! *Modern* is MCP 2026-07-28, where every request says its version; *legacy* is what came before,
//! with `initialize`. A connection may speak both, request by request.

mod arguments;
mod call;
mod client;
mod command_clients;
mod completion;
mod connection;
mod cursor;
mod dispatch;
mod elicitation;
mod envelope;
mod era;
mod error;
mod hearing;
pub mod http;
mod id;
mod in_flight;
mod json;
mod lifecycle;
mod lists;
mod logging;
mod long_documents;
mod meta;
mod outbox;
mod pages;
mod params;
mod prompts;
mod resources;
mod schema;
mod server;
mod skills;
mod subscriptions;
mod tools;

pub use connection::Connection;
pub use era::SUPPORTED_VERSIONS;
pub use in_flight::{Job, Ticket, Work, WorkKind, WorkOutcome};
pub use outbox::{Outbox, SharedPart};
pub use prompts::content;
pub use server::{Server, ServerIdentity, Tools};
