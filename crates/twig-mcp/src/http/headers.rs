//! The headers that MCP defines, and whether they match the message.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::value::RawValue;

use super::http_refusal::HttpRefusal;
use crate::error::Refusal;
use crate::id;

/// The headers of one request, as they were written.
///
/// The caller passes a header that occurs twice, or is not text, as something that is not ASCII: it
/// then never matches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`
    pub version: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
    /// `Mcp-Session-Id`
    pub session: Option<&'a str>,
    /// `Accept`
    pub accept: Option<&'a str>,
    /// `Content-Type`
    pub content_type: Option<&'a str>,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

impl Headers<'_> {
    /// True if the client accepts a stream of events.
    pub fn accepts_stream(&self) -> bool {
        self.accepts(EVENTS)
    }

    /// Refuses a body that is not declared as JSON (a page of another site could send it unasked),
    /// and a client that does not accept JSON.
    pub(super) fn check_media(&self) -> Result<(), HttpRefusal> {
        let essence = self.content_type.map(essence).unwrap_or_default();
        if !essence.eq_ignore_ascii_case(JSON) {
            return Err(HttpRefusal::MediaType);
        }
        if !self.accepts(JSON) {
            return Err(HttpRefusal::NotAcceptable);
        }
        Ok(())
    }

    /// Compares the version with that of the message, as JSON.
    pub(super) fn check_body_version(&self, version: &str) -> Result<(), Refusal> {
        let version = id::decode(version);
        check("MCP-Protocol-Version", self.version, version.as_deref())
    }

    pub(super) fn check_method(&self, method: &str) -> Result<(), Refusal> {
        check("Mcp-Method", self.method, Some(method))
    }

    /// Compares the name; if the message has none, its handler reports that.
    pub(super) fn check_name(&self, name: Option<&RawValue>) -> Result<(), Refusal> {
        let name = name.and_then(|name| id::decode(name.get()));
        check("Mcp-Name", self.name, name.as_deref())
    }

    fn accepts(&self, kind: &str) -> bool {
        let Some(accept) = self.accept else {
            return true;
        };
        let family = kind.split('/').next().unwrap_or_default();
        accept.split(',').map(essence).any(|range| {
            let is_family = range
                .strip_suffix("/*")
                .is_some_and(|range| range.eq_ignore_ascii_case(family));
            range == "*/*" || is_family || range.eq_ignore_ascii_case(kind)
        })
    }
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

fn check(header: &str, value: Option<&str>, expected: Option<&str>) -> Result<(), Refusal> {
    let (value, expected) = match (value, expected) {
        (None, None) => return Ok(()),
        (None, Some(_)) => {
            return Err(Refusal::Header(format!("The header `{header}` is missing")));
        }
        (Some(_), None) => {
            let what = format!("The header `{header}` is set, but the message has no such value");
            return Err(Refusal::Header(what));
        }
        (Some(value), Some(expected)) => (value, expected),
    };
    let is_same = match encoded(value) {
        Some(base64) => BASE64_STANDARD
            .decode(base64)
            .is_ok_and(|bytes| bytes == expected.as_bytes()),
        None => value.is_ascii() && value == expected,
    };
    if is_same {
        return Ok(());
    }
    let what = format!("The header `{header}` does not match the message");
    Err(Refusal::Header(what))
}

/// The inside of `=?base64?…?=`, the form of values that a header cannot carry.
fn encoded(value: &str) -> Option<&str> {
    value.strip_prefix("=?base64?")?.strip_suffix("?=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fits_as_it_is_or_encoded() {
        assert!(check("h", Some("a"), Some("a")).is_ok());
        assert!(check("h", Some("=?base64?w7w=?="), Some("ü")).is_ok());
        for value in [
            "A",
            "a ",
            "ü",
            "=?base64?w7w?=",
            "=?base64?YQ==",
            "=?base64?w7w=\n?=",
            "=?base64?w7x=?=",
            "\u{fffd}",
        ] {
            assert!(check("h", Some(value), Some("ü")).is_err(), "{value}");
        }
    }

    #[test]
    fn accept_is_read_as_a_list_of_ranges() {
        let accepts = |accept| Headers {
            accept: Some(accept),
            ..Headers::default()
        };
        for accept in ["*/*", "text/*", "a/b, Text/Event-Stream;q=0.5"] {
            assert!(accepts(accept).accepts_stream(), "{accept}");
        }
        for accept in ["", "application/json", "text", "text/event-streams"] {
            assert!(!accepts(accept).accepts_stream(), "{accept}");
        }
    }
}
