//! A server in a client's file: a program that the client starts, or an address.

use serde::Serialize;
use serde_json::Value;
use twig_clients::clients::{EntryForm, RemoteForm};

use super::launch::{self, ClientLaunch};
use super::node::ConfigNode;
use super::remote::RemoteServer;

/// What a client connects to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum ServerTarget {
    Program(ClientLaunch),
    Address(RemoteServer),
}

impl ServerTarget {
    /// The entry of that name that a client reads.
    pub(super) fn entry(
        &self,
        form: EntryForm,
        remote: Option<RemoteForm>,
        name: &str,
    ) -> ConfigNode {
        /// For a client whose file has no addresses; Twig writes none there.
        const PLAIN: RemoteForm = RemoteForm {
            kind: None,
            url: "url",
            token: None,
        };
        match self {
            Self::Program(launch) => launch.entry(form, name),
            Self::Address(server) => server.entry(form, remote.unwrap_or(PLAIN), name),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        let program = launch::read(value).map(Self::Program);
        program.or_else(|| RemoteServer::read(value).map(Self::Address))
    }
}

/// A server in a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    /// `None` if it is written in an unknown form.
    pub(crate) target: Option<ServerTarget>,
    /// The folder that it is started in, if the file names one.
    pub(crate) folder: Option<String>,
    /// Whether the file disables it.
    pub(crate) is_off: bool,
    /// Its source text in the file.
    pub(crate) raw: String,
}

impl ServerEntry {
    pub(super) fn read(name: String, value: &Value, raw: String) -> Self {
        let flag = |key: &str| value.get(key).and_then(Value::as_bool);
        Self {
            name,
            target: ServerTarget::read(value),
            folder: value.get("cwd").and_then(Value::as_str).map(str::to_owned),
            is_off: flag("disabled") == Some(true) || flag("enabled") == Some(false),
            raw,
        }
    }

    /// The program that it starts, if it starts one.
    pub(crate) fn launch(&self) -> Option<&ClientLaunch> {
        match &self.target {
            Some(ServerTarget::Program(launch)) => Some(launch),
            _ => None,
        }
    }

    /// The address that it names, if it names one.
    pub(crate) fn address(&self) -> Option<&RemoteServer> {
        match &self.target {
            Some(ServerTarget::Address(server)) => Some(server),
            _ => None,
        }
    }

    /// Whether it is a Twig that serves. An address shows only the name that the user gave it.
    pub(crate) fn is_twig(&self) -> bool {
        self.is_twig_address() || self.launch().is_some_and(ClientLaunch::is_twig)
    }

    /// Whether it is an address that is called Twig.
    pub(crate) fn is_twig_address(&self) -> bool {
        self.address().is_some() && self.name.to_ascii_lowercase().contains("twig")
    }
}
