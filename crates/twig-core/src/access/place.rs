//! Where a role applies, and to whom.

use std::fmt;

use super::access_error::AccessError;
use crate::store::{Noun, StoreError, StoreName};

/// Where a role applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessPlace {
    /// In every workspace, and for the libraries of the server.
    Everywhere,
    /// In every project of a workspace.
    Workspace(StoreName),
    /// In one project.
    Project(StoreName, StoreName),
}

impl AccessPlace {
    /// Reads `WORKSPACE`, `WORKSPACE/PROJECT`, or nothing for every place.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if text.is_empty() {
            return Ok(Self::Everywhere);
        }
        let workspace = |text: &str| StoreName::parse(Noun::Workspace, text);
        match text.split_once('/') {
            None => Ok(Self::Workspace(workspace(text)?)),
            Some((name, project)) => {
                let project = StoreName::parse(Noun::Project, project)?;
                Ok(Self::Project(workspace(name)?, project))
            }
        }
    }

    /// Whether this is another place, or in it.
    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Project(workspace, _), Self::Workspace(other)) => workspace == other,
            (own, other) => own == other,
        }
    }

    /// The same text, which is empty for every place.
    pub fn as_text(&self) -> String {
        match self {
            Self::Everywhere => String::new(),
            Self::Workspace(workspace) => workspace.to_string(),
            Self::Project(workspace, project) => format!("{workspace}/{project}"),
        }
    }
}

/// In a sentence: `everywhere`, ``in workspace `acme` ``.
impl fmt::Display for AccessPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere => f.write_str("everywhere"),
            Self::Workspace(workspace) => write!(f, "in workspace `{workspace}`"),
            Self::Project(workspace, project) => write!(f, "in project `{workspace}/{project}`"),
        }
    }
}

/// Who has a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grantee {
    /// The person with the key of this name.
    Person(Box<str>),
    /// The people whose tokens name this group.
    Group(Box<str>),
    /// All people with a key.
    Everyone,
}

/// The longest name of a person, in bytes.
const LONGEST: usize = 64;
/// Names with another meaning: of everyone, and of authors without a key.
const TAKEN: [&str; 5] = ["everyone", "twig", "token", "local", "unknown"];

impl Grantee {
    /// Reads the name of a person, `group:NAME` or `everyone`.
    pub fn parse(text: &str) -> Result<Self, AccessError> {
        if text == "everyone" {
            return Ok(Self::Everyone);
        }
        match text.strip_prefix("group:") {
            Some(group) => {
                check_name(group)?;
                Ok(Self::Group(group.into()))
            }
            None => Self::person(text),
        }
    }

    /// A person; the name was not used for anything else.
    pub fn person(name: &str) -> Result<Self, AccessError> {
        check_name(name)?;
        Ok(Self::Person(name.into()))
    }
}

fn check_name(name: &str) -> Result<(), AccessError> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+');
    let why = if name.is_empty() || name.len() > LONGEST {
        "it has to have 1 to 64 characters"
    } else if !name.chars().all(is_good) {
        "use letters a to z, digits and . _ - @ +"
    } else if TAKEN.contains(&name) {
        "that word is reserved"
    } else {
        return Ok(());
    };
    let name = name.chars().take(LONGEST).collect::<String>().into();
    Err(AccessError::PersonName { name, why })
}

impl fmt::Display for Grantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(name) => f.write_str(name),
            Self::Group(name) => write!(f, "group:{name}"),
            Self::Everyone => f.write_str("everyone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        for text in ["", "acme", "acme/garden"] {
            assert_eq!(AccessPlace::parse(text).unwrap().as_text(), text);
        }
        for text in ["/", "acme/", "/garden", "a/b/c", "ä"] {
            assert!(AccessPlace::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nobody_is_called_like_everyone_or_the_local_user() {
        for text in ["anna", "group:platform", "everyone", "anna@example.com"] {
            assert_eq!(Grantee::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "twig",
            "local",
            "group:",
            "a b",
            "a\u{202e}b",
            "group:everyone",
        ] {
            assert!(Grantee::parse(text).is_err(), "{text}");
        }
        assert!(Grantee::person("everyone").is_err());
    }
}
