//! The integration tests of `twig-clients`, one module a feature.
#![allow(
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "helpers of tests may fail like tests do"
)]

mod corpus;
mod depth;
mod export;
mod fixture;
mod format;
mod import;
mod labels;
