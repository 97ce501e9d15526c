//! What the SQLite store promises: every operation, every refusal, every fault.

mod basics;
mod damage;
mod refused;
mod replaced;
mod support;
