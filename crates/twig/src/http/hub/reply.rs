//! A page of the hub as a response: validators, lengths, and memory for long ones.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use twig_mcp::SharedPart;
use twig_mcp::http::{HttpRefusal, Reply};
use twig_packages::published::published_digest;
use twig_packages::tree::hex;

use super::super::limits::SMALL_REPLY;
use super::super::replies::Replies;
use super::archives::HubArchive;

pub(super) const JSON: &str = "application/json";
pub(super) const MARKDOWN: &str = "text/markdown; charset=utf-8";
pub(super) const ZIP: &str = "application/zip";
/// For files of skills that are not Markdown: a browser shows none of them as a page.
pub(super) const BYTES: &str = "application/octet-stream";

/// The bytes of a page, and what they are.
pub(super) struct HubReply {
    media_type: &'static str,
    digest: [u8; 32],
    bytes: Arc<Vec<u8>>,
}

impl HubReply {
    pub(super) fn new(media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            media_type,
            digest: published_digest(&bytes),
            bytes: Arc::new(bytes),
        }
    }

    pub(super) fn archive(archive: HubArchive) -> Self {
        Self {
            media_type: ZIP,
            digest: archive.digest,
            bytes: archive.bytes,
        }
    }

    /// The response to a GET or HEAD, once there is memory for it.
    pub(super) async fn respond(
        self,
        request: &Parts,
        replies: &Arc<Replies>,
    ) -> Result<Response, HttpRefusal> {
        let tag = format!("\"{}\"", hex(&self.digest));
        let length = self.bytes.len();
        let is_known = has_tag(&request.headers, &tag);
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else if request.method == Method::HEAD {
            Response::new(Body::empty())
        } else {
            Response::new(body(self.bytes, &tag, replies).await?)
        };
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(header::ETAG, tag);
        }
        // Others may see something else under the same address.
        let caching = HeaderValue::from_static("private, no-cache");
        headers.insert(header::CACHE_CONTROL, caching);
        if !is_known {
            let media_type = HeaderValue::from_static(self.media_type);
            headers.insert(header::CONTENT_TYPE, media_type);
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            let no_guessing = HeaderValue::from_static("nosniff");
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, no_guessing);
        }
        Ok(response)
    }
}

/// The bytes as a body; many clients that read the same ones share them.
async fn body(bytes: Arc<Vec<u8>>, tag: &str, replies: &Arc<Replies>) -> Result<Body, HttpRefusal> {
    if bytes.len() <= SMALL_REPLY {
        return Ok(Body::from(Arc::unwrap_or_clone(bytes)));
    }
    let document = replies.document(format!("hub:{tag}"), bytes.len()).await?;
    let reply = Reply {
        status: 200,
        body: Vec::new(),
        shared: Some(SharedPart { at: 0, bytes }),
        error: None,
    };
    replies.body(reply, Some(document)).await
}

/// The answer to any other method.
pub(super) fn wrong_method() -> Response {
    let mut response = StatusCode::METHOD_NOT_ALLOWED.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// True if the client has these bytes already.
fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut tags = texts.flat_map(|text| text.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared() {
        let known = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(text));
            has_tag(&headers, "\"a\"")
        };
        for text in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert!(known(text), "{text}");
        }
        for text in ["", "a", "\"b\"", "\"aa\""] {
            assert!(!known(text), "{text}");
        }
        assert!(!has_tag(&HeaderMap::new(), "\"a\""));
    }
}
