//! Characters that hide something from whoever reads a text.

use std::fmt;

/// Where a text stands; the more people trust a place, the less it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A title or a description: one line that models and people read before they choose.
    Label,
    /// A prompt or document that an agent or a stranger wrote.
    Body,
}

/// The first character that may not be there; reads on after "The description ".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The character.
    pub character: char,
    /// How many characters stand before it.
    pub at: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "has the character U+{:04X} at position {}, which people do not see: take it out",
            u32::from(self.character),
            self.at + 1
        )
    }
}

/// Looks for the first character that may not be in a text of this place.
pub fn find(text: &str, place: Place) -> Option<Found> {
    let is_bad = |c: char| match place {
        Place::Label => c.is_control() && c != '\t' && c != '\n',
        Place::Body => matches!(c, '\0' | '\u{1b}' | '\u{9b}'),
    };
    let at = text.chars().position(is_bad)?;
    let character = text.chars().nth(at)?;
    Some(Found { character, at })
}
