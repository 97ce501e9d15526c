//! YAML and JSON as values that keep their order: the order of inputs is that of arguments.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// A number, as text.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Fields),
}

/// The fields of a map, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Fields(pub(super) Vec<(String, Node)>);

impl Fields {
    /// A field, unless it is null.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let found = self.0.iter().find(|(name, _)| name == key);
        found.map(|(_, node)| node).filter(|node| !node.is_null())
    }

    /// A field that is one word or sentence.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Node::scalar)
    }

    /// Whether any of these fields is there.
    pub(super) fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.get(key).is_some())
    }
}

impl Node {
    fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(super) fn as_map(&self) -> Option<&Fields> {
        match self {
            Self::Map(fields) => Some(fields),
            _ => None,
        }
    }

    pub(super) fn as_list(&self) -> Option<&[Node]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A scalar as text.
    pub(super) fn scalar(&self) -> Option<String> {
        match self {
            Self::Bool(flag) => Some(flag.to_string()),
            Self::Number(text) | Self::Text(text) => Some(text.clone()),
            Self::Null | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// Any value as text: lists one item a line, maps as JSON.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::List(items) if items.iter().all(|item| item.scalar().is_some()) => {
                let items: Vec<String> = items.iter().filter_map(Self::scalar).collect();
                items.join("\n")
            }
            Self::List(_) | Self::Map(_) => self.to_json().to_string(),
            scalar => scalar.scalar().unwrap_or_default(),
        }
    }

    fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(flag) => (*flag).into(),
            Self::Number(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into())
            }
            Self::Text(text) => text.as_str().into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(fields) => {
                let fields = fields.0.iter();
                serde_json::Value::Object(fields.map(|(k, v)| (k.clone(), v.to_json())).collect())
            }
        }
    }

    /// Whether it is `true`, or a word for it.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Bool(flag) => *flag,
            Self::Text(text) => text.trim().eq_ignore_ascii_case("true"),
            _ => false,
        }
    }
}

/// Reads JSON; the error is one sentence.
pub(super) fn json(text: &str) -> Result<Node, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))
}

/// Reads YAML, within a budget.
pub(super) fn yaml(text: &str) -> Result<Node, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, max_anchors: 64, max_depth: 64 },
        strict_booleans: true,
        with_snippet: false,
    };
    let read: Result<Node, _> = serde_saphyr::from_str_with_options(text, options);
    read.map_err(|error| {
        let message = error.to_string();
        let line = message.lines().next().unwrap_or_default();
        format!("it is not valid YAML: {}", line.trim_end_matches('.'))
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Node, Node>()? {
            fields.push((key.to_text(), value));
        }
        Ok(Node::Map(Fields(fields)))
    }
}
