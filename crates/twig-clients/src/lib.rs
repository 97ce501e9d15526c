//! What Twig knows of other programs.
//!
//! [`format`](mod@format) reads their prompts in place, [`import`] makes prompts of a library of them, and
//! [`export`] writes prompts as their files. Nothing here touches files: text comes in, text goes out.

pub mod export;
pub mod format;
pub mod import;
