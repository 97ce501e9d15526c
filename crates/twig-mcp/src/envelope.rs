//! The JSON-RPC envelope: what kind of message came in, and whether it is valid.
//!
//! Params stay unparsed here: the method decides how to read them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use twig_core::Limits;

use crate::error::Refusal;
use crate::id;

/// One message.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// To be answered under its id, which is kept as written.
    Request(Request<'a>),
    /// Never answered.
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// The answer to a request of the server: its id as written, and its result unless it is an
    /// error.
    Response {
        id: &'a str,
        result: Option<&'a RawValue>,
    },
    /// An empty line, or a response that is malformed.
    Nothing,
}

/// A message that expects an answer.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: &'a str,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// An invalid message, and its id if one could be read.
#[derive(Debug)]
pub(crate) struct RefusedMessage<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) refusal: Refusal,
}

/// Reads the envelope of a message.
pub(crate) fn read<'a>(
    message: &'a [u8],
    limits: &Limits,
) -> Result<Incoming<'a>, RefusedMessage<'a>> {
    let text = std::str::from_utf8(message).map_err(|error| {
        let at = error.valid_up_to();
        refuse(None, Refusal::Parse(format!("not UTF-8 at byte {at}")))
    })?;
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    match text.as_bytes().first() {
        None => return Ok(Incoming::Nothing),
        Some(b'{') => {}
        Some(first) => {
            serde_json::from_str::<IgnoredAny>(text).map_err(|error| not_json(&error))?;
            let what = if *first == b'[' {
                "Batches are not taken: send one message at a time"
            } else {
                "A message must be a JSON object"
            };
            return Err(refuse(None, Refusal::Invalid(what)));
        }
    }
    let members: EnvelopeMembers<'_> =
        serde_json::from_str(text).map_err(|error| not_json(&error))?;
    let incoming = members.sort()?;
    match &incoming {
        Incoming::Request(request) if is_deeper(text, limits.json_depth) => {
            let refusal = Refusal::TooDeep(limits.json_depth);
            Err(refuse(Some(request.id), refusal))
        }
        Incoming::Response { .. } if is_deeper(text, limits.json_depth) => Ok(Incoming::Nothing),
        _ => Ok(incoming),
    }
}

fn refuse(id: Option<&str>, refusal: Refusal) -> RefusedMessage<'_> {
    RefusedMessage { id, refusal }
}

fn not_json(error: &serde_json::Error) -> RefusedMessage<'static> {
    refuse(None, Refusal::Parse(error.to_string()))
}

/// The known members of a message, as they were written.
#[derive(Debug, Default)]
struct EnvelopeMembers<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    twice: Option<EnvelopeKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EnvelopeKey {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'a> EnvelopeMembers<'a> {
    fn sort(self) -> Result<Incoming<'a>, RefusedMessage<'a>> {
        if self.method.is_none() && (self.result.is_some() || self.error.is_some()) {
            // Two peers that answer each other's answers would never stop, so even a wrong one is
            // ignored.
            return Ok(match self.id.map(RawValue::get) {
                Some(id) if self.twice.is_none() => Incoming::Response {
                    id,
                    result: self.result,
                },
                _ => Incoming::Nothing,
            });
        }
        let readable = self
            .id
            .map(RawValue::get)
            .filter(|token| self.twice != Some(EnvelopeKey::Id) && id::is_id(token));
        let invalid = |what| refuse(readable, Refusal::Invalid(what));
        if self.twice.is_some() {
            return Err(invalid("A message must not have a member twice"));
        }
        let version = self.jsonrpc.and_then(|version| id::decode(version.get()));
        if version.as_deref() != Some("2.0") {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        if self.id.is_some() && readable.is_none() {
            return Err(invalid("`id` must be a string or a whole number"));
        }
        let Some(method) = self.method.and_then(|method| id::decode(method.get())) else {
            return Err(invalid("`method` must be a string"));
        };
        let params = self.params.filter(|params| params.get() != "null");
        let Some(id) = readable else {
            return Ok(Incoming::Notification { method, params });
        };
        if params.is_some_and(|params| !params.get().starts_with('{')) {
            return Err(invalid("`params` must be an object"));
        }
        Ok(Incoming::Request(Request { id, method, params }))
    }
}

impl<'de> Deserialize<'de> for EnvelopeMembers<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;
        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = EnvelopeMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = EnvelopeMembers::default();
                while let Some(key) = map.next_key::<EnvelopeKey>()? {
                    let place = match key {
                        EnvelopeKey::Jsonrpc => &mut members.jsonrpc,
                        EnvelopeKey::Id => &mut members.id,
                        EnvelopeKey::Method => &mut members.method,
                        EnvelopeKey::Params => &mut members.params,
                        EnvelopeKey::Result => &mut members.result,
                        EnvelopeKey::Error => &mut members.error,
                        EnvelopeKey::Other => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    if place.replace(map.next_value()?).is_some() {
                        members.twice.get_or_insert(key);
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

impl<'de> Deserialize<'de> for EnvelopeKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EnvelopeKeyVisitor;
        impl Visitor<'_> for EnvelopeKeyVisitor {
            type Value = EnvelopeKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> Result<EnvelopeKey, E> {
                Ok(match key {
                    "jsonrpc" => EnvelopeKey::Jsonrpc,
                    "id" => EnvelopeKey::Id,
                    "method" => EnvelopeKey::Method,
                    "params" => EnvelopeKey::Params,
                    "result" => EnvelopeKey::Result,
                    "error" => EnvelopeKey::Error,
                    _ => EnvelopeKey::Other,
                })
            }
        }
        deserializer.deserialize_identifier(EnvelopeKeyVisitor)
    }
}

/// Whether valid JSON nests deeper than a limit.
fn is_deeper(json: &str, limit: usize) -> bool {
    // Nesting needs brackets: most messages have too few to need the exact count.
    brackets(json) > limit && depth(json) > limit
}

/// How many brackets open in JSON, in strings too.
fn brackets(json: &str) -> usize {
    // Counting in bytes, one block at a time that cannot overflow them, lets the compiler
    // vectorise.
    let count = |block: &[u8]| -> u8 {
        let opens = |byte: &u8| u8::from(matches!(byte, b'{' | b'['));
        block.iter().map(opens).sum()
    };
    let blocks = json.as_bytes().chunks(128);
    blocks.map(|block| usize::from(count(block))).sum()
}

/// How deep valid JSON nests; brackets in strings do not count.
fn depth(json: &str) -> usize {
    let (mut deepest, mut depth, mut in_string) = (0, 0usize, false);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_string => {
                bytes.next();
            }
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_are_not_depth() {
        assert_eq!(depth(r#"{"a":["[[[\"[[",{}]}"#), 3);
        assert_eq!(depth("[]"), 1);
        assert!(is_deeper(r"[[[]]]", 2));
        assert!(!is_deeper(r"[[[]]]", 3));
    }

    #[test]
    fn keys_written_with_escapes_are_the_same_keys() {
        let message = br#"{"jsonrpc":"2.0","\u0069d":1,"id":2,"method":"ping"}"#;
        let refused = read(message, &Limits::default()).unwrap_err();
        assert!(refused.id.is_none());
    }
}
