//! JSON that keeps the order of its keys and duplicate keys. Places are looked up when needed.
//!
//! `serde_json` does the parsing. It keeps no places, and most files need none: for a file that has
//! a mistake, the place is found by walking the text again.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::depth;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    /// A whole number that is not negative.
    Whole(u64),
    /// Any other number.
    Number,
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonSyntaxError {
    pub(super) message: String,
    pub(super) at: usize,
}

/// Reads a text.
pub(super) fn read(text: &str) -> Result<Json<'_>, JsonSyntaxError> {
    depth::json(text).map_err(|error| JsonSyntaxError {
        message: error.to_string(),
        at: error.at,
    })?;
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        // Cuts off the library's own position: the caller reports the position too.
        let what = message.split(" at line ").next().unwrap_or(&message);
        let lines = text.split_inclusive('\n');
        let before: usize = lines
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum();
        let at = (before + error.column().saturating_sub(1)).min(text.len());
        JsonSyntaxError {
            message: what.to_owned(),
            at,
        }
    })
}

impl Json<'_> {
    /// Its type, for people.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Whole(_) | Self::Number => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// The path from the root to a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(super) fn key(&'p self, key: &'p str) -> Self {
        Self::Key(self, key)
    }

    pub(super) fn index(&'p self, at: usize) -> Self {
        Self::Index(self, at)
    }

    /// The bytes of the value in its text; if a key occurs twice, the last one counts.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        let raw = self.raw(text)?;
        let start = raw.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        Some(start..start + raw.len())
    }

    fn raw<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = match self {
            Self::Root => serde_json::from_str::<&RawValue>(text).ok()?.get(),
            Self::Key(parent, key) => {
                let members: JsonMembers<'_> = serde_json::from_str(parent.raw(text)?).ok()?;
                let mut members = members.0.into_iter().rev();
                members.find(|(name, _)| name == key)?.1.get()
            }
            Self::Index(parent, at) => {
                let items: Vec<&RawValue> = serde_json::from_str(parent.raw(text)?).ok()?;
                items.get(*at)?.get()
            }
        };
        Some(found)
    }
}

/// `$.messages[0].content`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match self {
            Self::Root => f.write_str("$"),
            Self::Key(parent, key) if is_plain(key) => write!(f, "{parent}.{key}"),
            Self::Key(parent, key) => {
                let key = crate::problem::shorten(key, 64);
                write!(f, "{parent}[\"{}\"]", key.escape_debug())
            }
            Self::Index(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

/// The position of a byte of a string's text in the string as it is written, including quotes.
pub(super) fn written_at(written: &str, offset: usize) -> usize {
    let mut chars = written.char_indices().skip(1);
    let mut decoded = 0;
    while decoded < offset {
        let Some((at, c)) = chars.next() else {
            return written.len();
        };
        if c != '\\' {
            decoded += c.len_utf8();
            continue;
        }
        let Some((_, 'u')) = chars.next() else {
            decoded += 1;
            continue;
        };
        let digits = written.get(at + 2..at + 6).unwrap_or_default();
        let unit = u32::from_str_radix(digits, 16).unwrap_or(0);
        // Half of a pair counts as two of its four bytes.
        decoded += char::from_u32(unit).map_or(2, char::len_utf8);
        chars.by_ref().take(4).for_each(drop);
    }
    chars.next().map_or(written.len(), |(at, _)| at)
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonVisitor;
        impl<'de> Visitor<'de> for JsonVisitor {
            type Value = Json<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Json::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Json::Bool(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Json::Whole(value))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Json::Number)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Json::Number)
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Json::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Json::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Json::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(JsonKey(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Json::Object(members))
            }
        }
        deserializer.deserialize_any(JsonVisitor)
    }
}

/// The members of an object, unread.
struct JsonMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonMembersVisitor;
        impl<'de> Visitor<'de> for JsonMembersVisitor {
            type Value = JsonMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(JsonKey(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(JsonMembers(members))
            }
        }
        deserializer.deserialize_map(JsonMembersVisitor)
    }
}

/// A key, borrowed unless it was escaped.
#[derive(Deserialize)]
struct JsonKey<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_path() {
        let text = "{\n \"a\": [1, {\"b\\u0063\": \"x\"}],\n \"a\": [0, {\"bc\": null}]\n}";
        let root = Path::Root;
        let (list, key) = (root.key("a"), "bc");
        let item = list.index(1);
        let path = item.key(key);
        assert_eq!(path.to_string(), "$.a[1].bc");
        let found = path.find(text).unwrap();
        assert_eq!(&text[found.clone()], "null");
        assert!(found.start > text.find('x').unwrap(), "the last one counts");
        assert_eq!(list.index(2).find(text), None);
        assert_eq!(root.key("$ref").to_string(), "$[\"$ref\"]");
    }

    #[test]
    fn a_byte_of_a_text_is_found_where_it_is_written() {
        for (written, text) in [
            ("\"abc X\"", "abc X"),
            ("\"a\\n\\\"\\\\ X\"", "a\n\"\\ X"),
            ("\"\\u00fc\u{fc} X\"", "\u{fc}\u{fc} X"),
            ("\"\\ud83c\\udf31 X\"", "\u{1f331} X"),
        ] {
            assert_eq!(read(written), Ok(Json::Text(Cow::Borrowed(text))));
            let at = written_at(written, text.find('X').unwrap());
            assert_eq!(&written[at..], "X\"", "{written}");
        }
        assert_eq!(written_at("\"a\"", 9), 3);
    }

    #[test]
    fn what_is_no_json_has_a_place() {
        let error = read("{\n  \"a\": trx\n}").unwrap_err();
        assert_eq!(error.at, 11);
        assert!(!error.message.contains("line"), "{}", error.message);
        let deep = "[".repeat(100_000);
        assert!(read(&deep).is_err());
        assert!(read("").is_err());
    }
}
