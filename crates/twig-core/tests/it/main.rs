//! The integration tests of `twig-core`, one module a feature.

mod template;
mod template_attacks;
