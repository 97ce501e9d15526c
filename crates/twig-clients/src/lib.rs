//! What Twig knows of other programs.
//!
//! [`clients`] is the table of AI clients. [`format`](mod@format) reads their prompts in place,
//! [`export`] writes prompts as their files, and [`command_guard`] keeps them from running or replacing
//! what a prompt says. [`import`] reads the prompts of other tools. Nothing here touches files: text
//! comes in, text goes out.

pub mod clients;
pub mod command_guard;
pub mod export;
pub mod format;
pub mod import;
