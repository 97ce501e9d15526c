//! Marks that a client puts the real values in for later: `$1`, `$2` and so on.
//!
//! Such a value is rendered like any other. Whoever has to know afterwards which `$1` of a text was a
//! value, and which the author wrote, renders a stand-in for it: one character that nobody writes.

/// The stand-in of `$0`: a place that is nobody's, at the end of all characters.
const FIRST: u32 = 0x0010_F000;

/// The most marks there are; no prompt has as many arguments.
const MARKS: u32 = 256;

/// What stands in for a value that is a mark.
pub fn stand_in(value: &str) -> Option<char> {
    let number = number(value).filter(|number| *number < MARKS)?;
    char::from_u32(FIRST + number)
}

/// The number of the mark that a character stands in for.
pub fn stood_for(character: char) -> Option<u32> {
    let number = u32::from(character).checked_sub(FIRST)?;
    (number < MARKS).then_some(number)
}

/// The number of a mark, where a value is one and nothing else.
pub fn number(value: &str) -> Option<u32> {
    let digits = value.strip_prefix('$')?;
    // A sign is no digit, though numbers are read with one.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Whether a value is a mark, or what stands in for one.
pub(super) fn is_mark(value: &str) -> bool {
    let digits = value.strip_prefix('$').unwrap_or_default();
    let mut characters = value.chars();
    let is_stand_in = characters
        .next()
        .is_some_and(|one| stood_for(one).is_some());
    (is_stand_in && characters.next().is_none())
        || (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_has_a_stand_in_and_comes_back() {
        for (value, expected) in [
            ("$1", Some(1)),
            ("$64", Some(64)),
            ("$255", Some(255)),
            ("$256", None),
            ("$", None),
            ("$+1", None),
            ("$-1", None),
            ("1", None),
            ("$1 ", None),
            ("$99999999999999999999", None),
        ] {
            let stands = stand_in(value);
            assert_eq!(stands.and_then(stood_for), expected, "{value}");
            assert!(stands.is_none_or(|stands| is_mark(&stands.to_string())));
        }
        assert_eq!(stood_for('$'), None);
        assert_eq!(stood_for(char::MAX), None);
        assert!(is_mark("$99999999999999999999"));
        assert!(!is_mark("") && !is_mark("$") && !is_mark("$x") && !is_mark("\u{10f001}x"));
    }
}
