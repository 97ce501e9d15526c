//! What the SQLite store promises: every operation, every refusal, every fault.

mod audit;
mod basics;
mod child;
mod damage;
mod ends;
mod faults;
mod labels;
mod limits;
mod many;
mod model;
#[cfg(feature = "postgres")]
mod postgres;
mod read_only;
mod refused;
mod replaced;
mod room;
mod support;
