//! The protocol, driven in memory: messages in, messages out.

// Helpers outside of `#[test]` functions fail by unwrapping, and take what `json!` gives them.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

mod any_bytes;
mod command_clients;
mod completion;
mod computed;
mod elicitation;
mod envelope;
mod eras;
mod functions;
mod get;
mod hostile;
mod http;
mod lifecycle;
mod list;
mod logging;
mod resources;
mod skills;
mod subscriptions;
mod support;
mod tools;
