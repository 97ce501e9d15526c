//! The author of a version: the person at the command line, or a client over MCP.

use super::version::LONGEST_AUTHOR;

/// The listed name of the person at the command line.
const PERSON: &str = "twig";

/// The suffix of every client's name, so that no client can pass for the person.
const CLIENT_MARK: &str = " (mcp)";

/// The author of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The person at the command line.
    Person,
    /// A client over MCP, by the name that it gives itself.
    Client(Box<str>),
}

impl Author {
    /// The author as versions store and list it: `twig`, or `NAME (mcp)`, whatever the name is.
    ///
    /// Versions from before this suffix have the bare name of their client.
    pub fn label(&self) -> Box<str> {
        match self {
            Self::Person => PERSON.into(),
            Self::Client(name) => format!("{}{CLIENT_MARK}", clean(name)).into(),
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
            &"n".repeat(LONGEST_AUTHOR + 1),
        ] {
            let label = client(name);
            assert!(label.ends_with(" (mcp)"), "{label}");
            assert_ne!(label.trim(), "twig");
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
