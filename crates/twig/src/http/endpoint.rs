//! `/mcp`: from a request to its reply or stream.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use tokio::task::block_in_place;
use tokio::time::sleep;
use twig_core::{Catalog, Latest, World};
use twig_mcp::Connection;
use twig_mcp::http::{self, ConnectionKind, Exchange, HttpAnswer, HttpRefusal, Reply};

use super::Shared;
use super::bodies::pass_by;
use super::disk::RequestFiles;
use super::headers::{SESSION, accept, read_headers, with_headers};
use super::limits::SMALL_REPLY;
use super::peers::HttpPeer;
use super::question;
use super::replies::SentDocument;
use super::routes::{App, close_unless_known, peer};
use super::sessions::{HttpSession, Pending};
use super::stream;

/// `/mcp`, for clients that name this server as host and send the token.
pub(super) async fn endpoint(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(trouble) = app.door.check_place(&parts) {
        let response = turn_away(trouble, &parts, body).await;
        app.shared.observe_refusal(&response);
        return response;
    }
    let peer = peer(&parts.extensions);
    if let Err(trouble) = app.door.check_token(&parts.headers) {
        slow_down(&app.shared, &parts.headers, peer).await;
        let mut response = turn_away(trouble, &parts, body).await;
        app.shared.observe_refusal(&response);
        let challenge = challenge(&parts.headers);
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
        return response;
    }
    if app.door.has_token() {
        peer.inspect(|peer| peer.know());
    }
    let shared = &app.shared;
    let answered = match parts.method {
        Method::POST => post(shared, &parts, body).await,
        Method::GET => listen(shared, &parts.headers),
        Method::DELETE => end(shared, &parts.headers),
        _ => Ok(turn_away(HttpRefusal::Method, &parts, body).await),
    };
    let response = answered.unwrap_or_else(respond);
    if response.status().is_success() {
        peer.inspect(|peer| peer.know());
    }
    tracing::debug!(method = %parts.method, status = response.status().as_u16(), "answered");
    response
}

/// Delays the refusal of a wrong token for a client that has sent several wrong ones and never the
/// right one.
async fn slow_down(shared: &Shared, headers: &HeaderMap, peer: Option<&Arc<HttpPeer>>) {
    let Some(peer) = peer.filter(|peer| !peer.is_known()) else {
        return;
    };
    if headers.contains_key(header::AUTHORIZATION) {
        let delay = shared.wrong_tokens.delay(peer.network(), Instant::now());
        if !delay.is_zero() {
            sleep(delay).await;
        }
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

async fn post(shared: &Arc<Shared>, parts: &Parts, body: Body) -> Result<Response, Reply> {
    let headers = &parts.headers;
    let limit = shared.service.limits.message;
    let body = shared.bodies.read(headers, body, limit).await;
    let body = body.map_err(|trouble| with_headers(headers, |read| trouble.reply(read)))?;
    let peer = peer(&parts.extensions);
    peer.inspect(|peer| peer.answer());
    // From here on the stream is notified of every change.
    let changes = shared.changes.subscribe();
    let accept = accept(headers);
    let headers = read_headers(headers, accept.as_deref());
    let exchange = http::post(&shared.service.server, &headers, body.bytes())?;
    let fresh = || Connection::new(Arc::clone(&shared.service.server));
    let busy = || exchange.refuse(&HttpRefusal::Busy);
    let document = match exchange.long_document(|| shared.catalog()) {
        Some((uri, bytes)) => {
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
    let bodies = shared.disk.for_request(peer);
    let is_long = turn.is_some();
    match exchange.seat() {
        ConnectionKind::Fresh => {
            let mut connection = fresh();
            let answer = shared.answer(&exchange, &mut connection, &bodies, is_long);
            drop(turn);
            match answer {
                HttpAnswer::Reply(reply) | HttpAnswer::Session(reply) => {
                    Ok(send(shared, reply, document, busy).await)
                }
                HttpAnswer::Stream(first) => {
                    Ok(stream::subscription(connection, &first, changes, shared))
                }
                HttpAnswer::Job(job) => {
                    let (ticket, busy, room) = (job.ticket, busy(), body.room_for_job(job.held));
                    let room = room.map_err(|trouble| exchange.refuse(&trouble))?;
                    drop(bodies);
                    let held = (room, body.into_room());
                    let done = shared.run(job, peer, None).await;
                    drop(held);
                    let reply = http::finish(&mut connection, ticket, done);
                    Ok(send(shared, reply, None, || busy).await)
                }
                // Only sessions have questions.
                other => Ok(respond(without_stream(other, &exchange))),
            }
        }
        ConnectionKind::New => {
            let full = || exchange.refuse(&HttpRefusal::Sessions(shared.sessions.limit()));
            if !shared.sessions.has_room() {
                return Err(full());
            }
            let mut connection = fresh();
            match shared.answer(&exchange, &mut connection, &bodies, false) {
                HttpAnswer::Session(reply) => {
                    let id = shared.sessions.start(connection, changes);
                    let id = id.and_then(|id| HeaderValue::try_from(id).ok());
                    let mut response = respond(reply);
                    response.headers_mut().insert(SESSION, id.ok_or_else(full)?);
                    Ok(response)
                }
                other => Ok(respond(without_stream(other, &exchange))),
            }
        }
        ConnectionKind::Session(id) => {
            let Some(session) = shared.sessions.find(id) else {
                return Err(exchange.refuse(&HttpRefusal::NoSession));
            };
            let answer = shared.answer_in(&session, &exchange, &bodies, is_long);
            drop(turn);
            let job = match answer {
                HttpAnswer::Job(job) => job,
                HttpAnswer::Question(question, ticket) => {
                    let pending = Pending { session, ticket };
                    return Ok(question::stream(pending, &question, peer, shared));
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
            let done = shared.run(job, peer, Some(&pending.session)).await;
            drop(held);
            let reply = {
                let mut inside = pending.session.inside();
                http::finish(&mut inside.connection, ticket, done)
            };
            Ok(send(shared, reply, None, || busy).await)
        }
    }
}

/// GET: the stream of server messages for a session.
fn listen(shared: &Shared, headers: &HeaderMap) -> Result<Response, Reply> {
    let accept = accept(headers);
    let headers = read_headers(headers, accept.as_deref());
    let id = http::session(&headers)?;
    if !headers.accepts_stream() {
        return Err(HttpRefusal::NotAcceptable.reply(&headers));
    }
    let session = shared.sessions.find(id);
    let session = session.ok_or_else(|| HttpRefusal::NoSession.reply(&headers))?;
    Ok(stream::session(session, shared))
}

/// DELETE: ends a session.
fn end(shared: &Shared, headers: &HeaderMap) -> Result<Response, Reply> {
    with_headers(headers, |headers| {
        let id = http::session(headers)?;
        if !shared.sessions.end(id) {
            return Err(HttpRefusal::NoSession.reply(headers));
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    })
}

impl Shared {
    /// Reports a request that was turned away for its host, its origin or its token.
    fn observe_refusal(&self, response: &Response) {
        let status = i32::from(response.status().as_u16());
        self.service.server.observe_refusal("http", status);
    }

    /// The current catalog. Asking a store whether it has changed may take a while, so it does not
    /// happen on a thread that serves connections.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        let live = &self.service.live;
        if live.asks_store() {
            block_in_place(|| live.snapshot())
        } else {
            live.published()
        }
    }

    /// Answers on the connection of a session. What goes on after the answer to a question is handed
    /// to the stream of the question.
    fn answer_in(
        &self,
        session: &HttpSession,
        exchange: &Exchange<'_>,
        bodies: &RequestFiles<'_>,
        is_long: bool,
    ) -> HttpAnswer {
        let mut inside = session.inside();
        let mut answer = self.answer(exchange, &mut inside.connection, bodies, is_long);
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
        exchange: &Exchange<'_>,
        connection: &mut Connection,
        bodies: &RequestFiles<'_>,
        is_long: bool,
    ) -> HttpAnswer {
        let look = || self.catalog();
        let catalog = Latest::new(&look);
        let world = World {
            catalog: &catalog,
            bodies,
            templates: &self.service.templates,
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
    let status = reply.status;
    match shared.replies.body(reply, document).await {
        Ok(body) => respond_with(status, body),
        Err(_) => respond(busy()),
    }
}

pub(super) fn respond(reply: Reply) -> Response {
    respond_with(reply.status, Body::from(reply.body))
}

fn respond_with(status: u16, body: Body) -> Response {
    let has_body = !body.is_end_stream();
    let mut response = Response::new(body);
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
