//! A request that is being answered, as every handler sees it.

use std::cell::Cell;
use std::sync::Arc;

use twig_core::World;

use crate::era::Era;
use crate::in_flight::PendingJob;
use crate::meta::Meta;
use crate::outbox::SharedPart;
use crate::server::Server;
use crate::subscriptions::SubscriptionFilter;

/// What a handler answers from.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) world: World<'a>,
    pub(crate) era: Era,
    pub(crate) meta: Meta<'a>,
    /// What a legacy client called itself before.
    pub(crate) client: Option<&'a str>,
    /// True if an unknown client asked for a prompt as `command_clients` do.
    pub(crate) fills_in: &'a Cell<bool>,
}

/// What became of a request, beside what was written as its result.
pub(crate) enum CallOutcome {
    /// The result is complete.
    Complete,
    /// The same, and it is this version of what a store holds.
    Stored(u64),
    /// The same, and something that replies share belongs into it.
    Shared {
        part: SharedPart,
        version: Option<u64>,
    },
    /// The result is complete, and a legacy version was agreed on with a client of this name.
    Initialized { client: Option<Box<str>> },
    /// The result asks the client for more.
    InputRequired,
    /// The result is this page, nothing else.
    Page(Arc<Vec<u8>>),
    /// There is no result before a job was run.
    Job(Box<PendingJob>),
    /// There is no result before the subscription ends.
    Listen(SubscriptionFilter),
    /// The result is empty, and the client is notified of this document from now on.
    Subscribe(Box<str>),
    /// The result is empty, and the client is no longer notified of this document.
    Unsubscribe(Box<str>),
}
