//! The two eras, told apart by what a request carries in `params._meta`.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::Refusal;
use crate::id;
use crate::json::Object;

/// The version in which every request says its version.
pub(crate) const MODERN: &str = "2026-07-28";

/// The newest version that starts with `initialize`.
pub(crate) const NEWEST_LEGACY: &str = "2025-11-25";

/// Every version that is spoken, newest first.
pub const SUPPORTED_VERSIONS: [&str; 5] = [
    MODERN,
    NEWEST_LEGACY,
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Whose rules a request is answered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    /// 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// How long a listing may be kept, in milliseconds; changes are announced besides.
const LIST_MILLIS: i32 = 5_000;

/// How long what the server says of itself may be kept, in milliseconds.
const DISCOVER_MILLIS: i32 = 60_000;

impl Era {
    /// What stands for an id that could not be read: the modern era leaves it out.
    pub(crate) fn unreadable_id(self) -> Option<&'static str> {
        match self {
            Self::Legacy => Some("null"),
            Self::Modern => None,
        }
    }

    /// Says how long a listing may be kept, where the era wants to know.
    pub(crate) fn keep_list(self, result: &mut Object<'_>) {
        self.keep(LIST_MILLIS, result);
    }

    /// Says how long the server's description of itself may be kept.
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

/// What Twig reads of `params._meta`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        rename = "io.modelcontextprotocol/protocolVersion"
    )]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    client_info: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// The era of the request; it says so itself.
    pub(crate) fn era(&self) -> Era {
        match self.version {
            Some(_) => Era::Modern,
            None => Era::Legacy,
        }
    }

    /// Refuses a version that is not spoken.
    ///
    /// Legacy versions are agreed on by `initialize` and know nothing of this key.
    pub(crate) fn check_version(&self) -> Result<(), Refusal> {
        let Some(version) = self.version.map(RawValue::get) else {
            return Ok(());
        };
        match id::decode(version) {
            None => Err(Refusal::Meta(format!("`{VERSION_KEY}` must be a string"))),
            Some(version) if version == MODERN => Ok(()),
            Some(version) => Err(Refusal::Version {
                requested: version.into_owned(),
            }),
        }
    }

    /// Refuses a modern request that does not say what its client can do.
    pub(crate) fn check_capabilities(&self) -> Result<(), Refusal> {
        if self.era() == Era::Legacy {
            return Ok(());
        }
        match self.capabilities.map(RawValue::get) {
            None => Err(missing(CAPABILITIES_KEY)),
            Some(capabilities) if capabilities.starts_with('{') => Ok(()),
            Some(_) => Err(Refusal::Meta(format!(
                "`{CAPABILITIES_KEY}` must be an object"
            ))),
        }
    }

    /// Refuses a request that has to be modern and is not.
    pub(crate) fn check_modern(&self) -> Result<(), Refusal> {
        match self.era() {
            Era::Modern => Ok(()),
            Era::Legacy => Err(missing(VERSION_KEY)),
        }
    }

    /// The version that the request says, as JSON.
    pub(crate) fn version(&self) -> Option<&'a str> {
        self.version.map(RawValue::get)
    }

    /// Who the client says that it is, as JSON.
    pub(crate) fn client_info(&self) -> Option<&'a RawValue> {
        self.client_info
    }

    /// What the client says that it can do, as JSON.
    pub(crate) fn capabilities(&self) -> Option<&'a str> {
        self.capabilities.map(RawValue::get)
    }
}

/// Keeps a null: whoever writes the key at all means to be modern.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub(crate) fn missing(key: &str) -> Refusal {
    Refusal::Meta(format!("`params._meta` needs `{key}`"))
}
