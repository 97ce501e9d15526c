//! Jobs under way elsewhere: what to answer, and to whom, once they come back.

use std::collections::BTreeMap;
use std::sync::Arc;

use twig_core::function::{self, Finished};
use twig_core::render::{ComputedRender, Message, Rendering, Unfinished};
use twig_core::search::{Hit, Query};
use twig_core::store::{ItemWrite, StoreError, Written};
use twig_core::template::{ComputedJob, JobOutcome};
use twig_core::{FunctionCall, FunctionOutcome, Library, RenderError};

use crate::command_clients::{self, CommandGuard};
use crate::era::Era;
use crate::error::Refusal;
use crate::id;
use crate::json::Object;
use crate::prompts;
use crate::server::Server;
use crate::tools::expand::{self, Tail};
use crate::tools::write::WriteCall;
use crate::tools::{reply, search};

/// Names one job of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Something for somebody else to run.
///
/// One that is not wanted any more may be dropped or finished, whichever comes easier: it does not
/// count as under way. A write is carried out and finished always.
#[derive(Debug)]
pub struct Job {
    /// What to say when it is done.
    pub ticket: Ticket,
    /// What to run.
    pub work: Work,
    /// The prompt that it is for, if it is for one.
    pub prompt: Option<Box<str>>,
    /// Bytes that are held until it is done, here and in the work. Those of a write are its store's
    /// business.
    pub held: usize,
}

/// What a job is.
#[derive(Debug)]
pub enum Work {
    /// A computed template, for a render worker.
    Render(ComputedJob),
    /// A program. One that is not wanted any more has to be ended.
    Function(Box<FunctionCall>),
    /// A write to the project, for its store. One that is not wanted any more is carried out all the
    /// same, and counts as under way until it is finished or abandoned.
    Write(Box<ItemWrite>),
    /// A search, for the index.
    Search(Query),
}

impl Work {
    fn held(&self) -> usize {
        match self {
            Self::Render(job) => job.held(),
            Self::Function(call) => call.input.len(),
            Self::Write(_) | Self::Search(_) => 0,
        }
    }
}

/// What came of a job.
#[derive(Debug)]
pub enum Done {
    /// Of a computed template.
    Render(JobOutcome),
    /// Of a program.
    Function(FunctionOutcome),
    /// Of a write.
    Write(Result<Written, StoreError>),
    /// Of a search; a sentence where it could not be made.
    Search(Result<Vec<Hit>, String>),
}

impl From<JobOutcome> for Done {
    fn from(outcome: JobOutcome) -> Self {
        Self::Render(outcome)
    }
}

impl From<FunctionOutcome> for Done {
    fn from(outcome: FunctionOutcome) -> Self {
        Self::Function(outcome)
    }
}

/// The jobs of one connection.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    waiting: BTreeMap<Ticket, Waiting>,
    next: u64,
}

/// A request that waits for a job.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) id: Box<str>,
    pub(crate) era: Era,
    pub(crate) pending: Pending,
    /// Nobody waits for the answer any more; only a write is kept all the same.
    is_cancelled: bool,
}

/// A job that is to be started, and what stays here meanwhile.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) work: Work,
    pub(crate) pending: Pending,
}

/// What the outcome of a job is made into.
#[derive(Debug)]
pub(crate) enum Pending {
    /// What `prompts/get` answers, and what becomes of it where the client takes it for a command.
    Get(Render, Option<CommandGuard>),
    /// What `expand_prompt` answers.
    Expand(Render, Tail),
    /// What the tools that write answer.
    Write(WriteCall),
    /// What `search` answers.
    Search,
}

/// A render under way.
#[derive(Debug)]
pub(crate) struct Render {
    pub(crate) prompt: Box<str>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) library: Arc<Library>,
    pub(crate) rest: Rest,
}

/// What stays here of a render.
#[derive(Debug)]
pub(crate) enum Rest {
    Template(Unfinished),
    Function,
}

impl Rest {
    fn held(&self) -> usize {
        match self {
            Self::Template(rest) => rest.held(),
            Self::Function => 0,
        }
    }
}

/// A render as the protocol sees it: done, or something to be run.
pub(crate) enum Rendered {
    Done(Vec<Message>),
    Elsewhere(Work, Rest),
}

impl From<Rendering> for Rendered {
    fn from(rendering: Rendering) -> Self {
        match rendering {
            Rendering::Done(messages) => Self::Done(messages),
            Rendering::Computed(ComputedRender { job, rest }) => {
                Self::Elsewhere(Work::Render(job), Rest::Template(rest))
            }
            Rendering::Function(call) => Self::Elsewhere(Work::Function(call), Rest::Function),
        }
    }
}

impl Render {
    /// Turns what came of the job into messages.
    fn finish(self, done: Done) -> Result<Finished, RenderError> {
        let finished = match (self.rest, done) {
            (Rest::Template(rest), Done::Render(outcome)) => {
                rest.finish(outcome).map(|messages| Finished {
                    description: None,
                    messages,
                })
            }
            (Rest::Function, Done::Function(outcome)) => function::finish(&self.prompt, outcome),
            (_, _) => Err(RenderError::Limit(MIXED_UP.to_owned())),
        };
        finished.map(|finished| Finished {
            description: finished.description.or(self.description),
            ..finished
        })
    }
}

/// A transport that mixes its jobs up has to be told, not trusted.
const MIXED_UP: &str = "The job came back as another";

impl Pending {
    /// Writes the members of the result that the job's outcome makes.
    pub(crate) fn finish(
        self,
        done: Done,
        server: &Server,
        result: &mut Object<'_>,
    ) -> Result<(), Refusal> {
        match (self, done) {
            (Self::Get(render, guard), done) => {
                let (prompt, library) = (render.prompt.clone(), Arc::clone(&render.library));
                let mut finished = render.finish(done).map_err(|error| {
                    let error = command_clients::error(guard.as_ref(), error);
                    server.tell(&prompt, &error);
                    server.for_client([&library], error)
                })?;
                if let Some(guard) = guard {
                    guard.messages(&mut finished.messages);
                }
                let description = finished.description.as_deref();
                prompts::messages(description, &finished.messages, result);
            }
            (Self::Expand(render, tail), done) => {
                let (prompt, library) = (render.prompt.clone(), Arc::clone(&render.library));
                match render.finish(done) {
                    Ok(finished) => expand::write(finished.messages, tail, result),
                    Err(error) => {
                        server.tell(&prompt, &error);
                        let error = server.for_client([&library], error);
                        reply::failed(&error.to_string(), result);
                    }
                }
            }
            (Self::Write(write), Done::Write(outcome)) => write.finish(outcome, result),
            (Self::Search, Done::Search(outcome)) => search::finish(outcome, result),
            (Self::Write(_) | Self::Search, _) => {
                return Err(RenderError::Limit(MIXED_UP.to_owned()).into());
            }
        }
        Ok(())
    }

    /// What whoever waits is told where the server ends before the job does.
    fn farewell(&self) -> &'static str {
        match self {
            Self::Write(_) => {
                "The server is ending, and whether the change was made is not known: look before you repeat it"
            }
            _ => "The server is ending",
        }
    }
}

impl InFlight {
    /// Takes the ids of all who still wait, oldest first, and what they are to be told.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (Box<str>, &'static str)> + use<> {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let wanted = waiting.filter(|waiting| !waiting.is_cancelled);
        wanted.map(|waiting| (waiting.id, waiting.pending.farewell()))
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Keeps what will be needed for the answer.
    pub(crate) fn start(&mut self, id: &str, era: Era, errand: Errand) -> Job {
        let ticket = Ticket(self.next);
        self.next += 1;
        let Errand { work, pending } = errand;
        let render = match &pending {
            Pending::Get(render, _) | Pending::Expand(render, _) => Some(render),
            Pending::Write(_) | Pending::Search => None,
        };
        let prompt = render.map(|render| render.prompt.clone());
        let held = work.held() + render.map_or(0, |render| render.rest.held());
        let waiting = Waiting {
            id: id.into(),
            era,
            pending,
            is_cancelled: false,
        };
        self.waiting.insert(ticket, waiting);
        Job {
            ticket,
            work,
            prompt,
            held,
        }
    }

    /// Whether an answer is still wanted.
    pub(crate) fn wants(&self, ticket: Ticket) -> bool {
        let waiting = self.waiting.get(&ticket);
        waiting.is_some_and(|waiting| !waiting.is_cancelled)
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Forgets every request with this id: nobody waits for it any more. A write goes on and counts
    /// until it is done: cancelling makes no room for another.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.waiting.retain(|_, waiting| {
            let is_meant = id::is_same(&waiting.id, id);
            waiting.is_cancelled |= is_meant;
            !is_meant || matches!(waiting.pending, Pending::Write(_))
        });
    }

    /// Takes a request whose job came back, unless it was cancelled or never started.
    pub(crate) fn finish(&mut self, ticket: Ticket) -> Option<Waiting> {
        let waiting = self.waiting.remove(&ticket);
        waiting.filter(|waiting| !waiting.is_cancelled)
    }
}
