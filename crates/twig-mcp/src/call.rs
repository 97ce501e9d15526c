//! A request that is being answered, as every handler sees it.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::value::RawValue;
use twig_core::World;

use crate::client;
use crate::content_kinds::ContentKinds;
use crate::era::Era;
use crate::in_flight::PendingJob;
use crate::meta::Meta;
use crate::observer::{NotedUse, UseNote};
use crate::outbox::SharedPart;
use crate::schema::ResultOrigin;
use crate::server::Server;
use crate::subscriptions::SubscriptionFilter;

/// Everything that a handler needs for its answer.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) world: World<'a>,
    pub(crate) era: Era,
    pub(crate) meta: Meta<'a>,
    /// What a legacy client agreed on when it initialized.
    pub(crate) initialized: &'a InitializedClient,
    /// True if an unknown client asked for a prompt as `command_clients` do.
    pub(crate) fills_in: &'a AtomicBool,
    /// What is noted of the request, if anything wants to know.
    pub(crate) note: &'a UseNote,
    /// Whether a legacy request may ask for missing arguments.
    pub(crate) form: LegacyForm<'a>,
}

/// What a connection knows of its client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallerState<'a> {
    /// What a legacy client agreed on when it initialized.
    pub(crate) initialized: &'a InitializedClient,
    /// True if an unknown client asked for a prompt as `command_clients` do.
    pub(crate) fills_in: &'a AtomicBool,
    /// What is noted of the request.
    pub(crate) note: &'a UseNote,
}

/// Whether a legacy request may ask its client for missing arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LegacyForm<'a> {
    /// No: the client shows no forms, or too many are open.
    Unavailable,
    /// Yes.
    Available,
    /// It did, and this is the client's result; `None` for an error.
    Answered(Option<&'a RawValue>),
}

impl Call<'_> {
    /// Notes what the request uses, if anything wants to know.
    pub(crate) fn note(&self, note: impl FnOnce(&mut NotedUse)) {
        if self.server.observer.is_some() {
            self.note.set(note);
        }
    }

    /// The name of the client: from this request in the modern era, from `initialize` in the legacy
    /// one.
    pub(crate) fn client_name(&self) -> Option<Cow<'_, str>> {
        match self.era {
            Era::Legacy => self.initialized.name.as_deref().map(Cow::Borrowed),
            Era::Modern => {
                client::name(self.meta.client_info()).map(|name| Cow::Owned(name.into()))
            }
        }
    }

    /// The kinds of content that the client's version has.
    pub(crate) fn content_kinds(&self) -> ContentKinds {
        match self.era {
            Era::Legacy => self.initialized.kinds,
            Era::Modern => ContentKinds::ALL,
        }
    }
}

/// What a legacy client said when it initialized, and what was agreed on.
#[derive(Debug)]
pub(crate) struct InitializedClient {
    /// The name that it gave itself.
    pub(crate) name: Option<Box<str>>,
    /// The kinds of content of the version that was agreed on.
    pub(crate) kinds: ContentKinds,
    /// True if it shows forms.
    pub(crate) shows_forms: bool,
    /// True if it has roots, and answers `roots/list`.
    pub(crate) has_roots: bool,
}

/// The longest state of a client, in bytes.
pub const CLIENT_STATE: usize = 1 + CLIENT_NAME;

/// How much of a client's name is kept in its state, in bytes.
const CLIENT_NAME: usize = 64;

impl InitializedClient {
    /// What has to survive a restart: the kinds of content, whether it shows forms, and its name.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let name = self.name.as_deref().unwrap_or_default();
        let mut length = name.len().min(CLIENT_NAME);
        while !name.is_char_boundary(length) {
            length -= 1;
        }
        let name = &name[..length];
        let flags = self.kinds.to_bits() | (u8::from(self.shows_forms) << 2);
        let mut bytes = vec![flags | (u8::from(self.name.is_some()) << 3)];
        bytes.extend_from_slice(name.as_bytes());
        bytes
    }

    /// A client in that state. It is not asked for roots again.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (flags, name) = bytes.split_first().unwrap_or((&0, &[]));
        let name = std::str::from_utf8(name).ok();
        Self {
            name: name.filter(|_| flags & 8 != 0).map(Into::into),
            kinds: ContentKinds::from_bits(*flags),
            shows_forms: flags & 4 != 0,
            has_roots: false,
        }
    }
}

impl Default for InitializedClient {
    /// A client that has not initialized: it gets what the newest version has.
    fn default() -> Self {
        Self {
            name: None,
            kinds: ContentKinds::ALL,
            shows_forms: false,
            has_roots: false,
        }
    }
}

/// The outcome of a request, in addition to the result that was written.
pub(crate) enum CallOutcome {
    /// The result is complete.
    Complete,
    /// The same, and the result's metadata says where its content comes from.
    From(ResultOrigin),
    /// The same, and the result includes a part that replies share.
    Shared {
        part: SharedPart,
        version: Option<u64>,
    },
    /// The result is complete, and this client agreed on a legacy version.
    Initialized(InitializedClient),
    /// The result asks the client for more.
    InputRequired,
    /// The result comes after the client has answered a question.
    Question(Box<Question>),
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

/// A request to a legacy client, and what happens if it does not answer.
pub(crate) struct Question {
    /// The params of the request, as JSON.
    pub(crate) params: Vec<u8>,
    pub(crate) job: PendingJob,
}
