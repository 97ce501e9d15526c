//! `subscriptions/listen`: requests that stay open and carry notifications until one side ends them.
//! A legacy client is notified without one.
//!
//! Nothing is queued: each catalog is compared with the last notification, so that a client that
//! reads slowly gets one notification for many changes and misses none.

use std::borrow::Cow;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;
use twig_core::{Catalog, Revisions};

use crate::era::{SERVER_INFO_KEY, SUBSCRIPTION_KEY};
use crate::error::Refusal;
use crate::id;
use crate::json::{self, Object};
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

/// What one client is notified of.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    open: Vec<Subscription>,
    legacy: Subscription,
}

/// What is announced on one subscription, and what was announced last.
#[derive(Debug, Default)]
struct Subscription {
    /// `None` for a legacy client.
    id: Option<Box<str>>,
    /// The last revision of the list of prompts that was announced; `None` if it is not.
    prompts: Option<u64>,
    /// The same for documents.
    documents: Option<u64>,
    /// The same for tools.
    tools: Option<u64>,
    /// The revision of contents when the watched documents were last compared.
    contents: u64,
    watched: Vec<Watched>,
}

/// A watched document.
#[derive(Debug)]
struct Watched {
    uri: Box<str>,
    /// The version that was announced last; `None` if it was gone.
    version: Option<u64>,
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
            id: Some(id.into()),
            prompts: wish.prompts.then_some(revisions.prompts),
            documents: wish.documents.then_some(revisions.documents),
            tools: wish.tools.then_some(revisions.tools),
            contents: revisions.contents,
            watched: wish.watched.unwrap_or_default(),
        });
        Ok(())
    }

    /// Ends every subscription with this id.
    pub(crate) fn cancel(&mut self, id: &str) {
        let is_it = |open: &Subscription| open.id.as_deref().is_some_and(|it| id::is_same(it, id));
        self.open.retain(|open| !is_it(open));
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
        watch(&mut self.legacy.watched, uri, catalog, limit)
    }

    /// Stops these notifications.
    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        self.legacy.watched.retain(|known| *known.uri != *uri);
    }

    /// Writes all changes since the last call, one message at a time.
    pub(crate) fn catch_up(
        &mut self,
        catalog: &Catalog,
        now: Revisions,
        buffer: &mut Vec<u8>,
        out: &mut impl Outbox,
    ) {
        for subscription in std::iter::once(&mut self.legacy).chain(&mut self.open) {
            let id = subscription.id.as_deref();
            let mut announce = |method: &'static str, uri: Option<&str>| {
                buffer.clear();
                announcement(method, uri, id, buffer);
                out.bytes(buffer);
                out.message_end();
            };
            for (announced, now, method) in [
                (
                    &mut subscription.prompts,
                    now.prompts,
                    "notifications/prompts/list_changed",
                ),
                (
                    &mut subscription.documents,
                    now.documents,
                    "notifications/resources/list_changed",
                ),
                (
                    &mut subscription.tools,
                    now.tools,
                    "notifications/tools/list_changed",
                ),
            ] {
                if announced.is_some_and(|announced| announced != now) {
                    *announced = Some(now);
                    announce(method, None);
                }
            }
            if std::mem::replace(&mut subscription.contents, now.contents) == now.contents {
                continue;
            }
            for watched in &mut subscription.watched {
                let version = version(catalog, &watched.uri);
                if std::mem::replace(&mut watched.version, version) != version {
                    announce("notifications/resources/updated", Some(&watched.uri));
                }
            }
        }
    }

    /// Removes all of them, oldest first.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Box<str>> + use<> {
        std::mem::take(&mut self.open)
            .into_iter()
            .filter_map(|open| open.id)
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

/// Watches one more document, if it is not watched already.
fn watch(
    watched: &mut Vec<Watched>,
    uri: Box<str>,
    catalog: &Catalog,
    limit: usize,
) -> Result<(), Refusal> {
    if watched.iter().any(|known| known.uri == uri) {
        return Ok(());
    }
    if watched.len() >= limit {
        return Err(Refusal::Subscriptions(limit));
    }
    let version = version(catalog, &uri);
    watched.push(Watched { uri, version });
    Ok(())
}

/// Reads a list of URIs and keeps those of documents, each once and within the limit.
fn watched(uris: &RawValue, catalog: &Catalog, limit: usize) -> Result<Vec<Watched>, Refusal> {
    let mut json = serde_json::Deserializer::from_str(uris.get());
    let keeper = Keeper { catalog, limit };
    json.deserialize_seq(keeper).map_err(|_| {
        let what = "`notifications.resourceSubscriptions` must be a list of strings";
        Refusal::Params(what.to_owned())
    })
}

/// Stores only URIs of existing documents; a list of millions takes no more memory than an empty
/// one.
struct Keeper<'c> {
    catalog: &'c Catalog,
    limit: usize,
}

impl<'de> Visitor<'de> for Keeper<'_> {
    type Value = Vec<Watched>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut uris: A) -> Result<Self::Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(uri) = uris.next_element::<Cow<'de, str>>()? {
            if self.catalog.document(&uri).is_some() {
                // Past the limit no more documents are watched; the acknowledgement shows that.
                let _ = watch(&mut kept, uri.into(), self.catalog, self.limit);
            }
        }
        Ok(kept)
    }
}

fn version(catalog: &Catalog, uri: &str) -> Option<u64> {
    catalog.document(uri).map(|found| found.document.version)
}

/// Writes a change, on a subscription or to a legacy client.
fn announcement(
    method: &'static str,
    uri: Option<&str>,
    subscription: Option<&str>,
    buffer: &mut Vec<u8>,
) {
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
