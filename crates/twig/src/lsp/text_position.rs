//! Positions in texts: the protocol counts lines from 0, and in a line UTF-16 units.

use serde::{Deserialize, Serialize};

/// A position as the protocol has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(super) struct TextPosition {
    pub(super) line: u32,
    pub(super) character: u32,
}

/// A range as the protocol has it; the end is after its last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct TextRange {
    pub(super) start: TextPosition,
    pub(super) end: TextPosition,
}

impl TextPosition {
    pub(super) const START: Self = Self {
        line: 0,
        character: 0,
    };

    /// The byte at this position; past the end of a line or text, that end.
    pub(super) fn to_byte(self, text: &str) -> usize {
        let mut start = 0;
        for _ in 0..self.line {
            match text[start..].find('\n') {
                Some(at) => start += at + 1,
                None => return text.len(),
            }
        }
        let line = text[start..].split('\n').next().unwrap_or_default();
        let line = line.trim_end_matches('\r');
        start + bytes_of(line, self.character)
    }

    /// The position of a byte.
    pub(super) fn of_byte(text: &str, byte: usize) -> Self {
        let before = &text[..floor(text, byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let lines = before.bytes().filter(|byte| *byte == b'\n').count();
        Self {
            line: u32::try_from(lines).unwrap_or(u32::MAX),
            character: units(before[line_start..].chars()),
        }
    }
}

impl TextRange {
    /// The range of bytes of a text.
    pub(super) fn of_bytes(text: &str, range: std::ops::Range<usize>) -> Self {
        Self {
            start: TextPosition::of_byte(text, range.start),
            end: TextPosition::of_byte(text, range.end),
        }
    }
}

/// How many UTF-16 units characters take.
pub(super) fn units(chars: impl Iterator<Item = char>) -> u32 {
    let units: usize = chars.map(char::len_utf16).sum();
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// The bytes of a line before so many UTF-16 units.
fn bytes_of(line: &str, units: u32) -> usize {
    let mut left = units;
    for (at, c) in line.char_indices() {
        if left == 0 {
            return at;
        }
        left = left.saturating_sub(u32::try_from(c.len_utf16()).unwrap_or(1));
    }
    line.len()
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_outside_the_basic_plane_count_twice() {
        let text = "a\u{1f331}b\r\n\u{e4}c";
        let at = |line, character| TextPosition { line, character }.to_byte(text);
        assert_eq!(&text[at(0, 3)..], "b\r\n\u{e4}c");
        assert_eq!(&text[at(0, 99)..], "\r\n\u{e4}c");
        assert_eq!(&text[at(1, 1)..], "c");
        assert_eq!(at(9, 0), text.len());
    }

    proptest! {
        #[test]
        fn every_byte_is_found_again(text in "[a\u{e4}\u{1f331}\n]{0,20}", at in 0_usize..40) {
            let at = floor(&text, at);
            prop_assert_eq!(TextPosition::of_byte(&text, at).to_byte(&text), at);
        }
    }
}
