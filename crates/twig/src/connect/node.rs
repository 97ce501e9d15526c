//! The values of an entry, in the order in which they are written.

/// A value of an entry, for any syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConfigNode {
    Text(String),
    Flag(bool),
    List(Vec<String>),
    Table(Vec<(String, ConfigNode)>),
}

impl ConfigNode {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A quoted text, as JSON and TOML both read it.
pub(crate) fn quoted(text: &str) -> String {
    // JSON allows DEL unescaped, TOML refuses it.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}
