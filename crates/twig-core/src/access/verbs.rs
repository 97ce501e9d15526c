//! What a person may do, and the roles that say so.

use std::ops::{BitOr, BitOrAssign};

/// What a person may do in one place: any of read, write, run and administer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Verbs(u8);

impl Verbs {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// To list and get.
    pub const READ: Self = Self(1);
    /// To change prompts and resources.
    pub const WRITE: Self = Self(2);
    /// To run prompt functions.
    pub const RUN: Self = Self(4);
    /// To move protected labels.
    pub const ADMIN: Self = Self(8);
    /// Everything.
    pub const ALL: Self = Self(15);

    /// Whether all of these are allowed.
    pub fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// The same as words, such as `read, write`.
    pub fn words(self) -> String {
        let all = [
            (Self::READ, "read"),
            (Self::WRITE, "write"),
            (Self::RUN, "run"),
            (Self::ADMIN, "administer"),
        ];
        let words = all.iter().filter(|(verb, _)| self.has(*verb));
        words.map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
    }
}

impl BitOr for Verbs {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Verbs {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// A named set of verbs. No role implies `run`: it is given by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessRole {
    /// Read.
    Reader,
    /// Read and write.
    Writer,
    /// Read, write and move protected labels.
    Admin,
    /// Run prompt functions.
    Run,
}

impl AccessRole {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Writer, Self::Admin, Self::Run];

    /// The word for it in flags and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Admin => "admin",
            Self::Run => "run",
        }
    }

    /// Reads that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// What it allows.
    pub fn verbs(self) -> Verbs {
        match self {
            Self::Reader => Verbs::READ,
            Self::Writer => Verbs::READ | Verbs::WRITE,
            Self::Admin => Verbs::READ | Verbs::WRITE | Verbs::ADMIN,
            Self::Run => Verbs::RUN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_role_but_run_runs_anything() {
        for role in AccessRole::ALL {
            assert_eq!(role.verbs().has(Verbs::RUN), role == AccessRole::Run);
            assert_eq!(AccessRole::parse(role.as_str()), Some(role));
        }
        assert_eq!(AccessRole::Writer.verbs().words(), "read, write");
        assert_eq!(Verbs::ALL.words(), "read, write, run, administer");
    }
}
