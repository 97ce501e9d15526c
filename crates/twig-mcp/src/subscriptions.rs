//! `subscriptions/listen`: requests that stay open and carry notifications until one side ends them.

use serde::Deserialize;
use serde_json::value::RawValue;
use twig_core::{Catalog, Revisions};

use crate::era::{SERVER_INFO_KEY, SUBSCRIPTION_KEY};
use crate::error::Refusal;
use crate::id;
use crate::json::{self, Object};
use crate::listener_state::{ListenerState, News, Watched, watched};
use crate::outbox::Outbox;
use crate::params::{self, ParamFields};
use crate::server::Server;

/// The longest id of a subscription, in bytes: it is stored, and repeated in every notification.
const ID_LIMIT: usize = 1024;

/// What a client wants to be notified of, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Filter<'a> {
    prompts_list_changed: Option<bool>,
    resources_list_changed: Option<bool>,
    tools_list_changed: Option<bool>,
    #[serde(borrow)]
    resource_subscriptions: Option<&'a RawValue>,
}

/// The part of it that is granted: everything that exists.
#[derive(Debug)]
pub(crate) struct SubscriptionFilter {
    prompts: bool,
    documents: bool,
    tools: bool,
    /// `None` if documents were not asked for.
    watched: Option<Vec<Watched>>,
}

/// The open subscriptions of one client.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    open: Vec<Subscription>,
    /// What a legacy client is notified of, without a subscription.
    legacy: ListenerState,
}

#[derive(Debug)]
struct Subscription {
    id: Box<str>,
    listener: ListenerState,
}

/// Reads what a client asks for, and keeps what can be granted.
pub(crate) fn read(
    catalog: &Catalog,
    limit: usize,
    fields: &ParamFields<'_>,
) -> Result<SubscriptionFilter, Refusal> {
    if fields.notifications.is_none() {
        let what = "`notifications` must be an object";
        return Err(Refusal::Params(what.to_owned()));
    }
    params::check_object(fields.notifications, "notifications")?;
    let filter: Filter<'_> = params::read(fields.notifications)?;
    let watched = match filter.resource_subscriptions {
        None => None,
        Some(uris) => Some(watched(uris, catalog, limit)?),
    };
    Ok(SubscriptionFilter {
        prompts: filter.prompts_list_changed == Some(true),
        documents: filter.resources_list_changed == Some(true),
        tools: filter.tools_list_changed == Some(true),
        watched,
    })
}

impl Subscriptions {
    /// Opens a subscription and writes its acknowledgement.
    pub(crate) fn open(
        &mut self,
        id: &str,
        wish: SubscriptionFilter,
        revisions: Revisions,
        limit: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        if id.len() > ID_LIMIT {
            let what = "The id of a subscription must not be longer than 1024 bytes";
            return Err(Refusal::Invalid(what));
        }
        if self.open.len() >= limit {
            return Err(Refusal::Subscriptions(limit));
        }
        let method = "notifications/subscriptions/acknowledged";
        notification(method, buffer, |params| {
            params.object("_meta", |meta| meta.raw(SUBSCRIPTION_KEY, id));
            params.object("notifications", |honoured| wish.write(honoured));
        });
        self.open.push(Subscription {
            id: id.into(),
            listener: ListenerState {
                prompts: wish.prompts.then_some(revisions.prompts),
                documents: wish.documents.then_some(revisions.documents),
                tools: wish.tools.then_some(revisions.tools),
                contents: revisions.contents,
                watched: wish.watched.unwrap_or_default(),
            },
        });
        Ok(())
    }

    /// Ends every subscription with this id.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.open.retain(|open| !id::is_same(&open.id, id));
    }

    /// Notifies a legacy client of every list from now on.
    pub(crate) fn initialized(&mut self, revisions: Revisions) {
        let legacy = &mut self.legacy;
        legacy.prompts.get_or_insert(revisions.prompts);
        legacy.documents.get_or_insert(revisions.documents);
        legacy.tools.get_or_insert(revisions.tools);
    }

    /// Notifies a legacy client of a document from now on.
    pub(crate) fn subscribe(
        &mut self,
        uri: Box<str>,
        catalog: &Catalog,
        limit: usize,
    ) -> Result<(), Refusal> {
        self.legacy.watch(uri, catalog, limit)
    }

    /// Stops these notifications.
    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        self.legacy.watched.retain(|known| *known.uri != *uri);
    }

    /// Writes all changes since the last call, one message at a time.
    pub(crate) fn catch_up(
        &mut self,
        catalog: &Catalog,
        revisions: Revisions,
        buffer: &mut Vec<u8>,
        out: &mut impl Outbox,
    ) {
        let legacy = [(None, &mut self.legacy)];
        let open = self.open.iter_mut();
        let open = open.map(|open| (Some(&*open.id), &mut open.listener));
        for (id, listener) in legacy.into_iter().chain(open) {
            listener.catch_up(catalog, revisions, |news| {
                buffer.clear();
                announcement(news, id, buffer);
                out.bytes(buffer);
                out.message_end();
            });
        }
    }

    /// Removes all of them, oldest first.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Box<str>> + use<> {
        std::mem::take(&mut self.open)
            .into_iter()
            .map(|open| open.id)
    }
}

impl SubscriptionFilter {
    fn write(&self, honoured: &mut Object<'_>) {
        let flags = [
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.documents),
            ("toolsListChanged", self.tools),
        ];
        for (name, _) in flags.iter().filter(|(_, flag)| *flag) {
            honoured.raw(name, "true");
        }
        if let Some(watched) = &self.watched {
            let uris = watched.iter().map(|known| &*known.uri);
            honoured.texts("resourceSubscriptions", uris);
        }
    }
}

/// Writes a change, on a subscription or to a legacy client.
fn announcement(news: News<'_>, subscription: Option<&str>, buffer: &mut Vec<u8>) {
    let (method, uri) = match news {
        News::Prompts => ("notifications/prompts/list_changed", None),
        News::Documents => ("notifications/resources/list_changed", None),
        News::Tools => ("notifications/tools/list_changed", None),
        News::Document(uri) => ("notifications/resources/updated", Some(uri)),
    };
    if subscription.is_none() && uri.is_none() {
        json::object(buffer, |message| {
            message.raw("jsonrpc", "\"2.0\"");
            message.text("method", method);
        });
        return;
    }
    notification(method, buffer, |params| {
        params.maybe("uri", uri);
        if let Some(id) = subscription {
            params.object("_meta", |meta| meta.raw(SUBSCRIPTION_KEY, id));
        }
    });
}

/// Writes the result that ends a subscription.
pub(crate) fn completed(id: &str, server: &Server, buffer: &mut Vec<u8>) {
    json::object(buffer, |message| {
        message.raw("jsonrpc", "\"2.0\"");
        message.raw("id", id);
        message.object("result", |result| {
            result.text("resultType", "complete");
            result.object("_meta", |meta| {
                meta.raw(SUBSCRIPTION_KEY, id);
                meta.raw(SERVER_INFO_KEY, &server.info);
            });
        });
    });
}

/// The request that a `notifications/cancelled` names.
pub(crate) fn cancelled(params: Option<&RawValue>) -> Option<&str> {
    let fields: ParamFields<'_> = params::read(params).ok()?;
    fields.request_id.map(RawValue::get)
}

fn notification(method: &'static str, buffer: &mut Vec<u8>, params: impl FnOnce(&mut Object<'_>)) {
    json::object(buffer, |message| {
        message.raw("jsonrpc", "\"2.0\"");
        message.text("method", method);
        message.object("params", params);
    });
}
