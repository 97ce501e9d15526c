//! The people who use a server: their keys, their roles, and what those allow where.
//!
//! Everything here is a value. Another crate keeps the [`AccessRecord`] in a file or a database; callers supply the
//! time and random bytes.

mod access_error;
mod key_text;
mod place;
mod record;
mod rights;
mod verbs;

pub use self::access_error::AccessError;
pub use self::key_text::{KeyMistake, KeyText, RANDOM_BYTES};
pub use self::place::{AccessPlace, Grantee};
pub use self::record::{AccessChange, AccessKey, AccessRecord, KeyState, OldSecret, RoleGrant};
pub use self::rights::{AccessRights, Principal};
pub use self::verbs::{AccessRole, Verbs};
