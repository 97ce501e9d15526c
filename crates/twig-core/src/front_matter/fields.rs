//! The fields of front matter: keys in their order, values as they were written.

/// The entries of front matter, in the author's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatterFields(Vec<(Box<str>, Field)>);

/// One entry.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    value: FrontMatterValue,
    /// The value as it is in the file, if it is plain text on the line of its key.
    written: Option<Box<str>>,
}

/// A value as YAML understands it.
#[derive(Debug, Clone, PartialEq)]
pub enum FrontMatterValue {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number, as it was written if JSON can hold it.
    Number(serde_json::Number),
    /// Text.
    Text(Box<str>),
    /// `[a, b]`, or lines with `-`.
    List(Vec<FrontMatterValue>),
    /// Keys and values, in their order.
    Map(Vec<(Box<str>, FrontMatterValue)>),
}

impl FrontMatterValue {
    /// The value as JSON.
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        self.write_json(&mut json);
        json
    }

    fn write_json(&self, json: &mut String) {
        match self {
            Self::Null => json.push_str("null"),
            Self::Flag(flag) => json.push_str(if *flag { "true" } else { "false" }),
            Self::Number(number) => json.push_str(&number.to_string()),
            Self::Text(text) => write_text(text, json),
            Self::List(items) => {
                json.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        json.push(',');
                    }
                    item.write_json(json);
                }
                json.push(']');
            }
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| (&**key, value));
                write_map(entries, json);
            }
        }
    }

    /// A single word or text, as text.
    pub fn word(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.to_string()),
            Self::Flag(_) | Self::Number(_) => Some(self.to_json()),
            Self::Null | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// Any value as text: lists with one item per line, maps as JSON.
    pub fn to_text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::List(items) => match items.iter().map(Self::word).collect::<Option<Vec<_>>>() {
                Some(words) => words.join("\n"),
                None => self.to_json(),
            },
            Self::Map(_) => self.to_json(),
            word => word.word().unwrap_or_default(),
        }
    }

    /// The entry of a map, unless it is null.
    pub fn get(&self, key: &str) -> Option<&FrontMatterValue> {
        let (_, value) = self.entries()?.iter().find(|(name, _)| **name == *key)?;
        (*value != Self::Null).then_some(value)
    }

    /// The entry of a map as one word or text.
    pub fn word_at(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Self::word)
    }

    /// The entries of a map.
    pub fn entries(&self) -> Option<&[(Box<str>, FrontMatterValue)]> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a list; empty for other values.
    pub fn items(&self) -> &[FrontMatterValue] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Yes or no, in any usual spelling.
    pub fn flag(&self) -> Option<bool> {
        match &*self.word()?.trim().to_ascii_lowercase() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        }
    }
}

impl From<serde_json::Value> for FrontMatterValue {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match value {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Flag(flag),
            Json::Number(number) => Self::Number(number),
            Json::String(text) => Self::Text(text.into()),
            Json::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Json::Object(entries) => {
                let entries = entries.into_iter();
                Self::Map(
                    entries
                        .map(|(key, value)| (key.into(), value.into()))
                        .collect(),
                )
            }
        }
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::Value::from(text).to_string());
}

fn write_map<'m>(
    entries: impl Iterator<Item = (&'m str, &'m FrontMatterValue)>,
    json: &mut String,
) {
    json.push('{');
    for (at, (key, value)) in entries.enumerate() {
        if at > 0 {
            json.push(',');
        }
        write_text(key, json);
        json.push(':');
        value.write_json(json);
    }
    json.push('}');
}

impl FrontMatterFields {
    pub(super) fn push(&mut self, key: &str, value: FrontMatterValue, written: Option<Box<str>>) {
        self.0.push((key.into(), Field { value, written }));
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&FrontMatterValue> {
        self.field(key).map(|field| &field.value)
    }

    /// The value of a key, unless it is null.
    pub fn get(&self, key: &str) -> Option<&FrontMatterValue> {
        self.value(key)
            .filter(|value| **value != FrontMatterValue::Null)
    }

    /// A key's value as text, as its author wrote it: `[a] | [b]`, `no`, `017` and `Fix #12` stay
    /// as they are. `None` if there is only whitespace.
    pub fn text(&self, key: &str) -> Option<&str> {
        let field = self.field(key)?;
        let text = match (&field.written, &field.value) {
            (_, FrontMatterValue::Null) => return None,
            (Some(written), _) => written,
            (None, FrontMatterValue::Text(text)) => text,
            (None, _) => return None,
        };
        Some(&**text).filter(|text| !text.trim().is_empty())
    }

    /// A key's value as one word, as YAML reads it: without a comment after it, and a number as its
    /// author wrote it.
    pub fn word(&self, key: &str) -> Option<&str> {
        let field = self.field(key)?;
        let text = match &field.value {
            FrontMatterValue::Text(text) => text,
            FrontMatterValue::Flag(_) | FrontMatterValue::Number(_) => {
                let written = field.written.as_deref()?;
                return written.split(" #").next().map(str::trim);
            }
            _ => return None,
        };
        Some(text.trim()).filter(|text| !text.is_empty())
    }

    /// A key's value as yes or no: `true`, `yes`, `on` and `1`, or `false`, `no`, `off` and `0`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.value(key).and_then(FrontMatterValue::flag)
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FrontMatterValue)> {
        self.0.iter().map(|(key, field)| (&**key, &field.value))
    }

    /// All of it as a JSON object, words as the core schema of YAML 1.2 reads them.
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        write_map(self.iter(), &mut json);
        json
    }

    /// Keys are compared exactly first, and then ignoring case.
    fn field(&self, key: &str) -> Option<&Field> {
        let with = |is_it: fn(&str, &str) -> bool| {
            let mut entries = self.0.iter();
            entries.find(|(name, _)| is_it(name, key))
        };
        let found = with(|name, key| name == key).or_else(|| with(str::eq_ignore_ascii_case));
        found.map(|(_, field)| field)
    }
}
