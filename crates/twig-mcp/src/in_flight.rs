//! Renders under way elsewhere: what to answer, and to whom, once they come back.

use std::collections::BTreeMap;

use twig_core::render::Unfinished;
use twig_core::template::ComputedJob;

use crate::era::Era;
use crate::id;

/// Names one job of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// A computed template for somebody else to run.
///
/// One that is not wanted any more may be dropped or finished, whichever comes easier: it does not
/// count as under way.
#[derive(Debug)]
pub struct Job {
    /// What to say when it is done.
    pub ticket: Ticket,
    /// What to run.
    pub render: ComputedJob,
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
    pub(crate) rest: Unfinished,
}

impl InFlight {
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
