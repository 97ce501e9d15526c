//! One client's conversation: messages in, replies and notifications out.

use std::borrow::Cow;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::value::RawValue;
use twig_core::{Catalog, RenderError, Revisions, World};

use crate::call::{CallOutcome, CallerState, InitializedClient, LegacyForm, Question};
use crate::dispatch;
use crate::elicitation;
use crate::envelope::{self, Incoming, Request};
use crate::era::Era;
use crate::error::Refusal;
use crate::in_flight::{
    AskedRequest, InFlight, Job, PendingJob, Ticket, WaitingRequest, WorkKind, WorkOutcome,
};
use crate::json::{self, Object};
use crate::observer::{self, NotedUse, ObservedOutcome, UseNote};
use crate::outbox::{Outbox, SharedPart};
use crate::roots::RootsRequest;
use crate::schema::{self, ResultOrigin};
use crate::server::Server;
use crate::subscriptions::{self, Subscriptions};

/// A buffer that grew past this is given away with the message that needed it.
const BUFFER: usize = 64 * 1024;

/// Questions that a client may leave open: it gets no further ones until it has answered one.
const QUESTIONS: usize = 8;

/// Bytes of a request that may wait for the answer to a question. One that lacks arguments is short.
const ASKING_REQUEST: usize = 16 * 1024;

/// The state of one client: the eras it has used, and its open requests.
#[derive(Debug)]
pub struct Connection {
    server: Arc<Server>,
    spoken: SpokenEras,
    /// What a legacy client agreed on.
    initialized: InitializedClient,
    /// True if an unknown client asked for a prompt as `command_clients` do.
    fills_in: AtomicBool,
    /// The person whom the client works for, if the transport knows one.
    actor: Option<Arc<str>>,
    /// What is noted of the request that is being answered, if anything wants to know.
    note: UseNote,
    subscriptions: Subscriptions,
    in_flight: InFlight,
    roots: RootsRequest,
    /// The reply that is being written; reused for the next one.
    buffer: Vec<u8>,
    /// True if the reply is the result of a tool that failed.
    has_failed: bool,
}

/// Which eras a client has used so far.
#[derive(Debug, Default)]
struct SpokenEras {
    legacy: bool,
    modern: bool,
}

impl Connection {
    /// A connection before its first message.
    pub fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            spoken: SpokenEras::default(),
            initialized: InitializedClient::default(),
            fills_in: AtomicBool::new(false),
            actor: None,
            note: UseNote::default(),
            subscriptions: Subscriptions::default(),
            in_flight: InFlight::default(),
            roots: RootsRequest::default(),
            buffer: Vec::new(),
            has_failed: false,
        }
    }

    /// A connection to a legacy client that initialized another one, as [`Self::client_state`] says.
    ///
    /// What was announced to it is not known, so every list is announced once.
    pub fn resumed(server: Arc<Server>, state: &[u8]) -> Self {
        let mut connection = Self::new(server);
        connection.spoken.legacy = true;
        connection.initialized = InitializedClient::from_bytes(state);
        connection.subscriptions.initialized(Revisions {
            prompts: u64::MAX,
            documents: u64::MAX,
            contents: u64::MAX,
            tools: u64::MAX,
        });
        connection
    }

    /// What a legacy client agreed on, in at most [`CLIENT_STATE`](crate::CLIENT_STATE) bytes.
    pub fn client_state(&self) -> Vec<u8> {
        self.initialized.to_bytes()
    }

    /// Answers as another server from now on.
    pub fn serve_as(&mut self, server: &Arc<Server>) {
        if !Arc::ptr_eq(&self.server, server) {
            self.server = Arc::clone(server);
        }
    }

    /// The same for a client on this machine: if it is a legacy client with roots, it is asked for
    /// the folders that it works in, now and when they change.
    #[must_use]
    pub fn asking_for_roots(mut self) -> Self {
        self.roots.is_wanted = true;
        self
    }

    /// The same for a client of a person whom the transport knows: the log of reads names them.
    #[must_use]
    pub fn for_actor(mut self, actor: Arc<str>) -> Self {
        self.actor = Some(actor);
        self
    }

    /// The folders that the client works in, if it named them since the last call.
    pub fn take_roots(&mut self) -> Option<Vec<String>> {
        self.roots.take()
    }

    /// Reads one message, without its newline, and writes the answers that are ready.
    ///
    /// Slow work (computed templates, prompt functions, writes, searches) is returned as a job: the
    /// caller runs it elsewhere and passes the result to [`Connection::finish`]. A question to the
    /// client is a job, too: the caller finishes it when its time is over.
    pub fn receive(
        &mut self,
        message: &[u8],
        world: World<'_>,
        out: &mut impl Outbox,
    ) -> Option<Job> {
        if message.len() > self.server.limits.message {
            self.oversized(out);
            return None;
        }
        match envelope::read(message, &self.server.limits) {
            Ok(Incoming::Request(request)) => self.answer(&request, true, world, out).job(),
            Ok(Incoming::Response { id, result }) if self.roots.is_answered_by(id) => {
                if self.roots.receive(result) {
                    self.ask_for_roots(out);
                }
                None
            }
            Ok(Incoming::Response { id, result }) => {
                let (_, answered) = self.resume(id, result, world, out)?;
                answered.job()
            }
            Ok(Incoming::Notification { method, params }) => {
                self.notice(&method, params);
                if self.initialized.has_roots && self.roots.asks_after(&method) {
                    self.ask_for_roots(out);
                }
                None
            }
            Ok(Incoming::Nothing) => None,
            Err(refused) => {
                self.refuse(refused.id, &refused.refusal, out);
                None
            }
        }
    }

    /// Replies that a message was over the limit; the transport skipped it.
    pub fn oversized(&mut self, out: &mut impl Outbox) {
        let refusal = Refusal::TooLong(self.server.limits.message);
        self.refuse(None, &refusal, out);
    }

    /// Takes the result of a job and answers its request, unless it was cancelled meanwhile.
    pub fn finish(&mut self, ticket: Ticket, done: impl Into<WorkOutcome>, out: &mut impl Outbox) {
        let Some(waiting) = self.in_flight.finish(ticket) else {
            return;
        };
        let WaitingRequest {
            id,
            era,
            finish,
            origin,
            kind,
            noted,
            ..
        } = waiting;
        if kind == WorkKind::Question {
            self.withdraw(ticket, out);
        }
        self.buffer.clear();
        begin_result(&id, &mut self.buffer);
        let mut result = Object::open(&mut self.buffer);
        match finish(done.into(), &self.server, &mut result) {
            Ok(()) => {
                schema::seal(era, &self.server.info, "complete", &origin, &mut result);
                self.has_failed = result.is_failure;
                result.end();
                self.buffer.push(b'}');
                if let Some(noted) = noted {
                    self.observe(&noted, observer::outcome(&noted.method, &self.buffer));
                }
                self.send(out);
            }
            Err(refusal) => {
                if let Some(noted) = noted {
                    self.observe(&noted, ObservedOutcome::Refused(refusal.code()));
                }
                self.refuse(Some(&id), &refusal, out);
            }
        }
    }

    /// Forgets a job whose request was cancelled.
    pub fn abandon(&mut self, ticket: Ticket) {
        self.in_flight.finish(ticket);
    }

    /// Forgets all jobs: no client will collect their answers.
    pub fn abandon_all(&mut self) {
        self.in_flight.clear();
    }

    /// True if a job's request still waits for an answer: it was neither cancelled nor finished.
    pub fn wants(&self, ticket: Ticket) -> bool {
        self.in_flight.wants(ticket)
    }

    /// Jobs that are running and still wanted, and writes that are not done yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Announces the changes of a catalog: to a legacy client once it has initialized, and on each
    /// subscription what it asked for. Each change is announced once.
    pub fn catch_up(&mut self, catalog: &Catalog, out: &mut impl Outbox) {
        let revisions = catalog.revisions();
        self.subscriptions
            .catch_up(catalog, revisions, &mut self.buffer, out);
    }

    /// Ends the conversation: completes every open subscription, and reports to every request that
    /// waits for a job that it will not finish.
    pub fn close(&mut self, out: &mut impl Outbox) {
        for (id, sentence) in self.in_flight.take() {
            let refusal = RenderError::Limit(sentence.to_owned());
            self.refuse(Some(&id), &refusal.into(), out);
        }
        for id in self.subscriptions.take() {
            self.buffer.clear();
            subscriptions::completed(&id, &self.server, &mut self.buffer);
            self.send(out);
        }
    }

    /// Answers one request; returns how it was answered. `may_ask` is true if the transport can send
    /// a request to the client before the answer.
    pub(crate) fn answer(
        &mut self,
        request: &Request<'_>,
        may_ask: bool,
        world: World<'_>,
        out: &mut impl Outbox,
    ) -> Answered {
        let form = if may_ask && self.has_room_for_question(request) {
            LegacyForm::Available
        } else {
            LegacyForm::Unavailable
        };
        self.answer_with(request, form, world, out)
    }

    /// Goes on with the request that asked a question; `None` if no such question is open.
    pub(crate) fn resume(
        &mut self,
        question: &str,
        result: Option<&RawValue>,
        world: World<'_>,
        out: &mut impl Outbox,
    ) -> Option<(Ticket, Answered)> {
        let (ticket, waiting) = self.in_flight.answered(question)?;
        let AskedRequest { method, params } = waiting.asked?;
        let request = Request {
            id: &waiting.id,
            method: Cow::Borrowed(&method),
            params: params.as_deref(),
        };
        let form = LegacyForm::Answered(result);
        Some((ticket, self.answer_with(&request, form, world, out)))
    }

    fn has_room_for_question(&self, request: &Request<'_>) -> bool {
        let length = request.params.map_or(0, |params| params.get().len());
        self.initialized.shows_forms
            && length + request.id.len() <= ASKING_REQUEST
            && self.in_flight.questions() < QUESTIONS
    }

    /// Says that the answer to a question is no longer awaited.
    fn withdraw(&mut self, ticket: Ticket, out: &mut impl Outbox) {
        self.buffer.clear();
        json::object(&mut self.buffer, |message| {
            message.raw("jsonrpc", "\"2.0\"");
            message.text("method", "notifications/cancelled");
            message.object("params", |params| {
                params.text("requestId", &ticket.question_id());
                params.text("reason", "No answer came in time");
            });
        });
        self.send(out);
    }

    fn answer_with(
        &mut self,
        request: &Request<'_>,
        form: LegacyForm<'_>,
        world: World<'_>,
        out: &mut impl Outbox,
    ) -> Answered {
        // The buffer is cleared before each use and all other state changes only after the handler
        // returned, so a panic leaves nothing half done.
        let began = self.server.observer.as_ref().map(|it| it.clock());
        let answered = catch_unwind(AssertUnwindSafe(|| self.write_answer(request, form, world)));
        let answered = answered.unwrap_or(Err(Refusal::Panic));
        if let Some(began) = began {
            self.observe_answer(&request.method, began, &answered);
        }
        match answered {
            Ok(WrittenAnswer::Reply) => self.send(out),
            Ok(WrittenAnswer::Opening) => {
                self.send(out);
                return Answered::Listening;
            }
            Ok(WrittenAnswer::Page(page)) => {
                out.bytes(&self.buffer);
                out.shared(&page);
                out.bytes(b"}");
                out.message_end();
            }
            Ok(WrittenAnswer::Shared(part)) => {
                let (before, after) = self.buffer.split_at(part.at);
                out.bytes(before);
                out.shared(&part.bytes);
                out.bytes(after);
                out.message_end();
            }
            Ok(WrittenAnswer::Job(job)) => return Answered::Job(job),
            Ok(WrittenAnswer::Question(job)) => {
                self.send(out);
                return Answered::Question(job);
            }
            Err(refusal) => {
                self.refuse(Some(request.id), &refusal, out);
                return Answered::Refused(refusal);
            }
        }
        Answered::Replied
    }

    fn write_answer(
        &mut self,
        request: &Request<'_>,
        form: LegacyForm<'_>,
        world: World<'_>,
    ) -> Result<WrittenAnswer, Refusal> {
        let ready = dispatch::read(request)?;
        let era = ready.era();
        match era {
            Era::Legacy => self.spoken.legacy = true,
            Era::Modern => self.spoken.modern = true,
        }
        self.buffer.clear();
        begin_result(request.id, &mut self.buffer);
        let page_at = self.buffer.len();
        let mut result = Object::open(&mut self.buffer);
        let client = CallerState {
            initialized: &self.initialized,
            fills_in: &self.fills_in,
            note: &self.note,
        };
        let outcome = ready.answer(&self.server, world, client, form, &mut result)?;
        let (mut origin, mut shared) = (ResultOrigin::Plain, None);
        let result_type = match outcome {
            CallOutcome::Complete => "complete",
            CallOutcome::From(found) => {
                origin = found;
                "complete"
            }
            CallOutcome::Shared { part, version } => {
                origin = version.into();
                shared = Some(part);
                "complete"
            }
            CallOutcome::Initialized(client) => {
                self.initialized = client;
                let revisions = world.catalog.revisions_at_start();
                self.subscriptions.initialized(revisions);
                "complete"
            }
            CallOutcome::Subscribe(uri) => {
                let limit = self.server.limits.subscriptions;
                self.subscriptions.subscribe(uri, world.catalog, limit)?;
                "complete"
            }
            CallOutcome::Unsubscribe(uri) => {
                self.subscriptions.unsubscribe(&uri);
                "complete"
            }
            CallOutcome::InputRequired => "input_required",
            CallOutcome::Question(question) => return self.ask(request, era, *question),
            CallOutcome::Page(page) => {
                self.buffer.truncate(page_at);
                return Ok(WrittenAnswer::Page(page));
            }
            CallOutcome::Job(job) => return self.start(request.id, era, *job),
            CallOutcome::Listen(wish) => {
                self.buffer.clear();
                let limit = self.server.limits.subscriptions;
                let revisions = world.catalog.revisions();
                self.subscriptions
                    .open(request.id, wish, revisions, limit, &mut self.buffer)?;
                return Ok(WrittenAnswer::Opening);
            }
        };
        schema::seal(era, &self.server.info, result_type, &origin, &mut result);
        self.has_failed = result.is_failure;
        result.end();
        self.buffer.push(b'}');
        Ok(shared.map_or(WrittenAnswer::Reply, WrittenAnswer::Shared))
    }

    /// Reports a request that was answered, or keeps what was noted of it until its job is done.
    fn observe_answer(
        &mut self,
        method: &str,
        began: u64,
        answered: &Result<WrittenAnswer, Refusal>,
    ) {
        let mut noted = self.note.take();
        noted.method = method.into();
        noted.began = began;
        match answered {
            Ok(WrittenAnswer::Job(job)) => {
                noted.is_function = job.work.kind() == WorkKind::Function;
                self.in_flight.note(job.ticket, noted);
            }
            // It goes on with the client's answer.
            Ok(WrittenAnswer::Question(_)) => {}
            Ok(_) => {
                let outcome = observer::outcome(method, &self.buffer);
                self.observe(&noted, outcome);
            }
            Err(refusal) => self.observe(&noted, ObservedOutcome::Refused(refusal.code())),
        }
    }

    fn observe(&self, noted: &NotedUse, outcome: ObservedOutcome) {
        if let Some(observer) = &self.server.observer {
            noted.report(&**observer, self.actor.as_deref(), outcome);
        }
    }

    fn start(&mut self, id: &str, era: Era, job: PendingJob) -> Result<WrittenAnswer, Refusal> {
        self.check_room()?;
        Ok(WrittenAnswer::Job(self.in_flight.start(id, era, job)))
    }

    fn check_room(&self) -> Result<(), Refusal> {
        let limit = self.server.limits.in_flight;
        if self.in_flight.len() >= limit {
            return Err(Refusal::Busy(limit));
        }
        Ok(())
    }

    /// Writes a question to the client; the request goes on with its answer.
    fn ask(
        &mut self,
        request: &Request<'_>,
        era: Era,
        question: Question,
    ) -> Result<WrittenAnswer, Refusal> {
        self.check_room()?;
        let Question { params, job } = question;
        let job = self.in_flight.ask(request, era, job);
        self.buffer.clear();
        json::object(&mut self.buffer, |message| {
            message.raw("jsonrpc", "\"2.0\"");
            message.text("id", &job.ticket.question_id());
            message.text("method", elicitation::METHOD);
            message.key("params").extend_from_slice(&params);
        });
        Ok(WrittenAnswer::Question(job))
    }

    /// Handles a notification, which is never answered.
    pub(crate) fn notice(&mut self, method: &str, params: Option<&RawValue>) {
        if method == "notifications/cancelled"
            && let Some(id) = subscriptions::cancelled(params)
        {
            self.subscriptions.cancel(id);
            self.in_flight.cancel(id);
        }
    }

    fn ask_for_roots(&mut self, out: &mut impl Outbox) {
        self.buffer.clear();
        self.roots.write(&mut self.buffer);
        self.send(out);
    }

    fn refuse(&mut self, id: Option<&str>, refusal: &Refusal, out: &mut impl Outbox) {
        tracing::debug!(code = refusal.code(), "refused a message");
        self.buffer.clear();
        let era = match self.spoken {
            SpokenEras {
                modern: true,
                legacy: false,
            } => Era::Modern,
            _ => Era::Legacy,
        };
        write_refusal(id.or(era.unreadable_id()), refusal, &mut self.buffer);
        out.refused(refusal.code());
        self.send(out);
    }

    fn send(&mut self, out: &mut impl Outbox) {
        if mem::take(&mut self.has_failed) {
            out.tool_failed();
        }
        if self.buffer.capacity() > BUFFER {
            out.whole(mem::take(&mut self.buffer));
        } else {
            out.bytes(&self.buffer);
        }
        out.message_end();
    }
}

/// How a request was answered.
pub(crate) enum Answered {
    /// With its result.
    Replied,
    /// With this error.
    Refused(Refusal),
    /// With the acknowledgement of a subscription, which is open now.
    Listening,
    /// Not yet.
    Job(Job),
    /// Not yet: with a question to the client.
    Question(Job),
}

impl Answered {
    fn job(self) -> Option<Job> {
        match self {
            Self::Job(job) | Self::Question(job) => Some(job),
            _ => None,
        }
    }
}

/// The content of the buffer after a request was handled.
enum WrittenAnswer {
    /// A whole message.
    Reply,
    /// A whole message, which opens a subscription.
    Opening,
    /// A whole message except for this part.
    Shared(SharedPart),
    /// The start of a message that continues with a page.
    Page(Arc<Vec<u8>>),
    /// Nothing yet.
    Job(Job),
    /// A whole message, which is a question to the client.
    Question(Job),
}

/// Writes an error, without an id if there is none.
pub(crate) fn write_refusal(id: Option<&str>, refusal: &Refusal, buffer: &mut Vec<u8>) {
    json::object(buffer, |message| {
        message.raw("jsonrpc", "\"2.0\"");
        if let Some(id) = id {
            message.raw("id", id);
        }
        message.object("error", |error| refusal.write(error));
    });
}

fn begin_result(id: &str, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    buffer.extend_from_slice(id.as_bytes());
    buffer.extend_from_slice(b",\"result\":");
}
