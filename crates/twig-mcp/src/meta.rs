//! The metadata of a request in `params._meta`, which also determines its era.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::era::{CAPABILITIES_KEY, Era, MODERN, VERSION_KEY};
use crate::error::Refusal;
use crate::id;

/// The known members of `params._meta`.
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
    /// The era of the request, from its own version.
    pub(crate) fn era(&self) -> Era {
        match self.version {
            Some(_) => Era::Modern,
            None => Era::Legacy,
        }
    }

    /// Refuses an unsupported version.
    ///
    /// Legacy versions are agreed on by `initialize` and do not use this key.
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

    /// Refuses a modern request without its client's capabilities.
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

    /// The version of the request, as JSON.
    pub(crate) fn version(&self) -> Option<&'a str> {
        self.version.map(RawValue::get)
    }

    /// The client's description of itself, as JSON.
    pub(crate) fn client_info(&self) -> Option<&'a RawValue> {
        self.client_info
    }

    /// The client's capabilities, as JSON.
    pub(crate) fn capabilities(&self) -> Option<&'a str> {
        self.capabilities.map(RawValue::get)
    }
}

/// Keeps a null: a client that writes the key at all means to be modern.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub(crate) fn missing(key: &str) -> Refusal {
    Refusal::Meta(format!("`params._meta` needs `{key}`"))
}
