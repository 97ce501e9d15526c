//! The bytes that a terminal sends, as keys.

/// Around a pasted text, if the terminal was asked to mark it.
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Bytes of a pasted text that are kept until its end comes.
const LARGEST_PASTE: usize = 4 * 1024 * 1024;

/// A key that means something, or a pasted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Letter(char),
    Paste(String),
    Enter,
    Backspace,
    Delete,
    DeleteWord,
    /// Everything before the cursor.
    DeleteLine,
    /// Everything behind it.
    DeleteRest,
    Left,
    Right,
    Home,
    End,
    Up,
    Down,
    PageUp,
    PageDown,
    /// Escape or Ctrl-G.
    Leave,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
}

/// Puts bytes together that were cut in the middle of a letter.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    rest: Vec<u8>,
}

impl KeyReader {
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.rest.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            let (key, length) = first_key(&self.rest);
            if length == 0 {
                return keys;
            }
            keys.extend(key);
            self.rest.drain(..length);
        }
    }
}

/// The first key, if it is one that matters, and how many bytes it takes; none if more have to come.
fn first_key(bytes: &[u8]) -> (Option<Key>, usize) {
    let Some(first) = bytes.first() else {
        return (None, 0);
    };
    let key = match first {
        b'\r' | b'\n' => Some(Key::Enter),
        0x01 => Some(Key::Home),
        0x02 => Some(Key::Left),
        0x03 => Some(Key::Interrupt),
        0x04 => Some(Key::EndOfInput),
        0x05 => Some(Key::End),
        0x06 => Some(Key::Right),
        0x07 => Some(Key::Leave),
        0x08 | 0x7f => Some(Key::Backspace),
        0x0b => Some(Key::DeleteRest),
        0x15 => Some(Key::DeleteLine),
        0x17 => Some(Key::DeleteWord),
        0x0e => Some(Key::Down),
        0x10 => Some(Key::Up),
        0x1b => return escape(bytes),
        0x00..=0x1f => None,
        _ => return letter(bytes),
    };
    (key, 1)
}

/// An escape sequence; the key Escape itself comes alone.
fn escape(bytes: &[u8]) -> (Option<Key>, usize) {
    let Some(second) = bytes.get(1) else {
        return (Some(Key::Leave), 1);
    };
    if let Some(pasted) = bytes.strip_prefix(PASTE) {
        return paste(pasted);
    }
    if !matches!(second, b'[' | b'O') {
        // A key with Alt, which means nothing here.
        return (None, 2);
    }
    let end = bytes
        .iter()
        .skip(2)
        .position(|byte| (0x40..=0x7e).contains(byte));
    let Some(end) = end.map(|at| at + 2) else {
        // A sequence without an end is dropped before it grows.
        return (None, if bytes.len() > 32 { bytes.len() } else { 0 });
    };
    let key = match (&bytes[2..end], bytes[end]) {
        (_, b'A') => Some(Key::Up),
        (_, b'B') => Some(Key::Down),
        (_, b'C') => Some(Key::Right),
        (_, b'D') => Some(Key::Left),
        (_, b'H') | (b"1" | b"7", b'~') => Some(Key::Home),
        (_, b'F') | (b"4" | b"8", b'~') => Some(Key::End),
        (b"3", b'~') => Some(Key::Delete),
        (b"5", b'~') => Some(Key::PageUp),
        (b"6", b'~') => Some(Key::PageDown),
        _ => None,
    };
    (key, end + 1)
}

/// A pasted text; none before its end has come.
fn paste(pasted: &[u8]) -> (Option<Key>, usize) {
    let end = memchr::memmem::find(pasted, PASTE_END);
    let (length, taken) = match end {
        Some(end) => (end, end + PASTE_END.len()),
        // One that is too large for any value is taken as it is.
        None if pasted.len() > LARGEST_PASTE => (pasted.len(), pasted.len()),
        None => return (None, 0),
    };
    let text = String::from_utf8_lossy(&pasted[..length]);
    (Some(Key::Paste(text.into_owned())), PASTE.len() + taken)
}

fn letter(bytes: &[u8]) -> (Option<Key>, usize) {
    let start = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        // Not the beginning of a letter, or not all of it yet.
        Err(error) => return (None, error.error_len().unwrap_or(0)),
    };
    match valid.chars().next() {
        Some(letter) if letter.is_control() => (None, letter.len_utf8()),
        Some(letter) => (Some(Key::Letter(letter)), letter.len_utf8()),
        None => (None, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys_however_they_are_cut() {
        let typed =
            "aé日\u{1b}[A\u{1b}OB\u{1b}[5~\u{1b}[1;5C\u{1b}[200~x\ry\u{1b}[B\u{1b}[201~\u{7f}\r"
                .as_bytes();
        let expected = [
            Key::Letter('a'),
            Key::Letter('é'),
            Key::Letter('日'),
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::Right,
            Key::Paste("x\ry\u{1b}[B".to_owned()),
            Key::Backspace,
            Key::Enter,
        ];
        assert_eq!(KeyReader::default().read(typed), expected);
        let mut reader = KeyReader::default();
        let mut keys = reader.read(&typed[..2]);
        keys.extend(reader.read(&typed[2..4]));
        keys.extend(reader.read(&typed[4..40]));
        keys.extend(reader.read(&typed[40..]));
        assert_eq!(keys, expected);
    }

    #[test]
    fn escape_alone_leaves_and_rubbish_is_dropped() {
        assert_eq!(KeyReader::default().read(b"\x1b"), [Key::Leave]);
        assert_eq!(KeyReader::default().read(b"\x03"), [Key::Interrupt]);
        assert_eq!(
            KeyReader::default().read(b"\xff\xfe\x13"),
            Vec::<Key>::new()
        );
        let mut endless = b"\x1b[".to_vec();
        endless.extend([b'1'; 1000]);
        let mut reader = KeyReader::default();
        assert_eq!(reader.read(&endless), Vec::<Key>::new());
        assert_eq!(reader.read(b"a"), [Key::Letter('a')]);
    }
}
