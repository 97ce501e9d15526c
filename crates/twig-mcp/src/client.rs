//! The name that a client gives itself: stored with what it writes, and never trusted.

use serde::Deserialize;
use serde_json::value::RawValue;
use twig_core::hidden::{self, TextPlace};
use twig_core::store::LONGEST_AUTHOR;

use crate::id;
use crate::params::ObjectMembers;

/// The name of a client that gave none.
pub(crate) const UNKNOWN: &str = "unknown";

/// The name in a client's description of itself; `None` if there is no readable one.
pub(crate) fn name(info: Option<&RawValue>) -> Option<Box<str>> {
    #[derive(Deserialize)]
    struct Info<'a> {
        #[serde(borrow, default)]
        name: Option<&'a RawValue>,
    }
    let ObjectMembers(info) = serde_json::from_str::<ObjectMembers<Info<'_>>>(info?.get()).ok()?;
    let name = id::decode(info.name?.get())?;
    let name = name.trim();
    let is_readable =
        !name.contains(char::is_control) && hidden::find(name, TextPlace::Label).is_none();
    (!name.is_empty() && is_readable).then(|| name.chars().take(LONGEST_AUTHOR).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(json: &str) -> Option<Box<str>> {
        name(Some(serde_json::from_str(json).unwrap()))
    }

    #[test]
    fn a_name_is_kept_as_people_can_read_it() {
        let info = r#"{"name":" claude-code ","version":"2"}"#;
        assert_eq!(named(info).as_deref(), Some("claude-code"));
        let long = format!(r#"{{"name":"{}"}}"#, "n".repeat(LONGEST_AUTHOR + 1));
        assert_eq!(named(&long).unwrap().chars().count(), LONGEST_AUTHOR);
    }

    #[test]
    fn what_is_no_name_is_none() {
        for json in [
            "{}",
            "[]",
            "3",
            r#"{"name":3}"#,
            r#"{"name":" "}"#,
            r#"{"name":"a\nb"}"#,
            r#"{"name":"\u001b[2J"}"#,
            r#"{"name":"\ud800"}"#,
        ] {
            assert_eq!(named(json), None, "{json}");
        }
        assert_eq!(name(None), None);
    }
}
