//! What the SQLite store promises: every operation, every refusal, every fault.

mod basics;
mod support;
