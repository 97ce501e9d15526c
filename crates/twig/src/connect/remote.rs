//! A server that a client reaches over HTTP: converts to and from the format of its file.

use serde::Serialize;
use serde_json::{Map, Value};
use twig_clients::clients::{EntryForm, RemoteForm, TokenForm};

use super::node::ConfigNode;

/// The header of a token.
const HEADER: &str = "Authorization";

/// What precedes a token there.
const SCHEME: &str = "Bearer ";

/// The keys that hold an address in one client or another.
const ADDRESSES: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];

/// What stands around the name of a variable in one client or another, the longest first.
const AROUND: [(&str, &str); 4] = [
    ("${{ secrets.", " }}"),
    ("${env:", "}"),
    ("{env:", "}"),
    ("${", "}"),
];

/// A server over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RemoteServer {
    pub(crate) url: String,
    /// The variable with the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_env: Option<String>,
    /// True if the entry has headers that Twig would not write.
    #[serde(skip)]
    pub(crate) has_other_headers: bool,
}

impl RemoteServer {
    /// The entry of that name that a client reads.
    pub(super) fn entry(&self, form: EntryForm, remote: RemoteForm, name: &str) -> ConfigNode {
        let mut entry = Vec::new();
        let mut add = |key: &str, node: ConfigNode| entry.push((key.to_owned(), node));
        match form {
            EntryForm::Extension => add("enabled", ConfigNode::Flag(true)),
            EntryForm::Named => add("name", ConfigNode::text(name)),
            _ => {}
        }
        if let Some(kind) = remote.kind {
            add("type", ConfigNode::text(kind));
        }
        if form == EntryForm::Extension {
            add("name", ConfigNode::text(name));
        }
        add(remote.url, ConfigNode::text(&self.url));
        if form == EntryForm::Enabled {
            add("enabled", ConfigNode::Flag(true));
        }
        match (&self.token_env, remote.token) {
            (Some(variable), Some(TokenForm::Header(before, after))) => {
                let value = ConfigNode::Text(format!("{SCHEME}{before}{variable}{after}"));
                let header = vec![(HEADER.to_owned(), value)];
                add("headers", ConfigNode::Table(header));
            }
            (Some(variable), Some(TokenForm::Key(key, before, after))) => {
                add(key, ConfigNode::Text(format!("{before}{variable}{after}")));
            }
            _ => {}
        }
        if let (Some(variable), EntryForm::Extension) = (&self.token_env, form) {
            // It replaces only the variables that are named here.
            add("env_keys", ConfigNode::List(vec![variable.clone()]));
        }
        if form == EntryForm::AllTools {
            add("tools", ConfigNode::List(vec!["*".to_owned()]));
        }
        ConfigNode::Table(entry)
    }

    /// Every form is read in every file: users copy entries from one client to another.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let url = ADDRESSES
            .into_iter()
            .find_map(|key| value.get(key)?.as_str())?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let nested = value.get("requestOptions").and_then(|it| it.get("headers"));
        let all = [value.get("headers"), value.get("http_headers"), nested];
        let headers = all.into_iter().flatten().filter_map(Value::as_object);
        let headers: Vec<&Map<String, Value>> = headers.collect();
        let token = headers
            .iter()
            .find_map(|headers| headers.get(HEADER)?.as_str());
        let in_header = token.and_then(|token| variable(token.strip_prefix(SCHEME)?));
        let in_key = text("apiKey").and_then(variable);
        let named = text("bearer_token_env_var").map(str::to_owned);
        let count = headers.iter().map(|headers| headers.len()).sum::<usize>();
        let known = usize::from(in_header.is_some());
        let has_other_key = text("apiKey").is_some() && in_key.is_none();
        Some(Self {
            url: url.to_owned(),
            token_env: in_header.or(in_key).or(named),
            has_other_headers: count > known || has_other_key,
        })
    }
}

/// The variable that a value stands for.
fn variable(text: &str) -> Option<String> {
    let inner = AROUND
        .into_iter()
        .find_map(|(before, after)| text.strip_prefix(before)?.strip_suffix(after));
    inner.map(str::to_owned)
}
