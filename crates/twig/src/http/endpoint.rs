//! `/mcp`: from a request to its reply or stream.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio::time::sleep;
use twig_core::{Latest, World};
use twig_mcp::Connection;
use twig_mcp::http::{
    self, ConnectionKind, Exchange, Headers, HttpAnswer, HttpRefusal, Reply, ReplyError,
};
use twig_sources::SESSIONS_HOLD;

use super::Shared;
use super::bodies::pass_by;
use super::caller::{Caller, CallerRefusal};
use super::disk::RequestFiles;
use super::doorkeeper::Doorkeeper;
use super::headers::{SESSION, accept, read_headers, with_headers};
use super::limits::SMALL_REPLY;
use super::metrics::MethodLabel;
use super::peers::HttpPeer;
use super::question;
use super::replies::SentDocument;
use super::routes::{App, close_unless_known, peer};
use super::sessions::{FoundSession, HttpSession, Pending};
use super::stream;

/// `/mcp` and the addresses of projects, for clients that name this server as host and send their
/// key or the token.
pub(super) async fn endpoint(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_place(&parts) {
        let response = turn_away(trouble, &parts, body).await;
        app.shared.observe_refusal(&response);
        return response;
    }
    let peer = peer(&parts.extensions);
    let shared = &app.shared;
    let admission = match shared.doorkeeper.admit(&parts.headers) {
        Ok(admission) => admission,
        Err(trouble) => return unknown_caller(shared, trouble, &parts, body).await,
    };
    if shared.doorkeeper.asks() {
        peer.inspect(|peer| peer.know());
    }
    let caller = match Caller::new(admission, &parts, shared) {
        Ok(caller) => caller,
        Err(refusal) => return refuse_caller(refusal, &parts, body).await,
    };
    let person = caller.admission.person().map(|it| Arc::clone(it.name()));
    let answered = match parts.method {
        Method::POST => post(shared, &caller, &parts, body).await,
        Method::GET => listen(shared, caller, &parts.headers),
        Method::DELETE => end(shared, &caller, &parts.headers).await,
        _ => Ok(turn_away(HttpRefusal::Method, &parts, body).await),
    };
    let response = answered.unwrap_or_else(respond);
    if response.status().is_success() {
        peer.inspect(|peer| peer.know());
    }
    let status = response.status().as_u16();
    let person = person.as_deref();
    tracing::debug!(method = %parts.method, status, person, "answered");
    response
}

/// Refuses a request without a key or token that works.
pub(super) async fn unknown_caller(
    shared: &Shared,
    trouble: HttpRefusal,
    parts: &Parts,
    body: Body,
) -> Response {
    if !Doorkeeper::is_mistyped(&parts.headers) {
        slow_down(shared, &parts.headers, peer(&parts.extensions)).await;
    }
    let mut response = turn_away(trouble, parts, body).await;
    shared.observe_refusal(&response);
    let challenge = challenge(&parts.headers);
    response
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// Refuses a caller for whom nothing is there, or not yet.
pub(super) async fn refuse_caller(refusal: CallerRefusal, parts: &Parts, body: Body) -> Response {
    match refusal {
        CallerRefusal::Refused(trouble) => turn_away(trouble, parts, body).await,
        CallerRefusal::Later(seconds) => {
            let mut response = turn_away(HttpRefusal::TooFast, parts, body).await;
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            response
        }
    }
}

/// Delays the refusal of a wrong token for a client that has sent several wrong ones and never the
/// right one.
async fn slow_down(shared: &Shared, headers: &HeaderMap, peer: Option<&Arc<HttpPeer>>) {
    let Some(peer) = peer.filter(|peer| !peer.is_known()) else {
        return;
    };
    if headers.contains_key(header::AUTHORIZATION) {
        shared.delay_guess(peer).await;
    }
}

fn challenge(headers: &HeaderMap) -> HeaderValue {
    HeaderValue::from_static(if headers.contains_key(header::AUTHORIZATION) {
        "Bearer realm=\"twig\", error=\"invalid_token\""
    } else {
        "Bearer realm=\"twig\""
    })
}

/// Refuses a request whose body was not read.
pub(super) async fn turn_away(trouble: HttpRefusal, parts: &Parts, body: Body) -> Response {
    let mut response = respond(with_headers(&parts.headers, |headers| {
        trouble.reply(headers)
    }));
    tracing::debug!(status = response.status().as_u16(), "turned away");
    // Asking for the body would only make the client send it.
    let expects = parts.headers.contains_key(header::EXPECT);
    if expects || !pass_by(body).await {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    // A client may ask for a stream before it sends its first message.
    if !matches!(trouble, HttpRefusal::Method) {
        close_unless_known(&parts.extensions, &mut response);
    }
    response
}

async fn post(
    shared: &Arc<Shared>,
    caller: &Caller,
    parts: &Parts,
    body: Body,
) -> Result<Response, Reply> {
    let headers = &parts.headers;
    let limit = shared.service.limits.message;
    let body = shared.bodies.read(headers, body, limit).await;
    let body = body.map_err(|trouble| with_headers(headers, |read| trouble.reply(read)))?;
    let peer = peer(&parts.extensions);
    peer.inspect(|peer| peer.answer());
    let caller = caller.still(shared);
    let caller =
        &*caller.ok_or_else(|| with_headers(headers, |it| HttpRefusal::Token.reply(it)))?;
    // From here on the stream is notified of every change.
    let changes = shared.changes.subscribe();
    let accept = accept(headers);
    let headers = read_headers(headers, accept.as_deref());
    let view = &caller.view;
    let exchange = read_message(shared, caller, &headers, body.bytes(), peer)?;
    let fresh = || caller.connection();
    let busy = || exchange.refuse(&HttpRefusal::Busy);
    let document = match exchange.long_document(|| caller.catalog(shared)) {
        Some((uri, bytes)) => {
            // Another view may have another document at the same URI.
            let uri = format!("{} {uri}", view.number());
            let document = shared.replies.document(uri, bytes).await;
            Some(document.map_err(|trouble| exchange.refuse(&trouble))?)
        }
        None => None,
    };
    let turn = match &document {
        Some(document) => Some(document.turn.lock().await),
        None => None,
    };
    // Kept until there is memory for the reply: then the next large one is made.
    let bodies = shared.disk.for_request(view.files(&shared.service), peer);
    let is_long = turn.is_some();
    match exchange.seat() {
        ConnectionKind::Fresh => {
            let mut connection = fresh();
            let answer = shared.answer(caller, &exchange, &mut connection, &bodies, is_long);
            drop(turn);
            match answer {
                HttpAnswer::Reply(reply) | HttpAnswer::Session(reply) => {
                    Ok(send(shared, reply, document, busy).await)
                }
                HttpAnswer::Stream(first) => {
                    let caller = caller.clone();
                    Ok(stream::subscription(
                        connection, &first, changes, caller, shared,
                    ))
                }
                HttpAnswer::Job(job) => {
                    let (ticket, busy, room) = (job.ticket, busy(), body.room_for_job(job.held));
                    let room = room.map_err(|trouble| exchange.refuse(&trouble))?;
                    drop(bodies);
                    let held = (room, body.into_room());
                    let done = shared.run(job, caller, peer, None).await;
                    drop(held);
                    let reply = http::finish(&mut connection, ticket, done);
                    Ok(send(shared, reply, None, || busy).await)
                }
                // Only sessions have questions.
                other => Ok(respond(without_stream(other, &exchange))),
            }
        }
        ConnectionKind::New => {
            let mut connection = fresh();
            let answer = shared.answer(caller, &exchange, &mut connection, &bodies, false);
            start_session(shared, caller, &exchange, answer, (connection, changes))
        }
        ConnectionKind::Session(id) => {
            let Some(found) = shared.session(id, caller) else {
                return Err(exchange.refuse(&HttpRefusal::NoSession));
            };
            let session = found.session;
            let answer = shared.answer_in(caller, &session, &exchange, &bodies, is_long);
            drop(turn);
            let job = match answer {
                HttpAnswer::Job(job) => job,
                HttpAnswer::Question(question, ticket) => {
                    let pending = Pending { session, ticket };
                    return Ok(question::stream(pending, &question, caller, peer, shared));
                }
                other => {
                    let reply = without_stream(other, &exchange);
                    return Ok(send(shared, reply, document, busy).await);
                }
            };
            let (ticket, busy, room) = (job.ticket, busy(), body.room_for_job(job.held));
            let pending = Pending { session, ticket };
            let room = room.map_err(|trouble| exchange.refuse(&trouble))?;
            drop(bodies);
            let held = (room, body.into_room());
            let session = Some(&pending.session);
            let done = shared.run(job, caller, peer, session).await;
            drop(held);
            let reply = {
                let mut inside = pending.session.inside();
                http::finish(&mut inside.connection, ticket, done)
            };
            Ok(send(shared, reply, None, || busy).await)
        }
    }
}

/// Answers `initialize` with the id of a session.
fn start_session(
    shared: &Shared,
    caller: &Caller,
    exchange: &Exchange<'_>,
    answer: HttpAnswer,
    (connection, changes): (Connection, watch::Receiver<u64>),
) -> Result<Response, Reply> {
    let HttpAnswer::Session(reply) = answer else {
        return Ok(respond(without_stream(answer, exchange)));
    };
    let id = shared.sessions.start(caller.owner(), connection, changes);
    let id = id.and_then(|id| HeaderValue::try_from(id).ok());
    let id = id.ok_or_else(|| exchange.refuse(&HttpRefusal::Panic))?;
    let mut response = respond(reply);
    response.headers_mut().insert(SESSION, id);
    Ok(response)
}

/// Reads a message, and names its method for the metrics.
fn read_message<'a>(
    shared: &Shared,
    caller: &Caller,
    headers: &Headers<'a>,
    body: &'a [u8],
    peer: Option<&Arc<HttpPeer>>,
) -> Result<Exchange<'a>, Reply> {
    let exchange = http::post(&caller.view.server, headers, body)?;
    if let (Some(_), Some(peer), Some(method)) = (&shared.metrics, peer, exchange.method()) {
        peer.name_method(MethodLabel::new(method));
    }
    Ok(exchange)
}

/// GET: the stream of server messages for a session.
fn listen(shared: &Arc<Shared>, caller: Caller, headers: &HeaderMap) -> Result<Response, Reply> {
    let accept = accept(headers);
    let headers = read_headers(headers, accept.as_deref());
    let id = http::session(&headers)?;
    if !headers.accepts_stream() {
        return Err(HttpRefusal::NotAcceptable.reply(&headers));
    }
    let found = shared.session(id, &caller);
    let found = found.ok_or_else(|| HttpRefusal::NoSession.reply(&headers))?;
    if !found.is_kept {
        return Err(HttpRefusal::Sessions(shared.sessions.limit()).reply(&headers));
    }
    Ok(stream::session(found.session, caller, shared))
}

/// DELETE: ends a session.
async fn end(shared: &Shared, caller: &Caller, headers: &HeaderMap) -> Result<Response, Reply> {
    with_headers(headers, |headers| {
        let id = http::session(headers)?;
        if shared.sessions.end(id, caller.owner()) {
            Ok(())
        } else {
            Err(HttpRefusal::NoSession.reply(headers))
        }
    })?;
    // Before the answer, so that it stays ended if this server crashes, and on every other server.
    if shared.doorkeeper.share_ends() {
        sleep(SESSIONS_HOLD).await;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

impl Shared {
    /// Delays the answer to a wrong secret, longer after each.
    pub(super) async fn delay_guess(&self, peer: &HttpPeer) {
        let delay = self.wrong_tokens.delay(peer.network(), Instant::now());
        if !delay.is_zero() {
            sleep(delay).await;
        }
    }

    /// Reports a request that was turned away for its host, its origin or its credentials.
    fn observe_refusal(&self, response: &Response) {
        let status = i32::from(response.status().as_u16());
        self.service.server.observe_refusal("http", status);
    }

    /// The session of a caller. One that this server does not know, for example from before its last
    /// start, goes on; a stream that opens then announces every list once.
    fn session(&self, id: &str, caller: &Caller) -> Option<FoundSession> {
        if self.sessions.is_stale() {
            block_in_place(|| self.doorkeeper.ask());
        }
        // What was read by itself since then has to be known, too.
        self.sessions.refresh();
        self.sessions.find(id, caller.owner(), |state| {
            let connection = caller.resumed(state);
            let mut changes = self.changes.subscribe();
            changes.mark_changed();
            (connection, changes)
        })
    }

    /// Answers on the connection of a session. What goes on after the answer to a question is handed
    /// to the stream of the question.
    fn answer_in(
        &self,
        caller: &Caller,
        session: &HttpSession,
        exchange: &Exchange<'_>,
        bodies: &RequestFiles<'_>,
        is_long: bool,
    ) -> HttpAnswer {
        let mut inside = session.inside();
        // What the caller may do can have changed since the last request.
        inside.connection.serve_as(&caller.view.server);
        let connection = &mut inside.connection;
        let mut answer = self.answer(caller, exchange, connection, bodies, is_long);
        if let HttpAnswer::Resumed(ticket, resumed) = answer {
            inside.resume(ticket, resumed);
            answer = HttpAnswer::Reply(Reply::accepted());
        }
        // This message may have cancelled another request.
        inside.end_cancelled();
        answer
    }

    /// Answers from the current catalog; encoding a long document does not hold up other requests.
    fn answer(
        &self,
        caller: &Caller,
        exchange: &Exchange<'_>,
        connection: &mut Connection,
        bodies: &RequestFiles<'_>,
        is_long: bool,
    ) -> HttpAnswer {
        let look = || caller.catalog(self);
        let catalog = Latest::new(&look);
        let world = World {
            catalog: &catalog,
            bodies,
            templates: caller.view.templates(&self.service),
        };
        if is_long {
            return block_in_place(|| exchange.answer(connection, world));
        }
        exchange.answer(connection, world)
    }
}

/// The reply where streams and jobs are not possible.
fn without_stream(answer: HttpAnswer, exchange: &Exchange<'_>) -> Reply {
    match answer {
        HttpAnswer::Reply(reply) | HttpAnswer::Session(reply) => reply,
        HttpAnswer::Stream(_)
        | HttpAnswer::Job(_)
        | HttpAnswer::Question(..)
        | HttpAnswer::Resumed(..) => exchange.refuse(&HttpRefusal::Panic),
    }
}

/// Sends a reply; a long one waits for memory first.
async fn send(
    shared: &Shared,
    reply: Reply,
    document: Option<Arc<SentDocument>>,
    busy: impl FnOnce() -> Reply,
) -> Response {
    if reply.body.len() <= SMALL_REPLY && reply.shared.is_none() {
        return respond(reply);
    }
    let (status, error) = (reply.status, reply.error);
    match shared.replies.body(reply, document).await {
        Ok(body) => respond_with(status, error, body),
        Err(_) => respond(busy()),
    }
}

pub(super) fn respond(reply: Reply) -> Response {
    respond_with(reply.status, reply.error, Body::from(reply.body))
}

fn respond_with(status: u16, error: Option<ReplyError>, body: Body) -> Response {
    let has_body = !body.is_end_stream();
    let mut response = Response::new(body);
    if let Some(error) = error {
        response.extensions_mut().insert(error);
    }
    let code = StatusCode::from_u16(status);
    *response.status_mut() = code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status == 405 {
        let allowed = HeaderValue::from_static("POST");
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    // The rest of such a body is not read, and hyper closes the connection without saying so.
    if matches!(status, 408 | 413 | 503) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    if has_body {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    response
}
