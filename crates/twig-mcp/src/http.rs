//! MCP as HTTP sees it: from headers and a body to a status and a body, in both eras.
//!
//! A transport reads a request and calls [`post`], finds the connection that the [`Exchange`]
//! names, and lets it answer. The transport handles sockets, session ids and timeouts, streams, and
//! access control; it writes its own refusals through [`HttpRefusal`].

mod headers;
mod http_refusal;

use std::sync::Arc;

use twig_core::{Catalog, World};

pub use self::headers::Headers;
pub use self::http_refusal::HttpRefusal;
use crate::connection::{Answered, Connection, write_refusal};
use crate::envelope::{self, Incoming, Request};
use crate::era::{Era, MODERN, SUPPORTED_VERSIONS, VERSION_KEY};
use crate::error::Refusal;
use crate::in_flight::{Job, Ticket, WorkOutcome};
use crate::long_documents::LONG;
use crate::meta;
use crate::outbox::{Outbox, SharedPart};
use crate::params::{self, ObjectMembers, ParamFields};
use crate::server::Server;

/// An immediate answer: a status and JSON, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
    /// A long part of the body that is shared with other replies, to avoid copies.
    pub shared: Option<SharedPart>,
    /// Set if the reply is an error.
    pub error: Option<ReplyError>,
}

/// What kind of error a reply is, for counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyError {
    /// An error with this JSON-RPC code.
    Code(i32),
    /// The transport refused the request.
    Refused {
        /// The JSON-RPC code.
        code: i32,
        /// The reason, one of [`HttpRefusal::REASONS`].
        reason: &'static str,
    },
    /// The result of a tool that ran and failed.
    Tool,
}

/// Which connection an exchange needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionKind<'a> {
    /// A new one, dropped afterwards: the modern era has no sessions.
    Fresh,
    /// A new one, kept as a session if the answer says so.
    New,
    /// That of a session.
    Session(&'a str),
}

/// A message that was accepted.
#[derive(Debug)]
pub struct Exchange<'a> {
    incoming: Incoming<'a>,
    era: Era,
    seat: ConnectionKind<'a>,
    /// True if the client accepts a stream as the answer.
    may_stream: bool,
}

/// How an exchange continues.
#[derive(Debug)]
pub enum HttpAnswer {
    /// It is over.
    Reply(Reply),
    /// It is over, and a session has begun: its id goes into `Mcp-Session-Id`.
    Session(Reply),
    /// A stream of messages begins with this one; keep the connection for the others.
    Stream(Vec<u8>),
    /// Run this job and pass its result to [`finish`].
    Job(Job),
    /// A stream begins with this question to the client. Its last messages are those of the
    /// [`ResumedRequest`] with this ticket, or of the job once it is finished as
    /// [`WorkOutcome::Unanswered`].
    Question(Vec<u8>, Ticket),
    /// The message was the answer to a question; this is for its stream.
    Resumed(Ticket, ResumedRequest),
}

/// How a request goes on after its client has answered a question.
#[derive(Debug)]
pub enum ResumedRequest {
    /// With its answer.
    Reply(Reply),
    /// With a job, as for [`HttpAnswer::Job`].
    Job(Job),
}

/// Reads a POST: decides its era and whether its headers match its message.
pub fn post<'a>(
    server: &Server,
    headers: &Headers<'a>,
    body: &'a [u8],
) -> Result<Exchange<'a>, Reply> {
    let header_era = headers.era();
    headers
        .check_media()
        .map_err(|trouble| trouble.reply(headers))?;
    if body.len() > server.limits.message {
        return Err(HttpRefusal::TooLarge(server.limits.message).reply(headers));
    }
    let incoming = envelope::read(body, &server.limits)
        .map_err(|refused| refuse(header_era, refused.id, &refused.refusal))?;
    let era = match &incoming {
        Incoming::Request(request) => request_era(headers, request)
            .map_err(|(era, refusal)| refuse(era, Some(request.id), &refusal))?,
        Incoming::Notification { method, .. } => {
            check_version(headers).map_err(|refusal| refuse(header_era, None, &refusal))?;
            // The revision requires the header on requests only, so it may be missing.
            if header_era == Era::Modern && headers.method.is_some() {
                headers
                    .check_method(method)
                    .map_err(|refusal| refuse(header_era, None, &refusal))?;
            }
            header_era
        }
        Incoming::Nothing if body.trim_ascii().is_empty() => {
            let refusal = Refusal::Parse("the body is empty".to_owned());
            return Err(refuse(header_era, None, &refusal));
        }
        Incoming::Nothing | Incoming::Response { .. } if header_era == Era::Modern => {
            let refusal = Refusal::Invalid("Nothing was asked that a client could answer");
            return Err(refuse(header_era, None, &refusal));
        }
        Incoming::Nothing | Incoming::Response { .. } => Era::Legacy,
    };
    let id = incoming.id();
    let is_initialize = matches!(&incoming, Incoming::Request(r) if r.method == "initialize");
    let seat = match (era, headers.session) {
        (Era::Modern, _) => ConnectionKind::Fresh,
        (Era::Legacy, _) if is_initialize => ConnectionKind::New,
        (Era::Legacy, Some(session)) => ConnectionKind::Session(session),
        (Era::Legacy, None) => {
            let what = "A session is needed: send `initialize` first, or give your version in `MCP-Protocol-Version` and `params._meta`";
            return Err(refuse(era, id, &Refusal::Invalid(what)));
        }
    };
    if let Incoming::Request(request) = &incoming
        && request.method == "subscriptions/listen"
        && !headers.accepts_stream()
    {
        return Err(HttpRefusal::NotAcceptable.reply_to(era, id));
    }
    Ok(Exchange {
        incoming,
        era,
        seat,
        may_stream: headers.accept.is_some() && headers.accepts_stream(),
    })
}

/// The session that a GET or a DELETE is about.
pub fn session<'a>(headers: &Headers<'a>) -> Result<&'a str, Reply> {
    match headers.session {
        Some(session) if headers.era() == Era::Legacy => {
            check_version(headers).map_err(|refusal| refuse(Era::Legacy, None, &refusal))?;
            Ok(session)
        }
        // The modern era has neither; and without a session there is no stream to open or to end.
        _ => Err(HttpRefusal::Method.reply(headers)),
    }
}

/// Takes the result of a job and answers its request, unless it was cancelled meanwhile.
pub fn finish(connection: &mut Connection, ticket: Ticket, done: impl Into<WorkOutcome>) -> Reply {
    let mut out = ReplyBody::default();
    connection.finish(ticket, done, &mut out);
    if out.bytes.is_empty() {
        return Reply::accepted();
    }
    out.reply(200)
}

impl<'a> Exchange<'a> {
    /// Which connection it needs.
    pub fn seat(&self) -> ConnectionKind<'a> {
        self.seat
    }

    /// The method of the request or notification; `None` if the message is an answer.
    pub fn method(&self) -> Option<&str> {
        match &self.incoming {
            Incoming::Request(request) => Some(&request.method),
            Incoming::Notification { method, .. } => Some(method),
            Incoming::Response { .. } | Incoming::Nothing => None,
        }
    }

    /// Answers on that connection.
    pub fn answer(&self, connection: &mut Connection, world: World<'_>) -> HttpAnswer {
        let request = match &self.incoming {
            Incoming::Request(request) => request,
            Incoming::Notification { method, params } => {
                connection.notice(method, *params);
                return HttpAnswer::Reply(Reply::accepted());
            }
            Incoming::Response { id, result } => {
                let mut out = ReplyBody::default();
                let resumed = connection.resume(id, *result, world, &mut out);
                return match resumed {
                    None => HttpAnswer::Reply(Reply::accepted()),
                    Some((ticket, Answered::Job(job))) => {
                        HttpAnswer::Resumed(ticket, ResumedRequest::Job(job))
                    }
                    Some((ticket, _)) => {
                        HttpAnswer::Resumed(ticket, ResumedRequest::Reply(out.reply(200)))
                    }
                };
            }
            Incoming::Nothing => return HttpAnswer::Reply(Reply::accepted()),
        };
        let mut out = ReplyBody::default();
        let status = match connection.answer(request, self.may_stream, world, &mut out) {
            Answered::Job(job) => return HttpAnswer::Job(job),
            Answered::Question(job) => return HttpAnswer::Question(out.bytes, job.ticket),
            Answered::Listening => return HttpAnswer::Stream(out.bytes),
            Answered::Refused(refusal) => refusal.status(self.era),
            Answered::Replied if self.seat == ConnectionKind::New => {
                return HttpAnswer::Session(out.reply(200));
            }
            Answered::Replied => 200,
        };
        HttpAnswer::Reply(out.reply(status))
    }

    /// The approximate size of the reply if it is a long document, and a key for requests that ask
    /// for the same one.
    pub fn long_document(&self, catalog: impl FnOnce() -> Arc<Catalog>) -> Option<(String, usize)> {
        let Incoming::Request(request) = &self.incoming else {
            return None;
        };
        if request.method != "resources/read" {
            return None;
        }
        let fields: ParamFields<'_> = params::read(request.params).ok()?;
        let uri = params::text(fields.uri, "uri").ok()?;
        let size = catalog().document(&uri)?.document.size;
        let size = usize::try_from(size).ok().filter(|size| *size > LONG)?;
        // As Base64, or as text with some escapes.
        Some((uri.into_owned(), size.saturating_add(size / 3)))
    }

    /// A refusal by the transport.
    pub fn refuse(&self, trouble: &HttpRefusal) -> Reply {
        trouble.reply_to(self.era, self.incoming.id())
    }
}

impl Reply {
    fn new(status: u16, body: Vec<u8>) -> Self {
        Self {
            status,
            body,
            shared: None,
            error: None,
        }
    }

    /// Accepted, without a body.
    pub fn accepted() -> Self {
        Self::new(202, Vec::new())
    }
}

impl Incoming<'_> {
    fn id(&self) -> Option<&str> {
        match self {
            Incoming::Request(request) => Some(request.id),
            _ => None,
        }
    }
}

/// The era of a request, after its headers were checked against it.
fn request_era(headers: &Headers<'_>, request: &Request<'_>) -> Result<Era, (Era, Refusal)> {
    let header_era = headers.era();
    let fields: ParamFields<'_> = match params::read(request.params) {
        Ok(fields) => fields,
        // Without readable params there is no readable `_meta` in them.
        Err(refusal) if header_era == Era::Modern => {
            return Err((header_era, Refusal::Meta(refusal.to_string())));
        }
        Err(_) => ParamFields::default(),
    };
    let meta = fields.meta.as_ref().map(|ObjectMembers(meta)| *meta);
    let meta = meta.unwrap_or_default();
    let modern = |refusal| (Era::Modern, refusal);
    match (meta.version(), header_era) {
        (None, Era::Legacy) => {
            check_version(headers).map_err(|refusal| (Era::Legacy, refusal))?;
            return Ok(Era::Legacy);
        }
        (None, Era::Modern) => return Err(modern(meta::missing(VERSION_KEY))),
        (Some(version), _) => headers.check_body_version(version).map_err(modern)?,
    }
    meta.check_version().map_err(modern)?;
    headers.check_method(&request.method).map_err(modern)?;
    let name = match &*request.method {
        "prompts/get" | "tools/call" => fields.name,
        "resources/read" => fields.uri,
        // The extension requires no such header; if there is one, it has to match.
        "resources/directory/read" | "skills/get" if headers.name.is_some() => fields.uri,
        _ => return Ok(Era::Modern),
    };
    headers.check_name(name).map_err(modern)?;
    Ok(Era::Modern)
}

/// Refuses an unknown protocol version; a missing one counts as an early one.
fn check_version(headers: &Headers<'_>) -> Result<(), Refusal> {
    match headers.version {
        Some(version) if !SUPPORTED_VERSIONS.contains(&version) => Err(Refusal::Version {
            requested: version.to_owned(),
        }),
        _ => Ok(()),
    }
}

fn refuse(era: Era, id: Option<&str>, refusal: &Refusal) -> Reply {
    let mut body = Vec::new();
    write_refusal(id.or(era.unreadable_id()), refusal, &mut body);
    Reply {
        error: Some(ReplyError::Code(refusal.code())),
        ..Reply::new(refusal.status(era), body)
    }
}

impl Headers<'_> {
    /// The era of the version header.
    fn era(&self) -> Era {
        match self.version {
            Some(MODERN) => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

/// One message, as the body of a reply.
#[derive(Default)]
struct ReplyBody {
    bytes: Vec<u8>,
    shared: Option<SharedPart>,
    error: Option<ReplyError>,
}

impl ReplyBody {
    fn reply(self, status: u16) -> Reply {
        Reply {
            shared: self.shared,
            error: self.error,
            ..Reply::new(status, self.bytes)
        }
    }
}

impl Outbox for ReplyBody {
    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn whole(&mut self, message: Vec<u8>) {
        if self.bytes.is_empty() {
            self.bytes = message;
        } else {
            self.bytes(&message);
        }
    }

    fn shared(&mut self, page: &Arc<Vec<u8>>) {
        // Copying a few bytes costs less than sending three pieces.
        if page.len() <= LONG || self.shared.is_some() {
            return self.bytes(page);
        }
        self.shared = Some(SharedPart {
            at: self.bytes.len(),
            bytes: Arc::clone(page),
        });
    }

    fn refused(&mut self, code: i32) {
        self.error = Some(ReplyError::Code(code));
    }

    fn tool_failed(&mut self) {
        self.error = Some(ReplyError::Tool);
    }

    fn message_end(&mut self) {}
}
