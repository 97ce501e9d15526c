//! Converts the headers of a request to those that the protocol reads.

use axum::http::{HeaderMap, HeaderName, header};
use twig_mcp::http::Headers;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Stands for an unreadable header; it matches nothing.
const UNREADABLE: &str = "\u{fffd}";

/// Passes the headers to a closure that must not block.
pub(super) fn with_headers<T>(headers: &HeaderMap, then: impl FnOnce(&Headers<'_>) -> T) -> T {
    let accept = accept(headers);
    then(&read_headers(headers, accept.as_deref()))
}

/// The headers that the protocol reads, with the result of [`accept`].
pub(super) fn read_headers<'h>(headers: &'h HeaderMap, accept: Option<&'h str>) -> Headers<'h> {
    Headers {
        version: one(headers, VERSION),
        method: one(headers, METHOD),
        name: one(headers, NAME),
        session: one(headers, SESSION),
        accept,
        content_type: one(headers, header::CONTENT_TYPE),
    }
}

/// The media types that a client accepts, from any number of headers.
pub(super) fn accept(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::ACCEPT).iter();
    let values: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    (!values.is_empty()).then(|| values.join(","))
}

/// A header that may occur once. One that occurs twice or is not text matches nothing.
pub(super) fn one(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().unwrap_or(UNREADABLE);
    Some(values.next().map_or(first, |_| UNREADABLE))
}
