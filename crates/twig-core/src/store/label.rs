//! Labels: names such as `production` for one version of a prompt or resource.

use std::fmt;

use super::error::StoreError;
use super::version::Version;

/// The longest label, in bytes.
const LONGEST: usize = 64;

/// The most labels that one prompt or resource has.
pub const MOST_LABELS: usize = 32;

/// The most labels that a project protects.
pub const MOST_PROTECTED: usize = 100;

/// A label that was checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelName(Box<str>);

impl LabelName {
    /// Checks a label.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if is_label(text) {
            return Ok(Self(text.into()));
        }
        Err(StoreError::BadLabel { label: text.into() })
    }

    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LabelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A label without letters would look like the number of a version.
fn is_label(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || is_mark(byte);
    text.len() <= LONGEST
        && text.bytes().all(is_good)
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'-' | b'_')
}

/// The name and the label of `name@label`; the label is not checked.
pub fn split_label(text: &str) -> Option<(&str, &str)> {
    let (name, label) = text.rsplit_once('@')?;
    (!name.is_empty() && !label.is_empty()).then_some((name, label))
}

/// A version that has a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledVersion {
    /// The label.
    pub label: LabelName,
    /// The version that it names.
    pub version: Version,
}

/// Chooses one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionChoice {
    /// The one with this number.
    Number(u64),
    /// The one with this label.
    Label(LabelName),
}

impl VersionChoice {
    /// Reads what follows the `@`: a number, or a label.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        match text.parse() {
            Ok(number) if number > 0 => Ok(Self::Number(number)),
            _ => LabelName::parse(text).map(Self::Label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_lower_case_and_not_a_number() {
        for good in ["production", "v2", "a", "2026-11_rc", &"a".repeat(64)] {
            assert!(LabelName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "3",
            "Prod",
            "a.b",
            "a b",
            "é",
            "-",
            "a@b",
            &"a".repeat(65),
        ] {
            let error = LabelName::parse(bad).unwrap_err();
            assert!(error.to_string().contains("lower case"), "{error}");
        }
        assert_eq!(VersionChoice::parse("3"), Ok(VersionChoice::Number(3)));
        assert!(VersionChoice::parse("0").is_err());
        let label = LabelName::parse("v2").map(VersionChoice::Label);
        assert_eq!(VersionChoice::parse("v2"), label);
    }

    #[test]
    fn the_last_at_sign_begins_the_label() {
        assert_eq!(split_label("a@b@c"), Some(("a@b", "c")));
        assert_eq!(split_label("p:a@b"), Some(("p:a", "b")));
        for none in ["a", "a@", "@b", "@", ""] {
            assert_eq!(split_label(none), None, "{none}");
        }
    }
}
