//! What the SQLite store promises: every operation, every refusal, every fault.

mod audit;
mod basics;
mod child;
#[cfg(feature = "postgres")]
mod cut;
mod damage;
mod ends;
mod faults;
mod labels;
mod limits;
mod many;
mod model;
#[cfg(feature = "postgres")]
mod pooler;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_access;
#[cfg(feature = "postgres")]
mod postgres_compact;
#[cfg(feature = "postgres")]
mod postgres_failover;
#[cfg(feature = "postgres")]
mod postgres_faults;
#[cfg(feature = "postgres")]
mod postgres_follow;
#[cfg(feature = "postgres")]
mod postgres_noticed;
#[cfg(feature = "postgres")]
mod postgres_roles;
mod read_only;
mod refused;
mod replaced;
mod room;
mod searched;
mod support;
mod views;
