//! A key as people paste it: `twig_`, ten characters that name it, and a secret with a checksum.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Random bytes that a new key is made of; some of them are skipped.
pub const RANDOM_BYTES: usize = 256;

/// What every key begins with, so that scanners for leaked secrets recognize it.
const PREFIX: &str = "twig_";
/// Characters of the id.
const ID: usize = 10;
/// Characters of the secret: 256 bits.
const SECRET: usize = 43;
/// Characters of the checksum: 32 bits.
const CHECKSUM: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A key with its secret. It is shown once, when it is made, and never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(Box<str>);

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMistake {
    /// It does not look like one.
    Form,
    /// It looks like one, but a character is wrong.
    Checksum,
}

impl KeyText {
    /// A new key from random bytes; `None` if there are too few.
    pub fn from_random(random: &[u8]) -> Option<Self> {
        // Larger bytes would make some characters more likely than others.
        let largest = u8::try_from(256 / ALPHABET.len() * ALPHABET.len()).ok()?;
        let mut characters = random
            .iter()
            .filter(|byte| **byte < largest)
            .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
        let mut text = PREFIX.to_owned();
        text.extend(characters.by_ref().take(ID));
        text.push('_');
        text.extend(characters.take(SECRET));
        if text.len() < PREFIX.len() + ID + 1 + SECRET {
            return None;
        }
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Some(Self(text.into()))
    }

    /// Reads a key.
    pub fn parse(text: &str) -> Result<Self, KeyMistake> {
        let rest = text.strip_prefix(PREFIX).ok_or(KeyMistake::Form)?;
        let (id, secret) = rest.split_once('_').ok_or(KeyMistake::Form)?;
        let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if id.len() != ID || secret.len() != SECRET + CHECKSUM || !is_word(id) || !is_word(secret) {
            return Err(KeyMistake::Form);
        }
        let (body, sum) = text.split_at(text.len() - CHECKSUM);
        if checksum(body) != sum {
            return Err(KeyMistake::Checksum);
        }
        Ok(Self(text.into()))
    }

    /// The part that names the key and may be shown.
    pub fn id(&self) -> &str {
        &self.0[PREFIX.len()..PREFIX.len() + ID]
    }

    /// What is stored in place of the key.
    pub fn digest(&self) -> [u8; 32] {
        Self::digest_of(&self.0)
    }

    /// The same of any text, so that a wrong key takes as long as a right one.
    pub fn digest_of(text: &str) -> [u8; 32] {
        Sha256::digest(text.as_bytes()).into()
    }

    /// The whole key, to show it once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Never the secret.
impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyText").field(&self.id()).finish()
    }
}

fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes()) as usize;
    let mut checksum = [b'0'; CHECKSUM];
    for character in checksum.iter_mut().rev() {
        *character = ALPHABET[rest % ALPHABET.len()];
        rest /= ALPHABET.len();
    }
    checksum.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_is_read_as_it_was_made(random: [u8; 32]) {
            let random: Vec<u8> = random.iter().copied().cycle().take(RANDOM_BYTES).collect();
            if let Some(key) = KeyText::from_random(&random) {
                prop_assert_eq!(key.reveal().len(), 65);
                let read = KeyText::parse(key.reveal());
                prop_assert_eq!(read.as_ref(), Ok(&key));
                let shown = format!("{key:?}");
                prop_assert!(!shown.contains(&key.reveal()[20..]));
            }
        }

        #[test]
        fn a_wrong_character_is_noticed(random: [u8; 32], at in 5_usize..65) {
            let random: Vec<u8> = random.iter().copied().cycle().take(RANDOM_BYTES).collect();
            if let Some(key) = KeyText::from_random(&random) {
                let mut bytes = key.reveal().as_bytes().to_vec();
                bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
                let text = String::from_utf8(bytes).unwrap();
                prop_assert!(KeyText::parse(&text).is_err());
            }
        }

        #[test]
        fn any_text_is_refused_or_read(text in "\\PC{0,80}") {
            prop_assert!(KeyText::parse(&text).is_err());
        }
    }

    #[test]
    fn too_little_randomness_makes_no_key() {
        assert!(KeyText::from_random(&[7; 20]).is_none());
        assert!(KeyText::from_random(&[255; RANDOM_BYTES]).is_none());
        assert!(KeyText::from_random(&[7; RANDOM_BYTES]).is_some());
    }
}
