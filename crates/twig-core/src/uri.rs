//! Converts file names to URI segments, and back.

use std::borrow::Cow;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// A path for a URI, percent-encoded.
pub fn encode(path: &str) -> Cow<'_, str> {
    if path.bytes().all(is_plain) {
        return Cow::Borrowed(path);
    }
    let mut encoded = String::with_capacity(path.len() + 8);
    for byte in path.bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    Cow::Owned(encoded)
}

/// Reverses [`encode`]; any other text is returned as it is.
pub fn decode(encoded: &str) -> Cow<'_, str> {
    if !encoded.contains('%') {
        return Cow::Borrowed(encoded);
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.first_chunk::<2>().filter(|_| *first == b'%');
        let byte = digits.and_then(|[high, low]| Some((digit(*high)? << 4) | digit(*low)?));
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(encoded), Cow::Owned)
}

/// True if a byte needs no encoding in any part of a URI.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=".contains(&byte)
}

fn digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_uri_cannot_hold_is_encoded() {
        for (path, encoded) in [
            ("patterns/repository-pattern", "patterns/repository-pattern"),
            ("a b", "a%20b"),
            ("100%", "100%25"),
            ("a?b#c:d@e", "a%3Fb%23c%3Ad%40e"),
            ("ü", "%C3%BC"),
        ] {
            assert_eq!(encode(path), encoded);
            assert_eq!(decode(encoded), path);
        }
        for odd in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decode(odd), odd);
        }
    }

    proptest! {
        #[test]
        fn names_come_back_as_they_went(path in any::<String>()) {
            let encoded = encode(&path);
            prop_assert!(encoded.is_ascii());
            prop_assert_eq!(decode(&encoded), path.as_str());
        }
    }
}
