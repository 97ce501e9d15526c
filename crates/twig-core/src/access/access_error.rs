//! Why a change of keys or roles was refused.

/// Why a change of keys or roles was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The name is in use.
    #[error("there is a key `{0}` already")]
    KeyExists(Box<str>),
    /// No key that works has this name.
    #[error("there is no key `{0}`")]
    NoKey(Box<str>),
    /// A key whose time is over.
    #[error("the key of `{0}` has expired")]
    Expired(Box<str>),
    /// A name that no person can have.
    #[error("`{name}` cannot be the name of a person: {why}")]
    PersonName {
        /// The name.
        name: Box<str>,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// The same role was given before.
    #[error("`{who}` is {role} {place} already")]
    GrantExists {
        /// Who has it.
        who: Box<str>,
        /// The role.
        role: &'static str,
        /// Where.
        place: Box<str>,
    },
    /// There is no such role to take away.
    #[error("`{who}` is not {role} {place}")]
    NoGrant {
        /// Who should have it.
        who: Box<str>,
        /// The role.
        role: &'static str,
        /// Where.
        place: Box<str>,
    },
    /// Other keys cannot take the place of keys.
    #[error("there are keys already")]
    HasKeys,
    /// The record is full.
    #[error("there are {0} {1} already, which is the most")]
    TooMany(usize, &'static str),
    /// The system gave too few random bytes for a secret.
    #[error("the system has no random numbers")]
    NoRandomness,
}
