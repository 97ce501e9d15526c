//! A TOML document as a tree of borrowed values, each with its place in the text.
//!
//! The `toml` crate can read everything. Most manifests use a small, regular part of the language,
//! and a server with thousands of prompts spends its start on them. So [`plain`] tries first: it
//! reads that part ten times faster and declines everything else.

mod parts;
mod plain;

use std::borrow::Cow;
use std::ops::Range;

use ::toml::de::{DeTable, DeValue};

pub(super) use self::parts::{TomlParts, read_parts};
use crate::depth;
use crate::problem::locate;

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
    /// What to do about it.
    pub help: Option<&'static str>,
}

/// Reads a document.
pub fn read(text: &str) -> Result<Table<'_>, TomlSyntaxError> {
    match plain::read(text) {
        Some(table) => Ok(table),
        None => read_any(text),
    }
}

/// Reads a document with the `toml` crate.
pub(super) fn read_any(text: &str) -> Result<Table<'_>, TomlSyntaxError> {
    depth::toml(text).map_err(|error| TomlSyntaxError {
        message: error.to_string(),
        span: Some(error.at..error.at + 1),
        help: None,
    })?;
    let error = match DeTable::parse(text) {
        Ok(table) => return Ok(convert_table(table.into_inner())),
        Err(error) => error,
    };
    let span = error.span();
    let first = span
        .as_ref()
        .filter(|_| error.message() == "duplicate key")
        .and_then(|span| already(text, span));
    Err(first.unwrap_or_else(|| TomlSyntaxError {
        message: error.message().to_owned(),
        span,
        help: None,
    }))
}

/// The error for a header or a key that is there twice; it names the line of the first. `None` if
/// the first is written in another way.
fn already(text: &str, span: &Range<usize>) -> Option<TomlSyntaxError> {
    let start = line_start(text, span.start)?;
    let before = &text[..start];
    let line_of = |at: usize| locate(text, at..at).line;
    if let Some(header) = header(&text[start..]) {
        let table = convert_table(DeTable::parse(before).ok()?.into_inner());
        let first = place(&table, &header)?.start;
        let same = self::header(&text[line_start(text, first)?..])?;
        return (same == header).then(|| TomlSyntaxError {
            message: format!(
                "`[{}]` is already at line {}",
                header.join("."),
                line_of(first)
            ),
            span: Some(span.clone()),
            help: Some("move these lines there"),
        });
    }
    let (written, after) = (text.get(span.clone())?, text.get(span.end..)?);
    let is_alone = text[start..span.start].trim().is_empty();
    if !is_alone || !after.trim_start().starts_with('=') {
        return None;
    }
    let line = format!("{written} = 0");
    let [key] = &path(&convert_table(DeTable::parse(&line).ok()?.into_inner()))[..] else {
        return None;
    };
    // Another key in place of the second one shows which table this is.
    let text_before = format!("{before}another-key-than-{} = 0\n", span.start);
    let table = convert_table(DeTable::parse(&text_before).ok()?.into_inner());
    let first = entries_at(&table, before.len())?
        .iter()
        .find(|entry| entry.key == **key)?;
    Some(TomlSyntaxError {
        message: format!(
            "`{key}` is already at line {}",
            line_of(first.key_span.start)
        ),
        span: Some(span.clone()),
        help: Some("remove one of the two"),
    })
}

/// Where the line of a place starts.
fn line_start(text: &str, at: usize) -> Option<usize> {
    Some(text.get(..at)?.rfind('\n').map_or(0, |end| end + 1))
}

/// The keys of the `[header]` on the first line of a text.
fn header(text: &str) -> Option<Vec<String>> {
    let line = text.lines().next()?.trim_start();
    if !line.starts_with('[') || line.starts_with("[[") {
        return None;
    }
    Some(path(&convert_table(
        DeTable::parse(line).ok()?.into_inner(),
    )))
}

/// The keys of the header on the first line of a text, even if its end is missing.
fn header_keys(text: &str) -> Option<Vec<String>> {
    let line = text.lines().next()?.trim_start();
    let keys = line.strip_prefix("[[").or_else(|| line.strip_prefix('['))?;
    let keys = keys.split(']').next().unwrap_or_default();
    let bare: Vec<&str> = keys.split('.').map(str::trim).collect();
    if bare.iter().all(|key| is_bare(key)) {
        return Some(bare.into_iter().map(str::to_owned).collect());
    }
    let line = format!("[{}]", keys.trim());
    depth::toml(&line).ok()?;
    let table = DeTable::parse(&line).ok()?.into_inner();
    Some(path(&convert_table(table)))
}

/// True for a key that needs no quotes.
fn is_bare(key: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !key.is_empty() && key.bytes().all(is_plain)
}

/// The keys of tables that have one entry each.
fn path(table: &Table<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    let mut table = table;
    while let [entry] = &*table.entries {
        keys.push(entry.key.to_string());
        let TomlValue::Table(inner) = &entry.item.value else {
            break;
        };
        table = inner;
    }
    keys
}

/// Where the last of these keys is.
fn place(table: &Table<'_>, keys: &[String]) -> Option<Range<usize>> {
    let (key, more) = keys.split_first()?;
    let entry = table.entries.iter().find(|entry| entry.key == *key)?;
    match (&entry.item.value, more) {
        (_, []) => Some(entry.key_span.clone()),
        (TomlValue::Table(inner), more) => place(inner, more),
        _ => None,
    }
}

/// The entries of the table whose key is at this place.
fn entries_at<'t, 'a>(table: &'t Table<'a>, at: usize) -> Option<&'t [TomlEntry<'a>]> {
    if table.entries.iter().any(|entry| entry.key_span.start == at) {
        return Some(&table.entries);
    }
    let mut entries = table.entries.iter();
    entries.find_map(|entry| match &entry.item.value {
        TomlValue::Table(inner) => entries_at(inner, at),
        TomlValue::List(items) => items.iter().find_map(|item| match &item.value {
            TomlValue::Table(inner) => entries_at(inner, at),
            _ => None,
        }),
        _ => None,
    })
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

    #[test]
    fn what_is_there_twice_names_the_first_place() {
        let cases = [
            ("[a.b]\n[c]\n[a.b]\n", "`[a.b]` is already at line 1"),
            ("[a.b]\n[ \"a\" . b ] # c\n", "`[a.b]` is already at line 1"),
            (
                "[a]\nx = 1\n[b]\nx = 1\nx = 2\n",
                "`x` is already at line 4",
            ),
            (
                "[[a]]\nx = 1\n[[a]]\nx = 1\n\"x\" = 2\n",
                "`x` is already at line 4",
            ),
            // A line of a text is neither a header nor a key.
            (
                "t = \"\"\"\n[a]\nx = 1\n\"\"\"\r\n[a]\r\nx = 1\r\n[a]\r\n",
                "`[a]` is already at line 5",
            ),
            (
                "x = \"\"\"\nt = 1\n\"\"\"\nt = 1\nt = 2",
                "`t` is already at line 4",
            ),
            // Forms in which the first place has another shape.
            ("a = {b = 1, b = 2}\n", "duplicate key"),
            ("a.b = 1\na.b = 2\n", "duplicate key"),
            ("[[a]]\n[a]\n", "duplicate key"),
        ];
        for (text, message) in cases {
            let error = read(text).expect_err(text);
            assert_eq!(error.message, message, "{text:?}");
            let is_first_known = message != "duplicate key";
            assert_eq!(error.help.is_some(), is_first_known, "{text:?}");
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
