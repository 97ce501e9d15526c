//! Refusals by the transport itself, as messages of the protocol.

use super::{Headers, Reply, ReplyError};
use crate::connection::write_refusal;
use crate::era::Era;
use crate::error::Refusal;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpRefusal {
    /// The body could not be read to its end.
    Body,
    /// There is no valid token.
    Token,
    /// The request names another host, which a flag would allow; `None` if it names none or
    /// several.
    Host(Option<String>),
    /// The `Origin` header names a site that is not allowed.
    Origin,
    /// The endpoint does not support the HTTP method, in this era or at all.
    Method,
    /// The client does not accept the type of the answer.
    NotAcceptable,
    /// The body took too long.
    Slow,
    /// The body is longer than this many bytes.
    TooLarge(usize),
    /// The content type of the body is not JSON.
    MediaType,
    /// There is no such session.
    NoSession,
    /// Nothing that the client may use is at this address.
    NoAddress,
    /// The client sends more requests than it may.
    TooFast,
    /// The store of the project cannot be read now.
    NoStore,
    /// Too many requests are waiting.
    Busy,
    /// There are this many sessions already.
    Sessions(usize),
    /// Something broke.
    Panic,
}

impl HttpRefusal {
    /// Every reason, for counters.
    pub const REASONS: [&str; 16] = [
        "body",
        "token",
        "host",
        "origin",
        "method",
        "not_acceptable",
        "slow",
        "too_large",
        "media_type",
        "no_session",
        "busy",
        "sessions",
        "panic",
        "no_address",
        "too_fast",
        "no_store",
    ];

    /// The reason in one word, one of [`HttpRefusal::REASONS`].
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Token => "token",
            Self::Host(_) => "host",
            Self::Origin => "origin",
            Self::Method => "method",
            Self::NotAcceptable => "not_acceptable",
            Self::Slow => "slow",
            Self::TooLarge(_) => "too_large",
            Self::MediaType => "media_type",
            Self::NoSession => "no_session",
            Self::NoAddress => "no_address",
            Self::TooFast => "too_fast",
            Self::NoStore => "no_store",
            Self::Busy => "busy",
            Self::Sessions(_) => "sessions",
            Self::Panic => "panic",
        }
    }

    /// The reply if the message was not read.
    pub fn reply(&self, headers: &Headers<'_>) -> Reply {
        self.reply_to(headers.era(), None)
    }

    pub(super) fn reply_to(&self, era: Era, id: Option<&str>) -> Reply {
        let (status, refusal) = match self {
            Self::Body => (400, Refusal::Invalid("The body could not be read")),
            Self::Token => {
                let what = "A valid key or token is needed, as `Authorization: Bearer …`: ask the people who run the server for one";
                (401, Refusal::Invalid(what))
            }
            Self::Host(Some(host)) => (403, Refusal::Host(host.clone())),
            Self::Host(None) => {
                let what = "The request must name one host, in a single `Host` header";
                (403, Refusal::Invalid(what))
            }
            Self::Origin => {
                let what = "The origin is not allowed: start the server with `--allow-origin` and that origin to answer its pages";
                (403, Refusal::Invalid(what))
            }
            Self::Method => (405, Refusal::Invalid("Use POST to send a message")),
            Self::NotAcceptable => {
                let what = "`Accept` must have `application/json` and `text/event-stream`";
                (406, Refusal::Invalid(what))
            }
            Self::Slow => (408, Refusal::Invalid("The body took too long")),
            Self::TooLarge(limit) => (413, Refusal::TooLong(*limit)),
            Self::MediaType => {
                let what = "`Content-Type` must be `application/json`";
                (415, Refusal::Invalid(what))
            }
            Self::NoSession => (404, Refusal::Session),
            Self::NoAddress => {
                let what = "There is nothing at this address: use `/mcp`, or `/mcp/WORKSPACE/PROJECT` of a project that you may read";
                (404, Refusal::Invalid(what))
            }
            Self::NoStore => {
                let what = "The project cannot be read now: try again, or ask the people who run the server";
                (503, Refusal::Invalid(what))
            }
            Self::TooFast => {
                let what = "Too many requests: wait as long as `Retry-After` says";
                (429, Refusal::Invalid(what))
            }
            Self::Busy => (503, Refusal::TooManyWait),
            Self::Sessions(limit) => (503, Refusal::Sessions(*limit)),
            Self::Panic => (500, Refusal::Panic),
        };
        let mut body = Vec::new();
        write_refusal(id.or(era.unreadable_id()), &refusal, &mut body);
        Reply {
            error: Some(ReplyError::Refused {
                code: refusal.code(),
                reason: self.reason(),
            }),
            ..Reply::new(status, body)
        }
    }
}
