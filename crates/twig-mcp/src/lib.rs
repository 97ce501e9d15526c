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

// Argument values, read in one pass and converted to text.
mod arguments;
// What a handler gets and gives back.
mod call;
// The name that a client gives itself, for the author of a write.
mod client;
// Recognizes requests of clients that treat a prompt as a command template.
mod command_clients;
// `completion/complete`.
mod completion;
// One client's state: messages in, replies and notifications out.
mod connection;
// The kinds of content of each protocol version, and texts for the others.
mod content_kinds;
// Page cursors, each bound to one snapshot.
mod cursor;
// From a method's name to its handler, if its era allows it.
mod dispatch;
// Asks the user for missing arguments.
mod elicitation;
// JSON-RPC: parses and classifies one message.
mod envelope;
// The two eras, their versions and differences.
mod era;
// Every refusal, with its code and sentence.
mod error;
// From headers and a body to a status and a body.
pub mod http;
// Request ids, echoed byte for byte.
mod id;
// Jobs of a connection, and how each outcome becomes an answer.
mod in_flight;
// Writes JSON directly into a buffer.
mod json;
// `initialize` and `server/discover`.
mod lifecycle;
// The methods that list something, one page at a time.
mod lists;
// `logging/setLevel`.
mod logging;
// Long documents as JSON, encoded once and shared by concurrent replies.
mod long_documents;
// `params._meta`, which also decides the era of a request.
mod meta;
// Tells the program which requests were answered.
mod observer;
// The port that replies are written to.
mod outbox;
// List pages, written once for each snapshot and era.
mod pages;
// Typed params.
mod params;
// `prompts/get`, and messages as JSON.
mod prompts;
// `resources/read`, `resources/subscribe` and `resources/unsubscribe`.
mod resources;
// The folders that a legacy client works in.
mod roots;
// Prompts, arguments and documents as JSON, and the end of every result.
mod schema;
// What all connections share: identity, limits, list pages.
mod server;
// The server card, which clients read before they connect.
mod server_card;
// `skills/get` and `resources/directory/read`.
mod skills;
// `subscriptions/listen`, and notifications to all listeners of a connection.
mod subscriptions;
// `tools/list` and `tools/call`, with a table of all tools.
mod tools;

pub use call::CLIENT_STATE;
pub use connection::Connection;
pub use dispatch::METHODS;
pub use era::SUPPORTED_VERSIONS;
pub use in_flight::{FoundVersions, Job, Ticket, VersionsRequest, Work, WorkKind, WorkOutcome};
pub use observer::{ObservedOutcome, ObservedRequest, Observer};
pub use outbox::{Outbox, SharedPart};
pub use prompts::content;
pub use server::{Server, ServerIdentity, Tools};
pub use server_card::{SERVER_CARD_TYPE, ServerCard};
