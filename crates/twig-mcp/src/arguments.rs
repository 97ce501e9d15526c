//! Argument values as clients send them: read in one pass, borrowed if possible, converted to text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use twig_core::Limits;
use twig_core::problem::shorten;

use crate::error::Refusal;
use crate::id;

/// Pairs past this number are counted but not stored: no configuration comes near it.
const KEPT: usize = 1024;

/// Room for this many pairs is made at once.
const USUAL: usize = 16;

/// A name and its value.
pub(crate) type ArgumentPair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The `arguments` of a request. Mistakes are kept for later, because other checks decide first
/// whether the request is answered at all.
#[derive(Debug, Default)]
pub(crate) struct RequestArguments<'a> {
    pairs: Vec<ArgumentPair<'a>>,
    count: usize,
    fault: Option<ArgumentsError>,
}

#[derive(Debug)]
enum ArgumentsError {
    NotAnObject,
    NotText(String),
}

impl<'a> RequestArguments<'a> {
    /// The pairs, or the first mistake.
    pub(crate) fn into_pairs(self, limits: &Limits) -> Result<Vec<ArgumentPair<'a>>, Refusal> {
        let sentence = match self.fault {
            Some(ArgumentsError::NotAnObject) => "`arguments` must be an object".to_owned(),
            Some(ArgumentsError::NotText(name)) => {
                format!("Argument `{name}` must be a string, a number or a boolean")
            }
            None if self.count > limits.arguments.min(KEPT) => format!(
                "{} arguments exceed the limit of {}",
                self.count,
                limits.arguments.min(KEPT)
            ),
            None => match twice(&self.pairs) {
                Some(name) => format!("Argument `{}` is given twice", shorten(name, 64)),
                None => return Ok(self.pairs),
            },
        };
        Err(Refusal::Params(sentence))
    }

    fn take(&mut self, name: Cow<'a, str>, value: &'a RawValue) {
        self.count += 1;
        if self.pairs.len() == KEPT || self.fault.is_some() {
            return;
        }
        match coerce(value.get()) {
            Ok(Some(value)) => self.pairs.push((name, value)),
            Ok(None) => {}
            Err(NotText) => self.fault = Some(ArgumentsError::NotText(shorten(&name, 64))),
        }
    }
}

/// A value that cannot become text.
struct NotText;

/// A value's text: strings as they are, numbers and booleans as written, null as absent.
fn coerce(json: &str) -> Result<Option<Cow<'_, str>>, NotText> {
    match json.as_bytes().first() {
        Some(b'"') => id::decode(json).map(Some).ok_or(NotText),
        Some(b'n') => Ok(None),
        Some(b'{' | b'[') | None => Err(NotText),
        Some(_) => Ok(Some(Cow::Borrowed(json))),
    }
}

fn twice<'p>(pairs: &'p [ArgumentPair<'_>]) -> Option<&'p str> {
    // At most a few dozen pairs get here: comparing them all is cheaper than hashing. Names of
    // equal length mostly differ at their end, which saves comparing the rest.
    let is_same = |one: &str, two: &str| {
        one.len() == two.len() && one.as_bytes().last() == two.as_bytes().last() && one == two
    };
    let names = || pairs.iter().map(|(name, _)| &**name);
    names()
        .enumerate()
        .find(|(at, name)| names().take(*at).any(|other| is_same(other, name)))
        .map(|(_, name)| name)
}

impl<'de: 'a, 'a> Deserialize<'de> for RequestArguments<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = RequestArguments<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut arguments = RequestArguments {
            pairs: Vec::with_capacity(USUAL),
            ..RequestArguments::default()
        };
        while let Some(ArgumentKey(name)) = map.next_key()? {
            arguments.take(name, map.next_value()?);
        }
        Ok(arguments)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(not_an_object())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(not_an_object())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(not_an_object())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(not_an_object())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(not_an_object())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(not_an_object())
    }
}

fn not_an_object<'a>() -> RequestArguments<'a> {
    RequestArguments {
        fault: Some(ArgumentsError::NotAnObject),
        ..RequestArguments::default()
    }
}

/// A key, borrowed unless it was escaped.
pub(crate) struct ArgumentKey<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for ArgumentKey<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgumentKeyVisitor;
        impl<'de> Visitor<'de> for ArgumentKeyVisitor {
            type Value = ArgumentKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(ArgumentKey(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(ArgumentKey(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(ArgumentKeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(json: &str) -> Result<Vec<(String, String)>, String> {
        let arguments: RequestArguments<'_> = serde_json::from_str(json).unwrap();
        match arguments.into_pairs(&Limits::default()) {
            Ok(pairs) => Ok(pairs
                .into_iter()
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect()),
            Err(refusal) => Err(refusal.to_string()),
        }
    }

    #[test]
    fn numbers_and_booleans_are_their_json_text() {
        let json = r#"{"a":1,"b":-1.50,"c":true,"d":null,"e":"x\ny","f":123456789012345678901}"#;
        let texts: Vec<String> = pairs(json).unwrap().into_iter().map(|p| p.1).collect();
        assert_eq!(
            texts,
            ["1", "-1.50", "true", "x\ny", "123456789012345678901"]
        );
    }

    #[test]
    fn what_cannot_be_text_is_named() {
        let sentence = "Argument `b` must be a string, a number or a boolean";
        for json in [r#"{"a":1,"b":[]}"#, r#"{"b":{}}"#, r#"{"b":"\ud800"}"#] {
            assert_eq!(pairs(json).unwrap_err(), sentence);
        }
        for json in ["[1]", "\"x\"", "true", "1", "-1", "1.5"] {
            assert_eq!(pairs(json).unwrap_err(), "`arguments` must be an object");
        }
        assert_eq!(
            pairs(r#"{"a":1,"\u0061":2}"#).unwrap_err(),
            "Argument `a` is given twice"
        );
    }

    #[test]
    fn the_number_of_arguments_is_limited() {
        let many = |count: usize| {
            let members: Vec<String> = (0..count).map(|at| format!("\"a{at}\":1")).collect();
            pairs(&format!("{{{}}}", members.join(",")))
        };
        assert_eq!(many(64).unwrap().len(), 64);
        assert_eq!(many(65).unwrap_err(), "65 arguments exceed the limit of 64");
        assert!(many(5000).is_err());
    }

    proptest! {
        #[test]
        fn strings_arrive_as_they_were_sent(name in any::<String>(), value in any::<String>()) {
            let json = serde_json::json!({ name.clone(): value.clone() }).to_string();
            prop_assert_eq!(pairs(&json).unwrap(), [(name, value)]);
        }

        #[test]
        fn numbers_arrive_as_they_were_written(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let text = serde_json::json!(value).to_string();
            let json = format!("{{\"a\":{text}}}");
            prop_assert_eq!(pairs(&json).unwrap(), [("a".to_owned(), text)]);
        }
    }
}
