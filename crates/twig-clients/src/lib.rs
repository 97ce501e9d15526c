//! What Twig knows of other programs.
//!
//! [`clients`] is the table of AI clients. [`format`](mod@format) reads their prompts in place,
//! [`export`] writes prompts as their files, and [`command_guard`] keeps them from running or replacing
//! what a prompt says; [`list_habits`] are clients that need a list of their own. [`import`] reads the prompts of other tools. Nothing here touches files: text
//! comes in, text goes out.

// The one table of AI clients: names, folders, file formats, and where each lists its servers.
pub mod clients;
// Makes prompts harmless for clients that treat them as command templates (opencode and its forks).
pub mod command_guard;
// Writes prompts as files of other clients.
pub mod export;
// Reads files of other clients in place, one prompt each.
pub mod format;
// Reads prompts of other tools and makes drafts that a library or project can hold.
pub mod import;
// Clients that replace letters of names or drop words, and need another list of prompts.
pub mod list_habits;
