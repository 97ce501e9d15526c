//! `roots/list`: the folders that a legacy client works in.
//!
//! The server asks only where the transport wants to know, which is where the client runs on the same
//! machine. One request is open at a time, and one that is never answered changes nothing.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use twig_core::uri::decode;

use crate::id;
use crate::json;
use crate::params::ObjectMembers;

/// More roots than this are ignored.
const MOST_ROOTS: usize = 32;
/// The longest path of a root, in bytes.
const LONGEST_ROOT: usize = 4_096;

/// What was asked, and what was answered.
#[derive(Debug, Default)]
pub(crate) struct RootsRequest {
    /// True if the transport wants to know.
    pub(crate) is_wanted: bool,
    /// How many requests were sent.
    sent: u64,
    /// True if the last of them is not answered yet.
    is_open: bool,
    /// True if the roots changed since it was sent.
    is_stale: bool,
    /// The folders of the last answer, until they are taken.
    folders: Option<Vec<String>>,
}

impl RootsRequest {
    /// True if a notification is a reason to ask now.
    pub(crate) fn asks_after(&mut self, method: &str) -> bool {
        let is_reason = matches!(
            method,
            "notifications/initialized" | "notifications/roots/list_changed"
        );
        if !is_reason || !self.is_wanted {
            return false;
        }
        self.is_stale = self.is_open;
        !self.is_open
    }

    /// Writes the request.
    pub(crate) fn write(&mut self, buffer: &mut Vec<u8>) {
        self.sent += 1;
        self.is_open = true;
        self.is_stale = false;
        let id = self.id();
        json::object(buffer, |message| {
            message.raw("jsonrpc", "\"2.0\"");
            message.text("id", &id);
            message.text("method", "roots/list");
        });
    }

    /// True if a response with this id answers the open request.
    pub(crate) fn is_answered_by(&self, id: &str) -> bool {
        self.is_open && id::decode(id).is_some_and(|id| *id == *self.id())
    }

    /// Takes the answer, `None` for an error; returns whether to ask again.
    pub(crate) fn receive(&mut self, result: Option<&RawValue>) -> bool {
        self.is_open = false;
        if let Some(folders) = result.and_then(folders) {
            self.folders = Some(folders);
        }
        std::mem::take(&mut self.is_stale)
    }

    /// The folders of the last answer, if they were not taken yet.
    pub(crate) fn take(&mut self) -> Option<Vec<String>> {
        self.folders.take()
    }

    fn id(&self) -> String {
        format!("twig-roots-{}", self.sent)
    }
}

/// True if a client's capabilities have roots.
pub(crate) fn is_declared(capabilities: Option<&RawValue>) -> bool {
    #[derive(Default, Deserialize)]
    struct Declared<'a> {
        #[serde(borrow, default)]
        roots: Option<&'a RawValue>,
    }
    let declared = capabilities
        .and_then(|it| serde_json::from_str::<ObjectMembers<Declared<'_>>>(it.get()).ok());
    declared.is_some_and(|ObjectMembers(it)| it.roots.is_some_and(|it| it.get().starts_with('{')))
}

/// The folders in a result; `None` if it is not one.
fn folders(result: &RawValue) -> Option<Vec<String>> {
    #[derive(Default, Deserialize)]
    struct RootsResult<'a> {
        #[serde(borrow, default)]
        roots: Option<&'a RawValue>,
    }
    let ObjectMembers(result) =
        serde_json::from_str::<ObjectMembers<RootsResult<'_>>>(result.get()).ok()?;
    let mut roots = serde_json::Deserializer::from_str(result.roots?.get());
    roots.deserialize_seq(RootKeeper).ok()
}

/// Keeps the folders of the first roots; a list of millions takes no more memory.
struct RootKeeper;

impl<'de> Visitor<'de> for RootKeeper {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of roots")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut roots: A) -> Result<Self::Value, A::Error> {
        #[derive(Default, Deserialize)]
        struct RootEntry<'a> {
            #[serde(borrow, default)]
            uri: Option<Cow<'a, str>>,
        }
        let mut folders = Vec::new();
        while folders.len() < MOST_ROOTS {
            let Some(ObjectMembers(root)) =
                roots.next_element::<ObjectMembers<RootEntry<'de>>>()?
            else {
                return Ok(folders);
            };
            folders.extend(root.uri.as_deref().and_then(folder));
        }
        while roots.next_element::<IgnoredAny>()?.is_some() {}
        Ok(folders)
    }
}

/// The folder of a `file://` URI.
fn folder(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = decode(path);
    let is_path = path.starts_with('/') && path.len() <= LONGEST_ROOT;
    (is_path && !path.contains(char::is_control)).then(|| path.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn only_folders_of_this_machine_are_kept() {
        let result = raw(
            r#"{"roots":[{"uri":"file:///home/me/a%20b","name":"x"},{"uri":"https://x/y"},{"uri":"file://host/z"},{"uri":"file:///a%0Ab"},{},{"uri":"file://localhost/c"}]}"#,
        );
        assert_eq!(folders(&result).unwrap(), ["/home/me/a b", "/c"]);
        for json in ["{}", "[]", r#"{"roots":3}"#, r#"{"roots":[3]}"#] {
            assert_eq!(folders(&raw(json)), None, "{json}");
        }
        let many = format!(
            r#"{{"roots":[{}]}}"#,
            [r#"{"uri":"file:///x"}"#; 1000].join(",")
        );
        assert_eq!(folders(&raw(&many)).unwrap().len(), MOST_ROOTS);
    }

    #[test]
    fn one_request_is_open_at_a_time() {
        let mut roots = RootsRequest {
            is_wanted: true,
            ..RootsRequest::default()
        };
        let mut buffer = Vec::new();
        assert!(roots.asks_after("notifications/initialized"));
        roots.write(&mut buffer);
        // A change before the answer means that the answer may be old.
        assert!(!roots.asks_after("notifications/roots/list_changed"));
        let result = raw(r#"{"roots":[{"uri":"file:///x"}]}"#);
        assert!(!roots.is_answered_by("\"other\""));
        assert!(roots.is_answered_by("\"twig-roots-1\""));
        assert!(roots.receive(Some(&result)));
        assert_eq!(roots.take().unwrap(), ["/x"]);
        roots.write(&mut buffer);
        // An error changes nothing.
        assert!(!roots.is_answered_by("\"twig-roots-1\""));
        assert!(!roots.receive(None));
        assert_eq!(roots.take(), None);
    }
}
