//! Jobs that run elsewhere: which request to answer, and how, when they finish.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;
use twig_core::function::{self, Finished};
use twig_core::render::Unfinished;
use twig_core::search::{Hit, Query};
use twig_core::store::{LabelName, StoreError, Version, VersionQuery, Write, Written};
use twig_core::template::{ComputedJob, JobOutcome};
use twig_core::{FunctionCall, FunctionOutcome, PromptRef, RenderError};

use crate::envelope::Request;
use crate::era::Era;
use crate::error::Refusal;
use crate::id;
use crate::json::Object;
use crate::observer::NotedUse;
use crate::schema::ResultOrigin;
use crate::server::Server;

/// Identifies one job of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// What the ids of questions begin with.
const QUESTION: &str = "twig-";

impl Ticket {
    /// The id of the question that this job asked.
    pub(crate) fn question_id(self) -> String {
        format!("{QUESTION}{}", self.0)
    }

    /// The job that asked a question, by the id of the question as JSON.
    fn of_question(id: &str) -> Option<Self> {
        let id = id::decode(id)?;
        let number = id.strip_prefix(QUESTION)?;
        number.parse().ok().map(Self)
    }
}

/// Work for the transport to run.
///
/// A job that is no longer wanted may be dropped or finished: it does not count as in flight. A
/// write is always performed and finished.
#[derive(Debug)]
pub struct Job {
    /// Passed back with the result.
    pub ticket: Ticket,
    /// What to run.
    pub work: Work,
    /// The prompt that it is for, if it is for one.
    pub prompt: Option<Box<str>>,
    /// Bytes that are held until it is done, here and in the work. Those of a write are counted by
    /// its store.
    pub held: usize,
}

/// The work of a job.
#[derive(Debug)]
pub enum Work {
    /// A computed template, for a render worker.
    Render(ComputedJob),
    /// A program. It has to be killed if it is no longer wanted.
    Function(Box<FunctionCall>),
    /// A write to the project, for its store. It is performed even if it is no longer wanted, and
    /// counts as in flight until it is finished or abandoned.
    Write(Box<Write>),
    /// A search, for the index.
    Search(Query),
    /// Versions of a prompt or resource, from its store.
    Versions(Box<VersionsRequest>),
    /// A question to the client, which was just sent. Nothing is to be run: the client answers with
    /// a message, or the job is finished as [`WorkOutcome::Unanswered`] when the time is over.
    Question,
}

/// A request for versions.
#[derive(Debug)]
pub struct VersionsRequest {
    /// Which versions.
    pub query: VersionQuery,
    /// True if the content of the newest of them is wanted, too.
    pub wants_content: bool,
    /// True if the labels are wanted, too.
    pub wants_labels: bool,
}

/// Versions, newest first, and the content of the first one if it was wanted.
#[derive(Debug)]
pub struct FoundVersions {
    /// The versions; empty if there is none that fits.
    pub versions: Vec<Version>,
    /// The content of the first one.
    pub content: Option<Vec<u8>>,
    /// The labels of the prompt or resource and the versions that they name, if they were wanted.
    pub labels: Vec<(LabelName, u64)>,
}

/// The kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    /// A computed template.
    Render,
    /// A program.
    Function,
    /// A write.
    Write,
    /// A search.
    Search,
    /// Versions.
    Versions,
    /// A question to the client.
    Question,
}

/// The result of a job.
#[derive(Debug)]
pub enum WorkOutcome {
    /// Of a computed template.
    Render(JobOutcome),
    /// Of a program.
    Function(FunctionOutcome),
    /// Of a write.
    Write(Result<Written, StoreError>),
    /// Of a search; a sentence if it failed.
    Search(Result<Vec<Hit>, String>),
    /// Versions.
    Versions(Result<FoundVersions, StoreError>),
    /// The client did not answer a question in time.
    Unanswered,
}

impl Work {
    /// Which kind it is.
    pub fn kind(&self) -> WorkKind {
        match self {
            Self::Render(_) => WorkKind::Render,
            Self::Function(_) => WorkKind::Function,
            Self::Write(_) => WorkKind::Write,
            Self::Search(_) => WorkKind::Search,
            Self::Versions(_) => WorkKind::Versions,
            Self::Question => WorkKind::Question,
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::Render(job) => job.held(),
            Self::Function(call) => call.input.len(),
            Self::Write(_) | Self::Search(_) | Self::Versions(_) | Self::Question => 0,
        }
    }
}

impl WorkKind {
    /// The outcome of work that did not complete; the sentence says why.
    pub fn refused(self, sentence: impl Into<String>) -> WorkOutcome {
        let sentence = sentence.into();
        match self {
            Self::Render => WorkOutcome::Render(JobOutcome::limit(sentence)),
            Self::Function => WorkOutcome::Function(FunctionOutcome::Refused(sentence)),
            Self::Write => WorkOutcome::Write(Err(StoreError::Unavailable(sentence))),
            Self::Search => WorkOutcome::Search(Err(sentence)),
            Self::Versions => WorkOutcome::Versions(Err(StoreError::Unavailable(sentence))),
            Self::Question => WorkOutcome::Unanswered,
        }
    }

    /// The message to the client if the server stops before the job is done.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Write => {
                "The server is ending, and whether the change was made is not known: look before you repeat it"
            }
            _ => "The server is ending",
        }
    }
}

impl From<JobOutcome> for WorkOutcome {
    fn from(outcome: JobOutcome) -> Self {
        Self::Render(outcome)
    }
}

impl From<FunctionOutcome> for WorkOutcome {
    fn from(outcome: FunctionOutcome) -> Self {
        Self::Function(outcome)
    }
}

/// Writes the members of the result from a job's outcome.
type FinishJob =
    Box<dyn FnOnce(WorkOutcome, &Server, &mut Object<'_>) -> Result<(), Refusal> + Send>;

/// A job that is to be started, and how its outcome becomes a result.
pub(crate) struct PendingJob {
    work: Work,
    prompt: Option<Box<str>>,
    held: usize,
    origin: ResultOrigin,
    finish: FinishJob,
}

/// A transport that confuses its jobs gets an error.
fn mixed_up() -> RenderError {
    RenderError::Limit("The job came back as another".to_owned())
}

impl PendingJob {
    /// The work that a prompt needs before it is rendered. A template's messages wait in `rest`.
    pub(crate) fn render(
        found: PromptRef<'_>,
        work: Work,
        rest: Option<Unfinished>,
        finish: impl FnOnce(
            Result<Finished, RenderError>,
            &Server,
            &mut Object<'_>,
        ) -> Result<(), Refusal>
        + Send
        + 'static,
    ) -> Self {
        let prompt = found.prompt.full_name.clone();
        let name = prompt.clone();
        let held = work.held() + rest.as_ref().map_or(0, Unfinished::held);
        let finish = move |outcome, server: &Server, result: &mut Object<'_>| {
            let finished = match (rest, outcome) {
                (Some(rest), WorkOutcome::Render(outcome)) => {
                    rest.finish(outcome).map(|messages| Finished {
                        description: None,
                        messages,
                    })
                }
                (None, WorkOutcome::Function(outcome)) => function::finish(&name, outcome),
                _ => Err(mixed_up()),
            };
            finish(finished, server, result)
        };
        Self {
            work,
            prompt: Some(prompt),
            held,
            origin: ResultOrigin::Plain,
            finish: Box::new(finish),
        }
    }

    /// The same job, whose result says which package its prompt comes from.
    pub(crate) fn with_origin(self, found: PromptRef<'_>) -> Self {
        let package = found.library.package.clone();
        Self {
            origin: package.map_or(ResultOrigin::Plain, ResultOrigin::Packaged),
            ..self
        }
    }

    /// A change of the project.
    pub(crate) fn write(
        write: Write,
        finish: impl FnOnce(Result<Written, StoreError>, &mut Object<'_>) + Send + 'static,
    ) -> Self {
        Self::plain(Work::Write(Box::new(write)), |outcome, result| {
            let WorkOutcome::Write(outcome) = outcome else {
                return Err(mixed_up().into());
            };
            finish(outcome, result);
            Ok(())
        })
    }

    /// A search.
    pub(crate) fn search(
        query: Query,
        finish: impl FnOnce(Result<Vec<Hit>, String>, &mut Object<'_>) + Send + 'static,
    ) -> Self {
        Self::plain(Work::Search(query), |outcome, result| {
            let WorkOutcome::Search(outcome) = outcome else {
                return Err(mixed_up().into());
            };
            finish(outcome, result);
            Ok(())
        })
    }

    /// Versions of a prompt or resource.
    pub(crate) fn versions(
        request: VersionsRequest,
        finish: impl FnOnce(Result<FoundVersions, StoreError>, &mut Object<'_>) + Send + 'static,
    ) -> Self {
        Self::plain(Work::Versions(Box::new(request)), |outcome, result| {
            let WorkOutcome::Versions(outcome) = outcome else {
                return Err(mixed_up().into());
            };
            finish(outcome, result);
            Ok(())
        })
    }

    /// A question to the client; `unanswered` writes the result if no answer comes.
    pub(crate) fn question(
        unanswered: impl FnOnce(&mut Object<'_>) -> Result<(), Refusal> + Send + 'static,
    ) -> Self {
        Self::plain(Work::Question, |_, result| unanswered(result))
    }

    fn plain(
        work: Work,
        finish: impl FnOnce(WorkOutcome, &mut Object<'_>) -> Result<(), Refusal> + Send + 'static,
    ) -> Self {
        Self {
            work,
            prompt: None,
            held: 0,
            origin: ResultOrigin::Plain,
            finish: Box::new(|outcome, _, result| finish(outcome, result)),
        }
    }
}

/// The jobs of one connection.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    waiting: BTreeMap<Ticket, WaitingRequest>,
    next: u64,
}

/// A request that waits for a job.
pub(crate) struct WaitingRequest {
    pub(crate) id: Box<str>,
    pub(crate) era: Era,
    pub(crate) finish: FinishJob,
    /// Where the content of the result comes from.
    pub(crate) origin: ResultOrigin,
    pub(crate) kind: WorkKind,
    /// True if the client no longer wants the answer; only a write stays in the list.
    is_cancelled: bool,
    /// What was noted of it, if anything wants to know.
    pub(crate) noted: Option<Box<NotedUse>>,
    /// The request itself, if the client was asked something: its answer lets the request go on.
    pub(crate) asked: Option<AskedRequest>,
}

/// A request that goes on with the answer to a question.
pub(crate) struct AskedRequest {
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Box<RawValue>>,
}

impl fmt::Debug for WaitingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRequest")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl InFlight {
    /// Removes all waiting requests; returns their ids, oldest first, and the messages for their
    /// clients.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (Box<str>, &'static str)> + use<> {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let wanted = waiting.filter(|waiting| !waiting.is_cancelled);
        wanted.map(|waiting| (waiting.id, waiting.kind.ending()))
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Stores what the answer will need.
    pub(crate) fn start(&mut self, id: &str, era: Era, job: PendingJob) -> Job {
        let ticket = Ticket(self.next);
        self.next += 1;
        let PendingJob {
            work,
            prompt,
            held,
            origin,
            finish,
        } = job;
        let waiting = WaitingRequest {
            id: id.into(),
            era,
            finish,
            origin,
            kind: work.kind(),
            is_cancelled: false,
            noted: None,
            asked: None,
        };
        self.waiting.insert(ticket, waiting);
        Job {
            ticket,
            work,
            prompt,
            held,
        }
    }

    /// The same for a question, whose answer lets the request go on.
    pub(crate) fn ask(&mut self, request: &Request<'_>, era: Era, job: PendingJob) -> Job {
        let job = self.start(request.id, era, job);
        if let Some(waiting) = self.waiting.get_mut(&job.ticket) {
            waiting.asked = Some(AskedRequest {
                method: (&*request.method).into(),
                params: request.params.map(ToOwned::to_owned),
            });
        }
        job
    }

    /// Keeps what was noted of a request until its job is finished.
    pub(crate) fn note(&mut self, ticket: Ticket, noted: NotedUse) {
        if let Some(waiting) = self.waiting.get_mut(&ticket) {
            waiting.noted = Some(Box::new(noted));
        }
    }

    /// Questions that have no answer yet.
    pub(crate) fn questions(&self) -> usize {
        let kinds = self.waiting.values().map(|waiting| waiting.kind);
        kinds.filter(|kind| *kind == WorkKind::Question).count()
    }

    /// Removes the request that asked a question; `None` if no such question is open.
    pub(crate) fn answered(&mut self, id: &str) -> Option<(Ticket, WaitingRequest)> {
        let ticket = Ticket::of_question(id)?;
        let waiting = self.waiting.get(&ticket)?;
        waiting.asked.as_ref()?;
        Some((ticket, self.finish(ticket)?))
    }

    /// True if an answer is still wanted.
    pub(crate) fn wants(&self, ticket: Ticket) -> bool {
        let waiting = self.waiting.get(&ticket);
        waiting.is_some_and(|waiting| !waiting.is_cancelled)
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Forgets every request with this id: its client no longer waits. A write continues and counts
    /// until it is done: cancelling makes no room for another.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.waiting.retain(|_, waiting| {
            let is_meant = id::is_same(&waiting.id, id);
            waiting.is_cancelled |= is_meant;
            !is_meant || waiting.kind == WorkKind::Write
        });
    }

    /// Removes a request whose job finished, unless it was cancelled or never started.
    pub(crate) fn finish(&mut self, ticket: Ticket) -> Option<WaitingRequest> {
        let waiting = self.waiting.remove(&ticket);
        waiting.filter(|waiting| !waiting.is_cancelled)
    }
}
