//! What front matter says: keys in their order, values as they were written.

/// The entries of front matter, in the author's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fields(Vec<(Box<str>, Field)>);

/// One entry.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    value: Value,
    /// The value as it stands in the file, where it is plain text on the line of its key.
    written: Option<Box<str>>,
}

/// A value as YAML understands it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number, as it was written where JSON can hold it.
    Number(serde_json::Number),
    /// Text.
    Text(Box<str>),
    /// `[a, b]`, or lines with `-`.
    List(Vec<Value>),
    /// Keys and values, in their order.
    Map(Vec<(Box<str>, Value)>),
}

impl Fields {
    pub(super) fn push(&mut self, key: &str, value: Value, written: Option<&str>) {
        let written = written.map(Into::into);
        self.0.push((key.into(), Field { value, written }));
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        let mut entries = self.0.iter();
        entries
            .find(|(name, _)| **name == *key)
            .map(|(_, field)| &field.value)
    }

    /// A key's value as text, as its author wrote it: `[a] | [b]`, `no`, `017` and `Fix #12` stay
    /// what they are. `None` where there is nothing but blanks.
    pub fn text(&self, key: &str) -> Option<&str> {
        let (_, field) = self.0.iter().find(|(name, _)| **name == *key)?;
        let text = match (&field.written, &field.value) {
            (Some(written), _) => written,
            (None, Value::Text(text)) => text,
            (None, _) => return None,
        };
        Some(text.trim()).filter(|text| !text.is_empty())
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, field)| (&**key, &field.value))
    }
}
