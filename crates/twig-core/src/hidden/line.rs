//! One line and the direction controls in it.

use super::classes::is_rtl_letter;

/// What decides about the direction controls of a line.
pub(super) struct DirectionLine {
    /// Where it ends, in bytes of the text.
    pub(super) end: usize,
    /// True if it has letters that are read from right to left.
    pub(super) has_rtl: bool,
    /// The first control without an end, or the first end without a control.
    loose: Option<usize>,
}

impl DirectionLine {
    /// Reads the line of a place in a text.
    pub(super) fn at(text: &str, at: usize) -> Self {
        let start = text[..at].rfind(is_line_end);
        let start = start.map_or(0, |at| {
            at + text[at..].chars().next().map_or(1, char::len_utf8)
        });
        let end = text[at..]
            .find(is_line_end)
            .map_or(text.len(), |len| at + len);
        let mut open: Vec<(usize, char)> = Vec::new();
        let mut loose = None;
        for (at, c) in text[start..end].char_indices() {
            let opener = match c {
                '\u{202a}' | '\u{202b}' | '\u{202d}' | '\u{202e}' => Some('\u{202c}'),
                '\u{2066}'..='\u{2068}' => Some('\u{2069}'),
                _ => None,
            };
            if let Some(ends_with) = opener {
                open.push((start + at, ends_with));
            } else if matches!(c, '\u{202c}' | '\u{2069}') {
                match open.pop() {
                    Some((_, ends_with)) if ends_with == c => {}
                    Some((other, _)) => loose = Some(other),
                    None => loose = Some(start + at),
                }
                if loose.is_some() {
                    break;
                }
            }
        }
        let first_open = open.first().map(|(opened, _)| *opened);
        Self {
            end,
            has_rtl: text[start..end].contains(is_rtl_letter),
            // Without an end, the outermost is the one to fix.
            loose: loose.into_iter().chain(first_open).min(),
        }
    }

    /// True if the direction control at this place is allowed.
    pub(super) fn allows(&self, at: usize) -> bool {
        self.has_rtl && self.loose != Some(at)
    }
}

/// Open controls end here, at least in some programs that show the text.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
