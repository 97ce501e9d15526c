//! The integration tests of `twig-core`, one module a feature.
#![allow(
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "helpers of tests may fail like tests do"
)]

mod catalog;
mod check;
mod definition;
mod documents;
mod front_matter;
mod functions;
mod hidden;
mod manifest;
mod names;
mod project_folder;
mod schema;
mod shell_lines;
mod template;
mod template_attacks;
