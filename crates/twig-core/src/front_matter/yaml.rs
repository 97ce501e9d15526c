//! Front matter as strict YAML, within a budget.
//!
//! This module decides what a plain word means, not the YAML library: `null`, `true`, numbers and
//! text by the core schema of YAML 1.2, as most clients read it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::fields::FrontMatterValue;
use super::plain;
use crate::limits::YAML_NESTING;

/// A longer block is not tried as YAML.
const LONGEST: usize = 64 * 1024;

/// Why a text cannot be read; follows "the front matter ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// It is not YAML.
    #[error("is not valid YAML ({reason})")]
    NotYaml {
        /// The reader's message.
        reason: String,
        /// Bytes of the text before it.
        offset: Option<usize>,
    },
    /// It is not a mapping.
    #[error("is no list of `key: value`")]
    NoMap,
}

impl YamlError {
    /// Bytes of the text before it.
    pub fn offset(&self) -> Option<usize> {
        match self {
            Self::NotYaml { offset, .. } => *offset,
            Self::NoMap => None,
        }
    }
}

/// Reads a mapping, in the author's order.
pub fn read(front: &str) -> Result<Vec<(Box<str>, FrontMatterValue)>, YamlError> {
    match plain::read(front) {
        Some(entries) => Ok(entries),
        None => strict(front),
    }
}

/// The same, always with the YAML reader.
pub(super) fn strict(front: &str) -> Result<Vec<(Box<str>, FrontMatterValue)>, YamlError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, max_anchors: 64, max_depth: YAML_NESTING },
        strict_booleans: true,
        with_snippet: false,
        merge_keys: serde_saphyr::options::MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
    };
    let node: Spanned<YamlNode> =
        serde_saphyr::from_str_with_options(front, options).map_err(|error| {
            let place = error.location();
            let offset = place.and_then(|place| offset(front, place.line(), place.column()));
            let reason = in_words(&error.to_string());
            YamlError::NotYaml { reason, offset }
        })?;
    match value(front, node) {
        FrontMatterValue::Map(entries) => Ok(entries),
        FrontMatterValue::Null => Ok(Vec::new()),
        _ => Err(YamlError::NoMap),
    }
}

/// The byte at a line and a column, both from 1.
fn offset(front: &str, line: u64, column: u64) -> Option<usize> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let mut lines = front.split_inclusive('\n');
    let mut before = 0;
    for _ in 1..line {
        before += lines.next()?.len();
    }
    let line = lines.next().unwrap_or_default();
    let within = line.char_indices().nth(column.saturating_sub(1));
    Some(before + within.map_or(line.len(), |(at, _)| at))
}

/// True if a block is a mapping with entries.
pub(super) fn is_mapping(front: &str) -> bool {
    front.len() <= LONGEST && read(front).is_ok_and(|entries| !entries.is_empty())
}

/// True if a block is certainly front matter, although a value continues at the edge of a line.
pub(super) fn is_surely(front: &str) -> bool {
    let is_lower = |key: &str| key.starts_with(|c: char| c.is_ascii_lowercase());
    let is_sure = |entries: Vec<(Box<str>, FrontMatterValue)>| {
        !entries.is_empty() && entries.iter().all(|(key, _)| is_lower(key))
    };
    front.len() <= LONGEST && read(front).is_ok_and(is_sure)
}

/// The reader's message, in words for people.
fn in_words(message: &str) -> String {
    // The place is reported separately, in the file's own lines.
    let message = message
        .rfind(" at line ")
        .map_or(message, |at| &message[..at]);
    let line = message.lines().next().unwrap_or_default();
    if line.contains("Aliases") {
        return "aliases such as `*name` are not followed".to_owned();
    }
    if line.contains("budget breached: Depth") || line.contains("recursion limit") {
        return format!("it nests deeper than {YAML_NESTING} levels, which is the limit");
    }
    if line.contains("budget breached") {
        return "there is more in it than is read".to_owned();
    }
    // The rest of the message is for programmers.
    let line = line.split_once(';').map_or(line, |(said, _)| said);
    let line = line.split_once(", set ").map_or(line, |(said, _)| said);
    line.trim_end_matches('.').to_owned()
}

/// A node from the YAML reader.
enum YamlNode {
    Null,
    Text(Box<str>),
    List(Vec<Spanned<YamlNode>>),
    Map(Vec<(Spanned<YamlNode>, Spanned<YamlNode>)>),
}

/// The value of a node.
fn value(front: &str, node: Spanned<YamlNode>) -> FrontMatterValue {
    let span = node.defined.span();
    let start = span.byte_offset().and_then(|at| usize::try_from(at).ok());
    let length = span
        .byte_len()
        .and_then(|length| usize::try_from(length).ok());
    let source = start
        .zip(length)
        .and_then(|(start, length)| Some((start, front.get(start..start.checked_add(length)?)?)));
    match node.value {
        YamlNode::List(items) => {
            FrontMatterValue::List(items.into_iter().map(|item| value(front, item)).collect())
        }
        YamlNode::Map(entries) => FrontMatterValue::Map(
            entries
                .into_iter()
                .map(|(key, item)| (key_text(value(front, key)), value(front, item)))
                .collect(),
        ),
        YamlNode::Null => FrontMatterValue::Null,
        YamlNode::Text(text) => match source {
            Some((start, source)) if is_plain(front, start, source) => match core(source.trim()) {
                Some(value) => value,
                None if source.contains('\n') => FrontMatterValue::Text(text),
                None => FrontMatterValue::Text(source.trim().into()),
            },
            _ => FrontMatterValue::Text(text),
        },
    }
}

/// The longest tag that is recognised.
const TAG: usize = 64;

/// True if a scalar is written without quotes, block sign or tag.
fn is_plain(front: &str, start: usize, source: &str) -> bool {
    let before = front[..start].trim_end_matches([' ', '\t']);
    // A tag is short, and a block may have thousands of scalars without a space between them.
    let near = before.char_indices().rev().take(TAG);
    let near = near.take_while(|(_, c)| !matches!(c, ' ' | '\t' | '\n' | ',' | '[' | '{'));
    let word = near.last().map_or("", |(at, _)| &before[at..]);
    !source.is_empty()
        && !source.starts_with(['"', '\'', '|', '>', '!', '&'])
        && !word.starts_with('!')
        && !before.ends_with(['|', '>'])
}

/// A word that is not text in the core schema.
pub(super) fn core(word: &str) -> Option<FrontMatterValue> {
    match word {
        "~" | "null" | "Null" | "NULL" => return Some(FrontMatterValue::Null),
        "true" | "True" | "TRUE" => return Some(FrontMatterValue::Flag(true)),
        "false" | "False" | "FALSE" => return Some(FrontMatterValue::Flag(false)),
        _ => {}
    }
    let radix = |prefix, radix| {
        let digits = word.strip_prefix(prefix)?;
        let is_digits = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        is_digits.then(|| u64::from_str_radix(digits, radix).ok())?
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(FrontMatterValue::Number(number.into()));
    }
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits.is_empty() && is_number(digits) {
        let word = word.strip_prefix('+').unwrap_or(word);
        let whole = word.parse::<u64>().map(Into::into);
        if let Ok(number) = whole.or_else(|_| word.parse::<i64>().map(Into::into)) {
            return Some(FrontMatterValue::Number(number));
        }
    } else {
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (digits, None),
        };
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent_fits = exponent.is_none_or(|it| {
            let digits = it.strip_prefix(['-', '+']).unwrap_or(it);
            !digits.is_empty() && is_number(digits)
        });
        let has_digits = !(whole.is_empty() && part.is_empty());
        if !(has_digits && is_number(whole) && is_number(part) && exponent_fits) {
            return None;
        }
    }
    let float = word.parse().ok().and_then(serde_json::Number::from_f64);
    float.map(FrontMatterValue::Number)
}

/// A key as JSON text.
fn key_text(key: FrontMatterValue) -> Box<str> {
    match key {
        FrontMatterValue::Text(text) => text,
        FrontMatterValue::Null => "".into(),
        other => other.to_json().into(),
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = YamlNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(flag.to_string().into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(number.to_string().into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(number.to_string().into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(number.to_string().into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<YamlNode, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(YamlNode::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlNode, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(YamlNode::Map(map))
    }
}
