//! Renders under way elsewhere: what to answer, and to whom, once they come back.

use std::collections::BTreeMap;

use twig_core::function::{self, Finished};
use twig_core::render::Unfinished;
use twig_core::search::{Hit, Query};
use twig_core::store::{ItemWrite, StoreError, Written};
use twig_core::template::{ComputedJob, JobOutcome};
use twig_core::{FunctionCall, FunctionOutcome, RenderError};

use crate::era::Era;
use crate::id;

/// Names one job of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Something for somebody else to run.
///
/// One that is not wanted any more may be dropped or finished, whichever comes easier: it does not
/// count as under way.
#[derive(Debug)]
pub struct Job {
    /// What to say when it is done.
    pub ticket: Ticket,
    /// What to run.
    pub work: Work,
}

/// What a job is.
#[derive(Debug)]
pub enum Work {
    /// A computed template, for a render worker.
    Render(ComputedJob),
    /// A program. One that is not wanted any more has to be ended.
    Function(Box<FunctionCall>),
    /// A write to the project, for its store. One that is not wanted any more is carried out all the
    /// same.
    Write(Box<ItemWrite>),
    /// A search, for the index.
    Search(Query),
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

/// The renders of one connection.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    renders: BTreeMap<Ticket, Render>,
    next: u64,
}

/// One render under way.
#[derive(Debug)]
pub(crate) struct Render {
    pub(crate) id: Box<str>,
    pub(crate) era: Era,
    pub(crate) prompt: Box<str>,
    pub(crate) description: Option<Box<str>>,
    pub(crate) rest: Rest,
}

/// What stays here while a job is run.
#[derive(Debug)]
pub(crate) enum Rest {
    Render(Unfinished),
    Function,
}

impl Render {
    /// Turns what came of the job into messages.
    pub(crate) fn finish(self, done: Done) -> (Box<str>, Era, Result<Finished, RenderError>) {
        let result = match (self.rest, done) {
            (Rest::Render(rest), Done::Render(outcome)) => {
                rest.finish(outcome).map(|messages| Finished {
                    description: None,
                    messages,
                })
            }
            (Rest::Function, Done::Function(outcome)) => function::finish(&self.prompt, outcome),
            // A transport that mixes its jobs up has to be told, not trusted.
            (_, _) => Err(RenderError::Limit(
                "The job came back as another".to_owned(),
            )),
        };
        let result = result.map(|finished| Finished {
            description: finished.description.or(self.description),
            ..finished
        });
        (self.id, self.era, result)
    }
}

impl InFlight {
    /// Takes the ids of all, oldest first.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Box<str>> + use<> {
        let renders = std::mem::take(&mut self.renders);
        renders.into_values().map(|render| render.id)
    }

    pub(crate) fn len(&self) -> usize {
        self.renders.len()
    }

    /// Keeps what will be needed for the answer.
    pub(crate) fn start(&mut self, render: Render) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.renders.insert(ticket, render);
        ticket
    }

    /// Whether an answer is still wanted.
    pub(crate) fn wants(&self, ticket: Ticket) -> bool {
        self.renders.contains_key(&ticket)
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.renders.clear();
    }

    /// Forgets every render with this id: nobody waits for it any more.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.renders
            .retain(|_, render| !id::is_same(&render.id, id));
    }

    /// Takes a render that came back, unless it was cancelled or never started.
    pub(crate) fn finish(&mut self, ticket: Ticket) -> Option<Render> {
        self.renders.remove(&ticket)
    }
}
