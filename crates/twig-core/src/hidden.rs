//! Characters that hide something from a reader: terminal controls, invisible characters, and marks
//! that reverse the reading order.
//!
//! A model reads every character of a text; people should be able to as well. Characters that a
//! language or an emoji needs are allowed where they are used that way.

mod classes;
mod line;
mod scan;

use std::fmt;

use self::scan::is_filler;

/// The kind of text; the more people trust it, the fewer characters are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPlace {
    /// A title or a description: people and models read it before they choose.
    Label,
    /// A prompt or document that an agent or a stranger wrote.
    Body,
}

/// A visible letter or digit of any script.
pub(crate) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !is_filler(c)
}

/// The first forbidden character; its message follows "The description ".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HiddenCharacter {
    /// The character.
    pub character: char,
    /// Its offset in bytes.
    pub offset: usize,
    /// Its line, from 1.
    pub line: u32,
    /// Its column in characters, from 1.
    pub column: u32,
    /// Whether the text has more than one line.
    has_lines: bool,
    why: HiddenReason,
}

/// What is wrong with a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenReason {
    Control,
    Tag,
    /// A direction control; in a body it may be allowed, depending on its place.
    Direction(TextPlace),
    Invisible,
    Joiner,
    Selector,
    /// Private use, a non-character, or not yet assigned.
    Meaningless,
}

impl HiddenReason {
    /// Its name, its effect, and the advice.
    fn words(self) -> [&'static str; 3] {
        let out = "remove it";
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
                "remove it, or end it on its own line, among right-to-left letters",
            ],
            Self::Invisible => ["an invisible character", unseen, out],
            Self::Joiner => [
                "an invisible joiner",
                "joins nothing there",
                "remove it, or put it between emoji or letters that need it",
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
    /// What kind of character it is: "a tag character".
    pub fn kind(&self) -> &'static str {
        let [what, _, _] = self.why.words();
        what
    }

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

/// Finds the first forbidden character in a text.
///
/// For plain ASCII this takes a fraction of the time of copying the text.
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

/// The position of the first byte that needs a closer check.
fn first_odd(bytes: &[u8], place: TextPlace) -> Option<usize> {
    // Without an early exit, the compiler vectorises the inner loop.
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

/// True if a byte is part of a character that needs a closer check.
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
