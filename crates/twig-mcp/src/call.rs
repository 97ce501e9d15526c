//! A request that is being answered, as every handler sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use twig_core::World;

use crate::era::Era;
use crate::in_flight::PendingJob;
use crate::meta::Meta;
use crate::outbox::SharedPart;
use crate::server::Server;
use crate::subscriptions::SubscriptionFilter;

/// Everything that a handler needs for its answer.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) world: World<'a>,
    pub(crate) era: Era,
    pub(crate) meta: Meta<'a>,
    /// The name that a legacy client gave when it initialized.
    pub(crate) client: Option<&'a str>,
    /// True if an unknown client asked for a prompt as `command_clients` do.
    pub(crate) fills_in: &'a AtomicBool,
}

/// The outcome of a request, in addition to the result that was written.
pub(crate) enum CallOutcome {
    /// The result is complete.
    Complete,
    /// The same, and the result is this version of stored content.
    Stored(u64),
    /// The same, and the result includes a part that replies share.
    Shared {
        part: SharedPart,
        version: Option<u64>,
    },
    /// The result is complete, and a client of this name agreed on a legacy version.
    Initialized { client: Option<Box<str>> },
    /// The result asks the client for more.
    InputRequired,
    /// The result is exactly this page.
    Page(Arc<Vec<u8>>),
    /// The result comes after a job has run.
    Job(Box<PendingJob>),
    /// The result comes when the subscription ends.
    Listen(SubscriptionFilter),
    /// The result is empty, and the client is notified of this document from now on.
    Subscribe(Box<str>),
    /// The result is empty, and the client is no longer notified of this document.
    Unsubscribe(Box<str>),
}
