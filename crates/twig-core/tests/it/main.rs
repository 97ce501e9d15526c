//! The integration tests of `twig-core`, one module a feature.
#![expect(
    clippy::expect_used,
    reason = "helpers of tests may fail like tests do"
)]

mod template;
mod template_attacks;
