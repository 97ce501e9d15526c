//! Characters that hide something from a reader: terminal controls, invisible characters, and marks
//! that reverse the reading order.
//!
//! A model reads every character of a text; people should be able to as well. Characters that a
//! language or an emoji needs are allowed where they are used that way.

mod classes;
mod line;
mod scan;

use std::fmt;

pub(crate) use self::scan::is_filler;

/// Where a text stands; the more people trust a place, the less it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPlace {
    /// A title or a description: a few words that models and people read before they choose.
    Label,
    /// A prompt or document that an agent or a stranger wrote.
    Body,
}

/// The first character that may not be there; reads on after "The description ".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenCharacter {
    /// The character.
    pub character: char,
    /// How many bytes stand before it.
    pub offset: usize,
    /// Its line, from 1.
    pub line: u32,
    /// How many characters of its line stand before it, and 1.
    pub column: u32,
    /// Whether the text has more than one line.
    has_lines: bool,
    why: Why,
}

/// What is wrong with a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Control,
    Tag,
    /// A direction control; where it stands says whether there is a place for one.
    Direction(TextPlace),
    Invisible,
    Joiner,
    Selector,
    /// Private use, no character at all, or none yet.
    Meaningless,
}

impl Why {
    /// What it is, what it does, and what to do about it.
    fn words(self) -> [&'static str; 3] {
        let out = "take it out";
        let unseen = "people do not see";
        match self {
            Self::Control => ["a control character", "terminals obey", out],
            Self::Tag => ["a tag character", unseen, out],
            Self::Direction(TextPlace::Label) => [
                "a direction control",
                "changes the order in which people read",
                out,
            ],
            Self::Direction(TextPlace::Body) => [
                "a direction control",
                "changes the order in which people read",
                "take it out, or end it on its own line, among right-to-left letters",
            ],
            Self::Invisible => ["an invisible character", unseen, out],
            Self::Joiner => [
                "an invisible joiner",
                "joins nothing there",
                "take it out, or put it between emoji or letters that need it",
            ],
            Self::Selector => ["a variation selector", unseen, out],
            Self::Meaningless => [
                "a character without a common meaning",
                "each reader sees differently",
                out,
            ],
        }
    }
}

impl HiddenCharacter {
    /// What is wrong, without where: "has a tag character (U+E0041), which people do not see".
    pub fn fault(&self) -> String {
        let [what, effect, _] = self.why.words();
        let code = u32::from(self.character);
        format!("has {what} (U+{code:04X}), which {effect}")
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        let [_, _, advice] = self.why.words();
        advice
    }
}

impl fmt::Display for HiddenCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [what, effect, advice] = self.why.words();
        write!(f, "has {what} (U+{:04X}) at ", u32::from(self.character))?;
        if self.has_lines {
            write!(f, "line {}, column {}", self.line, self.column)?;
        } else {
            write!(f, "position {}", self.column)?;
        }
        write!(f, ", which {effect}: {advice}")
    }
}

/// Looks for the first character that may not be in a text of this place.
///
/// A text of plain ASCII costs a fraction of what copying it would.
pub fn find(text: &str, place: TextPlace) -> Option<HiddenCharacter> {
    let from = first_odd(text.as_bytes(), place)?;
    let (offset, character, why) = scan::first(text, place, from)?;
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let lines = text[..start].bytes().filter(|byte| *byte == b'\n').count();
    let before = text[start..offset].chars().count();
    let count = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
    Some(HiddenCharacter {
        character,
        offset,
        line: count(lines),
        column: count(before),
        has_lines: text.contains('\n'),
        why,
    })
}

/// Where the first byte is that is worth a look.
fn first_odd(bytes: &[u8], place: TextPlace) -> Option<usize> {
    // Without a way out of the inner loop it is done for many bytes at once.
    const STEP: usize = 128;
    let has_odd = |part: &[u8]| {
        let bytes = part.iter();
        match place {
            TextPlace::Label => bytes.fold(false, |odd, byte| odd | is_label_odd(*byte)),
            TextPlace::Body => bytes.fold(false, |odd, byte| odd | is_body_odd(*byte)),
        }
    };
    let from = bytes.chunks(STEP).position(has_odd)? * STEP;
    let at = bytes[from..].iter().position(|byte| is_odd(*byte, place));
    at.map(|at| from + at)
}

/// Whether a byte is, or belongs to, a character that is worth a look.
fn is_odd(byte: u8, place: TextPlace) -> bool {
    match place {
        TextPlace::Label => is_label_odd(byte),
        TextPlace::Body => is_body_odd(byte),
    }
}

fn is_label_odd(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t' && byte != b'\n') || byte >= 0x7f
}

fn is_body_odd(byte: u8) -> bool {
    byte == 0 || byte == 0x1b || byte >= 0x80
}
