//! The two eras: their versions, and what only one of them sends.

use twig_core::Catalog;

use crate::json::Object;

/// The version in which every request names its version.
pub(crate) const MODERN: &str = "2026-07-28";

/// The newest version that starts with `initialize`.
pub(crate) const NEWEST_LEGACY: &str = "2025-11-25";

/// The first version of the protocol.
pub(crate) const FIRST_VERSION: &str = "2024-11-05";

/// Every supported version, newest first.
pub const SUPPORTED_VERSIONS: [&str; 5] = [
    MODERN,
    NEWEST_LEGACY,
    "2025-06-18",
    "2025-03-26",
    FIRST_VERSION,
];

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// The rules that a request is answered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// How long a client may cache a listing, in milliseconds; changes are also announced.
const LIST_MILLIS: i32 = 5_000;

/// How long a client may cache the server's description, in milliseconds.
const DISCOVER_MILLIS: i32 = 60_000;

impl Era {
    /// The value for an id that could not be read: the modern era omits it.
    pub(crate) fn unreadable_id(self) -> Option<&'static str> {
        match self {
            Self::Legacy => Some("null"),
            Self::Modern => None,
        }
    }

    /// Writes how long a listing may be cached, if the era has that member. One that may be old is not
    /// to be cached.
    pub(crate) fn keep_list(self, catalog: &Catalog, result: &mut Object<'_>) {
        let millis = if catalog.is_stale() { 0 } else { LIST_MILLIS };
        self.keep(millis, result);
    }

    /// Writes how long the server's description may be cached.
    pub(crate) fn keep_discovery(self, result: &mut Object<'_>) {
        self.keep(DISCOVER_MILLIS, result);
    }

    fn keep(self, millis: i32, result: &mut Object<'_>) {
        if self == Self::Modern {
            result.number("ttlMs", millis);
            result.text("cacheScope", "private");
        }
    }
}
