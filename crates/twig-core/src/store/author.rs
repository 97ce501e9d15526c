//! The author of a version: the person at the command line, a client over MCP, or a person whom the
//! server knows.

use super::version::LONGEST_AUTHOR;

/// The listed name of the person at the command line.
const PERSON: &str = "twig";

/// The end of the name of a client without a person, so that no client can pass for anyone else.
const CLIENT_MARK: &str = " (mcp)";

/// The end of the name of a person without a client.
const PERSON_MARK: &str = " (person)";

/// The author of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The person at the command line.
    Person,
    /// A client over MCP, by the name that it gives itself.
    Client(Box<str>),
    /// A person whom the server knows, and the client that they use.
    Named {
        /// The person's name.
        person: Box<str>,
        /// The client's name, if it is known.
        client: Option<Box<str>>,
    },
}

impl Author {
    /// The same author, as a person whom the server knows.
    #[must_use]
    pub fn with_person(self, person: &str) -> Self {
        let client = match self {
            Self::Person => None,
            Self::Client(client) => Some(client),
            Self::Named { client, .. } => client,
        };
        Self::Named {
            person: person.into(),
            client,
        }
    }

    /// The author as versions store and list it: `twig`, `NAME (mcp)`, `NAME (mcp, PERSON)` or
    /// `PERSON (person)`, whatever the names are.
    ///
    /// Versions from before the suffix have the bare name of their client.
    pub fn label(&self) -> Box<str> {
        match self {
            Self::Person => PERSON.into(),
            Self::Client(client) => format!("{}{CLIENT_MARK}", clean(client)).into(),
            Self::Named {
                person,
                client: None,
            } => format!("{}{PERSON_MARK}", clean_person(person)).into(),
            Self::Named {
                person,
                client: Some(client),
            } => format!("{} (mcp, {})", clean(client), clean_person(person)).into(),
        }
    }

    /// The person's name as the log of changes has it; `None` if the server knows no person.
    pub fn actor(&self) -> Option<Box<str>> {
        match self {
            Self::Named { person, .. } => Some(clean_person(person).into()),
            Self::Person | Self::Client(_) => None,
        }
    }

    /// The client's name as the log of changes has it; `None` at the command line.
    pub fn client(&self) -> Option<Box<str>> {
        match self {
            Self::Client(client)
            | Self::Named {
                client: Some(client),
                ..
            } => Some(clean(client).into()),
            Self::Person | Self::Named { client: None, .. } => None,
        }
    }
}

/// A name that a client gave itself, made safe for a listing.
fn clean(name: &str) -> String {
    let kept = name.chars().filter(|c| !c.is_control());
    let kept: String = kept.take(LONGEST_AUTHOR).collect();
    match kept.trim() {
        "" => "unknown".to_owned(),
        kept => kept.to_owned(),
    }
}

/// A person's name. Without parentheses it cannot look like the end of a client's name.
fn clean_person(name: &str) -> String {
    clean(&name.replace(['(', ')'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str) -> String {
        Author::Client(name.into()).label().into()
    }

    #[test]
    fn no_client_is_listed_as_the_person() {
        assert_eq!(&*Author::Person.label(), "twig");
        for name in [
            "twig",
            "TWIG",
            "тwig",
            " twig ",
            "tw\u{0}ig",
            "twig\n",
            "(mcp)",
            "x (mcp)",
            "x (mcp, anna)",
            "anna (person)",
            &"n".repeat(LONGEST_AUTHOR + 1),
        ] {
            let label = client(name);
            assert!(label.ends_with(" (mcp)"), "{label}");
            assert_ne!(label.trim(), "twig");
        }
    }

    #[test]
    fn a_person_is_listed_with_the_client() {
        let author = Author::Client("Claude Code".into()).with_person("anna");
        assert_eq!(&*author.label(), "Claude Code (mcp, anna)");
        assert_eq!(author.actor().as_deref(), Some("anna"));
        assert_eq!(author.client().as_deref(), Some("Claude Code"));
        let other = author.with_person("bo");
        assert_eq!(&*other.label(), "Claude Code (mcp, bo)");
        let author = Author::Person.with_person("twig");
        assert_eq!(&*author.label(), "twig (person)");
        assert_eq!(
            (Author::Person.actor(), Author::Person.client()),
            (None, None)
        );
    }

    #[test]
    fn no_person_is_listed_as_a_client_or_as_the_person_at_the_command_line() {
        for name in [
            "twig",
            "x (mcp)",
            "mcp",
            ") (mcp",
            "anna) (mcp",
            "\u{0}",
            "",
        ] {
            for author in [
                Author::Person.with_person(name),
                Author::Client("twig".into()).with_person(name),
            ] {
                let label = author.label();
                assert!(!label.ends_with(" (mcp)"), "{label}");
                assert_ne!(&*label, "twig");
            }
        }
    }

    #[test]
    fn a_name_is_a_short_line() {
        assert_eq!(client("Claude Code"), "Claude Code (mcp)");
        assert_eq!(client("a\u{1b}[31m\r\nb"), "a[31mb (mcp)");
        assert_eq!(
            client(&"ü".repeat(200)),
            format!("{} (mcp)", "ü".repeat(128))
        );
        assert_eq!(client(" \u{0}\t "), "unknown (mcp)");
        assert_eq!(client(""), "unknown (mcp)");
    }
}
