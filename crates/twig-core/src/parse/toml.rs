//! A TOML document as a tree of borrowed values, each with its place in the text.
//!
//! The `toml` crate can read everything. Most manifests use a small, regular part of the language,
//! and a server with thousands of prompts spends its start on them. So [`plain`] tries first: it
//! reads that part ten times faster and declines everything else.

mod plain;

use std::borrow::Cow;
use std::ops::Range;

use ::toml::de::{DeTable, DeValue};

use crate::depth;

/// A value and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct TomlItem<'a> {
    /// The value.
    pub value: TomlValue<'a>,
    /// Its bytes in the text.
    pub span: Range<usize>,
}

/// The values of manifests.
#[derive(Debug, Clone, PartialEq)]
pub enum TomlValue<'a> {
    /// A string in any of the four forms.
    Text(Cow<'a, str>),
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// An array, or tables under one `[[header]]`.
    List(Vec<TomlItem<'a>>),
    /// A table.
    Table(Table<'a>),
    /// Any other type, by its name.
    Other(&'static str),
}

impl TomlValue<'_> {
    /// The type's name, for people.
    pub fn type_name(&self) -> &'static str {
        match self {
            TomlValue::Text(_) => "a string",
            TomlValue::Bool(_) => "a boolean",
            TomlValue::Integer(_) => "a number",
            TomlValue::List(_) => "an array",
            TomlValue::Table(_) => "a table",
            TomlValue::Other(name) => name,
        }
    }
}

/// A table's entries; keys are unique.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table<'a> {
    /// The entries.
    pub entries: Vec<TomlEntry<'a>>,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct TomlEntry<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// The key's bytes in the text.
    pub key_span: Range<usize>,
    /// The value.
    pub item: TomlItem<'a>,
}

impl<'a> Table<'a> {
    /// Looks a key up.
    pub fn get(&self, key: &str) -> Option<&TomlItem<'a>> {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.item)
    }
}

/// A text that is not TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlSyntaxError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Option<Range<usize>>,
}

/// Reads a document.
pub fn read(text: &str) -> Result<Table<'_>, TomlSyntaxError> {
    match plain::read(text) {
        Some(table) => Ok(table),
        None => read_any(text),
    }
}

/// Reads a document with the `toml` crate.
fn read_any(text: &str) -> Result<Table<'_>, TomlSyntaxError> {
    depth::toml(text).map_err(|error| TomlSyntaxError {
        message: error.to_string(),
        span: Some(error.at..error.at + 1),
    })?;
    match DeTable::parse(text) {
        Ok(table) => Ok(convert_table(table.into_inner())),
        Err(error) => Err(TomlSyntaxError {
            message: error.message().to_owned(),
            span: error.span(),
        }),
    }
}

fn convert_table(table: DeTable<'_>) -> Table<'_> {
    let entries = table.into_iter().map(|(key, value)| {
        let key_span = key.span();
        let span = value.span();
        let item = TomlItem {
            value: convert(value.into_inner()),
            span,
        };
        TomlEntry {
            key: key.into_inner(),
            key_span,
            item,
        }
    });
    Table {
        entries: entries.collect(),
    }
}

fn convert(value: DeValue<'_>) -> TomlValue<'_> {
    match value {
        DeValue::String(text) => TomlValue::Text(text),
        DeValue::Boolean(value) => TomlValue::Bool(value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => TomlValue::Integer(number),
            Err(_) => TomlValue::Other("a number that is too large"),
        },
        DeValue::Float(_) => TomlValue::Other("a fraction"),
        DeValue::Datetime(_) => TomlValue::Other("a date"),
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| {
                let span = item.span();
                TomlItem {
                    value: convert(item.into_inner()),
                    span,
                }
            });
            TomlValue::List(items.collect())
        }
        DeValue::Table(table) => TomlValue::Table(convert_table(table)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The readers' spans differ if tables are built from several headers, and one keeps the order
    /// of the file while the other sorts: neither is promised.
    fn normal(table: &Table<'_>) -> Vec<(String, String)> {
        let mut entries: Vec<(String, String)> = table
            .entries
            .iter()
            .map(|entry| (entry.key.to_string(), normal_value(&entry.item.value)))
            .collect();
        entries.sort();
        entries
    }

    fn normal_value(value: &TomlValue<'_>) -> String {
        match value {
            TomlValue::Table(table) => format!("{:?}", normal(table)),
            TomlValue::List(items) => {
                format!(
                    "{:?}",
                    items
                        .iter()
                        .map(|item| normal_value(&item.value))
                        .collect::<Vec<_>>()
                )
            }
            other => format!("{other:?}"),
        }
    }

    fn agree(text: &str) {
        if let Some(plain) = plain::read(text) {
            let full = read_any(text).unwrap_or_else(|e| panic!("plain took {text:?}: {e:?}"));
            assert_eq!(normal(&plain), normal(&full), "{text:?}");
        }
    }

    #[test]
    fn the_contract_is_plain() {
        let text = "[prompts.a]\ndescription = \"x\" # why\n\n[[prompts.a.arguments]]\nname = \"n\"\nrequired = true\n\n[[prompts.a.arguments]]\nname = 'm'\nmax_length = 10\nchoices = [\"a\", 'b']\n";
        assert!(plain::read(text).is_some());
        agree(text);
        agree(&text.replace('\n', "\r\n"));
    }

    #[test]
    fn what_is_not_plain_is_declined() {
        for text in [
            "a.b = 1",
            "a = \"\"\"x\"\"\"",
            "a = '''x'''",
            "a = {}",
            "a = [1]",
            "a = [\n]",
            "\"a\" = 1",
            "a = \"\\n\"",
            "a = 1.0",
            "a = 0x1",
            "a = 01",
            "a = 1\na = 2",
            "[a]\n[a]",
            "[a.b]\n[a]",
            "a = []\n[[a]]",
            "[[a]]\n[a]",
            "a = 1 b = 2",
            "[a",
            "a = tru",
            "a = \"x\" y",
            "[a]x",
            "\u{7}",
            "# \u{1}",
            "[x.a]\n[y]\n[x.b]",
            "a = 1979-05-27",
            "= 1",
            "a",
            "[]",
            "[a.]",
            "[[a].b]",
            "a = 1_000",
            "a = -1",
            "a = [é\"é",
            "a = +1",
        ] {
            assert!(plain::read(text).is_none(), "{text:?}");
        }
    }

    fn line() -> impl Strategy<Value = String> {
        let key = prop_oneof![
            Just("a"),
            Just("b"),
            Just("prompts"),
            Just("x-1"),
            Just("_")
        ];
        let value = prop_oneof![
            Just("\"t\"".to_owned()),
            Just("'t'".to_owned()),
            Just("true".to_owned()),
            Just("7".to_owned()),
            Just("[\"a\", 'b',]".to_owned()),
            Just("\"\"".to_owned()),
            "[\"'\\[\\]a#= \\\\0-9]{0,6}",
        ];
        let path = proptest::collection::vec(key.clone(), 1..4).prop_map(|parts| parts.join("."));
        prop_oneof![
            (key, value).prop_map(|(k, v)| format!("{k} = {v}")),
            path.clone().prop_map(|p| format!("[{p}]")),
            path.prop_map(|p| format!("[[{p}]] # c")),
            "[ \t#a\\r\\[\\]=\"']{0,5}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn both_readers_agree(lines in proptest::collection::vec(line(), 0..8)) {
            agree(&lines.join("\n"));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            agree(&text);
        }
    }
}
