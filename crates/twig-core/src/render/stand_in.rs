//! Marks that a client fills in later: `$1`, `$2` and so on.
//!
//! Such a value is rendered like any other. To tell afterwards whether a `$1` in the text was a
//! value or written by the author, a stand-in is rendered for it: one character that texts do not
//! contain.

/// The stand-in of `$0`: in the private use area at the end of all characters.
const FIRST: u32 = 0x0010_F000;

/// One more than the largest mark: it has three digits at most.
const MARKS: u32 = 1_000;

/// The stand-in of a value that is a mark.
pub fn stand_in(value: &str) -> Option<char> {
    char::from_u32(FIRST + number(value)?)
}

/// The number of the mark that a character stands for.
pub fn stood_for(character: char) -> Option<u32> {
    let number = u32::from(character).checked_sub(FIRST)?;
    (number < MARKS).then_some(number)
}

/// The number of a mark, if a value is exactly a mark: `$1` to `$999`.
pub fn number(value: &str) -> Option<u32> {
    let digits = value.strip_prefix('$')?;
    // A sign is no digit, though numbers parse with one; and `$01` is no mark.
    let is_number = matches!(digits.as_bytes(), [b'1'..=b'9', ..])
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number)?;
    (number < MARKS).then_some(number)
}

/// True if a text has a character that stands for a mark.
pub fn has_stand_in(text: &str) -> bool {
    // All of them begin with a byte of the last planes, which ordinary text does not have.
    text.as_bytes().contains(&0xf4) && text.contains(|one| stood_for(one).is_some())
}

/// True if a value is one stand-in and nothing else.
pub(super) fn is_stand_in(value: &str) -> bool {
    let mut characters = value.chars();
    characters.next().and_then(stood_for).is_some() && characters.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_has_a_stand_in_and_comes_back() {
        for (value, expected) in [
            ("$1", Some(1)),
            ("$64", Some(64)),
            ("$999", Some(999)),
            ("$1000", None),
            ("$0", None),
            ("$01", None),
            ("$", None),
            ("$+1", None),
            ("$-1", None),
            ("1", None),
            ("$1 ", None),
            ("$99999999999999999999", None),
        ] {
            let stands = stand_in(value);
            assert_eq!(stands.and_then(stood_for), expected, "{value}");
            assert!(stands.is_none_or(|stands| is_stand_in(&stands.to_string())));
            assert!(!is_stand_in(value) && !has_stand_in(value), "{value}");
        }
        assert_eq!(stood_for('$'), None);
        assert_eq!(stood_for(char::MAX), None);
        assert!(!is_stand_in("") && !is_stand_in("\u{10f001}x"));
        assert!(has_stand_in("a\u{10f001}b") && !has_stand_in("\u{100000}\u{10fffd}"));
    }
}
