//! How long ago something was, or how long it lasts, as people type it: `7d`, `12h`, `30m`.

use twig_core::store::Timestamp;

/// The units, and their milliseconds.
const UNITS: [(char, i64); 5] = [
    ('w', 7 * 24 * 60 * 60 * 1_000),
    ('d', 24 * 60 * 60 * 1_000),
    ('h', 60 * 60 * 1_000),
    ('m', 60 * 1_000),
    ('s', 1_000),
];

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Age {
    millis: i64,
}

impl Age {
    /// The moment that is so long ago; 1970 at the earliest.
    pub(super) fn before(self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.millis).max(0))
    }

    /// The moment that is so far ahead.
    pub(super) fn after(self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_add(self.millis))
    }
}

/// Reads a number and its unit.
pub(super) fn parse_age(text: &str) -> Result<Age, String> {
    let age = UNITS.iter().find_map(|(unit, millis)| {
        let number = text.strip_suffix(*unit)?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = number.parse().ok().filter(|_| is_plain)?;
        let millis = number.checked_mul(*millis)?;
        Some(Age { millis })
    });
    age.ok_or_else(|| "it has to be a whole number with a unit: 30m, 12h, 7d or 2w".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        let now = Timestamp(2_000_000_000_000);
        let since = |text| parse_age(text).map(|age| now.0 - age.before(now).0);
        assert_eq!(since("7d"), Ok(7 * 86_400_000));
        assert_eq!(since("2w"), since("14d"));
        assert_eq!(since("90s"), Ok(90_000));
        assert_eq!(since("0m"), Ok(0));
        assert_eq!(since("99999999w"), Ok(now.0));
        for bad in [
            "",
            "d",
            "7",
            "-7d",
            "+7d",
            "7 d",
            "7D",
            "1.5h",
            "999999999999999w",
        ] {
            assert!(parse_age(bad).is_err(), "{bad}");
        }
    }
}
