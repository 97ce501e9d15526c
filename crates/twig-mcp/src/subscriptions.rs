//! `subscriptions/listen`: requests that stay open and carry notifications until one side ends them.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::era::{SERVER_INFO_KEY, SUBSCRIPTION_KEY};
use crate::error::Refusal;
use crate::id;
use crate::json::{self, Object};
use crate::params::{self, Fields};
use crate::server::Server;

/// The longest id of a subscription, in bytes: it is kept, and repeated in every notification.
const ID_LIMIT: usize = 1024;

/// What a client wants to hear of.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Filter {
    prompts_list_changed: Option<bool>,
    resources_list_changed: Option<bool>,
    tools_list_changed: Option<bool>,
    resource_subscriptions: Option<Uris>,
}

/// URIs of resources; none is known yet, so that none is kept.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<Uri>")]
struct Uris;

impl From<Vec<Uri>> for Uris {
    fn from(_: Vec<Uri>) -> Self {
        Self
    }
}

/// A string that was checked to be one and then forgotten.
#[derive(Deserialize)]
#[serde(from = "std::borrow::Cow<'_, str>")]
struct Uri;

impl From<std::borrow::Cow<'_, str>> for Uri {
    fn from(_: std::borrow::Cow<'_, str>) -> Self {
        Self
    }
}

/// The subscriptions of one client that are open.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    open: Vec<Subscription>,
}

#[derive(Debug)]
struct Subscription {
    id: Box<str>,
    hears_prompts: bool,
}

/// Reads what a client asks for.
pub(crate) fn read(fields: &Fields<'_>) -> Result<Filter, Refusal> {
    if fields.notifications.is_none() {
        let what = "`notifications` must be an object";
        return Err(Refusal::Params(what.to_owned()));
    }
    params::check_object(fields.notifications, "notifications")?;
    params::read(fields.notifications)
}

impl Subscriptions {
    /// Opens a subscription and writes its acknowledgement.
    pub(crate) fn open(
        &mut self,
        id: &str,
        filter: &Filter,
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
        self.open.push(Subscription {
            id: id.into(),
            hears_prompts: filter.prompts_list_changed == Some(true),
        });
        let method = "notifications/subscriptions/acknowledged";
        notification(method, buffer, |params| {
            params.object("_meta", |meta| meta.raw(SUBSCRIPTION_KEY, id));
            params.object("notifications", |honoured| filter.write(honoured));
        });
        Ok(())
    }

    /// Ends every subscription with this id.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.open.retain(|open| !id::is_same(&open.id, id));
    }

    /// The ids of those who want to hear that the list of prompts changed.
    pub(crate) fn hearing_prompts(&self) -> impl Iterator<Item = &str> {
        let hearing = self.open.iter().filter(|open| open.hears_prompts);
        hearing.map(|open| &*open.id)
    }

    /// Takes all of them, oldest first.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Box<str>> + use<> {
        std::mem::take(&mut self.open)
            .into_iter()
            .map(|open| open.id)
    }
}

impl Filter {
    /// Writes what is honoured: all that was asked for, of what there is.
    fn write(&self, honoured: &mut Object<'_>) {
        let flags = [
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
            ("toolsListChanged", self.tools_list_changed),
        ];
        for (name, _) in flags.iter().filter(|(_, flag)| *flag == Some(true)) {
            honoured.raw(name, "true");
        }
        if self.resource_subscriptions.is_some() {
            honoured.raw("resourceSubscriptions", "[]");
        }
    }
}

/// Writes that the list of prompts changed, on a subscription or to a legacy peer.
pub(crate) fn prompts_changed(subscription: Option<&str>, buffer: &mut Vec<u8>) {
    let method = "notifications/prompts/list_changed";
    match subscription {
        Some(id) => notification(method, buffer, |params| {
            params.object("_meta", |meta| meta.raw(SUBSCRIPTION_KEY, id));
        }),
        None => json::object(buffer, |message| {
            message.raw("jsonrpc", "\"2.0\"");
            message.text("method", method);
        }),
    }
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

/// The request that a `notifications/cancelled` means.
pub(crate) fn cancelled(params: Option<&RawValue>) -> Option<&str> {
    let fields: Fields<'_> = params::read(params).ok()?;
    fields.request_id.map(RawValue::get)
}

fn notification(method: &'static str, buffer: &mut Vec<u8>, params: impl FnOnce(&mut Object<'_>)) {
    json::object(buffer, |message| {
        message.raw("jsonrpc", "\"2.0\"");
        message.text("method", method);
        message.object("params", params);
    });
}
