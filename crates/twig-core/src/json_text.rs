//! The inside of a JSON string: text is escaped by blocks, since most of it needs no escaping.

/// Bytes that are checked at once.
const BLOCK: usize = 32;

/// Writes text as it stands between the quotes of a JSON string.
pub fn escape(buffer: &mut Vec<u8>, text: &str) {
    escape_bytes(buffer, text.as_bytes());
}

/// The same for bytes of text.
pub(crate) fn escape_bytes(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.reserve(bytes.len());
    // What comes before this is written.
    let mut from = 0;
    let mut escape_marked = |start: usize, mut marks: u32| {
        while marks != 0 {
            let at = start + marks.trailing_zeros() as usize;
            if from < at {
                buffer.extend_from_slice(&bytes[from..at]);
            }
            escape_byte(buffer, bytes[at]);
            from = at + 1;
            marks &= marks - 1;
        }
    };
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    for (number, block) in blocks.iter().enumerate() {
        escape_marked(number * BLOCK, special_bytes(block));
    }
    let mut last = [b' '; BLOCK];
    last[..tail.len()].copy_from_slice(tail);
    escape_marked(bytes.len() - tail.len(), special_bytes(&last));
    buffer.extend_from_slice(&bytes[from..]);
}

/// A bit for each byte of a block that has to be escaped.
fn special_bytes(block: &[u8; BLOCK]) -> u32 {
    // A 1 for each of them: without branches, so that the compiler vectorises it.
    let marks =
        block.map(|byte| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\'));
    let mut words = [0; BLOCK / 8];
    for (word, bytes) in words.iter_mut().zip(marks.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    if words.iter().fold(0, |any, word| any | word) == 0 {
        return 0;
    }
    // The product has the lowest bits of the eight bytes in its highest byte.
    let bits = |word: u64| word.wrapping_mul(0x0102_0408_1020_4080).to_le_bytes()[7];
    u32::from_le_bytes(words.map(bits))
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escape_byte(buffer: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    if let Some(short) = short_form(byte) {
        buffer.extend_from_slice(&[b'\\', short]);
        return;
    }
    let high = HEX[usize::from(byte >> 4)];
    let low = HEX[usize::from(byte & 15)];
    buffer.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
}

/// What stands after the backslash, for a byte that is escaped with two bytes.
fn short_form(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => return None,
    })
}

/// A text and the same escaped, so that any part of it can be written without escaping it again.
#[derive(Debug)]
pub(crate) struct EscapedText {
    /// Bytes of the text itself.
    length: usize,
    escaped: Box<[u8]>,
    /// The places of the bytes that are escaped, each with two bytes.
    specials: Box<[u32]>,
}

impl EscapedText {
    /// Escapes a text; `None` if it is too long, or if a rare character needs more than two bytes.
    pub(crate) fn new(text: &str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        let mut specials = Vec::new();
        for (at, byte) in (0..).zip(text.bytes()) {
            if is_special(byte) {
                short_form(byte)?;
                specials.push(at);
            }
        }
        let mut escaped = Vec::with_capacity(text.len() + specials.len());
        escape(&mut escaped, text);
        Some(Self {
            length: text.len(),
            escaped: escaped.into(),
            specials: specials.into(),
        })
    }

    /// The escaped form of a part of the text. Parts that come in the order of the text are found
    /// soonest: `cursor` is 0 at first.
    pub(crate) fn part(&self, start: usize, length: usize, cursor: &mut usize) -> Option<&[u8]> {
        let end = start
            .checked_add(length)
            .filter(|end| *end <= self.length)?;
        let mut place = |offset: usize| {
            let is_before = |special: &u32| (*special as usize) < offset;
            if *cursor > 0 && !self.specials.get(*cursor - 1).is_some_and(is_before) {
                *cursor = 0;
            }
            while self.specials.get(*cursor).is_some_and(is_before) {
                *cursor += 1;
            }
            offset + *cursor
        };
        let (from, to) = (place(start), place(end));
        self.escaped.get(from..to)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> String {
        let mut buffer = Vec::new();
        escape(&mut buffer, text);
        String::from_utf8(buffer).unwrap()
    }

    /// What stands between the quotes that `serde_json` writes.
    fn expected(text: &str) -> String {
        let json = serde_json::to_string(text).unwrap();
        json[1..json.len() - 1].to_owned()
    }

    #[test]
    fn every_byte_is_found_at_every_place_of_a_block() {
        for at in 0..2 * BLOCK {
            for byte in 0..0x80u8 {
                let mut text = vec![b'a'; 2 * BLOCK + 3];
                text[at] = byte;
                text[at + 1] = b'\n';
                let text = String::from_utf8(text).unwrap();
                assert_eq!(escaped(&text), expected(&text));
            }
        }
    }

    proptest! {
        #[test]
        fn text_is_what_serde_json_writes(text in any::<String>()) {
            prop_assert_eq!(escaped(&text), expected(&text));
        }

        #[test]
        fn control_characters_are_what_serde_json_writes(text in "[\\x00-\\x7f]{0,80}") {
            prop_assert_eq!(escaped(&text), expected(&text));
        }

        #[test]
        fn few_special_bytes_are_found_between_long_runs(
            parts in prop::collection::vec("[ -!#-\\[\\]-~é😀]{0,70}[\\x00-\\x1f\"\\\\]{0,2}", 0..5),
        ) {
            let text = parts.concat();
            prop_assert_eq!(escaped(&text), expected(&text));
        }

        #[test]
        fn a_part_is_what_escaping_it_gives(
            text in "[ -~é\n\t\"\\\\]{0,90}",
            cuts in prop::collection::vec((0usize..100, 0usize..100), 1..8),
        ) {
            let known = EscapedText::new(&text).unwrap();
            let mut cursor = 0;
            for (start, length) in cuts {
                let part = known.part(start, length, &mut cursor);
                match text.get(start..start + length) {
                    Some(written) => {
                        let expected = escaped(written);
                        prop_assert_eq!(part.unwrap(), expected.as_bytes());
                    }
                    None => prop_assert!(part.is_none() || start + length <= text.len()),
                }
            }
        }
    }

    #[test]
    fn rare_control_characters_have_no_parts() {
        assert!(EscapedText::new("a\u{1}b").is_none());
        assert!(EscapedText::new("a\nb").is_some());
    }
}
